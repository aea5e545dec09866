/* SPDX-License-Identifier: GPL-3.0-or-later */
/* online_draft: a draft model that learns from the rounds that the target verifies [Liu24].
 * Windows of verified text are collected with the target's rows. When a batch of windows is full,
 * the model makes one training step, after a round is verified and before the next is drafted. So
 * all rows of a draft come from the same weights and depend only on the past, and the text keeps
 * the target's distribution. Borrows the draft model. */
#ifndef SPECLAB_ONLINE_DRAFT_H
#define SPECLAB_ONLINE_DRAFT_H

#include "models/train/draft_learner.h"
#include "models/transformer/engine/transformer.h"
#include "speclab/round.h"

/* The positions that a draft learns from. */
typedef enum {
    SPEC_ONLINE_ALL,     /* every token that a round emits */
    SPEC_ONLINE_REJECTED /* only corrections, where a draft token was rejected [Liu24] */
} spec_online_positions;

extern const char *const spec_online_positions_names[]; /* "all", "rejected", NULL */

typedef struct {
    spec_draft_learner_plan learner;
    spec_online_positions positions;
} spec_online_plan;

typedef struct spec_online_draft spec_online_draft;
struct spec_online_draft {
    spec_online_plan plan;
    spec_draft_learner learner;
    spec_transformer *model; /* its weights are replaced */
    int window;              /* the window being filled, 0..texts; at `texts` the batch is full */
    long from, until; /* the window holds tokens from..until-1 of the text; from = -1: it has not
                       * begun */
};

/* Makes `draft` learn; no one but the caller and its decoder may use it. Returns GSL_EINVAL, with a
 * message of one line that names the draft, if it cannot learn: it is not a transformer, it shares
 * the target's weights, or its weights are on a GPU or are not floats. */
int spec_online_draft_init(spec_online_draft *online, const spec_online_plan *plan,
                           spec_model *draft, spec_thread_pool *opt_pool, spec_error *error);
void spec_online_draft_free(spec_online_draft *online); /* may be zeroed */

/* Adds a round after a context of n tokens to the batch, with the target's rows as in
 * spec_drafter_observe. Once a batch is full, the model learns from it. In a long text each window
 * overlaps the previous one by a quarter, for context. Fails if a training step fails. */
typedef struct {
    const int *context;
    size_t n;
    const double *const *target_row;
    const spec_round *round;
} spec_online_round;

int spec_online_draft_observe(spec_online_draft *online, const spec_online_round *of,
                              spec_error *error);

/* Ends the text and its current window. */
void spec_online_draft_end_text(spec_online_draft *online);

/* Forgets everything learnt: restores the weights of the checkpoint. */
int spec_online_draft_forget(spec_online_draft *online, spec_error *error);

#endif
