/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/model_config.h"

#include "speclab/no_memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFUSE(config, format, ...)                                                                \
    spec_fail((config)->error, GSL_EINVAL, "%.300s: " format, (config)->path, __VA_ARGS__)

/* A family of config.json, with the values that transformers assumes if the file does not give
 * them; 0 and false if it assumes nothing or the family does not have the feature. */
typedef struct {
    const char *type;         /* model_type */
    const char *architecture; /* in the table of architecture.h */
    const char *activation;   /* hidden_act, or gemma3's hidden_activation */
    bool has_biases, is_tied, begins, gains_minus_one;
    bool window_is_asked; /* the window is in effect only with use_sliding_window */
    bool scales_rope;     /* transformers has a default scaling; here the file must give it */
    bool norms_experts;   /* the weights of a token's experts always sum to 1 */
    int n_heads, n_kv_heads, head_dim, vocab, context, window, query_scalar;
    double eps, base;
} family;

static const family families[] = {
    {.type = "llama",
     .architecture = "llama",
     .activation = "silu",
     .begins = true,
     .context = 2048,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "mistral",
     .architecture = "llama",
     .activation = "silu",
     .begins = true,
     .n_kv_heads = 8,
     .context = 131072,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "qwen2",
     .architecture = "qwen2",
     .activation = "silu",
     .has_biases = true,
     .window_is_asked = true,
     .context = 32768,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "qwen3",
     .architecture = "qwen3",
     .activation = "silu",
     .window_is_asked = true,
     .n_kv_heads = 32,
     .head_dim = 128,
     .context = 32768,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "qwen3_moe",
     .architecture = "qwen3moe",
     .activation = "silu",
     .window_is_asked = true,
     .n_kv_heads = 4,
     .context = 32768,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "gemma3_text",
     .architecture = "gemma3",
     .activation = "gelu_pytorch_tanh",
     .is_tied = true,
     .begins = true,
     .gains_minus_one = true,
     .n_heads = 8,
     .n_kv_heads = 4,
     .head_dim = 256,
     .vocab = 262208,
     .context = 131072,
     .window = 4096,
     .query_scalar = 256,
     .eps = 1e-6,
     .base = 1e6},
    {.type = "gpt_oss",
     .architecture = "gpt-oss",
     .activation = "silu",
     .has_biases = true,
     .scales_rope = true,
     .norms_experts = true,
     .n_kv_heads = 8,
     .head_dim = 64,
     .context = 131072,
     .window = 128,
     .eps = 1e-5,
     .base = 150000.0},
    {.type = "qwen3_next",
     .architecture = "qwen3next",
     .activation = "silu",
     .gains_minus_one = true,
     .n_kv_heads = 2,
     .head_dim = 256,
     .context = 32768,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "qwen3_5_text",
     .architecture = "qwen35",
     .activation = "silu",
     .gains_minus_one = true,
     .n_kv_heads = 4,
     .head_dim = 256,
     .context = 32768,
     .eps = 1e-6,
     .base = 1e4},
    {.type = "qwen3_5_moe_text",
     .architecture = "qwen35moe",
     .activation = "silu",
     .gains_minus_one = true,
     .norms_experts = true,
     .n_kv_heads = 2,
     .head_dim = 256,
     .context = 32768,
     .eps = 1e-6,
     .base = 1e4},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

/* ---- kind ------------------------------------------------------------------------------------ */

/* MXFP4 in gpt-oss is a layout of its experts; all other quantisations are refused. */
static int check_quantisation(const family *of, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    const char *method;
    spec_json_values quantisation;
    SPEC_TRY(spec_json_values_object(&quantisation, config, "quantization_config"));
    if (quantisation.object == NULL) return GSL_SUCCESS;
    SPEC_TRY(spec_json_values_text(&method, &quantisation, "quant_method", ""));
    if (strcmp(of->architecture, "gpt-oss") == 0 && strcmp(method, "mxfp4") == 0)
        return GSL_SUCCESS;
    return REFUSE(config, "has a %s; import the weights in F32, F16 or BF16",
                  "quantization_config");
done:
    return status;
}

static int read_family(const family **ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    const char *type;
    char names[192] = "";
    SPEC_TRY(spec_json_values_text(&type, config, "model_type", ""));
    for (int i = 0; i < FAMILIES; i++) {
        const size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s",
                 i == 0              ? ""
                 : i == FAMILIES - 1 ? " and "
                                     : ", ",
                 families[i].type);
        *ret = &families[i];
        if (strcmp(families[i].type, type) == 0) return GSL_SUCCESS;
    }
    return REFUSE(config, "model_type is '%.40s'; only %s are supported", type, names);
done:
    return status;
}

/* Refuses values that change the computation; few files have them. */
static int check_features(const family *of, const spec_json_values *config)
{
    static const char *const caps[] = {"attn_logit_softcapping", "final_logit_softcapping"};
    int status = GSL_SUCCESS;
    const char *activation, *hidden;
    double value;
    bool is_on;
    SPEC_TRY(spec_json_values_text(&hidden, config, "hidden_act", of->activation));
    SPEC_TRY(spec_json_values_text(&activation, config, "hidden_activation", hidden));
    if (strcmp(activation, of->activation) != 0)
        return REFUSE(config, "hidden_act is '%.40s'; only %s is supported", activation,
                      of->activation);
    for (int i = 0; i < 2; i++) {
        SPEC_TRY(spec_json_values_real(&value, config, caps[i], 0.0));
        if (value != 0.0)
            return REFUSE(config, "'%s' is %g; soft caps are not supported", caps[i], value);
    }
    SPEC_TRY(spec_json_values_bool(&is_on, config, "use_bidirectional_attention", false));
    if (is_on)
        return REFUSE(config, "'%s' is true, which is not supported",
                      "use_bidirectional_attention");
    SPEC_TRY(spec_json_values_real(&value, config, "swiglu_alpha", 1.702));
    if (value != 1.702) return REFUSE(config, "swiglu_alpha is %g; only 1.702 is supported", value);
    SPEC_TRY(spec_json_values_real(&value, config, "swiglu_limit", 7.0));
    if (value != 7.0) return REFUSE(config, "swiglu_limit is %g; only 7 is supported", value);
done:
    return status;
}

/* ---- shape ----------------------------------------------------------------------------------- */

int spec_model_config_ends(spec_text_ends *ends, const spec_json_values *config, int vocab)
{
    static const char key[] = "eos_token_id";
    const json_t *value = json_object_get(config->object, key);
    int only;
    if (!json_is_array(value)) {
        const int status = spec_json_values_integer(&only, config, key, -1, -1, vocab - 1);
        if (status == GSL_SUCCESS) spec_text_ends_add(ends, only);
        return status;
    }
    for (size_t i = 0; i == 0 || i < json_array_size(value); i++) {
        const json_t *one = json_array_get(value, i);
        const json_int_t token = json_is_integer(one) ? json_integer_value(one) : -1;
        if (token < 0 || token >= vocab)
            return spec_json_values_refuse(config, key, "a list of tokens");
        spec_text_ends_add(ends, (int)token);
    }
    return GSL_SUCCESS;
}

/* Reads a value for which the family may assume a default. */
static int read_size(int *ret_value, const spec_json_values *config, const char *key, int assumed,
                     int high)
{
    return assumed > 0 ? spec_json_values_integer(ret_value, config, key, assumed, 1, high)
                       : spec_json_values_need(ret_value, config, key, high);
}

static int read_dimensions(spec_model_config *ret, const family *of, const spec_json_values *config)
{
    int status = GSL_SUCCESS, query_scalar;
    spec_shape *shape = &ret->shape;
    double eps;
    SPEC_TRY(spec_json_values_need(&shape->dim, config, "hidden_size", SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_need(&shape->n_layers, config, "num_hidden_layers", SPEC_LAYERS_MAX));
    SPEC_TRY(read_size(&shape->n_heads, config, "num_attention_heads", of->n_heads, SPEC_DIM_MAX));
    if (!ret->architecture->has_delta || !ret->architecture->has_experts)
        SPEC_TRY(spec_json_values_need(&shape->ffn_dim, config, "intermediate_size", SPEC_DIM_MAX));
    SPEC_TRY(read_size(&shape->vocab, config, "vocab_size", of->vocab, INT_MAX));
    SPEC_TRY(read_size(&shape->n_kv_heads, config, "num_key_value_heads",
                       of->n_kv_heads > 0 ? of->n_kv_heads : shape->n_heads, SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&shape->head_dim, config, "head_dim",
                                      of->head_dim > 0 ? of->head_dim : shape->dim / shape->n_heads,
                                      1, SPEC_HEAD_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&shape->context, config, "max_position_embeddings",
                                      of->context, 2, INT_MAX));
    if (shape->context > SPEC_CONTEXT_MAX) shape->context = SPEC_CONTEXT_MAX;
    SPEC_TRY(spec_json_values_real(&eps, config, "rms_norm_eps", of->eps));
    shape->norm_eps = (float)eps;
    shape->rope_pairs = SPEC_ROPE_HALVES;
    shape->gate = ret->architecture->gate;
    if (ret->architecture->scales_embedding) shape->embedding_scale = sqrtf((float)shape->dim);
    if (of->query_scalar == 0) return GSL_SUCCESS;
    SPEC_TRY(spec_json_values_integer(&query_scalar, config, "query_pre_attn_scalar",
                                      of->query_scalar, 1, SPEC_DIM_MAX));
    if (query_scalar != shape->head_dim)
        shape->query_scale = (float)(1.0 / sqrt((double)query_scalar));
done:
    return status;
}

static int read_experts(spec_model_config *ret, const family *of, const spec_json_values *config)
{
    int status = GSL_SUCCESS, step;
    spec_shape *shape = &ret->shape;
    const json_t *dense = json_object_get(config->object, "mlp_only_layers");
    const char *count = json_object_get(config->object, "num_experts") != NULL
                            ? "num_experts"
                            : "num_local_experts";
    bool norms;
    SPEC_TRY(spec_json_values_need(&shape->n_experts, config, count, SPEC_DIM_MAX));
    SPEC_TRY(
        spec_json_values_need(&shape->n_active, config, "num_experts_per_tok", shape->n_experts));
    shape->expert_dim = shape->ffn_dim;
    shape->ffn_dim = 0;
    if (ret->architecture->has_delta)
        SPEC_TRY(spec_json_values_need(&shape->ffn_dim, config, "shared_expert_intermediate_size",
                                       SPEC_DIM_MAX));
    if (ret->architecture->has_delta || !of->norms_experts)
        SPEC_TRY(spec_json_values_need(&shape->expert_dim, config, "moe_intermediate_size",
                                       SPEC_DIM_MAX));
    if (of->norms_experts) return GSL_SUCCESS;
    SPEC_TRY(spec_json_values_bool(&norms, config, "norm_topk_prob", ret->architecture->has_delta));
    if (!norms)
        return REFUSE(config, "'%s' is false; the weights of experts must sum to 1",
                      "norm_topk_prob");
    SPEC_TRY(spec_json_values_integer(&step, config, "decoder_sparse_step", 1, 1, INT_MAX));
    if (step != 1 || json_array_size(dense) > 0)
        return REFUSE(config, "'%s' gives some layers no experts, which is not supported",
                      step != 1 ? "decoder_sparse_step" : "mlp_only_layers");
done:
    return status;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* Reads which layers are recurrent, from a list, or from a period in which one layer is not. */
static int read_recurrent(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS, period;
    const int n = ret->shape.n_layers;
    const json_t *types = json_object_get(config->object, "layer_types");
    const bool is_listed = types != NULL && !json_is_null(types);
    SPEC_TRY(spec_json_values_integer(&period, config, "full_attention_interval", 4, 1,
                                      SPEC_LAYERS_MAX));
    if (is_listed && json_array_size(types) != (size_t)n)
        return spec_json_values_refuse(config, "layer_types", "a list of a type for each layer");
    for (int i = 0; i < n; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        const bool recurs = type != NULL && strcmp(type, "linear_attention") == 0;
        if (is_listed && !recurs && (type == NULL || strcmp(type, "full_attention") != 0))
            return REFUSE(config, "layer %d is of type '%.40s'; only %s are supported", i,
                          type != NULL ? type : "", "full_attention and linear_attention");
        ret->is_recurrent[i] = is_listed ? recurs : (i + 1) % period != 0;
        ret->shape.delta.n_layers += ret->is_recurrent[i];
    }
    if (ret->shape.delta.n_layers == 0)
        return REFUSE(config, "none of the %d layers is recurrent", n);
done:
    return status;
}

static int read_delta(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &ret->shape;
    spec_delta_shape *delta = &shape->delta;
    SPEC_TRY(read_recurrent(ret, config));
    shape->gates_attention = true;
    shape->rotated = shape->head_dim / 4;
    delta->is_tiled = ret->architecture->tiles_values;
    SPEC_TRY(spec_json_values_integer(&delta->kernel, config, "linear_conv_kernel_dim", 4, 1,
                                      SPEC_DELTA_KERNEL_MAX));
    SPEC_TRY(spec_json_values_integer(&delta->key_dim, config, "linear_key_head_dim", 128, 1,
                                      SPEC_HEAD_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&delta->value_dim, config, "linear_value_head_dim", 128, 1,
                                      SPEC_HEAD_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&delta->n_key_heads, config, "linear_num_key_heads", 16, 1,
                                      SPEC_DIM_MAX));
    SPEC_TRY(spec_json_values_integer(&delta->n_value_heads, config, "linear_num_value_heads", 32,
                                      1, SPEC_DIM_MAX));
done:
    return status;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Reads which layers have a window, from a list or a period; *ret_any: whether some do. */
static int read_layer_types(spec_model_config *ret, bool *ret_any, int period,
                            const spec_json_values *config)
{
    const int n = ret->shape.n_layers;
    const json_t *types = json_object_get(config->object, "layer_types");
    const bool is_listed = types != NULL && !json_is_null(types);
    *ret_any = false;
    if (is_listed && json_array_size(types) != (size_t)n)
        return spec_json_values_refuse(config, "layer_types", "a list of a type for each layer");
    for (int i = 0; i < n; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        const bool slides = type != NULL && strcmp(type, "sliding_attention") == 0;
        if (is_listed && !slides && (type == NULL || strcmp(type, "full_attention") != 0))
            return REFUSE(config, "layer %d is of type '%.40s'; only %s are supported", i,
                          type != NULL ? type : "", "full_attention and sliding_attention");
        ret->has_window[i] = is_listed ? slides : period > 0 && (i + 1) % period != 0;
        *ret_any = *ret_any || ret->has_window[i];
    }
    return GSL_SUCCESS;
}

/* Some families give a window that is not used. If all layers have it, we can shorten the context
 * instead, with the same effect. */
static int read_window(spec_model_config *ret, const family *of, const spec_json_values *config)
{
    int status = GSL_SUCCESS, window, period;
    bool is_used, any;
    spec_shape *shape = &ret->shape;
    SPEC_TRY(spec_json_values_integer(&window, config, "sliding_window", of->window, 0, INT_MAX));
    SPEC_TRY(spec_json_values_integer(&period, config, "sliding_window_pattern",
                                      ret->architecture->window_period, 0, SPEC_LAYERS_MAX));
    SPEC_TRY(read_layer_types(ret, &any, period, config));
    if (ret->architecture->window_period > 0) {
        if (any && window < 1) return REFUSE(config, "key '%s' is missing", "sliding_window");
        shape->window = any ? window : 0;
        return GSL_SUCCESS;
    }
    SPEC_TRY(spec_json_values_bool(&is_used, config, "use_sliding_window", !of->window_is_asked));
    memset(ret->has_window, 0, sizeof ret->has_window);
    if (json_is_array(json_object_get(config->object, "layer_types"))) is_used = is_used && any;
    if (!is_used || window < 2 || window >= shape->context) return GSL_SUCCESS;
    ret->cut_window = shape->context = window;
done:
    return status;
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* Finds a value in the text model's config, or else in the whole file. */
static const spec_json_values *holder(const spec_json_values *text, const spec_json_values *whole,
                                      const char *key)
{
    const json_t *value = json_object_get(text->object, key);
    return value != NULL && !json_is_null(value) ? text : whole;
}

static int read_rest(spec_model_config *ret, const family *of, const spec_json_values *text,
                     const spec_json_values *whole)
{
    int status = GSL_SUCCESS;
    const int vocab = ret->shape.vocab;
    SPEC_TRY(spec_json_values_bool(&ret->is_tied, holder(text, whole, "tie_word_embeddings"),
                                   "tie_word_embeddings", of->is_tied));
    SPEC_TRY(spec_json_values_integer(&ret->begin_of_text, holder(text, whole, "bos_token_id"),
                                      "bos_token_id", -1, -1, vocab - 1));
    SPEC_TRY(spec_model_config_ends(&ret->ends, holder(text, whole, "eos_token_id"), vocab));
    SPEC_TRY(spec_json_values_bool(&ret->has_biases, text, "attention_bias", of->has_biases));
    ret->begins = of->begins;
    ret->gains_minus_one = of->gains_minus_one;
done:
    return status;
}

/* Returns whether a model of this type also reads images, and has its text model in text_config. */
static bool is_wrapped(const char *type)
{
    return strcmp(type, "gemma3") == 0 || strcmp(type, "qwen3_5") == 0 ||
           strcmp(type, "qwen3_5_moe") == 0;
}

int spec_model_config_read(spec_model_config *ret, const spec_json_values *config)
{
    int status = GSL_SUCCESS;
    const family *of;
    spec_json_values text = *config;
    *ret = (spec_model_config){0};
    if (is_wrapped(spec_json_values_word(config->object, "model_type"))) {
        SPEC_TRY(spec_json_values_object(&text, config, "text_config"));
        if (text.object == NULL) SPEC_TRY(REFUSE(config, "key '%s' is missing", "text_config"));
    }
    SPEC_TRY(read_family(&of, &text));
    ret->architecture =
        spec_architecture_find((spec_piece){of->architecture, strlen(of->architecture)});
    SPEC_TRY(check_quantisation(of, config));
    SPEC_TRY(check_features(of, &text));
    SPEC_TRY(read_dimensions(ret, of, &text));
    if (ret->architecture->has_experts) SPEC_TRY(read_experts(ret, of, &text));
    if (ret->architecture->has_delta)
        SPEC_TRY(read_delta(ret, &text));
    else
        SPEC_TRY(read_window(ret, of, &text));
    SPEC_TRY(read_rest(ret, of, &text, config));
    ret->shape.rope.base = ret->shape.window_rope.base = of->base;
    SPEC_TRY(spec_checkpoint_check_shape(&ret->shape, config->path, config->error));
    if (of->scales_rope && json_object_get(text.object, "rope_scaling") == NULL &&
        json_object_get(text.object, "rope_parameters") == NULL)
        SPEC_TRY(REFUSE(config, "key '%s' is missing", "rope_scaling"));
    SPEC_TRY(spec_model_rope_read(&ret->shape, &ret->rope_factor, &text, of->base,
                                  ret->architecture->window_rope_base));
done:
    if (status != GSL_SUCCESS) spec_model_config_free(ret);
    return status;
}

void spec_model_config_free(spec_model_config *config)
{
    free(config->rope_factor);
    *config = (spec_model_config){0};
}
