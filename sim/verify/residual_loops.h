/* SPDX-License-Identifier: GPL-3.0-or-later */
/* residual_loops: the loops of residual.h, vectorised for each instruction set.
 * Each step fills arrays before it adds them, so that gcc generates vectors instead of branches.
 * Lanes are added in a fixed order, so all instruction sets give the same bytes. Included by
 * residual.c and residual_avx2.c only. */
#ifndef SPECLAB_RESIDUAL_LOOPS_H
#define SPECLAB_RESIDUAL_LOOPS_H

#include "sim/verify/residual.h"

#include <math.h>

enum { SPEC_RESIDUAL_LANES = 8 };

/* Returns 2 max(x, 0), exactly, without the branch that gcc would generate for a comparison. */
static inline double spec_residual_twice(double x)
{
    return x + fabs(x);
}

static inline double spec_residual_of(double target, double row, double taken, double kept)
{
    const double part = target - taken * row, lowest = kept * target;
    return part > lowest ? part : lowest;
}

static inline double spec_residual_lanes(const double lane[SPEC_RESIDUAL_LANES])
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static inline void spec_residual_loop_blocks(double *restrict ret_block,
                                             const spec_residual *residual)
{
    enum { LANES = SPEC_RESIDUAL_LANES };
    const double *restrict target = residual->target, *restrict row = residual->row;
    const double taken = residual->taken, kept = residual->kept;
    for (int begin = 0; begin < residual->vocab; begin += SPEC_RESIDUAL_BLOCK) {
        const int end = begin + SPEC_RESIDUAL_BLOCK < residual->vocab ? begin + SPEC_RESIDUAL_BLOCK
                                                                      : residual->vocab;
        double lane[LANES] = {0.0}, part[LANES];
        int i = begin;
        for (; end - i >= LANES; i += LANES) {
#pragma omp simd
            for (int l = 0; l < LANES; l++)
                part[l] = spec_residual_of(target[i + l], row[i + l], taken, kept);
#pragma omp simd
            for (int l = 0; l < LANES; l++) lane[l] += part[l];
        }
        for (int l = 0; i < end; i++, l++)
            lane[l] += spec_residual_of(target[i], row[i], taken, kept);
        *ret_block++ = spec_residual_lanes(lane);
    }
}

/* Adds the lanes of two sums at once. */
#define SPEC_RESIDUAL_TWO_SUMS(first_term, second_term)                                            \
    enum { LANES = SPEC_RESIDUAL_LANES };                                                          \
    double first[LANES] = {0.0}, second[LANES] = {0.0}, a[LANES], b[LANES];                        \
    int i = 0;                                                                                     \
    for (; vocab - i >= LANES; i += LANES) {                                                       \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) a[l] =                                 \
            first_term(target[i + l], row[i + l]);                                                 \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) b[l] =                                 \
            second_term(target[i + l], row[i + l]);                                                \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) first[l] += a[l];                      \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) second[l] += b[l];                     \
    }                                                                                              \
    for (int l = 0; i < vocab; i++, l++) {                                                         \
        first[l] += first_term(target[i], row[i]);                                                 \
        second[l] += second_term(target[i], row[i]);                                               \
    }                                                                                              \
    ret_sum[0] = spec_residual_lanes(first);                                                       \
    ret_sum[1] = spec_residual_lanes(second)

static inline void spec_residual_loop_split(double ret_sum[2], const double *target,
                                            const double *row, double rho, int vocab)
{
#define BELOW(t, r) ((t) < rho * (r) ? (t) : 0.0)
#define ABOVE(t, r) ((t) < rho * (r) ? 0.0 : (r))
    SPEC_RESIDUAL_TWO_SUMS(BELOW, ABOVE);
#undef BELOW
#undef ABOVE
}

static inline void spec_residual_loop_pair(double ret_sum[2], const double *target,
                                           const double *row, double rise, double flat, int vocab)
{
#define ROW_OVER(t, r) spec_residual_twice((r) - (t))
#define REST_OVER(t, r) spec_residual_twice(rise *(r) + flat - 0.5 * spec_residual_twice((t) - (r)))
    SPEC_RESIDUAL_TWO_SUMS(ROW_OVER, REST_OVER);
    ret_sum[0] *= 0.5;
    ret_sum[1] *= 0.5;
#undef ROW_OVER
#undef REST_OVER
}

#endif
