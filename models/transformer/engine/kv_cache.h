/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kv_cache: keys and values in the CPU's memory, as F32, BF16 or F16.
 * Blocks of SPEC_VECTOR_BLOCK slots, [block][layer][kv head]: first the keys in tiles of 16 slots,
 * [tile][width][16], then the values, [slot][width]; width is head_dim rounded up to 16 with zeros.
 * Memory grows with the text, in large pages. */
#ifndef SPECLAB_KV_CACHE_H
#define SPECLAB_KV_CACHE_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/vector.h"

/* See the backend's operations of the same names. Pages take no memory until they are written. */
int spec_kv_cache_init(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape,
                       spec_tensor_type type, int slots, spec_error *error);
void spec_kv_cache_free(const spec_backend *backend, spec_kv *kv);
size_t spec_kv_cache_bytes(const spec_shape *shape, spec_tensor_type type, int slots);
void spec_kv_cache_keep(spec_kv *kv, const int *from, int to, int n);
void spec_kv_cache_store(spec_kv *kv, int layer, const float *qkv, int n_heads,
                         const spec_batch *batch, const spec_vector_kernels *kernels);

/* For attention.
 *
 * _width: head_dim rounded up. _block: the keys and the values of a block, in the cache's type.
 * _read: the key and the value of a slot as floats (width). */
int spec_kv_cache_width(int head_dim);
void spec_kv_cache_block(const void **ret_keys, const void **ret_values, const spec_kv *kv,
                         int layer, int head, int block);
void spec_kv_cache_read(float *ret_key, float *ret_value, const spec_kv *kv, int layer, int head,
                        int slot, const spec_vector_kernels *kernels);

#endif
