/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_rope: the rotary embedding of a config.json, old style and new.
 * Older files have rope_theta, rope_local_base_freq and rope_scaling; newer ones have all of it in
 * rope_parameters, with one object per type of layer where these differ. */
#ifndef SPECLAB_MODEL_ROPE_H
#define SPECLAB_MODEL_ROPE_H

#include "models/import/json_values.h"
#include "models/transformer/files/checkpoint.h"

/* Set shape->rope and, if shape->window > 0, window_rope; head_dim must be set and valid. Bases
 * that the file lacks are `base` and `window_base`; window_base 0: layers with a window rotate as
 * the others do, else without a scaling. *ret_factor, which the caller frees, is what
 * rope.opt_factor points to, or NULL. GSL_EINVAL with one line for a scaling that is not linear,
 * llama3 or yarn. Also for values that cannot be, and for an embedding of a part of each head.
 */
int spec_model_rope_read(spec_shape *shape, float **ret_factor, const spec_json_values *config,
                         double base, double window_base);

#endif
