/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training: trains a language model, or a draft or a head of a target, step by step.
 * A step depends only on the settings, the texts and its number, so a training that continues from
 * its state writes the same bytes. Formulas: docs/formulas/models.md#losses, AdamW [Loshchilov19].
 * The training owns its models and buffers and borrows texts and target. */
#ifndef SPECLAB_TRAINING_H
#define SPECLAB_TRAINING_H

#include "experiments/training_texts.h"
#include "models/train/training_exits.h"
#include "models/train/training_head_graph.h"
#include "tools/train/training_schedule.h"

typedef struct {
    const spec_checkpoint *opt_target; /* NULL: trains a language model by cross-entropy */
    const spec_checkpoint *opt_start;  /* initial weights; NULL: drawn for `shape` */
    spec_training_shape shape;
    const spec_head_shape *opt_head; /* train a head of the target instead of a model ... */
    const spec_head *opt_start_head; /* ... that begins with these weights; NULL: drawn */
    spec_training_exits_plan exits;  /* for a model of at least 2 layers that begins as a copy of
                                      * the target; rotation 0: no early exits */
    double bar; /* with exits: the largest allowed rise of the model's loss, in bits per token */
    spec_losses_kind loss;
    int texts, places; /* size of a batch */
    int K;             /* longest draft, 1..SPEC_HEAD_REACH_MAX */
    int trained;       /* depths of a head that have a loss, 1..K */
    int first;         /* the first position of held-out texts whose next token is the target's, >=
                        * 1 */
    spec_training_schedule schedule;
    double rate; /* learning rate after the first SPEC_TRAINING_WARM_UP steps; it falls to
                    SPEC_TRAINING_RATE_END of that along half a cosine */
    double clip; /* largest norm of all gradients together */
    uint64_t seed;
} spec_training_plan;

enum { SPEC_TRAINING_WARM_UP = 20 };
#define SPEC_TRAINING_RATE_END 0.02

/* Texts to learn from, and held-out texts for the score: for a language model the held-out windows,
 * for a draft the target's own texts at temperatures 0 and 1. */
typedef struct {
    const spec_training_texts *learn;
    const spec_training_texts *judge[2]; /* for a language model only [1] */
    int judged;                          /* texts of each kind, a multiple of plan.texts */
} spec_training_data;

typedef struct {
    spec_training_plan plan;
    spec_training_data data;
    spec_training_model model, target; /* zeroed if there is none */
    spec_training_head head;           /* zeroed for a model */
    spec_training_exits exits;         /* zeroed without exits */
    spec_parameters *parameters;       /* parameters of the model or head */
    spec_graph graph, target_graph;    /* target_graph: zeroed without a target */
    spec_graph_node *target_logits;
    spec_training_head_nodes nodes; /* for a model: its logits at [0], and its loss */
    int *token, *next;              /* (texts, places) */
    spec_thread_pool *opt_pool;
    long step;      /* steps done */
    double used;    /* seconds used of its limit, if it has one, when its state was written */
    float *kept;    /* with exits: the weights that _keep kept, else NULL */
    long kept_step; /* the step at which they were kept; 0: they are the target's weights */
} spec_training;

/* Sets up the training. Returns GSL_EDOM if texts exceed a context, and GSL_EINVAL if the
 * vocabularies of target, start and shape differ, or if the initial head has a reduced
 * vocabulary. */
int spec_training_init(spec_training *training, const spec_training_plan *plan,
                       const spec_training_data *data, spec_thread_pool *opt_pool,
                       spec_error *error);
void spec_training_free(spec_training *training); /* may be zeroed */

/* Returns the number of steps as currently planned. */
long spec_training_steps(const spec_training *training);

/* Makes one step; *ret_loss is the loss of its batch before the step, in nats. Returns GSL_EFAILED,
 * with step and parameter, if the loss or a gradient is not finite: the weights are then
 * unchanged. */
int spec_training_step(spec_training *training, double *ret_loss, spec_error *error);

/* With exits: the first keeps the current weights if the model's loss has risen by at most
 * plan.bar, in bits per token; the second restores the last weights that were kept. */
void spec_training_keep(spec_training *training, double rise);
void spec_training_restore(spec_training *training);

/* Computes all nodes for the tokens, with the target's if `with_target`, without noise or dropped
 * layers. */
void spec_training_forward(spec_training *training, bool with_target);

#endif
