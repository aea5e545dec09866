/* SPDX-License-Identifier: GPL-3.0-or-later */
/* weights: a checkpoint's matrices in a backend's layout, ready for passes.
 * q, k and v are stacked in one matrix, gate and up in another. Immutable, shared by sessions. Owns
 * its matrices; borrows the shape's rope factors from the checkpoint. */
#ifndef SPECLAB_WEIGHTS_H
#define SPECLAB_WEIGHTS_H

#include "models/transformer/engine/backend.h"

typedef struct {
    float *attention_norm, *ffn_norm; /* (dim), in the backend's memory, as are all below */
    float *opt_bias;                  /* ((n_heads + 2 n_kv_heads) * head_dim), or NULL */
    float *opt_output_bias;           /* (dim) */
    float *opt_attention_post_norm, *opt_ffn_post_norm; /* (dim) */
    float *opt_query_norm, *opt_key_norm, *opt_sinks;   /* the arrays that `how` points to */
    spec_attending how;
    spec_matrix qkv;              /* ((n_heads + 2 n_kv_heads) * head_dim, dim) */
    spec_matrix attention_output; /* (dim, n_heads * head_dim) */
    spec_matrix gate_up;          /* (2 ffn_dim, dim) */
    spec_matrix down;             /* (dim, ffn_dim) */
    /* instead of gate_up and down if the shape has experts; in addition to them if every token also
     * takes another expert */
    spec_experts experts;
    float *opt_shared_gate; /* (dim) of that expert */
    spec_matrix query_gate; /* (n_heads * head_dim, dim) for gated attention */
    spec_delta delta;       /* instead of attention, if the layer is recurrent */
    int n_recurrent;        /* recurrent layers before this one */
} spec_layer;

typedef struct {
    const spec_backend *backend;
    spec_shape shape;
    spec_matrix embedding, output; /* the same matrix if they are tied */
    float *final_norm;
    spec_layer *layer; /* (n_layers) */
    size_t bytes;      /* bytes that a pass over all layers reads */
} spec_weights;

/* Returns the type with which the backend multiplies a matrix. We start from the requested type if
 * its blocks divide the rows, else from the matrix's own, and then take what the backend makes of
 * it (`computed_type`). SPEC_TENSOR_TYPES requests none. */
spec_tensor_type spec_weights_type(const spec_backend *backend, spec_tensor_type opt_type,
                                   const spec_tensor *tensor);

/* opt_type: the type of every matrix, or SPEC_TENSOR_TYPES for the checkpoint's own types; see
 * spec_weights_type. */
int spec_weights_init(spec_weights *weights, const spec_checkpoint *checkpoint,
                      spec_tensor_type opt_type, const spec_backend *backend, spec_error *error);
void spec_weights_free(spec_weights *weights);

/* Lay out one part of the weights, in the types of the tensors. Draft heads use this; the backend
 * must be set. A layer may lack its first norm; a vector may be a table, row after row as
 * floats. */
int spec_weights_lay_layer(spec_weights *weights, spec_layer *ret_layer,
                           const spec_checkpoint_layer *from, spec_error *error);
int spec_weights_lay_matrix(spec_weights *weights, spec_matrix *ret_matrix,
                            const spec_tensor *tensor, spec_error *error);
int spec_weights_lay_vector(spec_weights *weights, float **ret_vector, const spec_tensor *tensor,
                            spec_error *error);

/* Returns the weights' bytes in the backend's memory, and whether all matrices will be floats. */
size_t spec_weights_bytes(bool *ret_all_floats, const spec_checkpoint *checkpoint,
                          spec_tensor_type opt_type, const spec_backend *backend);

/* The matrices of a checkpoint that the backend computes in another type: which types these are,
 * the type in which the last of them is computed, and the bytes of all of them in either type. */
typedef struct {
    bool has[SPEC_TENSOR_ALL_TYPES];
    spec_tensor_type computed; /* SPEC_TENSOR_TYPES: there are none */
    double bytes, computed_bytes;
} spec_weights_conversion;

spec_weights_conversion spec_weights_converted(const spec_checkpoint *checkpoint,
                                               const spec_backend *backend);

#endif
