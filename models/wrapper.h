/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wrapper: a model that changes the rows of another model and delegates the rest to it.
 * The wrapper owns its base and has the same vocabulary, order and spec. Its spec_model_kind starts
 * empty: only the names, load, token_text, tokenize and prompt come from the base. */
#ifndef SPECLAB_WRAPPER_H
#define SPECLAB_WRAPPER_H

#include "models/model.h"

/* The struct of every wrapper begins with this. It must be allocated as one block with malloc. */
typedef struct {
    spec_model head;
    spec_model_kind kind; /* head.kind points here */
    spec_model *base;
    /* frees what the wrapper owns besides its base; NULL: it owns nothing else */
    void (*release)(spec_model *model);
} spec_wrapper;

/* Sets up the head from `base`, which the wrapper owns from then on. The caller then sets kind.row,
 * and score and the session functions if it has them. On failure the caller keeps the base. */
int spec_wrapper_init(spec_wrapper *wrapper, spec_model *base, spec_error *error);

/* Returns the model inside a wrapper; NULL if it is not wrapped. */
const spec_model *spec_wrapper_base(const spec_model *model);

/* Returns the model inside all wrappers; the model itself if it is not wrapped. */
const spec_model *spec_wrapper_innermost(const spec_model *model);

#endif
