/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_choice: the number of draft tokens of each request in a step of a serving engine.
 * Choices are entries of a table, named by specs such as fixed?K=3. A choice sees the decoding
 * requests of the step that begins and, after it, what became of their drafts. A choice is constant
 * and shared by threads; a state belongs to one run. */
#ifndef SPECLAB_LENGTH_CHOICE_H
#define SPECLAB_LENGTH_CHOICE_H

#include "sim/serving/step_cost.h"
#include "speclab/serving.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The decoding requests of a step, as arrays in the order of the batch. */
typedef struct {
    int n;
    const float *alpha;   /* (n) the true acceptance rate, for choices that know it */
    const int32_t *slot;  /* (n) names a request while it runs: 0..slots-1 */
    spec_step_work fixed; /* what the step computes besides: prompts, and kv_tokens */
    const int32_t *context; /* (n) tokens in the KV cache, for choices that read them */
} spec_step_batch;

typedef struct spec_length_choice spec_length_choice;

/* A choice from its spec. `cost` must outlive it; only choices that weigh times read it. GSL_EINVAL
 * or GSL_EDOM, in one line, for unknown names, keys and values; *ret_choice is then NULL. */
int spec_length_choice_create(spec_length_choice **ret_choice, const char *spec,
                              const spec_step_cost *cost, spec_error *error);
void spec_length_choice_free(spec_length_choice *choice); /* NULL is legal */

/* Line i of the table of choices: "goodput?K_max=8&...", its summary and its reference. False
 * after the last. */
bool spec_length_choice_line(int i, const char **ret_usage, const char **ret_summary,
                             const char **ret_reference);

/* The state of one run with slots 0..slots-1, all without a request. GSL_ENOMEM. */
int spec_length_begin(void **ret_state, const spec_length_choice *choice, int slots);
void spec_length_end(void *state); /* NULL is legal */

/* Whether the choice learns; without, _enter and _observe do nothing and need no call. */
bool spec_length_learns(const spec_length_choice *choice);
/* Whether the choice reads alpha and slot of a batch, and whether its contexts; without, they may
 * be NULL. */
bool spec_length_reads(const spec_length_choice *choice);
bool spec_length_reads_context(const spec_length_choice *choice);
/* Whether every request drafts K_max tokens in every step, of which its K_r are verified: the draft
 * then costs n K_max tokens in K_max passes. */
bool spec_length_drafts_all(const spec_length_choice *choice);

/* A request begins to decode in this slot, the first time or after a preemption. */
void spec_length_enter(const spec_length_choice *choice, void *state, int slot);

/* One number for the whole batch where every request drafts as many: engines then take a faster
 * way. Else -1, and ret_K (n) is filled. All are in 0..K_max. Asked only with n >= 1. */
int spec_length_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                       int32_t *ret_K);
/* After the step: draft tokens and accepted ones of each request, and its seconds. K (n) is filled
 * for common numbers, too. */
void spec_length_observe(const spec_length_choice *choice, void *state,
                         const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                         double seconds);
int spec_length_K_max(const spec_length_choice *choice);

#endif
