/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_engine: an engine that is always full; a simulation runs it, and formulas predict it.
 * Each step serves `batch` decoding requests, and when one ends, the next takes its slot. We know
 * the true parameters behind its counters, so estimates from the counters can be checked. Headers
 * only. */
#ifndef SPECLAB_COUNTED_ENGINE_H
#define SPECLAB_COUNTED_ENGINE_H

#include "speclab/serving.h"

#include <stdbool.h>

/* The longest draft, and the most requests in a step. */
enum { SPEC_COUNTED_K = 64, SPEC_COUNTED_BATCH = 4096 };

/* A request draws its alpha from a distribution that the caller passes along with this record. Its
 * rounds draw their alphas from a Beta distribution around it. The draft token at depth j, counted
 * from 1, is accepted with probability alpha decay^(j-1) if all before it were. */
typedef struct {
    double over_rounds; /* a + b of the Beta over rounds, > 0; 0: all have the request's alpha */
    double decay;       /* in (0,1] */
    /* in [0,1): probability that a round reuses the uniform number of the request's previous round,
     * which it compares with its alphas; see sim/serving/serving_plan.h */
    double stay;
    double stop; /* probability that a draft ends before each token after the first; in [0,1) */
    /* in [0,1]: probability that the drafter foresees the first token that the target would reject
     * and ends the draft before it; the draft keeps at least one token */
    double sees;
    /* mean tokens of a request, in [1,1e9], geometric; the prefill emits one more before them */
    double output;
    double long_share;  /* probability that a request's mean is long_output instead, in [0,1) */
    double long_output; /* in [1,1e9]; not read if long_share is 0 */
    /* in [0,1): when a request ends, the next one starts in its slot; this is the correlation
     * between the normal scores of their alphas */
    double kept;
    int K;                 /* draft tokens of a round that does not stop early, 0..SPEC_COUNTED_K */
    int batch;             /* requests in each step, 1..SPEC_COUNTED_BATCH */
    spec_affine_step cost; /* time of a step; kv is not used */
    /* how many verified tokens of a step cost no time, >= 0: the time is flat up to there, then
     * linear. The mean step is exact if drafts never stop early or no tokens are free. */
    int free_tokens;
} spec_counted_engine;

static inline bool spec_counted_engine_ok(const spec_counted_engine *engine)
{
    const spec_affine_step *cost = &engine->cost;
    return engine->over_rounds >= 0.0 && engine->over_rounds <= 1e9 && engine->decay > 0.0 &&
           engine->decay <= 1.0 && engine->stay >= 0.0 && engine->stay < 1.0 &&
           engine->stop >= 0.0 && engine->stop < 1.0 && engine->sees >= 0.0 &&
           engine->sees <= 1.0 && engine->output >= 1.0 && engine->output <= 1e9 &&
           engine->long_share >= 0.0 && engine->long_share < 1.0 &&
           (engine->long_share == 0.0 ||
            (engine->long_output >= 1.0 && engine->long_output <= 1e9)) &&
           engine->kept >= 0.0 && engine->kept < 1.0 && engine->free_tokens >= 0 &&
           engine->K >= 0 && engine->K <= SPEC_COUNTED_K && engine->batch >= 1 &&
           engine->batch <= SPEC_COUNTED_BATCH && cost->step >= 0.0 && cost->token >= 0.0 &&
           cost->step + cost->token > 0.0 && cost->draft_round >= 0.0 && cost->draft_pass >= 0.0 &&
           cost->draft_token >= 0.0 &&
           cost->step + cost->token + cost->draft_round + cost->draft_pass + cost->draft_token <
               1e9;
}

#endif
