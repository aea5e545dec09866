/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_score: the score of a model or draft in training, on the held-out texts.
 * Acceptance by depth and tokens per round of chains and static trees are walked along texts of the
 * target (analysis/acceptance/exact_walk.h, tools/train/rank_tree.h), teacher-forced: a draft reads
 * the text's own tokens. */
#ifndef SPECLAB_TRAINING_SCORE_H
#define SPECLAB_TRAINING_SCORE_H

#include "analysis/acceptance/exact_walk.h"
#include "tools/train/training.h"

enum { SPEC_TRAINING_TREES = 2 };
extern const int spec_training_tree_nodes[SPEC_TRAINING_TREES]; /* 8 and 60 */

/* Arrays by temperature, 0 and 1. Without a target, only bits. */
typedef struct {
    /* cross-entropy on judge[1] of the first draft token, or of a model's next token */
    double bits;
    spec_exact_walk walk[2];
    double tree[2][SPEC_TRAINING_TREES]; /* tokens per round; NaN for fewer than 2 texts */
} spec_training_score;

/* Scores the current weights. Returns GSL_ENOMEM, or GSL_EFAILED if a row is not finite. */
int spec_training_score_judge(spec_training_score *ret_score, spec_training *training,
                              spec_error *error);

#endif
