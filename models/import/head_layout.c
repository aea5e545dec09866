/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/head_layout.h"

/* How the names of tensors begin: in a layer, for fc, and in Medusa. */
static const char *const layers[] = {"midlayer.", "layers.0.", "transformer.", NULL};
static const char *const fusions[] = {"fc.", "fusion_fc.", NULL};
static const char *const depths[] = {"medusa_head.", "", NULL};
static const char *const nothing[] = {"", NULL};

static const struct {
    const char *const *before;
    const char *name; /* for Medusa: after "2." */
} parts[SPEC_HEAD_PARTS] = {
    [SPEC_HEAD_FC] = {fusions, "weight"},
    [SPEC_HEAD_FC_BIAS] = {fusions, "bias"},
    [SPEC_HEAD_LINEAR] = {depths, "0.linear.weight"},
    [SPEC_HEAD_LINEAR_BIAS] = {depths, "0.linear.bias"},
    [SPEC_HEAD_DEPTH_OUTPUT] = {depths, "1.weight"},
    [SPEC_HEAD_EMBEDDING_NORM] = {layers, "input_layernorm.weight"},
    [SPEC_HEAD_FEATURE_NORM] = {layers, "hidden_norm.weight"},
    [SPEC_HEAD_QUERY] = {layers, "self_attn.q_proj.weight"},
    [SPEC_HEAD_KEY] = {layers, "self_attn.k_proj.weight"},
    [SPEC_HEAD_VALUE] = {layers, "self_attn.v_proj.weight"},
    [SPEC_HEAD_ATTENTION_OUTPUT] = {layers, "self_attn.o_proj.weight"},
    [SPEC_HEAD_FFN_NORM] = {layers, "post_attention_layernorm.weight"},
    [SPEC_HEAD_GATE] = {layers, "mlp.gate_proj.weight"},
    [SPEC_HEAD_UP] = {layers, "mlp.up_proj.weight"},
    [SPEC_HEAD_DOWN] = {layers, "mlp.down_proj.weight"},
    [SPEC_HEAD_FINAL_NORM] = {nothing, "norm.weight"},
    [SPEC_HEAD_OUTPUT] = {nothing, "lm_head.weight"},
    [SPEC_HEAD_EMBEDDING] = {nothing, "embed_tokens.weight"},
    [SPEC_HEAD_INPUT_NORM] = {nothing, "input_norm.weight"},
};

/* Writes the name after its i-th beginning. */
static void write_name(char name[SPEC_HEAD_LAYOUT_NAME], spec_head_part part, int copy, int i)
{
    const char *before = parts[part].before[i], *rest = parts[part].name;
    if (parts[part].before == depths)
        snprintf(name, SPEC_HEAD_LAYOUT_NAME, "%s%d.%s", before, copy, rest);
    else
        snprintf(name, SPEC_HEAD_LAYOUT_NAME, "%s%s", before, rest);
}

static bool has(const spec_tensor_folder *folder, spec_head_part part, int copy)
{
    char name[SPEC_HEAD_LAYOUT_NAME];
    for (int i = 0; parts[part].before[i] != NULL; i++) {
        write_name(name, part, copy, i);
        if (spec_tensor_folder_look(folder, name) != NULL) return true;
    }
    return false;
}

int spec_head_layout_kind(const spec_tensor_folder *folder)
{
    if (spec_tensor_folder_look(folder, "model.embed_tokens.weight") != NULL) return -1;
    if (has(folder, SPEC_HEAD_LINEAR, 0)) return SPEC_HEAD_MEDUSA;
    if (!has(folder, SPEC_HEAD_FC, 0) || !has(folder, SPEC_HEAD_QUERY, 0)) return -1;
    return has(folder, SPEC_HEAD_FEATURE_NORM, 0) ? SPEC_HEAD_EAGLE3 : SPEC_HEAD_EAGLE;
}

int spec_head_layout_depths(const spec_tensor_folder *folder)
{
    int n = 0;
    while (has(folder, SPEC_HEAD_LINEAR, n)) n++;
    return n;
}

/* Returns whether the first head of Medusa has a tensor of its k-th module. */
static bool has_module(const spec_tensor_folder *folder, int k, const char *rest)
{
    char name[SPEC_HEAD_LAYOUT_NAME];
    for (int i = 0; depths[i] != NULL; i++) {
        snprintf(name, sizeof name, "%s0.%d.%s", depths[i], k, rest);
        if (spec_tensor_folder_look(folder, name) != NULL) return true;
    }
    return false;
}

int spec_head_layout_blocks(const spec_tensor_folder *folder)
{
    int n = 0;
    while (has_module(folder, n, "linear.weight")) n++;
    if (has_module(folder, n, "weight")) return n;
    for (int k = n + 1; k <= SPEC_HEAD_LAYOUT_BLOCKS; k++)
        if (has_module(folder, k, "weight")) return k;
    return n;
}

const char *spec_head_layout_name(char name[SPEC_HEAD_LAYOUT_NAME], spec_head_part part, int copy,
                                  const spec_tensor_folder *folder)
{
    for (int i = 0; parts[part].before[i] != NULL; i++) {
        write_name(name, part, copy, i);
        if (spec_tensor_folder_look(folder, name) != NULL) return name;
    }
    write_name(name, part, copy, 0);
    return name;
}
