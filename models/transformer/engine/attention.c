/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/attention.h"

#include "base/int_math.h"
#include "base/thread_pool.h"
#include "speclab/round.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BLOCK = SPEC_VECTOR_BLOCK,
    LANES = SPEC_VECTOR_LANES,
    QUERIES = 8,      /* queries multiplied with a block of keys while the block is in the caches */
    UNITS_SPLIT = 32, /* if there are at most this many units, each block of a unit becomes a
                         separate job */
    PART_UNITS = 3,   /* how many units a chunk then has; their keys are adjacent in memory */
    CHUNK_WORK = 1 << 15 /* a chunk is at least this large: the floats of its keys, times its
                            queries */
};

/* ---- keys and values ------------------------------------------------------------------------- */

static int width_of(int head_dim)
{
    return spec_int_ceil_div(head_dim, LANES) * LANES;
}

/* Returns the number of rows from one block of slots to the next: BLOCK keys, then BLOCK values,
 * for each layer and head. */
static size_t rows_of_block(const spec_kv *kv)
{
    return (size_t)kv->layers * (size_t)kv->n_kv_heads * 2 * BLOCK;
}

static size_t kv_bytes(const spec_kv *kv)
{
    const size_t blocks = (size_t)spec_int_ceil_div(kv->slots, BLOCK);
    return blocks * rows_of_block(kv) * (size_t)width_of(kv->head_dim) * sizeof(float);
}

static float *keys_of(const spec_kv *kv, int layer, int head, int block)
{
    const size_t region = ((size_t)layer * (size_t)kv->n_kv_heads + (size_t)head) * 2 * BLOCK;
    return (float *)kv->data +
           ((size_t)block * rows_of_block(kv) + region) * (size_t)width_of(kv->head_dim);
}

static spec_kv kv_of(const spec_shape *shape, int slots)
{
    return (spec_kv){.layers = shape->n_layers - shape->delta.n_layers,
                     .slots = slots,
                     .n_kv_heads = shape->n_kv_heads,
                     .head_dim = shape->head_dim,
                     .type = SPEC_TENSOR_F32};
}

size_t spec_attention_kv_bytes(const spec_shape *shape, spec_tensor_type type, int slots)
{
    (void)type;
    const spec_kv kv = kv_of(shape, slots);
    return kv_bytes(&kv);
}

int spec_attention_kv_init(const spec_backend *backend, spec_kv *kv, const spec_shape *shape,
                           spec_tensor_type type, int slots, spec_error *error)
{
    (void)backend;
    assert(type == SPEC_TENSOR_F32);
    *kv = kv_of(shape, slots);
    const size_t bytes = kv_bytes(kv);
    if (rows_of_block(kv) > INT_MAX / 8) /* a path is at most SPEC_NODES_MAX slots away */
        return spec_fail(error, GSL_ENOMEM,
                         "keys and values of %d layers with %d heads are too large", kv->layers,
                         kv->n_kv_heads);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return spec_fail(error, GSL_ENOMEM,
                         "out of memory for keys and values of %d tokens (%zu bytes)", slots,
                         bytes);
    madvise(memory, bytes, MADV_HUGEPAGE); /* large pages make reads faster */
    kv->data = memory;
    return GSL_SUCCESS;
}

void spec_attention_kv_free(const spec_backend *backend, spec_kv *kv)
{
    (void)backend;
    if (kv->data != NULL) munmap(kv->data, kv_bytes(kv));
    *kv = (spec_kv){0};
}

void spec_attention_keep(spec_kv *kv, const int *from, int to, int n)
{
    const size_t width = (size_t)width_of(kv->head_dim), values = BLOCK * width;
    for (int i = 0; i < n; i++, to++) {
        if (from[i] == to) continue;
        for (int layer = 0; layer < kv->layers; layer++)
            for (int head = 0; head < kv->n_kv_heads; head++) {
                float *row = keys_of(kv, layer, head, to / BLOCK) + (size_t)(to % BLOCK) * width;
                const float *old =
                    keys_of(kv, layer, head, from[i] / BLOCK) + (size_t)(from[i] % BLOCK) * width;
                memcpy(row, old, width * sizeof *row);
                memcpy(row + values, old + values, width * sizeof *row);
            }
    }
}

void spec_attention_store(spec_kv *kv, int layer, const float *qkv, int n_heads,
                          const spec_batch *batch)
{
    const size_t head_dim = (size_t)kv->head_dim, width = (size_t)width_of(kv->head_dim);
    for (int u = 0; u < batch->n; u++, qkv += (size_t)(n_heads + 2 * kv->n_kv_heads) * head_dim) {
        const float *key = qkv + (size_t)n_heads * head_dim,
                    *value = key + (size_t)kv->n_kv_heads * head_dim;
        for (int h = 0; h < kv->n_kv_heads; h++, key += head_dim, value += head_dim) {
            float *row = keys_of(kv, layer, h, batch->slot[u] / BLOCK) +
                         (size_t)(batch->slot[u] % BLOCK) * width;
            memcpy(row, key, head_dim * sizeof *row);
            memcpy(row + BLOCK * width, value, head_dim * sizeof *row);
        }
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Positions or blocks begin..end-1. */
typedef struct {
    int begin, end;
} span;

/* A unit is a few columns, a kv head, and a few of the heads that read it: at most QUERIES queries
 * of the same keys. */
typedef struct {
    const spec_attention *a;
    float *o;
    const float *qkv;
    const spec_kv *kv;
    int layer;
    const spec_batch *batch;
    int window;             /* most positions that a column attends to; 0: all */
    const float *opt_sinks; /* (n_heads) */
    int group, width;       /* heads per kv head */
    int columns, heads;     /* most in a unit */
    int units, units_a_chunk;
    span blocks; /* of all columns */
} work;

typedef struct {
    int first, columns, kv_head, head,
        heads; /* the unit's columns begin at `first`, its heads at `head` of the group */
} unit;

/* The partial result of a unit's queries: over its blocks so far, or over one of them. */
typedef struct {
    float mixed[QUERIES * SPEC_HEAD_DIM_MAX], largest[QUERIES], sum[QUERIES];
} mixture;

static unit unit_of(const work *w, int i)
{
    const int parts = spec_int_ceil_div(w->group, w->heads), head = i % parts * w->heads;
    const int kv_head = i / parts % w->a->n_kv_heads,
              first = i / parts / w->a->n_kv_heads * w->columns;
    return (unit){first, spec_int_min(w->columns, w->batch->n - first), kv_head, head,
                  spec_int_min(w->heads, w->group - head)};
}

/* Returns the positions that a column attends to: all of its sequence, or the last ones. */
static span seen_by(const work *w, int u)
{
    const int end = w->batch->past[u] + w->batch->path_begin[u + 1] - w->batch->path_begin[u];
    return (span){w->window > 0 && end > w->window ? end - w->window : 0, end};
}

static span blocks_of_column(const work *w, int u)
{
    const span seen = seen_by(w, u);
    return (span){seen.begin / BLOCK, spec_int_ceil_div(seen.end, BLOCK)};
}

static span blocks_of(const work *w, int first, int columns)
{
    span all = blocks_of_column(w, first);
    for (int u = first + 1; u < first + columns; u++) {
        const span own = blocks_of_column(w, u);
        all.begin = spec_int_min(all.begin, own.begin);
        all.end = own.end > all.end ? own.end : all.end;
    }
    return all;
}

static bool is_in(int b, span blocks)
{
    return blocks.begin <= b && b < blocks.end;
}

/* Returns the positions of a span in block b; if there are none, b's first one twice. */
static span within(span seen, int b)
{
    const span block = {b * BLOCK, (b + 1) * BLOCK};
    const span both = {spec_int_max(seen.begin, block.begin), spec_int_min(seen.end, block.end)};
    return both.begin < both.end ? both : (span){block.begin, block.begin};
}

/* Lists positions begin..end-1 of the sequence that column u attends to, as rows counted from block
 * b's region. */
static void list_rows(int *row, const work *w, int u, int b, int begin, int end)
{
    const spec_batch *batch = w->batch;
    const int past = batch->past[u], path = batch->path_begin[u],
              next_block = (int)rows_of_block(w->kv);
    for (int t = begin; t < end; t++) {
        const int slot = t < past ? t : batch->path[path + t - past];
        row[t - begin] = slot % BLOCK + (slot / BLOCK - b) * next_block;
    }
}

static void take_queries(float *query, const work *w, const unit *of)
{
    const int head_dim = w->a->head_dim, heads = w->a->n_heads;
    const float scale = w->a->scale;
    for (int u = of->first; u < of->first + of->columns; u++) {
        const float *from = w->qkv +
                            (size_t)u * (size_t)(heads + 2 * w->a->n_kv_heads) * (size_t)head_dim +
                            (size_t)(of->kv_head * w->group + of->head) * (size_t)head_dim;
        for (int h = 0; h < of->heads; h++, query += w->width, from += head_dim)
            for (int d = 0; d < w->width; d++) query[d] = d < head_dim ? from[d] * scale : 0.0f;
    }
}

/* Returns the positions of block b that are in the same slot for all columns of a unit. This is the
 * text that lies within all windows. */
static span common_to(const work *w, const unit *of, int b)
{
    span common = seen_by(w, of->first);
    for (int u = of->first; u < of->first + of->columns; u++) {
        common.begin = spec_int_max(common.begin, seen_by(w, u).begin);
        common.end = spec_int_min(common.end, w->batch->past[u]);
    }
    return within(common, b);
}

/* The rows of the positions in a block that only one column sees: those before the common ones, and
 * those after. */
typedef struct {
    int row[BLOCK];
    span before, behind;
} own_rows;

static void list_own_rows(own_rows *to, const work *w, int u, int b, span common)
{
    const span seen = within(seen_by(w, u), b);
    to->before = (span){seen.begin, spec_int_max(seen.begin, spec_int_min(seen.end, common.begin))};
    to->behind = (span){spec_int_max(seen.begin, common.end), seen.end};
    to->behind.end = spec_int_max(to->behind.begin, to->behind.end);
    list_rows(to->row, w, u, b, to->before.begin, to->before.end);
    list_rows(to->row + (to->before.end - to->before.begin), w, u, b, to->behind.begin,
              to->behind.end);
}

/* Turns a query's scores into weights, each at its position in the block. The sum uses the lanes of
 * the whole block, so that it does not depend on the other columns. */
static void weigh(const spec_vector_kernels *k, float *ret_largest, float *ret_sum, float *score,
                  span seen, int begin)
{
    const int first = (seen.begin - begin) / LANES * LANES;
    for (int t = first; t < seen.begin - begin; t++) score[t] = -INFINITY;
    k->weigh(ret_largest, ret_sum, score + first,
             seen.begin < seen.end ? seen.end - begin - first : 0);
}

/* Computes block b: common positions together, the others column by column. */
static void attend_block(const work *w, const unit *of, const float *query, mixture *to, int b)
{
    const spec_vector_kernels *k = w->a->kernels;
    const float *keys = keys_of(w->kv, w->layer, of->kv_head, b),
                *values = keys + (size_t)(BLOCK * w->width);
    const int begin = b * BLOCK, width = w->width, heads = of->heads;
    const span common = common_to(w, of, b);
    const int n_common = common.end - common.begin;
    float weight[QUERIES * BLOCK];
    int row[BLOCK];
    own_rows own[QUERIES];

    list_rows(row, w, of->first, b, common.begin, common.end);
    k->score(weight + (common.begin - begin), query, of->columns * heads, width, keys, row,
             n_common);
    for (int i = 0; i < of->columns; i++) {
        float *const scores = weight + i * heads * BLOCK;
        const float *const queries = query + i * heads * width;
        list_own_rows(&own[i], w, of->first + i, b, common);
        const span before = own[i].before, behind = own[i].behind;
        const int n_before = before.end - before.begin;
        k->score(scores + (before.begin - begin), queries, heads, width, keys, own[i].row,
                 n_before);
        k->score(scores + (behind.begin - begin), queries, heads, width, keys,
                 own[i].row + n_before, behind.end - behind.begin);
        for (int h = 0; h < heads; h++)
            weigh(k, &to->largest[i * heads + h], &to->sum[i * heads + h], scores + h * BLOCK,
                  within(seen_by(w, of->first + i), b), begin);
    }
    memset(to->mixed, 0, (size_t)(of->columns * heads * width) * sizeof to->mixed[0]);
    for (int i = 0; i < of->columns; i++)
        k->mix(to->mixed + i * heads * width,
               weight + i * heads * BLOCK + (own[i].before.begin - begin), heads, width, values,
               own[i].row, own[i].before.end - own[i].before.begin);
    k->mix(to->mixed, weight + (common.begin - begin), of->columns * heads, width, values, row,
           n_common);
    for (int i = 0; i < of->columns; i++)
        k->mix(to->mixed + i * heads * width,
               weight + i * heads * BLOCK + (own[i].behind.begin - begin), heads, width, values,
               own[i].row + (own[i].before.end - own[i].before.begin),
               own[i].behind.end - own[i].behind.begin);
}

/* Merges the next block of a query into the previous ones. */
static void join(float *mixed, float *largest, float *sum, const float *block, float block_largest,
                 float block_sum, int width)
{
    const float both = block_largest > *largest ? block_largest : *largest;
    const float before = spec_vector_exp(*largest - both),
                now = spec_vector_exp(block_largest - both);
    for (int d = 0; d < width; d++) mixed[d] = mixed[d] * before + block[d] * now;
    *sum = *sum * before + block_sum * now;
    *largest = both;
}

/* A sink is one more score, whose value is zero. */
static void put(const work *w, const unit *of, int q, const float *mixed, float largest, float sum)
{
    const int u = of->first + q / of->heads,
              head = of->kv_head * w->group + of->head + q % of->heads;
    float *o = w->o + ((size_t)u * (size_t)w->a->n_heads + (size_t)head) * (size_t)w->a->head_dim;
    float factor = 1.0f / sum;
    if (w->opt_sinks != NULL) {
        const float sink = w->opt_sinks[head], both = sink > largest ? sink : largest;
        const float before = spec_vector_exp(largest - both);
        factor = before / (sum * before + spec_vector_exp(sink - both));
    }
    for (int d = 0; d < w->a->head_dim; d++) o[d] = mixed[d] * factor;
}

/* Appends block b of a query to the previous ones, if its column sees the block. */
static void add_block(const work *w, const unit *of, mixture *so_far, const mixture *block, int q,
                      int b)
{
    const span seen = blocks_of_column(w, of->first + q / of->heads);
    float *mixed = so_far->mixed + q * w->width;
    const float *next = block->mixed + q * w->width;
    if (!is_in(b, seen)) return;
    if (b > seen.begin) {
        join(mixed, &so_far->largest[q], &so_far->sum[q], next, block->largest[q], block->sum[q],
             w->width);
        return;
    }
    memcpy(mixed, next, (size_t)w->width * sizeof *mixed);
    so_far->largest[q] = block->largest[q];
    so_far->sum[q] = block->sum[q];
}

/* Computes all blocks of a few units. */
static void attend_units(void *job, int chunk)
{
    const work *w = job;
    for (int i = chunk * w->units_a_chunk;
         i < spec_int_min((chunk + 1) * w->units_a_chunk, w->units); i++) {
        const unit of = unit_of(w, i);
        const span blocks = blocks_of(w, of.first, of.columns);
        const int queries = of.columns * of.heads;
        float query[QUERIES * SPEC_HEAD_DIM_MAX];
        mixture so_far, block;
        take_queries(query, w, &of);
        attend_block(w, &of, query, &so_far, blocks.begin);
        for (int b = blocks.begin + 1; b < blocks.end; b++) {
            attend_block(w, &of, query, &block, b);
            for (int q = 0; q < queries; q++) add_block(w, &of, &so_far, &block, q, b);
        }
        for (int q = 0; q < queries; q++)
            put(w, &of, q, so_far.mixed + q * w->width, so_far.largest[q], so_far.sum[q]);
    }
}

/* Returns query q's partial result for block b in a unit: width floats, largest score, sum. */
static float *partial_of(const work *w, int i, int q, int b)
{
    return w->a->partial +
           ((size_t)(i * QUERIES + q) * (size_t)w->a->blocks + (size_t)(b - w->blocks.begin)) *
               (size_t)(w->width + 2);
}

/* Computes one block of unit i. */
static void attend_part(const work *w, int i, int b)
{
    const unit of = unit_of(w, i);
    float query[QUERIES * SPEC_HEAD_DIM_MAX];
    mixture block;
    if (!is_in(b, blocks_of(w, of.first, of.columns))) return;
    take_queries(query, w, &of);
    attend_block(w, &of, query, &block, b);
    for (int q = 0; q < of.columns * of.heads; q++) {
        float *partial = partial_of(w, i, q, b);
        memcpy(partial, block.mixed + q * w->width, (size_t)w->width * sizeof *partial);
        partial[w->width] = block.largest[q];
        partial[w->width + 1] = block.sum[q];
    }
}

/* Computes one block of a few units. */
static void attend_parts(void *job, int chunk)
{
    const work *w = job;
    const int chunks = spec_int_ceil_div(w->units, w->units_a_chunk),
              first = chunk % chunks * w->units_a_chunk;
    for (int i = first; i < spec_int_min(first + w->units_a_chunk, w->units); i++)
        attend_part(w, i, w->blocks.begin + chunk / chunks);
}

static void join_parts(const work *w, int i)
{
    const unit of = unit_of(w, i);
    for (int q = 0; q < of.columns * of.heads; q++) {
        const span blocks = blocks_of_column(w, of.first + q / of.heads);
        float *so_far = partial_of(w, i, q, blocks.begin);
        for (int b = blocks.begin + 1; b < blocks.end; b++) {
            const float *block = partial_of(w, i, q, b);
            join(so_far, &so_far[w->width], &so_far[w->width + 1], block, block[w->width],
                 block[w->width + 1], w->width);
        }
        put(w, &of, q, so_far, so_far[w->width], so_far[w->width + 1]);
    }
}

void spec_attention_attend(spec_attention *attention, float *o, const float *qkv, const spec_kv *kv,
                           int layer, const spec_attending *opt_how, const spec_batch *batch,
                           spec_thread_pool *opt_locked)
{
    work w = {.a = attention, .o = o, .qkv = qkv, .kv = kv, .layer = layer, .batch = batch};
    if (opt_how != NULL) {
        w.opt_sinks = opt_how->opt_sinks;
        w.window = opt_how->has_window ? attention->window : 0;
    }
    w.group = attention->n_heads / attention->n_kv_heads;
    w.width = width_of(attention->head_dim);
    w.heads = spec_int_min(w.group, QUERIES);
    w.columns = spec_int_min(QUERIES / w.heads, batch->n);
    const int tiles = spec_int_ceil_div(batch->n, w.columns),
              parts = spec_int_ceil_div(w.group, w.heads);
    w.units = tiles * attention->n_kv_heads * parts;
    int longest = 0;
    for (int u = 0; u < batch->n; u++)
        longest = spec_int_max(longest, seen_by(&w, u).end - seen_by(&w, u).begin);
    w.blocks = blocks_of(&w, 0, batch->n);
    const int blocks = w.blocks.end - w.blocks.begin;
    const bool split = blocks > 1 && blocks <= attention->blocks && w.units <= UNITS_SPLIT;
    const size_t total =
        (size_t)longest * (size_t)w.width * (size_t)(batch->n * attention->n_heads);
    const int wanted =
        total / CHUNK_WORK < (size_t)w.units ? 1 + (int)(total / CHUNK_WORK) : w.units;
    w.units_a_chunk = split ? PART_UNITS : spec_int_ceil_div(w.units, wanted);
    const int chunks = spec_int_ceil_div(w.units, w.units_a_chunk);
    if (!split) {
        spec_thread_pool_run(opt_locked, attend_units, &w, chunks);
        return;
    }
    spec_thread_pool_run(opt_locked, attend_parts, &w, chunks * blocks);
    for (int i = 0; i < w.units; i++) join_parts(&w, i);
}

int spec_attention_init(spec_attention *attention, const spec_shape *shape,
                        const spec_vector_kernels *kernels, spec_error *error)
{
    *attention =
        (spec_attention){.n_heads = shape->n_heads,
                         .n_kv_heads = shape->n_kv_heads,
                         .head_dim = shape->head_dim,
                         .window = shape->window,
                         .scale = shape->query_scale != 0.0f ? shape->query_scale
                                                             : (float)(1.0 / sqrt(shape->head_dim)),
                         .kernels = kernels,
                         .blocks = (shape->context + SPEC_NODES_MAX) / BLOCK + 1};
    /* Pages of zeros that are never written take no memory: a long window costs memory only as the
     * text grows. */
    const size_t partials = UNITS_SPLIT * QUERIES * (size_t)attention->blocks;
    attention->partial =
        calloc(partials, (size_t)(width_of(shape->head_dim) + 2) * sizeof *attention->partial);
    if (attention->partial == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for %zu partial sums", partials);
    return GSL_SUCCESS;
}

void spec_attention_free(spec_attention *attention)
{
    free(attention->partial);
    *attention = (spec_attention){0};
}
