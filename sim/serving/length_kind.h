/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_kind: the table of length choices, for the files that implement them.
 * Kinds are in sim/serving/length_<topic>.c. To add one, define it there and add its line to the
 * table in length_choice.c. */
#ifndef SPECLAB_LENGTH_KIND_H
#define SPECLAB_LENGTH_KIND_H

#include "base/context_steps.h"
#include "base/settings.h"
#include "sim/serving/length_choice.h"
#include "speclab/round.h"

#include <stddef.h>

typedef struct {
    const char *name, *usage, *summary, *reference;
    bool reads, reads_context, drafts_all;
    int (*init)(spec_length_choice *choice, const spec_settings *settings, spec_error *error);
    /* Returns the bytes that a state needs for that many slots; NULL: there is no state. A new
     * state is zeroed and then passed to _begin. */
    size_t (*state_size)(const spec_length_choice *choice, int slots);
    void (*begin)(const spec_length_choice *choice, void *state, int slots); /* or NULL */
    int (*choose)(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                  int32_t *ret_K);
    void (*enter)(const spec_length_choice *choice, void *state, int slot); /* or NULL */
    void (*observe)(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                    const int32_t *K, const int32_t *accepted, double seconds); /* or NULL */
} spec_length_kind;

/* Ranges of batch sizes, each with its K. They start at 1, ascend, and leave no gaps. */
enum { SPEC_LENGTH_RANGES_MAX = 64, SPEC_LENGTH_CANDIDATES_MAX = 16 };
typedef struct {
    int n;
    int from[SPEC_LENGTH_RANGES_MAX], K[SPEC_LENGTH_RANGES_MAX];
} spec_length_ranges;

/* Returns the range that a batch of n >= 1 requests falls in. */
static inline int spec_length_range(const spec_length_ranges *ranges, int n)
{
    int i = ranges->n - 1;
    while (i > 0 && ranges->from[i] > n) i--;
    return i;
}

struct spec_length_choice {
    const spec_length_kind *kind;
    const spec_step_cost *cost;
    int K_max;
    bool learns; /* the kind has _observe; _init may clear it if the settings need no learning */
    union {
        struct {
            spec_length_ranges ranges;
            int hysteresis;
        } schedule;
        spec_context_steps context;
        struct {
            bool average; /* estimate alpha with a moving average; else the choice knows it */
            bool first;   /* goodput-each: stop at the first token that does not pay off */
            double rate, start;
            int probe;
        } goodput;
        struct {
            int start;
        } heuristic;
        struct {
            double explore;
        } bandit;
        struct {
            bool estimate; /* take confidences from the estimator; else use the true alpha */
            double sharpness, least;
            int lag;
        } admission;
        struct {
            int n; /* ranges of batch sizes */
            int from[SPEC_LENGTH_RANGES_MAX], n_candidates[SPEC_LENGTH_RANGES_MAX];
            int candidate[SPEC_LENGTH_RANGES_MAX][SPEC_LENGTH_CANDIDATES_MAX];
            double down[SPEC_LENGTH_RANGES_MAX], up, rate, ceiling;
            int start, warm, interval;
        } sglang;
        struct {
            spec_length_ranges schedule;
            int window;
            double threshold;
        } trt;
    };
};

/* Returns the seconds that the batch's step takes if `verified` draft tokens are verified and the
 * draft computes `drafted` tokens in `passes` passes. */
static inline double spec_length_seconds(const spec_length_choice *choice,
                                         const spec_step_batch *batch, int64_t verified,
                                         int64_t drafted, int passes)
{
    spec_step_work work = batch->fixed;
    work.decode_tokens = batch->n + verified;
    work.decoding = batch->n;
    work.drafted = drafted;
    work.passes = passes;
    const spec_affine_step *affine = spec_step_cost_affine(choice->cost);
    if (affine != NULL)
        return spec_affine_step_target(affine, &work) + spec_affine_step_draft(affine, &work);
    return spec_step_cost_target(choice->cost, &work) + spec_step_cost_draft(choice->cost, &work);
}

/* Reads the settings that goodput and goodput-each share. */
int spec_length_goodput_settings(spec_length_choice *choice, const spec_settings *settings,
                                 spec_error *error);

/* The table, in this order, and NULL. LENGTH(name) is spec_length_<name>. */
extern const spec_length_kind *const spec_length_kinds[];
#define SPEC_LENGTHS(LENGTH)                                                                       \
    LENGTH(fixed)                                                                                  \
    LENGTH(schedule)                                                                               \
    LENGTH(context)                                                                                \
    LENGTH(goodput)                                                                                \
    LENGTH(goodput_each)                                                                           \
    LENGTH(heuristic)                                                                              \
    LENGTH(bandit)                                                                                 \
    LENGTH(vllm)                                                                                   \
    LENGTH(dspark)                                                                                 \
    LENGTH(sglang)                                                                                 \
    LENGTH(trt)
#define DECLARE(name) extern const spec_length_kind spec_length_##name;
SPEC_LENGTHS(DECLARE)
#undef DECLARE

#endif
