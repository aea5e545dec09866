/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whole_model: a test model whose rows depend on the whole text, and which scores trees itself.
 * It counts calls, and rows in total. The caller opens sessions of its head. */
#ifndef SPECLAB_TESTS_WHOLE_MODEL_H
#define SPECLAB_TESTS_WHOLE_MODEL_H

#include "models/model.h"

typedef struct {
    spec_model head;
    int *calls, *rows; /* counters of the caller, who owns them */
} whole_model;

const spec_model *whole_model_init(whole_model *model, int vocab, int *calls, int *rows);

/* Computes the row (vocab) after a text, by another route than the session's. */
void whole_model_row(double *ret_row, int vocab, const int *text, size_t n);

#endif
