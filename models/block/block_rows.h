/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_rows: the rows of a block draft after one context, by offset and previous token.
 * They are computed offset by offset as far as a round asks, and kept for the round. A row depends
 * on the context at the round's start and on what the settings say, on no other token. Owns its
 * arrays. */
#ifndef SPECLAB_BLOCK_ROWS_H
#define SPECLAB_BLOCK_ROWS_H

#include "models/block/predecessors.h"
#include "models/block/water_fill.h"

enum { SPEC_BLOCK_TOP_MAX = 1024 };

/* How one row stands for the target's rows after all predecessors. */
typedef enum {
    SPEC_BLOCK_BEST,   /* the row that is accepted most often: models/block/water_fill.h */
    SPEC_BLOCK_MEAN,   /* their mean over the target's own texts, which cross-entropy learns */
    SPEC_BLOCK_GREEDY, /* the token most probable after those that were drafted, one-hot */
} spec_block_row;

extern const char *const spec_block_row_names[]; /* "best", "mean", ..., NULL */

typedef struct {
    const spec_model *target;
    int reach, paths; /* as in predecessors.h */
    spec_block_row row;
    bool by_token;       /* rows by previous token, too */
    int rank;            /* of the bias that gives these rows; -1: the rows themselves */
    int top;             /* most tokens of a row, those of the offset's row; 0: all */
    double alpha, noise; /* each row is perturbed to this overlap: models/synthetic/perturb.h */
    uint64_t seed;
} spec_block_settings;

/* The rows of one offset by previous token; tokens without predecessors have the offset's row. */
typedef struct {
    int n;
    int *token;  /* (paths) ascending */
    double *row; /* (min(paths, V), V) */
} spec_block_by_token;

typedef struct {
    const spec_block_settings *settings;
    spec_predecessors at;
    int n_offsets;                 /* computed so far */
    double *row;                   /* (reach, V) of each offset, whatever its previous token */
    spec_block_by_token *by_token; /* (reach) or NULL */
    const double **draft;          /* (paths) workspace */
    const double **chosen;         /* (paths) workspace */
    double *chosen_weight;         /* (paths) workspace */
    spec_water_segment *segment;   /* (paths V) workspace */
    double *best;                  /* (2, V) workspace */
    int *candidate;                /* (top) workspace */
} spec_block_rows;

/* GSL_EINVAL, with one line, if the rows need too much memory or a decomposition is too large. */
int spec_block_settings_check(const spec_block_settings *settings, const char *name,
                              spec_error *error);

/* The settings must outlive it. */
int spec_block_rows_init(spec_block_rows *rows, const spec_block_settings *settings,
                         spec_error *error);
void spec_block_rows_free(spec_block_rows *rows); /* accepts a zeroed one */

int spec_block_rows_begin(spec_block_rows *rows, const int *context, size_t n, spec_error *error);

/* The row (V) of offset 0..reach-1 if the token before it is `previous`, which offset 0 ignores;
 * valid until the next _begin. NULL on failure. */
const double *spec_block_rows_row(spec_block_rows *rows, int offset, int previous,
                                  spec_error *error);

#endif
