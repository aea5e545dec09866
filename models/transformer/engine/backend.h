/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backend: a table of functions for the operations of a forward pass on one device.
 * forward.c is written once for all devices and calls these functions. Operations take arrays in
 * the backend's memory; a column is one token of a pass, and activations are (n, width), row-major,
 * float. A column's results depend only on that column, bit for bit: not on n, the other columns or
 * the number of threads. */
#ifndef SPECLAB_BACKEND_H
#define SPECLAB_BACKEND_H

#include "models/chain_request.h"
#include "models/transformer/files/checkpoint.h"

enum {
    SPEC_TOKEN_DRAWN = -1, /* the only token of a pass: the one that `draw` has just drawn */
    SPEC_COLUMNS_MAX = 64, /* the most tokens of one pass */
    SPEC_TAPS_MAX = 16     /* the most layers whose hidden states are kept */
};

typedef struct spec_backend spec_backend;
typedef struct spec_context spec_context; /* models/context.h */

/* The operations of one session, run in order, for one thread. */
typedef struct spec_queue {
    const spec_backend *backend;
    void *state; /* the backend's own workspace or stream */
} spec_queue;

/* A matrix of weights in the backend's own layout. */
typedef struct spec_matrix {
    spec_tensor_type type;
    int rows, cols;
    void *data;
    size_t bytes;                 /* bytes that one product reads */
    struct spec_matrix *opt_rest; /* the rows that follow these, in another type (`mixes_types`) */
} spec_matrix;

/* The experts of a layer. Expert e's part of a stack is `one` with its data moved on by e *
 * one.bytes. Tables of biases are floats in the backend's memory. */
typedef struct {
    spec_matrix one; /* the first expert's matrix; its data begins the whole stack */
    int n;
} spec_matrix_stack;

typedef struct {
    spec_matrix router;                 /* (n_experts, dim) */
    float *opt_router_bias;             /* (n_experts) */
    spec_matrix_stack gate, up;         /* of (expert_dim, dim) */
    spec_matrix_stack down;             /* of (dim, expert_dim) */
    float *opt_gate_bias, *opt_up_bias; /* (n_experts, expert_dim) */
    float *opt_down_bias;               /* (n_experts, dim) */
} spec_experts;

/* A recurrent layer (models/transformer/engine/delta.h). */
typedef struct {
    spec_matrix input;  /* (channels + values + 2 n_value_heads, dim): queries, keys and values, the
                           gate, beta and alpha */
    spec_matrix output; /* (dim, values), values = n_value_heads * value_dim */
    bool alternates;    /* for each key head, beta of its value heads, then alpha */
    float *conv;        /* (channels, kernel), in the backend's memory, as are those below */
    float *bias, *rate; /* (n_value_heads) */
    float *norm;        /* (value_dim) */
} spec_delta;

/* The KV cache of one text, in slots. Tokens of the text have slots 0, 1, ...; the nodes of a tree
 * that is being verified follow in order, until `keep` moves the accepted path down to the text. */
typedef struct {
    int layers, slots, n_kv_heads, head_dim;
    spec_tensor_type type; /* F32, BF16, or the backend's half_kv */
    void *data;            /* in the backend's own layout */
    /* for the recurrent layers, which have no keys and values */
    struct spec_delta_cache *opt_delta;

    /* Hidden states kept besides keys and values, for draft heads: after tap[i] layers, where 0 is
     * the embedding. */
    int n_taps, tap[SPEC_TAPS_MAX];
    int width;
    float *plane[SPEC_TAPS_MAX]; /* (slots + 1, width) each; the last row is zeros */
} spec_kv;

/* The tokens of a pass and their attention masks. Column u attends to slots 0..past[u]-1, then to
 * slots path[path_begin[u]] .. path[path_begin[u+1]-1], the last of which is its own. Its position
 * is the number of these slots minus one. So a column's sums run in the order of the text, whatever
 * the slots of a tree. */
typedef struct {
    int n;     /* 1..SPEC_COLUMNS_MAX */
    int first; /* logits are computed for columns first..n-1; n: for none */
    int n_text; /* slots below it are the text's, others are nodes; only recurrent layers read it */
    int token[SPEC_COLUMNS_MAX]; /* or SPEC_TOKEN_DRAWN */
    int position[SPEC_COLUMNS_MAX];
    int slot[SPEC_COLUMNS_MAX]; /* slot for the column's key and value */
    int past[SPEC_COLUMNS_MAX];
    int path_begin[SPEC_COLUMNS_MAX + 1];
    const int *path;
    int window, sink; /* window > 0: a column attends only to the last `window` and the first `sink`
                         positions of its sequence, and of these to the ones in the layer's own
                         window; needs a backend that `computes_all` */
} spec_batch;

/* What a layer's attention does beyond the shape. NULL: attention is that of llama. */
typedef struct {
    const float *opt_query_norm, *opt_key_norm; /* (head_dim) gains in the backend's memory: heads
                                                   are normed before rotation */
    const float *opt_sinks; /* (n_heads) in the backend's memory: for each head, a score that adds
                               to the sum of the weights but mixes in no value */
    bool has_window;        /* it attends to shape.window tokens and rotates by window_rope */
} spec_attending;

/* The columns that an operation computes: all, or those whose logits the batch wants. */
typedef enum { SPEC_COLUMNS_ALL, SPEC_COLUMNS_WANTED } spec_columns;

/* The measured peak rates of a device; 0 if unknown. */
typedef struct {
    double read;   /* bytes per second from memory that no cache holds */
    double bf16;   /* operations per second of its matrix units, where multiply and add are two
                      operations */
    double int8;   /* the same for 8-bit integers */
    double launch; /* seconds from one launch to the next in a recorded pass */
} spec_roofline;

struct spec_backend {
    const char *name;          /* "cpu", "gpu:0": the key `device` of a model's spec */
    const char *device;        /* its name for users: "NVIDIA H200" */
    void *self;                /* the backend's own data */
    spec_context *opt_context; /* whose threads it uses; NULL: only the calling thread */

    /* Closes the backend; only spec_device_close calls it (models/transformer/engine/device.h). */
    void (*close)(const spec_backend *backend);

    /* Memory. _alloc returns zeros. _put and _get copy between the host and the backend, after all
     * work requested earlier. Freeing NULL or a zeroed object is legal, here and below.
     *
     * _check returns GSL_ENOMEM, with a line that says how much is free, if these bytes do not fit;
     * it is called once per model, before loading. _piece returns how many bytes one allocation of
     * this size really takes, and callers pass sums of these to _check. After a device failure
     * _alloc, _wait and all functions with a status fail, with the reason. */
    int (*check)(const spec_backend *backend, size_t bytes, spec_error *error);
    size_t (*piece)(size_t bytes);
    size_t (*columns_bytes)(
        int width); /* bytes of a buffer for SPEC_COLUMNS_MAX columns of this many activations */
    int (*alloc)(const spec_backend *backend, void **ret_memory, size_t bytes, spec_error *error);
    void (*free)(const spec_backend *backend, void *memory);
    void (*put)(const spec_backend *backend, void *to, const void *host, size_t bytes);
    void (*get)(const spec_backend *backend, void *host, const void *from, size_t bytes);

    /* Returns the type in which the backend multiplies with weights of this type: the same one, or
     * one to which it converts them. If the backend `mixes_types`, the rows of a matrix may
     * continue in a matrix of another type (opt_rest). */
    spec_tensor_type (*computed_type)(spec_tensor_type type);
    bool mixes_types;

    /* Stacks the rows of all parts into one matrix of type `type`, with which the backend must be
     * able to multiply; parts of other types are converted. gated: the parts are gate and up, and
     * only _matmul_gated reads the matrix. _free also frees opt_rest. _bytes: its size in the
     * backend's memory. */
    int (*matrix_init)(const spec_backend *backend, spec_matrix *ret_matrix, spec_tensor_type type,
                       const spec_tensor *part, int n_parts, bool gated, spec_error *error);
    void (*matrix_free)(const spec_backend *backend, spec_matrix *matrix);
    size_t (*matrix_bytes)(spec_tensor_type type, int rows, int cols);
    int (*kv_init)(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape,
                   spec_tensor_type type, int slots, spec_error *error);
    void (*kv_free)(const spec_backend *backend, spec_kv *kv);
    size_t (*kv_bytes)(const spec_shape *shape, spec_tensor_type type, int slots);
    spec_tensor_type half_kv; /* F16 or BF16: the KV cache's type by default if a model's matrices
                                 are not all F32. The other types allowed are F32 and BF16 */
    /* it computes every architecture; if not, the operations that only some architectures need are
     * NULL, and spec_attending must be NULL or zero (spec_architecture_extra) */
    bool computes_all;

    /* Creates a queue for passes of a model of this shape; _bytes: its size in the backend's
     * memory, as a sum of _piece. _free waits for outstanding work, so free the buffers and KV
     * caches that it uses afterwards. */
    int (*queue_init)(const spec_backend *backend, spec_queue *ret_queue, const spec_shape *shape,
                      spec_error *error);
    void (*queue_free)(spec_queue *queue);
    size_t (*queue_bytes)(const spec_shape *shape);

    /* Begins a pass through these sublayers (models/transformer/engine/forward.h) over this KV
     * cache. Returns true if the backend replays a recorded pass with this batch; the caller then
     * skips the operations. The batch and its path must live until _end. */
    bool (*begin)(spec_queue *queue, const spec_batch *batch, const spec_kv *kv,
                  const int *sublayer, int n_sublayers);

    /* Says that the pass has no more operations; it may still run. Until _wait, do not read its
     * results and do not use its KV cache in another queue. */
    void (*end)(spec_queue *queue);
    int (*wait)(spec_queue *queue, spec_error *error);

    /* x[u] = row token[u] of the table, for all columns, times the shape's embedding_scale if that
     * is not 0. x (n, dim). */
    void (*embed)(spec_queue *queue, float *x, const spec_matrix *table);

    /* `norm`, `attend` and `matmul_gated` write what a product with the matrix `reader` will read,
     * in the backend's own format; on the CPU this is floats.
     *
     * y[u] = x[u] / sqrt(mean(x[u]^2) + eps) * gain. x (n, dim); y (columns, dim), may be x if both
     * are floats. */
    void (*norm)(spec_queue *queue, float *y, const float *x, const float *gain,
                 spec_columns columns, const spec_matrix *reader);

    /* y[u] (+)= w x[u] (+ bias). x (columns, cols) in the format written for w, y (columns, rows).
     * Quantised weights take x in blocks of 32, rounded to 8 bits with one scale each. */
    void (*matmul)(spec_queue *queue, float *y, const spec_matrix *w, const float *x,
                   const float *opt_bias, bool add, spec_columns columns);

    /* _rope: norm the heads of queries and keys in qkv (n, (n_heads + 2 n_kv_heads) * head_dim) if
     * there are gains, then rotate them by the columns' positions. _store: write the keys and
     * values of qkv into the columns' slots of a layer. A backend may defer the rotation to _store.
     */
    void (*rope)(spec_queue *queue, float *qkv, const spec_attending *opt_how);
    void (*store)(spec_queue *queue, spec_kv *kv, int layer, float *qkv);

    /* o[u] = softmax(q k' query_scale) v, for every head, over the slots that the column attends
     * to: all of them in the batch, or the last `window`. o (n, n_heads * head_dim). */
    void (*attend)(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer,
                   const spec_attending *opt_how, const spec_matrix *reader);

    /* y[u] = the shape's gate of w x[u]; w was made as gated. y (n, ffn_dim). A backend with _gate
     * writes w x[u] to opt_h (n, 2 ffn_dim). */
    void (*matmul_gated)(spec_queue *queue, float *y, float *opt_h, const spec_matrix *w,
                         const float *x, const spec_matrix *reader);

    /* For mixtures of experts; NULL if the backend does not compute them.
     *
     * _stack_init: lay out a tensor (n * rows, cols) as n matrices of type `type`. _experts: adds
     * to x[u] the sum of weight e times expert e of y[u], over the experts e that column u chooses
     * (models/transformer/engine/expert_choice.h); x, y (n, dim), as floats. Returns how many
     * different experts the columns chose; it read the weights of these. */
    int (*stack_init)(const spec_backend *backend, spec_matrix_stack *ret_stack,
                      spec_tensor_type type, const spec_tensor *tensor, int n, spec_error *error);
    void (*stack_free)(const spec_backend *backend, spec_matrix_stack *stack);
    int (*experts)(spec_queue *queue, float *x, const spec_experts *experts, const float *y);

    /* For hybrids; NULL if the backend does not compute them.
     *
     * _delta: y[u] = the normed and gated outputs of the heads of a recurrent layer, from its
     * inputs; x (n, rows of delta->input), y (n, values). _resume: returns how many of the first
     * `length` tokens need not be computed again, because a pass can continue from the cache: all,
     * or 0. _sigmoid_gate: y[u][i] *= sigmoid(g[u][i]), both (n, width). _sigmoid_scale: y[u] *=
     * sigmoid(w . x[u]), y (n, width), x (n, dim), w (dim). */
    void (*delta)(spec_queue *queue, float *y, const float *x, spec_kv *kv, int layer,
                  const spec_delta *delta);
    int (*resume)(spec_kv *kv, int length);
    void (*sigmoid_gate)(spec_queue *queue, float *y, const float *g, int width);
    void (*sigmoid_scale)(spec_queue *queue, float *y, int width, const float *x, const float *w);

    /* Operations of some architectures. _norm_add: x[u] += norm(y[u]), with y's norm left in y;
     * both (n, dim). _cap: the logits (n - first, vocab) become shape.logit_cap * tanh(logit /
     * logit_cap). */
    void (*norm_add)(spec_queue *queue, float *x, float *y, const float *gain);
    void (*cap)(spec_queue *queue, float *logits);

    /* Moves slots from[0..n-1], ascending, from[i] >= to + i, to slots to..to+n-1, in all layers.
     * Only between passes. */
    void (*keep)(spec_queue *queue, spec_kv *kv, const int *from, int to, int n);

    /* For draft heads; NULL if the backend does not support them. Arrays are of floats.
     *
     * _taps_init: keep hidden states of this width after these layers, if none are kept yet. _tap:
     * write x (n, width) into the columns' slots of a plane; `keep` moves them and kv_free frees
     * them. _widen: let a queue multiply matrices of this many columns. _gather: y[u] = row[u] of
     * the table, y (n, width); -1 leaves y[u]. _join: y[u][at..] = x[u], y (n, width), x (n, cols).
     * _gate: y[u][i] = the shape's gate of h[u][i] and h[u][ffn_dim + i], h (n, 2 ffn_dim), y (n,
     * ffn_dim). _silu_add: y[u] = (x[u] +) silu(h[u]), all (n, width); y may be x. _norm_wide:
     * `norm` over this many columns, x and y (n, width). */
    int (*taps_init)(const spec_backend *backend, spec_kv *kv, const int *tap, int n, int width,
                     spec_error *error);
    void (*tap)(spec_queue *queue, spec_kv *kv, int plane, const float *x);
    int (*widen)(spec_queue *queue, int cols, spec_error *error);
    void (*gather)(spec_queue *queue, float *y, const float *table, int width, const int *row);
    void (*join)(spec_queue *queue, float *y, int width, int at, const float *x, int cols);
    void (*gate)(spec_queue *queue, float *y, const float *h);
    void (*silu_add)(spec_queue *queue, float *y, const float *opt_x, const float *h, int width);
    void (*norm_wide)(spec_queue *queue, float *y, const float *x, const float *gain, int width);

    /* After _end, reduce logits (n, vocab) in the backend's memory to results on the host. They,
     * and _draw and _verify, wait for the pass and fail as _wait does.
     * _argmax: the index of the largest logit (the lowest among ties). _rows: the distribution
     * softmax(logits / temperature), temperature > 0, normalised to 1e-15; `row` (n) points to rows
     * (vocab). Both return GSL_EDOM if a logit is not finite. */
    int (*argmax)(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error);
    int (*rows)(spec_queue *queue, double *const *row, const float *logits, double temperature,
                int n, spec_error *error);

    /* Sampling on the device, so that only tokens cross the bus; NULL on the CPU, whose rows are in
     * host memory. A law is the row that a token was drawn from, in `law_bytes(vocab)` bytes of the
     * backend's memory. It is the row that `rows` and spec_transform_apply compute from the logits,
     * up to the rounding stated in docs/gpu.md.
     *
     * _draw queues the draw of token i of a request, i = 0, 1 ... in order: the token that
     * spec_chance_pick would pick from that row with opt_uniform[i], which is the first whose
     * cumulative probability exceeds it; at temperature 0 it may be NULL. The next pass may then be
     * of that token alone, which the host does not know: SPEC_TOKEN_DRAWN. Its position and slot,
     * which are equal, follow those of the last column of the pass before. _drawn waits, and
     * returns the first n tokens of the request, -1 if a token's logits are not finite; the
     * request's arrays must live until then. _verify applies the token rule [Leviathan23] to a
     * chain, with the target's logits (n+1, vocab). A certain decision uses no uniform, a draw uses
     * one, and a correction uses two if vocab > 512. On failure the outcome is zeroed. */
    size_t (*law_bytes)(int vocab);
    int (*draw)(spec_queue *queue, const spec_draw_request *request, int i, spec_error *error);
    int (*drawn)(spec_queue *queue, int *ret_token, int n, spec_error *error);
    int (*verify)(spec_queue *queue, spec_chain_outcome *outcome, const float *logits,
                  const spec_chain_request *request, spec_error *error);

    /* The number of launches that wait for the one before them: in a layer's attention, in its
     * feed-forward network, and in the rest of a pass. They are multiplied by the launch time of
     * _roofline. 0 on the CPU, where an operation is a function call. */
    int launches_of_attention, launches_of_ffn, launches_of_pass;

    /* Measures the device's peak rates in some tenths of a second. NULL: not available. */
    int (*roofline)(const spec_backend *backend, spec_roofline *ret, spec_error *error);
};

/* This backend needs no context. */
extern const spec_backend spec_backend_cpu; /* models/transformer/engine/backend_cpu.c */

#endif
