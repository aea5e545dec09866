/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/model_config.h"

#include "speclab/no_memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFUSE(config, format, ...)                                                                \
    spec_fail((config)->error, GSL_EINVAL, "%.300s: " format, (config)->path, __VA_ARGS__)

static int read_kind(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    const char *type, *activation;
    SPEC_TRY(spec_json_values_text(&type, config, "model_type", ""));
    SPEC_TRY(spec_json_values_text(&activation, config, "hidden_act", "silu"));
    ret->is_qwen2 = strcmp(type, "qwen2") == 0;
    if (strcmp(type, "qwen3") == 0)
        return REFUSE(config, "model_type is '%s', whose norms of each head's %s", type,
                      "queries and keys are not computed here");
    if (!ret->is_qwen2 && strcmp(type, "llama") != 0 && strcmp(type, "mistral") != 0)
        return REFUSE(config, "model_type is '%.40s'; llama, mistral and qwen2 are read", type);
    if (strcmp(activation, "silu") != 0)
        return REFUSE(config, "hidden_act is '%.40s'; silu is computed", activation);
    if (json_object_get(config->object, "quantization_config") != NULL)
        return REFUSE(config, "has a %s; import the weights in F32, F16 or BF16",
                      "quantization_config");
done:
    return status;
}

/* Token numbers may be lists. */
static int read_token(int *ret_token, const spec_json_values *config, const char *key, int vocab)
{
    const json_t *value = json_object_get(config->object, key);
    if (!json_is_array(value))
        return spec_json_values_integer(ret_token, config, key, -1, -1, vocab - 1);
    const json_t *first = json_array_get(value, 0);
    const json_int_t token = json_is_integer(first) ? json_integer_value(first) : -1;
    *ret_token = -1;
    if (token < 0 || token >= vocab)
        return spec_json_values_refuse(config, key, "a list of tokens");
    *ret_token = (int)token;
    return GSL_SUCCESS;
}

/* Qwen2 names a window that is not in effect. */
static int read_window(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS, window;
    bool is_used;
    SPEC_TRY(spec_json_values_integer(&window, config, "sliding_window", 0, 0, INT_MAX));
    SPEC_TRY(spec_json_values_bool(&is_used, config, "use_sliding_window", !ret->is_qwen2));
    if (!is_used || window < 2 || window >= ret->shape.context) return GSL_SUCCESS;
    ret->window = ret->shape.context = window;
done:
    return status;
}

static int read_shape(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &ret->shape;
    double eps;
    SPEC_TRY(spec_json_values_need(&shape->dim, config, "hidden_size", SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_need(&shape->n_layers, config, "num_hidden_layers", SPEC_LAYERS_MAX));
    SPEC_TRY(spec_json_values_need(&shape->n_heads, config, "num_attention_heads", SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_need(&shape->ffn_dim, config, "intermediate_size", SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_need(&shape->vocab, config, "vocab_size", INT_MAX));
    SPEC_TRY(spec_json_values_integer(&shape->n_kv_heads, config, "num_key_value_heads",
                                      shape->n_heads, 1, SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&shape->head_dim, config, "head_dim",
                                      shape->dim / shape->n_heads, 1, SPEC_HEAD_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&shape->context, config, "max_position_embeddings", 2048, 2,
                                      INT_MAX));
    if (shape->context > SPEC_CONTEXT_MAX) shape->context = SPEC_CONTEXT_MAX;
    SPEC_TRY(spec_json_values_real(&eps, config, "rms_norm_eps", 1e-6));
    shape->norm_eps = (float)eps;
    shape->rope_pairs = SPEC_ROPE_HALVES;
    SPEC_TRY(spec_json_values_bool(&ret->is_tied, config, "tie_word_embeddings", false));
    SPEC_TRY(read_window(ret, config));
    SPEC_TRY(read_token(&ret->begin_of_text, config, "bos_token_id", shape->vocab));
    SPEC_TRY(read_token(&ret->end_of_text, config, "eos_token_id", shape->vocab));
done:
    return status;
}

/* ---- the rotary embedding -------------------------------------------------------------------- */

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
        const double share = fmin(fmax((turns - low) / (high - low), 0.0), 1.0);
        ret_factor[i] = (float)(1.0 / ((1.0 - share) / factor + share));
    }
done:
    return status;
}

static int read_scaling(spec_model_config *ret, const spec_json_values *scaling)
{
    int status = GSL_SUCCESS;
    const char *type;
    double factor;
    const int n = ret->shape.head_dim / 2;
    SPEC_TRY(spec_json_values_text(&type, scaling, "rope_type", NULL));
    if (type == NULL) SPEC_TRY(spec_json_values_text(&type, scaling, "type", "default"));
    SPEC_TRY(spec_json_values_real(&factor, scaling, "factor", 1.0));
    if (strcmp(type, "default") == 0) return GSL_SUCCESS;
    if (strcmp(type, "linear") != 0 && strcmp(type, "llama3") != 0)
        return REFUSE(scaling,
                      "a rope_scaling of type '%.40s' is not computed; linear and llama3 "
                      "are",
                      type);
    if (!(factor >= 1.0 && factor <= 1e6))
        return REFUSE(scaling, "a rope_scaling by the factor %g cannot be", factor);
    ret->rope_factor = malloc((size_t)(n + 1) * sizeof *ret->rope_factor);
    if (ret->rope_factor == NULL) return spec_no_memory_for(scaling->error, scaling->path);
    for (int i = 0; i < n; i++) ret->rope_factor[i] = (float)factor;
    if (strcmp(type, "llama3") == 0)
        SPEC_TRY(fill_llama3(ret->rope_factor, &ret->shape, factor, scaling));
    ret->shape.rope.opt_factor = ret->rope_factor;
done:
    return status;
}

/* Newer files have the base and the scaling in one object, rope_parameters. */
static int read_rope(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    spec_json_values scaling, parameters;
    double *base = &ret->shape.rope.base, share;
    SPEC_TRY(spec_json_values_object(&parameters, config, "rope_parameters"));
    SPEC_TRY(spec_json_values_object(&scaling, config, "rope_scaling"));
    SPEC_TRY(spec_json_values_real(base, config, "rope_theta", 10000.0));
    if (parameters.object != NULL)
        SPEC_TRY(spec_json_values_real(base, &parameters, "rope_theta", *base));
    SPEC_TRY(spec_json_values_real(&share, parameters.object != NULL ? &parameters : config,
                                   "partial_rotary_factor", 1.0));
    if (share != 1.0)
        return REFUSE(config, "a rotary embedding of a share %g of each head is not computed",
                      share);
    SPEC_TRY(spec_checkpoint_check_shape(&ret->shape, config->path, config->error));
    if (parameters.object != NULL)
        SPEC_TRY(read_scaling(ret, &parameters));
    else if (scaling.object != NULL)
        SPEC_TRY(read_scaling(ret, &scaling));
done:
    return status;
}

int spec_model_config_read(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    *ret = (spec_model_config){0};
    SPEC_TRY(read_kind(ret, config));
    SPEC_TRY(read_shape(ret, config));
    SPEC_TRY(read_rope(ret, config));
done:
    if (status != GSL_SUCCESS) spec_model_config_free(ret);
    return status;
}

void spec_model_config_free(spec_model_config *config)
{
    free(config->rope_factor);
    *config = (spec_model_config){0};
}
