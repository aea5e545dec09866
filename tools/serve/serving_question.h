/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_question: a serving engine, its requests and its costs, from the parameters of a point.
 * The parameters are those of the measure `serve` (docs/formats.md#measures). Must be freed after
 * _init, even after a failure, and must not move while a run uses it. */
#ifndef SPECLAB_SERVING_QUESTION_H
#define SPECLAB_SERVING_QUESTION_H

#include "experiments/measures/measure.h"
#include "experiments/serving_choices.h"
#include "sim/acceptance.h"
#include "sim/serving/requests/requests.h"
#include "sim/serving/step_cost.h"
#include "tools/serve/replications.h"
#include "tools/serve/slo.h"

typedef struct {
    /* OPEN: random arrivals at a rate. CLOSED: a fixed number of slots that are always full.
     * REPLAY: the arrivals of a trace, until it ends. */
    enum { SPEC_SERVING_OPEN, SPEC_SERVING_CLOSED, SPEC_SERVING_REPLAY } load;
    double rate; /* requests/s: given (OPEN) or the trace's (REPLAY); NaN if CLOSED */
    /* as given; for RATES accepted draft tokens over tested ones; for CONTEXT the first alpha */
    double alpha;
    spec_process process;         /* IID, RATES or CONTEXT */
    float chance[SPEC_RATES_MAX]; /* RATES, for the plan */
    spec_requests requests;
    spec_requests by_length; /* the same, drawn as requests under way are: OPEN and CLOSED */
    spec_request_trace trace;
    spec_accepted_lengths accepted;
    spec_step_cost *cost;
    spec_serving_choices choices;
    /* complete except for the method for lengths and the two numbers of requests */
    spec_serving_plan plan;
    uint64_t measured; /* measured requests of a replication */
    /* OPEN, if a few long requests dominate: how many of these the intervals need; else 0 */
    uint64_t enough;
    uint64_t warm;        /* requests that come before the measured ones in a replication */
    bool warm_given;      /* otherwise `warm` is a minimum, and a high load may need more */
    bool batch_limited;   /* the number of slots is limited */
    bool limited;         /* slots, tokens per step, chunks or memory are limited */
    spec_step_memory memory;
    int64_t draft_blocks; /* as plan.blocks, but tokens also take memory in the draft's cache */
    spec_slo slo;
} spec_serving_question;

/* Reads the question. Returns GSL_CONTINUE, from spec_point_read, once everything but the files of
 * requests has been read. Errors begin with the parameter at fault. */
int spec_serving_question_init(spec_serving_question *question, const spec_point *point,
                               const spec_measure *measure, spec_error *error);
void spec_serving_question_free(spec_serving_question *question);

/* Returns the plan of an engine that chooses draft lengths by this method. */
spec_serving_plan spec_serving_question_plan(const spec_serving_question *question,
                                             const spec_serving_way *way);

/* The parameters with their defaults, for the lists of measures. */
#define SPEC_SERVING_QUESTION_PARAMETERS                                                           \
    "alpha=0.8", "process=iid", "K=0,1,3,5", "lengths=fixed",                                      \
        "rate=", "slots=", "trace=", "speed=1", "arrivals=poisson",                                \
        "prompt=", "output=", "spread=one", "rounds_correlation=0", "accepted=", "cost",           \
        "draft_cost=", "place=same", "draft_cache=free", "max_batch=0", "budget=0", "chunk=0",     \
        "blocks=0", "memory=", "kv_bytes=", "block=16", "requests=2000", "warm=", "slo="
extern const spec_assumption spec_serving_question_assumes[];

#endif
