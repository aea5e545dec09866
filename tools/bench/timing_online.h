/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_online: compares a draft that learns while it serves with the same draft, unchanged.
 * Both decode the same prompts in the order of the list and take turns after each text, so that a
 * change in the machine affects both. The decoded text depends only on the seed, and the times on
 * the machine. Owns its blocks. */
#ifndef SPECLAB_TIMING_ONLINE_H
#define SPECLAB_TIMING_ONLINE_H

#include "base/table.h"
#include "sim/decode.h"
#include "sim/online_draft.h"
#include "tools/bench/timing_prompts.h"

typedef struct {
    spec_decoder_config decoder; /* for the draft that does not change; sets K and clock */
    spec_model *learning;        /* the same draft, opened a second time */
    spec_online_plan online;
    const spec_timing_prompts *prompts;
    int texts;  /* number of texts, >= 1; they cycle through the prompts */
    int tokens; /* minimum tokens of a text, unless it ends or the context is full */
    uint64_t seed;
    spec_thread_pool *opt_pool; /* pool for the learning */
    const volatile int *opt_stop;
    void (*opt_progress)(void *context, double share); /* after each text */
    void *context;
} spec_timing_online_plan;

typedef enum {
    SPEC_TIMING_ONLINE_STATIC,
    SPEC_TIMING_ONLINE_LEARNING,
    SPEC_TIMING_ONLINE_WAYS
} spec_timing_online_way;

/* What we sum for each way over a text; times include the pass over the prompt. */
typedef enum {
    SPEC_TIMING_ONLINE_SECONDS, /* seconds of all rounds, including learning */
    SPEC_TIMING_ONLINE_LEARN,   /* seconds of these spent learning */
    SPEC_TIMING_ONLINE_TOKENS,
    SPEC_TIMING_ONLINE_ROUNDS,
    SPEC_TIMING_ONLINE_ACCEPTED, /* draft tokens */
    SPEC_TIMING_ONLINE_TESTED,
    SPEC_TIMING_ONLINE_FIELDS
} spec_timing_online_field;

typedef struct {
    spec_timing_online_plan plan;
    double *block; /* (texts, SPEC_TIMING_ONLINE_WAYS * SPEC_TIMING_ONLINE_FIELDS) */
    long updates;  /* updates of the draft that learns */
} spec_timing_online;

/* Decodes all texts. Before that it decodes the first text once, untimed, and discards the result.
 * Returns GSL_EINVAL if the decoder's config is refused, if the draft cannot learn, or if the
 * strategy uses no draft model; GSL_EFAILED, "interrupted", if *opt_stop is set. */
int spec_timing_online_init(spec_timing_online *timed, const spec_timing_online_plan *plan,
                            spec_error *error);
void spec_timing_online_free(spec_timing_online *timed); /* may be zeroed */

#endif
