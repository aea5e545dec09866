/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampling_sums: a warp computes the same sums and the same pick as the host; for kernels.
 * All lanes take part and get the result. */
#ifndef SPECLAB_SAMPLING_SUMS_H
#define SPECLAB_SAMPLING_SUMS_H

#include "models/gpu/kernels_sampling.h"
#include "models/gpu/simt.h"

/* Returns the value of lane `lane`. */
DEVICE uint64_t sampling_shuffle(uint64_t value, int lane)
{
    return bits_of_double(shuffle_from_double(double_of_bits(value), lane));
}

DEVICE uint64_t sampling_warp_sum(uint64_t value)
{
    UNROLL
    for (int apart = 16; apart > 0; apart /= 2) value += sampling_shuffle(value, LANE ^ apart);
    return value;
}

/* Lane l of 8 sums values l, 8 + l, ... of n; then lanes 1, 2 and 4 apart are added, as in
 * models/row.c, sim/chance/chance.c and sim/verify/residual_loops.h. Each group of 8 lanes computes
 * its own sum. */
DEVICE double sampling_eight(const double *value, int n)
{
    double sum = 0.0;
    for (int i = LANE % 8; i < n; i += 8) sum += value[i];
    sum += shuffle_xor_double(sum, 1);
    sum += shuffle_xor_double(sum, 2);
    sum += shuffle_xor_double(sum, 4);
    return sum;
}

/* A sum and its rounding error [Knuth, TAOCP 4.2.2]. */
typedef struct {
    double sum, rest;
} sampling_exact;

DEVICE void sampling_add(sampling_exact *total, double value)
{
    const double sum = total->sum + value, part = sum - total->sum;
    total->rest += (total->sum - (sum - part)) + (value - part);
    total->sum = sum;
}

DEVICE double sampling_exact_total(sampling_exact own)
{
    UNROLL
    for (int apart = 16; apart > 0; apart /= 2) {
        const double sum = shuffle_xor_double(own.sum, apart),
                     rest = shuffle_xor_double(own.rest, apart);
        const double was = own.rest;
        own.rest = 0.0;
        sampling_add(&own, sum);
        own.rest += was + rest;
    }
    return own.sum + own.rest;
}

/* Returns a compensated sum. */
DEVICE double sampling_sum_of(const double *value, int n)
{
    sampling_exact own = {0.0, 0.0};
    for (int i = LANE; i < n; i += WARP_LANES) sampling_add(&own, value[i]);
    return sampling_exact_total(own);
}

/* Computes spec_row_sum of models/row.c: blocks of 128 by lanes, then a compensated sum of these
 * and of the remaining values. */
DEVICE double sampling_row_sum(const double *value, int n)
{
    const int blocks = n / SAMPLING_KEPT;
    sampling_exact own = {0.0, 0.0};
    for (int first = 0; first < blocks; first += WARP_LANES / 8) {
        const int block = first + LANE / 8;
        const double sum =
            sampling_eight(value + block * SAMPLING_KEPT, block < blocks ? SAMPLING_KEPT : 0);
        if (LANE % 8 == 0) sampling_add(&own, sum);
    }
    for (int i = blocks * SAMPLING_KEPT + LANE; i < n; i += WARP_LANES)
        sampling_add(&own, value[i]);
    return sampling_exact_total(own);
}

/* ---- the pick of sim/chance/chance.c --------------------------------------------------------- */

typedef struct {
    int size, last; /* size: weights per block; last: the last block */
    double total;
} sampling_blocks;

/* Fills block (SAMPLING_BLOCKS), in shared memory, with the sums of the blocks. */
DEVICE sampling_blocks sampling_weigh(double *block, const double *weight, int n)
{
    const int even = (n - 1) / (8 * SAMPLING_BLOCKS) * 8 + 8;
    sampling_blocks all;
    all.size = even > 32 ? even : 32;
    all.last = (n - 1) / all.size;
    all.total = 0.0;
    sync_warp(); /* so that an earlier pick has been read */
    if (all.last == 0) {
        double sum = 0.0;
        for (int i = 0; i < n; i++) sum += weight[i];
        if (LANE == 0) block[0] = sum;
    }
    for (int first = 0; all.last > 0 && first <= all.last; first += WARP_LANES / 8) {
        const int at = first + LANE / 8, begin = at * all.size, left = n - begin;
        const double sum = sampling_eight(weight + begin, left < all.size ? left : all.size);
        if (LANE % 8 == 0 && at <= all.last) block[at] = sum;
    }
    sync_warp();
    for (int b = 0; b <= all.last; b++) all.total += block[b];
    return all;
}

/* Returns the first index whose cumulative weight, starting at `cumulative`, exceeds the threshold.
 * If rounding carries the scan past the end, returns the last index of positive weight. *ret_before
 * is the cumulative weight before it. */
DEVICE int sampling_seek(double *ret_before, const sampling_blocks *all, const double *block,
                         const double *weight, int n, double cumulative, double threshold)
{
    int at = 0, found = -1;
    for (int b = 0; b < all->last; b++) {
        const double next = cumulative + block[b];
        const bool passes = at == b && !(threshold < next);
        cumulative = passes ? next : cumulative;
        at += passes ? 1 : 0;
    }
    const int end = at < all->last ? (at + 1) * all->size : n;
    *ret_before = -1e300; /* stays if no index is found, and then nothing continues from it */
    for (int first = at * all->size; first < end; first += WARP_LANES) {
        const double own = first + LANE < end ? weight[first + LANE] : 0.0;
        for (int l = 0; l < WARP_LANES; l++) {
            const double next = cumulative + shuffle_from_double(own, l);
            const bool here = found < 0 && threshold < next;
            *ret_before = here ? cumulative : *ret_before;
            found = here ? first + l : found;
            cumulative = next;
        }
    }
    if (found >= 0) return found;
    for (found = end; found > 0 && !(weight[found - 1] > 0.0);) found--;
    return found > 0 ? found - 1 : 0;
}

DEVICE int sampling_choose(double *block, const double *weight, int n, double uniform)
{
    double before;
    const sampling_blocks all = sampling_weigh(block, weight, n);
    return sampling_seek(&before, &all, block, weight, n, 0.0, uniform * all.total);
}

#endif
