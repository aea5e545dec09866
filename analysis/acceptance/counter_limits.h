/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counter_limits: what the counters of a full engine converge to, in closed form.
 * Counted in rounds, each slot is a renewal process, so every limit is a ratio of two means over
 * requests. Slow requests have more rounds and so weigh more. Pure functions.
 * docs/formulas/serving.md#counter-limits. */
#ifndef SPECLAB_COUNTER_LIMITS_H
#define SPECLAB_COUNTER_LIMITS_H

#include "speclab/counted_engine.h"

/* Values are per round unless stated otherwise. */
typedef struct {
    double rounds; /* rounds of a request */
    double tokens; /* output tokens after first tokens, per round */
    double drafted, accepted;
    double alpha; /* accepted / tested draft tokens; NaN for K = 0 */
    /* [j]: shares of rounds that draft, test and accept the token of depth j = 1..K */
    double drafts[SPEC_COUNTED_K + 1], tests[SPEC_COUNTED_K + 1], passes[SPEC_COUNTED_K + 1];
    double step;         /* s, the mean time of a step */
    double tokens_per_s; /* of the whole engine: batch tokens / step */
} spec_counter_limits;

/* Computes the limits for requests that have alpha[i] with chance share[i], i < n.
 *
 *     N_k = sum_i share_i p_ik / (1 - stay g_k) / (1 - (1 - stay) sum_k p_ik g_k / (1 - stay g_k))
 *
 * N_k is the mean number of a request's rounds that would accept k tokens if the draft never
 * stopped. Such a round has chance p_ik, and the request goes on after it with chance g_k.
 *   returns GSL_EDOM, and NaN, for an engine or an alpha outside its domain or shares that do not
 *           sum to 1 within 1e-9
 * Checked by: the iteration over rounds (tests); simulation, sim/observed/engine_counters.h. */
int spec_counter_limits_of(spec_counter_limits *ret, const spec_counted_engine *engine,
                           const double *share, const double *alpha, int n);

/* Bounds the tokens per round at a shorter draft length, given the counters of a run at K whose
 * requests differ. At another length, requests need other numbers of rounds and so have other
 * weights. That is why the counters of the run, cut to the shorter length, give only a lower bound.
 *
 *     cut <= tokens per round at K_other <= tokens / (1 + (tokens - cut) / (K_other + 1))
 *
 *   tokens   1 + sum_{j <= K} passes_j per round
 *   cut      1 + sum_{j <= K_other} passes_j per round of the same run, K_other < K
 * The bounds hold in the limit of long requests. The upper bound is attained if each request
 * accepts all or nothing, the lower one if all requests are alike. The lower bound assumes that
 * requests with a larger `cut` also gain a larger factor from the longer draft, which is true if
 * each request has one alpha. Checked by: the limits at both lengths of random mixtures.
 * docs/formulas/lengths.md#another-length. */
void spec_counter_limits_shorter(double *ret_low, double *ret_high, double tokens, double cut,
                                 int K_other);

#endif
