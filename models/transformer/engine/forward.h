/* forward: the forward pass of a Llama-family transformer, written once above the backend's operations.
 *     x = embedding;  for each layer: x += attention(norm(x)), x += ffn(norm(x));  logits = output norm(x)  [Touvron23]
 * A forward is one session's workspace; it borrows the weights. */
#ifndef SPECLAB_FORWARD_H
#define SPECLAB_FORWARD_H

#include "models/transformer/engine/weights.h"

typedef struct {
    const spec_weights *weights;
    spec_queue queue;
    float *x, *normed, *qkv, *mixed, *hidden, *gated; /* (SPEC_COLUMNS_MAX, ...) in the backend's memory */
    float *logits;                                    /* (SPEC_COLUMNS_MAX, vocab) */
} spec_forward;

int spec_forward_init(spec_forward *forward, const spec_weights *weights, spec_error *error);
void spec_forward_free(spec_forward *forward);

/* What its queue and its buffers take of the backend's memory. */
size_t spec_forward_bytes(const spec_backend *backend, const spec_shape *shape);

/* The logits after the columns that a batch wants into forward->logits (n - first, vocab). The layers run are
 * layer[0..n_layers-1], ascending: all of them, or a draft's; the array must live as long as the forward. _begin returns
 * while the pass may still run, and the batch is free; nothing is to be read, and no other forward may use these keys
 * and values, before _wait. */
void spec_forward_begin(spec_forward *forward, spec_kv *kv, const spec_batch *batch, const int *layer, int n_layers);
int spec_forward_wait(spec_forward *forward, spec_error *error);

#endif
