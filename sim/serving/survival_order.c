/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/survival_order.h"

#include <assert.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, PASSES = 32 / DIGIT_BITS };

/* Floats >= 0 have the same order as their bits. We complement the bits so that the largest comes
 * first. */
static uint64_t key_of(float survival, int64_t index)
{
    uint32_t bits;
    memcpy(&bits, &survival, sizeof bits);
    return (uint64_t)~bits << 32 | (uint64_t)index;
}

/* This is a stable radix sort, lowest digit first. Digits that are equal in all keys need no
 * pass. */
void spec_survival_order(uint64_t *key, uint64_t *scratch, const float *survival, int64_t n)
{
    uint32_t count[PASSES][DIGITS] = {{0}};
    uint64_t *from = key, *to = scratch;
    assert(n >= 0 && n <= UINT32_MAX);
    for (int64_t i = 0; i < n; i++) {
        key[i] = key_of(survival[i], i);
        for (int p = 0; p < PASSES; p++) count[p][key[i] >> (32 + p * DIGIT_BITS) & (DIGITS - 1)]++;
    }
    for (int p = 0; p < PASSES && n > 0; p++) {
        const int shift = 32 + p * DIGIT_BITS;
        if (count[p][from[0] >> shift & (DIGITS - 1)] == (uint32_t)n) continue;
        uint32_t at = 0;
        for (int d = 0; d < DIGITS; d++) {
            const uint32_t here = count[p][d];
            count[p][d] = at;
            at += here;
        }
        for (int64_t i = 0; i < n; i++) to[count[p][from[i] >> shift & (DIGITS - 1)]++] = from[i];
        uint64_t *const sorted = to;
        to = from;
        from = sorted;
    }
    if (from != key) memcpy(key, from, (size_t)n * sizeof *key);
}
