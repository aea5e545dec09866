/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_state: what a draft head keeps for one text: the target's hidden states and its own columns.
 * Columns of the text are kept while the text only grows. Columns of a tree are dropped when the
 * text changes, because they were computed from the head's own features, not the target's. The
 * state owns everything except a shared target session. */
#ifndef SPECLAB_HEAD_STATE_H
#define SPECLAB_HEAD_STATE_H

#include "models/heads/head_model.h"
#include "models/transformer/engine/target_reader.h"
#include "speclab/round.h"

typedef struct {
    const spec_head_model *model;
    spec_target_reader reader;

    spec_forward forward;
    float *feature, *wide, *other; /* (SPEC_COLUMNS_MAX, dim); twice (SPEC_COLUMNS_MAX, widest) */
    spec_batch batch;
    int *path;    /* of the batch */
    double *few;  /* (SPEC_COLUMNS_MAX, draft_vocab), if the vocabulary is reduced */
    double **row; /* (SPEC_COLUMNS_MAX) where the rows of a pass go */

    int *text, *next; /* (context) the text that columns belong to; the text of a request */
    int n_text;       /* tokens, begin of text included */
    int n_nodes;      /* of the tree after the text */
    int token[SPEC_NODES_MAX], parent[SPEC_NODES_MAX]; /* parent -1: the end of the text */
    int depth[SPEC_NODES_MAX];                         /* from 1 */

    /* Layer l has columns for the text's positions before length[l] and for the nodes before
     * seen[l]. Plane l of the KV cache has the layer's output for each column. */
    spec_kv kv;
    int length[SPEC_HEAD_REACH_MAX], seen[SPEC_HEAD_REACH_MAX];
    bool held;     /* the values that depend only on the text are known: see head_feedforward.h and
                      head_layers.h */
    double *fixed; /* (reach, V) rows by depth of a model with one_pass */
} spec_head_state;

int spec_head_state_init(spec_head_state *state, const spec_head_model *model, spec_error *error);
void spec_head_state_free(spec_head_state *state); /* may be zeroed */

/* Moves on to this text and tree, keeping the columns shared with the previous ones. Columns of
 * rows from `first` on must be computed again, for their logits. */
void spec_head_state_settle(spec_head_state *state, const int *text, int n_text,
                            const spec_score_request *request);
void spec_head_state_forget(spec_head_state *state);

/* Return the plane with the target's hidden states at the head's tap i, and the row of that plane
 * for the column of a position. The latter is the row of the previous position, or zeros at the
 * start of a text. */
const float *spec_head_state_plane(const spec_head_state *state, int i);
int spec_head_state_plane_row(const spec_head_state *state, int place);

/* Turns the first n logits of a finished pass into the target's rows, state->row[0..n-1]. */
int spec_head_state_rows(spec_head_state *state, int n, spec_error *error);

#endif
