/* SPDX-License-Identifier: GPL-3.0-or-later */
/* modulated: n_emitted when the acceptance chance depends on a state that changes per token.
 * States may be hidden (Markov-modulated acceptance, A5) or visible (the context of a Markov pair,
 * A6). Arrays are row-major and owned by the caller; GSL status, outputs zeroed on failure.
 * docs/formulas/acceptance.md#modulated. */
#ifndef SPECLAB_MODULATED_H
#define SPECLAB_MODULATED_H

#include "analysis/stationary.h"

#include <gsl/gsl_errno.h>

/* Computes mean and variance of the tokens per round when the chance follows a hidden Markov chain.
 *
 *     E[n_emitted] = 1 + sum_{k=1..K} start D (stay D)^(k-1) 1,   D = diag(accept)
 *                                                             docs/formulas/acceptance.md#modulated
 *
 *   start   (S)    law of the state at the first draft token of a round, sums to 1
 *   stay    (S,S)  stay[s*S+t]: chance to go from s to t from one token to the next, rows sum to 1
 *   accept  (S)    chance that a draft token is accepted in each state, in [0,1]
 *   S              number of states, >= 1
 *   K              draft length, >= 0
 *   returns GSL_SUCCESS; GSL_EDOM if a law is negative or off 1 by more than 1e-9, for a chance
 *           outside [0,1], S < 1 or K < 0; GSL_ENOMEM. O(K S^2)
 * The variance is computed as a sum without negative terms. Assumes A5. Checked by: the tail sum
 * above and its second moment; spec_capped_geometric_* for equal chances. */
int spec_modulated_mean_variance(double *ret_mean, double *ret_variance, const double *start,
                                 const double *stay, const double *accept, int S, int K);

/* Computes the same for two states that have probability 1/2 each at the start and persist with
 * probability (1+rho)/2.
 *
 *   alpha   mean chance
 *   spread  the chances are alpha + spread and alpha - spread, both in [0,1]; of either sign
 *   rho     correlation of the states of neighbouring tokens, in [-1,1]
 *   returns GSL_SUCCESS, or GSL_EDOM outside the domain */
int spec_modulated_pair(double *ret_mean, double *ret_variance, double alpha, double spread,
                        double rho, int K);

/* Computes the long-run mean and variance of the tokens per round when acceptance depends on a
 * visible context, the state of a Markov pair. A round that starts in context s accepts a draft
 * token and moves to context t with probability accept[s*S+t]. It rejects and moves to t (by the
 * correction) with probability reject[s*S+t]. After K acceptances it moves (by the bonus) with
 * probability bonus[s*S+t]:
 *
 *     round kernel = sum_{k<K} accept^k reject + accept^K bonus
 *         docs/formulas/acceptance.md#pair-chain
 *
 * Its stationary law is the law of the contexts in which rounds start.
 *   accept, reject   (S,S) >= 0; row s of the two sums to 1 together
 *   bonus            (S,S) >= 0; rows sum to 1
 *   S                contexts, >= 1
 *   K                draft length, >= 0
 *   opt_start        (S) the stationary law; may be NULL
 *   returns GSL_SUCCESS; GSL_EDOM for entries < 0 or rows off 1 by more than 1e-9, S < 1 or K < 0;
 *           GSL_ESING if the stationary law is not unique; GSL_ENOMEM
 * K products of S x S matrices, fast for a sparse accept, and one elimination. Assumes A6. Checked
 * by: enumeration of every path of a round, its kernel iterated from any start; iid acceptance. */
int spec_modulated_pair_chain(double *ret_mean, double *ret_variance, double *opt_start,
                              const double *accept, const double *reject, const double *bonus,
                              int S, int K);

#endif
