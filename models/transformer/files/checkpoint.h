/* SPDX-License-Identifier: GPL-3.0-or-later */
/* checkpoint: the shape, tensors and tokenizer of a transformer, loaded from any file format.
 * A loader (llama2c, gguf, random) fills one after checking that every tensor is inside the file
 * and has the size that the shape requires. The checkpoint owns the mapping and all other data of
 * its tensors. */
#ifndef SPECLAB_CHECKPOINT_H
#define SPECLAB_CHECKPOINT_H

#include "base/mapping.h"
#include "base/settings.h"
#include "models/text_ends.h"
#include "models/transformer/files/tensor.h"
#include "models/transformer/tokenizer/tokenizer.h"

/* The pairs of dimensions that rotary embedding rotates in a head. */
typedef enum {
    SPEC_ROPE_ADJACENT, /* 2i with 2i + 1: llama2.c, GGUF's llama */
    SPEC_ROPE_HALVES    /* i with i + head_dim/2: qwen2, qwen3, gemma3, gpt-oss */
} spec_rope_pairs;

/* The settings of YaRN [Peng24], from which a rotary embedding's factors and magnitude were
 * computed (models/transformer/files/rope_scaling.h). */
typedef struct {
    double factor;        /* >= 1, by which the context was stretched; 0: no YaRN */
    int context;          /* the original context, in positions */
    /* in turns within that context: pairs that turn more than `fast` times are not slowed, those
     * that turn less than `slow` times are slowed by the whole factor; fast > slow > 0 */
    double fast, slow;
    double opt_magnitude; /* 0: 1 + 0.1 log(factor) */
    bool keeps_fractions; /* the bounds of the ramp are not rounded to whole pairs */
} spec_yarn;

/* Rotary embedding: pair i at a position turns by position * base^(-2i/head_dim) / factor[i]. */
typedef struct {
    double base;
    const float *opt_factor; /* (head_dim/2), > 0, or NULL for ones: the scaling of Llama 3, of
                                YaRN, or linear */
    float magnitude;         /* of YaRN: queries and keys are multiplied by this; 0: they are not */
    /* used only to write files, because opt_factor and magnitude contain its effect */
    spec_yarn yarn;
} spec_rope;

/* The activation of a feed-forward network: a is the gate's product, b is `up`'s. */
typedef enum {
    SPEC_GATE_SILU,   /* a / (1 + exp(-a)) * b */
    SPEC_GATE_GELU,   /* gelu(a) * b, by its approximation with tanh: gemma3 */
    SPEC_GATE_CLAMPED /* a' / (1 + exp(-1.702 a')) * (b' + 1), a' = min(a, 7), b' = b within -7..7:
                         gpt-oss */
} spec_gate;

/* The recurrent layers of a hybrid (models/transformer/engine/delta.h): heads of values, of which
 * n_value_heads / n_key_heads share a head of queries and keys. */
typedef struct {
    int n_layers; /* how many of the layers are recurrent; 0: none, and the rest is 0 */
    int n_key_heads, n_value_heads;
    int key_dim, value_dim; /* widths of one head, up to SPEC_HEAD_DIM_MAX */
    int kernel;             /* tokens that the convolution of queries, keys and values sees */
    bool is_tiled;          /* value head h reads key head h mod n_key_heads, else h n_key_heads /
                               n_value_heads */
} spec_delta_shape;

enum {
    SPEC_HEAD_DIM_MAX = 256,
    SPEC_LAYERS_MAX = 512,
    SPEC_EXPERTS_MAX = 1024,
    SPEC_ACTIVE_MAX = 64, /* experts per token */
    SPEC_DIM_MAX = 1 << 16,
    SPEC_DELTA_KERNEL_MAX = 16,
    SPEC_CONTEXT_MAX = 1 << 20
};

/* The dimensions of the forward pass. All >= 1; n_heads is a multiple of n_kv_heads; head_dim is
 * even. */
typedef struct {
    int dim, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim, vocab;
    int context;    /* the model's trained context in positions, 2..SPEC_CONTEXT_MAX */
    float norm_eps; /* of RMSNorm */
    spec_rope rope;
    spec_rope_pairs rope_pairs;

    /* Zero if an architecture does not have them. */
    float embedding_scale; /* embeddings are multiplied by it: gemma3; 0: they are not */
    float query_scale;     /* scores are query times key times this; 0: 1/sqrt(head_dim) */
    int window; /* tokens that a layer with a window attends to, its own included; 0: no windows */
    spec_rope window_rope; /* for layers with a window, if window > 0 */
    float logit_cap;       /* logits are capped: cap * tanh(logit / cap); 0: they are not */
    spec_gate gate;
    int n_experts, n_active; /* experts in each layer, and how many of them a token takes:
                                1..n_experts */
    int expert_dim;          /* the feed-forward width of an expert; ffn_dim is then the width of
                                the expert that every token takes, or 0 */
    int rotated;             /* number of dimensions, the first of each head, that rotate; 0: all */
    /* the output of attention is multiplied by the sigmoid of a second query */
    bool gates_attention;
    spec_delta_shape delta;
} spec_shape;

/* A layer:  x += post_norm(attention(norm(x))), x += post_norm(ffn(norm(x))). Tensors that an
 * architecture lacks are absent (data NULL). A feed-forward network is gate, up and down, or
 * experts. */
typedef struct {
    spec_tensor attention_norm;                   /* (dim) F32, like all norms, biases, sinks */
    spec_tensor query; /* (n_heads * head_dim, dim); (2 n_heads * head_dim, dim) if attention is
                          gated: the query of each head, then its gate */
    spec_tensor key, value;                       /* (n_kv_heads * head_dim, dim) */
    spec_tensor query_bias, key_bias, value_bias; /* qwen2, gpt-oss */
    spec_tensor query_norm, key_norm;             /* (head_dim), of each head before its rotation */
    spec_tensor sinks; /* (n_heads) a score that takes part in the softmax but has no value */
    spec_tensor attention_output;                 /* (dim, n_heads * head_dim) */
    spec_tensor attention_output_bias;            /* (dim) */
    spec_tensor attention_post_norm;              /* (dim) gemma3 */
    spec_tensor ffn_norm;                         /* (dim) */
    spec_tensor gate, up;                         /* (ffn_dim, dim) */
    spec_tensor down;                             /* (dim, ffn_dim) */
    spec_tensor router;                           /* (n_experts, dim) */
    spec_tensor router_bias;                      /* (n_experts) */
    spec_tensor expert_gate, expert_up;           /* (n_experts * expert_dim, dim) */
    spec_tensor expert_down;                      /* (n_experts * dim, expert_dim) */
    spec_tensor expert_gate_bias, expert_up_bias; /* (n_experts, expert_dim) */
    spec_tensor expert_down_bias;                 /* (n_experts, dim) */
    spec_tensor ffn_post_norm;                    /* (dim) gemma3 */

    /* Instead of attention, in a recurrent layer. Channels are the queries, keys and values of all
     * heads, in this order. */
    spec_tensor delta_input;             /* (channels, dim) */
    spec_tensor delta_gate;              /* (n_value_heads * value_dim, dim) */
    spec_tensor delta_beta, delta_alpha; /* (n_value_heads, dim) */
    spec_tensor delta_both;   /* instead of both: (2 n_value_heads, dim), for each key head the rows
                                 of beta, then those of alpha */
    spec_tensor delta_conv;   /* (channels, kernel) F32 */
    spec_tensor delta_bias;   /* (n_value_heads), of alpha */
    spec_tensor delta_rate;   /* (n_value_heads), below 0 */
    spec_tensor delta_norm;   /* (value_dim) */
    spec_tensor delta_output; /* (dim, n_value_heads * value_dim) */
    spec_tensor shared_gate;  /* (dim) of the expert that every token takes */
    bool is_recurrent;
    bool has_window;                              /* it attends to at most shape.window tokens */
} spec_checkpoint_layer;

/* A draft block after the layers of a model's file (models/transformer/files/gguf_nextn.h): its
 * layer reads projection [norm(embedding); norm(state)]. For missing tensors, those of the model
 * are used. */
typedef struct {
    spec_checkpoint_layer layer;
    spec_tensor projection;                    /* (dim, 2 dim) */
    spec_tensor embedding_norm, feature_norm;  /* (dim) */
    spec_tensor embedding, output, final_norm; /* (vocab, dim), (vocab, dim), (dim), or absent */
} spec_checkpoint_nextn;

enum { SPEC_NEXTN_MAX = 16 };

/* A family of transformers; architecture.h has the table of all. */
typedef struct spec_architecture {
    const char *name; /* GGUF's general.architecture, and the prefix of its keys */
    spec_rope_pairs rope_pairs;
    spec_gate gate;
    bool scales_embedding;   /* embeddings are multiplied by sqrt(dim) */
    /* one layer in this many has no window, unless the file says which layers have one; 0: there
     * are no windows */
    int window_period;
    bool needs_window;       /* a file must give the window */
    /* rotary base of layers with a window, which are not scaled, if the file gives none; 0: they
     * rotate like the other layers, with scaling */
    double window_rope_base;
    /* if a file has this many layers and gives no scale, scores are scaled by 1/sqrt(dim/n_heads);
     * 0: never */
    int layers_of_dim_scale;
    bool yarn_keeps_fractions;     /* spec_yarn.keeps_fractions of its files */
    bool has_experts;              /* every layer's feed-forward network is experts */
    bool has_delta;                /* hybrids: recurrent layers, gated attention */
    bool tiles_values;             /* spec_delta_shape.is_tiled of its files */
    const char *opt_ffn_norm_name; /* GGUF's name after "blk.7.", if not ffn_norm.weight */
    uint64_t must, may; /* sets of parts, bit 1 << part, that a file must have and may have */
} spec_architecture;

typedef struct spec_checkpoint spec_checkpoint;
struct spec_checkpoint {
    spec_shape shape;
    const spec_architecture *opt_architecture; /* NULL: qwen2 if layer 0 has biases, else llama */
    spec_tensor embedding;                     /* (vocab, dim) */
    spec_tensor output;           /* (vocab, dim); the embedding itself if they are tied */
    spec_tensor final_norm;       /* (dim) F32 */
    spec_checkpoint_layer *layer; /* (n_layers) */
    spec_checkpoint_nextn *nextn; /* (n_nextn) */
    int n_nextn;                  /* 0..SPEC_NEXTN_MAX */
    spec_tokenizer *opt_tokenizer;
    int begin_of_text; /* the begin-of-text token, 0..vocab-1 */
    bool adds_begin;   /* every text begins with it; else only the empty context does */
    spec_text_ends ends; /* tokens that end a text; the first is the file's end of text */
    void *owned;       /* the loader's own: mapping, converted vectors */
    void (*free_owned)(void *owned);
    const spec_mapping *opt_mapping; /* the file with the tensors, whose pages may be released */
    void (*opt_draw)(spec_checkpoint *checkpoint); /* draws the weights when they are needed */
    uint64_t seed;                                 /* seed of opt_draw */
    spec_thread_pool *opt_pool;                    /* the threads that draw and check the weights */
};

/* Draws the weights, if the loader postponed that and it was not done yet. */
void spec_checkpoint_draw(spec_checkpoint *checkpoint);

/* The loaders. `settings` has the path and the keys of the model's spec: see the usage lines in
 * transformer_kinds.c. They return GSL_EINVAL, with one line naming the file, if it is truncated,
 * of another format, malformed or unsupported, or has non-finite norms or scales. No allocation is
 * larger than the file's size justifies. On failure *ret is zeroed. */
int spec_checkpoint_load_llama2c(spec_checkpoint *ret, spec_settings *settings,
                                 spec_thread_pool *opt_pool, spec_error *error);
int spec_checkpoint_load_gguf(spec_checkpoint *ret, spec_settings *settings,
                              spec_thread_pool *opt_pool, spec_error *error);
int spec_checkpoint_load_random(spec_checkpoint *ret, spec_settings *settings,
                                spec_thread_pool *opt_pool,
                                spec_error *error); /* without weights; see _draw */

/* Loads the draft blocks of a GGUF file, which may lack the model's layers. Layers and tokenizer
 * are left absent. Also returns GSL_EINVAL for a file without draft blocks. */
int spec_checkpoint_load_gguf_drafts(spec_checkpoint *ret, const char *path,
                                     spec_thread_pool *opt_pool, spec_error *error);

/* Returns how many dimensions of a head rotate. */
int spec_checkpoint_rotated(const spec_shape *shape);

/* Returns how many channels the convolution of a recurrent layer has. */
int spec_checkpoint_channels(const spec_delta_shape *delta);

/* Makes the checks of every loader, before any allocation that depends on the shape: widths and
 * counts within bounds, heads that share evenly, an even head_dim, a sane epsilon and base. Returns
 * GSL_EINVAL, with a line that begins with path, if one fails. */
int spec_checkpoint_check_shape(const spec_shape *shape, const char *path, spec_error *error);

/* Builds the tokenizer; error lines begin with `path`. */
int spec_checkpoint_tokenizer(spec_checkpoint *checkpoint, const spec_tokenizer_data *data,
                              const char *path, spec_error *error);

/* Reduces the context to the key `context` of a spec; 0 leaves it unchanged. */
int spec_checkpoint_context(spec_checkpoint *checkpoint, const spec_settings *settings,
                            spec_error *error);

void spec_checkpoint_free(spec_checkpoint *checkpoint); /* may be zeroed */

#endif
