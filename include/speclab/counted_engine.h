/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_engine: a full engine whose counters are read: what simulation runs and analysis knows.
 * Each step serves `batch` decoding requests, and a request that ends makes place for the next. The
 * truth behind the counters is known, so that estimates from them can be checked. Headers only. */
#ifndef SPECLAB_COUNTED_ENGINE_H
#define SPECLAB_COUNTED_ENGINE_H

#include "speclab/serving.h"

#include <stdbool.h>

/* Longest draft, and most requests in a step. */
enum { SPEC_COUNTED_K = 64, SPEC_COUNTED_BATCH = 4096 };

/* A request draws its alpha from a law that the caller gives beside this record. Its rounds draw
 * theirs from a Beta law around it. The draft token of depth j, from 1, is accepted with chance
 * alpha decay^(j-1) once those before it were. */
typedef struct {
    double over_rounds; /* a + b of the Beta law over rounds, > 0; 0: all have the request's */
    double decay;       /* in (0,1] */
    /* in [0,1): a round repeats the uniform number of the request's round before, with which it
     * compares its chances: as in sim/serving/serving_plan.h */
    double stay;
    double stop; /* chance that a draft ends, before each token after its first; in [0,1) */
    /* chance that a draft ends before the first token that the target would reject, but not before
     * its first token: a drafter that sees where it fails; in [0,1] */
    double sees;
    /* mean tokens of a request, in [1,1e9]: geometric; the prefill emits one more before them */
    double output;
    double long_share;  /* chance that the mean of a request is long_output instead, in [0,1) */
    double long_output; /* in [1,1e9]; not read for long_share = 0 */
    /* in [0,1): correlation of the normal scores of the alphas of two requests that begin one after
     * the other */
    double kept;
    int K;                 /* draft tokens of a round that does not stop, 0..SPEC_COUNTED_K */
    int batch;             /* requests in each step, 1..SPEC_COUNTED_BATCH */
    spec_affine_step cost; /* of a step; kv is not used */
    /* verified tokens of a step that take no time, >= 0: times are flat, and then linear. The mean
     * step is exact where drafts do not stop or where none are free. */
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
