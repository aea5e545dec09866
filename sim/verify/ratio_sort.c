/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/ratio_sort.h"

#include <stdint.h>
#include <string.h>

enum { FEW = 24 };

static void insert(spec_ratio_entry *entries, int n)
{
    for (int i = 1; i < n; i++) {
        const spec_ratio_entry entry = entries[i];
        int to = i;
        for (; to > 0 && entries[to - 1].ratio > entry.ratio; to--) entries[to] = entries[to - 1];
        entries[to] = entry;
    }
}

/* Nonnegative doubles are in the same order as their bits. */
static unsigned byte_of(const spec_ratio_entry *entry, int shift)
{
    uint64_t bits;
    memcpy(&bits, &entry->ratio, sizeof bits);
    return (unsigned)(bits >> shift & 255);
}

spec_ratio_entry *spec_ratio_sort(spec_ratio_entry *entries, int n)
{
    spec_ratio_entry *from = entries, *to = entries + n;
    if (n <= FEW) {
        insert(entries, n);
        return entries;
    }
    for (int shift = 0; shift < 64; shift += 8) {
        int start[257] = {0};
        for (int i = 0; i < n; i++) start[byte_of(&from[i], shift) + 1]++;
        if (start[byte_of(&from[0], shift) + 1] == n) continue;
        for (int b = 0; b < 255; b++) start[b + 1] += start[b];
        for (int i = 0; i < n; i++) to[start[byte_of(&from[i], shift)]++] = from[i];
        spec_ratio_entry *const swap = from;
        from = to;
        to = swap;
    }
    return from;
}
