/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/model_rope.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFUSE(config, format, ...)                                                                \
    spec_fail((config)->error, GSL_EINVAL, "%.300s: " format, (config)->path, __VA_ARGS__)

/* ---- the factors of a scaling ---------------------------------------------------------------- */

/* Pair i turns `share` of the way as it did before the scaling, and else `factor` times slower. */
static float stretched(double share, double factor)
{
    return (float)(1.0 / ((1.0 - share) / factor + share));
}

static double within_0_and_1(double value)
{
    return fmin(fmax(value, 0.0), 1.0);
}

/* Llama 3 stretches the pairs that turn less than once or a few times in the original context. */
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
                      "original_max_position_embeddings %g cannot be",
                      low, high, context);
    for (int i = 0; i < shape->head_dim / 2; i++) {
        const double turns = context * pow(shape->rope.base, -2.0 * i / shape->head_dim) /
                             (2.0 * M_PI); /* in the original context */
        ret_factor[i] = stretched(within_0_and_1((turns - low) / (high - low)), factor);
    }
done:
    return status;
}

/* The pair, as a real number, that turns `turns` times in the original context. */
static double pair_of_turns(double turns, const spec_shape *shape, double context)
{
    return shape->head_dim * log(context / (turns * 2.0 * M_PI)) / (2.0 * log(shape->rope.base));
}

/* Between beta_fast and beta_slow turns, pairs go over from unstretched to stretched [Peng24]. */
static void fill_yarn(float *ret_factor, const spec_shape *shape, const spec_model_rope_yarn *yarn)
{
    double low = pair_of_turns(yarn->beta_fast, shape, yarn->context);
    double high = pair_of_turns(yarn->beta_slow, shape, yarn->context);
    if (yarn->truncates) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0.0);
    high = fmin(high, shape->head_dim - 1.0);
    if (low == high) high += 0.001;
    for (int i = 0; i < shape->head_dim / 2; i++)
        ret_factor[i] = stretched(1.0 - within_0_and_1((i - low) / (high - low)), yarn->factor);
}

/* Queries and keys grow by a factor that only the stretch determines; others are refused. */
static int check_magnitude(double magnitude, const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    double attention, mscale, mscale_all;
    SPEC_TRY(spec_json_values_real(&attention, scaling, "attention_factor", magnitude));
    SPEC_TRY(spec_json_values_real(&mscale, scaling, "mscale", 0.0));
    SPEC_TRY(spec_json_values_real(&mscale_all, scaling, "mscale_all_dim", 0.0));
    if (mscale != 0.0 && mscale_all != 0.0)
        return REFUSE(scaling,
                      "a rope_scaling with mscale %g and mscale_all_dim %g is not computed", mscale,
                      mscale_all);
    if (fabs(attention - magnitude) > 1e-4)
        return REFUSE(scaling,
                      "a rope_scaling with attention_factor %g is not computed; %g is YaRN's own",
                      attention, magnitude);
done:
    return status;
}

static int read_yarn(spec_shape *shape, spec_model_rope_yarn *ret_yarn, float *ret_factor,
                     double factor, const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    const double magnitude = 0.1 * log(factor) + 1.0;
    *ret_yarn = (spec_model_rope_yarn){.factor = factor};
    SPEC_TRY(spec_json_values_real(&ret_yarn->context, scaling, "original_max_position_embeddings",
                                   shape->context / factor));
    SPEC_TRY(spec_json_values_real(&ret_yarn->beta_fast, scaling, "beta_fast", 32.0));
    SPEC_TRY(spec_json_values_real(&ret_yarn->beta_slow, scaling, "beta_slow", 1.0));
    SPEC_TRY(spec_json_values_bool(&ret_yarn->truncates, scaling, "truncate", true));
    if (!(ret_yarn->beta_slow > 0.0 && ret_yarn->beta_fast > ret_yarn->beta_slow &&
          ret_yarn->beta_fast < 1e6 && ret_yarn->context > 1.0 && ret_yarn->context < 1e9 &&
          shape->rope.base > 1.0))
        return REFUSE(scaling,
                      "a rope_scaling of beta_fast %g, beta_slow %g and "
                      "original_max_position_embeddings %g cannot be",
                      ret_yarn->beta_fast, ret_yarn->beta_slow, ret_yarn->context);
    SPEC_TRY(check_magnitude(magnitude, scaling));
    fill_yarn(ret_factor, shape, ret_yarn);
    shape->rope.magnitude = (float)magnitude;
done:
    return status;
}

static int read_scaling(spec_shape *shape, float **ret_factor, spec_model_rope_yarn *ret_yarn,
                        const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    const char *type;
    double factor;
    const int n = shape->head_dim / 2;
    SPEC_TRY(spec_json_values_text(&type, scaling, "rope_type", NULL));
    if (type == NULL) SPEC_TRY(spec_json_values_text(&type, scaling, "type", "default"));
    SPEC_TRY(spec_json_values_real(&factor, scaling, "factor", 1.0));
    if (strcmp(type, "default") == 0) return GSL_SUCCESS;
    const bool is_linear = strcmp(type, "linear") == 0, is_yarn = strcmp(type, "yarn") == 0;
    if (!is_linear && !is_yarn && strcmp(type, "llama3") != 0)
        return REFUSE(scaling,
                      "a rope_scaling of type '%.40s' is not computed; linear, llama3 and yarn are",
                      type);
    if (!(factor >= 1.0 && factor <= 1e6))
        return REFUSE(scaling, "a rope_scaling by the factor %g cannot be", factor);
    float *const all = *ret_factor = malloc((size_t)(n + 1) * sizeof *all);
    if (all == NULL) return spec_no_memory_for(scaling->error, scaling->path);
    for (int i = 0; i < n; i++) all[i] = (float)factor;
    if (is_yarn)
        SPEC_TRY(read_yarn(shape, ret_yarn, all, factor, scaling));
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

static int check_share(const spec_json_values *of)
{
    double share;
    const int status = spec_json_values_real(&share, of, "partial_rotary_factor", 1.0);
    if (status == GSL_SUCCESS && share != 1.0)
        return REFUSE(of, "a rotary embedding of a share %g of each head is not computed", share);
    return status;
}

/* Layers with a window rotate by a base of their own, unscaled. */
static int read_window_rope(spec_shape *shape, const spec_json_values *config,
                            const spec_json_values *parameters, double base)
{
    int status = GSL_SUCCESS;
    const char *type;
    SPEC_TRY(read_base(&base, config, "rope_local_base_freq", base));
    if (parameters->object != NULL) {
        SPEC_TRY(read_base(&base, parameters, "rope_theta", base));
        SPEC_TRY(check_share(parameters));
        SPEC_TRY(spec_json_values_text(&type, parameters, "rope_type", "default"));
        if (strcmp(type, "default") != 0)
            return REFUSE(parameters,
                          "a rope_scaling of type '%.40s' of layers with a window is not computed",
                          type);
    }
    shape->window_rope = (spec_rope){.base = base};
done:
    return status;
}

int spec_model_rope_read(spec_shape *shape, float **ret_factor, spec_model_rope_yarn *ret_yarn,
                         const spec_json_values *config, double base, double window_base)
{
    int status = GSL_SUCCESS;
    spec_json_values parameters, of_full, of_window, scaling;
    *ret_factor = NULL;
    *ret_yarn = (spec_model_rope_yarn){0};
    SPEC_TRY(spec_json_values_object(&parameters, config, "rope_parameters"));
    SPEC_TRY(spec_json_values_object(&of_full, &parameters, "full_attention"));
    SPEC_TRY(spec_json_values_object(&of_window, &parameters, "sliding_attention"));
    SPEC_TRY(spec_json_values_object(&scaling, config, "rope_scaling"));
    if (of_full.object == NULL && of_window.object == NULL) of_full = parameters;
    SPEC_TRY(check_share(config));
    SPEC_TRY(read_base(&base, config, "rope_theta", base));
    if (of_full.object != NULL) {
        SPEC_TRY(check_share(&of_full));
        SPEC_TRY(read_base(&base, &of_full, "rope_theta", base));
        scaling = of_full;
    }
    shape->rope.base = base;
    if (scaling.object != NULL) SPEC_TRY(read_scaling(shape, ret_factor, ret_yarn, &scaling));
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
