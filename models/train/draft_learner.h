/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draft_learner: trains a draft model step by step, on batches that the caller fills.
 * It serves drafts that learn while they draft [Liu24]. The learning rate is constant, because we
 * do not know how many steps will follow; the rest is as in ordinary training
 * (tools/train/training.h). The learner owns its batch and a copy of the weights. */
#ifndef SPECLAB_DRAFT_LEARNER_H
#define SPECLAB_DRAFT_LEARNER_H

#include "models/train/training_model.h"

typedef struct {
    spec_losses_kind loss;
    int texts, places; /* per batch; their product is at most SPEC_DRAFT_LEARNER_ROWS */
    double rate;       /* learning rate */
} spec_draft_learner_plan;

enum { SPEC_DRAFT_LEARNER_ROWS = 1 << 20 };

/* A batch is `texts` windows of `places` tokens; position t of window w is row w places + t. For
 * each position that it learns, a step needs the target's whole row, kept as float logits. This
 * takes 4 V bytes per position, as much as the draft's own logits in the graph. */
typedef struct {
    spec_draft_learner_plan plan;
    spec_training_model model; /* its checkpoint has the current weights */
    spec_graph graph;
    spec_graph_node *logits; /* of the draft, after _forward */
    spec_graph_operation *loss;
    spec_graph_node target; /* (texts * places, V) logits of the target; without a value for CE */
    /* (texts * places) the batch: tokens, and for CE the tokens that follow them */
    int *token, *next;
    bool *learns;           /* (texts * places) whether the row counts */
    spec_real *share;       /* (texts * places) workspace */
    spec_real *start;       /* the initial weights */
    spec_thread_pool *opt_pool;
    long step; /* steps done so far */
} spec_draft_learner;

/* Returns GSL_EDOM if the windows exceed the draft's context, or a batch is too large. */
int spec_draft_learner_init(spec_draft_learner *learner, const spec_draft_learner_plan *plan,
                            const spec_checkpoint *draft, spec_thread_pool *opt_pool,
                            spec_error *error);
void spec_draft_learner_free(spec_draft_learner *learner); /* may be zeroed */

/* Empties the batch, so that no position is learnt. */
void spec_draft_learner_clear(spec_draft_learner *learner);

/* Sets the target's row at a position. The draft returns rows at a temperature, so it learns the
 * logits that give the target's row at that temperature. At temperature 0, where rows are one-hot,
 * it learns as at 1. */
void spec_draft_learner_set_row(spec_draft_learner *learner, int place, const double *row,
                                double temperature);

/* Computes the draft's logits of the batch, without learning. */
void spec_draft_learner_forward(spec_draft_learner *learner);

/* Makes a step of AdamW on the mean loss of the learnt positions; *ret_loss is that loss before the
 * step. A batch without learnt positions changes nothing, and its loss is 0. Returns GSL_EFAILED if
 * the loss or a gradient is not finite; the weights are then unchanged. */
int spec_draft_learner_step(spec_draft_learner *learner, double *ret_loss, spec_error *error);

/* Restores the initial weights, and forgets moments, steps and batch. */
void spec_draft_learner_restart(spec_draft_learner *learner);

#endif
