/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_head_graph: builds the operations and losses with which a draft head is trained.
 * Row (text, t) of every node belongs to the anchor t: the target has read x_0..x_t, x_{t+1} is
 * known, and depth d drafts y_d = x_{t+d+1}. The states of the target are constants. References:
 * models/heads/head.h; losses in docs/formulas/models.md#losses. */
#ifndef SPECLAB_TRAINING_HEAD_GRAPH_H
#define SPECLAB_TRAINING_HEAD_GRAPH_H

#include "models/train/training_head.h"

typedef struct {
    const spec_training_head *head;
    const spec_training_model *target;
    const spec_training_nodes *target_nodes; /* of a graph that runs before this one */
    /* (texts, places): tokens, and the tokens that follow them; read at each pass */
    const int *token, *next;
    int texts, places;
    int depths;            /* K: anchors are the positions 0..places - K - 1 of each text */
    int trained;           /* depths with a loss, 1..K; the others are used only in evaluation */
    spec_losses_kind loss; /* of rows */
} spec_training_head_task;

typedef struct {
    spec_graph_node *logits[SPEC_HEAD_REACH_MAX]; /* [d - 1]: of depth d, (texts (places - K), V) */
    spec_graph_operation *loss[2 * SPEC_HEAD_REACH_MAX]; /* their sum is minimised */
    int n_losses;
} spec_training_head_nodes;

/* Adds the head to a graph. Depth d has the weight 0.8^(d-1). EAGLE's loss is the smooth L1
 * distance of its output from the target's next state, plus a tenth of the loss of rows. Its input
 * states have uniform noise from -0.1 to 0.1 while the graph has a noise_key. */
void spec_training_head_graph_build(spec_training_head_nodes *ret_nodes, spec_graph *graph,
                                    const spec_training_head_task *task);

#endif
