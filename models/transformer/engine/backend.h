/* backend: the operations that a forward pass is made of, on some device.
 * The pass is written once (forward.c) above this struct. Arrays that operations take lie in the backend's memory; a
 * column is one token of a pass, and activations are (n, width), row-major, float. What a column comes to depends on
 * the column alone, bit for bit: not on n, on the other columns, or on the number of threads. */
#ifndef SPECLAB_BACKEND_H
#define SPECLAB_BACKEND_H

#include "models/transform.h"
#include "models/transformer/files/checkpoint.h"

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
    spec_tensor_type type; /* SPEC_TENSOR_F32, or SPEC_TENSOR_BF16 where the backend can */
    void *data;            /* the backend's own layout */
} spec_kv;

/* What the tokens of a pass are and what they see. Column u attends, in this order, to slots 0..past[u]-1 and to the
 * slots path[path_begin[u]] .. path[path_begin[u+1]-1], of which the last is its own; its position is their number less
 * one. So a column's sums are taken in the order of the text, however a tree lies in its slots. */
typedef struct {
    int n;     /* 1..SPEC_COLUMNS_MAX */
    int first; /* columns first..n-1 are wanted: their logits are asked for; n: none */
    int token[SPEC_COLUMNS_MAX], position[SPEC_COLUMNS_MAX];
    int slot[SPEC_COLUMNS_MAX]; /* where the column's key and value go */
    int past[SPEC_COLUMNS_MAX];
    int path_begin[SPEC_COLUMNS_MAX + 1];
    const int *path;
} spec_batch;

/* Which columns an operation is for: all, or those that are wanted. */
typedef enum { SPEC_COLUMNS_ALL, SPEC_COLUMNS_WANTED } spec_columns;

/* What a device does at best, measured on it. Zero where it was not. */
typedef struct {
    double read;    /* bytes a second, of memory that no cache holds */
    double bf16;    /* operations a second of its matrix units, multiply and add being two */
    double int8;    /* the same in integers of 8 bits */
    double launch;  /* seconds from one launch to the next, in a recorded pass */
} spec_roofline;

struct spec_backend {
    const char *name;   /* "cpu", "gpu:0", as the key `device` of a model has it */
    const char *device; /* what it is, in words: "NVIDIA H200" */
    void *self;         /* the backend's own */

    /* Somebody uses it no more: who was given it by spec_device_open (models/transformer/engine/device.h). */
    void (*close)(const spec_backend *backend);

    /* Memory. _alloc gives zeros. _put and _get copy between the host's memory and the backend's, and wait for what was
     * asked of it before. Freeing NULL or what is zeroed is fine, here and below. _check: whether so much memory is
     * free, GSL_ENOMEM with the line that says what there is; asked once for a model, before any of it is loaded.
     * _piece: what of its memory so many bytes take that are allocated at once; what sizes are summed of for _check.
     * A device that failed makes _alloc, _wait and all that returns a status fail, with the reason. */
    int (*check)(const spec_backend *backend, size_t bytes, spec_error *error);
    size_t (*piece)(size_t bytes);
    size_t (*columns_bytes)(int width); /* of a buffer for SPEC_COLUMNS_MAX columns of so many activations */
    int (*alloc)(const spec_backend *backend, void **ret_memory, size_t bytes, spec_error *error);
    void (*free)(const spec_backend *backend, void *memory);
    void (*put)(const spec_backend *backend, void *to, const void *host, size_t bytes);
    void (*get)(const spec_backend *backend, void *host, const void *from, size_t bytes);

    /* The rows of all parts under one another, as one matrix of type `type`; parts of other types are converted.
     * _bytes: what they take of the backend's memory. */
    int (*matrix_init)(const spec_backend *backend, spec_matrix *ret_matrix, spec_tensor_type type,
                       const spec_tensor *part, int n_parts, spec_error *error);
    void (*matrix_free)(const spec_backend *backend, spec_matrix *matrix);
    size_t (*matrix_bytes)(spec_tensor_type type, int rows, int cols);
    int (*kv_init)(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape, spec_tensor_type type,
                   int slots, spec_error *error);
    void (*kv_free)(const spec_backend *backend, spec_kv *kv);
    size_t (*kv_bytes)(const spec_shape *shape, spec_tensor_type type, int slots);
    bool keeps_bf16; /* whether keys and values may be of that type */

    /* A queue for passes of a model of this shape, and what of the backend's memory it takes, in pieces. _free waits for
     * what was asked of it: buffers, keys and values that it uses are freed after it. */
    int (*queue_init)(const spec_backend *backend, spec_queue *ret_queue, const spec_shape *shape, spec_error *error);
    void (*queue_free)(spec_queue *queue);
    size_t (*queue_bytes)(const spec_shape *shape);

    /* A pass through these layers over these keys and values. true: the backend has recorded the operations of such a
     * pass before and runs them now by itself, with this batch; they are not to be asked for again. The batch, its path
     * too, must live until _end. */
    bool (*begin)(spec_queue *queue, const spec_batch *batch, const spec_kv *kv, const int *layer, int n_layers);

    /* All of the pass has been asked for, and it may still be running: nothing that it computes may be read, and no
     * other queue may use its keys and values, before _wait. */
    void (*end)(spec_queue *queue);
    int (*wait)(spec_queue *queue, spec_error *error);

    /* x[u] = row token[u] of the table, for all columns. x (n, dim). */
    void (*embed)(spec_queue *queue, float *x, const spec_matrix *table);

    /* `norm`, `attend` and `gate` write what a product with `reader` takes, in the backend's own format; the CPU's are
     * floats.
     *
     * y[u] = x[u] / sqrt(mean(x[u]^2) + eps) * gain. x (n, dim); y (columns, dim), may be x where both are floats. */
    void (*norm)(spec_queue *queue, float *y, const float *x, const float *gain, spec_columns columns,
                 const spec_matrix *reader);

    /* y[u] (+)= w x[u] (+ bias). x (columns, cols) as it was written for w, y (columns, rows). Quantised weights take x
     * in blocks of 32, rounded to 8 bits with a scale each. */
    void (*matmul)(spec_queue *queue, float *y, const spec_matrix *w, const float *x, const float *opt_bias, bool add,
                   spec_columns columns);

    /* Rotate the queries and the keys in qkv (n, (n_heads + 2 n_kv_heads) * head_dim) by the columns' positions; then
     * keys and values of qkv into the columns' slots of a layer. A backend may put the rotation off until _store. */
    void (*rope)(spec_queue *queue, float *qkv);
    void (*store)(spec_queue *queue, spec_kv *kv, int layer, float *qkv);

    /* o[u] = softmax(q k' / sqrt(head_dim)) v, for every head over what the column sees. o (n, n_heads * head_dim). */
    void (*attend)(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer,
                   const spec_matrix *reader);

    /* y[u][i] = silu(h[u][i]) * h[u][ffn_dim + i]. h (n, 2 ffn_dim), y (n, ffn_dim). */
    void (*gate)(spec_queue *queue, float *y, const float *h, const spec_matrix *reader);

    /* Move slots from[0..n-1], ascending, from[i] >= to + i, to slots to..to+n-1, in all layers. Between passes. */
    void (*keep)(spec_queue *queue, spec_kv *kv, const int *from, int to, int n);

    /* After _wait, from logits (n, vocab) in the backend's memory into the host's: the index of the largest (the
     * lowest among ties), and the distribution softmax(logits / temperature), temperature > 0, normalised to 1e-15.
     * `row` (n) points to rows (vocab). GSL_EDOM where a logit is not finite. */
    int (*argmax)(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error);
    int (*rows)(spec_queue *queue, double *const *row, const float *logits, double temperature, int n,
                spec_error *error);

    /* Sampling where the logits are, so that only tokens cross the bus; NULL on the CPU, whose rows are at hand.
     * A law is what a token was drawn from, kept in `law_bytes(vocab)` bytes of the backend's memory: the row that
     * `rows` and spec_transform_apply make of the logits, up to the rounding that the backend's page says.
     *
     * _draw: the token that spec_chance_pick takes of that row with this uniform in [0,1): the first whose cumulated
     * probability exceeds it.
     * _verify: the token rule [Leviathan23] on a chain of n tokens, token[i] drawn from law[i], with logits (n+1, vocab)
     * of the target: ret_n_accepted 0..n, then the correction or the bonus into ret_token; ret_chance (n): with which
     * probability each tested token was to be accepted, 0 for those behind them. uniform (n+2) are used one after the
     * other as the rule uses them on the host (sim/verify/verify_token.c): none for a token whose fate is certain, one for a
     * draw, but two for a correction where vocab > 512; *ret_used says how many were. */
    size_t (*law_bytes)(int vocab);
    int (*draw)(spec_queue *queue, int *ret_token, void *law, const float *logits, const spec_transform *transform,
                double uniform, spec_error *error);
    int (*verify)(spec_queue *queue, int *ret_n_accepted, int *ret_token, double *ret_chance, int *ret_used,
                  const float *logits, const spec_transform *transform, void *const *law, const int *token, int n,
                  const double *uniform, spec_error *error);

    /* What a layer launches that waits for one another, and a pass besides: what _roofline's launch is to be taken for.
     * 0 on the processor, where an operation is a call. */
    int launches_of_layer, launches_of_pass;

    /* Measure what the device can do, some tenths of a second. NULL: not known. */
    int (*roofline)(const spec_backend *backend, spec_roofline *ret, spec_error *error);
};

extern const spec_backend spec_backend_cpu; /* models/transformer/engine/backend_cpu.c */

#endif
