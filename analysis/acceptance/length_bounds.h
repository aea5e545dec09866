/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_bounds: tokens per round at another draft length, if requests differ in acceptance.
 * Each request has its own alpha. Requests with a low alpha have more rounds, and this effect grows
 * with the draft length. So cutting the rounds of one length does not give the rounds of a shorter
 * one. Pure functions. docs/formulas/lengths.md#length-bounds. */
#ifndef SPECLAB_LENGTH_BOUNDS_H
#define SPECLAB_LENGTH_BOUNDS_H

#include "analysis/acceptance/moment_bounds.h"

#include <stdbool.h>

enum { SPEC_LENGTH_TERMS = 8 };

/* With E_K(a) = 1 + a + .. + a^K, w the law of alpha over the rounds at K, and the same texts,
 *
 *     tokens(K_other) = tokens(K) / E_w[f],   f(a) = E_K(a) / E_K_other(a)
 *
 * The counters give the moments m_j = E_w[a^j], j = 1..K. Take a polynomial p(a) = c_0 + sum c_j
 * a^j that is nowhere below f on [0,1]. Then E_w[f] <= c_0 + sum c_j m_j for every w, which is a
 * bound linear in the counters. The lowest such bound equals the largest E_w[f] over all
 * distributions with these moments, by duality. */
typedef struct {
    int n;                        /* terms */
    int depth[SPEC_LENGTH_TERMS]; /* (n) ascending, in 1..K: all of 1..K if K <= 8 */
    double c0, c[SPEC_LENGTH_TERMS];
} spec_length_bound;

/* Finds the polynomial above f (`high`) or below f that gives the closest bound at m, by linear
 * programming on a grid over [0,1]. It is checked between the grid points, too.
 *   m     (K) shares of rounds that accept at least j tokens. They need not be moments of any law
 *   K     1..64; K_other 0..64
 *   most  the largest |c_j| allowed, > 0: with a small one, errors of m matter less, but the bound
 *         is less close. With 1 it is up to .4 % less close for K_other = 2K, and just as close
 *         where f is a polynomial
 *   returns  at worst a constant bound, one of the extremes of f: 1 and (K + 1)/(K_other + 1)
 * Checked by: [Leviathan23] (1) for one alpha; Beta laws by another solver; laws with atoms. */
spec_length_bound spec_length_bound_of(const double *m, int K, int K_other, bool high, double most);

/* Returns c_0 + sum c_j m_j. */
double spec_length_bound_at(const spec_length_bound *bound, const double *m);

/* Returns the bounds of tokens per round at K_other from exact moments, with |c_j| <= 8: they are
 * sharp within 1e-4. NaN for a K outside its domain or a share outside [0,1]. */
spec_bounds spec_length_bounds(const double *m, int K, int K_other);

#endif
