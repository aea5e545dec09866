/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/checkpoint_parts.h"

#include <assert.h>

typedef enum { ONE, DIM, QUERIES, KEYS, FFN, VOCAB } width;

static const struct {
    const char *name;
    width rows, cols;
    size_t offset; /* in spec_checkpoint, or in spec_checkpoint_layer */
} table[SPEC_PARTS] = {
    [SPEC_PART_EMBEDDING] = {"token_embd.weight", VOCAB, DIM, offsetof(spec_checkpoint, embedding)},
    [SPEC_PART_FINAL_NORM] = {"output_norm.weight", ONE, DIM,
                              offsetof(spec_checkpoint, final_norm)},
    [SPEC_PART_OUTPUT] = {"output.weight", VOCAB, DIM, offsetof(spec_checkpoint, output)},
#define LAYER(name, rows, cols, member) {name, rows, cols, offsetof(spec_checkpoint_layer, member)}
    [SPEC_PART_ATTENTION_NORM] = LAYER("attn_norm.weight", ONE, DIM, attention_norm),
    [SPEC_PART_QUERY] = LAYER("attn_q.weight", QUERIES, DIM, query),
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
    case QUERIES: return shape->n_heads * shape->head_dim;
    case KEYS: return shape->n_kv_heads * shape->head_dim;
    case FFN: return shape->ffn_dim;
    case VOCAB: return shape->vocab;
    }
    return 0;
}

int spec_checkpoint_parts_copies(spec_part part, const spec_shape *shape)
{
    return of_layer(part) ? shape->n_layers : 1;
}

bool spec_checkpoint_parts_is_vector(spec_part part)
{
    return table[part].rows == ONE;
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

const char *spec_checkpoint_parts_name(char name[SPEC_PART_NAME_SIZE], spec_part part, int layer)
{
    if (of_layer(part)) snprintf(name, SPEC_PART_NAME_SIZE, "blk.%d.%s", layer, table[part].name);
    else snprintf(name, SPEC_PART_NAME_SIZE, "%s", table[part].name);
    return name;
}

spec_tensor_type spec_checkpoint_parts_converted(const spec_checkpoint *checkpoint)
{
    for (int part = 0; part < SPEC_PARTS; part++) {
        for (int layer = 0;
             layer < spec_checkpoint_parts_copies((spec_part)part, &checkpoint->shape); layer++) {
            const spec_tensor_type type =
                spec_checkpoint_parts_tensor_const((spec_part)part, checkpoint, layer)->type;
            if (spec_tensor_computed_type(type) != type) return type;
        }
    }
    return SPEC_TENSOR_TYPES;
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
            if (row < 0) continue;
            char name[SPEC_PART_NAME_SIZE];
            spec_checkpoint_parts_name(name, (spec_part)part, layer);
            if (tensor->type > SPEC_TENSOR_TYPES)
                return spec_fail(error, GSL_EINVAL,
                                 "%.300s: row %d of %s has a scale that is not below %d", path, row,
                                 name, SPEC_TENSOR_SCALE_END);
            return spec_fail(error, GSL_EINVAL,
                             "%.300s: row %d of %s has a weight that is not finite", path, row,
                             name);
        }
    }
    return GSL_SUCCESS;
}
