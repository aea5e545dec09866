/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_life: what a request adds to the times of the steps that serve it, with its moments.
 * A life is a prefill step, if requests have prompts, and then N rounds. In step j of its life the
 * request adds e_j seconds. The record owns its arrays; free accepts a zeroed one.
 * docs/formulas.md#request-life. */
#ifndef SPECLAB_REQUEST_LIFE_H
#define SPECLAB_REQUEST_LIFE_H

#include "analysis/serving/rounds_law.h"
#include "speclab/serving.h"

#include <stdbool.h>

/* Seconds that a request adds to a step: in its prefill `prefill` + `prompt_token` per token, in a
 * round `round` + `context` per token in its KV cache. All are >= 0. */
typedef struct {
    double prefill, prompt_token;
    double round, context;
} spec_request_costs;

/* In a batch, where the step's own time is shared: prefill 0, round token (K+1) + draft_token K. */
spec_request_costs spec_request_costs_shared(const spec_affine_step *cost, int K);

/* Alone: each step's own time is the request's, and draft_round + draft_pass K of its rounds. */
spec_request_costs spec_request_costs_alone(const spec_affine_step *cost, int K);

/* Arrays over j = 0..n-1, the steps before. E[x; A] is the mean of x where A holds and of 0
 * elsewhere. For i < j, E[e_i e_j] is first[j] at i = 0, else pair[j] + i slope[j], and
 * E[e_i; alive at j] is early[j] at i = 0, else level[j] + i rise[j]. */
typedef struct {
    int n;
    bool prefill;
    double *alive;                /* (n) chance of more than j steps */
    double *added, *square;       /* (n) E[e_j], E[e_j^2]: 0 after the end */
    double *first, *pair, *slope; /* (n) */
    double *early, *level, *rise; /* (n) */
} spec_request_life;

/* Zeroes a life of at most n >= 1 steps. GSL_EDOM, GSL_ENOMEM. */
int spec_request_life_init(spec_request_life *life, int n, bool prefill);
void spec_request_life_free(spec_request_life *life);

/* Adds a share of requests whose rounds and prompts are independent.
 *
 *   share          of all requests, in [0,1]; the shares of a life add up to 1
 *   rounds         their rounds, with all shares of it added: P(N > 0) <= 1. At most n, or n - 1
 *                  with a prefill
 *   prompt         mean length of their prompts, tokens, >= 0
 *   prompt_square  mean square of it, >= prompt^2
 *   returns GSL_SUCCESS, or GSL_EDOM outside the domain
 * The context of a round is the prompt and the tokens of the rounds before. Rounds given their sum
 * are exchangeable: E[S_i; S_j] = S_j i/j, from which pair, slope, level and rise follow. Assumes
 * A4: with rounds that repeat (stay > 0) and context > 0 the four are approximate, the others
 * exact. Checked by: enumeration of all sequences of rounds. */
int spec_request_life_add(spec_request_life *life, double share, const spec_request_costs *costs,
                          const spec_rounds_law *rounds, double prompt, double prompt_square);

/* Mean steps of a life, and the mean and mean square of sum_j e_j, s and s^2. With costs alone, the
 * sum is the time that the request takes on an engine of its own. */
double spec_request_life_steps(const spec_request_life *life);
double spec_request_life_total(const spec_request_life *life);
double spec_request_life_total_square(const spec_request_life *life);

#endif
