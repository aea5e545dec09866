/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/int_math.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/engine/forward.h"
#include "tests/bench/gpu/gpu_rows.h"
#include "tests/support/contexts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int columns;
    double asked; /* goal: at most this multiple of a pass of one token; 0: none */
} widths[] = {{1, 0.0}, {2, 0.0}, {4, 0.0}, {8, 1.1}, {16, 0.0}, {32, 0.0}, {64, 1.6}};

typedef struct {
    spec_checkpoint layer_of, checkpoint; /* layer_of has one layer; checkpoint borrows it for every
                                           * layer */
    spec_weights weights;
    spec_forward forward;
    spec_kv kv;
    spec_batch batch;
    int *sublayer, *path;
    int slots;
} bench;

static void close_bench(bench *b)
{
    const spec_backend *backend = b->weights.backend;
    if (backend != NULL) backend->kv_free(backend, &b->kv);
    spec_forward_free(&b->forward);
    spec_weights_free(&b->weights);
    free(b->checkpoint.layer);
    spec_checkpoint_free(&b->layer_of);
    free(b->sublayer);
    free(b->path);
    free(b);
}

/* Draws one layer's weights on the host and uploads them for every layer: they take their full
 * memory and bandwidth on the GPU, and little on the host. */
static int open_weights(bench *b, const gpu_model *model, spec_tensor_type type,
                        const spec_backend *backend, spec_error *error)
{
    int status = GSL_SUCCESS;
    char spec[256];
    spec_settings settings = {0};
    snprintf(spec, sizeof spec,
             "random?dim=%d&layers=1&heads=%d&kv_heads=%d&ffn=%d&vocab=%d&type=%s", model->dim,
             model->heads, model->kv_heads, model->ffn, model->vocab, spec_tensor_type_names[type]);
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    SPEC_TRY(spec_checkpoint_load_random(&b->layer_of, &settings, spec_test_pool(0), error));
    spec_checkpoint_draw(&b->layer_of);
    b->checkpoint = b->layer_of;
    b->checkpoint.shape.n_layers = model->layers;
    b->checkpoint.layer = malloc((size_t)model->layers * sizeof *b->checkpoint.layer);
    b->sublayer = malloc(2 * (size_t)model->layers * sizeof *b->sublayer);
    if (b->checkpoint.layer == NULL || b->sublayer == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    for (int i = 0; i < model->layers; i++) {
        b->checkpoint.layer[i] = b->layer_of.layer[0];
        b->sublayer[2 * i] = 2 * i;
        b->sublayer[2 * i + 1] = 2 * i + 1;
    }
    SPEC_TRY(spec_weights_init(&b->weights, &b->checkpoint, type, backend, error));
done:
    spec_settings_free(&settings);
    return status;
}

static int open_bench(bench **ret, const gpu_model *model, spec_tensor_type type,
                      const spec_backend *backend, spec_error *error)
{
    int status = GSL_SUCCESS;
    bench *b = calloc(1, sizeof *b);
    *ret = NULL;
    if (b == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(open_weights(b, model, type, backend, error));
    b->slots = model->text + model->long_text + SPEC_COLUMNS_MAX;
    b->path = malloc((size_t)b->slots * sizeof *b->path);
    if (b->path == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(spec_forward_init(&b->forward, &b->weights, error));
    SPEC_TRY(
        backend->kv_init(backend, &b->kv, &b->weights.shape, backend->half_kv, b->slots, error));
    *ret = b;
    b = NULL;
done:
    if (b != NULL) close_bench(b);
    return status;
}

/* Columns for tokens from..from+n-1 of one text, a chain that sees all tokens before it. */
static void set_batch(bench *b, int from, int n)
{
    b->batch = (spec_batch){.n = n, .path = b->path};
    for (int u = 0; u < n; u++) {
        b->batch.token[u] = (from + u) * 7919 % b->weights.shape.vocab;
        b->batch.position[u] = b->batch.slot[u] = b->batch.past[u] = b->path[u] = from + u;
        b->batch.path_begin[u + 1] = u + 1;
    }
}

static int run_pass(void *context, spec_error *error)
{
    bench *b = context;
    spec_forward_begin(&b->forward, &b->kv, &b->batch, b->sublayer, 2 * b->weights.shape.n_layers);
    return spec_forward_wait(&b->forward, error);
}

/* Fills the KV cache for a text, 64 tokens per pass. */
static int read_text(bench *b, int from, int to, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int at = from; at < to; at += b->batch.n) {
        set_batch(b, at, spec_int_min(SPEC_COLUMNS_MAX, to - at));
        SPEC_TRY(run_pass(b, error));
    }
done:
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

enum { COLUMNS = SPEC_COLUMNS_MAX };

/* The logits of the COLUMNS tokens after the text, in passes of `each`. */
static int read_logits(float *logit, bench *b, int text, int each, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t vocab = (size_t)b->weights.shape.vocab;
    const spec_backend *backend = b->weights.backend;
    for (int at = 0; at < COLUMNS; at += each) {
        set_batch(b, text + at, spec_int_min(each, COLUMNS - at));
        SPEC_TRY(run_pass(b, error));
        backend->get(backend, logit + (size_t)at * vocab, b->forward.logits,
                     (size_t)b->batch.n * vocab * sizeof *logit);
    }
done:
    return status;
}

/* Counts the pairs of logits that differ, to check at real sizes that a result does not depend on
 * the other columns. */
static int check_columns(gpu_rows *rows, bench *b, const char *name, const gpu_model *model,
                         const float *whole, float *parts, spec_error *error)
{
    static const int each[] = {COLUMNS, 1, 5, 9, 33};
    int status = GSL_SUCCESS;
    const size_t all = (size_t)COLUMNS * (size_t)model->vocab;
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        size_t differ = 0;
        SPEC_TRY(read_logits(parts, b, model->text, each[i], error));
        for (size_t j = 0; j < all; j++) differ += memcmp(&whole[j], &parts[j], sizeof *parts) != 0;
        SPEC_TRY(gpu_rows_add(rows, GPU_AT_MOST, 0.0, (double)differ, "logits",
                              "%s: differ in passes of %d", name, each[i]));
    }
done:
    return status;
}

/* The largest difference of a row's logits in units of their spread. */
static double distance(const float *row, const float *other, size_t vocab)
{
    double sum = 0.0, squares = 0.0, most = 0.0;
    for (size_t i = 0; i < vocab; i++) {
        const double x = (double)row[i];
        sum += x;
        squares += x * x;
        most = fmax(most, fabs(x - (double)other[i]));
    }
    const double mean = sum / (double)vocab;
    return most / sqrt(squares / (double)vocab - mean * mean);
}

static int compare_cpu(gpu_rows *rows, const char *name, const gpu_model *model,
                       spec_tensor_type type, const float *whole, float *other, spec_error *error)
{
    int status = GSL_SUCCESS;
    bench *cpu = NULL;
    const spec_backend *backend = NULL;
    const size_t vocab = (size_t)model->vocab;
    double most = 0.0;
    SPEC_TRY(spec_device_open(&backend, spec_test_context(0), "cpu", error));
    SPEC_TRY(open_bench(&cpu, model, type, backend, error));
    SPEC_TRY(read_text(cpu, 0, model->text, error));
    SPEC_TRY(read_logits(other, cpu, model->text, COLUMNS, error));
    for (size_t u = 0; u < COLUMNS; u++) {
        const double far = distance(other + u * vocab, whole + u * vocab, vocab);
        if (!(far <= most)) most = far;
    }
    SPEC_TRY(gpu_rows_add(rows, GPU_AT_MOST, type == SPEC_TENSOR_Q8_0 ? 6e-2 : 2e-2, most,
                          "spreads", "%s: logits from the CPU's", name));
done:
    if (cpu != NULL) close_bench(cpu);
    spec_device_close(backend);
    return status;
}

static int check_results(gpu_rows *rows, bench *b, const char *name, const gpu_model *model,
                         spec_tensor_type type, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t all = (size_t)COLUMNS * (size_t)model->vocab;
    float *whole = malloc(all * sizeof *whole), *other = malloc(all * sizeof *other);
    if (whole == NULL || other == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(read_logits(whole, b, model->text, COLUMNS, error));
    SPEC_TRY(check_columns(rows, b, name, model, whole, other, error));
    if (model->beside_cpu) SPEC_TRY(compare_cpu(rows, name, model, type, whole, other, error));
done:
    free(whole);
    free(other);
    return status;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* A token by the largest logit: what a step of plain generation costs. */
static int run_token(void *context, spec_error *error)
{
    bench *b = context;
    int token;
    const int status = run_pass(b, error);
    return status == GSL_SUCCESS
               ? b->weights.backend->argmax(&b->forward.queue, &token, b->forward.logits, 1, error)
               : status;
}

int gpu_measure_model(gpu_rows *rows, const gpu_model *model, spec_tensor_type type, bool tiny,
                      spec_error *error)
{
    int status = GSL_SUCCESS;
    bench *b = NULL;
    double one = 0.0, seconds;
    char name[48];
    snprintf(name, sizeof name, "%s %s", model->name, spec_tensor_type_names[type]);
    SPEC_TRY(open_bench(&b, model, type, rows->backend, error));
    const double bytes = (double)b->weights.bytes,
                 read = rows->roofline.read > 0.0 ? rows->roofline.read : NAN;
    SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e-9 * bytes, "GB", "%s: weights that a pass reads",
                          name));
    SPEC_TRY(read_text(b, 0, model->text, error));
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const int n = widths[i].columns;
        set_batch(b, model->text, n);
        SPEC_TRY(gpu_median_seconds(&seconds, run_pass, b, tiny, error));
        if (n == 1) one = seconds;
        SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e3 * seconds, "ms", "%s: pass of %d", name, n));
        if (n == 1)
            SPEC_TRY(gpu_rows_add(rows, GPU_AT_LEAST, model->share, bytes / seconds / read, "",
                                  "%s: pass of 1, share of reading", name));
        else
            SPEC_TRY(gpu_rows_add(rows, widths[i].asked > 0.0 ? GPU_AT_MOST : GPU_TOLD,
                                  widths[i].asked, seconds / one, "",
                                  "%s: pass of %d over pass of 1", name, n));
    }
    set_batch(b, model->text, 1);
    SPEC_TRY(gpu_median_seconds(&seconds, run_token, b, tiny, error));
    SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e3 * seconds, "ms", "%s: pass of 1 and its token",
                          name));
    SPEC_TRY(check_results(rows, b, name, model, type, error));
    if (model->long_text > 0) {
        SPEC_TRY(read_text(b, model->text, model->text + model->long_text, error));
        set_batch(b, model->text + model->long_text, 1);
        SPEC_TRY(gpu_median_seconds(&seconds, run_pass, b, tiny, error));
        SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, seconds / one, "",
                              "%s: pass of 1 after %d tokens, over %d", name,
                              model->text + model->long_text, model->text));
    }
done:
    if (b != NULL) close_bench(b);
    return status;
}
