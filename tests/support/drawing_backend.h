/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drawing_backend: a stand-in for a GPU that draws and verifies tokens, on the CPU.
 * Its draws and decisions are the host's, with the CPU's rows. A model moves to it after it is
 * opened and before its first session. It counts its calls, and can move a test's clock. */
#ifndef SPECLAB_TESTS_DRAWING_BACKEND_H
#define SPECLAB_TESTS_DRAWING_BACKEND_H

#include "models/transformer/engine/transformer.h"

typedef struct {
    spec_backend backend;
    int vocab;
    int drawn[SPEC_COLUMNS_MAX];           /* tokens of the last request */
    int last;                              /* the last one of them */
    spec_batch batch;                      /* of the pass of a token that was drawn */
    int draws, waits, verifications, rows; /* numbers of calls; single rows */
    /* the clock, and the seconds by which a sublayer, a column of a pass, a draw and a wait move
     * it; NULL: no clock moves */
    double *opt_now, sublayer, column, draw, wait;
} drawing_backend;

void drawing_backend_init(drawing_backend *drawing, int vocab);

/* Moves the model inside the filters to this backend. */
void drawing_backend_take(drawing_backend *drawing, spec_model *model);

#endif
