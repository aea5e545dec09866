/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/radix.h"

#include <string.h>

enum { BYTES_MAX = 16 };

static unsigned digit(const uint64_t *record, int byte)
{
    return (unsigned)(record[byte >> 3] >> (8 * (byte & 7))) & 0xFFu;
}

static inline void scatter(const uint64_t *from, uint64_t *to, size_t n, size_t stride, int byte,
                           size_t *place)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *record = from + i * stride;
        uint64_t *target = to + stride * place[digit(record, byte)]++;
        for (size_t w = 0; w < stride; w++) target[w] = record[w];
    }
}

uint64_t *spec_radix_sort(uint64_t *record, uint64_t *workspace, size_t n, int stride, int words)
{
    size_t count[BYTES_MAX][256];
    const int bytes = 8 * words;
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < n; i++) {
        for (int b = 0; b < bytes; b++) count[b][digit(record + i * (size_t)stride, b)]++;
    }
    for (int b = 0; b < bytes && n > 0; b++) {
        if (count[b][digit(record, b)] == n) continue;
        size_t sum = 0;
        for (int d = 0; d < 256; d++) {
            const size_t here = count[b][d];
            count[b][d] = sum;
            sum += here;
        }
        /* Constant strides let the compiler unroll the copy. */
        if (stride == 1) scatter(record, workspace, n, 1, b, count[b]);
        else if (stride == 2) scatter(record, workspace, n, 2, b, count[b]);
        else scatter(record, workspace, n, 3, b, count[b]);
        uint64_t *sorted = workspace;
        workspace = record;
        record = sorted;
    }
    return record;
}
