/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transformed_model: a model that applies a transform to the rows of another model.
 * It is a wrapper (models/wrapper.h) and owns the model that it transforms. */
#ifndef SPECLAB_TRANSFORMED_MODEL_H
#define SPECLAB_TRANSFORMED_MODEL_H

#include "models/model.h"
#include "models/transform.h"

/* Opens a model that applies `transform` to every row of `base`; closing it closes `base`. */
int spec_transformed_model_open(spec_model **ret_model, spec_model *base,
                                const spec_transform *transform, spec_error *error);

/* Returns the transform that such a model applies; NULL for any other model. */
const spec_transform *spec_transformed_model_transform(const spec_model *model);

#endif
