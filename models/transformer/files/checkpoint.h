/* SPDX-License-Identifier: GPL-3.0-or-later */
/* checkpoint: a Llama-family model as loaded from any file format: shape, tensors, tokenizer.
 * A loader (llama2c, gguf, random) fills one after checking that every tensor is inside the file
 * and has the size that the shape requires. The checkpoint owns the mapping and all other data of
 * its tensors. */
#ifndef SPECLAB_CHECKPOINT_H
#define SPECLAB_CHECKPOINT_H

#include "base/settings.h"
#include "models/transformer/files/tensor.h"
#include "models/transformer/tokenizer/tokenizer.h"

/* The pairs of dimensions that rotary embedding rotates in a head. */
typedef enum {
    SPEC_ROPE_ADJACENT, /* 2i with 2i + 1: llama2.c, GGUF's llama */
    SPEC_ROPE_HALVES    /* i with i + head_dim/2: qwen2 */
} spec_rope_pairs;

enum {
    SPEC_HEAD_DIM_MAX = 256,
    SPEC_LAYERS_MAX = 512,
    SPEC_DIM_MAX = 1 << 16,
    SPEC_CONTEXT_MAX = 1 << 20
};

/* The dimensions of the forward pass. All >= 1; n_heads is a multiple of n_kv_heads; head_dim is
 * even. */
typedef struct {
    int dim, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim, vocab;
    int context;             /* the model's trained context in positions, 2..SPEC_CONTEXT_MAX */
    float norm_eps;          /* of RMSNorm */
    double
        rope_base; /* angle of pair i at a position: position * base^(-2i/head_dim) / factor[i] */
    spec_rope_pairs rope_pairs;
    const float *opt_rope_factor; /* (head_dim/2), > 0, or NULL for ones (rope scaling of Llama 3,
                                     linear scaling) */
} spec_shape;

typedef struct {
    spec_tensor attention_norm;      /* (dim) F32 */
    spec_tensor query;               /* (n_heads * head_dim, dim) */
    spec_tensor key, value;          /* (n_kv_heads * head_dim, dim) */
    spec_tensor query_bias, key_bias, value_bias; /* F32, or data NULL (qwen2 has them) */
    spec_tensor attention_output;    /* (dim, n_heads * head_dim) */
    spec_tensor ffn_norm;            /* (dim) F32 */
    spec_tensor gate, up;            /* (ffn_dim, dim) */
    spec_tensor down;                /* (dim, ffn_dim) */
} spec_checkpoint_layer;

typedef struct spec_checkpoint spec_checkpoint;
struct spec_checkpoint {
    spec_shape shape;
    spec_tensor embedding;        /* (vocab, dim) */
    spec_tensor output;           /* (vocab, dim); the embedding itself if they are tied */
    spec_tensor final_norm;       /* (dim) F32 */
    spec_checkpoint_layer *layer; /* (n_layers) */
    spec_tokenizer *opt_tokenizer;
    int begin_of_text;            /* the begin-of-text token, 0..vocab-1 */
    bool adds_begin; /* every text begins with it; else only the empty context does */
    int end_of_text;              /* the token that ends a text, or -1 */
    void *owned;                  /* the loader's own: mapping, converted vectors */
    void (*free_owned)(void *owned);
    void (*opt_draw)(spec_checkpoint *checkpoint); /* draws the weights when they are needed */
    uint64_t seed;                                 /* of opt_draw */
    spec_thread_pool *opt_pool;                    /* draws and checks the weights */
};

/* Draw the weights, if the loader left that for later; once. */
void spec_checkpoint_draw(spec_checkpoint *checkpoint);

/* The loaders. `settings` has the path and the keys of the model's spec: see the usage lines in
 * transformer_kinds.c. GSL_EINVAL with one line naming the file if it is truncated, of another
 * format, malformed or unsupported, or has non-finite norms or scales. No allocation exceeds what
 * the file's size accounts for. On failure *ret is zeroed. */
int spec_checkpoint_load_llama2c(spec_checkpoint *ret, spec_settings *settings,
                                 spec_thread_pool *opt_pool, spec_error *error);
int spec_checkpoint_load_gguf(spec_checkpoint *ret, spec_settings *settings,
                              spec_thread_pool *opt_pool, spec_error *error);
int spec_checkpoint_load_random(spec_checkpoint *ret, spec_settings *settings,
                                spec_thread_pool *opt_pool,
                                spec_error *error); /* without weights; see _draw */

/* The checks of every loader, before any allocation that depends on the shape: widths and counts
 * within bounds, heads that share evenly, an even head_dim, a sane epsilon and base. GSL_EINVAL,
 * and a line that begins with path. */
int spec_checkpoint_check_shape(const spec_shape *shape, const char *path, spec_error *error);

/* Build the tokenizer; error lines begin with `path`. */
int spec_checkpoint_tokenizer(spec_checkpoint *checkpoint, const spec_tokenizer_data *data,
                              const char *path, spec_error *error);

/* Reduce the context to the key `context` of a spec; 0 leaves it unchanged. */
int spec_checkpoint_context(spec_checkpoint *checkpoint, const spec_settings *settings,
                            spec_error *error);

void spec_checkpoint_free(spec_checkpoint *checkpoint); /* may be zeroed */

#endif
