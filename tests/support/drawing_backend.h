/* drawing_backend: the processor as a device that draws and verifies: a stand-in for a card.
 * What it draws and decides is what the host does with the processor's rows. A model is put on it after it was opened
 * and before it has sessions. It counts what it was asked for. */
#ifndef SPECLAB_TESTS_DRAWING_BACKEND_H
#define SPECLAB_TESTS_DRAWING_BACKEND_H

#include "models/transformer/engine/transformer.h"

typedef struct {
    spec_backend backend;
    int vocab;
    int draws, verifications, rows; /* so often; rows one by one */
} drawing_backend;

void drawing_backend_init(drawing_backend *drawing, int vocab);

/* The model inside the filters computes on it from now on. */
void drawing_backend_take(drawing_backend *drawing, spec_model *model);

#endif
