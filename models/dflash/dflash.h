/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash: shape and tensors of one of llama.cpp's block drafts: DFlash, DSpark or DFlash2.
 * The draft reads the target's hidden states; one pass over a block of masks then gives the rows of
 * all draft tokens [DFlash26]. A loader fills the struct. It owns the memory at `owned`, which
 * holds its tensors. */
#ifndef SPECLAB_DFLASH_H
#define SPECLAB_DFLASH_H

#include "models/transformer/engine/backend.h"

/* Notation: x_0..x_n is a text, begin of text included, of which the target has read all but x_n;
 * draft tokens y_1, y_2, .. follow, and y_0 = x_n. f(l, m) is the target's hidden state at position
 * m after l layers. All norms are RMSNorm with gains; norms of heads are over head_dim.
 *
 * Context. For each position m < n:  g_m = norm(fc [f(tap_1, m); f(tap_2, m); ..]). In every layer
 * its key is rope(m, norm(k g_m)) and its value is v g_m.
 * Block. Columns i = 0..block-1 at positions n + i hold the embedding of x_n, then of the mask. A
 * layer adds attention and a gated network as in qwen3, with a norm per head on queries and keys. A
 * column attends to the context and to the whole block, or with `causal` only up to itself; with a
 * window, to positions greater than its own minus the window. Keys and values of the block are then
 * dropped. h_i is the final norm of column i, and out_i = output h_i.
 *
 *   DFlash    row of y_d: softmax(out_d), whatever the tokens before it.
 *   DSpark    a Markov head: softmax(out_i + w2 w1[y_{d-1}]), with i = d, or i = d - 1 if
 *             from_anchor. Its confidence, before y_d is drawn, is sigmoid(c [h_i; w1[y_{d-1}]] +
 *             b).
 *   DFlash2   the lattice of the k largest logits C_d of out_d: softmax over c in C_d of
 *             out_d(c) + <successor[c], predecessor[y_{d-1}] * (G h_d)>, elementwise product.
 *             Each branch of a layer is between two causal convolutions over the block:
 *             z_i = sum_t (base_t + group(P normed)_{i,t}) * x_{i-t}, t = 0..kernel-1, whose
 *             coefficients come from the branch's normed input, one for each group of channels.
 *
 * A row depends on the text, its offset and at most the previous token, so this is a draft of first
 * order, and its tokens are drawn directly from the rows. */

enum {
    SPEC_DFLASH_BLOCK_MAX = 64, /* columns of a pass */
    SPEC_DFLASH_LAYERS_MAX = 32,
    SPEC_DFLASH_CANDIDATES_MAX = 256,
    SPEC_DFLASH_KERNEL_MAX = 64
};

typedef enum { SPEC_DFLASH_PLAIN, SPEC_DFLASH_MARKOV, SPEC_DFLASH_LATTICE } spec_dflash_kind;

typedef struct {
    spec_dflash_kind kind;
    spec_shape shape; /* of its layers, without windows; dim, vocab and context are the target's */
    /* the numbers of target layers before the hidden states that are read */
    int n_taps, tap[SPEC_TAPS_MAX];
    /* columns per pass, at most SPEC_DFLASH_BLOCK_MAX; at least 1 with from_anchor, else 2 */
    int block;
    int mask;                       /* the token of all columns but the first */
    bool causal, from_anchor;
    /* rows of the output matrix: the target's vocabulary, or fewer with opt_token */
    int draft_vocab;
    int window;      /* positions that a windowed layer sees, including its own; 0: no such layer */
    bool windowed[SPEC_DFLASH_LAYERS_MAX];
    float value_scale; /* of the attention's output */
    float logit_scale; /* of the logits, before shape.logit_cap; DSpark has neither, since llama.cpp
                          takes its logits as they are */
    int markov_rank;
    int selector_rank, candidates, kernel, group; /* DFlash2 */
} spec_dflash_shape;

/* Returns how many draft tokens the draft has rows for. */
int spec_dflash_reach(const spec_dflash_shape *shape);

/* Tensors. Those from ATTENTION_NORM on exist once per layer. */
typedef enum {
    SPEC_DFLASH_FC,              /* (dim, n_taps dim) */
    SPEC_DFLASH_CONTEXT_NORM,    /* (dim) of g */
    SPEC_DFLASH_EMBEDDING,       /* (vocab, dim); absent: the target's */
    SPEC_DFLASH_OUTPUT,          /* (draft_vocab, dim); absent: the embedding or the target's */
    SPEC_DFLASH_FINAL_NORM,      /* (dim) */
    SPEC_DFLASH_MARKOV_IN,       /* w1 (vocab, markov_rank) */
    SPEC_DFLASH_MARKOV_OUT,      /* w2 (draft_vocab, markov_rank) */
    SPEC_DFLASH_CONFIDENCE,      /* c (1, dim + markov_rank), or absent */
    SPEC_DFLASH_CONFIDENCE_BIAS, /* b (1), or absent */
    SPEC_DFLASH_PREDECESSOR,     /* (vocab, selector_rank) */
    SPEC_DFLASH_SUCCESSOR,       /* (vocab, selector_rank) */
    SPEC_DFLASH_SELECTOR,        /* G (selector_rank, dim) */
    SPEC_DFLASH_ATTENTION_NORM,  /* (dim) */
    SPEC_DFLASH_QUERY,           /* (n_heads head_dim, dim) */
    SPEC_DFLASH_KEY,             /* (n_kv_heads head_dim, dim) */
    SPEC_DFLASH_VALUE,           /* as KEY; absent: values are k g, normed without gains */
    SPEC_DFLASH_QUERY_NORM,      /* (head_dim), as KEY_NORM */
    SPEC_DFLASH_KEY_NORM,
    SPEC_DFLASH_ATTENTION_OUTPUT,    /* (dim, n_heads head_dim) */
    SPEC_DFLASH_ATTENTION_POST_NORM, /* (dim) of the output of attention, or absent */
    SPEC_DFLASH_FFN_NORM,            /* (dim) */
    SPEC_DFLASH_GATE,                /* (ffn_dim, dim), as UP */
    SPEC_DFLASH_UP,
    SPEC_DFLASH_DOWN,                /* (dim, ffn_dim) */
    SPEC_DFLASH_FFN_POST_NORM,       /* (dim), or absent */
    SPEC_DFLASH_LAYER_SCALE,         /* (1) of the layer's output, or absent */
    SPEC_DFLASH_ATTENTION_CONV_BASE, /* (2 kernel, dim): before and after attention */
    SPEC_DFLASH_ATTENTION_CONV,      /* P (2 kernel dim / group, dim) */
    SPEC_DFLASH_FFN_CONV_BASE,
    SPEC_DFLASH_FFN_CONV,
    SPEC_DFLASH_SINKS, /* (n_heads) a score without a value, or absent */
    SPEC_DFLASH_PARTS
} spec_dflash_part;

enum { SPEC_DFLASH_NAME_SIZE = 48 };

/* Returns the number of copies of a part, absent ones included; 0 if its kind has none. */
int spec_dflash_copies(spec_dflash_part part, const spec_dflash_shape *shape);
bool spec_dflash_may_lack(spec_dflash_part part);

/* Returns the rows and columns of a copy; a vector is one row of F32. */
void spec_dflash_part_shape(int *ret_rows, int *ret_cols, spec_dflash_part part,
                            const spec_dflash_shape *shape);
bool spec_dflash_part_is_vector(spec_dflash_part part);

/* Writes and returns the name of a tensor in a GGUF file. */
const char *spec_dflash_part_name(char name[SPEC_DFLASH_NAME_SIZE], spec_dflash_part part,
                                  int layer);

typedef struct {
    spec_dflash_shape shape;
    int *opt_token; /* (draft_vocab) distinct: the target's token of each row; NULL: the same */
    spec_tensor tensor[SPEC_DFLASH_PARTS][SPEC_DFLASH_LAYERS_MAX]; /* data NULL: absent */
    void *owned;
    void (*free_owned)(void *owned);
} spec_dflash;

void spec_dflash_free(spec_dflash *dflash); /* accepts a zeroed one */

#endif
