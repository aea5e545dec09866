/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/thread_pool.h"
#include "models/transformer/engine/attention.h"
#include "models/transformer/engine/kv_cache.h"
#include "models/transformer/engine/logits.h"
#include "tests/bench/bench.h"
#include "tests/bench/peak.h"
#include "tests/support/contexts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a pass besides its products, on one thread: a model of 12 heads of 64, V =
 * 32,000. */
enum {
    DIM = 768,
    HEADS = 12,
    HEAD_DIM = 64,
    LAYERS = 6,
    VOCAB = 32000,
    WINDOW = 512,
    COLUMNS = 64 /* the most */
};

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct {
    int context;           /* of the first column */
    spec_tensor_type type; /* of keys and values */
    int columns;           /* the last tokens of a text; one layer if there are several, which keeps
                              the memory small: the cache does not limit them */
} mixing_setup;

typedef struct {
    mixing_setup setup;
    spec_attention attention;
    spec_kv kv;
    spec_batch batch;
    int path[COLUMNS], layers, layer;
    float *qkv, *o;
    uint64_t read;
} mixing;

static void close_mixing(void *state)
{
    mixing *m = state;
    spec_attention_free(&m->attention);
    spec_kv_cache_free(&spec_backend_cpu, &m->kv);
    free(m->qkv);
    free(m->o);
    free(m);
}

/* Lets the columns of the batch be the tokens of a text from position t on. */
static void place_columns(mixing *m, int t)
{
    for (int u = 0; u < m->batch.n; u++) {
        m->batch.slot[u] = m->path[u] = m->batch.past[u] = t + u;
        m->batch.path_begin[u + 1] = u + 1;
    }
}

static const char *open_mixing(void **ret_state, const void *setup)
{
    const mixing_setup *const how = setup;
    const spec_shape shape = {.dim = DIM,
                              .n_layers = how->columns > 1 ? 1 : LAYERS,
                              .n_heads = HEADS,
                              .n_kv_heads = HEADS,
                              .head_dim = HEAD_DIM,
                              .ffn_dim = DIM,
                              .vocab = VOCAB,
                              .context = how->context + how->columns,
                              .rope.base = 1e4,
                              .window = WINDOW};
    mixing *m = calloc(1, sizeof *m);
    if (m == NULL) return "no memory";
    m->setup = *how;
    m->layers = shape.n_layers;
    m->qkv = malloc((size_t)how->columns * 3 * DIM * sizeof *m->qkv);
    m->o = malloc((size_t)how->columns * DIM * sizeof *m->o);
    if (m->qkv == NULL || m->o == NULL ||
        spec_attention_init(&m->attention, &shape, spec_vector_kernels_of(spec_cpu_best_isa()),
                            NULL) != GSL_SUCCESS ||
        spec_kv_cache_init(&spec_backend_cpu, &m->kv, &shape, how->type, shape.context, NULL) !=
            GSL_SUCCESS) {
        close_mixing(m);
        return "no memory";
    }
    m->batch = (spec_batch){.n = how->columns, .path = m->path};
    for (int t = 0; t < shape.context; t += how->columns) {
        for (int i = 0; i < how->columns * 3 * DIM; i++)
            m->qkv[i] = (float)(((uint64_t)t * 3 * DIM + (uint64_t)i) * 7919 % 1000) * 2e-3f - 1.0f;
        place_columns(m, t);
        for (int layer = 0; layer < m->layers; layer++)
            spec_kv_cache_store(&m->kv, layer, m->qkv, HEADS, &m->batch, m->attention.kernels);
    }
    *ret_state = m;
    return NULL;
}
static void attend_once(mixing *m, const spec_attending *opt_how)
{
    spec_attention_attend(&m->attention, m->o, m->qkv, &m->kv, m->layer, opt_how, &m->batch, NULL);
    m->layer = (m->layer + 1) % m->layers;
}

/* The bytes of the keys and values of one layer. */
static uint64_t layer_bytes(const mixing *m)
{
    return (uint64_t)m->setup.context * 2 * spec_tensor_row_bytes(m->setup.type, DIM);
}

/* Counts the bytes of the whole context, also in a window. */
static uint64_t attend_as(void *state, const spec_attending *opt_how, uint64_t n)
{
    uint64_t done = 0;
    for (; done < n; done += layer_bytes(state)) attend_once(state, opt_how);
    return done;
}

static uint64_t attend(void *state, uint64_t n)
{
    return attend_as(state, NULL, n);
}

static uint64_t attend_in_window(void *state, uint64_t n)
{
    return attend_as(state, &(spec_attending){.has_window = true}, n);
}

/* Counts the multiply-adds of scores and values, two operations each, but not exponentials. */
static uint64_t attend_by_operations(void *state, uint64_t n)
{
    const mixing *const m = state;
    uint64_t positions = 0, done = 0;
    for (int u = 0; u < m->batch.n; u++) positions += (uint64_t)m->batch.past[u] + 1;
    for (; done < n; done += positions * 2 * 2 * DIM) attend_once(state, NULL);
    return done;
}

/* A plain read of the cache memory that attention reads. */
static uint64_t read_cache(void *state, uint64_t n)
{
    enum { WORDS = 32 };
    mixing *m = state;
    const int blocks = (m->setup.context + SPEC_VECTOR_BLOCK - 1) / SPEC_VECTOR_BLOCK;
    const size_t used = (size_t)(m->setup.context / blocks * HEAD_DIM) / 2,
                 all = SPEC_VECTOR_BLOCK * HEAD_DIM / 2;
    uint64_t done = 0, lane[WORDS] = {0};
    while (done < n)
        for (int i = 0; i < LAYERS * 2 * HEADS * blocks; i++, done += used * sizeof *lane) {
            const uint64_t *const word = (const uint64_t *)m->kv.data + (size_t)i * all;
            for (size_t k = 0; k < used; k += WORDS) {
#pragma omp simd
                for (int l = 0; l < WORDS; l++) lane[l] |= word[k + (size_t)l];
            }
        }
    for (int l = 0; l < WORDS; l++) m->read |= lane[l];
    return done;
}

/* The limit of attention by many columns. */
static uint64_t run_peak(void *state, uint64_t n)
{
    (void)state;
    return peak_floats(n);
}

/* ---- vectors --------------------------------------------------------------------------------- */

typedef struct {
    float x[VOCAB], gain[DIM], y[DIM];
    double row[VOCAB];
} vectors;

static const char *open_vectors(void **ret_state, const void *unused)
{
    (void)unused;
    vectors *v = malloc(sizeof *v);
    if (v == NULL) return "no memory";
    for (int i = 0; i < VOCAB; i++) v->x[i] = (float)(i * 7919 % 10007) * 2.385e-3f - 12.0f;
    for (int i = 0; i < DIM; i++) v->gain[i] = 1.0f + 1e-3f * (float)i;
    *ret_state = v;
    return NULL;
}

static uint64_t norm(void *state, uint64_t n)
{
    vectors *v = state;
    const spec_vector_kernels *kernels = spec_vector_kernels_of(spec_cpu_best_isa());
    uint64_t done = 0;
    for (; done < n; done += DIM) kernels->norm(v->y, v->x, v->gain, 1e-5f, DIM);
    return done;
}

static uint64_t norm_by_definition(void *state, uint64_t n)
{
    vectors *v = state;
    uint64_t done = 0;
    for (; done < n; done += DIM) spec_vector_kernels_ref.norm(v->y, v->x, v->gain, 1e-5f, DIM);
    return done;
}

static uint64_t softmax(void *state, uint64_t n)
{
    vectors *v = state;
    double *const row[] = {v->row};
    uint64_t done = 0;
    for (; done < n; done++)
        spec_logits_rows(row, v->x, 0.7, 1, VOCAB, spec_vector_kernels_of(spec_cpu_best_isa()),
                         NULL, NULL);
    return done;
}

static uint64_t softmax_by_libm(void *state, uint64_t n)
{
    vectors *v = state;
    uint64_t done = 0;
    for (; done < n; done++) {
        double largest = -INFINITY, sum = 0.0;
        for (int i = 0; i < VOCAB; i++) largest = fmax(largest, (double)v->x[i]);
        for (int i = 0; i < VOCAB; i++) sum += v->row[i] = exp(((double)v->x[i] - largest) / 0.7);
        for (int i = 0; i < VOCAB; i++) v->row[i] /= sum;
    }
    return done;
}

/* -- the thread pool -- */

static const char *open_team(void **ret_state, const void *unused)
{
    (void)unused;
    *ret_state = NULL;
    if (spec_thread_pool_size(spec_test_pool(0)) == 1) return "one processor";
    return NULL;
}

static void nothing(void *job, int chunk)
{
    (void)job;
    (void)chunk;
}

static uint64_t fork_and_join(void *state, uint64_t n)
{
    (void)state;
    spec_thread_pool *pool = spec_test_pool(0), *locked = spec_thread_pool_try_lock(pool);
    for (uint64_t i = 0; i < n; i++)
        spec_thread_pool_run(locked, nothing, NULL, 2 * spec_thread_pool_size(pool));
    spec_thread_pool_unlock(locked);
    return n;
}

static uint64_t openmp_region(void *state, uint64_t n)
{
    (void)state;
    const int chunks = 2 * spec_thread_pool_size(spec_test_pool(0));
    for (uint64_t i = 0; i < n; i++) {
#pragma omp parallel for schedule(dynamic)
        for (int chunk = 0; chunk < chunks; chunk++) nothing(NULL, chunk);
    }
    return n;
}

#define MIXING(name, counted, function, ...)                                                       \
    .work = name, .unit = counted, .init = open_mixing, .run = function, .free = close_mixing,     \
    .setup = &(const mixing_setup)                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define MIX(name, length, function) MIXING(name, "B", function, length, SPEC_TENSOR_F32, 1)
#define MIX_COLUMNS(name, length, type)                                                            \
    {                                                                                              \
        MIXING("attention, 64 at " name, "op", attend_by_operations, length, type, COLUMNS),       \
            .yardstick = "row:limit: products of floats", .asked_ratio = 0.5                       \
    }
#define VECTOR(name, counted, function)                                                            \
    .work = name, .unit = counted, .init = open_vectors, .run = function, .free = free

const spec_bench_row spec_bench_vector[] = {
    {MIX("cache read, context 64", 64, read_cache)},
    {MIX("attention, context 64", 64, attend), .yardstick = "row:cache read, context 64"},
    {MIX("cache read, context 1024", 1024, read_cache)},
    {MIX("attention, context 1024", 1024, attend), .yardstick = "row:cache read, context 1024"},
    {MIX("cache read, context 4096", 4096, read_cache)},
    {MIX("attention, context 4096", 4096, attend), .yardstick = "row:cache read, context 4096",
     .asked_ratio = 0.8},
    {MIXING("attention, context 4096, F16", "B", attend, 4096, SPEC_TENSOR_F16, 1),
     .yardstick = "row:cache read, context 4096"},
    {MIX("attention, window 512 of 4096", 4096, attend_in_window),
     .yardstick = "row:attention, context 4096", .asked_ratio = 6.0},
    {.work = "limit: products of floats",
     .unit = "op",
     .init = peak_open,
     .run = run_peak,
     .free = peak_close},
    MIX_COLUMNS("4096, F32", 4096, SPEC_TENSOR_F32),
    MIX_COLUMNS("4096, F16", 4096, SPEC_TENSOR_F16),
    MIX_COLUMNS("4096, BF16", 4096, SPEC_TENSOR_BF16),
    MIX_COLUMNS("16384, F32", 16384, SPEC_TENSOR_F32),
    MIX_COLUMNS("16384, F16", 16384, SPEC_TENSOR_F16),
    {VECTOR("norm by definition", "weights", norm_by_definition)},
    {VECTOR("norm", "weights", norm), .yardstick = "row:norm by definition"},
    {VECTOR("softmax by libm, V = 32,000", "rows", softmax_by_libm)},
    {VECTOR("softmax, V = 32,000", "rows", softmax), .yardstick = "row:softmax by libm, V = 32,000",
     .asked = 40e3, .asked_ratio = 5.0},
    {.work = "fork and join, OpenMP",
     .unit = "jobs",
     .init = open_team,
     .run = openmp_region,
     .free = peak_close,
     .wall = true},
    {.work = "fork and join",
     .unit = "jobs",
     .init = open_team,
     .run = fork_and_join,
     .free = peak_close,
     .wall = true,
     .yardstick = "row:fork and join, OpenMP",
     .asked = 500e3},
    {.work = NULL},
};
