/* SPDX-License-Identifier: GPL-3.0-or-later */
/* moment_bounds: tokens per round at a draft length that was not run, from a length that was.
 * m_j is the share of rounds that accept at least j tokens, j = 1..K. If rounds at the other length
 * behave alike, these shares give the answer up to K, and bound it beyond K, under either of two
 * assumptions. If requests differ, rounds do not behave alike: see length_bounds.h. Pure functions.
 * docs/formulas/lengths.md#moment-bounds. */
#ifndef SPECLAB_MOMENT_BOUNDS_H
#define SPECLAB_MOMENT_BOUNDS_H

typedef struct {
    double low, high;
} spec_bounds;

/* Returns bounds on the tokens per round at K_other:
 *
 *     1 + sum_{j <= K_other} m_j                    for K_other <= K, both ends
 *
 * FREE: 0 <= m_j <= m_K for j > K.
 *   m        (K) decreasing, in [0,1]; m_0 = 1
 *   returns  NaN for K < 0, K_other < 0, and a share outside [0,1] */
spec_bounds spec_moment_bounds_free(const double *m, int K, int K_other);

/* CONSTANT: returns the tokens per round if the conditional acceptance at depth K also holds beyond
 * it: m_j = m_K (m_K / m_{K-1})^(j - K). NaN as for the free bounds, and for K_other > K = 0. */
double spec_moment_bounds_constant(const double *m, int K, int K_other);

#endif
