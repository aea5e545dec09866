/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/bandwidth.h"
#include "tests/bench/bench.h"
#include "tests/bench/peak.h"
#include "tests/support/contexts.h"
#include "tests/support/random_blocks.h"

#include <stdlib.h>
#include <string.h>

/* The matrices of a model of 110 M parameters by the backend, and a plain read of as much
 * memory. */
enum {
    DIM = 768,
    FFN = 2048,
    LAYERS = 12,
    VOCAB = 32000,
    MATRICES = 4 * LAYERS + 1,
    PART = 64 /* rows per task */
};

static const struct {
    int rows, cols;
} shapes[] = {{3 * DIM, DIM}, {DIM, DIM}, {2 * FFN, DIM}, {DIM, FFN}, {VOCAB, DIM}};

/* ---- reading --------------------------------------------------------------------------------- */

static size_t model_bytes(spec_tensor_type type)
{
    size_t bytes = 0;
    for (int i = 0; i < 5; i++)
        bytes += (i < 4 ? LAYERS : 1) * (size_t)shapes[i].rows *
                 spec_tensor_row_bytes(type, shapes[i].cols);
    return bytes;
}

static void close_memory(void *state)
{
    spec_bandwidth_free(state);
    free(state);
}

static const char *open_memory(void **ret_state, const void *setup)
{
    spec_bandwidth *const bandwidth = malloc(sizeof *bandwidth);
    if (bandwidth == NULL) return "no memory";
    spec_bandwidth_init(bandwidth, model_bytes(*(const spec_tensor_type *)setup));
    *ret_state = bandwidth;
    if (bandwidth->memory != NULL) return NULL;
    close_memory(bandwidth);
    return "no memory";
}

static uint64_t read_memory(void *state, uint64_t n)
{
    const spec_bandwidth *const bandwidth = state;
    uint64_t done = 0;
    for (; done < n; done += bandwidth->bytes) spec_bandwidth_read(bandwidth, spec_test_pool(0));
    return done;
}

/* ---- the arithmetic limit -------------------------------------------------------------------- */

static void peak_chunk(void *job, int chunk)
{
    const uint64_t *const operations = job;
    (void)chunk;
    peak_bytes(*operations);
}

/* As many chunks as passes have, for all threads of the pool. */
static uint64_t run_peak(void *state, uint64_t n)
{
    enum { CHUNKS = 64 };
    (void)state;
    uint64_t operations = n / CHUNKS + 1;
    spec_thread_pool *const locked = spec_thread_pool_try_lock(spec_test_pool(0));
    spec_thread_pool_run(locked, peak_chunk, &operations, CHUNKS);
    spec_thread_pool_unlock(locked);
    return CHUNKS * operations;
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct {
    spec_tensor_type type;
    int columns;
    bool by_operations; /* counted instead of bytes; a multiply-add is two */
} pass_setup;

/* Shared by all rows of a type; built at the first use. */
typedef struct {
    spec_matrix matrix[MATRICES];
    int used_by;
} weights;

static weights weights_of[SPEC_TENSOR_TYPES];

typedef struct {
    const pass_setup *setup;
    spec_queue queue;
    spec_batch batch;
    float *x, *y;
} pass;

static void release_weights(spec_tensor_type type)
{
    if (--weights_of[type].used_by > 0) return;
    for (int i = 0; i < MATRICES; i++)
        spec_backend_cpu.matrix_free(spec_test_context(0)->cpu, &weights_of[type].matrix[i]);
}

/* The same few rows repeated: only their addresses affect the time. */
static int hold_weights(spec_tensor_type type)
{
    static float value[PART * FFN];
    static unsigned char data[sizeof value];
    spec_tensor part[VOCAB / PART];
    int status = GSL_SUCCESS;
    uint64_t noise = 1;
    if (weights_of[type].used_by++ > 0) return status;
    for (int i = 0; i < PART * FFN; i++) value[i] = (float)(i * 7919 % 1000) * 1e-3f - 0.5f;
    for (int i = 0; i < MATRICES && status == GSL_SUCCESS; i++) {
        const int shape = i < 4 * LAYERS ? i % 4 : 4, rows = shapes[shape].rows,
                  cols = shapes[shape].cols;
        const size_t row_bytes = spec_tensor_row_bytes(type, cols);
        for (int r = 0; r < PART; r++) {
            unsigned char *const row = data + (size_t)r * row_bytes;
            if (spec_tensor_is_quantised(type))
                random_blocks_fill(row, type, cols, &noise);
            else
                spec_tensor_row_write(row, type, value + (size_t)r * (size_t)cols, cols);
        }
        for (int p = 0; p < rows / PART; p++)
            part[p] = (spec_tensor){.type = type, .rows = PART, .cols = cols, .data = data};
        status =
            spec_backend_cpu.matrix_init(spec_test_context(0)->cpu, &weights_of[type].matrix[i],
                                         type, part, rows / PART, false, NULL);
    }
    return status;
}

static void close_pass(void *state)
{
    pass *const p = state;
    spec_backend_cpu.queue_free(&p->queue);
    release_weights(p->setup->type);
    free(p->x);
    free(p->y);
    free(p);
}

static const char *open_pass(void **ret_state, const void *setup)
{
    const spec_shape shape = {.dim = DIM,
                              .n_layers = LAYERS,
                              .n_heads = 12,
                              .n_kv_heads = 12,
                              .head_dim = 64,
                              .ffn_dim = FFN,
                              .vocab = VOCAB,
                              .context = 64,
                              .rope.base = 10000.0};
    pass *const p = calloc(1, sizeof *p);
    if (p == NULL) return "no memory";
    p->setup = setup;
    p->batch.n = p->setup->columns;
    p->x = malloc(sizeof *p->x * SPEC_COLUMNS_MAX * FFN);
    p->y = malloc(sizeof *p->y * SPEC_COLUMNS_MAX * VOCAB);
    if (hold_weights(p->setup->type) != GSL_SUCCESS || p->x == NULL || p->y == NULL ||
        spec_backend_cpu.queue_init(spec_test_context(0)->cpu, &p->queue, &shape, NULL) !=
            GSL_SUCCESS) {
        close_pass(p);
        return "no memory";
    }
    for (int i = 0; i < SPEC_COLUMNS_MAX * FFN; i++)
        p->x[i] = (float)(i * 6151 % 1000) * 1e-3f - 0.5f;
    *ret_state = p;
    return NULL;
}

/* Counts bytes of weights once per pass, whatever the number of columns, or operations. */
static uint64_t run_passes(void *state, uint64_t n)
{
    pass *const p = state;
    uint64_t done = 0;
    while (done < n) {
        spec_backend_cpu.begin(&p->queue, &p->batch, NULL, NULL, 0);
        for (int i = 0; i < MATRICES; i++) {
            const spec_matrix *const w = &weights_of[p->setup->type].matrix[i];
            spec_backend_cpu.matmul(&p->queue, p->y, w, p->x, NULL, false, SPEC_COLUMNS_ALL);
            done += p->setup->by_operations ? 2 * (uint64_t)w->rows * (uint64_t)w->cols *
                                                  (uint64_t)p->setup->columns
                                            : w->bytes;
        }
        spec_backend_cpu.end(&p->queue);
    }
    return done;
}

#define READ(what, of)                                                                             \
    {                                                                                              \
        .work = "limit: threads read " what, .unit = "B", .init = open_memory, .run = read_memory, \
        .free = close_memory, .setup = &(const spec_tensor_type){of}, .wall = true                 \
    }
#define PASS(name, of, n)                                                                          \
    .work = name, .unit = "B", .init = open_pass, .run = run_passes, .free = close_pass,           \
    .setup = &(const pass_setup){of, n, false}, .wall = true
#define OPERATIONS(name, of, n)                                                                    \
    .work = name, .unit = "op", .init = open_pass, .run = run_passes, .free = close_pass,          \
    .setup = &(const pass_setup){of, n, true}, .wall = true

const spec_bench_row spec_bench_product[] = {
    READ("116 MB", SPEC_TENSOR_Q8_0),
    {PASS("products, Q8_0: 1 token", SPEC_TENSOR_Q8_0, 1),
     .yardstick = "row:limit: threads read 116 MB", .asked_ratio = 0.85},
    {PASS("products, Q8_0: 2 tokens", SPEC_TENSOR_Q8_0, 2),
     .yardstick = "row:products, Q8_0: 1 token", .asked_ratio = 1.0 / 1.10},
    {PASS("products, Q8_0: 5 tokens", SPEC_TENSOR_Q8_0, 5),
     .yardstick = "row:products, Q8_0: 1 token", .asked_ratio = 1.0 / 1.15},
    {PASS("products, Q8_0: 8 tokens", SPEC_TENSOR_Q8_0, 8),
     .yardstick = "row:products, Q8_0: 1 token", .asked_ratio = 1.0 / 1.30},
    {PASS("products, Q8_0: 16 tokens", SPEC_TENSOR_Q8_0, 16),
     .yardstick = "row:products, Q8_0: 1 token", .asked_ratio = 1.0 / 1.9},
    {.work = "limit: byte products in registers",
     .unit = "op",
     .init = peak_open,
     .run = run_peak,
     .free = peak_close,
     .wall = true},
    {OPERATIONS("operations, Q8_0: 64 tokens", SPEC_TENSOR_Q8_0, 64),
     .yardstick = "row:limit: byte products in registers", .asked_ratio = 0.60},
    {OPERATIONS("operations, Q4_K: 64 tokens", SPEC_TENSOR_Q4_K, 64),
     .yardstick = "row:limit: byte products in registers"},
    {OPERATIONS("operations, Q6_K: 64 tokens", SPEC_TENSOR_Q6_K, 64),
     .yardstick = "row:limit: byte products in registers"},
    READ("62 MB", SPEC_TENSOR_Q4_0),
    {PASS("products, Q4_0: 1 token", SPEC_TENSOR_Q4_0, 1),
     .yardstick = "row:limit: threads read 62 MB"},
    {PASS("products, Q4_0: 5 tokens", SPEC_TENSOR_Q4_0, 5),
     .yardstick = "row:products, Q4_0: 1 token"},
    {PASS("products, Q4_0: 8 tokens", SPEC_TENSOR_Q4_0, 8),
     .yardstick = "row:products, Q4_0: 1 token"},
    {PASS("products, Q4_K: 1 token", SPEC_TENSOR_Q4_K, 1),
     .yardstick = "row:limit: threads read 62 MB", .asked_ratio = 0.85},
    {PASS("products, Q4_K: 8 tokens", SPEC_TENSOR_Q4_K, 8),
     .yardstick = "row:products, Q4_K: 1 token", .asked_ratio = 1.0 / 2.0},
    {PASS("products, Q4_K: 16 tokens", SPEC_TENSOR_Q4_K, 16),
     .yardstick = "row:products, Q4_K: 1 token"},
    {PASS("products, Q5_K: 1 token", SPEC_TENSOR_Q5_K, 1),
     .yardstick = "row:limit: threads read 62 MB", .asked_ratio = 0.80},
    {PASS("products, Q5_K: 8 tokens", SPEC_TENSOR_Q5_K, 8),
     .yardstick = "row:products, Q5_K: 1 token"},
    READ("90 MB", SPEC_TENSOR_Q6_K),
    {PASS("products, Q6_K: 1 token", SPEC_TENSOR_Q6_K, 1),
     .yardstick = "row:limit: threads read 90 MB", .asked_ratio = 0.75},
    {PASS("products, Q6_K: 8 tokens", SPEC_TENSOR_Q6_K, 8),
     .yardstick = "row:products, Q6_K: 1 token"},
    READ("438 MB", SPEC_TENSOR_F32),
    {PASS("products, F32: 1 token", SPEC_TENSOR_F32, 1),
     .yardstick = "row:limit: threads read 438 MB", .asked_ratio = 0.90},
    {PASS("products, F32: 2 tokens", SPEC_TENSOR_F32, 2), .yardstick = "row:products, F32: 1 token",
     .asked_ratio = 1.0 / 1.06},
    {PASS("products, F32: 5 tokens", SPEC_TENSOR_F32, 5), .yardstick = "row:products, F32: 1 token",
     .asked_ratio = 1.0 / 1.06},
    {PASS("products, F32: 16 tokens", SPEC_TENSOR_F32, 16),
     .yardstick = "row:products, F32: 1 token"},
    READ("219 MB", SPEC_TENSOR_F16),
    {PASS("products, F16: 1 token", SPEC_TENSOR_F16, 1),
     .yardstick = "row:limit: threads read 219 MB", .asked_ratio = 0.85},
    {PASS("products, BF16: 1 token", SPEC_TENSOR_BF16, 1),
     .yardstick = "row:limit: threads read 219 MB", .asked_ratio = 0.85},
    {PASS("products, BF16: 5 tokens", SPEC_TENSOR_BF16, 5),
     .yardstick = "row:products, BF16: 1 token"},
    {.work = NULL},
};
