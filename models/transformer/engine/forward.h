/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forward: runs the forward pass of a transformer with a backend's operations.
 * x = embedding;  for each layer: x += attention(norm(x)), x += ffn(norm(x));  logits = output
 * norm(x)  [Touvron23]
 * Sublayer 2l is the attention of layer l, sublayer 2l + 1 its feed-forward network; a pass may
 * leave any of them out. A forward is one session's workspace; it borrows the weights. */
#ifndef SPECLAB_FORWARD_H
#define SPECLAB_FORWARD_H

#include "models/transformer/engine/weights.h"

typedef struct {
    const spec_weights *weights;
    spec_queue queue;
    float *x, *normed, *qkv, *mixed, *hidden,
        *gated; /* (SPEC_COLUMNS_MAX, ...) in the backend's memory */
    float *logits;                                    /* (SPEC_COLUMNS_MAX, vocab) */
    uint64_t experts; /* how many experts' weights the passes have read, each counted once per pass
                         and layer */
} spec_forward;

int spec_forward_init(spec_forward *forward, const spec_weights *weights, spec_error *error);
void spec_forward_free(spec_forward *forward);

/* Returns the bytes of its queue and its buffers in the backend's memory. */
size_t spec_forward_bytes(const spec_backend *backend, const spec_shape *shape);

/* Computes the logits of the columns that a batch wants into forward->logits (n - first, vocab).
 * The pass runs sublayer[0..n_sublayers-1], ascending: all of them, or a draft's. The array must
 * live as long as the forward. _begin returns while the pass may still run, and the batch may be
 * reused. Until _wait the logits must not be read, and no other forward may use this KV cache. */
void spec_forward_begin(spec_forward *forward, spec_kv *kv, const spec_batch *batch,
                        const int *sublayer, int n_sublayers);
int spec_forward_wait(spec_forward *forward, spec_error *error);

/* Waits for the pass, and turns the first n logits into rows (n, vocab) at a temperature, one-hot
 * at 0. Returns GSL_EDOM if a logit is not finite. */
int spec_forward_rows(spec_forward *forward, double *const *row, double temperature, int n,
                      spec_error *error);

/* Runs one layer, for draft heads, between the backend's begin and end: queries, keys and values
 * are computed from `input`, and the layer adds to forward->x. */
void spec_forward_layer(spec_forward *forward, spec_kv *kv, int layer, const float *input);

#endif
