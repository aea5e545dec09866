/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_state: a block draft's state on one text: keys and values of its context, and its block.
 * Keys and values of places stay while the text only grows; the block is computed once for a text.
 * The state owns all but a target session that it shares. */
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
    int *path; /* of the batch: the places that columns with a window see */
    spec_kv kv;

    int *text, *next; /* (context) the text that keys and values belong to; that of a request */
    int n_text;       /* tokens, begin of text included */
    int n_places;     /* places with keys and values, at most n_text - 1 */
    bool held;        /* the arrays below are those of the text */
    float *base;      /* (reach, draft_vocab) out; not for DFlash */
    float *hidden;    /* (reach, dim) h, of DSpark */
    float *gate;      /* (reach, selector_rank) G h */
    int *candidate;   /* (reach, candidates) rows of the output, the most likely first */
    double *fixed;    /* (reach, V) rows of DFlash */
    double *few;      /* (SPEC_COLUMNS_MAX, draft_vocab), if the vocabulary is reduced */
    double *chosen;   /* (candidates) */
    double **row;     /* (SPEC_COLUMNS_MAX) where the rows of a pass go */
    bool declined;
} spec_dflash_state;

int spec_dflash_state_init(spec_dflash_state *state, const spec_dflash_model *model,
                           spec_error *error);
void spec_dflash_state_free(spec_dflash_state *state); /* may be zeroed */

/* Go on to this text, keeping what it shares with the last one. */
void spec_dflash_state_settle(spec_dflash_state *state, const int *text, int n_text);
void spec_dflash_state_forget(spec_dflash_state *state);

/* Keys and values of all places of the settled text but the last, then the block: forward.logits
 * has out, and forward.normed h, for the columns that draft; state->other has G h. */
int spec_dflash_pass(spec_dflash_state *state, spec_error *error);

/* The first n columns of forward.logits as rows state->row[0..n-1] of the target's vocabulary. */
int spec_dflash_state_rows(spec_dflash_state *state, int n, spec_error *error);

#endif
