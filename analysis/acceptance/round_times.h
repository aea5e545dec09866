/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round_times: bounds the time of a round at any draft length from the lengths that were run.
 * Times are relative to a plain token at the same load. We assume that the time is convex in K from
 * K = 1 on, and increases with K, but never by a larger factor than K itself. This holds for fixed
 * costs, costs per token, and a roofline between them. Pure functions.
 * docs/formulas/lengths.md#round-times. */
#ifndef SPECLAB_ROUND_TIMES_H
#define SPECLAB_ROUND_TIMES_H

#include "analysis/acceptance/moment_bounds.h"

/* Times of rounds at several K; plain decoding, if it was measured, is K = 0 with time 1. */
typedef struct {
    int n;              /* lengths, >= 1 */
    const int *K;       /* (n) ascending, >= 0 */
    const double *time; /* (n) > 0 */
} spec_round_times;

/* Bounds the time of a round at K; if K was run, it is the measured time. Between two lengths the
 * time lies below their chord and above the extensions of the neighbouring chords. Before the
 * smallest K_1 and beyond the largest K_n it lies above the extended chord, and
 *
 *     max(t_0, t_1 K/K_1) <= t(K) <= t_1,     t_n <= t(K) <= t_n K/K_n
 *
 * with t_0 the time of plain decoding, or 0. Plain decoding does not draft, so no chord ends there.
 * Measured times may contradict convexity; then we return the hull of the bounds. NaN for K < 0,
 * for K > 0 if only plain decoding was run, and outside the domain. If K = 0 was not run, its
 * bounds are 0 and t_1. Checked by: convex curves lie within the bounds; the published example of
 * one length. */
spec_bounds spec_round_times_at(const spec_round_times *times, int K);

/* Returns the value of accepted/drafted above which a round at K pays off: (round/plain - 1)/K, as
 * in TensorRT-LLM's acceptance_rate_threshold. It is 0 if a round takes no longer than a plain
 * token; if it is above 1, rounds never pay off. NaN for K < 1 and round_over_plain <= 0. */
double spec_round_times_break_even(double round_over_plain, int K);

#endif
