/* SPDX-License-Identifier: GPL-3.0-or-later */
/* side_models: opens a target and its drafts, for verbs that read them along the same text.
 * It checks that there is memory for all of them before it loads the first one. */
#ifndef SPECLAB_SIDE_MODELS_H
#define SPECLAB_SIDE_MODELS_H

#include "models/model.h"

/* Opens the models of n specs, the target first. Errors begin with "--target: " or "--draft: ".
 * The caller closes the models, the last one first, even on failure. */
int spec_side_models_open(spec_model **ret_model, const char *const *spec, int n,
                          spec_context *context, spec_error *error);

#endif
