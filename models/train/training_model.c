/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/training_model.h"

#include "base/noise.h"
#include "models/transformer/files/architecture.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PER_LAYER = 7, OF_MODEL = 3 };

static const double weight_deviation = 0.02;

/* ---- parameters ------------------------------------------------------------------------------ */

static int add(spec_training_model *model, const char *name, int layer, int rows, int cols)
{
    char full[SPEC_PARAMETERS_NAME_SIZE];
    if (layer < 0)
        snprintf(full, sizeof full, "%s", name);
    else
        snprintf(full, sizeof full, "blk.%d.%s", layer, name);
    return spec_parameters_add(&model->parameters, full, rows, cols);
}

static void add_all(spec_training_model *model, const spec_training_shape *of)
{
    const spec_shape *s = &of->shape;
    const int queries = s->n_heads * s->head_dim, keys = s->n_kv_heads * s->head_dim;
    model->embedding = add(model, "embedding", -1, s->vocab, s->dim);
    model->final_norm = add(model, "final_norm", -1, 1, s->dim);
    model->output = of->is_tied ? model->embedding : add(model, "output", -1, s->vocab, s->dim);
    for (int i = 0; i < s->n_layers; i++) {
        spec_training_layer *l = &model->layer[i];
        l->attention_norm = add(model, "attention_norm", i, 1, s->dim);
        l->qkv = add(model, "qkv", i, queries + 2 * keys, s->dim);
        l->qkv_bias = of->has_bias ? add(model, "qkv_bias", i, 1, queries + 2 * keys) : -1;
        l->attention_output = add(model, "attention_output", i, s->dim, queries);
        l->ffn_norm = add(model, "ffn_norm", i, 1, s->dim);
        l->gate_up = add(model, "gate_up", i, 2 * s->ffn_dim, s->dim);
        l->down = add(model, "down", i, s->dim, s->ffn_dim);
    }
}

/* Returns the tensor of `rows` rows from row `first` of a parameter. */
static spec_tensor part_of(const spec_training_model *model, int index, int first, int rows)
{
    const int cols = model->parameters.item[index].cols;
    return (spec_tensor){SPEC_TENSOR_F32, rows, cols,
                         spec_parameters_value(&model->parameters, index) +
                             (size_t)first * (size_t)cols};
}

static spec_tensor whole(const spec_training_model *model, int index)
{
    return part_of(model, index, 0, model->parameters.item[index].rows);
}

/* Returns `cols` numbers of a vector from number `first` on; absent for index -1. */
static spec_tensor slice(const spec_training_model *model, int index, int first, int cols)
{
    if (index < 0) return (spec_tensor){0};
    return (spec_tensor){SPEC_TENSOR_F32, 1, cols,
                         spec_parameters_value(&model->parameters, index) + first};
}

static void view(spec_training_model *model)
{
    spec_checkpoint *to = &model->checkpoint;
    const spec_shape *s = &to->shape;
    const int queries = s->n_heads * s->head_dim, keys = s->n_kv_heads * s->head_dim;
    to->embedding = whole(model, model->embedding);
    to->output = whole(model, model->output);
    to->final_norm = whole(model, model->final_norm);
    for (int i = 0; i < s->n_layers; i++) {
        const spec_training_layer *l = &model->layer[i];
        to->layer[i] = (spec_checkpoint_layer){
            .attention_norm = whole(model, l->attention_norm),
            .query = part_of(model, l->qkv, 0, queries),
            .key = part_of(model, l->qkv, queries, keys),
            .value = part_of(model, l->qkv, queries + keys, keys),
            .query_bias = slice(model, l->qkv_bias, 0, queries),
            .key_bias = slice(model, l->qkv_bias, queries, keys),
            .value_bias = slice(model, l->qkv_bias, queries + keys, keys),
            .attention_output = whole(model, l->attention_output),
            .ffn_norm = whole(model, l->ffn_norm),
            .gate = part_of(model, l->gate_up, 0, s->ffn_dim),
            .up = part_of(model, l->gate_up, s->ffn_dim, s->ffn_dim),
            .down = whole(model, l->down),
        };
    }
}

/* Angles are computed in double, as the engine does. */
static void fill_angles(spec_training_model *model)
{
    const spec_shape *s = &model->checkpoint.shape;
    const int half = s->head_dim / 2;
    for (int i = 0; i < half; i++) {
        const double factor = s->rope.opt_factor != NULL ? (double)s->rope.opt_factor[i] : 1.0,
                     frequency = pow(s->rope.base, -2.0 * i / s->head_dim) / factor;
        for (int t = 0; t < model->places; t++) {
            model->cosine[t * half + i] = (spec_real)cos(t * frequency);
            model->sine[t * half + i] = (spec_real)sin(t * frequency);
        }
    }
}

static int prepare(spec_training_model *model, const spec_training_shape *of, int places,
                   bool is_frozen, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_shape *s = &of->shape;
    const size_t half = (size_t)s->head_dim / 2;
    *model = (spec_training_model){.places = places};
    model->checkpoint.shape = *s;
    model->layer = calloc((size_t)s->n_layers, sizeof *model->layer);
    model->checkpoint.layer = calloc((size_t)s->n_layers, sizeof *model->checkpoint.layer);
    model->cosine = malloc((size_t)places * half * sizeof *model->cosine);
    model->sine = malloc((size_t)places * half * sizeof *model->sine);
    model->rope_factor = malloc(half * sizeof *model->rope_factor);
    if (model->layer == NULL || model->checkpoint.layer == NULL || model->cosine == NULL ||
        model->sine == NULL || model->rope_factor == NULL)
        SPEC_TRY(spec_no_memory(error));
    if (s->rope.opt_factor != NULL) {
        memcpy(model->rope_factor, s->rope.opt_factor, half * sizeof *model->rope_factor);
        model->checkpoint.shape.rope.opt_factor = model->rope_factor;
    }
    SPEC_TRY(spec_parameters_init(&model->parameters, PER_LAYER * s->n_layers + OF_MODEL, error));
    add_all(model, of);
    SPEC_TRY(spec_parameters_allocate(&model->parameters, is_frozen, error));
    fill_angles(model);
    view(model);
done:
    return status;
}

void spec_training_model_free(spec_training_model *model)
{
    spec_parameters_free(&model->parameters);
    free(model->layer);
    free(model->checkpoint.layer);
    free(model->rope_factor);
    free(model->cosine);
    free(model->sine);
    *model = (spec_training_model){0};
}

/* Returns a row of a tensor of model->checkpoint, which points into the parameter. */
static float *floats_of(spec_training_model *model, const spec_tensor *tensor, int row)
{
    const size_t at = (size_t)((const float *)tensor->data - model->parameters.value);
    return model->parameters.value + at + (size_t)row * (size_t)tensor->cols;
}

int spec_training_model_load(spec_training_model *model, const spec_checkpoint *from, int places,
                             bool is_frozen, spec_error *error)
{
    int status = GSL_SUCCESS;
    *model = (spec_training_model){0};
    SPEC_TRY(
        spec_architecture_need_plain(from, "training", "train with one of llama or qwen2", error));
    if (places > from->shape.context)
        SPEC_TRY(spec_fail(error, GSL_EDOM, "texts of %d tokens exceed the model's context of %d",
                           places, from->shape.context));
    SPEC_TRY(prepare(model,
                     &(spec_training_shape){from->shape, from->output.data == from->embedding.data,
                                            from->layer[0].query_bias.data != NULL},
                     places, is_frozen, error));
    model->checkpoint.begin_of_text = from->begin_of_text;
    model->checkpoint.adds_begin = from->adds_begin;
    model->checkpoint.ends = from->ends;
    for (int part = 0; part < SPEC_PARTS; part++)
        for (int i = 0; i < spec_checkpoint_parts_copies((spec_part)part, &from->shape); i++) {
            const spec_tensor *source =
                                  spec_checkpoint_parts_tensor_const((spec_part)part, from, i),
                              *to = spec_checkpoint_parts_tensor_const((spec_part)part,
                                                                       &model->checkpoint, i);
            for (int row = 0; to->data != NULL && row < to->rows; row++)
                spec_tensor_decode_row(floats_of(model, to, row), source, row);
        }
done:
    if (status != GSL_SUCCESS) spec_training_model_free(model);
    return status;
}

int spec_training_model_draw(spec_training_model *model, const spec_training_shape *shape,
                             int places, uint64_t seed, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(prepare(model, shape, places, false, error));
    const int layers = shape->shape.n_layers;
    for (int part = 0; part < SPEC_PARTS; part++)
        for (int i = 0; i < spec_checkpoint_parts_copies((spec_part)part, &shape->shape); i++) {
            const spec_tensor *to =
                spec_checkpoint_parts_tensor_const((spec_part)part, &model->checkpoint, i);
            const bool is_norm = part == SPEC_PART_FINAL_NORM || part == SPEC_PART_ATTENTION_NORM ||
                                 part == SPEC_PART_FFN_NORM,
                       adds = part == SPEC_PART_ATTENTION_OUTPUT || part == SPEC_PART_DOWN;
            if (to->data == NULL || (spec_checkpoint_parts_is_vector((spec_part)part) && !is_norm))
                continue;
            const double deviation = weight_deviation / (adds ? sqrt(2.0 * layers) : 1.0),
                         width = deviation * sqrt(12.0);
            const uint64_t key = spec_noise_key(seed, (const int[]){part, i}, 2, -1);
            float *value = floats_of(model, to, 0);
            for (size_t k = 0; k < (size_t)to->rows * (size_t)to->cols; k++)
                value[k] = is_norm
                               ? 1.0f
                               : (float)(((double)(spec_noise_word(key, k) >> 11) * 0x1p-53 - 0.5) *
                                         width);
        }
done:
    if (status != GSL_SUCCESS) spec_training_model_free(model);
    return status;
}

/* ---- the forward pass ------------------------------------------------------------------------ */

#define WEIGHT(index) ((spec_graph_weight){&model->parameters, (index)})

spec_graph_node *spec_training_model_exit(const spec_training_model *model, spec_graph *graph,
                                          spec_graph_node *hidden)
{
    spec_graph_node *x = spec_graph_norm(graph, hidden, WEIGHT(model->final_norm),
                                         (double)model->checkpoint.shape.norm_eps);
    return spec_graph_product(graph, NULL, x, WEIGHT(model->output), NULL);
}

void spec_training_model_build(spec_training_nodes *ret_nodes, const spec_training_model *model,
                               spec_graph *graph, const int *token, const bool *opt_keep, int texts,
                               int places)
{
    const spec_shape *s = &model->checkpoint.shape;
    const spec_graph_attention_shape attention = {.texts = texts,
                                                  .places = places,
                                                  .heads = s->n_heads,
                                                  .kv_heads = s->n_kv_heads,
                                                  .head_dim = s->head_dim,
                                                  .pairs_adjacent =
                                                      s->rope_pairs == SPEC_ROPE_ADJACENT,
                                                  .cosine = model->cosine,
                                                  .sine = model->sine};
    const double eps = (double)s->norm_eps;
    spec_graph_node *x =
        spec_graph_embed(graph, WEIGHT(model->embedding), token, texts * places, NULL);
    for (int i = 0; i < s->n_layers; i++) {
        const spec_training_layer *l = &model->layer[i];
        const spec_graph_weight bias = WEIGHT(l->qkv_bias);
        ret_nodes->hidden[i] = x;
        spec_graph_node *y = spec_graph_norm(graph, x, WEIGHT(l->attention_norm), eps);
        y = spec_graph_product(graph, NULL, y, WEIGHT(l->qkv), l->qkv_bias >= 0 ? &bias : NULL);
        y = spec_graph_attention(graph, &y, 1, &attention);
        x = spec_graph_product(graph, x, y, WEIGHT(l->attention_output), NULL);
        y = spec_graph_norm(graph, x, WEIGHT(l->ffn_norm), eps);
        y = spec_graph_gate(graph, spec_graph_product(graph, NULL, y, WEIGHT(l->gate_up), NULL));
        x = spec_graph_product(graph, x, y, WEIGHT(l->down), NULL);
        if (opt_keep != NULL)
            x = spec_graph_choose(graph, ret_nodes->hidden[i], x, opt_keep + i * texts, texts);
    }
    ret_nodes->hidden[s->n_layers] = x;
    ret_nodes->logits = spec_training_model_exit(model, graph, x);
}
