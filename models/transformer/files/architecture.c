/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/architecture.h"

#include <assert.h>

#define SET(part) (UINT64_C(1) << SPEC_PART_##part)

static const uint64_t attention = SET(EMBEDDING) | SET(FINAL_NORM) | SET(ATTENTION_NORM) |
                                  SET(QUERY) | SET(KEY) | SET(VALUE) | SET(ATTENTION_OUTPUT) |
                                  SET(FFN_NORM),
                      dense = SET(GATE) | SET(UP) | SET(DOWN),
                      experts = SET(ROUTER) | SET(EXPERT_GATE) | SET(EXPERT_UP) | SET(EXPERT_DOWN),
                      biases = SET(QUERY_BIAS) | SET(KEY_BIAS) | SET(VALUE_BIAS),
                      expert_biases = SET(ROUTER_BIAS) | SET(EXPERT_GATE_BIAS) |
                                      SET(EXPERT_UP_BIAS) | SET(EXPERT_DOWN_BIAS),
                      head_norms = SET(QUERY_NORM) | SET(KEY_NORM),
                      delta = SET(DELTA_INPUT) | SET(DELTA_GATE) | SET(DELTA_CONV) |
                              SET(DELTA_BIAS) | SET(DELTA_RATE) | SET(DELTA_NORM) |
                              SET(DELTA_OUTPUT),
                      shared = dense | SET(SHARED_GATE);

/* [Touvron23], [Qwen24], [Qwen25], [Gemma25], [OpenAI25], [Yang25] in docs/references.md */
const spec_architecture spec_architectures[] = {
    {.name = "llama",
     .rope_pairs = SPEC_ROPE_ADJACENT,
     .must = attention | dense,
     .may = SET(OUTPUT) | biases},
    {.name = "qwen2",
     .rope_pairs = SPEC_ROPE_HALVES,
     .must = attention | dense,
     .may = SET(OUTPUT) | biases},
    {.name = "qwen3",
     .rope_pairs = SPEC_ROPE_HALVES,
     .must = attention | dense | head_norms,
     .may = SET(OUTPUT)},
    {.name = "qwen3moe",
     .rope_pairs = SPEC_ROPE_HALVES,
     .has_experts = true,
     .must = attention | experts | head_norms,
     .may = SET(OUTPUT)},
    {.name = "gemma3",
     .rope_pairs = SPEC_ROPE_HALVES,
     .gate = SPEC_GATE_GELU,
     .scales_embedding = true,
     .window_period = 6,
     .window_rope_base = 10000.0,
     .layers_of_dim_scale = 62, /* gemma3 of 27B */
     .must = attention | dense | head_norms | SET(ATTENTION_POST_NORM) | SET(FFN_POST_NORM),
     .may = SET(OUTPUT)},
    {.name = "gpt-oss",
     .rope_pairs = SPEC_ROPE_HALVES,
     .gate = SPEC_GATE_CLAMPED,
     .window_period = 2,
     .needs_window = true,
     .yarn_keeps_fractions = true,
     .has_experts = true,
     .opt_ffn_norm_name = "post_attention_norm.weight",
     .must = attention | experts | biases | expert_biases | SET(SINKS) | SET(OUTPUT) |
             SET(ATTENTION_OUTPUT_BIAS)},
    {.name = "qwen3next",
     .rope_pairs = SPEC_ROPE_HALVES,
     .has_experts = true,
     .has_delta = true,
     .opt_ffn_norm_name = "post_attention_norm.weight",
     .must = attention | head_norms | delta | SET(DELTA_BOTH) | experts | shared,
     .may = SET(OUTPUT)},
    {.name = "qwen35",
     .rope_pairs = SPEC_ROPE_HALVES,
     .has_delta = true,
     .tiles_values = true,
     .opt_ffn_norm_name = "post_attention_norm.weight",
     .must = attention | head_norms | delta | SET(DELTA_BETA) | SET(DELTA_ALPHA) | dense,
     .may = SET(OUTPUT)},
    {.name = "qwen35moe",
     .rope_pairs = SPEC_ROPE_HALVES,
     .has_experts = true,
     .has_delta = true,
     .tiles_values = true,
     .opt_ffn_norm_name = "post_attention_norm.weight",
     .must = attention | head_norms | delta | SET(DELTA_BETA) | SET(DELTA_ALPHA) | experts | shared,
     .may = SET(OUTPUT)},
    {.name = NULL},
};

const spec_architecture *spec_architecture_find(spec_piece name)
{
    const spec_architecture *at = spec_architectures;
    while (at->name != NULL && !spec_piece_is(name, at->name)) at++;
    return at->name != NULL ? at : NULL;
}

const char *spec_architecture_names(char names[SPEC_ARCHITECTURE_NAMES_SIZE])
{
    size_t length = 0;
    for (const spec_architecture *at = spec_architectures; at->name != NULL; at++) {
        const char *before = at == spec_architectures ? "" : at[1].name != NULL ? ", " : " and ";
        length += (size_t)snprintf(names + length, SPEC_ARCHITECTURE_NAMES_SIZE - length, "%s%s",
                                   before, at->name);
        assert(length < SPEC_ARCHITECTURE_NAMES_SIZE);
    }
    return names;
}

const spec_architecture *spec_architecture_of(const spec_checkpoint *checkpoint)
{
    if (checkpoint->opt_architecture != NULL) return checkpoint->opt_architecture;
    const bool has_bias = checkpoint->layer[0].query_bias.data != NULL;
    return &spec_architectures[has_bias ? 1 : 0];
}

bool spec_architecture_must(const spec_architecture *architecture, spec_part part)
{
    return (architecture->must >> part & 1) != 0;
}

bool spec_architecture_may(const spec_architecture *architecture, spec_part part)
{
    return ((architecture->must | architecture->may) >> part & 1) != 0;
}

const char *spec_architecture_extra(const spec_checkpoint *checkpoint)
{
    const spec_shape *shape = &checkpoint->shape;
    if (shape->delta.n_layers > 0) return "recurrent layers";
    for (int i = 0; i < shape->n_layers; i++) {
        const spec_checkpoint_layer *layer = &checkpoint->layer[i];
        if (layer->query_norm.data != NULL || layer->key_norm.data != NULL) return "norms of heads";
        if (layer->sinks.data != NULL) return "attention sinks";
        if (layer->attention_output_bias.data != NULL) return "biases of attention's output";
        if (layer->attention_post_norm.data != NULL || layer->ffn_post_norm.data != NULL)
            return "norms behind its branches";
    }
    if (shape->n_experts > 0) return "experts";
    if (shape->window > 0) return "windows of attention";
    if (shape->gate != SPEC_GATE_SILU) return "another gate";
    if (shape->embedding_scale != 0.0f) return "scaled embeddings";
    if (shape->query_scale != 0.0f || shape->rope.magnitude != 0.0f) return "scaled queries";
    if (shape->logit_cap != 0.0f) return "capped logits";
    return NULL;
}

int spec_architecture_need_plain(const spec_checkpoint *checkpoint, const char *what,
                                 const char *instead, spec_error *error)
{
    const char *extra = spec_architecture_extra(checkpoint);
    if (extra == NULL) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "a model of architecture %s has %s, which %s does not compute: %s",
                     spec_architecture_of(checkpoint)->name, extra, what, instead);
}
