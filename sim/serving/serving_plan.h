/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_plan: the input and the results of a run of the serving engine.
 * The caller owns what a plan points to, which is constant and shared by threads. */
#ifndef SPECLAB_SERVING_PLAN_H
#define SPECLAB_SERVING_PLAN_H

#include "base/context_steps.h"
#include "base/log_histogram.h"
#include "sim/serving/length_choice.h"
#include "sim/serving/request.h"
#include "sim/serving/requests/accepted_lengths.h"
#include "sim/serving/step_cost.h"
#include "speclab/serving.h"

#include <stdbool.h>
#include <stdint.h>

/* Where drafts are computed. V is the target's time of the step's work, D the draft's. */
typedef enum {
    SPEC_DRAFT_SAME,     /* on the target's device: D + V */
    SPEC_DRAFT_SEPARATE, /* on its own device, taking turns with the target: D + V */
    /* on its own device, while the target verifies. If the whole draft was accepted and the bonus
     * token was guessed (chance `guess`), the next draft is ready. Otherwise the request is cold,
     * as is a request that begins to decode. See miss_rides. */
    SPEC_DRAFT_AHEAD,
    /* on its own device; a step serves two half batches in turn, in max(D1 + V1, D2 + V2, V1 + V2,
     * D1 + D2) */
    SPEC_DRAFT_HALVES,
} spec_draft_place;

/* What it costs to fill a draft's own KV cache (nothing if the choice of lengths never drafts). A
 * draft needs the keys and values of all tokens before the ones it drafts. */
typedef enum {
    SPEC_CACHE_FREE, /* nothing: it reads the target's cache, or needs none */
    /* The draft computes every token that the target computes: the chunks of prompts, and one token
     * for a request that does not draft in this step. Heads that read the target's hidden states
     * need this, because the target does not store those states. */
    SPEC_CACHE_FED,
    /* A request's first pass also computes the tokens that the draft has missed: the prompt, and
     * what was emitted while the request had no drafts. */
    SPEC_CACHE_REFILLED,
    SPEC_CACHE_DROPPED, /* like REFILLED, but a step that decodes without drafting drops the whole
                         * cache */
} spec_draft_cache;

typedef struct {
    spec_request_source requests;
    const spec_step_cost *cost;
    const spec_length_choice *lengths;
    const spec_accepted_lengths *opt_accepted; /* what requests with replay >= 0 replay */
    /* n_rates > 0: the rounds of all requests use these chances instead of alpha. rate[j] is the
     * chance that at least j + 1 draft tokens are accepted; it never increases with j. No draft is
     * longer than n_rates. */
    int n_rates;
    const float *rate; /* (n_rates) */
    /* Instead of a request's alpha, takes alpha from its context at the beginning of each step. */
    const spec_context_steps *opt_alpha;
    spec_draft_place place;
    double guess; /* AHEAD: chance that the bonus token was guessed, in [0, 1] */
    spec_draft_cache cache; /* SAME and SEPARATE; else FREE */
    /* AHEAD: cold requests verify nothing (K_r = 0) while the next drafts are made for all
     * requests. The step takes max(D', V), where D' has K_r + 1 passes. Without miss_rides the step
     * first drafts for its cold requests, and takes longer by that time. */
    bool miss_rides;
    /* Correlation of rounds: a round reuses the uniform number of the request's previous round with
     * this chance, in [0, 1). Each round by itself is then distributed as before, and the
     * n_accepted of two rounds j apart have correlation stay^j (K constant). */
    double stay;
    /* A step is scheduled when the previous step begins (async_scheduling of vLLM). So it does not
     * see the arrivals since then, nor the slots and blocks of requests that the previous step
     * completes; the next step does. If the engine has nothing to do, it schedules arrivals at
     * once. */
    bool asynchronous;
    bool closed;       /* `slots` requests are in the system at all times; arrivals are ignored */
    int slots;         /* most running requests (max_num_seqs), >= 1 */
    int64_t budget;    /* most tokens in a step (max_num_batched_tokens); 0: no limit */
    int64_t chunk;     /* most tokens of one prompt in a step; 0: no limit */
    int64_t blocks;    /* KV blocks of the device; 0: no limit, and blocks are not counted */
    int block;         /* tokens in a block, >= 1 */
    /* requests before the measured ones, not counting those under way at time 0 */
    uint64_t warm;
    uint64_t measured; /* measured requests, >= 1; UINT64_MAX: to the end of the source */
    /* 0, or n > 0 to fill the result's histograms, and its arrays with every n-th request */
    uint64_t keep_every;
    bool unfollowed; /* the run ends with its measured part, so its sums over requests are
                      * partial */
} spec_serving_plan;

/* The measured part consists of whole steps. It begins at time 0, or with the end of the step in
 * which the first measured request joins. It ends with the step in which the first request after
 * them joins, or with the last request of the source. The run continues under the same load until
 * all measured requests are complete. */
typedef struct {
    spec_serving_sums sums;
    uint64_t n;    /* measured requests, in order of completion; within a step, prefills come
                    * last */
    uint64_t kept; /* how many of them are in the arrays, which are NULL without keep_every */
    /* (kept) s; per_token is NaN for requests of one token */
    float *first_token, *per_token, *latency;
    uint32_t *request; /* (kept) each request's number in its source, from 0 */
    /* decoding requests, and times, of the steps in the measured part; NULL without keep_every */
    spec_log_histogram *batches, *step_times;
    /* mean latency of the first and of the second half of the requests, for stationarity */
    double early, late;
    /* The number of requests in the system kept growing by more than chance explains, so the load
     * is above capacity or the warm-up is too short. A run ends early if 2^24 requests are in the
     * system, or 2^16 more than have completed. Never set in a closed loop. */
    bool grew;
} spec_serving_result;

#endif
