/* whole_model: a model for tests whose rows depend on the whole text and that scores trees itself, as a transformer
 * does. It counts what it is asked: calls, and rows in all. Its head is the caller's to open sessions of. */
#ifndef SPECLAB_TESTS_WHOLE_MODEL_H
#define SPECLAB_TESTS_WHOLE_MODEL_H

#include "models/model.h"

typedef struct {
    spec_model head;
    int *calls, *rows; /* of the caller, who owns them */
} whole_model;

const spec_model *whole_model_init(whole_model *model, int vocab, int *calls, int *rows);

/* The row (vocab) after a text, by another route than the session's. */
void whole_model_row(double *ret_row, int vocab, const int *text, size_t n);

#endif
