/* backend: the operations that a forward pass is made of, on some device.
 * The pass is written once (forward.c) above this struct. Arrays that operations take lie in the backend's memory; a
 * column is one token of a pass, and activations are (n, width), row-major, float. What a column comes to depends on
 * the column alone, bit for bit: not on n, on the other columns, or on the number of threads. */
#ifndef SPECLAB_BACKEND_H
#define SPECLAB_BACKEND_H

#include "models/transformer/checkpoint.h"

enum { SPEC_COLUMNS_MAX = 64 }; /* most tokens in one pass */

typedef struct spec_backend spec_backend;

/* Operations of one session, which run in order. One thread's. */
typedef struct spec_queue {
    const spec_backend *backend;
    void *state; /* the backend's own: workspace, stream */
} spec_queue;

/* Weights in the backend's own layout. */
typedef struct {
    spec_tensor_type type;
    int rows, cols;
    void *data;
    size_t bytes; /* that one product reads */
} spec_matrix;

/* Keys and values of one text, in slots. Tokens of the text have slots 0, 1, ...; those of a tree that is being
 * verified come after them in the order of the nodes, until the accepted path is packed (keep). */
typedef struct {
    int layers, slots, n_kv_heads, head_dim;
    void *data; /* the backend's own layout */
} spec_kv;

/* What the tokens of a pass are and what they see. Column u attends, in this order, to slots 0..past[u]-1 and to the
 * slots path[path_begin[u]] .. path[path_begin[u+1]-1], of which the last is its own; its position is their number less
 * one. So a column's sums are taken in the order of the text, however a tree lies in its slots. */
typedef struct {
    int n; /* 1..SPEC_COLUMNS_MAX */
    int token[SPEC_COLUMNS_MAX], position[SPEC_COLUMNS_MAX];
    int slot[SPEC_COLUMNS_MAX]; /* where the column's key and value go */
    int past[SPEC_COLUMNS_MAX];
    int path_begin[SPEC_COLUMNS_MAX + 1];
    const int *path;
} spec_batch;

struct spec_backend {
    const char *name;

    /* Memory. _alloc gives zeros. _put and _get copy between the host's memory and the backend's. Freeing NULL or what
     * is zeroed is fine, here and below. */
    int (*alloc)(void **ret_memory, size_t bytes, spec_error *error);
    void (*free)(void *memory);
    void (*put)(void *to, const void *host, size_t bytes);
    void (*get)(void *host, const void *from, size_t bytes);

    /* The rows of all parts under one another, as one matrix of type `type`; parts of other types are converted. */
    int (*matrix_init)(spec_matrix *ret_matrix, spec_tensor_type type, const spec_tensor *part, int n_parts,
                       spec_error *error);
    void (*matrix_free)(spec_matrix *matrix);
    int (*kv_init)(spec_kv *ret_kv, const spec_shape *shape, int slots, spec_error *error);
    void (*kv_free)(spec_kv *kv);

    /* A queue for passes of a model of this shape. `angles` below are made by it. */
    int (*queue_init)(spec_queue *ret_queue, const spec_shape *shape, spec_error *error);
    void (*queue_free)(spec_queue *queue);

    /* A pass begins and ends; nothing it computes may be read before its end. GSL_EFAILED where the device failed. */
    void (*begin)(spec_queue *queue, const spec_batch *batch);
    int (*end)(spec_queue *queue, spec_error *error);

    /* x[u] = row token[u] of the table, for all columns. x (n, dim). */
    void (*embed)(spec_queue *queue, float *x, const spec_matrix *table);

    /* y[u] = x[u] / sqrt(mean(x[u]^2) + eps) * gain. x, y (n, dim), may be the same. */
    void (*norm)(spec_queue *queue, float *y, const float *x, const float *gain, int n);

    /* y[u] (+)= w x[u] (+ bias). x (n, cols), y (n, rows). Quantised weights take x in blocks of 32, rounded to 8 bits
     * with a scale each. */
    void (*matmul)(spec_queue *queue, float *y, const spec_matrix *w, const float *x, const float *opt_bias, bool add,
                   int n);

    /* Rotate the queries and the keys in qkv (n, (n_heads + 2 n_kv_heads) * head_dim) by the columns' positions. */
    void (*rope)(spec_queue *queue, float *qkv);

    /* Keys and values of qkv into the columns' slots of a layer. */
    void (*store)(spec_queue *queue, spec_kv *kv, int layer, const float *qkv);

    /* o[u] = softmax(q k' / sqrt(head_dim)) v, for every head over what the column sees. o (n, n_heads * head_dim). */
    void (*attend)(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer);

    /* y[u][i] = silu(h[u][i]) * h[u][ffn_dim + i]. h (n, 2 ffn_dim), y (n, ffn_dim). */
    void (*gate)(spec_queue *queue, float *y, const float *h);

    /* Move slots from[0..n-1], ascending, from[i] >= to + i, to slots to..to+n-1, in all layers. Between passes. */
    void (*keep)(spec_kv *kv, const int *from, int to, int n);

    /* After the pass, from logits (n, vocab) in the backend's memory into the host's: the index of the largest (the
     * lowest among ties), and the distribution softmax(logits / temperature), temperature > 0, normalised to 1e-15.
     * `row` (n) points to rows (vocab). GSL_EDOM where a logit is not finite. */
    int (*argmax)(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error);
    int (*rows)(spec_queue *queue, double *const *row, const float *logits, double temperature, int n,
                spec_error *error);
};

extern const spec_backend spec_backend_cpu; /* models/transformer/backend_cpu.c */

#endif
