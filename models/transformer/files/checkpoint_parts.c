/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/checkpoint_parts.h"

#include <assert.h>

typedef enum {
    ONE,
    DIM,
    HEAD,
    HEADS,
    QUERIES,
    QUERY_ROWS,
    KEYS,
    FFN,
    VOCAB,
    EXPERTS,
    EXPERT,
    ALL_EXPERTS,
    EXPERTS_OUTPUT,
    CHANNELS,
    KERNEL,
    RECURRENT_HEADS,
    RECURRENT_HEADS_TWICE,
    RECURRENT_HEAD,
    RECURRENT_VALUES
} width;

static const struct {
    const char *name;
    width rows, cols;
    size_t offset; /* of the tensor in spec_checkpoint or spec_checkpoint_layer */
} table[SPEC_PARTS] = {
    [SPEC_PART_EMBEDDING] = {"token_embd.weight", VOCAB, DIM, offsetof(spec_checkpoint, embedding)},
    [SPEC_PART_FINAL_NORM] = {"output_norm.weight", ONE, DIM,
                              offsetof(spec_checkpoint, final_norm)},
    [SPEC_PART_OUTPUT] = {"output.weight", VOCAB, DIM, offsetof(spec_checkpoint, output)},
#define LAYER(name, rows, cols, member)                                                            \
    {                                                                                              \
        name, rows, cols, offsetof(spec_checkpoint_layer, member)                                  \
    }
    [SPEC_PART_ATTENTION_NORM] = LAYER("attn_norm.weight", ONE, DIM, attention_norm),
    [SPEC_PART_QUERY] = LAYER("attn_q.weight", QUERY_ROWS, DIM, query),
    [SPEC_PART_KEY] = LAYER("attn_k.weight", KEYS, DIM, key),
    [SPEC_PART_VALUE] = LAYER("attn_v.weight", KEYS, DIM, value),
    [SPEC_PART_QUERY_BIAS] = LAYER("attn_q.bias", ONE, QUERIES, query_bias),
    [SPEC_PART_KEY_BIAS] = LAYER("attn_k.bias", ONE, KEYS, key_bias),
    [SPEC_PART_VALUE_BIAS] = LAYER("attn_v.bias", ONE, KEYS, value_bias),
    [SPEC_PART_ATTENTION_OUTPUT] = LAYER("attn_output.weight", DIM, QUERIES, attention_output),
    [SPEC_PART_FFN_NORM] = LAYER("ffn_norm.weight", ONE, DIM, ffn_norm),
    [SPEC_PART_GATE] = LAYER("ffn_gate.weight", FFN, DIM, gate),
    [SPEC_PART_UP] = LAYER("ffn_up.weight", FFN, DIM, up),
    [SPEC_PART_DOWN] = LAYER("ffn_down.weight", DIM, FFN, down),
    [SPEC_PART_QUERY_NORM] = LAYER("attn_q_norm.weight", ONE, HEAD, query_norm),
    [SPEC_PART_KEY_NORM] = LAYER("attn_k_norm.weight", ONE, HEAD, key_norm),
    [SPEC_PART_SINKS] = LAYER("attn_sinks.weight", ONE, HEADS, sinks),
    [SPEC_PART_ATTENTION_OUTPUT_BIAS] = LAYER("attn_output.bias", ONE, DIM, attention_output_bias),
    [SPEC_PART_ATTENTION_POST_NORM] =
        LAYER("post_attention_norm.weight", ONE, DIM, attention_post_norm),
    [SPEC_PART_FFN_POST_NORM] = LAYER("post_ffw_norm.weight", ONE, DIM, ffn_post_norm),
    [SPEC_PART_ROUTER] = LAYER("ffn_gate_inp.weight", EXPERTS, DIM, router),
    [SPEC_PART_ROUTER_BIAS] = LAYER("ffn_gate_inp.bias", ONE, EXPERTS, router_bias),
    [SPEC_PART_EXPERT_GATE] = LAYER("ffn_gate_exps.weight", ALL_EXPERTS, DIM, expert_gate),
    [SPEC_PART_EXPERT_UP] = LAYER("ffn_up_exps.weight", ALL_EXPERTS, DIM, expert_up),
    [SPEC_PART_EXPERT_DOWN] = LAYER("ffn_down_exps.weight", EXPERTS_OUTPUT, EXPERT, expert_down),
    [SPEC_PART_EXPERT_GATE_BIAS] = LAYER("ffn_gate_exps.bias", EXPERTS, EXPERT, expert_gate_bias),
    [SPEC_PART_EXPERT_UP_BIAS] = LAYER("ffn_up_exps.bias", EXPERTS, EXPERT, expert_up_bias),
    [SPEC_PART_EXPERT_DOWN_BIAS] = LAYER("ffn_down_exps.bias", EXPERTS, DIM, expert_down_bias),
    [SPEC_PART_DELTA_INPUT] = LAYER("attn_qkv.weight", CHANNELS, DIM, delta_input),
    [SPEC_PART_DELTA_GATE] = LAYER("attn_gate.weight", RECURRENT_VALUES, DIM, delta_gate),
    [SPEC_PART_DELTA_BETA] = LAYER("ssm_beta.weight", RECURRENT_HEADS, DIM, delta_beta),
    [SPEC_PART_DELTA_ALPHA] = LAYER("ssm_alpha.weight", RECURRENT_HEADS, DIM, delta_alpha),
    [SPEC_PART_DELTA_BOTH] = LAYER("ssm_ba.weight", RECURRENT_HEADS_TWICE, DIM, delta_both),
    [SPEC_PART_DELTA_CONV] = LAYER("ssm_conv1d.weight", CHANNELS, KERNEL, delta_conv),
    [SPEC_PART_DELTA_BIAS] = LAYER("ssm_dt.bias", ONE, RECURRENT_HEADS, delta_bias),
    [SPEC_PART_DELTA_RATE] = LAYER("ssm_a", ONE, RECURRENT_HEADS, delta_rate),
    [SPEC_PART_DELTA_NORM] = LAYER("ssm_norm.weight", ONE, RECURRENT_HEAD, delta_norm),
    [SPEC_PART_DELTA_OUTPUT] = LAYER("ssm_out.weight", DIM, RECURRENT_VALUES, delta_output),
    [SPEC_PART_SHARED_GATE] = LAYER("ffn_gate_inp_shexp.weight", ONE, DIM, shared_gate),
#undef LAYER
};

static bool of_layer(spec_part part)
{
    return part >= SPEC_PART_ATTENTION_NORM;
}

static int width_of(width what, const spec_shape *shape)
{
    switch (what) {
    case ONE: return 1;
    case DIM: return shape->dim;
    case HEAD: return shape->head_dim;
    case HEADS: return shape->n_heads;
    case QUERIES: return shape->n_heads * shape->head_dim;
    case QUERY_ROWS: return (shape->gates_attention ? 2 : 1) * shape->n_heads * shape->head_dim;
    case KEYS: return shape->n_kv_heads * shape->head_dim;
    case FFN: return shape->ffn_dim;
    case VOCAB: return shape->vocab;
    case EXPERTS: return shape->n_experts;
    case EXPERT: return shape->expert_dim;
    case ALL_EXPERTS: return shape->n_experts * shape->expert_dim;
    case EXPERTS_OUTPUT: return shape->n_experts * shape->dim;
    case CHANNELS: return spec_checkpoint_channels(&shape->delta);
    case KERNEL: return shape->delta.kernel;
    case RECURRENT_HEADS: return shape->delta.n_value_heads;
    case RECURRENT_HEADS_TWICE: return 2 * shape->delta.n_value_heads;
    case RECURRENT_HEAD: return shape->delta.value_dim;
    case RECURRENT_VALUES: return shape->delta.n_value_heads * shape->delta.value_dim;
    }
    return 0;
}

static bool of_experts(spec_part part)
{
    return part >= SPEC_PART_ROUTER && part <= SPEC_PART_EXPERT_DOWN_BIAS;
}

static bool of_dense_ffn(spec_part part)
{
    return part >= SPEC_PART_GATE && part <= SPEC_PART_DOWN;
}

static bool of_delta(spec_part part)
{
    return part >= SPEC_PART_DELTA_INPUT && part <= SPEC_PART_DELTA_OUTPUT;
}

bool spec_checkpoint_parts_in_layer(spec_part part, bool is_recurrent)
{
    switch (part) {
    case SPEC_PART_QUERY:
    case SPEC_PART_KEY:
    case SPEC_PART_VALUE:
    case SPEC_PART_QUERY_BIAS:
    case SPEC_PART_KEY_BIAS:
    case SPEC_PART_VALUE_BIAS:
    case SPEC_PART_QUERY_NORM:
    case SPEC_PART_KEY_NORM:
    case SPEC_PART_SINKS:
    case SPEC_PART_ATTENTION_OUTPUT:
    case SPEC_PART_ATTENTION_OUTPUT_BIAS: return !is_recurrent;
    default: return is_recurrent || !of_delta(part);
    }
}

int spec_checkpoint_parts_copies(spec_part part, const spec_shape *shape)
{
    if (shape->n_experts == 0 ? of_experts(part) : of_dense_ffn(part) && shape->ffn_dim == 0)
        return 0;
    if (of_delta(part) && shape->delta.n_layers == 0) return 0;
    return of_layer(part) ? shape->n_layers : 1;
}

bool spec_checkpoint_parts_is_vector(spec_part part)
{
    return table[part].rows == ONE || part == SPEC_PART_DELTA_CONV ||
           (part >= SPEC_PART_EXPERT_GATE_BIAS && part <= SPEC_PART_EXPERT_DOWN_BIAS);
}

bool spec_checkpoint_parts_stacked(spec_part part)
{
    return table[part].rows == ALL_EXPERTS || table[part].rows == EXPERTS_OUTPUT;
}

bool spec_checkpoint_parts_stays_float(spec_part part)
{
    return part == SPEC_PART_ROUTER || spec_checkpoint_parts_is_vector(part);
}

void spec_checkpoint_parts_shape(int *ret_rows, int *ret_cols, spec_part part,
                                 const spec_shape *shape)
{
    *ret_rows = width_of(table[part].rows, shape);
    *ret_cols = width_of(table[part].cols, shape);
}

const spec_tensor *spec_checkpoint_parts_tensor_const(spec_part part,
                                                      const spec_checkpoint *checkpoint, int layer)
{
    assert(layer >= 0 && layer < spec_checkpoint_parts_copies(part, &checkpoint->shape));
    const char *base =
        of_layer(part) ? (const char *)&checkpoint->layer[layer] : (const char *)checkpoint;
    return (const spec_tensor *)(const void *)(base + table[part].offset);
}

spec_tensor *spec_checkpoint_parts_tensor(spec_part part, spec_checkpoint *checkpoint, int layer)
{
    assert(layer >= 0 && layer < spec_checkpoint_parts_copies(part, &checkpoint->shape));
    char *base = of_layer(part) ? (char *)&checkpoint->layer[layer] : (char *)checkpoint;
    return (spec_tensor *)(void *)(base + table[part].offset);
}

const char *spec_checkpoint_parts_name(char name[SPEC_PART_NAME_SIZE], spec_part part, int layer,
                                       const spec_architecture *opt_architecture)
{
    static const char *const shared[] = {"ffn_gate_shexp.weight", "ffn_up_shexp.weight",
                                         "ffn_down_shexp.weight"};
    const char *rest = table[part].name;
    if (part == SPEC_PART_FFN_NORM && opt_architecture != NULL &&
        opt_architecture->opt_ffn_norm_name != NULL)
        rest = opt_architecture->opt_ffn_norm_name;
    if (of_dense_ffn(part) && opt_architecture != NULL && opt_architecture->has_experts)
        rest = shared[part - SPEC_PART_GATE];
    if (of_layer(part))
        snprintf(name, SPEC_PART_NAME_SIZE, "blk.%d.%s", layer, rest);
    else
        snprintf(name, SPEC_PART_NAME_SIZE, "%s", rest);
    return name;
}

int spec_checkpoint_parts_check_layer(const spec_checkpoint_layer *layer, int block,
                                      const char *path, spec_error *error)
{
    const bool has = layer->query_bias.data != NULL;
    if (has == (layer->key_bias.data != NULL) && has == (layer->value_bias.data != NULL))
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: block %d has some of the biases of query, key and value, but not all",
                     path, block);
}

int spec_checkpoint_parts_check(const spec_checkpoint *checkpoint, const char *path,
                                spec_error *error)
{
    for (int part = 0; part < SPEC_PARTS; part++) {
        for (int layer = 0;
             layer < spec_checkpoint_parts_copies((spec_part)part, &checkpoint->shape); layer++) {
            const spec_tensor *tensor =
                spec_checkpoint_parts_tensor_const((spec_part)part, checkpoint, layer);
            if (part == SPEC_PART_OUTPUT && tensor->data == checkpoint->embedding.data) continue;
            const int row =
                tensor->data != NULL ? spec_tensor_first_bad_row(tensor, checkpoint->opt_pool) : -1;
            spec_mapping_release(checkpoint->opt_mapping);
            if (row < 0) continue;
            char name[SPEC_PART_NAME_SIZE];
            spec_checkpoint_parts_name(name, (spec_part)part, layer, checkpoint->opt_architecture);
            if (spec_tensor_scale_end(tensor->type) > 0)
                return spec_fail(error, GSL_EINVAL,
                                 "%.300s: row %d of %s has a scale that is not below %d", path, row,
                                 name, spec_tensor_scale_end(tensor->type));
            return spec_fail(error, GSL_EINVAL,
                             "%.300s: row %d of %s has a weight that is not finite", path, row,
                             name);
        }
    }
    return GSL_SUCCESS;
}
