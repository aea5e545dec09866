/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/needle_set.h"

#include <string.h>

enum { BLOCK = 3, WINDOW_MAX = 255 };

static unsigned hash(const char *at)
{
    const uint32_t three = (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8 |
                           (uint32_t)(unsigned char)at[2] << 16;
    return three * 2654435761U >> 20;
}

bool spec_needle_set_add(spec_needle_set *set, const char *needle)
{
    const size_t length = strlen(needle);
    if (length < BLOCK || set->n == SPEC_NEEDLE_SET_MOST) return false;
    set->needle[set->n] = needle;
    set->length[set->n++] = length;
    return true;
}

/* If the last block of a window has the hash h, the window may move on by shift[h]. */
void spec_needle_set_ready(spec_needle_set *set)
{
    set->window = WINDOW_MAX;
    for (int i = 0; i < set->n; i++)
        if (set->length[i] < set->window) set->window = set->length[i];
    memset(set->shift, (int)(set->window - BLOCK + 1), sizeof set->shift);
    memset(set->first, 0, sizeof set->first);
    for (int i = 0; i < set->n; i++) {
        uint8_t *const chain = &set->first[hash(set->needle[i] + set->window - BLOCK)];
        set->next[i] = *chain;
        *chain = (uint8_t)(i + 1);
        for (size_t at = 0; at + BLOCK <= set->window; at++) {
            const uint8_t shift = (uint8_t)(set->window - BLOCK - at);
            uint8_t *const entry = &set->shift[hash(set->needle[i] + at)];
            if (shift < *entry) *entry = shift;
        }
    }
}

/* Returns whether a needle begins here; only needles whose window ends with this hash are tried. */
static bool begins(const spec_needle_set *set, unsigned h, const char *bytes, size_t n)
{
    for (int i = set->first[h]; i > 0; i = set->next[i - 1]) {
        const size_t length = set->length[i - 1];
        const char *const needle = set->needle[i - 1];
        if (*bytes == *needle && length <= n && memcmp(bytes, needle, length) == 0) return true;
    }
    return false;
}

const char *spec_needle_set_find(const spec_needle_set *set, const char *bytes, size_t n)
{
    if (set->n == 0 || n < set->window) return NULL;
    for (size_t at = 0; at <= n - set->window;) {
        const unsigned h = hash(bytes + at + set->window - BLOCK);
        const uint8_t shift = set->shift[h];
        if (shift == 0) {
            if (begins(set, h, bytes + at, n - at)) return bytes + at;
            at++;
        } else {
            at += shift;
        }
    }
    return NULL;
}
