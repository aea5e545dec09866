/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/backend.h"

#include "base/int_math.h"
#include "models/context.h"
#include "models/transformer/engine/attention.h"
#include "models/transformer/engine/column_work.h"
#include "models/transformer/engine/delta.h"
#include "models/transformer/engine/experts.h"
#include "models/transformer/engine/kv_cache.h"
#include "models/transformer/engine/logits.h"
#include "models/transformer/engine/panel_matrices.h"
#include "models/transformer/engine/rotation.h"
#include "models/transformer/engine/taps.h"
#include "models/transformer/kernels/bandwidth.h"
#include "models/transformer/kernels/product.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { FILL_PIECES = 4 };

typedef struct {
    spec_shape shape;
    const spec_vector_kernels *kernels;
    const spec_product_kernels *products;
    const spec_path_kernels *path;
    const spec_batch *batch;
    spec_thread_pool *locked; /* during a pass */
    void *activation;         /* columns in the format that products read */
    spec_rotation rope, window_rope;
    spec_attention attention;
    spec_expert_workspace *experts; /* NULL: the model has none */
} cpu_queue;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Allocates zeroed memory, aligned to 64 bytes; untouched pages take no memory. A note in front of
 * it records the allocation. */
static int alloc_memory(const spec_backend *backend, void **ret_memory, size_t bytes,
                        spec_error *error)
{
    (void)backend;
    char *memory = calloc(1, bytes + 128);
    *ret_memory = NULL;
    if (memory == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for %zu bytes", bytes);
    void **aligned = (void **)(((uintptr_t)memory + 127) & ~(uintptr_t)63);
    aligned[-1] = memory;
    *ret_memory = aligned;
    return GSL_SUCCESS;
}

static void free_memory(const spec_backend *backend, void *memory)
{
    (void)backend;
    if (memory != NULL) free(((void **)memory)[-1]);
}

static void copy(const spec_backend *backend, void *to, const void *from, size_t bytes)
{
    (void)backend;
    memcpy(to, from, bytes);
}

static void close_backend(const spec_backend *backend)
{
    (void)backend;
}

static int check_memory(const spec_backend *backend, size_t bytes, spec_error *error)
{
    (void)backend, (void)bytes, (void)error; /* we cannot know how much memory is free before pages
                                                are touched */
    return GSL_SUCCESS;
}

static size_t piece(size_t bytes)
{
    return bytes;
}

static size_t columns_bytes(int width)
{
    return (size_t)SPEC_COLUMNS_MAX * (size_t)width * sizeof(float);
}

/* ---- weights --------------------------------------------------------------------------------- */

static spec_tensor_type computed_type(spec_tensor_type type)
{
    return type < SPEC_TENSOR_TYPES ? type : SPEC_TENSOR_Q8_0;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void queue_free(spec_queue *queue)
{
    cpu_queue *q = queue->state;
    if (q != NULL) {
        spec_rotation_free(&q->rope);
        spec_rotation_free(&q->window_rope);
        free_memory(queue->backend, q->activation);
        spec_attention_free(&q->attention);
        spec_experts_free(q->experts);
        free(q);
    }
    *queue = (spec_queue){0};
}

static int queue_init(const spec_backend *backend, spec_queue *queue, const spec_shape *shape,
                      spec_error *error)
{
    int status = GSL_SUCCESS;
    cpu_queue *q = calloc(1, sizeof *q);
    *queue = (spec_queue){backend, q};
    if (q == NULL) return spec_no_memory(error);
    q->shape = *shape;
    q->kernels = spec_vector_kernels_of(spec_cpu_isa());
    q->products = spec_product_kernels_of(spec_cpu_isa());
    q->path = spec_path_kernels_of(spec_cpu_isa());
    SPEC_TRY(spec_attention_init(&q->attention, shape, q->kernels, error));
    if (shape->n_experts > 0)
        SPEC_TRY(spec_experts_init(&q->experts, shape, q->kernels, q->products, error));
    int cols = shape->dim > shape->ffn_dim ? shape->dim : shape->ffn_dim;
    if (shape->n_heads * shape->head_dim > cols) cols = shape->n_heads * shape->head_dim;
    cols = spec_int_max(cols, shape->delta.n_value_heads * shape->delta.value_dim);
    SPEC_TRY(alloc_memory(backend, &q->activation,
                          spec_product_activation_bytes(cols, SPEC_COLUMNS_MAX), error));
    SPEC_TRY(spec_rotation_init(&q->rope, &shape->rope, spec_checkpoint_rotated(shape), error));
    if (shape->window > 0)
        SPEC_TRY(spec_rotation_init(&q->window_rope, &shape->window_rope, shape->head_dim, error));
done:
    if (status != GSL_SUCCESS) queue_free(queue);
    return status;
}

static size_t queue_bytes(const spec_shape *shape)
{
    (void)shape; /* check_memory ignores queues: they are small compared with weights and logits */
    return 0;
}

static bool begin(spec_queue *queue, const spec_batch *batch, const spec_kv *kv,
                  const int *sublayer, int n_sublayers)
{
    (void)kv, (void)sublayer, (void)n_sublayers;
    cpu_queue *q = queue->state;
    q->batch = batch;
    q->locked = spec_thread_pool_try_lock(spec_context_pool(queue->backend->opt_context));
    spec_rotation_turn(&q->rope, batch);
    if (q->window_rope.frequency != NULL) spec_rotation_turn(&q->window_rope, batch);
    return false;
}

static void end(spec_queue *queue)
{
    cpu_queue *q = queue->state;
    spec_thread_pool_unlock(q->locked);
    q->locked = NULL;
}

static int wait(spec_queue *queue, spec_error *error)
{
    (void)queue, (void)error;
    return GSL_SUCCESS;
}

static int count(const cpu_queue *q, spec_columns columns)
{
    return columns == SPEC_COLUMNS_ALL ? q->batch->n : q->batch->n - q->batch->first;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void embed(spec_queue *queue, float *x, const spec_matrix *table)
{
    const cpu_queue *q = queue->state;
    const float scale = q->shape.embedding_scale;
    for (int u = 0; u < q->batch->n; u++) {
        float *row = x + (size_t)u * (size_t)table->cols;
        spec_panels_row(row, table, q->batch->token[u]);
        for (int i = 0; scale != 0.0f && i < table->cols; i++) row[i] *= scale;
    }
}

static spec_column_work work_of(const cpu_queue *q, int n)
{
    return (spec_column_work){&q->shape, q->kernels, q->locked, n};
}

static void norm(spec_queue *queue, float *y, const float *x, const float *gain,
                 spec_columns columns, const spec_matrix *reader)
{
    (void)reader;
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, count(q, columns));
    if (columns == SPEC_COLUMNS_WANTED) x += (size_t)q->batch->first * (size_t)q->shape.dim;
    spec_column_work_norm(&work, y, x, gain, q->shape.dim);
}

typedef struct {
    const cpu_queue *q;
    float *y;
    const spec_matrix *w;
    const float *x, *opt_bias;
    bool add;
    int n, stride, panels; /* columns; rows of y; panels of a chunk */
} product_job;

static void fill_chunk(void *job, int chunk)
{
    const product_job *j = job;
    const int first = chunk * FILL_PIECES,
              end = spec_int_min(first + FILL_PIECES, spec_product_activation_pieces(j->w->cols));
    spec_product_activation_fill(j->q->activation, j->q->products, j->w->type, j->x, j->w->cols,
                                 j->n, first, end);
}

static void multiply_chunk(void *job, int chunk)
{
    const product_job *j = job;
    const int first = chunk * j->panels,
              end = spec_int_min(first + j->panels, spec_panels_count(j->w->rows));
    const spec_product_request request = {j->y,   j->w, j->q->activation, j->opt_bias,
                                          j->add, j->n, j->stride};
    spec_product(&request, j->q->products, first, end);
}

static void matmul(spec_queue *queue, float *y, const spec_matrix *w, const float *x,
                   const float *opt_bias, bool add, spec_columns columns)
{
    const cpu_queue *q = queue->state;
    const int n = count(q, columns);
    const bool large = (size_t)n * (size_t)w->cols >= SPEC_SHARED_FLOATS;
    int stride = 0;
    for (const spec_matrix *part = w; part != NULL; part = part->opt_rest) stride += part->rows;
    for (; w != NULL; y += w->rows, w = w->opt_rest) {
        product_job job = {q, y, w, x, opt_bias, add, n, stride, spec_panel_matrices_chunk(w)};
        const int pieces = spec_product_activation_pieces(w->cols);
        spec_thread_pool_run(large ? q->locked : NULL, fill_chunk, &job,
                             spec_int_ceil_div(pieces, FILL_PIECES));
        spec_thread_pool_run(q->locked, multiply_chunk, &job,
                             spec_int_ceil_div(spec_panels_count(w->rows), job.panels));
        if (opt_bias != NULL) opt_bias += w->rows;
    }
}

static void rope(spec_queue *queue, float *qkv, const spec_attending *opt_how)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    const bool windowed = opt_how != NULL && opt_how->has_window;
    spec_column_work_rope(&work, qkv, windowed ? &q->window_rope : &q->rope, opt_how);
}

static void store(spec_queue *queue, spec_kv *kv, int layer, float *qkv)
{
    const cpu_queue *q = queue->state;
    spec_kv_cache_store(kv, layer, qkv, q->shape.n_heads, q->batch, q->kernels);
}

static void attend(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer,
                   const spec_attending *opt_how, const spec_matrix *reader)
{
    (void)reader;
    cpu_queue *q = queue->state;
    spec_attention_attend(&q->attention, o, qkv, kv, layer, opt_how, q->batch, q->locked);
}

static void gate(spec_queue *queue, float *y, const float *h)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    spec_column_work_gate(&work, y, h);
}

static void matmul_gated(spec_queue *queue, float *y, float *opt_h, const spec_matrix *w,
                         const float *x, const spec_matrix *reader)
{
    (void)reader;
    matmul(queue, opt_h, w, x, NULL, false, SPEC_COLUMNS_ALL);
    gate(queue, y, opt_h);
}

static int experts(spec_queue *queue, float *x, const spec_experts *of, const float *y)
{
    const cpu_queue *q = queue->state;
    matmul(queue, spec_experts_logits(q->experts), &of->router, y, of->opt_router_bias, false,
           SPEC_COLUMNS_ALL);
    return spec_experts_add(q->experts, x, of, y, q->batch->n, q->locked);
}

static void norm_add(spec_queue *queue, float *x, float *y, const float *gain)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    spec_column_work_norm_add(&work, x, y, gain);
}

static void cap(spec_queue *queue, float *logits)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, count(q, SPEC_COLUMNS_WANTED));
    spec_column_work_cap(&work, logits);
}

static void keep(spec_queue *queue, spec_kv *kv, const int *from, int to, int n)
{
    (void)queue;
    spec_kv_cache_keep(kv, from, to, n);
    if (kv->opt_delta != NULL) spec_delta_cache_keep(kv->opt_delta, from, to, n);
    spec_taps_keep(kv, from, to, n);
}

static void kv_free(const spec_backend *backend, spec_kv *kv)
{
    spec_taps_free(backend, kv);
    spec_delta_cache_free(kv->opt_delta);
    spec_kv_cache_free(backend, kv);
}

static int kv_init(const spec_backend *backend, spec_kv *kv, const spec_shape *shape,
                   spec_tensor_type type, int slots, spec_error *error)
{
    int status = spec_kv_cache_init(backend, kv, shape, type, slots, error);
    if (status != GSL_SUCCESS || shape->delta.n_layers == 0) return status;
    status = spec_delta_cache_init(&kv->opt_delta, shape, error);
    if (status != GSL_SUCCESS) kv_free(backend, kv);
    return status;
}

static size_t kv_bytes(const spec_shape *shape, spec_tensor_type type, int slots)
{
    return spec_kv_cache_bytes(shape, type, slots) + spec_delta_cache_bytes(&shape->delta);
}

/* ---- hybrids --------------------------------------------------------------------------------- */

static void delta(spec_queue *queue, float *y, const float *x, spec_kv *kv, int layer,
                  const spec_delta *of)
{
    const cpu_queue *q = queue->state;
    spec_delta_compute(&(spec_delta_work){&q->shape, q->kernels, q->path, q->batch, q->locked}, y,
                       x, kv->opt_delta, layer, of);
}

static int resume(spec_kv *kv, int length)
{
    return kv->opt_delta != NULL ? spec_delta_cache_resume(kv->opt_delta, length) : length;
}

static void sigmoid_gate(spec_queue *queue, float *y, const float *g, int width)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    spec_column_work_sigmoid_gate(&work, y, g, width);
}

static void sigmoid_scale(spec_queue *queue, float *y, int width, const float *x, const float *w)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    spec_column_work_sigmoid_scale(&work, y, width, x, w);
}

/* ---- draft heads ----------------------------------------------------------------------------- */

static int widen(spec_queue *queue, int cols, spec_error *error)
{
    cpu_queue *q = queue->state;
    free_memory(queue->backend, q->activation);
    return alloc_memory(queue->backend, &q->activation,
                        spec_product_activation_bytes(cols, SPEC_COLUMNS_MAX), error);
}

static void tap(spec_queue *queue, spec_kv *kv, int plane, const float *x)
{
    spec_taps_put(kv, plane, x, ((const cpu_queue *)queue->state)->batch);
}

static void gather(spec_queue *queue, float *y, const float *table, int width, const int *row)
{
    const size_t n = (size_t)width;
    for (int u = 0; u < ((const cpu_queue *)queue->state)->batch->n; u++)
        if (row[u] >= 0) memcpy(y + (size_t)u * n, table + (size_t)row[u] * n, n * sizeof *y);
}

static void join(spec_queue *queue, float *y, int width, int at, const float *x, int cols)
{
    for (int u = 0; u < ((const cpu_queue *)queue->state)->batch->n; u++)
        memcpy(y + (size_t)u * (size_t)width + at, x + (size_t)u * (size_t)cols,
               (size_t)cols * sizeof *y);
}

static void silu_add(spec_queue *queue, float *y, const float *opt_x, const float *h, int width)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    spec_column_work_silu_add(&work, y, opt_x, h, width);
}

static void norm_wide(spec_queue *queue, float *y, const float *x, const float *gain, int width)
{
    const cpu_queue *q = queue->state;
    const spec_column_work work = work_of(q, q->batch->n);
    spec_column_work_norm(&work, y, x, gain, width);
}

static int argmax(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error)
{
    const cpu_queue *q = queue->state;
    return spec_logits_argmax(ret_token, logits, n, q->shape.vocab, q->kernels, error);
}

static int rows(spec_queue *queue, double *const *row, const float *logits, double temperature,
                int n, spec_error *error)
{
    const cpu_queue *q = queue->state;
    spec_thread_pool *locked =
        spec_thread_pool_try_lock(spec_context_pool(queue->backend->opt_context));
    const int status =
        spec_logits_rows(row, logits, temperature, n, q->shape.vocab, q->kernels, locked, error);
    spec_thread_pool_unlock(locked);
    return status;
}

static int roofline(const spec_backend *backend, spec_roofline *ret, spec_error *error)
{
    (void)error;
    *ret = (spec_roofline){.read = spec_bandwidth_measure(spec_context_pool(backend->opt_context))};
    return GSL_SUCCESS;
}

const spec_backend spec_backend_cpu = {
    .name = "cpu",
    .device = "the processor",
    .close = close_backend,
    .check = check_memory,
    .piece = piece,
    .columns_bytes = columns_bytes,
    .alloc = alloc_memory,
    .free = free_memory,
    .put = copy,
    .get = copy,
    .computed_type = computed_type,
    .mixes_types = true,
    .matrix_init = spec_panel_matrices_init,
    .matrix_free = spec_panel_matrices_free,
    .matrix_bytes = spec_panel_matrices_bytes,
    .kv_init = kv_init,
    .kv_free = kv_free,
    .kv_bytes = kv_bytes,
    .half_kv = SPEC_TENSOR_F16,
    .computes_all = true,
    .queue_init = queue_init,
    .queue_free = queue_free,
    .queue_bytes = queue_bytes,
    .begin = begin,
    .end = end,
    .wait = wait,
    .embed = embed,
    .norm = norm,
    .matmul = matmul,
    .matmul_gated = matmul_gated,
    .rope = rope,
    .store = store,
    .attend = attend,
    .gate = gate,
    .stack_init = spec_panel_matrices_stack_init,
    .stack_free = spec_panel_matrices_stack_free,
    .experts = experts,
    .delta = delta,
    .resume = resume,
    .sigmoid_gate = sigmoid_gate,
    .sigmoid_scale = sigmoid_scale,
    .norm_add = norm_add,
    .cap = cap,
    .keep = keep,
    .taps_init = spec_taps_init,
    .tap = tap,
    .widen = widen,
    .gather = gather,
    .join = join,
    .silu_add = silu_add,
    .norm_wide = norm_wide,
    .argmax = argmax,
    .rows = rows,
    .roofline = roofline,
};
