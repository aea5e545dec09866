/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/pass_work.h"

static void add(spec_pass_work *work, const spec_matrix *matrix)
{
    work->weight_bytes += (double)matrix->bytes;
    work->weights[matrix->type] += (double)matrix->rows * matrix->cols;
}

spec_pass_work spec_pass_work_of(const spec_transformer *model)
{
    const spec_weights *weights = model->weights;
    const spec_backend *backend = weights->backend;
    spec_pass_work work = {.launches = backend->launches_of_pass +
                                       backend->launches_of_layer * model->n_layers};
    for (int i = 0; i < model->n_layers; i++) {
        const spec_layer *layer = &weights->layer[model->layer[i]];
        add(&work, &layer->qkv);
        add(&work, &layer->attention_output);
        add(&work, &layer->gate_up);
        add(&work, &layer->down);
    }
    add(&work, &weights->output);
    const double values =
        2.0 * weights->shape.n_kv_heads * weights->shape.head_dim * model->n_layers;
    work.kv_bytes = values * (double)spec_tensor_row_bytes(model->kv_type, 1);
    return work;
}

static double bytes_of(const spec_tensor *tensor, spec_tensor_type opt_type)
{
    const size_t other =
        opt_type < SPEC_TENSOR_TYPES ? spec_tensor_row_bytes(opt_type, tensor->cols) : 0;
    return (double)tensor->rows *
           (double)(other > 0 ? other : spec_tensor_row_bytes(tensor->type, tensor->cols));
}

double spec_pass_work_weight_bytes(const spec_transformer *model)
{
    const spec_tensor_type type =
        model->weights == &model->own_weights ? model->type : SPEC_TENSOR_TYPES;
    double bytes = bytes_of(&model->checkpoint->output, type);
    for (int i = 0; i < model->n_layers; i++) {
        const spec_checkpoint_layer *layer = &model->checkpoint->layer[model->layer[i]];
        const spec_tensor *const tensor[] = {
            &layer->query, &layer->key, &layer->value, &layer->attention_output,
            &layer->gate,  &layer->up,  &layer->down};
        for (int k = 0; k < 7; k++) bytes += bytes_of(tensor[k], type);
    }
    return bytes;
}
