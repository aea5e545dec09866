/* SPDX-License-Identifier: GPL-3.0-or-later */
/* restricted_model: a model whose rows are those of another model on some tokens alone.
 * Other tokens have probability 0, and the rest is renormalised: a reduced vocabulary [ZhaoW25].
 * A row without mass on these tokens becomes uniform over them. It is a wrapper (models/wrapper.h)
 * and owns the model. */
#ifndef SPECLAB_RESTRICTED_MODEL_H
#define SPECLAB_RESTRICTED_MODEL_H

#include "models/model.h"

/* Keep the tokens that `ids` gives: the first N for a number N in 1..V, else those of a file of
 * token numbers. Closes `base` when it is closed; on failure the caller keeps it. GSL_EINVAL for a
 * number out of range and for a file that has no tokens or others. */
int spec_restricted_model_open(spec_model **ret_model, spec_model *base, const char *ids,
                               spec_error *error);

#endif
