/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attention: the KV cache in the CPU's memory, and tree attention over it.
 * The cache consists of blocks of SPEC_VECTOR_BLOCK slots, [block][layer][kv head] with the keys in
 * tiles of 16 slots, [tile][width][16], and the values, [slot][width], as F32, F16 or BF16; width
 * is head_dim rounded up to 16 with zeros. Its memory grows with the text, in large pages. Sums are
 * in floats. Blocks of positions are merged in order, so a column's sums do not depend on how many
 * threads or columns there are, or on the slots of the tree. */
#ifndef SPECLAB_ATTENTION_H
#define SPECLAB_ATTENTION_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/vector.h"

/* See the backend's operations of the same names. A window's pages take no memory until written. */
int spec_attention_kv_init(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape,
                           spec_tensor_type type, int slots, spec_error *error);
void spec_attention_kv_free(const spec_backend *backend, spec_kv *kv);
size_t spec_attention_kv_bytes(const spec_shape *shape, spec_tensor_type type, int slots);
void spec_attention_keep(spec_kv *kv, const int *from, int to, int n);
void spec_attention_store(spec_kv *kv, int layer, const float *qkv, int n_heads,
                          const spec_batch *batch, const spec_vector_kernels *kernels);

/* The workspace of one thread's calls. */
typedef struct {
    int n_heads, n_kv_heads, head_dim;
    int window;  /* window of the layers that have one */
    float scale; /* of scores */
    const spec_vector_kernels *kernels;
    int blocks;     /* blocks in the longest text that fits */
    float *partial; /* blocks not merged yet */
} spec_attention;

int spec_attention_init(spec_attention *attention, const spec_shape *shape,
                        const spec_vector_kernels *kernels, spec_error *error);
void spec_attention_free(spec_attention *attention);

/* See the backend's attend. Runs on the thread pool that the caller has locked, if any. */
void spec_attention_attend(spec_attention *attention, float *o, const float *qkv, const spec_kv *kv,
                           int layer, const spec_attending *opt_how, const spec_batch *batch,
                           spec_thread_pool *opt_locked);

#endif
