/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_life: the time that a request adds to the steps that serve it, and its moments.
 * A life is a prefill step, if requests have prompts, and then N rounds. In step j of its life the
 * request adds e_j seconds. The record owns its arrays; free accepts a zeroed one.
 * docs/formulas/serving.md#request-life. */
#ifndef SPECLAB_REQUEST_LIFE_H
#define SPECLAB_REQUEST_LIFE_H

#include "analysis/serving/rounds_law.h"
#include "speclab/serving.h"

#include <stdbool.h>

/* The seconds that a request adds to a step: `prefill` + `prompt_token` per token in its prefill,
 * and `round` + `context` per token of its KV cache in a round. All are >= 0. */
typedef struct {
    double prefill, prompt_token;
    double round, context;
} spec_request_costs;

/* Returns the costs of a request in a large batch, whose requests share the step's own time:
 * prefill is 0 and round is token (K+1) + draft_token K. */
spec_request_costs spec_request_costs_shared(const spec_affine_step *cost, int K);

/* Returns the costs of a request that runs alone and so pays each step's own time, and draft_round
 * + draft_pass K in each round. */
spec_request_costs spec_request_costs_alone(const spec_affine_step *cost, int K);

/* Arrays over j = 0..n-1, the number of earlier steps. E[x; A] is the mean of x where A holds and
 * of 0 elsewhere. For i < j, E[e_i e_j] is first[j] at i = 0, else pair[j] + i slope[j], and E[e_i;
 * alive at j] is early[j] at i = 0, else level[j] + i rise[j]. */
typedef struct {
    int n;
    bool prefill;
    double *alive;                /* (n) chance of more than j steps */
    double *added, *square;       /* (n) E[e_j], E[e_j^2]: 0 after the end */
    double *first, *pair, *slope; /* (n) */
    double *early, *level, *rise; /* (n) */
} spec_request_life;

/* Sets up a zeroed life of at most n >= 1 steps. Returns GSL_SUCCESS, GSL_EDOM or GSL_ENOMEM. */
int spec_request_life_init(spec_request_life *life, int n, bool prefill);
void spec_request_life_free(spec_request_life *life);

/* Adds a share of requests whose rounds and prompts are independent.
 *
 *   share          fraction of all requests, in [0,1]; the shares of a life add up to 1
 *   rounds         their rounds, with all shares of it added: P(N > 0) <= 1. At most n, or n - 1
 *                  with a prefill
 *   prompt         mean length of their prompts, tokens, >= 0
 *   prompt_square  its mean square, >= prompt^2
 *   returns GSL_SUCCESS, or GSL_EDOM outside the domain
 * The context of a round is the prompt plus the tokens of earlier rounds. Given their sum, rounds
 * are exchangeable: E[S_i; S_j] = S_j i/j, from which pair, slope, level and rise follow. This
 * assumes A4. If rounds repeat (stay > 0) and context > 0, these four are approximate and the
 * others exact. Checked by: enumeration of all sequences of rounds. */
int spec_request_life_add(spec_request_life *life, double share, const spec_request_costs *costs,
                          const spec_rounds_law *rounds, double prompt, double prompt_square);

/* Return the mean number of steps of a life, and the mean (s) and mean square (s^2) of sum_j e_j.
 * With the costs of spec_request_costs_alone this sum is the time that a request takes on an engine
 * that serves nothing else. */
double spec_request_life_steps(const spec_request_life *life);
double spec_request_life_total(const spec_request_life *life);
double spec_request_life_total_square(const spec_request_life *life);

#endif
