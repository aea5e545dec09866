/* checkpoint: a Llama-family model as its file has it, whatever the file's format: shape, tensors, tokenizer.
 * A loader (llama2c, gguf, random) fills one, having checked that every tensor lies inside the file and has the size
 * that the shape asks for. The checkpoint owns the mapping and what else its tensors point to. */
#ifndef SPECLAB_CHECKPOINT_H
#define SPECLAB_CHECKPOINT_H

#include "base/settings.h"
#include "models/transformer/files/tensor.h"
#include "models/transformer/tokenizer/tokenizer.h"

/* How rotary embedding pairs the dimensions of a head. */
typedef enum {
    SPEC_ROPE_ADJACENT, /* 2i with 2i + 1: llama2.c, GGUF's llama */
    SPEC_ROPE_HALVES    /* i with i + head_dim/2: qwen2 */
} spec_rope_pairs;

enum { SPEC_HEAD_DIM_MAX = 256, SPEC_LAYERS_MAX = 512, SPEC_DIM_MAX = 1 << 16, SPEC_CONTEXT_MAX = 1 << 20 };

/* The numbers that the forward pass needs. All >= 1; n_heads is a multiple of n_kv_heads; head_dim is even. */
typedef struct {
    int dim, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim, vocab;
    int context;             /* positions it was trained for, 2..SPEC_CONTEXT_MAX */
    float norm_eps;          /* of the root mean square */
    double rope_base;        /* angle of pair i at a position: position * base^(-2i/head_dim) / factor[i] */
    spec_rope_pairs rope_pairs;
    const float *opt_rope_factor; /* (head_dim/2), > 0, or NULL for ones (rope scaling of Llama 3, linear scaling) */
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
    spec_tensor output;           /* (vocab, dim); the embedding itself where the two are tied */
    spec_tensor final_norm;       /* (dim) F32 */
    spec_checkpoint_layer *layer; /* (n_layers) */
    spec_tokenizer *opt_tokenizer;
    int begin_of_text;            /* the token that a text begins with, 0..vocab-1 */
    bool adds_begin;              /* every text begins with it; else only the empty context is given it */
    int end_of_text;              /* the token that ends a text, or -1 */
    void *owned;                  /* what the loader keeps: mapping, converted vectors */
    void (*free_owned)(void *owned);
    void (*opt_draw)(spec_checkpoint *checkpoint); /* what the tensors point to is written by it, when it is needed */
    uint64_t seed;                                 /* of that */
};

/* Now it is needed: the weights that are drawn are there afterwards, once. */
void spec_checkpoint_draw(spec_checkpoint *checkpoint);

/* The loaders. `settings` has the path and the keys of the model's spec: see the usage lines in transformer_kinds.c.
 * GSL_EINVAL with one line naming the file for what is truncated, foreign, hostile or not supported; non-finite norms
 * and scales too. Nothing is allocated that the file's size does not cover. On failure *ret is zeroed. */
int spec_llama2c_load(spec_checkpoint *ret, spec_settings *settings, spec_error *error);
int spec_gguf_load(spec_checkpoint *ret, spec_settings *settings, spec_error *error);
int spec_random_load(spec_checkpoint *ret, spec_settings *settings, spec_error *error); /* without its weights: _draw */

/* What every loader asks of what it found, before it allocates anything by it: widths and counts within their bounds,
 * heads that share evenly, an even head_dim, a sane epsilon and base. GSL_EINVAL, and a line that begins with path. */
int spec_checkpoint_check_shape(const spec_shape *shape, const char *path, spec_error *error);

/* Whether all its weights are finite (quantised ones: their scales); the line names the tensor. Reads the whole file
 * once, with all threads. */
int spec_checkpoint_check_weights(const spec_checkpoint *checkpoint, const char *path, spec_error *error);

/* Build its tokenizer; lines about it begin with `path`. */
int spec_checkpoint_tokenizer(spec_checkpoint *checkpoint, const spec_tokenizer_data *data, const char *path,
                              spec_error *error);

/* Cut its context to the key `context` of a spec, 0: as it is. */
int spec_checkpoint_context(spec_checkpoint *checkpoint, const spec_settings *settings, spec_error *error);

void spec_checkpoint_free(spec_checkpoint *checkpoint); /* a zeroed one is fine */

#endif
