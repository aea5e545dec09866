/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_attention.h"

#include "models/transformer/files/gguf_value.h"
#include "models/transformer/files/rope_scaling.h"
#include "speclab/no_memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    spec_checkpoint *to;
    const spec_architecture *architecture;
    spec_gguf_keys *keys;
} reader;

#define REFUSE(read, format, ...) SPEC_GGUF_KEYS_REFUSE((read)->keys, format, __VA_ARGS__)

static int integer(int *ret_value, const reader *read, const char *rest, int fallback, int low)
{
    return spec_gguf_keys_integer(ret_value, read->keys, rest, fallback, low, INT_MAX);
}

static int real(double *ret_value, const reader *read, const char *rest, double fallback)
{
    return spec_gguf_keys_real(ret_value, read->keys, rest, fallback);
}

/* Reads a scale, which must not be negative; 0 if the file has none. */
static int scale(float *ret_value, const reader *read, const char *rest)
{
    double value;
    const int status = real(&value, read, rest, 0.0);
    *ret_value = (float)value;
    if (status != GSL_SUCCESS) return status;
    if (value < 0.0 || !isfinite(*ret_value))
        return REFUSE(read, "'%s' is %g, not a number above 0", read->keys->key, value);
    return GSL_SUCCESS;
}

static int read_scales(const reader *read)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &read->to->shape;
    float score_cap;
    SPEC_TRY(scale(&shape->logit_cap, read, "final_logit_softcapping"));
    SPEC_TRY(scale(&score_cap, read, "attn_logit_softcapping"));
    if (score_cap != 0.0f)
        SPEC_TRY(REFUSE(read, "attention with scores capped at %g cannot be computed",
                        (double)score_cap));
    SPEC_TRY(scale(&shape->query_scale, read, "attention.scale"));
    if (shape->query_scale == 0.0f && read->architecture->layers_of_dim_scale == shape->n_layers)
        shape->query_scale = (float)(1.0 / sqrt(shape->dim / shape->n_heads));
    if (read->architecture->scales_embedding) shape->embedding_scale = sqrtf((float)shape->dim);
done:
    return status;
}

static void set_period(spec_checkpoint *to, int period)
{
    for (int i = 0; i < to->shape.n_layers; i++) to->layer[i].has_window = i % period != period - 1;
}

static int set_pattern(const reader *read, const char *name)
{
    int status = GSL_SUCCESS;
    bool *has_window = NULL;
    size_t n;
    SPEC_TRY(spec_gguf_value_flags(&has_window, &n, read->keys->gguf, name, read->keys->error));
    if (n != (size_t)read->to->shape.n_layers)
        SPEC_TRY(REFUSE(read, "'%s' is about %zu layers, not about %d", name, n,
                        read->to->shape.n_layers));
    for (size_t i = 0; i < n; i++) read->to->layer[i].has_window = has_window[i];
done:
    free(has_window);
    return status;
}

/* Reads which layers have a window, from a list or a period in which one layer has none. */
static int read_pattern(const reader *read)
{
    int status = GSL_SUCCESS, period;
    static const char rest[] = "attention.sliding_window_pattern";
    const char *name = spec_gguf_keys_name(read->keys, rest);
    const spec_gguf_value *value = spec_gguf_value_find(read->keys->gguf, name);
    if (value != NULL && value->is_array) return set_pattern(read, name);
    SPEC_TRY(integer(&period, read, rest, read->architecture->window_period, 1));
    set_period(read->to, period);
done:
    return status;
}

static int read_windows(const reader *read)
{
    static const char rest[] = "attention.sliding_window";
    int status = GSL_SUCCESS, window;
    spec_shape *shape = &read->to->shape;
    bool is_used = false;
    const bool needs = read->architecture->needs_window;
    if (needs)
        SPEC_TRY(spec_gguf_keys_need(&window, read->keys, rest, 1, INT_MAX));
    else
        SPEC_TRY(integer(&window, read, rest, 0, 0));
    if (window == 0) return status;
    if (read->architecture->window_period == 0) {
        if (window < shape->context)
            SPEC_TRY(REFUSE(
                read, "attention through a sliding window of %d tokens is not supported", window));
        return status;
    }
    SPEC_TRY(read_pattern(read));
    for (int i = 0; i < shape->n_layers; i++) is_used = is_used || read->to->layer[i].has_window;
    shape->window = is_used ? window : 0;
done:
    return status;
}

/* The values that scale a rotary embedding. */
typedef struct {
    double linear;                       /* 1: none */
    spec_yarn yarn;                      /* factor 0: none */
    const spec_gguf_tensor *opt_factors; /* (head_dim/2) */
    double magnitude;                    /* in addition to YaRN's; 1: none */
} scaling;

static int read_yarn(const reader *read, scaling *ret, double factor)
{
    int status = GSL_SUCCESS;
    double mixed;
    spec_yarn *yarn = &ret->yarn;
    *yarn =
        (spec_yarn){.factor = factor, .keeps_fractions = read->architecture->yarn_keeps_fractions};
    SPEC_TRY(integer(&yarn->context, read, "rope.scaling.original_context_length",
                     read->to->shape.context, 1));
    SPEC_TRY(real(&yarn->fast, read, "rope.scaling.yarn_beta_fast", SPEC_YARN_FAST));
    SPEC_TRY(real(&yarn->slow, read, "rope.scaling.yarn_beta_slow", SPEC_YARN_SLOW));
    SPEC_TRY(real(&yarn->opt_magnitude, read, "rope.scaling.yarn_attn_factor", 0.0));
    SPEC_TRY(real(&mixed, read, "rope.scaling.yarn_ext_factor", 1.0));
    if (mixed != 1.0)
        SPEC_TRY(
            REFUSE(read, "YaRN with an extrapolation of %g is not supported; only 1 is", mixed));
    SPEC_TRY(spec_rope_scaling_check(yarn, read->keys->gguf->path, read->keys->error));
done:
    return status;
}

static int read_scaling(const reader *read, scaling *ret)
{
    int status = GSL_SUCCESS;
    const int n = spec_checkpoint_rotated(&read->to->shape) / 2;
    double factor;
    spec_piece type;
    *ret = (scaling){.linear = 1.0};
    SPEC_TRY(real(&factor, read, "rope.scale_linear", 1.0));
    SPEC_TRY(real(&factor, read, "rope.scaling.factor", factor));
    SPEC_TRY(real(&ret->magnitude, read, "rope.scaling.attn_factor", 1.0));
    SPEC_TRY(spec_gguf_keys_text(&type, read->keys, "rope.scaling.type",
                                 factor != 1.0 ? "linear" : "none"));
    if (spec_piece_is(type, "yarn"))
        SPEC_TRY(read_yarn(read, ret, factor));
    else if (spec_piece_is(type, "linear"))
        ret->linear = factor;
    else if (!spec_piece_is(type, "none"))
        SPEC_TRY(REFUSE(read,
                        "rope scaling of type '%.*s' is not supported; none, linear and yarn are",
                        SPEC_GGUF_SHOWN(type)));
    if (!(ret->magnitude > 0.0 && isfinite(ret->magnitude)))
        SPEC_TRY(REFUSE(read, "'%s' is %g, not a number above 0",
                        spec_gguf_keys_name(read->keys, "rope.scaling.attn_factor"),
                        ret->magnitude));
    ret->opt_factors = spec_gguf_find_tensor(read->keys->gguf, SPEC_GGUF_ROPE_FACTORS);
    if (ret->opt_factors != NULL) {
        const spec_tensor *tensor = &ret->opt_factors->tensor;
        if (tensor->type != SPEC_TENSOR_F32 || tensor->rows != 1 || tensor->cols != n)
            SPEC_TRY(REFUSE(read, "tensor '%s' is not %d weights of type f32",
                            SPEC_GGUF_ROPE_FACTORS, n));
    }
done:
    return status;
}

/* Makes `factor` (head_dim/2) the factors of the rope, if the scaling changes anything. */
static void apply(spec_rope *rope, float *factor, const scaling *by, int head_dim)
{
    double magnitude = by->magnitude;
    for (int i = 0; i < head_dim / 2; i++) factor[i] = 1.0f;
    if (by->opt_factors != NULL) spec_tensor_decode_row(factor, &by->opt_factors->tensor, 0);
    for (int i = 0; i < head_dim / 2; i++) factor[i] *= (float)by->linear;
    rope->yarn = by->yarn;
    if (by->yarn.factor != 0.0)
        magnitude *= spec_rope_scaling_yarn(factor, &by->yarn, rope->base, head_dim);
    if (by->opt_factors != NULL || by->linear != 1.0 || by->yarn.factor != 0.0)
        rope->opt_factor = factor;
    rope->magnitude = magnitude != 1.0 ? (float)magnitude : 0.0f;
}

static int read_ropes(const reader *read, float **ret_factors)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &read->to->shape;
    const int head_dim = spec_checkpoint_rotated(shape);
    const double own_base = read->architecture->window_rope_base;
    scaling of, of_window;
    SPEC_TRY(real(&shape->window_rope.base, read, "rope.freq_base_swa",
                  own_base != 0.0 ? own_base : shape->rope.base));
    SPEC_TRY(spec_checkpoint_check_shape(shape, read->keys->gguf->path,
                                         read->keys->error)); /* the logarithms below need this */
    SPEC_TRY(read_scaling(read, &of));
    of_window = own_base != 0.0 ? (scaling){.linear = 1.0, .magnitude = of.magnitude} : of;
    float *factors = *ret_factors = malloc((size_t)head_dim * sizeof *factors);
    if (factors == NULL) SPEC_TRY(spec_no_memory_for(read->keys->error, read->keys->gguf->path));
    apply(&shape->rope, factors, &of, head_dim);
    apply(&shape->window_rope, factors + head_dim / 2, &of_window, head_dim);
    if (shape->window == 0) shape->window_rope = (spec_rope){0};
    SPEC_TRY(spec_checkpoint_check_shape(shape, read->keys->gguf->path, read->keys->error));
done:
    return status;
}

int spec_gguf_attention_read_heads(spec_shape *shape, bool partial, spec_gguf_keys *keys)
{
    int status = GSL_SUCCESS, values, rotated;
    static const char eps_key[] = "attention.layer_norm_rms_epsilon";
    double eps;
    SPEC_TRY(spec_gguf_keys_need(&shape->n_heads, keys, "attention.head_count", 1, SPEC_DIM_MAX));
    SPEC_TRY(spec_gguf_keys_integer(&shape->n_kv_heads, keys, "attention.head_count_kv",
                                    shape->n_heads, 0, INT_MAX));
    SPEC_TRY(spec_gguf_keys_integer(&shape->head_dim, keys, "attention.key_length",
                                    shape->dim / shape->n_heads, 0, INT_MAX));
    SPEC_TRY(spec_gguf_keys_integer(&values, keys, "attention.value_length", shape->head_dim, 0,
                                    INT_MAX));
    SPEC_TRY(spec_gguf_keys_integer(&rotated, keys, "rope.dimension_count", shape->head_dim, 0,
                                    INT_MAX));
    SPEC_TRY(spec_gguf_keys_real(&shape->rope.base, keys, "rope.freq_base", 10000.0));
    if (values != shape->head_dim)
        return SPEC_GGUF_KEYS_REFUSE(keys,
                                     "keys of width %d and values of width %d are not supported",
                                     shape->head_dim, values);
    shape->rotated = rotated != shape->head_dim ? rotated : 0;
    if (shape->rotated != 0 && !partial)
        return SPEC_GGUF_KEYS_REFUSE(
            keys, "a rotary embedding of %d of the %d dimensions of a head is not supported",
            rotated, shape->head_dim);
    if (shape->norm_eps < 0.0f && !spec_gguf_keys_has(keys, eps_key))
        return SPEC_GGUF_KEYS_REFUSE(keys, "key '%s' is missing", keys->key);
    SPEC_TRY(spec_gguf_keys_real(&eps, keys, eps_key, (double)shape->norm_eps));
    shape->norm_eps = (float)eps;
done:
    return status;
}

int spec_gguf_attention_read(spec_checkpoint *to, float **ret_factors, spec_gguf_keys *keys)
{
    int status = GSL_SUCCESS;
    const reader read = {to, to->opt_architecture, keys};
    *ret_factors = NULL;
    SPEC_TRY(read_scales(&read));
    SPEC_TRY(read_windows(&read));
    SPEC_TRY(read_ropes(&read, ret_factors));
done:
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct {
    spec_gguf_writer *writer;
    const spec_architecture *architecture;
    spec_gguf_keys keys; /* used only for the names of keys */
} target;

static const char *key_of(target *to, const char *rest)
{
    return spec_gguf_keys_name(&to->keys, rest);
}

static void write_real(target *to, const char *rest, double value)
{
    spec_gguf_writer_f32(to->writer, key_of(to, rest), (float)value);
}

static void write_integer(target *to, const char *rest, int value)
{
    spec_gguf_writer_u32(to->writer, key_of(to, rest), (uint32_t)value);
}

static void write_windows(target *to, const spec_checkpoint *from)
{
    const int n = from->shape.n_layers, period = to->architecture->window_period;
    bool has_window[SPEC_LAYERS_MAX], is_usual = true;
    if (from->shape.window == 0) return;
    write_integer(to, "attention.sliding_window", from->shape.window);
    for (int i = 0; i < n; i++) {
        has_window[i] = from->layer[i].has_window;
        is_usual = is_usual && period > 0 && has_window[i] == (i % period != period - 1);
    }
    if (!is_usual)
        spec_gguf_writer_bools(to->writer, key_of(to, "attention.sliding_window_pattern"),
                               has_window, (size_t)n);
    if (to->architecture->window_rope_base != 0.0 ||
        from->shape.window_rope.base != from->shape.rope.base)
        write_real(to, "rope.freq_base_swa", from->shape.window_rope.base);
}

static void write_yarn(target *to, const spec_yarn *yarn)
{
    spec_gguf_writer_text(to->writer, key_of(to, "rope.scaling.type"), "yarn");
    write_real(to, "rope.scaling.factor", yarn->factor);
    write_integer(to, "rope.scaling.original_context_length", yarn->context);
    if (yarn->fast != SPEC_YARN_FAST) write_real(to, "rope.scaling.yarn_beta_fast", yarn->fast);
    if (yarn->slow != SPEC_YARN_SLOW) write_real(to, "rope.scaling.yarn_beta_slow", yarn->slow);
    if (yarn->opt_magnitude != 0.0)
        write_real(to, "rope.scaling.yarn_attn_factor", yarn->opt_magnitude);
}

/* Writes linear scaling as values, which llama.cpp reads for every architecture; other factors
 * become a tensor. */
static void write_scaling(target *to, bool *ret_has_tensor, const spec_shape *shape)
{
    const float *factor = shape->rope.opt_factor;
    bool differ = false;
    *ret_has_tensor = false;
    if (shape->rope.yarn.factor != 0.0) {
        write_yarn(to, &shape->rope.yarn);
        return;
    }
    if (factor == NULL) return;
    const int n = spec_checkpoint_rotated(shape) / 2;
    for (int i = 1; i < n; i++) differ = differ || factor[i] != factor[0];
    if (differ) {
        *ret_has_tensor = true;
        spec_gguf_writer_tensor(to->writer, SPEC_GGUF_ROPE_FACTORS, SPEC_TENSOR_F32, 1, n);
        return;
    }
    spec_gguf_writer_text(to->writer, key_of(to, "rope.scaling.type"), "linear");
    write_real(to, "rope.scaling.factor", (double)factor[0]);
}

void spec_gguf_attention_write(spec_gguf_writer *writer, bool *ret_has_tensor,
                               const spec_checkpoint *from)
{
    const spec_shape *shape = &from->shape;
    const spec_architecture *architecture = spec_architecture_of(from);
    target to = {writer, architecture, {.architecture = architecture->name}};
    if (shape->query_scale != 0.0f) write_real(&to, "attention.scale", (double)shape->query_scale);
    if (shape->logit_cap != 0.0f)
        write_real(&to, "final_logit_softcapping", (double)shape->logit_cap);
    write_windows(&to, from);
    write_scaling(&to, ret_has_tensor, shape);
}
