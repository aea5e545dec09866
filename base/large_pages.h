/* SPDX-License-Identifier: GPL-3.0-or-later */
/* large_pages: allocates pieces of memory one after another in large pages.
 * Each piece begins on the first small page after the previous one, so it is not rounded up to
 * 2 MiB. Pieces are freed one by one, in any order. */
#ifndef SPECLAB_LARGE_PAGES_H
#define SPECLAB_LARGE_PAGES_H

#include <stddef.h>

enum { SPEC_LARGE_PAGE = 1 << 21 };

/* The unused rest of the last region that was mapped; zeroed: nothing. For one thread at a time. */
typedef struct {
    unsigned char *at; /* at the start of a page */
    size_t left;
} spec_large_pages;

/* Returns `bytes` >= 1 zeroed bytes, aligned to a page, or NULL if there is no memory. They take
 * physical memory once they are written. Free them with the same size. */
void *spec_large_pages_take(spec_large_pages *room, size_t bytes);
void spec_large_pages_give(void *memory, size_t bytes);

/* Unmaps what is left; pieces that were taken stay. */
void spec_large_pages_free(spec_large_pages *room);

#endif
