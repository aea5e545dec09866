/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_exits: trains a model with losses at early exits, and drops layers at random.
 * A model trained this way can draft for itself with its first layers [Elhoushi24]: exit l applies
 * the final norm and the output matrix after l layers, as the draft `layers?exit=l` does. Only the
 * seed and the step number decide which layers and exits a step uses.
 * docs/formulas/models.md#layerskip */
#ifndef SPECLAB_TRAINING_EXITS_H
#define SPECLAB_TRAINING_EXITS_H

#include "models/train/training_model.h"

typedef struct {
    double dropout; /* the probability that a text skips the last layer, in [0,1) */
    double scale;   /* scale of the weights of exits, > 0 */
    int rotation;   /* >= 1: exit l has a loss in steps t with (t + l) mod rotation = 0 */
} spec_training_exits_plan;

typedef struct {
    spec_training_exits_plan plan;
    int n_layers, texts;
    bool *keep;                     /* (n_layers, texts), for the current step */
    int first[SPEC_LAYERS_MAX + 1]; /* the operations of exit l are first[l]..first[l + 1] - 1 */
    /* [l], l = 1..n_layers, is for exit l; the last one is the whole model */
    spec_graph_node *logits[SPEC_LAYERS_MAX + 1];
    spec_graph_operation *loss[SPEC_LAYERS_MAX + 1]; /* as logits */
} spec_training_exits;

/* Returns the probability that a text skips layer `layer`, 0..n_layers - 1; n_layers >= 2:
 * dropout (2^(layer / (n_layers - 1)) - 1). */
double spec_training_exits_dropout(const spec_training_exits_plan *plan, int layer, int n_layers);

/* Returns the weight of exit l = 1..n_layers, before the weights of a step are normalised: scale l
 * (l - 1) / 2, at least scale / 2; for the last exit, n_layers - 1 + scale (n_layers - 1) (n_layers
 * - 2) / 2. The paper's first exit has weight 0. */
double spec_training_exits_weight(const spec_training_exits_plan *plan, int exit, int n_layers);

/* n_layers >= 2. May return GSL_ENOMEM. */
int spec_training_exits_init(spec_training_exits *exits, const spec_training_exits_plan *plan,
                             int n_layers, int texts, spec_error *error);
void spec_training_exits_free(spec_training_exits *exits); /* may be zeroed */

/* Adds the losses of all exits to a graph, whose model was built with exits->keep. All have the
 * same target, whose field `weight` is ignored. */
void spec_training_exits_build(spec_training_exits *exits, spec_graph *graph,
                               const spec_training_model *model, const spec_training_nodes *nodes,
                               const spec_graph_target *target);

/* Choose the layers, exits and weights of a step; or all layers and all exits, for evaluation. */
void spec_training_exits_begin_step(spec_training_exits *exits, spec_graph *graph, uint64_t seed,
                                    long step);
void spec_training_exits_begin_evaluation(spec_training_exits *exits, spec_graph *graph);

/* Returns the sum of the losses of the step, after _forward. */
double spec_training_exits_loss(const spec_training_exits *exits);

#endif
