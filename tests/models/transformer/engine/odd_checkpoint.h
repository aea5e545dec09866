/* SPDX-License-Identifier: GPL-3.0-or-later */
/* odd_checkpoint: random checkpoints of odd shapes, in every type of weights.
 * spec_checkpoint_free frees them. */
#ifndef SPECLAB_TESTS_ODD_CHECKPOINT_H
#define SPECLAB_TESTS_ODD_CHECKPOINT_H

#include "models/transformer/files/architecture.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    spec_shape shape;
    bool biased, tied;
    bool biased_experts;
    int recurrent_period; /* one layer in this many is not recurrent; 0: none is */
    bool mixes_beta;      /* delta_both */
    bool normed_heads, sinks, post_norms, biased_output;
    int window_period;   /* one layer in this many has no window; 0: none has a window */
    double expert_scale; /* factor on the weights of gate and up; 0: 1 */
} odd_form;

static const float odd_factor[] = {1.0f, 1.5f, 2.75f, 8.0f};

/* Forms with adjacent pairs and halves, GQA, heads wider than the model, biases, factors. The first
 * two only as floats, since their rows are not a multiple of a block. */
static const odd_form odd_forms[] = {
    {{.dim = 40,
      .n_layers = 3,
      .n_heads = 5,
      .n_kv_heads = 1,
      .head_dim = 8,
      .ffn_dim = 33,
      .vocab = 51,
      .context = 600,
      .norm_eps = 1e-5f,
      .rope.base = 10000.0,
      .rope_pairs = SPEC_ROPE_ADJACENT,
      .rope.opt_factor = odd_factor},
     .tied = true},
    {{.dim = 54,
      .n_layers = 2,
      .n_heads = 9,
      .n_kv_heads = 3,
      .head_dim = 6,
      .ffn_dim = 17,
      .vocab = 19,
      .context = 600,
      .norm_eps = 1e-3f,
      .rope.base = 500.0,
      .rope_pairs = SPEC_ROPE_HALVES},
     .biased = true},
    {{.dim = 64,
      .n_layers = 3,
      .n_heads = 4,
      .n_kv_heads = 2,
      .head_dim = 24,
      .ffn_dim = 96,
      .vocab = 75,
      .context = 600,
      .norm_eps = 1e-6f,
      .rope.base = 1e6,
      .rope_pairs = SPEC_ROPE_HALVES},
     .biased = true},
    {{.dim = 96,
      .n_layers = 4,
      .n_heads = 4,
      .n_kv_heads = 4,
      .head_dim = 8,
      .ffn_dim = 160,
      .vocab = 130,
      .context = 600,
      .norm_eps = 1e-5f,
      .rope.base = 10000.0,
      .rope_pairs = SPEC_ROPE_ADJACENT,
      .rope.opt_factor = odd_factor},
     .tied = true},
};

enum { ODD_FORMS = sizeof odd_forms / sizeof *odd_forms };

/* Forms with everything that qwen3, gemma3 and gpt-oss have in addition to llama, and with heads of
 * 80. */
static const float odd_yarn[] = {1.0f, 1.0f, 1.27f, 1.5f, 2.1f, 3.0f, 5.0f, 8.0f, 8.0f, 8.0f};
static const odd_form odd_architectures[] = {
    {{.dim = 64,
      .n_layers = 4,
      .n_heads = 8,
      .n_kv_heads = 2,
      .head_dim = 20,
      .ffn_dim = 96,
      .vocab = 75,
      .context = 600,
      .norm_eps = 1e-3f,
      .rope = {.base = 1e4, .opt_factor = odd_yarn, .magnitude = 1.27f},
      .rope_pairs = SPEC_ROPE_HALVES,
      .window = 13,
      .window_rope.base = 500.0,
      .gate = SPEC_GATE_GELU,
      .embedding_scale = 2.385f,
      .query_scale = 0.31f,
      .logit_cap = 2.7f},
     .biased = true,
     .normed_heads = true,
     .sinks = true,
     .post_norms = true,
     .biased_output = true,
     .window_period = 3,
     .tied = true},
    {{.dim = 96,
      .n_layers = 2,
      .n_heads = 8,
      .n_kv_heads = 1,
      .head_dim = 80,
      .ffn_dim = 64,
      .vocab = 51,
      .context = 600,
      .norm_eps = 1e-6f,
      .rope.base = 1e6,
      .rope_pairs = SPEC_ROPE_HALVES,
      .window = 300,
      .window_rope = {.base = 1e6, .magnitude = 1.1f}},
     .normed_heads = true,
     .sinks = true,
     .window_period = 2},
};

enum { ODD_ARCHITECTURES = sizeof odd_architectures / sizeof *odd_architectures };

/* Returns whether a model of this form has the part. */
static inline bool odd_has(const odd_form *f, spec_part part)
{
    switch (part) {
    case SPEC_PART_OUTPUT: return !f->tied;
    case SPEC_PART_QUERY_BIAS:
    case SPEC_PART_KEY_BIAS:
    case SPEC_PART_VALUE_BIAS: return f->biased;
    case SPEC_PART_QUERY_NORM:
    case SPEC_PART_KEY_NORM: return f->normed_heads;
    case SPEC_PART_SINKS: return f->sinks;
    case SPEC_PART_ATTENTION_OUTPUT_BIAS: return f->biased_output;
    case SPEC_PART_ATTENTION_POST_NORM:
    case SPEC_PART_FFN_POST_NORM: return f->post_norms;
    case SPEC_PART_SHARED_GATE: return f->shape.n_experts > 0 && f->shape.ffn_dim > 0;
    case SPEC_PART_DELTA_BOTH: return f->mixes_beta;
    case SPEC_PART_DELTA_BETA:
    case SPEC_PART_DELTA_ALPHA: return !f->mixes_beta;
    case SPEC_PART_ROUTER_BIAS:
    case SPEC_PART_EXPERT_GATE_BIAS:
    case SPEC_PART_EXPERT_UP_BIAS:
    case SPEC_PART_EXPERT_DOWN_BIAS: return f->biased_experts;
    default: return true;
    }
}

/* Returns whether the values of a vector are about 0, not 1. */
static inline bool odd_is_central(spec_part part)
{
    return part == SPEC_PART_SINKS || part == SPEC_PART_DELTA_BIAS ||
           part == SPEC_PART_SHARED_GATE || part == SPEC_PART_DELTA_CONV ||
           part == SPEC_PART_ATTENTION_OUTPUT_BIAS ||
           (part >= SPEC_PART_QUERY_BIAS && part <= SPEC_PART_VALUE_BIAS) ||
           part == SPEC_PART_ROUTER_BIAS ||
           (part >= SPEC_PART_EXPERT_GATE_BIAS && part <= SPEC_PART_EXPERT_DOWN_BIAS);
}

static inline void free_odd_parts(void *owned)
{
    void **part = owned;
    for (int i = 0; part[i] != NULL; i++) free(part[i]);
    free(part);
}

/* Draws random weights that keep the scale of their inputs; the same for every type, up to its
 rounding. */
static inline void make_odd_checkpoint(spec_checkpoint *c, const odd_form *f, spec_tensor_type type)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, 7);
    *c = (spec_checkpoint){.shape = f->shape, .free_owned = free_odd_parts};
    c->layer = calloc((size_t)f->shape.n_layers, sizeof *c->layer);
    void **owned = calloc((size_t)SPEC_PARTS * (size_t)f->shape.n_layers + 1, sizeof *owned);
    assert_non_null(c->layer);
    assert_non_null(owned);
    c->owned = owned;
    for (int i = 0; i < f->shape.n_layers && f->recurrent_period > 0; i++)
        c->layer[i].is_recurrent = (i + 1) % f->recurrent_period != 0;
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (!odd_has(f, part)) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &f->shape); layer++) {
            spec_tensor *tensor = spec_checkpoint_parts_tensor(part, c, layer);
            if (!spec_checkpoint_parts_in_layer(part, c->layer[layer].is_recurrent)) continue;
            tensor->type = spec_checkpoint_parts_is_vector(part) ? SPEC_TENSOR_F32 : type;
            spec_checkpoint_parts_shape(&tensor->rows, &tensor->cols, part, &f->shape);
            const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
            assert_true(bytes > 0);
            unsigned char *data = malloc(bytes * (size_t)tensor->rows);
            float *row = malloc((size_t)tensor->cols * sizeof *row);
            assert_non_null(data);
            assert_non_null(row);
            const double mean =
                spec_checkpoint_parts_is_vector(part) && !odd_is_central(part) ? 1.0 : 0.0;
            const bool is_wide = part == SPEC_PART_EXPERT_GATE || part == SPEC_PART_EXPERT_UP;
            const double by = is_wide && f->expert_scale > 0.0 ? f->expert_scale : 1.0;
            const double scale = part == SPEC_PART_EMBEDDING ? 1.0 : 1.3 * by / sqrt(tensor->cols);
            const double spread = spec_checkpoint_parts_is_vector(part) ? 0.3 : scale;
            for (int r = 0; r < tensor->rows; r++) {
                for (int k = 0; k < tensor->cols; k++)
                    row[k] = (float)(mean + gsl_ran_gaussian(rng, spread));
                for (int k = 0; k < tensor->cols && part == SPEC_PART_DELTA_RATE; k++)
                    row[k] = -0.2f * row[k] * row[k]; /* states fade over some tokens */
                spec_tensor_row_write(data + bytes * (size_t)r, tensor->type, row, tensor->cols);
            }
            free(row);
            tensor->data = *owned++ = data;
        }
    }
    if (f->tied) c->output = c->embedding;
    for (int i = 0; i < f->shape.n_layers && f->window_period > 0; i++)
        c->layer[i].has_window = i % f->window_period != f->window_period - 1;
}

#endif
