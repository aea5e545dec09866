/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/forward.h"

#include "base/int_math.h"

#include <string.h>

/* The buffers of a pass and how wide their columns are. */
enum { BUFFERS = 7 };
typedef struct {
    float **buffer;
    int width;
} wide_buffer;

static void list_buffers(wide_buffer *ret_buffer, spec_forward *forward,
                         const spec_backend *backend, const spec_shape *shape)
{
    const int queries = shape->n_heads * shape->head_dim,
              values = shape->delta.n_value_heads * shape->delta.value_dim;
    const wide_buffer all[BUFFERS] = {
        {&forward->x, shape->dim},
        {&forward->normed, shape->dim},
        {&forward->qkv, spec_int_max(queries + 2 * shape->n_kv_heads * shape->head_dim,
                                     spec_checkpoint_channels(&shape->delta) + values +
                                         2 * shape->delta.n_value_heads)},
        {&forward->mixed, spec_int_max(queries, values)},
        {&forward->hidden, /* also holds the gates of attention */
         spec_int_max(backend->gate != NULL ? 2 * shape->ffn_dim : 0,
                      shape->gates_attention ? queries : 0)},
        {&forward->gated, shape->ffn_dim},
        {&forward->logits, shape->vocab},
    };
    memcpy(ret_buffer, all, sizeof all);
}

int spec_forward_init(spec_forward *forward, const spec_weights *weights, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_backend *backend = weights->backend;
    const spec_shape *shape = &weights->shape;
    wide_buffer buffers[BUFFERS];
    *forward = (spec_forward){.weights = weights};
    list_buffers(buffers, forward, backend, shape);
    SPEC_TRY(backend->queue_init(backend, &forward->queue, shape, error));
    for (int i = 0; i < BUFFERS; i++) {
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
    wide_buffer buffers[BUFFERS];
    list_buffers(buffers, forward, backend, &forward->weights->shape);
    /* first, because it waits for work that uses the buffers */
    if (forward->queue.backend != NULL) backend->queue_free(&forward->queue);
    for (int i = 0; i < BUFFERS; i++) backend->free(backend, *buffers[i].buffer);
    *forward = (spec_forward){0};
}

size_t spec_forward_bytes(const spec_backend *backend, const spec_shape *shape)
{
    spec_forward none = {0};
    wide_buffer buffers[BUFFERS];
    size_t bytes = backend->queue_bytes(shape);
    list_buffers(buffers, &none, backend, shape);
    for (int i = 0; i < BUFFERS; i++)
        bytes += backend->piece(backend->columns_bytes(buffers[i].width));
    return bytes;
}

/* Adds a branch of a layer: x += post_norm(matrix input + bias). */
static void ask_for_branch(spec_forward *forward, const spec_matrix *matrix, const float *input,
                           const float *opt_bias, const float *opt_post_norm)
{
    const spec_backend *on = forward->weights->backend;
    spec_queue *queue = &forward->queue;

    if (opt_post_norm == NULL) {
        on->matmul(queue, forward->x, matrix, input, opt_bias, true, SPEC_COLUMNS_ALL);
        return;
    }
    on->matmul(queue, forward->normed, matrix, input, opt_bias, false, SPEC_COLUMNS_ALL);
    on->norm_add(queue, forward->x, forward->normed, opt_post_norm);
}

/* Requests queries, keys and values of `input`, then attention, which adds to x. */
static void ask_for_attention(spec_forward *forward, spec_kv *kv, int layer, const float *input)
{
    const spec_layer *l = &forward->weights->layer[layer];
    const spec_backend *on = forward->weights->backend;
    spec_queue *queue = &forward->queue;
    const int at = layer - l->n_recurrent; /* index of the layer in the KV cache */

    on->matmul(queue, forward->qkv, &l->qkv, input, l->opt_bias, false, SPEC_COLUMNS_ALL);
    on->rope(queue, forward->qkv, &l->how);
    on->store(queue, kv, at, forward->qkv);
    on->attend(queue, forward->mixed, forward->qkv, kv, at, &l->how, &l->attention_output);
    if (l->query_gate.data != NULL) {
        on->matmul(queue, forward->hidden, &l->query_gate, input, NULL, false, SPEC_COLUMNS_ALL);
        on->sigmoid_gate(queue, forward->mixed, forward->hidden, l->query_gate.rows);
    }
    ask_for_branch(forward, &l->attention_output, forward->mixed, l->opt_output_bias,
                   l->opt_attention_post_norm);
}

/* Does the same for a recurrent layer. */
static void ask_for_recurrence(spec_forward *forward, spec_kv *kv, int layer, const float *input)
{
    const spec_layer *l = &forward->weights->layer[layer];
    const spec_backend *on = forward->weights->backend;
    spec_queue *queue = &forward->queue;

    on->matmul(queue, forward->qkv, &l->delta.input, input, NULL, false, SPEC_COLUMNS_ALL);
    on->delta(queue, forward->mixed, forward->qkv, kv, l->n_recurrent, &l->delta);
    on->matmul(queue, forward->x, &l->delta.output, forward->mixed, NULL, true, SPEC_COLUMNS_ALL);
}

static void ask_for_experts(spec_forward *forward, int layer)
{
    const spec_layer *l = &forward->weights->layer[layer];
    const spec_backend *on = forward->weights->backend;
    spec_queue *queue = &forward->queue;

    on->norm(queue, forward->normed, forward->x, l->ffn_norm, SPEC_COLUMNS_ALL, &l->experts.router);
    forward->experts += (uint64_t)on->experts(queue, forward->x, &l->experts, forward->normed);
    if (l->gate_up.data == NULL) return;
    on->matmul_gated(queue, forward->gated, forward->hidden, &l->gate_up, forward->normed,
                     &l->down);
    if (l->opt_shared_gate != NULL)
        on->sigmoid_scale(queue, forward->gated, l->down.cols, forward->normed, l->opt_shared_gate);
    on->matmul(queue, forward->x, &l->down, forward->gated, NULL, true, SPEC_COLUMNS_ALL);
}

static void ask_for_ffn(spec_forward *forward, int layer)
{
    const spec_layer *l = &forward->weights->layer[layer];
    const spec_backend *on = forward->weights->backend;
    spec_queue *queue = &forward->queue;
    if (l->experts.router.data != NULL) {
        ask_for_experts(forward, layer);
        return;
    }

    on->norm(queue, forward->normed, forward->x, l->ffn_norm, SPEC_COLUMNS_ALL, &l->gate_up);
    on->matmul_gated(queue, forward->gated, forward->hidden, &l->gate_up, forward->normed,
                     &l->down);
    ask_for_branch(forward, &l->down, forward->gated, NULL, l->opt_ffn_post_norm);
}

void spec_forward_layer(spec_forward *forward, spec_kv *kv, int layer, const float *input)
{
    ask_for_attention(forward, kv, layer, input);
    ask_for_ffn(forward, layer);
}

/* Keeps the hidden states after this many layers, if a draft head reads them. */
static void tap(spec_forward *forward, spec_kv *kv, int layers)
{
    for (int i = 0; i < kv->n_taps; i++)
        if (kv->tap[i] == layers)
            forward->weights->backend->tap(&forward->queue, kv, i, forward->x);
}

static void ask_for_sublayer(spec_forward *forward, spec_kv *kv, int sublayer)
{
    const spec_layer *l = &forward->weights->layer[sublayer / 2];
    const spec_backend *on = forward->weights->backend;
    if (sublayer % 2 != 0) {
        ask_for_ffn(forward, sublayer / 2);
        tap(forward, kv, sublayer / 2 + 1);
        return;
    }
    const bool recurs = l->delta.input.data != NULL;
    on->norm(&forward->queue, forward->normed, forward->x, l->attention_norm, SPEC_COLUMNS_ALL,
             recurs ? &l->delta.input : &l->qkv);
    (recurs ? ask_for_recurrence : ask_for_attention)(forward, kv, sublayer / 2, forward->normed);
}

static void ask_for_pass(spec_forward *forward, spec_kv *kv, const int *sublayer, int n_sublayers,
                         bool wanted)
{
    const spec_weights *weights = forward->weights;
    const spec_backend *on = weights->backend;
    spec_queue *queue = &forward->queue;

    on->embed(queue, forward->x, &weights->embedding);
    tap(forward, kv, 0);
    for (int i = 0; i < n_sublayers; i++) ask_for_sublayer(forward, kv, sublayer[i]);
    if (wanted) {
        on->norm(queue, forward->normed, forward->x, weights->final_norm, SPEC_COLUMNS_WANTED,
                 &weights->output);
        on->matmul(queue, forward->logits, &weights->output, forward->normed, NULL, false,
                   SPEC_COLUMNS_WANTED);
        if (weights->shape.logit_cap != 0.0f) on->cap(queue, forward->logits);
    }
}

void spec_forward_begin(spec_forward *forward, spec_kv *kv, const spec_batch *batch,
                        const int *sublayer, int n_sublayers)
{
    const spec_backend *on = forward->weights->backend;
    if (!on->begin(&forward->queue, batch, kv, sublayer, n_sublayers))
        ask_for_pass(forward, kv, sublayer, n_sublayers, batch->first < batch->n);
    on->end(&forward->queue);
}

int spec_forward_wait(spec_forward *forward, spec_error *error)
{
    return forward->weights->backend->wait(&forward->queue, error);
}

int spec_forward_rows(spec_forward *forward, double *const *row, double temperature, int n,
                      spec_error *error)
{
    const spec_backend *on = forward->weights->backend;
    const int vocab = forward->weights->shape.vocab;
    int token[SPEC_COLUMNS_MAX];
    if (temperature > 0.0)
        return on->rows(&forward->queue, row, forward->logits, temperature, n, error);
    const int status = on->argmax(&forward->queue, token, forward->logits, n, error);
    for (int i = 0; i < n && status == GSL_SUCCESS; i++) {
        memset(row[i], 0, (size_t)vocab * sizeof *row[i]);
        row[i][token[i]] = 1.0;
    }
    return status;
}
