/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_choice: chooses how many tokens each request drafts in a step of a serving engine.
 * Choices are entries of a table, and are named by specs such as fixed?K=3. A choice sees the
 * decoding requests when a step begins and, after the step, how many of their draft tokens were
 * accepted. A choice is constant and shared by threads; a state belongs to one run. */
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
    const int32_t *slot;  /* (n) identifies a request while it runs: 0..slots-1 */
    spec_step_work fixed; /* the step's other work: prompts, and kv_tokens */
    const int32_t *context; /* (n) tokens in the KV cache, for choices that read them */
} spec_step_batch;

typedef struct spec_length_choice spec_length_choice;

/* Creates a choice from its spec. `cost` must outlive it; only choices that weigh times read it.
 * Returns GSL_EINVAL or GSL_EDOM, with a message of one line, for unknown names, keys and values;
 * *ret_choice is then NULL. */
int spec_length_choice_create(spec_length_choice **ret_choice, const char *spec,
                              const spec_step_cost *cost, spec_error *error);
void spec_length_choice_free(spec_length_choice *choice); /* NULL is legal */

/* Gets line i of the table of choices: its usage, such as "goodput?K_max=8&...", its summary and
 * its reference. Returns false after the last line. */
bool spec_length_choice_line(int i, const char **ret_usage, const char **ret_summary,
                             const char **ret_reference);

/* Creates the state of one run with slots 0..slots-1, which are all empty. Returns GSL_SUCCESS or
 * GSL_ENOMEM. */
int spec_length_begin(void **ret_state, const spec_length_choice *choice, int slots);
void spec_length_end(void *state); /* NULL is legal */

/* Returns whether the choice learns. If not, _enter and _observe do nothing and need not be
 * called. */
bool spec_length_learns(const spec_length_choice *choice);
/* Return whether the choice reads alpha and slot of a batch, and whether it reads context. Arrays
 * that it does not read may be NULL. */
bool spec_length_reads(const spec_length_choice *choice);
bool spec_length_reads_context(const spec_length_choice *choice);
/* Returns whether every request drafts K_max tokens in every step, of which only the first K_r are
 * verified. The draft then computes n K_max tokens in K_max passes. */
bool spec_length_drafts_all(const spec_length_choice *choice);

/* Tells the choice that a request begins to decode in this slot, for the first time or after a
 * preemption. */
void spec_length_enter(const spec_length_choice *choice, void *state, int slot);

/* Returns the draft length if it is the same for the whole batch, which lets engines take a faster
 * path. Otherwise fills ret_K (n) and returns -1. All lengths are in 0..K_max. Requires n >= 1. */
int spec_length_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                       int32_t *ret_K);
/* Tells the choice after a step how many tokens each request drafted and how many were accepted,
 * and how many seconds the step took. K (n) is filled even if all lengths are the same. */
void spec_length_observe(const spec_length_choice *choice, void *state,
                         const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                         double seconds);
int spec_length_K_max(const spec_length_choice *choice);

#endif
