/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_drafters: rows of ideal parallel drafters, chosen on some paths and judged on others.
 * A row that is best on sampled paths looks too good on those paths, and is not quite the best on
 * others. So its two scores enclose the score of the truly best row.
 * docs/formulas/block-drafts.md#block-samples. */
#ifndef SPECLAB_BLOCK_DRAFTERS_H
#define SPECLAB_BLOCK_DRAFTERS_H

#include "analysis/rules/block_row.h"
#include "experiments/measures/block_paths.h"

typedef enum {
    SPEC_BLOCK_DRAFTER_BEST,   /* rows with the best score, independent of the drafted tokens */
    SPEC_BLOCK_DRAFTER_MEAN,   /* the mean of the target's rows */
    SPEC_BLOCK_DRAFTER_MARKOV, /* rows with the best score for each preceding token */
    SPEC_BLOCK_DRAFTER_GREEDY, /* one-hot rows: the target's most probable token after the previous
                                * ones */
    SPEC_BLOCK_DRAFTER_MODEL,  /* the rows of a draft model after the drafted tokens */
    SPEC_BLOCK_DRAFTERS
} spec_block_drafter;

/* Scores of a drafter, for each offset. */
typedef struct {
    double *overlap; /* (K) acceptance after the target's tokens, on the paths that judge */
    /* (K) the same on the paths that the rows were chosen on; NaN if none were chosen */
    double *most;
    double *tail; /* (K) probability that this many tokens are accepted, on the paths that judge */
} spec_block_verdict;

typedef struct {
    spec_block_step *step; /* (n V) */
    double *copied;        /* (n V) */
    double *row, *unseen;  /* (V) */
    double *member;        /* (n) */
    double *scratch;       /* (K, V) */
    const double **scored; /* (K) */
    /* (n) each, for the paths that choose and for those that judge: the overlap with a row, the
     * probability that the token rule keeps the path's token, and the probability that the path was
     * drafted and accepted so far */
    double *overlap[2], *kept[2], *reach[2];
} spec_block_drafters_work;

int spec_block_drafters_work_init(spec_block_drafters_work *work, int V, int K, size_t n,
                                  spec_error *error);
void spec_block_drafters_work_free(spec_block_drafters_work *work);

/* Judges a best, mean or Markov drafter. For the tail, rows are chosen offset by offset, among the
 * paths accepted so far; the mean drafter uses the rows of all paths. `choose` may be `judge`. */
void spec_block_judge_rows(spec_block_verdict *verdict, spec_block_drafter drafter,
                           const spec_block_paths *choose, const spec_block_paths *judge,
                           spec_block_drafters_work *work);

/* Judges the target's own most probable path. */
int spec_block_judge_greedy(spec_block_verdict *verdict, const spec_block_paths *judge,
                            const spec_block_place *place, spec_block_drafters_work *work,
                            spec_error *error);

/* Judges a draft model or a draft head, whose session reads the text at the position. */
int spec_block_judge_model(spec_block_verdict *verdict, spec_session *draft,
                           const spec_block_paths *judge, const spec_block_place *place,
                           spec_block_drafters_work *work, spec_error *error);

#endif
