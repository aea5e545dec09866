/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_open: opens a model from its spec, such as "zipf?V=1000&s=1.1&top_k=40".
 * base/settings.h has the grammar, and the usage of each kind gives the units and domains of its
 * keys. A path without a kind works for files that end in .gguf, .bin (llama2c) or .rows. The
 * content of a .gguf decides whether it is a model or a draft of one. The caller closes the
 * model. */
#ifndef SPECLAB_MODEL_OPEN_H
#define SPECLAB_MODEL_OPEN_H

#include "models/model.h"

/* Opens the model that `spec` names and applies temperature, top_k, top_p and min_p, if given.
 * Unknown kinds and keys are refused, with the nearest name, before any work is done. The model
 * uses
 * the threads and devices of the context, which must outlive it; NULL: only the calling thread.
 * Returns GSL_EINVAL if the spec is invalid or lacks its path or target, else the kind's error. */
int spec_model_open(spec_model **ret_model, const char *spec, const spec_model *opt_target,
                    spec_context *opt_context, spec_error *error);

/* Does the same without loading weights, so that the memory of several models can be checked before
 * any is loaded. The model can be the target of another model opened this way. It can have sessions
 * only after spec_model_load, and its target must be loaded before it. */
int spec_model_open_unloaded(spec_model **ret_model, const char *spec, const spec_model *opt_target,
                             spec_context *opt_context, spec_error *error);

/* Returns the kind that would open `spec`; NULL if there is none. */
const spec_model_kind *spec_model_open_kind(const char *spec);

#endif
