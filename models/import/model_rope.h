/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_rope: reads the rotary embedding of a config.json, in the old style or the new one.
 * Older files have rope_theta, rope_local_base_freq and rope_scaling; newer ones have all of it in
 * rope_parameters, with one object per layer type if these differ. */
#ifndef SPECLAB_MODEL_ROPE_H
#define SPECLAB_MODEL_ROPE_H

#include "models/import/json_values.h"
#include "models/transformer/files/checkpoint.h"

/* Sets shape->rope and, if shape->window > 0, window_rope; head_dim must be set and valid. `base`
 * and `window_base` replace bases missing in the file. Layers with a window rotate like the others
 * if window_base is 0, else without scaling. rope.opt_factor points to *ret_factor, which the
 * caller frees; it may be NULL. Returns GSL_EINVAL, with one line, for a scaling other than linear,
 * llama3 or yarn, for impossible values, and if only a part of each head is rotated. */
int spec_model_rope_read(spec_shape *shape, float **ret_factor, const spec_json_values *config,
                         double base, double window_base);

#endif
