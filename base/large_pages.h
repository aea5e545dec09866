/* SPDX-License-Identifier: GPL-3.0-or-later */
/* large_pages: memory in large pages, which several pieces share without gaps.
 * A piece of its own would be rounded up to 2 MiB; here the next piece begins where one ends, up to
 * a page. Pieces are freed one by one, in any order. */
#ifndef SPECLAB_LARGE_PAGES_H
#define SPECLAB_LARGE_PAGES_H

#include <stddef.h>

enum { SPEC_LARGE_PAGE = 1 << 21 };

/* What is left of the last region that was mapped; zeroed: nothing. Not for two threads at once. */
typedef struct {
    unsigned char *at; /* at the start of a page */
    size_t left;
} spec_large_pages;

/* Returns `bytes` >= 1 bytes of zeros that begin on a page, or NULL if there is no memory. They
 * count as memory of the process once they are written. Free them with the same size. */
void *spec_large_pages_take(spec_large_pages *room, size_t bytes);
void spec_large_pages_give(void *memory, size_t bytes);

/* Unmaps what is left; pieces that were taken stay. */
void spec_large_pages_free(spec_large_pages *room);

#endif
