/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_state: what a block draft keeps for one text: the context's keys and values, and a block.
 * Keys and values are kept while the text only grows; the block is computed once per text. The
 * state owns everything except a shared target session. */
#ifndef SPECLAB_DFLASH_STATE_H
#define SPECLAB_DFLASH_STATE_H

#include "models/dflash/dflash_model.h"
#include "models/transformer/engine/target_reader.h"
#include "models/transformer/kernels/vector.h"

typedef struct {
    const spec_dflash_model *model;
    const spec_vector_kernels *kernels;
    spec_target_reader reader;

    spec_forward forward; /* buffers of a pass; logits (SPEC_COLUMNS_MAX, draft_vocab) */
    float *feature;       /* (SPEC_COLUMNS_MAX, dim) */
    float *wide, *other, *coefficient; /* (SPEC_COLUMNS_MAX, widest) each */
    spec_batch batch;
    int *path; /* the batch's path: the positions that columns with a window see */
    spec_kv kv;

    int *text, *next; /* (context) the text that keys and values belong to; the text of a request */
    int n_text;       /* tokens, begin of text included */
    int n_places;     /* positions with keys and values, at most n_text - 1 */
    bool held;        /* the arrays below belong to the text */
    float *base;      /* (reach, draft_vocab) out; not for DFlash */
    float *hidden;    /* (reach, dim) h, for DSpark */
    float *gate;      /* (reach, selector_rank) G h */
    int *candidate;   /* (reach, candidates) rows of the output matrix, the most likely first */
    double *fixed;    /* (reach, V) rows, for DFlash */
    double *few;      /* (SPEC_COLUMNS_MAX, draft_vocab), if the vocabulary is reduced */
    double *chosen;   /* (candidates) */
    double **row;     /* (SPEC_COLUMNS_MAX) where the rows of a pass go */
    bool declined;
} spec_dflash_state;

int spec_dflash_state_init(spec_dflash_state *state, const spec_dflash_model *model,
                           spec_error *error);
void spec_dflash_state_free(spec_dflash_state *state); /* may be zeroed */

/* Moves on to this text, keeping what it shares with the last one. */
void spec_dflash_state_settle(spec_dflash_state *state, const int *text, int n_text);
void spec_dflash_state_forget(spec_dflash_state *state);

/* Computes keys and values for all but the last position of the settled text, then the block. For
 * the columns that draft, forward.logits holds out, forward.normed h, and state->other G h. */
int spec_dflash_pass(spec_dflash_state *state, spec_error *error);

/* Turns the first n columns of forward.logits into the target's rows, state->row[0..n-1]. */
int spec_dflash_state_rows(spec_dflash_state *state, int n, spec_error *error);

#endif
