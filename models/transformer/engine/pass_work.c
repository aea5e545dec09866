/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/pass_work.h"

#include <math.h>

static void add(spec_pass_work *work, const spec_matrix *matrix)
{
    for (; matrix != NULL; matrix = matrix->opt_rest) {
        work->weight_bytes += (double)matrix->bytes;
        work->weights[matrix->type] += (double)matrix->rows * matrix->cols;
    }
}

static void add_stack(spec_pass_work *work, const spec_matrix_stack *stack, int n_active)
{
    const spec_matrix *one = &stack->one;
    work->expert_bytes += (double)one->bytes;
    work->weight_bytes += (double)n_active * (double)one->bytes;
    work->weights[one->type] += (double)n_active * one->rows * one->cols;
}

static void add_experts(spec_pass_work *work, const spec_experts *experts, const spec_shape *shape)
{
    const int n = shape->n_active;
    add(work, &experts->router);
    add_stack(work, &experts->gate, n);
    add_stack(work, &experts->up, n);
    add_stack(work, &experts->down, n);
    work->mixtures++;
    work->n_experts = shape->n_experts;
    work->n_active = n;
}

static double state_bytes(const spec_delta_shape *delta)
{
    return (double)delta->n_value_heads * delta->key_dim * delta->value_dim * sizeof(float);
}

spec_pass_work spec_pass_work_of(const spec_transformer *model)
{
    const spec_weights *weights = model->weights;
    const spec_backend *backend = weights->backend;
    const double values = 2.0 * weights->shape.n_kv_heads * weights->shape.head_dim;
    spec_pass_work work = {.launches = backend->launches_of_pass,
                           .window = weights->shape.window,
                           .last = model->window,
                           .sink = model->sink};
    for (int i = 0; i < model->n_sublayers; i++) {
        const spec_layer *layer = &weights->layer[model->sublayer[i] / 2];
        const bool attends = model->sublayer[i] % 2 == 0;
        const bool recurs = attends && layer->delta.input.data != NULL;
        if (!attends && layer->experts.router.data != NULL)
            add_experts(&work, &layer->experts, &weights->shape);
        const spec_matrix *const all[] = {
            &layer->qkv,          &layer->query_gate, &layer->delta.input, &layer->attention_output,
            &layer->delta.output, &layer->gate_up,    &layer->down};
        for (int k = attends ? 0 : 5; k < (attends ? 5 : 7); k++)
            if (all[k]->data != NULL) add(&work, all[k]);
        work.launches += attends ? backend->launches_of_attention : backend->launches_of_ffn;
        if (recurs)
            work.state_bytes += state_bytes(&weights->shape.delta);
        else if (attends)
            *(layer->how.has_window ? &work.window_kv_bytes : &work.kv_bytes) +=
                values * (double)spec_tensor_row_bytes(model->kv_type, 1);
    }
    add(&work, &weights->output);
    return work;
}

/* Returns how many positions a layer reads; window 0: it has none. */
static double positions_read(const spec_pass_work *work, double positions, int window)
{
    const double from = window > 0 ? fmax(0.0, positions - window) : 0.0,
                 begin = work->last > 0 ? fmax(from, positions - work->last) : from;
    return positions - begin + fmax(0.0, fmin(work->sink, begin) - from);
}

double spec_pass_work_kv_bytes(const spec_pass_work *work, double positions)
{
    return work->state_bytes + work->kv_bytes * positions_read(work, positions, 0) +
           work->window_kv_bytes * positions_read(work, positions, work->window);
}

double spec_pass_work_bytes(const spec_pass_work *work, double experts)
{
    if (work->mixtures == 0) return work->weight_bytes;
    return work->weight_bytes + (experts - work->n_active) * work->expert_bytes;
}

static double bytes_of(const spec_backend *backend, const spec_tensor *tensor,
                       spec_tensor_type opt_type)
{
    const spec_tensor_type type = spec_weights_type(backend, opt_type, tensor);
    return (double)tensor->rows * (double)spec_tensor_row_bytes(type, tensor->cols);
}

static double bytes_of_experts(const spec_backend *backend, const spec_checkpoint_layer *layer,
                               const spec_shape *shape, spec_tensor_type opt_type)
{
    const double share = (double)shape->n_active / shape->n_experts;
    return bytes_of(backend, &layer->router, SPEC_TENSOR_TYPES) +
           share * (bytes_of(backend, &layer->expert_gate, opt_type) +
                    bytes_of(backend, &layer->expert_up, opt_type) +
                    bytes_of(backend, &layer->expert_down, opt_type));
}

double spec_pass_work_weight_bytes(const spec_transformer *model)
{
    const spec_tensor_type type =
        model->weights == &model->own_weights ? model->type : SPEC_TENSOR_TYPES;
    const spec_backend *const backend = model->weights->backend;
    double bytes = bytes_of(backend, &model->checkpoint->output, type);
    for (int i = 0; i < model->n_sublayers; i++) {
        const spec_checkpoint_layer *layer = &model->checkpoint->layer[model->sublayer[i] / 2];
        const spec_tensor *const tensor[] = {
            &layer->query,       &layer->key,          &layer->value,      &layer->attention_output,
            &layer->delta_input, &layer->delta_gate,   &layer->delta_beta, &layer->delta_alpha,
            &layer->delta_both,  &layer->delta_output, &layer->gate,       &layer->up,
            &layer->down};
        const int from = model->sublayer[i] % 2 == 0 ? 0 : 10, until = from == 0 ? 10 : 13;
        if (from > 0 && layer->router.data != NULL)
            bytes += bytes_of_experts(backend, layer, &model->checkpoint->shape, type);
        for (int k = from; k < until; k++)
            if (tensor[k]->data != NULL) bytes += bytes_of(backend, tensor[k], type);
    }
    return bytes;
}
