/* forward: the forward pass of a Llama-family transformer, written once above the backend's operations.
 *     x = embedding;  for each layer: x += attention(norm(x)), x += ffn(norm(x));  logits = output norm(x)  [Touvron23]
 * A forward is one session's workspace; it borrows the weights. */
#ifndef SPECLAB_FORWARD_H
#define SPECLAB_FORWARD_H

#include "models/transformer/weights.h"

typedef struct {
    const spec_weights *weights;
    spec_queue queue;
    float *x, *normed, *qkv, *mixed, *hidden, *gated; /* (SPEC_COLUMNS_MAX, ...) in the backend's memory */
    float *logits;                                    /* (SPEC_COLUMNS_MAX, vocab) */
} spec_forward;

int spec_forward_init(spec_forward *forward, const spec_weights *weights, spec_error *error);
void spec_forward_free(spec_forward *forward);

/* The logits after columns first..n-1 of a batch into forward->logits (n - first, vocab); first = n: none, keys and
 * values alone. The layers run are layer[0..n_layers-1], ascending: all of them, or a draft's. */
int spec_forward_pass(spec_forward *forward, spec_kv *kv, const spec_batch *batch, const int *layer, int n_layers,
                      int first, spec_error *error);

#endif
