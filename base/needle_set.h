/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needle_set: finds any of several byte strings in one pass over a text.
 * Most bytes are never read: a window as long as the shortest string moves over the text, and the
 * last three bytes in it tell how far it can jump ahead [WuManber94]. The strings stay the
 * caller's. */
#ifndef SPECLAB_NEEDLE_SET_H
#define SPECLAB_NEEDLE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEC_NEEDLE_SET_MOST = 128, SPEC_NEEDLE_SET_SHIFTS = 4096 };

typedef struct {
    const char *needle[SPEC_NEEDLE_SET_MOST];
    size_t length[SPEC_NEEDLE_SET_MOST];
    int n;
    size_t window; /* bytes of the shortest needle, at most 255 */
    uint8_t shift[SPEC_NEEDLE_SET_SHIFTS];
    /* first[hash] is 1 + the first needle whose window ends with three bytes of that hash,
     * next[needle] is 1 + the next such needle; 0: none */
    uint8_t first[SPEC_NEEDLE_SET_SHIFTS], next[SPEC_NEEDLE_SET_MOST];
} spec_needle_set;

/* Adds a string of at least 3 bytes. Returns false, and adds nothing, if it is shorter or the set
 * is full. */
bool spec_needle_set_add(spec_needle_set *set, const char *needle);

/* Prepares the set for _find; call it after adding the last string. */
void spec_needle_set_ready(spec_needle_set *set);

/* Returns the first position of any of the strings in the n bytes, or NULL. */
const char *spec_needle_set_find(const spec_needle_set *set, const char *bytes, size_t n);

#endif
