/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine: the state of one run of sim/serving/serving_run.h, for the modules of this folder.
 * A member is in the queue, among the prefills, or among the decoding requests. */
#ifndef SPECLAB_ENGINE_H
#define SPECLAB_ENGINE_H

#include "sim/serving/engine/common_rounds.h"
#include "sim/serving/engine/decoding.h"
#include "sim/serving/engine/kv_blocks.h"
#include "sim/serving/engine/members.h"
#include "sim/serving/engine/uniforms.h"
#include "sim/serving/serving_plan.h"

/* At most this many requests are taken into the system; see spec_serving_result.grew. */
enum { SPEC_ENGINE_MOST = 1 << 24 };

typedef struct {
    const spec_serving_plan *plan;
    const spec_affine_step *opt_affine; /* of the plan's cost */
    spec_serving_result *result;
    spec_error *error;

    /* the source: `pending` is its next request, if `more` is set */
    void *cursor;
    spec_request pending;
    bool more;

    spec_members members;
    spec_decoding decoding;
    int32_t *prefill; /* (n_prefill) running members with prompt to compute, in order of entry */
    int n_prefill, prefill_capacity;
    int32_t *spare_slot; /* the free slots are this stack and all slots from next_slot on */
    int n_spare_slot, next_slot, slot_capacity;
    int64_t in_system;
    uint32_t joined;
    uint64_t entered;
    spec_kv_blocks blocks;

    /* The clock. When a request arrives at an empty system, it restarts at the source's time
     * `origin`, so its resolution does not depend on how long the run has been going. An
     * asynchronous scheduler knows the arrivals up to `known`, and still treats the slots and
     * blocks of the last late_slots completed requests as taken. */
    double origin, now, known;
    int late_slots;

    spec_draft_cache cache; /* the plan's; FREE if nothing is ever drafted */
    uint32_t drop;          /* how many steps dropped the cache */

    void *choice_state;
    int K_max;
    bool reads, reads_context, learns, drafts_all; /* properties of the choice */
    /* K_r and accepted are always needed, not only if the choice gives different lengths */
    bool ragged;
    spec_common_rounds_kernel *kernel;
    spec_uniforms accept, repeat, guess;

    /* the step */
    int served;   /* this many decoding requests take part, from the first on */
    int K;        /* draft length of each of them; -1: see K_r */
    int64_t left; /* tokens left in the budget */
    bool preempted;
    spec_step_batch batch;
    int32_t *K_r, *accepted, *slot, *context; /* (row_capacity), by decoding request */
    int row_capacity;

    /* the measured part, and the measured requests; see spec_serving_sums */
    enum { SPEC_PART_BEFORE, SPEC_PART_FIRST, SPEC_PART_SECOND, SPEC_PART_AFTER } part;
    uint64_t completed, times_capacity;
    /* when the part begins, on the current clock; sum of latencies of its first half */
    double begin, early;
    uint64_t n_early;
    int64_t used_begin, in_system_begin, in_system_middle, first_in_system;
    double present;
    int64_t written, tokens, kv, drafted; /* summed over requests, for the sums of the same names */
    spec_serving_sums of_requests;
} spec_engine;

static inline int64_t spec_engine_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
