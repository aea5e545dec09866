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
    SPEC_TRY(backend->queue_init(backend, &forward->queue, shape, error));
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        void *memory = NULL;
        SPEC_TRY(backend->alloc(backend, &memory, backend->columns_bytes(buffers[i].width), error));
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
    for (size_t i = 0; i < sizeof buffer / sizeof buffer[0]; i++) backend->free(backend, buffer[i]);
    if (forward->queue.backend != NULL) backend->queue_free(&forward->queue);
    *forward = (spec_forward){0};
}

static void ask_for_pass(spec_forward *forward, spec_kv *kv, const int *layer, int n_layers, bool wanted)
{
    const spec_weights *weights = forward->weights;
    const spec_backend *on = weights->backend;
    spec_queue *queue = &forward->queue;
    float *x = forward->x; /* (n, dim) */

    on->embed(queue, x, &weights->embedding);
    for (int i = 0; i < n_layers; i++) {
        const spec_layer *l = &weights->layer[layer[i]];

        on->norm(queue, forward->normed, x, l->attention_norm, SPEC_COLUMNS_ALL, &l->qkv);
        on->matmul(queue, forward->qkv, &l->qkv, forward->normed, l->opt_bias, false, SPEC_COLUMNS_ALL);
        on->rope(queue, forward->qkv);
        on->store(queue, kv, layer[i], forward->qkv);
        on->attend(queue, forward->mixed, forward->qkv, kv, layer[i], &l->attention_output);
        on->matmul(queue, x, &l->attention_output, forward->mixed, NULL, true, SPEC_COLUMNS_ALL);

        on->norm(queue, forward->normed, x, l->ffn_norm, SPEC_COLUMNS_ALL, &l->gate_up);
        on->matmul(queue, forward->hidden, &l->gate_up, forward->normed, NULL, false, SPEC_COLUMNS_ALL);
        on->gate(queue, forward->gated, forward->hidden, &l->down);
        on->matmul(queue, x, &l->down, forward->gated, NULL, true, SPEC_COLUMNS_ALL);
    }
    if (wanted) {
        on->norm(queue, forward->normed, x, weights->final_norm, SPEC_COLUMNS_WANTED, &weights->output);
        on->matmul(queue, forward->logits, &weights->output, forward->normed, NULL, false, SPEC_COLUMNS_WANTED);
    }
}

void spec_forward_begin(spec_forward *forward, spec_kv *kv, const spec_batch *batch, const int *layer, int n_layers)
{
    const spec_backend *on = forward->weights->backend;
    if (!on->begin(&forward->queue, batch, kv, layer, n_layers))
        ask_for_pass(forward, kv, layer, n_layers, batch->first < batch->n);
    on->end(&forward->queue);
}

int spec_forward_wait(spec_forward *forward, spec_error *error)
{
    return forward->weights->backend->wait(&forward->queue, error);
}
