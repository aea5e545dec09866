/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exit_score: the score of a model's early exits as drafts of the model itself, during training.
 * At each position of the held-out texts, an exit's token is accepted with the overlap of its row
 * and the model's own. At temperature 0 both rows must have the same argmax. Tokens per round are
 * those of the exact walk with these probabilities; the texts need not be the model's own. */
#ifndef SPECLAB_EXIT_SCORE_H
#define SPECLAB_EXIT_SCORE_H

#include "analysis/acceptance/exact_walk.h"
#include "tools/train/training.h"

/* The score owns its walks. */
typedef struct {
    double bits, target_bits; /* cross-entropy of judge[1] per token: for the model in training, and
                               * for the target that it was copied from */
    double overlap;           /* mean overlap of their rows along judge[1] */
    spec_shape shape;         /* shape of the model */
    int n_exits;              /* n_layers - 1 */
    spec_exact_walk *walk[2]; /* by temperature, 0 and 1: [l - 1] is the walk of exit l */
} spec_exit_score;

/* Allocates the walks for a training with exits. Returns GSL_ENOMEM. */
int spec_exit_score_init(spec_exit_score *score, const spec_training *training, spec_error *error);
void spec_exit_score_free(spec_exit_score *score); /* may be zeroed */

/* Scores the current weights. Returns GSL_ENOMEM, or GSL_EFAILED if a row is not finite. */
int spec_exit_score_judge(spec_exit_score *score, spec_training *training, spec_error *error);

typedef struct {
    int exit, K;     /* number of layers of the draft, and draft length */
    double tokens;   /* per round */
    double speed_up; /* predicted */
} spec_exit_choice;

/* Returns the exit and draft length with the largest tokens / (draft + pass), even if below 1. A
 * draft call that reads a share of the weights of a pass takes the same share of its time.
 *   opt_pass  [n]: the time of a pass of n tokens divided by that of one token, up to K + 1; NULL:
 *   1 */
spec_exit_choice spec_exit_score_best(const spec_exit_score *score, int temperature,
                                      const double *opt_pass);

#endif
