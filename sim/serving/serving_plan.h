/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_plan: what a serving engine runs, and what a run yields.
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
    SPEC_DRAFT_SEPARATE, /* on a device of its own, in turn with the target: D + V */
    /* on a device of its own, while the target verifies. A round whose draft was accepted whole,
     * and whose bonus token was guessed (chance `guess`), has its next draft ready. Other requests
     * are cold, as those that begin to decode are. See miss_rides. */
    SPEC_DRAFT_AHEAD,
    /* on a device of its own; a step serves two half batches in turn, in
     * max(D1 + V1, D2 + V2, V1 + V2, D1 + D2) */
    SPEC_DRAFT_HALVES,
} spec_draft_place;

/* The cost of a draft's own KV cache, unless no choice of lengths ever drafts. A draft needs the
 * keys and values of all tokens before those that it drafts. */
typedef enum {
    SPEC_CACHE_FREE, /* nothing: it reads the target's cache, or needs none */
    /* The draft computes all that the target does: prompts with their chunks, and a token for a
     * request without a draft in this step. Heads that read the target's hidden states need this,
     * as the target keeps none of them. */
    SPEC_CACHE_FED,
    /* A request's first pass also computes the tokens that the draft has missed: the prompt, and
     * what was emitted while the request had no drafts. */
    SPEC_CACHE_REFILLED,
    SPEC_CACHE_DROPPED, /* the same, and a step of decoding requests without drafts drops all */
} spec_draft_cache;

typedef struct {
    spec_request_source requests;
    const spec_step_cost *cost;
    const spec_length_choice *lengths;
    const spec_accepted_lengths *opt_accepted; /* what requests with replay >= 0 replay */
    /* n_rates > 0: rounds of all requests accept by these chances in place of alpha: rate[j] that
     * at least j + 1 draft tokens are accepted, never rising. No draft is longer. */
    int n_rates;
    const float *rate; /* (n_rates) */
    /* Alpha of each round by the context of its request when the step begins, in place of alpha. */
    const spec_context_steps *opt_alpha;
    spec_draft_place place;
    double guess; /* AHEAD: chance that the bonus token was guessed, in [0, 1] */
    spec_draft_cache cache; /* SAME and SEPARATE; else FREE */
    /* AHEAD: cold requests verify no draft (K_r = 0) while the next is drafted for all, in max(D',
     * V) with K_r + 1 passes. Otherwise the step first drafts for its cold requests, and takes
     * that time more. */
    bool miss_rides;
    /* Correlation of rounds: with this chance, in [0, 1), a round compares its alpha with the
     * uniform number of the request's round before. So each round has the law of alpha, and
     * n_accepted of rounds j apart have correlation stay^j (K constant). */
    double stay;
    /* A step is scheduled when the step before begins (async_scheduling of vLLM): arrivals since
     * then, and slots and blocks of requests that the step before completes, are seen by the step
     * after. Nothing to schedule: at once. */
    bool asynchronous;
    bool closed;       /* `slots` requests are in the system at all times; arrivals are ignored */
    int slots;         /* most running requests (max_num_seqs), >= 1 */
    int64_t budget;    /* most tokens in a step (max_num_batched_tokens); 0: no limit */
    int64_t chunk;     /* most tokens of one prompt in a step; 0: no limit */
    int64_t blocks;    /* KV blocks of the device; 0: no limit, and blocks are not counted */
    int block;         /* tokens in a block, >= 1 */
    uint64_t warm;     /* requests before the measured ones, without those that have begun */
    uint64_t measured; /* measured requests, >= 1; UINT64_MAX: to the end of the source */
    /* 0, or fill the result's arrays with every so many-th request, and its histograms */
    uint64_t keep_every;
    bool unfollowed; /* the run ends with its measured part: its sums over requests are partial */
} spec_serving_plan;

/* The measured part consists of whole steps. It begins at time 0, or with the end of the step in
 * which the first measured request joins. It ends with that in which the first one after them does,
 * or with the last request of the source. The run goes on, under the same load, until all measured
 * requests are complete. */
typedef struct {
    spec_serving_sums sums;
    uint64_t n;    /* measured requests, as they complete; in a step, those of prefills are last */
    uint64_t kept; /* of them in the arrays, which are NULL without keep_every */
    /* (kept) s; per_token is NaN for requests of one token */
    float *first_token, *per_token, *latency;
    uint32_t *request; /* (kept) each request's number in its source, from 0 */
    /* of the steps of the measured part: decoding requests, and times; NULL without keep_every */
    spec_log_histogram *batches, *step_times;
    /* mean latency of the first and of the second half of the requests, for stationarity */
    double early, late;
    /* The number of requests in the system grew throughout, beyond what chance explains: the load
     * is above capacity or the warm-up is too short. A run ends early where 2^16 more requests are
     * in the system than completed, or 2^24. Never in a closed loop. */
    bool grew;
} spec_serving_result;

#endif
