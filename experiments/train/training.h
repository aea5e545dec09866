/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training: trains a language model, or a draft on the rows of its target, step by step.
 * A step depends on the settings, the texts and its number alone, so a training that continues
 * from its state writes the same bytes. Formulas: docs/formulas.md#losses, AdamW [Loshchilov19].
 * The training owns its models and buffers and borrows texts and target. */
#ifndef SPECLAB_TRAINING_H
#define SPECLAB_TRAINING_H

#include "experiments/train/exact_walk.h"
#include "experiments/train/training_texts.h"
#include "models/train/training_model.h"

typedef struct {
    const spec_checkpoint *opt_target; /* NULL: a language model on its own, by cross-entropy */
    const spec_checkpoint *opt_start;  /* weights to begin with; NULL: drawn for `shape` */
    spec_training_shape shape;
    spec_losses_kind loss;
    int texts, places; /* of a batch */
    int K;             /* longest draft of the walk */
    int prompt;        /* tokens of the judging texts before the walk begins */
    long steps;
    double rate; /* learning rate after the first SPEC_TRAINING_WARM_UP steps; it falls to
                    SPEC_TRAINING_RATE_END of that along half a cosine */
    uint64_t seed;
} spec_training_plan;

enum { SPEC_TRAINING_WARM_UP = 20 };
#define SPEC_TRAINING_RATE_END 0.05

/* Texts to learn from, and texts to be judged by: for a language model the held-out windows, for a
 * draft the target's own texts at temperatures 0 and 1. */
typedef struct {
    const spec_training_texts *learn;
    const spec_training_texts *judge[2]; /* a language model: [1] alone */
    int judged;                          /* texts of each kind, a multiple of plan.texts */
} spec_training_data;

typedef struct {
    spec_training_plan plan;
    spec_training_data data;
    spec_training_model model, target; /* target: zeroed without one */
    spec_graph graph, target_graph; /* target_graph: zeroed without a target */
    spec_graph_node *logits, *target_logits;
    spec_graph_operation *loss;
    int *token, *next;       /* (texts, places) */
    double *accept, *row[2]; /* room of _evaluate */
    spec_thread_pool *opt_pool;
    long step; /* steps done */
} spec_training;

/* How good a model is. */
typedef struct {
    double bits;             /* cross-entropy per token of judge[1], in bits */
    spec_exact_walk walk[2]; /* at temperatures 0 and 1; K 0 without a target */
} spec_training_score;

/* GSL_EDOM if texts exceed a context, GSL_EINVAL if the vocabularies of target, start and shape
 * differ. */
int spec_training_init(spec_training *training, const spec_training_plan *plan,
                       const spec_training_data *data, spec_thread_pool *opt_pool,
                       spec_error *error);
void spec_training_free(spec_training *training); /* may be zeroed */

/* One step; *ret_loss is that of its batch before the step, in nats. GSL_EFAILED, with step and
 * parameter, if the loss or a gradient is not finite: the weights then stay as they were. */
int spec_training_step(spec_training *training, double *ret_loss, spec_error *error);

/* Seconds of wall clock that a step takes, measured on the first batch; changes nothing. */
double spec_training_step_seconds(spec_training *training);

int spec_training_evaluate(spec_training *training, spec_training_score *ret_score,
                           spec_error *error);

#endif
