/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head: a draft head of a target: its kind, its shape and its tensors.
 * A head reads hidden states of its target. Its rows predict the tokens after the target's next
 * token. Files and trainers fill a head; its sessions compute rows from it. The head owns the
 * memory at `owned`, into which its tensors point. */
#ifndef SPECLAB_HEAD_H
#define SPECLAB_HEAD_H

#include "models/transformer/files/checkpoint.h"

/* Notation of all kinds, for a text x_0..x_n of tokens, begin of text included:
 *     f(l, m)   the target's hidden state at position m after l layers; l = 0: the embedding
 *     e(x)      the row of the target's embedding for token x
 *     out(h)    the target's logits for a hidden state: output norm(h), with its final norm
 * The target has not read x_n when drafting begins, so f is known up to position n - 1. Draft
 * tokens are y_1, y_2, ..; the row after the context is for y_1, the row after y_d for y_{d+1}. */
typedef enum {
    /* Row of y_d: output_d (h + silu(w_d h + b_d)), h = norm(f(L, n-1)); independent of y.
     * [Cai24] */
    SPEC_HEAD_MEDUSA,
    /* As Medusa, but also reads the path: a = h + silu(w_d [h; e(x_n); e(y_1); ..; e(y_{d-1})] +
     * b_d), then a + silu(v_d a + c_d). [Ankner24] */
    SPEC_HEAD_HYDRA,
    /* A recurrent state s_d = silu(u s_{d-1} + w E(y_{d-1}) + b), s_0 = 0, y_0 = x_n, with its own
     * embedding E; z = [s_d; h], two residual blocks z + silu(m z + b), output z. [Cheng24] */
    SPEC_HEAD_REDRAFTER,
    /* A layer without its first norm, over z_m = fc [e(x_m); f(L, m-1)] at m = 1..n and along the
     * path; for a drafted position, the layer's own output replaces f. Rows: out(layer). With
     * normed_features, as published, it reads norm(f(L, m-1)) with the target's final norm, and
     * rows are output layer. [LiY24] */
    SPEC_HEAD_EAGLE,
    /* A layer over [norm(e(x_m)); norm(g)], g = fc [f(low); f(mid); f(high)] at m - 1, which is
     * also the residual; for a drafted position, the layer's own output replaces g. Rows: output
     * norm(layer). With norm_before_fc: g = fc norm([f(low); f(mid); f(high)]). [LiY25] */
    SPEC_HEAD_EAGLE3,
    /* A module for each depth k: a layer over p_k [norm(e(x_j)); norm(h_{k-1}(j-1))], for the
     * positions j of context and path; h_0 = f(L), h_k is the output of module k, which attends
     * only to its own positions. Row of y_d: the target's output norm(h_d(j)), j the position of
     * y_{d-1}.
     * With nextn, as llama.cpp runs the draft blocks of a model's file: h_0 = norm(f(L)) with the
     * target's final norm, and h_0(-1) = 0. Positions 0..n of the text read h_0 in every module.
     * The position of y_i reads norm(h_i) of the previous position. A single module serves all
     * depths. [DeepSeek24] */
    SPEC_HEAD_MTP,
    /* Runs EAGLE-3's layer over the context, then over reach - 1 positions that have a learnt
     * embedding and a learnt state instead of those of y. So all rows come from one pass and do not
     * depend on y. [An25] */
    SPEC_HEAD_PARALLEL,
    SPEC_HEAD_KINDS
} spec_head_kind;

enum { SPEC_HEAD_TAPS_MAX = 3, SPEC_HEAD_REACH_MAX = 16 };

extern const char *const spec_head_kind_names[]; /* "medusa", ..., "parallel", NULL */

typedef struct {
    spec_head_kind kind;
    /* The head's own shape: vocab and context are the target's, and so are dim, norm_eps and rope_*
     * unless a file says otherwise; n_heads, n_kv_heads, head_dim and ffn_dim describe its layers
     * (0 for kinds without layers); n_layers is 0, 1, or reach for MTP. */
    spec_shape shape;
    int target_dim; /* the width of f if it differs from dim, as it may in an eagle3 with its own
                       embedding and output; else 0 */
    /* K: there are rows for y_1..y_K; 0: at any depth (redrafter, eagle, eagle3, and mtp with nextn
     * and one layer) */
    int reach;
    /* how many of the target's hidden states it reads: 3 in eagle3 and parallel, else 1 */
    int n_taps;
    int tap[SPEC_HEAD_TAPS_MAX]; /* each after that many layers of the target; all different */
    int draft_vocab; /* rows of its output: as many as the target's vocabulary, or fewer with
                        opt_token (never if it uses the target's output) */
    bool norm_before_residual; /* eagle3, parallel: the residual is norm(g) instead of g */
    bool norm_before_fc;       /* eagle3: fc reads a norm of all states */
    bool own_embedding;        /* eagle3, nextn: e is the head's own table, not the target's */
    bool borrows_output;       /* eagle3: rows come from the target's output instead of its own */
    bool nextn;                /* mtp: see SPEC_HEAD_MTP */
    bool own_output;           /* nextn: rows come from its own outputs instead of the target's */
    bool normed_features;      /* eagle: reads and predicts states after the target's final norm */
} spec_head_shape;

/* Tensors, in the order of files. "Per depth" means `reach` copies, "per layer" n_layers. */
typedef enum {
    SPEC_HEAD_FC,               /* (dim, 2 dim) eagle; (dim, 3 target_dim) eagle3, parallel */
    SPEC_HEAD_FC_BIAS,          /* (dim) eagle */
    SPEC_HEAD_LINEAR,           /* per depth: w_d (dim, dim) medusa, (dim, (d + 1) dim) hydra */
    SPEC_HEAD_LINEAR_BIAS,      /* per depth (dim) */
    SPEC_HEAD_LINEAR2,          /* per depth: v_d (dim, dim), hydra */
    SPEC_HEAD_LINEAR2_BIAS,     /* per depth (dim) */
    SPEC_HEAD_DEPTH_OUTPUT,     /* per depth (draft_vocab, dim): medusa, hydra */
    SPEC_HEAD_STATE,            /* u (dim, dim): redrafter, like all up to MIX2_BIAS */
    SPEC_HEAD_STATE_BIAS,       /* b (dim) */
    SPEC_HEAD_INPUT,            /* w (dim, dim) */
    SPEC_HEAD_EMBEDDING,        /* E (vocab, dim); e with own_embedding; nextn: per layer */
    SPEC_HEAD_MIX,              /* m of the first residual block (2 dim, 2 dim) */
    SPEC_HEAD_MIX_BIAS,         /* (2 dim) */
    SPEC_HEAD_MIX2,             /* of the second block */
    SPEC_HEAD_MIX2_BIAS,
    SPEC_HEAD_MASK_EMBEDDING,   /* (reach, dim) parallel: row d - 1 for e(y_{d-1}) ... */
    SPEC_HEAD_MASK_STATE,       /* (reach, dim) ... and for g; row 0 is not used */
    SPEC_HEAD_EMBEDDING_NORM,   /* per layer (dim): of e(x): eagle3, mtp, parallel */
    SPEC_HEAD_FEATURE_NORM,     /* per layer (dim): of g or h_{k-1} */
    SPEC_HEAD_PROJECTION,       /* per layer: p_k (dim, 2 dim), mtp */
    SPEC_HEAD_ATTENTION_NORM,   /* per layer (dim): mtp */
    SPEC_HEAD_QUERY,            /* per layer (n_heads head_dim, w); w = 2 dim: eagle3, parallel */
    SPEC_HEAD_KEY,              /* per layer (n_kv_heads head_dim, w), as VALUE */
    SPEC_HEAD_VALUE,
    SPEC_HEAD_ATTENTION_OUTPUT, /* per layer (dim, n_heads head_dim) */
    SPEC_HEAD_FFN_NORM,         /* per layer (dim) */
    SPEC_HEAD_GATE,             /* per layer (ffn_dim, dim), as UP */
    SPEC_HEAD_UP,
    SPEC_HEAD_DOWN,             /* per layer (dim, ffn_dim) */
    SPEC_HEAD_FINAL_NORM,       /* (dim): eagle3, mtp, parallel; nextn: per layer, as OUTPUT */
    SPEC_HEAD_OUTPUT,           /* (draft_vocab, dim); redrafter: (draft_vocab, 2 dim) */
    SPEC_HEAD_INPUT_NORM,       /* (3 target_dim): eagle3 with norm_before_fc */
    SPEC_HEAD_PARTS
} spec_head_part;

enum { SPEC_HEAD_NAME_SIZE = 48 };

/* Returns the number of copies of a part for this shape, 0 if its kind has none. */
int spec_head_copies(spec_head_part part, const spec_head_shape *shape);

/* Returns the rows and columns of a copy; a vector is one row. */
void spec_head_part_shape(int *ret_rows, int *ret_cols, spec_head_part part, int copy,
                          const spec_head_shape *shape);

/* Returns how many vectors of equal width are joined in a row and in a column of a part: 2 for
 * [norm(e(x)); norm(g)]. */
void spec_head_part_joined(int *ret_in_column, int *ret_in_row, spec_head_part part, int copy,
                           const spec_head_shape *shape);

bool spec_head_part_is_vector(spec_head_part part);

/* Returns whether the head's rows come from the target's output matrix. They do for eagle, for mtp
 * and with borrows_output, unless own_output is set. */
bool spec_head_has_target_output(const spec_head_shape *shape);

/* Returns the width of the target's hidden states. */
int spec_head_target_dim(const spec_head_shape *shape);

/* Writes and returns the name of a tensor in a GGUF file. */
const char *spec_head_part_name(char name[SPEC_HEAD_NAME_SIZE], spec_head_part part, int copy,
                                const spec_head_shape *shape);

typedef struct {
    spec_head_shape shape;
    uint64_t fingerprint; /* of the target for which it was trained (models/heads/head_file.h) */
    int *opt_token; /* (draft_vocab) distinct: the target's token for each row; NULL: the same */
    spec_tensor tensor[SPEC_HEAD_PARTS][SPEC_HEAD_REACH_MAX]; /* [part][copy]; others are absent */
    /* (n_layers) with nextn: blocks with all of their tensors, including some that are not parts of
     * a head */
    const spec_checkpoint_nextn *opt_nextn;
    void *owned;
    void (*free_owned)(void *owned);
} spec_head;

void spec_head_free(spec_head *head); /* accepts a zeroed one */

#endif
