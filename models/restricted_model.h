/* SPDX-License-Identifier: GPL-3.0-or-later */
/* restricted_model: the rows of another model, restricted to some tokens.
 * Other tokens get probability 0, and the rest is renormalised. This is a reduced vocabulary
 * [ZhaoW25]. If a row has no mass on these tokens, it becomes uniform over them. It is a wrapper
 * (models/wrapper.h) and owns the model. */
#ifndef SPECLAB_RESTRICTED_MODEL_H
#define SPECLAB_RESTRICTED_MODEL_H

#include "models/model.h"

/* Keeps the tokens that `ids` names: the first N for a number N in 1..V, else those in a file of
 * token numbers. Closing the model closes `base`; on failure the caller keeps it. Returns
 * GSL_EINVAL if the number is out of range, or the file has no tokens or invalid ones. */
int spec_restricted_model_open(spec_model **ret_model, spec_model *base, const char *ids,
                               spec_error *error);

#endif
