/* excess_loops: the loops of sim/verify/excess.h, which the compiler vectorises for each instruction set. Each step fills arrays
 * before it adds them: so gcc takes vectors, not branches. Lanes are added in a fixed order: all sets give the same
 * bytes. Included by excess.c and excess_avx2.c only. */
#ifndef SPECLAB_EXCESS_LOOPS_H
#define SPECLAB_EXCESS_LOOPS_H

#include "sim/verify/excess.h"

#include <math.h>

enum { SPEC_EXCESS_LANES = 8 };

/* 2 x+, exact and without the branch that gcc would make of it. */
static inline double spec_excess_twice(double x)
{
    return x + fabs(x);
}

static inline double spec_excess_of(double target, double row, double taken, double kept)
{
    const double left = target - taken * row, least = kept * target;
    return left > least ? left : least;
}

static inline double spec_excess_lanes(const double lane[SPEC_EXCESS_LANES])
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static inline void spec_excess_loop_blocks(double *restrict ret_block, const spec_excess *excess)
{
    enum { LANES = SPEC_EXCESS_LANES };
    const double *restrict target = excess->target, *restrict row = excess->row;
    const double taken = excess->taken, kept = excess->kept;
    for (int begin = 0; begin < excess->vocab; begin += SPEC_EXCESS_BLOCK) {
        const int end = begin + SPEC_EXCESS_BLOCK < excess->vocab ? begin + SPEC_EXCESS_BLOCK : excess->vocab;
        double lane[LANES] = {0.0}, left[LANES];
        int i = begin;
        for (; end - i >= LANES; i += LANES) {
#pragma omp simd
            for (int l = 0; l < LANES; l++) left[l] = spec_excess_of(target[i + l], row[i + l], taken, kept);
#pragma omp simd
            for (int l = 0; l < LANES; l++) lane[l] += left[l];
        }
        for (int l = 0; i < end; i++, l++) lane[l] += spec_excess_of(target[i], row[i], taken, kept);
        *ret_block++ = spec_excess_lanes(lane);
    }
}

/* Lanes of two sums at once. */
#define SPEC_EXCESS_TWO_SUMS(first_term, second_term)                                                                  \
    enum { LANES = SPEC_EXCESS_LANES };                                                                                \
    double first[LANES] = {0.0}, second[LANES] = {0.0}, a[LANES], b[LANES];                                            \
    int i = 0;                                                                                                         \
    for (; vocab - i >= LANES; i += LANES) {                                                                           \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) a[l] = first_term(target[i + l], row[i + l]);              \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) b[l] = second_term(target[i + l], row[i + l]);             \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) first[l] += a[l];                                          \
        _Pragma("omp simd") for (int l = 0; l < LANES; l++) second[l] += b[l];                                         \
    }                                                                                                                  \
    for (int l = 0; i < vocab; i++, l++) {                                                                             \
        first[l] += first_term(target[i], row[i]);                                                                     \
        second[l] += second_term(target[i], row[i]);                                                                   \
    }                                                                                                                  \
    ret_sum[0] = spec_excess_lanes(first);                                                                             \
    ret_sum[1] = spec_excess_lanes(second)

static inline void spec_excess_loop_split(double ret_sum[2], const double *target, const double *row, double rho, int vocab)
{
#define BELOW(t, r) ((t) < rho * (r) ? (t) : 0.0)
#define ABOVE(t, r) ((t) < rho * (r) ? 0.0 : (r))
    SPEC_EXCESS_TWO_SUMS(BELOW, ABOVE);
#undef BELOW
#undef ABOVE
}

static inline void spec_excess_loop_pair(double ret_sum[2], const double *target, const double *row, double rise, double flat,
                                  int vocab)
{
#define ROW_OVER(t, r) spec_excess_twice((r) - (t))
#define REST_OVER(t, r) spec_excess_twice(rise * (r) + flat - 0.5 * spec_excess_twice((t) - (r)))
    SPEC_EXCESS_TWO_SUMS(ROW_OVER, REST_OVER);
    ret_sum[0] *= 0.5;
    ret_sum[1] *= 0.5;
#undef ROW_OVER
#undef REST_OVER
}

#endif
