#include "models/transformer/forward.h"

int spec_forward_init(spec_forward *forward, const spec_weights *weights, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_backend *backend = weights->backend;
    const spec_shape *shape = &weights->shape;
    *forward = (spec_forward){.weights = weights};
    const struct {
        float **buffer;
        int width;
    } buffers[] = {
        {&forward->x, shape->dim},
        {&forward->normed, shape->dim},
        {&forward->qkv, (shape->n_heads + 2 * shape->n_kv_heads) * shape->head_dim},
        {&forward->mixed, shape->n_heads * shape->head_dim},
        {&forward->hidden, 2 * shape->ffn_dim},
        {&forward->gated, shape->ffn_dim},
        {&forward->logits, shape->vocab},
    };
    SPEC_TRY(backend->queue_init(&forward->queue, shape, error));
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        void *memory = NULL;
        const size_t bytes = (size_t)SPEC_COLUMNS_MAX * (size_t)buffers[i].width * sizeof(float);
        SPEC_TRY(backend->alloc(&memory, bytes, error));
        *buffers[i].buffer = memory;
    }
done:
    if (status != GSL_SUCCESS) spec_forward_free(forward);
    return status;
}

void spec_forward_free(spec_forward *forward)
{
    if (forward->weights == NULL) return;
    const spec_backend *backend = forward->weights->backend;
    float *const buffer[] = {forward->x,      forward->normed, forward->qkv,   forward->mixed,
                             forward->hidden, forward->gated,  forward->logits};
    for (size_t i = 0; i < sizeof buffer / sizeof buffer[0]; i++) backend->free(buffer[i]);
    if (forward->queue.backend != NULL) backend->queue_free(&forward->queue);
    *forward = (spec_forward){0};
}

int spec_forward_pass(spec_forward *forward, spec_kv *kv, const spec_batch *batch, const int *layer, int n_layers,
                      int first, spec_error *error)
{
    const spec_weights *weights = forward->weights;
    const spec_backend *on = weights->backend;
    spec_queue *queue = &forward->queue;
    const int n = batch->n;
    float *x = forward->x; /* (n, dim) */

    on->begin(queue, batch);
    on->embed(queue, x, &weights->embedding);
    for (int i = 0; i < n_layers; i++) {
        const spec_layer *l = &weights->layer[layer[i]];

        on->norm(queue, forward->normed, x, l->attention_norm, n);
        on->matmul(queue, forward->qkv, &l->qkv, forward->normed, l->opt_bias, false, n);
        on->rope(queue, forward->qkv);
        on->store(queue, kv, layer[i], forward->qkv);
        on->attend(queue, forward->mixed, forward->qkv, kv, layer[i]);
        on->matmul(queue, x, &l->attention_output, forward->mixed, NULL, true, n);

        on->norm(queue, forward->normed, x, l->ffn_norm, n);
        on->matmul(queue, forward->hidden, &l->gate_up, forward->normed, NULL, false, n);
        on->gate(queue, forward->gated, forward->hidden);
        on->matmul(queue, x, &l->down, forward->gated, NULL, true, n);
    }
    if (first < n) {
        float *last = x + (size_t)first * (size_t)weights->shape.dim;
        on->norm(queue, forward->normed, last, weights->final_norm, n - first);
        on->matmul(queue, forward->logits, &weights->output, forward->normed, NULL, false, n - first);
    }
    return on->end(queue, error);
}
