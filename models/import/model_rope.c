/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/model_rope.h"

#include "models/transformer/files/rope_scaling.h"
#include "speclab/no_memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFUSE(config, format, ...)                                                                \
    spec_fail((config)->error, GSL_EINVAL, "%.300s: " format, (config)->path, __VA_ARGS__)

/* ---- the factors of a scaling ---------------------------------------------------------------- */

/* Returns how much slower a pair turns if its speed is a mixture: with weight `share` that without
 * scaling, with the remaining weight `factor` times slower. */
static float stretched(double share, double factor)
{
    return (float)(1.0 / ((1.0 - share) / factor + share));
}

static double within_0_and_1(double value)
{
    return fmin(fmax(value, 0.0), 1.0);
}

/* Llama 3 slows the pairs that turn less than once, or only a few times, within the original
 * context. */
static int fill_llama3(float *ret_factor, const spec_shape *shape, double factor,
                       const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    double low, high, context;
    SPEC_TRY(spec_json_values_real(&low, scaling, "low_freq_factor", 1.0));
    SPEC_TRY(spec_json_values_real(&high, scaling, "high_freq_factor", 4.0));
    SPEC_TRY(spec_json_values_real(&context, scaling, "original_max_position_embeddings", 8192.0));
    if (!(low > 0.0 && high > low && context > 0.0))
        return REFUSE(scaling,
                      "a rope_scaling of low_freq_factor %g, high_freq_factor %g and "
                      "original_max_position_embeddings %g is not possible",
                      low, high, context);
    const int rotated = spec_checkpoint_rotated(shape);
    for (int i = 0; i < rotated / 2; i++) {
        const double turns = context * pow(shape->rope.base, -2.0 * i / rotated) /
                             (2.0 * M_PI); /* in the original context */
        ret_factor[i] = stretched(within_0_and_1((turns - low) / (high - low)), factor);
    }
done:
    return status;
}

/* Returns YaRN's magnitude, with a multiple of its logarithm. */
static double magnitude_of(const spec_yarn *yarn, double multiple)
{
    return 1.0 + 0.1 * multiple * log(yarn->factor);
}

/* Returns the scaling of queries and keys: YaRN's own, or the one in the file. */
static int read_magnitude(spec_yarn *yarn, const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    const double own = magnitude_of(yarn, 1.0);
    double attention, mscale, mscale_all;
    SPEC_TRY(spec_json_values_real(&mscale, scaling, "mscale", 0.0));
    SPEC_TRY(spec_json_values_real(&mscale_all, scaling, "mscale_all_dim", 0.0));
    const double stated = mscale != 0.0 && mscale_all != 0.0
                              ? magnitude_of(yarn, mscale) / magnitude_of(yarn, mscale_all)
                              : own;
    SPEC_TRY(spec_json_values_real(&attention, scaling, "attention_factor", stated));
    if (!(attention > 0.0))
        return REFUSE(scaling,
                      "a rope_scaling that multiplies queries and keys by %g is not possible",
                      attention);
    yarn->opt_magnitude = fabs(attention - own) > 1e-6 * own ? attention : 0.0;
done:
    return status;
}

/* `factor` holds ones. */
static int read_yarn(spec_rope *rope, float *factor, const spec_shape *shape, double by,
                     const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    bool truncates;
    spec_yarn *yarn = &rope->yarn;
    yarn->factor = by;
    SPEC_TRY(spec_json_values_integer(&yarn->context, scaling, "original_max_position_embeddings",
                                      (int)(shape->context / by), 0, INT_MAX));
    SPEC_TRY(spec_json_values_real(&yarn->fast, scaling, "beta_fast", SPEC_YARN_FAST));
    SPEC_TRY(spec_json_values_real(&yarn->slow, scaling, "beta_slow", SPEC_YARN_SLOW));
    SPEC_TRY(spec_json_values_bool(&truncates, scaling, "truncate", true));
    SPEC_TRY(read_magnitude(yarn, scaling));
    yarn->keeps_fractions = !truncates;
    SPEC_TRY(spec_rope_scaling_check(yarn, scaling->path, scaling->error));
    rope->magnitude =
        (float)spec_rope_scaling_yarn(factor, yarn, rope->base, spec_checkpoint_rotated(shape));
done:
    return status;
}

static int read_scaling(spec_shape *shape, float **ret_factor, const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    const char *type;
    double factor;
    const int n = spec_checkpoint_rotated(shape) / 2;
    SPEC_TRY(spec_json_values_text(&type, scaling, "rope_type", NULL));
    if (type == NULL) SPEC_TRY(spec_json_values_text(&type, scaling, "type", "default"));
    SPEC_TRY(spec_json_values_real(&factor, scaling, "factor", 1.0));
    if (strcmp(type, "default") == 0) return GSL_SUCCESS;
    const bool is_linear = strcmp(type, "linear") == 0, is_yarn = strcmp(type, "yarn") == 0;
    if (!is_linear && !is_yarn && strcmp(type, "llama3") != 0)
        return REFUSE(scaling,
                      "rope_scaling of type '%.40s' is not supported; linear, llama3 and yarn are",
                      type);
    if (!(factor >= 1.0 && factor <= 1e6))
        return REFUSE(scaling, "rope_scaling by a factor of %g is outside 1 to 1e6", factor);
    float *const all = *ret_factor = malloc((size_t)(n + 1) * sizeof *all);
    if (all == NULL) return spec_no_memory_for(scaling->error, scaling->path);
    for (int i = 0; i < n; i++) all[i] = is_yarn ? 1.0f : (float)factor;
    if (is_yarn)
        SPEC_TRY(read_yarn(&shape->rope, all, shape, factor, scaling));
    else if (!is_linear)
        SPEC_TRY(fill_llama3(all, shape, factor, scaling));
    shape->rope.opt_factor = all;
done:
    return status;
}

/* ---- one embedding --------------------------------------------------------------------------- */

static int read_base(double *ret_base, const spec_json_values *of, const char *key, double fallback)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_json_values_real(ret_base, of, key, fallback));
    if (!(*ret_base >= 1.0 && *ret_base <= 1e15))
        return REFUSE(of, "the base of the rotary embedding is %g, which is not between 1 and 1e15",
                      *ret_base);
done:
    return status;
}

/* Reads the share of a head that rotates, which only hybrids may have. */
static int read_share(spec_shape *shape, const spec_json_values *of)
{
    double share;
    const int status = spec_json_values_real(&share, of, "partial_rotary_factor", -1.0);
    if (status != GSL_SUCCESS || share == -1.0) return status;
    if (share != 1.0 && (shape->delta.n_layers == 0 || !(share > 0.0 && share < 1.0)))
        return REFUSE(of, "a rotary embedding of only a share %g of each head is not supported",
                      share);
    shape->rotated = share == 1.0 ? 0 : (int)(shape->head_dim * share);
    if (share != 1.0 && (shape->rotated == 0 || shape->rotated % 2 != 0))
        return REFUSE(of, "a rotary embedding of %d of the %d dimensions of a head is not possible",
                      shape->rotated, shape->head_dim);
    return GSL_SUCCESS;
}

/* Layers with a window rotate by a separate base, unscaled. */
static int read_window_rope(spec_shape *shape, const spec_json_values *config,
                            const spec_json_values *parameters, double base)
{
    int status = GSL_SUCCESS;
    const char *type;
    SPEC_TRY(read_base(&base, config, "rope_local_base_freq", base));
    if (parameters->object != NULL) {
        SPEC_TRY(read_base(&base, parameters, "rope_theta", base));
        SPEC_TRY(read_share(shape, parameters));
        SPEC_TRY(spec_json_values_text(&type, parameters, "rope_type", "default"));
        if (strcmp(type, "default") != 0)
            return REFUSE(parameters,
                          "rope_scaling of type '%.40s' in layers with a window is not supported",
                          type);
    }
    shape->window_rope = (spec_rope){.base = base};
done:
    return status;
}

int spec_model_rope_read(spec_shape *shape, float **ret_factor, const spec_json_values *config,
                         double base, double window_base)
{
    int status = GSL_SUCCESS;
    spec_json_values parameters, of_full, of_window, scaling;
    *ret_factor = NULL;
    SPEC_TRY(spec_json_values_object(&parameters, config, "rope_parameters"));
    SPEC_TRY(spec_json_values_object(&of_full, &parameters, "full_attention"));
    SPEC_TRY(spec_json_values_object(&of_window, &parameters, "sliding_attention"));
    SPEC_TRY(spec_json_values_object(&scaling, config, "rope_scaling"));
    if (of_full.object == NULL && of_window.object == NULL) of_full = parameters;
    SPEC_TRY(read_share(shape, config));
    SPEC_TRY(read_base(&base, config, "rope_theta", base));
    if (of_full.object != NULL) {
        SPEC_TRY(read_share(shape, &of_full));
        SPEC_TRY(read_base(&base, &of_full, "rope_theta", base));
        scaling = of_full;
    }
    shape->rope.base = base;
    if (scaling.object != NULL) SPEC_TRY(read_scaling(shape, ret_factor, &scaling));
    if (shape->window == 0) return GSL_SUCCESS;
    if (window_base == 0.0)
        shape->window_rope = shape->rope;
    else
        SPEC_TRY(read_window_rope(shape, config, &of_window, window_base));
done:
    if (status != GSL_SUCCESS) {
        free(*ret_factor);
        *ret_factor = NULL;
        shape->rope.opt_factor = NULL;
    }
    return status;
}
