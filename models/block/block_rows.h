/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_rows: the rows of a block draft after one context, for each offset and previous token.
 * They are computed offset by offset when a round asks for them, and kept until the round ends. A
 * row depends only on the context at the start of the round and, if the settings say so, on the
 * previous token. Owns its arrays. */
#ifndef SPECLAB_BLOCK_ROWS_H
#define SPECLAB_BLOCK_ROWS_H

#include "models/block/predecessors.h"
#include "models/block/water_fill.h"

enum { SPEC_BLOCK_TOP_MAX = 1024 };

/* How to choose one row that stands for the target's rows after all possible predecessors. */
typedef enum {
    SPEC_BLOCK_BEST,   /* the row that is accepted most often: models/block/water_fill.h */
    /* the mean of the target's rows over its own texts, which is what training with cross-entropy
     * learns */
    SPEC_BLOCK_MEAN,
    SPEC_BLOCK_GREEDY, /* one-hot at the most probable token after those already drafted */
} spec_block_row;

extern const char *const spec_block_row_names[]; /* "best", "mean", ..., NULL */

typedef struct {
    const spec_model *target;
    int reach, paths; /* as in predecessors.h */
    spec_block_row row;
    bool by_token;       /* also has a row for each previous token */
    /* rank of the bias that approximates the rows by token; -1: the rows themselves */
    int rank;
    int top;             /* a row keeps at most this many tokens, the most likely ones in the
                            offset's row; 0: all */
    /* each row is perturbed so that it has this overlap with its original:
     * models/synthetic/perturb.h */
    double alpha, noise;
    uint64_t seed;
} spec_block_settings;

/* The rows of one offset for each previous token. Tokens that cannot come before the offset use its
 * own row. */
typedef struct {
    int n;
    int *token;  /* (paths) ascending */
    double *row; /* (min(paths, V), V) */
} spec_block_by_token;

typedef struct {
    const spec_block_settings *settings;
    spec_predecessors at;
    int n_offsets;                 /* how many are computed so far */
    double *row;                   /* (reach, V) the row of each offset, for any previous token */
    spec_block_by_token *by_token; /* (reach) or NULL */
    const double **draft;          /* (paths) workspace */
    const double **chosen;         /* (paths) workspace */
    double *chosen_weight;         /* (paths) workspace */
    spec_water_segment *segment;   /* (paths V) workspace */
    double *best;                  /* (2, V) workspace */
    int *candidate;                /* (top) workspace */
} spec_block_rows;

/* Returns GSL_EINVAL, with a line, if rows need too much memory or a decomposition is too big. */
int spec_block_settings_check(const spec_block_settings *settings, const char *name,
                              spec_error *error);

/* The settings must outlive the rows. */
int spec_block_rows_init(spec_block_rows *rows, const spec_block_settings *settings,
                         spec_error *error);
void spec_block_rows_free(spec_block_rows *rows); /* accepts a zeroed one */

int spec_block_rows_begin(spec_block_rows *rows, const int *context, size_t n, spec_error *error);

/* Returns the row (V) of offset 0..reach-1 after the token `previous`, which offset 0 ignores. It
 * is valid until the next _begin. Returns NULL on failure. */
const double *spec_block_rows_row(spec_block_rows *rows, int offset, int previous,
                                  spec_error *error);

#endif
