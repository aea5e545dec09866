/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attention: tree attention over the KV cache in the CPU's memory.
 * Sums are in floats. Blocks of positions are merged in order, so a column's sums do not depend on
 * how many threads or columns there are, or on the slots of the tree. */
#ifndef SPECLAB_ATTENTION_H
#define SPECLAB_ATTENTION_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/vector.h"

/* The workspace of one thread's calls. */
typedef struct {
    int n_heads, n_kv_heads, head_dim;
    int window;  /* the window of layers that have one */
    float scale; /* of scores */
    const spec_vector_kernels *kernels;
    int blocks;     /* blocks in the longest text that fits */
    float *partial; /* results of blocks that are not merged yet */
} spec_attention;

int spec_attention_init(spec_attention *attention, const spec_shape *shape,
                        const spec_vector_kernels *kernels, spec_error *error);
void spec_attention_free(spec_attention *attention);

/* See the backend's attend. Runs on the thread pool that the caller has locked, if any. */
void spec_attention_attend(spec_attention *attention, float *o, const float *qkv, const spec_kv *kv,
                           int layer, const spec_attending *opt_how, const spec_batch *batch,
                           spec_thread_pool *opt_locked);

#endif
