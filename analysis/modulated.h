/* modulated: n_accepted when acceptance depends on a state that moves from token to token.
 * Hidden states (Markov-modulated acceptance) and visible ones (the context of a Markov pair) alike: all that is needed is one
 * matrix. Row-major arrays of the caller's. docs/formulas.md#modulated. */
#ifndef SPECLAB_MODULATED_H
#define SPECLAB_MODULATED_H

#include <gsl/gsl_errno.h>

/* Hidden: start (S) the law of the first state, stay (S,S) its transitions, accept (S) the chances. Mean and variance of n_emitted:
 *     E[n_emitted] = 1 + sum_{k=1..K} start D (stay D)^(k-1) 1,   D = diag(accept) */
int spec_modulated_mean_variance(double *ret_mean, double *ret_variance, const double *start, const double *stay,
                                 const double *accept, int S, int K);

/* Two states, half of the time each, with correlation rho, chances alpha +- spread. */
int spec_modulated_pair(double *ret_mean, double *ret_variance, double alpha, double spread, double rho, int K);

/* Visible: a round that starts in context s accepts a draft token and moves to context t with probability accept[s*S+t], rejects and
 * moves to t with probability reject[s*S+t] (rows of the two sum to 1 together), and after K acceptances moves by bonus[s*S+t]. The long-run
 * mean and variance of n_emitted over rounds, whose starting contexts follow the stationary law of the round chain.
 * opt_start (S): that law. GSL_EDOM for rows that do not sum to 1 within 1e-9, GSL_ESING where the stationary law is not unique.
 * Source: docs/formulas.md#pair-chain. */
int spec_pair_chain(double *ret_mean, double *ret_variance, double *opt_start, const double *accept, const double *reject,
                    const double *bonus, int S, int K);

/* The stationary law of a stochastic matrix (S,S). GSL_ESING where it is not unique. */
int spec_stationary_law(double *ret_law, const double *matrix, int S);

#endif
