/* SPDX-License-Identifier: GPL-3.0-or-later */
/* train_curve: the learning curve of speclab train: a table, and lines about its last row.
 * A row has the mean loss since the previous row, and the scores on the held-out texts. */
#ifndef SPECLAB_TRAIN_CURVE_H
#define SPECLAB_TRAIN_CURVE_H

#include "base/table.h"
#include "tools/train/exit_score.h"
#include "tools/train/training_score.h"
#include "tools/train/training_speed.h"
#include "tools/train/training_state.h"

typedef struct {
    spec_table table;
    spec_training_score score; /* score of the last row */
    spec_exit_score exits;     /* the same with exits: n_exits > 0 */
    spec_training_speed speed; /* K is 0 if it was not measured */
    double loss;               /* sum of losses since the last row */
    long losses;
} spec_train_curve;

/* Makes an empty curve with the columns for the training. Returns GSL_ENOMEM. */
int spec_train_curve_init(spec_train_curve *curve, const spec_training *training,
                          spec_error *error);
void spec_train_curve_free(spec_train_curve *curve); /* may be zeroed */

/* Scores the training and appends a row. */
int spec_train_curve_score(spec_train_curve *curve, spec_training *training, spec_error *error);
int spec_train_curve_judge(spec_train_curve *curve, spec_training *training, spec_error *error);

/* Convert the rows and the losses since the last row to numbers, which the caller frees, and back.
 * They return GSL_ENOMEM, or GSL_EINVAL for numbers of another curve. */
int spec_train_curve_save(spec_training_numbers *ret, const spec_train_curve *curve);
int spec_train_curve_restore(spec_train_curve *curve, const spec_training_numbers *numbers);

/* Writes the loss of a step and the last row in a few words. */
void spec_train_curve_note(char *text, size_t size, const spec_train_curve *curve, double loss);

/* Writes the predicted speed-ups and their draft lengths as a sentence. */
void spec_train_curve_prediction(char *text, size_t size, const spec_train_curve *curve);

/* With exits: writes how the target has changed. */
void spec_train_curve_change(char *text, size_t size, const spec_train_curve *curve);

#endif
