/* SPDX-License-Identifier: GPL-3.0-or-later */
/* train_curve: the learning curve of speclab train: a table, and lines about its last row.
 * A row has the mean loss since the row before, and the scores of the judging texts. */
#ifndef SPECLAB_TRAIN_CURVE_H
#define SPECLAB_TRAIN_CURVE_H

#include "base/table.h"
#include "experiments/train/exit_score.h"
#include "experiments/train/training_score.h"
#include "experiments/train/training_speed.h"
#include "experiments/train/training_state.h"

typedef struct {
    spec_table table;
    spec_training_score score; /* of the last row */
    spec_exit_score exits;     /* the same with exits: n_exits > 0 */
    spec_training_speed speed; /* K 0: not measured */
    double loss;               /* sum since the last row */
    long losses;
} spec_train_curve;

/* With columns for the training. GSL_ENOMEM. */
int spec_train_curve_init(spec_train_curve *curve, const spec_training *training,
                          spec_error *error);
void spec_train_curve_free(spec_train_curve *curve); /* may be zeroed */

/* Score the training; and append a row of it. */
int spec_train_curve_score(spec_train_curve *curve, spec_training *training, spec_error *error);
int spec_train_curve_judge(spec_train_curve *curve, spec_training *training, spec_error *error);

/* The rows and the losses since, as numbers, which the caller frees; and back. GSL_ENOMEM;
 * GSL_EINVAL for numbers of another curve. */
int spec_train_curve_save(spec_training_numbers *ret, const spec_train_curve *curve);
int spec_train_curve_restore(spec_train_curve *curve, const spec_training_numbers *numbers);

/* The loss of a step, and the last row in a few words. */
void spec_train_curve_note(char *text, size_t size, const spec_train_curve *curve, double loss);

/* The predicted speed-ups and their draft lengths, as a sentence. */
void spec_train_curve_prediction(char *text, size_t size, const spec_train_curve *curve);

/* With exits: what has become of the target. */
void spec_train_curve_change(char *text, size_t size, const spec_train_curve *curve);

#endif
