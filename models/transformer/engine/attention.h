/* attention: the keys and values of a text in the CPU's memory, and what columns mix of them.
 * They lie in blocks of SPEC_VECTOR_BLOCK slots, [block][layer][kv head][keys, values][slot][width] floats, width being
 * head_dim rounded up to 16 with zeros: so a text takes memory as it grows, in large pages. A column's positions are
 * taken in blocks as large, which join in order: so its sums are the same for any number of threads or columns, and
 * wherever a tree lies in its slots. */
#ifndef SPECLAB_ATTENTION_H
#define SPECLAB_ATTENTION_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/vector.h"

/* As the backend's operations of these names. A window's pages are no memory before they are written. */
int spec_attention_kv_init(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape,
                           spec_tensor_type type, int slots, spec_error *error);
void spec_attention_kv_free(const spec_backend *backend, spec_kv *kv);
size_t spec_attention_kv_bytes(const spec_shape *shape, spec_tensor_type type, int slots);
void spec_attention_keep(spec_kv *kv, const int *from, int to, int n);
void spec_attention_store(spec_kv *kv, int layer, const float *qkv, int n_heads, const spec_batch *batch);

/* The workspace of one thread's calls. */
typedef struct {
    int n_heads, n_kv_heads, head_dim;
    const spec_vector_kernels *kernels;
    int blocks;     /* of a text, that there is room for */
    float *partial; /* of blocks that have not joined yet */
} spec_attention;

int spec_attention_init(spec_attention *attention, const spec_shape *shape, const spec_vector_kernels *kernels,
                        spec_error *error);
void spec_attention_free(spec_attention *attention);

/* As the backend's attend, by the team where it is taken. */
void spec_attention_attend(spec_attention *attention, float *o, const float *qkv, const spec_kv *kv, int layer,
                           const spec_batch *batch, bool taken);

#endif
