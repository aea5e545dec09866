/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/backend_gpu.h"

#include "base/int_math.h"
#include "models/context.h"
#include "models/gpu/card_roofline.h"
#include "models/gpu/launch_attention.h"
#include "models/gpu/launch_columns.h"
#include "models/gpu/launch_product.h"
#include "models/gpu/layout.h"
#include "models/gpu/pass_queue.h"
#include "models/gpu/upload.h"
#include "models/transformer/engine/logits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_backend head;
    char name[16];
    spec_card *card;
    spec_upload upload;
    bool records;
} gpu_backend;

static gpu_backend *of(const spec_backend *backend)
{
    return backend->self;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int check_memory(const spec_backend *backend, size_t bytes, spec_error *error)
{
    return spec_card_check(of(backend)->card, bytes, error);
}

/* Returns a number of bytes that suffices for every format (pass_batch.h). */
static size_t columns_bytes(int width)
{
    const size_t columns = PASS_COLUMNS, floats = columns * (size_t)width * sizeof(float);
    const size_t padded =
        columns * (size_t)spec_int_ceil_div(width, OPERAND_INT8_ALIGN) * OPERAND_INT8_ALIGN;
    const size_t bytes = padded + padded / SPEC_TENSOR_BLOCK * sizeof(float),
                 halves = padded * sizeof(uint16_t);
    const size_t more = bytes > halves ? bytes : halves;
    return floats > more ? floats : more;
}

static int alloc_memory(const spec_backend *backend, void **ret_memory, size_t bytes,
                        spec_error *error)
{
    return spec_card_alloc(of(backend)->card, ret_memory, bytes, error);
}

static void free_memory(const spec_backend *backend, void *memory)
{
    spec_card_free(of(backend)->card, memory);
}

static void put(const spec_backend *backend, void *to, const void *host, size_t bytes)
{
    spec_card_put(of(backend)->card, to, host, bytes);
}

static void get(const spec_backend *backend, void *host, const void *from, size_t bytes)
{
    spec_card_get(of(backend)->card, host, from, bytes);
}

/* ---- matrices, keys and values --------------------------------------------------------------- */

static void matrix_free(const spec_backend *backend, spec_matrix *matrix)
{
    free_memory(backend, matrix->data);
    *matrix = (spec_matrix){0};
}

static spec_tensor_type computed_type(spec_tensor_type type)
{
    return (int)type < SPEC_LAYOUT_TYPES ? type : SPEC_TENSOR_Q8_0;
}

static int matrix_init(const spec_backend *backend, spec_matrix *matrix, spec_tensor_type type,
                       const spec_tensor *part, int n_parts, bool gated, spec_error *error)
{
    *matrix = (spec_matrix){.type = type, .cols = part[0].cols};
    for (int i = 0; i < n_parts; i++) matrix->rows += part[i].rows;
    matrix->bytes = spec_layout_bytes(type, matrix->rows, matrix->cols);
    int status = alloc_memory(backend, &matrix->data, matrix->bytes, error);
    if (status == GSL_SUCCESS)
        status = spec_upload_matrix(&of(backend)->upload, matrix->data, type, part, n_parts, gated,
                                    error);
    if (status != GSL_SUCCESS) matrix_free(backend, matrix);
    return status;
}

static size_t kv_bytes(const spec_shape *shape, spec_tensor_type type, int slots)
{
    const size_t width = type == SPEC_TENSOR_BF16 ? sizeof(uint16_t) : sizeof(float);
    return 2 * (size_t)shape->n_layers * (size_t)shape->n_kv_heads * (size_t)slots *
           (size_t)shape->head_dim * width;
}

static int kv_init(const spec_backend *backend, spec_kv *kv, const spec_shape *shape,
                   spec_tensor_type type, int slots, spec_error *error)
{
    assert(type == SPEC_TENSOR_F32 || type == SPEC_TENSOR_BF16);
    *kv = (spec_kv){.layers = shape->n_layers,
                    .slots = slots,
                    .n_kv_heads = shape->n_kv_heads,
                    .head_dim = shape->head_dim,
                    .type = type};
    return alloc_memory(backend, &kv->data, kv_bytes(shape, type, slots), error);
}

static void kv_free(const spec_backend *backend, spec_kv *kv)
{
    free_memory(backend, kv->data);
    *kv = (spec_kv){0};
}

/* ---- queues ---------------------------------------------------------------------------------- */

static int queue_init(const spec_backend *backend, spec_queue *queue, const spec_shape *shape,
                      spec_error *error)
{
    spec_pass_queue *q;
    const int status =
        spec_pass_queue_init(&q, of(backend)->card, of(backend)->records, shape, error);
    *queue = (spec_queue){q != NULL ? backend : NULL, q};
    return status;
}

static void queue_free(spec_queue *queue)
{
    spec_pass_queue_free(queue->state);
    *queue = (spec_queue){0};
}

static bool begin(spec_queue *queue, const spec_batch *batch, const spec_kv *kv,
                  const int *sublayer, int n_sublayers)
{
    assert(batch->window == 0); /* computes_all is false */
    return spec_pass_queue_begin(queue->state, batch, kv, sublayer, n_sublayers);
}

static void end(spec_queue *queue)
{
    spec_pass_queue_end(queue->state);
}

static int wait(spec_queue *queue, spec_error *error)
{
    return spec_pass_queue_wait(queue->state, error);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void embed(spec_queue *queue, float *x, const spec_matrix *table)
{
    spec_launch_embed(spec_pass_queue_launch(queue->state, false), x, table);
}

static operand_format format_of(const spec_matrix *opt_reader)
{
    return spec_launch_format(opt_reader != NULL ? opt_reader->type : SPEC_TENSOR_F32);
}

static void norm(spec_queue *queue, float *y, const float *x, const float *gain,
                 spec_columns columns, const spec_matrix *reader)
{
    spec_pass_queue *q = queue->state;
    spec_launch_norm(spec_pass_queue_launch(q, columns == SPEC_COLUMNS_WANTED), y, x, gain,
                     q->shape.dim, q->shape.norm_eps, format_of(reader));
}

static void matmul(spec_queue *queue, float *y, const spec_matrix *w, const float *x,
                   const float *opt_bias, bool add, spec_columns columns)
{
    spec_pass_queue *q = queue->state;
    spec_launch_product(spec_pass_queue_launch(q, columns == SPEC_COLUMNS_WANTED), y, w, x,
                        opt_bias, add, q->product_work);
}

static void matmul_gated(spec_queue *queue, float *y, float *opt_h, const spec_matrix *w,
                         const float *x, const spec_matrix *reader)
{
    (void)opt_h; /* the values before the gate stay in registers */
    spec_pass_queue *q = queue->state;
    spec_launch_product_gated(spec_pass_queue_launch(q, false), y, w, x, format_of(reader),
                              q->product_work);
}

static void rope(spec_queue *queue, float *qkv, const spec_attending *opt_how)
{
    (void)opt_how;          /* computes_all is false */
    (void)queue, (void)qkv; /* spec_launch_place does both */
}

static void store(spec_queue *queue, spec_kv *kv, int layer, float *qkv)
{
    spec_pass_queue *q = queue->state;
    spec_launch_place(spec_pass_queue_launch(q, false), kv, layer, qkv, q->shape.n_heads, q->angles,
                      q->shape.rope_pairs);
}

static void attend(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer,
                   const spec_attending *opt_how, const spec_matrix *reader)
{
    (void)opt_how;
    spec_pass_queue *q = queue->state;
    spec_launch_attend(spec_pass_queue_launch(q, false), o, qkv, kv, layer, q->shape.n_heads,
                       format_of(reader), q->attention_work);
}

static void keep(spec_queue *queue, spec_kv *kv, const int *from, int to, int n)
{
    spec_pass_queue *q = queue->state;
    spec_pass_queue_put_slots(q, from, n);
    spec_launch_keep(q->stream, kv, q->from, to, n);
}

/* -- results from logits -- */

static int fail_logits(spec_error *error)
{
    return spec_fail(error, GSL_EDOM,
                     "the model's logits are not finite: its weights are broken, or overflow");
}

static int argmax(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error)
{
    spec_pass_queue *q = queue->state;
    int *here = q->results;
    spec_launch_argmax(q->stream, here, logits, q->shape.vocab, n, q->logits_work);
    const int status = spec_pass_queue_wait(q, error);
    if (status != GSL_SUCCESS) return status;
    for (int i = 0; i < n; i++) {
        if (here[i] < 0) return fail_logits(error);
        ret_token[i] = here[i];
    }
    return GSL_SUCCESS;
}

/* Copies logits to the host, because they are half as large as rows, and turns them into rows as on
 * the CPU, with the same bits. */
static int rows(spec_queue *queue, double *const *row, const float *logits, double temperature,
                int n, spec_error *error)
{
    spec_pass_queue *q = queue->state;
    const int vocab = q->shape.vocab, at_once = spec_pass_queue_rows_at_once(q);
    spec_thread_pool *const pool = spec_context_pool(queue->backend->opt_context);
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_pass_queue_status(q, error));
    SPEC_TRY(spec_pass_queue_make_rows(q, error));
    for (int done = 0; done < n; done += at_once) {
        const int some = spec_int_min(at_once, n - done);
        const size_t from = (size_t)done * (size_t)vocab, all = (size_t)some * (size_t)vocab;
        spec_stream_get(q->stream, q->logits_here, logits + from, all * sizeof *logits);
        SPEC_TRY(spec_pass_queue_wait(q, error));
        spec_thread_pool *locked = spec_thread_pool_try_lock(pool);
        status = spec_logits_rows(row + done, q->logits_here, temperature, some, vocab,
                                  spec_vector_kernels_of(spec_cpu_isa()), locked, error);
        spec_thread_pool_unlock(locked);
        SPEC_TRY(status);
    }
done:
    return status;
}

/* ---- sampling -------------------------------------------------------------------------------- */

static int draw(spec_queue *queue, const spec_draw_request *request, int i, spec_error *error)
{
    spec_pass_queue *q = queue->state;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_pass_queue_status(q, error));
    SPEC_TRY(spec_pass_queue_make_sampling(q, error));
    spec_sampling_gpu_draw(q->sampling, request, i);
done:
    return status;
}

static int drawn(spec_queue *queue, int *ret_token, int n, spec_error *error)
{
    spec_pass_queue *q = queue->state;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_pass_queue_status(q, error));
    status = spec_sampling_gpu_drawn(q->sampling, ret_token, n, error);
done:
    return status;
}

static int verify(spec_queue *queue, spec_chain_outcome *outcome, const float *logits,
                  const spec_chain_request *request, spec_error *error)
{
    spec_pass_queue *q = queue->state;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_pass_queue_status(q, error));
    SPEC_TRY(spec_pass_queue_make_sampling(q, error));
    status = spec_sampling_gpu_verify(q->sampling, outcome, logits, request, error);
done:
    return status;
}

/* ---- the backend ----------------------------------------------------------------------------- */

static void close_backend(const spec_backend *backend)
{
    gpu_backend *own = of(backend);
    spec_upload_free(&own->upload);
    spec_card_close(own->card);
    free(own);
}

static int roofline(const spec_backend *backend, spec_roofline *ret, spec_error *error)
{
    return spec_card_roofline(ret, of(backend)->card, error);
}

static const spec_backend operations = {
    .close = close_backend,
    .check = check_memory,
    .piece = spec_card_piece,
    .columns_bytes = columns_bytes,
    .alloc = alloc_memory,
    .free = free_memory,
    .put = put,
    .get = get,
    .computed_type = computed_type,
    .matrix_init = matrix_init,
    .matrix_free = matrix_free,
    .matrix_bytes = spec_layout_bytes,
    .kv_init = kv_init,
    .kv_free = kv_free,
    .kv_bytes = kv_bytes,
    .half_kv = SPEC_TENSOR_BF16,
    .queue_init = queue_init,
    .queue_free = queue_free,
    .queue_bytes = spec_pass_queue_bytes,
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
    .keep = keep,
    .argmax = argmax,
    .rows = rows,
    .law_bytes = spec_sampling_gpu_law_bytes,
    .draw = draw,
    .drawn = drawn,
    .verify = verify,
    .launches_of_attention = 6, /* norm, product, place, attend, combine, product */
    .launches_of_ffn = 3,       /* norm, product, product */
    .launches_of_pass = 5,      /* write, angles, embed, norm, product */
    .roofline = roofline,
};

int spec_backend_gpu_open(const spec_backend **ret_backend, spec_context *context, int ordinal,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    gpu_backend *own = calloc(1, sizeof *own);
    *ret_backend = NULL;
    if (own == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_card_open(&own->card, context->cards, ordinal, error));
    SPEC_TRY(spec_upload_init(&own->upload, own->card, context->pool, error));
    snprintf(own->name, sizeof own->name, "gpu:%d", ordinal);
    own->records = !context->gpu.unrecorded;
    own->head = operations;
    own->head.name = own->name;
    own->head.device = spec_card_name(own->card);
    own->head.self = own;
    own->head.opt_context = context;
    *ret_backend = &own->head;
    own = NULL;
done:
    if (own != NULL && own->card != NULL) spec_card_close(own->card);
    free(own);
    return status;
}
