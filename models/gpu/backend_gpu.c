#include "models/gpu/backend_gpu.h"

#include "models/gpu/card_roofline.h"
#include "models/gpu/launch_attention.h"
#include "models/gpu/launch_columns.h"
#include "models/gpu/launch_product.h"
#include "models/gpu/layout.h"
#include "models/gpu/recordings.h"
#include "models/gpu/upload.h"
#include "models/least.h"
#include "speclab/round.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKET_LEAST = 8,
    LONGEST_LEAST = 256,     /* positions: shorter texts launch as many blocks */
    SLOTS = 4,               /* uploads under way */
    ROWS_BYTES = 1 << 23     /* of rows that cross the bus at once, if one is not larger */
};

typedef struct {
    spec_backend head;
    char name[16];
    spec_card *card;
    spec_upload upload;
    bool records;
} gpu_backend;

/* What is copied to the card lies in pinned memory until it has been read: a slot for each upload since the last time
 * that the queue was waited for. */
typedef union {
    pass_batch batch;
    int from[SPEC_NODES_MAX];
} upload_slot;

/* What comes back. */
typedef struct {
    int token[PASS_COLUMNS], bad[PASS_COLUMNS];
} small_results;

typedef struct {
    const gpu_backend *on;
    spec_stream *stream;
    spec_shape shape;
    void *slot;  /* upload_slot (SLOTS), pinned */
    int uploads; /* since the last wait */
    void *batch; /* pass_batch; from here on the card's memory */
    void *from;      /* int (SPEC_NODES_MAX): slots that are kept */
    void *frequency; /* double (head_dim/2) */
    void *angles;    /* float (PASS_COLUMNS, head_dim/2, 2) */
    void *attention_work, *product_work, *logits_work;
    void *results, *results_here; /* small_results: the card's, and pinned */
    void *rows, *rows_here;       /* double; made when rows are first asked for */
    int bucket, wanted, longest; /* of the pass under way; wanted 0: none */
    spec_recordings recordings;
    spec_pass_kind kind; /* that is being recorded */
    bool recording;
    int status; /* the first failure, which is told ever after */
    spec_error error;
} gpu_queue;

static const gpu_backend *of(const spec_backend *backend)
{
    return backend->self;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int check_memory(const spec_backend *backend, size_t bytes, spec_error *error)
{
    return spec_card_check(of(backend)->card, bytes, error);
}

/* Enough for every format (pass_batch.h). */
static size_t columns_bytes(int width)
{
    const size_t columns = PASS_COLUMNS, floats = columns * (size_t)width * sizeof(float);
    const size_t padded = columns * (size_t)spec_least_pieces(width, OPERAND_INT8_ALIGN) * OPERAND_INT8_ALIGN;
    const size_t bytes = padded + padded / SPEC_TENSOR_BLOCK * sizeof(float), halves = padded * sizeof(uint16_t);
    const size_t more = bytes > halves ? bytes : halves;
    return floats > more ? floats : more;
}

static int alloc_memory(const spec_backend *backend, void **ret_memory, size_t bytes, spec_error *error)
{
    return spec_card_alloc(of(backend)->card, ret_memory, bytes, error);
}

static void free_memory(const spec_backend *backend, void *memory)
{
    if (memory != NULL) spec_card_free(of(backend)->card, memory);
}

static void put(const spec_backend *backend, void *to, const void *host, size_t bytes)
{
    spec_card_put(of(backend)->card, to, host, bytes);
}

static void get(const spec_backend *backend, void *host, const void *from, size_t bytes)
{
    spec_card_get(of(backend)->card, host, from, bytes);
}

/* ---- matrices, keys and values ------------------------------------------------------------------------------------ */

static void matrix_free(const spec_backend *backend, spec_matrix *matrix)
{
    free_memory(backend, matrix->data);
    *matrix = (spec_matrix){0};
}

static int matrix_init(const spec_backend *backend, spec_matrix *matrix, spec_tensor_type type,
                       const spec_tensor *part, int n_parts, spec_error *error)
{
    *matrix = (spec_matrix){.type = type, .cols = part[0].cols};
    for (int i = 0; i < n_parts; i++) matrix->rows += part[i].rows;
    matrix->bytes = spec_layout_bytes(type, matrix->rows, matrix->cols);
    int status = alloc_memory(backend, &matrix->data, matrix->bytes, error);
    if (status == GSL_SUCCESS)
        status = spec_upload_matrix((spec_upload *)&of(backend)->upload, matrix->data, type, part, n_parts, error);
    if (status != GSL_SUCCESS) matrix_free(backend, matrix);
    return status;
}

static size_t kv_bytes(const spec_shape *shape, spec_tensor_type type, int slots)
{
    const size_t width = type == SPEC_TENSOR_BF16 ? sizeof(uint16_t) : sizeof(float);
    return 2 * (size_t)shape->n_layers * (size_t)shape->n_kv_heads * (size_t)slots * (size_t)shape->head_dim * width;
}

static int kv_init(const spec_backend *backend, spec_kv *kv, const spec_shape *shape, spec_tensor_type type, int slots,
                   spec_error *error)
{
    assert(type == SPEC_TENSOR_F32 || type == SPEC_TENSOR_BF16);
    *kv = (spec_kv){shape->n_layers, slots, shape->n_kv_heads, shape->head_dim, type, NULL};
    return alloc_memory(backend, &kv->data, kv_bytes(shape, type, slots), error);
}

static void kv_free(const spec_backend *backend, spec_kv *kv)
{
    free_memory(backend, kv->data);
    *kv = (spec_kv){0};
}

/* ---- queues ------------------------------------------------------------------------------------------------------ */

static int power_of_two(int least, int n)
{
    while (least < n) least *= 2;
    return least;
}

static int longest_of(int positions)
{
    return power_of_two(LONGEST_LEAST, positions);
}

/* All that a queue allocates when it is made, the card's memory or pinned. */
enum { BUFFERS = 10 };
typedef struct {
    void **memory;
    size_t bytes;
    bool pinned;
} queue_buffer;

static void list_buffers(queue_buffer *ret_buffer, gpu_queue *q, const spec_shape *shape)
{
    const size_t half = (size_t)shape->head_dim / 2;
    const queue_buffer all[BUFFERS] = {
        {&q->slot, SLOTS * sizeof(upload_slot), true},
        {&q->results_here, sizeof(small_results), true},
        {&q->batch, sizeof(pass_batch), false},
        {&q->from, SPEC_NODES_MAX * sizeof(int), false},
        {&q->frequency, half * sizeof(double), false},
        {&q->angles, PASS_COLUMNS * half * 2 * sizeof(float), false},
        {&q->attention_work, spec_launch_attend_bytes(shape, longest_of(shape->context)), false},
        {&q->product_work, spec_launch_product_bytes(), false},
        {&q->logits_work, spec_launch_logits_bytes(shape->vocab, PASS_COLUMNS), false},
        {&q->results, sizeof(small_results), false},
    };
    memcpy(ret_buffer, all, sizeof all);
}

static int rows_at_once(int vocab)
{
    const int most = (int)(ROWS_BYTES / ((size_t)vocab * sizeof(double)));
    return most < 1 ? 1 : spec_least(most, PASS_COLUMNS);
}

static size_t rows_bytes(int vocab)
{
    return (size_t)rows_at_once(vocab) * (size_t)vocab * sizeof(double);
}

static size_t queue_bytes(const spec_shape *shape)
{
    gpu_queue none = {0};
    queue_buffer buffer[BUFFERS];
    size_t bytes = rows_bytes(shape->vocab);
    list_buffers(buffer, &none, shape);
    for (int i = 0; i < BUFFERS; i++)
        if (!buffer[i].pinned) bytes += buffer[i].bytes;
    return bytes;
}

static void queue_free(spec_queue *queue)
{
    gpu_queue *q = queue->state;
    if (q != NULL) {
        spec_card *card = q->on->card;
        queue_buffer buffer[BUFFERS];
        if (q->stream != NULL) spec_stream_wait(q->stream, NULL);
        spec_recordings_free(&q->recordings, card);
        list_buffers(buffer, q, &q->shape);
        for (int i = 0; i < BUFFERS; i++) {
            if (buffer[i].pinned) spec_card_pinned_free(card, *buffer[i].memory);
            else spec_card_free(card, *buffer[i].memory);
        }
        spec_card_free(card, q->rows);
        spec_card_pinned_free(card, q->rows_here);
        spec_stream_free(q->stream);
        free(q);
    }
    *queue = (spec_queue){0};
}

static int put_frequencies(gpu_queue *q, spec_error *error)
{
    const size_t half = (size_t)q->shape.head_dim / 2;
    double *frequency = malloc(half * sizeof *frequency);
    if (frequency == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (size_t i = 0; i < half; i++) {
        frequency[i] = pow(q->shape.rope_base, -2.0 * (double)i / q->shape.head_dim);
        if (q->shape.opt_rope_factor != NULL) frequency[i] /= (double)q->shape.opt_rope_factor[i];
    }
    spec_card_put(q->on->card, q->frequency, frequency, half * sizeof *frequency);
    free(frequency);
    return GSL_SUCCESS;
}

static int queue_init(const spec_backend *backend, spec_queue *queue, const spec_shape *shape, spec_error *error)
{
    int status = GSL_SUCCESS;
    queue_buffer buffer[BUFFERS];
    gpu_queue *q = calloc(1, sizeof *q);
    *queue = (spec_queue){backend, q};
    if (q == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    q->on = of(backend);
    q->shape = *shape;
    list_buffers(buffer, q, shape);
    for (int i = 0; i < BUFFERS; i++) {
        SPEC_TRY(buffer[i].pinned ? spec_card_pinned_alloc(q->on->card, buffer[i].memory, buffer[i].bytes, error)
                                  : spec_card_alloc(q->on->card, buffer[i].memory, buffer[i].bytes, error));
    }
    SPEC_TRY(spec_stream_init(&q->stream, q->on->card, error));
    SPEC_TRY(spec_recordings_init(&q->recordings, error));
    SPEC_TRY(put_frequencies(q, error));
done:
    if (status != GSL_SUCCESS) queue_free(queue);
    return status;
}

static int fail_queue(gpu_queue *q, spec_error *error)
{
    if (error != NULL) *error = q->error;
    return q->status;
}

static int wait_for(gpu_queue *q, spec_error *error)
{
    spec_error why = {""};
    const int status = spec_stream_wait(q->stream, &why);
    q->uploads = 0;
    if (q->status == GSL_SUCCESS && status != GSL_SUCCESS) {
        q->status = status;
        q->error = why;
    }
    return fail_queue(q, error);
}

static int wait(spec_queue *queue, spec_error *error)
{
    return wait_for(queue->state, error);
}

static upload_slot *next_slot(gpu_queue *q)
{
    if (q->uploads == SLOTS) wait_for(q, NULL);
    return (upload_slot *)q->slot + q->uploads++;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static int bucket_of(int n)
{
    return n == 0 ? 0 : power_of_two(BUCKET_LEAST, n);
}

/* The batch as it lies on the card, of which only what is filled is copied; returns the longest text of a column. */
static int put_batch(gpu_queue *q, const spec_batch *batch)
{
    pass_batch *here = &next_slot(q)->batch;
    const size_t n = (size_t)batch->n, paths = (size_t)batch->path_begin[n], each = n * sizeof *batch->token;
    int longest = 0;
    assert(batch->n >= 1 && batch->n <= PASS_COLUMNS && paths <= PASS_PATHS);
    here->n = batch->n;
    here->first = batch->first;
    memcpy(here->token, batch->token, each);
    memcpy(here->position, batch->position, each);
    memcpy(here->slot, batch->slot, each);
    memcpy(here->past, batch->past, each);
    memcpy(here->path_begin, batch->path_begin, each + sizeof *batch->path_begin);
    memcpy(here->path, batch->path, paths * sizeof *here->path);
    for (size_t u = 0; u < n; u++) {
        const int sees = batch->past[u] + batch->path_begin[u + 1] - batch->path_begin[u];
        if (sees > longest) longest = sees;
    }
    spec_stream_put(q->stream, q->batch, here, offsetof(pass_batch, path) + paths * sizeof *here->path);
    return longest;
}

static bool begin(spec_queue *queue, const spec_batch *batch, const spec_kv *kv, const int *layer, int n_layers)
{
    gpu_queue *q = queue->state;
    const int most = longest_of(q->shape.context);
    q->longest = longest_of(put_batch(q, batch));
    q->bucket = bucket_of(batch->n);
    q->wanted = bucket_of(batch->n - batch->first);
    if (q->longest > most) {
        q->longest = most;
        if (q->status == GSL_SUCCESS)
            q->status = spec_fail(&q->error, GSL_EINVAL, "a text is longer than the context of %d", q->shape.context);
    }
    if (q->status != GSL_SUCCESS) return true; /* nothing more is done */
    if (q->on->records && n_layers > 0) {
        q->kind = (spec_pass_kind){q->bucket, q->wanted, q->longest, kv, layer, n_layers};
        spec_recording *recording = spec_recordings_find(&q->recordings, &q->kind);
        if (recording != NULL) {
            spec_stream_replay(q->stream, recording);
            return true;
        }
        q->recording = true;
        spec_stream_record(q->stream);
    }
    spec_launch_angles(q->stream, q->angles, q->frequency, q->shape.head_dim / 2, q->batch, q->bucket);
    return false;
}

static void end(spec_queue *queue)
{
    gpu_queue *q = queue->state;
    if (!q->recording) return;
    q->recording = false;
    spec_recording *recording = spec_stream_recorded(q->stream);
    if (recording == NULL) {
        if (wait_for(q, NULL) == GSL_SUCCESS)
            q->status = spec_fail(&q->error, GSL_EFAILED, "%s: a pass could not be recorded", q->on->head.name);
        return;
    }
    if (spec_recordings_is_full(&q->recordings)) wait_for(q, NULL); /* one of them goes, and may be running */
    spec_stream_replay(q->stream, recording);
    if (q->status == GSL_SUCCESS)
        q->status = spec_recordings_add(&q->recordings, &q->kind, recording, q->on->card, &q->error);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void embed(spec_queue *queue, float *x, const spec_matrix *table)
{
    gpu_queue *q = queue->state;
    spec_launch_embed(q->stream, x, table, q->batch, q->bucket);
}

static operand_format format_of(const spec_matrix *opt_reader)
{
    return spec_launch_format(opt_reader != NULL ? opt_reader->type : SPEC_TENSOR_F32);
}

static void norm(spec_queue *queue, float *y, const float *x, const float *gain, spec_columns columns,
                 const spec_matrix *reader)
{
    gpu_queue *q = queue->state;
    const bool wanted = columns == SPEC_COLUMNS_WANTED;
    spec_launch_norm(q->stream, y, x, gain, q->shape.dim, q->shape.norm_eps, wanted, format_of(reader), q->batch,
                     wanted ? q->wanted : q->bucket);
}

static void matmul(spec_queue *queue, float *y, const spec_matrix *w, const float *x, const float *opt_bias, bool add,
                   spec_columns columns)
{
    gpu_queue *q = queue->state;
    const bool wanted = columns == SPEC_COLUMNS_WANTED;
    spec_launch_product(q->stream, y, w, x, opt_bias, add, wanted, q->product_work, q->batch,
                        wanted ? q->wanted : q->bucket);
}

static void rope(spec_queue *queue, float *qkv)
{
    (void)queue, (void)qkv; /* store does it */
}

static void store(spec_queue *queue, spec_kv *kv, int layer, float *qkv)
{
    gpu_queue *q = queue->state;
    spec_launch_place(q->stream, kv, layer, qkv, q->shape.n_heads, q->angles, q->shape.rope_pairs, q->batch, q->bucket);
}

static void attend(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer,
                   const spec_matrix *reader)
{
    gpu_queue *q = queue->state;
    spec_launch_attend(q->stream, o, qkv, kv, layer, q->shape.n_heads, format_of(reader), q->attention_work,
                       q->longest, q->batch, q->bucket);
}

static void gate(spec_queue *queue, float *y, const float *h, const spec_matrix *reader)
{
    gpu_queue *q = queue->state;
    spec_launch_gate(q->stream, y, h, q->shape.ffn_dim, format_of(reader), q->batch, q->bucket);
}

static void keep(spec_queue *queue, spec_kv *kv, const int *from, int to, int n)
{
    gpu_queue *q = queue->state;
    assert(n <= SPEC_NODES_MAX);
    int *here = next_slot(q)->from;
    memcpy(here, from, (size_t)n * sizeof *here);
    spec_stream_put(q->stream, q->from, here, (size_t)n * sizeof *here);
    spec_launch_keep(q->stream, kv, q->from, to, n);
}

/* ---- what is read out of logits ---------------------------------------------------------------------------------- */

static int fail_logits(spec_error *error)
{
    return spec_fail(error, GSL_EDOM, "the model's logits are not finite: its weights are broken, or overflow");
}

static int argmax(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error)
{
    gpu_queue *q = queue->state;
    small_results *there = q->results, *here = q->results_here;
    spec_launch_argmax(q->stream, there->token, logits, q->shape.vocab, n, q->logits_work);
    spec_stream_get(q->stream, here->token, there->token, (size_t)n * sizeof *ret_token);
    const int status = wait_for(q, error);
    if (status != GSL_SUCCESS) return status;
    for (int i = 0; i < n; i++) {
        if (here->token[i] < 0) return fail_logits(error);
        ret_token[i] = here->token[i];
    }
    return GSL_SUCCESS;
}

static int make_rows(gpu_queue *q, spec_error *error)
{
    if (q->rows_here != NULL) return GSL_SUCCESS;
    const size_t bytes = rows_bytes(q->shape.vocab);
    int status = GSL_SUCCESS;
    if (q->rows == NULL) SPEC_TRY(spec_card_alloc(q->on->card, &q->rows, bytes, error));
    SPEC_TRY(spec_card_pinned_alloc(q->on->card, &q->rows_here, bytes, error));
done:
    return status;
}

static int rows(spec_queue *queue, double *const *row, const float *logits, double temperature, int n,
                spec_error *error)
{
    gpu_queue *q = queue->state;
    const size_t vocab = (size_t)q->shape.vocab;
    const int at_once = rows_at_once(q->shape.vocab);
    small_results *there = q->results, *here = q->results_here;
    int status = GSL_SUCCESS;
    SPEC_TRY(q->status != GSL_SUCCESS ? fail_queue(q, error) : make_rows(q, error));
    for (int done = 0; done < n; done += at_once) {
        const int some = spec_least(at_once, n - done);
        spec_launch_rows(q->stream, q->rows, there->bad, logits + (size_t)done * vocab, q->shape.vocab, temperature,
                         some, q->logits_work);
        spec_stream_get(q->stream, here->bad, there->bad, (size_t)some * sizeof *here->bad);
        spec_stream_get(q->stream, q->rows_here, q->rows, (size_t)some * vocab * sizeof(double));
        SPEC_TRY(wait_for(q, error));
        for (int i = 0; i < some; i++) {
            if (here->bad[i] != 0) SPEC_TRY(fail_logits(error));
            memcpy(row[done + i], (const double *)q->rows_here + (size_t)i * vocab, vocab * sizeof(double));
        }
    }
done:
    return status;
}

/* ---- the backend -------------------------------------------------------------------------------------------------- */

static void close_backend(const spec_backend *backend)
{
    gpu_backend *own = backend->self;
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
    .columns_bytes = columns_bytes,
    .alloc = alloc_memory,
    .free = free_memory,
    .put = put,
    .get = get,
    .matrix_init = matrix_init,
    .matrix_free = matrix_free,
    .matrix_bytes = spec_layout_bytes,
    .kv_init = kv_init,
    .kv_free = kv_free,
    .kv_bytes = kv_bytes,
    .keeps_bf16 = true,
    .queue_init = queue_init,
    .queue_free = queue_free,
    .queue_bytes = queue_bytes,
    .begin = begin,
    .end = end,
    .wait = wait,
    .embed = embed,
    .norm = norm,
    .matmul = matmul,
    .rope = rope,
    .store = store,
    .attend = attend,
    .gate = gate,
    .keep = keep,
    .argmax = argmax,
    .rows = rows,
    .roofline = roofline,
};

int spec_backend_gpu_open(const spec_backend **ret_backend, int ordinal, spec_error *error)
{
    int status = GSL_SUCCESS;
    gpu_backend *own = calloc(1, sizeof *own);
    *ret_backend = NULL;
    if (own == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_card_open(&own->card, ordinal, error));
    SPEC_TRY(spec_upload_init(&own->upload, own->card, error));
    snprintf(own->name, sizeof own->name, "gpu:%d", ordinal);
    const char *records = getenv("SPECLAB_GPU_RECORD");
    own->records = records == NULL || strcmp(records, "0") != 0;
    own->head = operations;
    own->head.name = own->name;
    own->head.device = spec_card_name(own->card);
    own->head.self = own;
    *ret_backend = &own->head;
    own = NULL;
done:
    if (own != NULL && own->card != NULL) spec_card_close(own->card);
    free(own);
    return status;
}
