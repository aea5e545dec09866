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
    spec_pass_work work = {.launches = backend->launches_of_pass + backend->launches_of_layer * model->n_layers};
    for (int i = 0; i < model->n_layers; i++) {
        const spec_layer *layer = &weights->layer[model->layer[i]];
        add(&work, &layer->qkv);
        add(&work, &layer->attention_output);
        add(&work, &layer->gate_up);
        add(&work, &layer->down);
    }
    add(&work, &weights->output);
    const double values = 2.0 * weights->shape.n_kv_heads * weights->shape.head_dim * model->n_layers;
    work.kv_bytes = values * (double)spec_tensor_row_bytes(model->kv_type, 1);
    return work;
}
