/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rounds_law: the distribution of a request's number of rounds N, and of its tokens before each.
 * Requests may differ in acceptance and length: a law is a sum of shares of requests, each with one
 * distribution of tokens per round (A4, or rounds that repeat). The record owns its arrays; free
 * accepts a zeroed one. docs/formulas/serving.md#rounds-law. */
#ifndef SPECLAB_ROUNDS_LAW_H
#define SPECLAB_ROUNDS_LAW_H

#include <gsl/gsl_errno.h>

/* Arrays over j = 0..n-1, the number of earlier rounds. S_j is the sum of the tokens of j rounds.
 * E[x; A] is the mean of x where A holds and of 0 elsewhere. */
typedef struct {
    int n;           /* most rounds: P(N > n) = 0 */
    double *longer;  /* (n) P(N > j) */
    double *tokens;  /* (n) E[S_j; N > j] */
    double *tokens2; /* (n) E[S_j^2; N > j] */
} spec_rounds_law;

/* Sets up a zeroed law for requests of at most n >= 0 tokens. Returns GSL_SUCCESS, GSL_EDOM or
 * GSL_ENOMEM. */
int spec_rounds_law_init(spec_rounds_law *law, int n);
void spec_rounds_law_free(spec_rounds_law *law);

/* Adds a share of requests whose rounds all have the same distribution of tokens.
 *
 *     longer[j] += share E[tail(S_j)],   tail(s) = P(length > s)
 *         docs/formulas/serving.md#rounds-law
 *
 *   share     fraction of all requests, in [0,1]; the shares of a law add up to 1
 *   round     (m) chances of 1..m tokens per round, >= 0, summing to 1 within 1e-9
 *   m         most tokens per round, >= 1
 *   stay      chance that a round emits as many tokens as the one before, instead of a number drawn
 *             for it, in [0,1]; 0: independent rounds. Every round has the law `round`
 *   opt_tail  (L) P(length > s) for s = 0..L-1, in [0,1], not increasing; NULL: all lengths are L
 *   L         most tokens, 0..n. 1 - tail[0] is the share of requests without rounds
 *   returns GSL_SUCCESS; GSL_EDOM outside the domain, GSL_ENOMEM: the law is then unchanged
 * If the prefill emits the first token, pass L - 1 and opt_tail + 1. Takes O(n L m) at most.
 * Probabilities below 1e-30 are dropped. Checked by: spec_finite_length_rounds; enumeration of all
 * sequences of rounds. */
int spec_rounds_law_add(spec_rounds_law *law, double share, const double *round, int m, double stay,
                        const double *opt_tail, int L);

/* Does the same for iid acceptance (A1), where the tokens per round are capped geometric. alpha in
 * [0,1], K >= 0. */
int spec_rounds_law_add_alpha(spec_rounds_law *law, double share, double alpha, int K, double stay,
                              const double *opt_tail, int L);

/* Returns E[N] = sum_j P(N > j), rounds. */
double spec_rounds_law_mean(const spec_rounds_law *law);

/* Returns E[N^2] = sum_j (2j + 1) P(N > j), rounds^2. */
double spec_rounds_law_square(const spec_rounds_law *law);

/* Returns the mean over requests of sum_j S_j, summed over their rounds, tokens. This is how many
 * tokens beyond the prompt a request's rounds read from its cache in total. */
double spec_rounds_law_contexts(const spec_rounds_law *law);

#endif
