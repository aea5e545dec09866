/* SPDX-License-Identifier: GPL-3.0-or-later */
/* places: n_emitted when the acceptance chance depends only on the position in the text.
 * Each position in the text has its own chance, and the first position follows the last: they form
 * a circle. Arrays belong to the caller; GSL status, outputs zeroed on failure.
 * docs/formulas/acceptance.md#places. */
#ifndef SPECLAB_PLACES_H
#define SPECLAB_PLACES_H

#include <gsl/gsl_errno.h>
#include <stddef.h>

/* Computes the mean tokens per round over rounds burn_in + 1 to burn_in + rounds of texts that
 * begin at a random position.
 *
 *     E[n_emitted | s] = 1 + sum_{k=1..K} prod_{j<k} beta[s+j],
 *     and the next round begins at s + n_emitted
 *
 *   beta     (n)  chance that a draft token is accepted at each position, in [0,1]
 *   start    (n)  law of the position at which a text begins, >= 0, sums to 1
 *   n        positions, >= 1
 *   K        draft length, >= 0
 *   rounds   >= 1
 *   returns  GSL_SUCCESS; GSL_EDOM outside the domain; GSL_ENOMEM. O((burn_in + rounds) (K + 1) n)
 * With equal chances this is Eq. (1) of [Leviathan23]. As rounds grow, it approaches the long-run
 * mean, which depends on `start` only if some positions cannot be reached from others, for instance
 * if all chances are 0 or 1. Checked by: the whole kernel (spec_modulated_pair_chain); enumeration
 * of rounds; Monte Carlo (tests/analysis/test_places.c). */
int spec_places_mean(double *ret_mean, const double *beta, const double *start, int n, int K,
                     size_t burn_in, size_t rounds);

#endif
