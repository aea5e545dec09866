/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/context.h"
#include "models/gpu/launch_attention.h"
#include "models/gpu/launch_columns.h"
#include "models/gpu/launch_product.h"
#include "models/gpu/layout.h"
#include "tests/bench/gpu/gpu_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times single kernels of a large model, repeated in a recording, with the GPU's clock, to see
 * where a slow pass spends its time. Operands are random, since a GPU may run faster on zeros. */
enum { LAUNCHES = 24, REPEATS = 5, CACHES = 3, SHEET = 1 << 18 /* random words, repeated */ };

static const int widths[] = {1, 8, 64};

typedef struct {
    gpu_rows *rows;
    spec_card *card;
    spec_stream *stream;
    void *x, *y, *workspace, *batch;
    uint16_t *sheet; /* (SHEET) */
    bool tiny;
    spec_error *error;
} bench;

/* A launch; i is its index. */
typedef struct {
    spec_matrix matrix;
    int copies; /* copies of the matrix, or layers, one after another: more than the cache holds */
    spec_kv kv;
    int n, bucket, text, n_heads;
} job;
typedef void launch(const bench *b, const job *j, int i);

static int bucket_of(int n)
{
    return n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : 64;
}

static int put_batch(const bench *b, int text, int n)
{
    pass_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return spec_fail(b->error, GSL_ENOMEM, "out of memory");
    batch->n = n;
    for (int u = 0; u < n; u++) {
        batch->position[u] = batch->slot[u] = batch->past[u] = batch->path[u] = text + u;
        batch->path_begin[u + 1] = u + 1;
    }
    spec_card_put(b->card, b->batch, batch, sizeof *batch);
    free(batch);
    return GSL_SUCCESS;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Fills memory with words that are finite in every format: F16 from 0.5 to 1 with either sign, so
 * that the scales of quantised weights are finite, too; small numbers as BF16 or, in pairs, as
 * floats; and, as bytes, any byte followed by one of eight values. */
static uint16_t *draw_sheet(void)
{
    uint16_t *sheet = malloc(SHEET * sizeof *sheet);
    uint64_t random = 42;
    for (int i = 0; i < SHEET && sheet != NULL; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        sheet[i] = (uint16_t)((random >> 40 & 0x83ff) | 0x3800);
    }
    return sheet;
}

static int alloc_random(const bench *b, void **ret_memory, size_t bytes)
{
    const size_t piece = SHEET * sizeof *b->sheet;
    const int status = spec_card_alloc(b->card, ret_memory, bytes, b->error);
    for (size_t at = 0; at < bytes && status == GSL_SUCCESS; at += piece)
        spec_card_put(b->card, (char *)*ret_memory + at, b->sheet,
                      bytes - at < piece ? bytes - at : piece);
    return status;
}

/* Clears the beginning of y, so that we see whether a launch wrote anything. */
enum { SEEN = 64 };

static void clear_result(const bench *b)
{
    const char zeros[SEEN] = {0};
    spec_card_put(b->card, b->y, zeros, sizeof zeros);
}

static int check_result(const bench *b)
{
    const char zeros[SEEN] = {0};
    char seen[SEEN];
    spec_card_get(b->card, seen, b->y, sizeof seen);
    return memcmp(seen, zeros, sizeof seen) != 0
               ? GSL_SUCCESS
               : spec_fail(b->error, GSL_EFAILED, "a kernel was timed on zeros, or wrote nothing");
}

/* Seconds per launch. */
static int measure(double *ret, const bench *b, launch *run, const job *j)
{
    int status = GSL_SUCCESS;
    const int launches = b->tiny ? 2 : LAUNCHES;
    double least = INFINITY;
    clear_result(b);
    spec_stream_record(b->stream);
    for (int i = 0; i < launches; i++) run(b, j, i);
    spec_error why = {{0}};
    spec_recording *recording = spec_stream_recorded(b->stream, &why);
    SPEC_TRY(spec_stream_wait(b->stream, b->error));
    if (recording == NULL)
        SPEC_TRY(
            spec_fail(b->error, GSL_EFAILED, "launches could not be recorded: %.250s", why.text));
    for (int r = 0; r < (b->tiny ? 1 : REPEATS); r++) {
        spec_stream_mark(b->stream, 0);
        spec_stream_replay(b->stream, recording);
        spec_stream_mark(b->stream, 1);
        SPEC_TRY(spec_stream_wait(b->stream, b->error));
        const double seconds = spec_stream_seconds(b->stream) / launches;
        if (seconds < least) least = seconds;
    }
    SPEC_TRY(check_result(b));
    *ret = least;
done:
    spec_recording_free(b->card, recording);
    return status;
}

static int tell(const bench *b, double seconds, double bytes, const char *what)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(gpu_rows_add(b->rows, GPU_TOLD, 0.0, 1e6 * seconds, "us", "%s", what));
    if (bytes > 0.0 && b->rows->roofline.read > 0.0)
        SPEC_TRY(gpu_rows_add(b->rows, GPU_TOLD, 0.0, bytes / seconds / b->rows->roofline.read, "",
                              "%s, share of reading", what));
done:
    return status;
}

/* ---- products -------------------------------------------------------------------------------- */

static spec_launch launch_of(const bench *b, const job *j, int longest)
{
    return (spec_launch){
        .stream = b->stream, .batch = b->batch, .bucket = j->bucket, .longest = longest};
}

static void run_product(const bench *b, const job *j, int i)
{
    spec_matrix matrix = j->matrix;
    matrix.data = (char *)matrix.data + (size_t)(i % j->copies) * matrix.bytes;
    spec_launch_product(launch_of(b, j, 0), b->y, &matrix, b->x, NULL, false, b->workspace);
}

static int measure_product(const bench *b, spec_tensor_type type, int rows, int cols)
{
    int status = GSL_SUCCESS;
    void *memory = NULL;
    char what[100];
    double seconds;
    job j = {.matrix = {type, rows, cols, NULL, spec_layout_bytes(type, rows, cols)}};
    j.copies = b->tiny ? 1 : 1 + (int)(CACHES * spec_card_cache(b->card) / j.matrix.bytes);
    SPEC_TRY(alloc_random(b, &memory, (size_t)j.copies * j.matrix.bytes));
    j.matrix.data = memory;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        j.n = widths[i];
        j.bucket = bucket_of(j.n);
        SPEC_TRY(put_batch(b, 0, j.n));
        SPEC_TRY(measure(&seconds, b, run_product, &j));
        snprintf(what, sizeof what, "product %s, %d x %d, %d", spec_tensor_type_names[type], rows,
                 cols, j.n);
        SPEC_TRY(tell(b, seconds, (double)j.matrix.bytes, what));
    }
done:
    spec_card_free(b->card, memory);
    return status;
}

/* ---- the rest of a layer --------------------------------------------------------------------- */

static void run_attend(const bench *b, const job *j, int i)
{
    int longest = 256;
    while (longest < j->text + j->n) longest *= 2;
    spec_launch_attend(launch_of(b, j, longest), b->y, b->x, &j->kv, i % j->copies, j->n_heads,
                       OPERAND_BF16, b->workspace);
}

static void run_norm(const bench *b, const job *j, int i)
{
    (void)i;
    spec_launch_norm(launch_of(b, j, 0), b->y, b->x, b->x, j->matrix.cols, 1e-5f, OPERAND_BF16);
}

static int measure_norms(const bench *b, const gpu_model *model)
{
    int status = GSL_SUCCESS;
    char what[100];
    double seconds;
    job j = {.matrix.cols = model->dim};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        j.n = widths[i];
        j.bucket = bucket_of(j.n);
        SPEC_TRY(put_batch(b, 0, j.n));
        SPEC_TRY(measure(&seconds, b, run_norm, &j));
        snprintf(what, sizeof what, "norm of %d, %d", model->dim, j.n);
        SPEC_TRY(tell(b, seconds, 0.0, what));
    }
done:
    return status;
}

/* Attends to a text of `text` tokens, using the KV caches of several layers in turn. */
static int measure_attention(const bench *b, const gpu_model *model, int text)
{
    int status = GSL_SUCCESS;
    void *memory = NULL;
    char what[100];
    double seconds;
    const int head_dim = model->dim / model->heads, slots = text + SPEC_COLUMNS_MAX;
    const size_t layer = 4 * (size_t)model->kv_heads * (size_t)slots * (size_t)head_dim;
    job j = {.text = text, .n_heads = model->heads, .copies = 1};
    if (!b->tiny) j.copies += (int)(CACHES * spec_card_cache(b->card) / layer);
    SPEC_TRY(alloc_random(b, &memory, (size_t)j.copies * layer));
    j.kv = (spec_kv){.layers = j.copies,
                     .slots = slots,
                     .n_kv_heads = model->kv_heads,
                     .head_dim = head_dim,
                     .type = SPEC_TENSOR_BF16,
                     .data = memory};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        j.n = widths[i];
        j.bucket = bucket_of(j.n);
        SPEC_TRY(put_batch(b, text, j.n));
        SPEC_TRY(measure(&seconds, b, run_attend, &j));
        snprintf(what, sizeof what, "attention of %d/%d heads after %d, %d", model->heads,
                 model->kv_heads, text, j.n);
        SPEC_TRY(tell(b, seconds, 4.0 * model->kv_heads * head_dim * (text + j.n), what));
    }
done:
    spec_card_free(b->card, memory);
    return status;
}

/* -- all kernels -- */

static int open_bench(bench *b, const gpu_model *model)
{
    int status = GSL_SUCCESS;
    const spec_shape shape = {.dim = model->dim,
                              .n_layers = 1,
                              .n_heads = model->heads,
                              .n_kv_heads = model->kv_heads,
                              .head_dim = model->dim / model->heads,
                              .ffn_dim = model->ffn,
                              .vocab = model->vocab,
                              .context = 2 * (model->text + model->long_text + SPEC_COLUMNS_MAX)};
    size_t workspace = spec_launch_attend_bytes(&shape, 2 * shape.context);
    const size_t product = spec_launch_product_bytes();
    const int widest = model->ffn > model->vocab ? model->ffn : model->vocab;
    const size_t columns = (size_t)SPEC_COLUMNS_MAX * 3 * (size_t)widest;
    if (product > workspace) workspace = product;
    const spec_backend *backend = b->rows->backend;
    SPEC_TRY(spec_card_open(&b->card, backend->opt_context->cards,
                            atoi(strchr(backend->name, ':') + 1), b->error));
    SPEC_TRY(spec_stream_init(&b->stream, b->card, b->error));
    if ((b->sheet = draw_sheet()) == NULL)
        SPEC_TRY(spec_fail(b->error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(alloc_random(b, &b->x, columns * sizeof(float)));
    SPEC_TRY(spec_card_alloc(b->card, &b->y, columns * sizeof(float), b->error));
    SPEC_TRY(spec_card_alloc(b->card, &b->workspace, workspace, b->error));
    SPEC_TRY(spec_card_alloc(b->card, &b->batch, sizeof(pass_batch), b->error));
done:
    return status;
}

static void close_bench(bench *b)
{
    free(b->sheet);
    if (b->card == NULL) return;
    void *const memory[] = {b->x, b->y, b->workspace, b->batch};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        spec_card_free(b->card, memory[i]);
    spec_stream_free(b->stream);
    spec_card_close(b->card);
}

int gpu_measure_kernels(gpu_rows *rows, const gpu_model *model, bool tiny, spec_error *error)
{
    int status = GSL_SUCCESS;
    bench b = {.rows = rows, .tiny = tiny, .error = error};
    enum { LARGEST = 2, SHAPES = 5 };
    const int shapes[SHAPES][2] = {
        {(model->heads + 2 * model->kv_heads) * (model->dim / model->heads), model->dim},
        {model->dim, model->dim},
        {2 * model->ffn, model->dim},
        {model->dim, model->ffn},
        {model->vocab, model->dim}};
    SPEC_TRY(open_bench(&b, model));
    for (int type = 0; type < SPEC_LAYOUT_TYPES; type++) {
        const bool promised = type == SPEC_TENSOR_BF16 || type == SPEC_TENSOR_Q8_0;
        for (int s = promised ? 0 : LARGEST; s <= (promised ? SHAPES - 1 : LARGEST); s++)
            SPEC_TRY(measure_product(&b, (spec_tensor_type)type, shapes[s][0], shapes[s][1]));
    }
    SPEC_TRY(measure_norms(&b, model));
    SPEC_TRY(measure_attention(&b, model, model->text));
    SPEC_TRY(measure_attention(&b, model, model->text + model->long_text));
done:
    close_bench(&b);
    return status;
}
