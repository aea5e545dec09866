/* SPDX-License-Identifier: GPL-3.0-or-later */
/* online_draft: a draft model that learns from the rounds that the target verifies [Liu24].
 * Windows of verified text are collected with the target's rows. A full batch of them makes one
 * step, after a round is verified and before the next is drafted. So all rows of a draft come from
 * one set of weights and depend on the past alone: the law of the text remains the target's.
 * Borrows the draft model. */
#ifndef SPECLAB_ONLINE_DRAFT_H
#define SPECLAB_ONLINE_DRAFT_H

#include "models/train/draft_learner.h"
#include "models/transformer/engine/transformer.h"
#include "speclab/round.h"

/* The places that a draft learns from. */
typedef enum {
    SPEC_ONLINE_ALL,     /* every token that a round emits */
    SPEC_ONLINE_REJECTED /* corrections: the draft tokens at these places were rejected [Liu24] */
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
    spec_transformer *model; /* whose weights are replaced */
    int window;              /* the window that is being filled, 0..texts: the batch is full */
    long from, until; /* it holds these tokens of the text, from..until-1; from -1: not begun */
};

/* The learning rate that serves the drafts of docs/training.md. */
#define SPEC_ONLINE_RATE 1e-3

/* `draft` learns: it must be the caller's alone, and its decoder's. GSL_EINVAL with one line, which
 * names the draft, if it cannot: no transformer, weights of the target, weights on a GPU or in
 * fewer bits than floats. */
int spec_online_draft_init(spec_online_draft *online, const spec_online_plan *plan,
                           spec_model *draft, spec_thread_pool *opt_pool, spec_error *error);
void spec_online_draft_free(spec_online_draft *online); /* may be zeroed */

/* A round after a context of n tokens: the target's rows as in spec_drafter_observe. Learns, if a
 * batch is full. A window of a long text begins with its last quarter of places before, as
 * context. Fails if a step fails. */
typedef struct {
    const int *context;
    size_t n;
    const double *const *target_row;
    const spec_round *round;
} spec_online_round;

int spec_online_draft_observe(spec_online_draft *online, const spec_online_round *of,
                              spec_error *error);

/* The text ends, and with it its window. */
void spec_online_draft_end_text(spec_online_draft *online);

/* Forget all that was learnt: the weights are those of the checkpoint again. */
int spec_online_draft_forget(spec_online_draft *online, spec_error *error);

#endif
