/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/attention.h"

#include "base/int_math.h"
#include "base/thread_pool.h"
#include "models/transformer/engine/kv_cache.h"
#include "speclab/round.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = SPEC_VECTOR_BLOCK,
    ROW = SPEC_VECTOR_ROW,
    LANES = SPEC_VECTOR_LANES, /* keys of a tile */
    ROWS_AT_ONCE = 32,         /* keys or values that all queries of a unit use in turn */
    QUERIES = 64,              /* the most queries that share a block while it is in the caches */
    QUERIES_LEAST = 8,         /* we halve them, down to this many, to keep more threads busy */
    QUERIES_FEW = 4,     /* if at most this many read floats, the hardware prefetches best alone */
    QUERIES_SPLIT = 256, /* if there are at most this many queries, each piece of a unit becomes a
                            separate job */
    PART_UNITS = 3,      /* how many units a chunk then has; their keys are adjacent in memory */
    CHUNK_WORK = 1 << 15 /* minimum work of a chunk: the floats of its keys, times its queries */
};

/* Positions or blocks begin..end-1. */
typedef struct {
    int begin, end;
} span;

/* The positions that a column attends to, or their blocks: part[0] has the first ones of the text,
 * if a gap follows them, and part[1] the last ones. */
typedef struct {
    span part[2];
} sight;

/* A unit is a few columns, a kv head, and a few of the heads that read it: at most QUERIES queries
 * of the same keys. */
typedef struct {
    const spec_attention *a;
    float *o;
    const float *qkv;
    const spec_kv *kv;
    int layer;
    const spec_batch *batch;
    int window;             /* the layer's: most positions that a column attends to; 0: all */
    const float *opt_sinks; /* (n_heads) */
    int group, width;       /* heads per kv head */
    int columns, heads;     /* most in a unit */
    /* how the units of a kv head arise: `tiles` tiles of columns, each divided into `parts` groups
     * of heads */
    int tiles, parts;
    int units, units_a_chunk;
    sight blocks; /* of all columns */
} work;

/* What a column sees, and how many positions of it, from the first on, are in the slots of the same
 * number: its text, and the nodes that follow it without a gap. */
typedef struct {
    sight seen;
    int straight_end;
} view;

typedef struct {
    int kv_head;
    int first, columns; /* its columns, as indices in the batch */
    int head, heads;    /* its heads, as indices in the group */
    view view[QUERIES]; /* (columns) */
} unit;

/* The partial result of a unit's queries: over its pieces so far, or over one of them. */
typedef struct {
    float mixed[QUERIES * SPEC_HEAD_DIM_MAX], largest[QUERIES], sum[QUERIES];
} mixture;

static int size_of(span s)
{
    return s.end - s.begin;
}

/* Returns where the last `window` of `end` positions begin; window 0: all of them. */
static int begin_of_last(int window, int end)
{
    return window > 0 && end > window ? end - window : 0;
}

/* Returns what a column sees: its whole sequence, or in a layer with a window its last positions. A
 * batch with a window keeps only the last of these, and the first ones of the text. */
static sight seen_by(const work *w, int u)
{
    const spec_batch *batch = w->batch;
    const int end = batch->past[u] + batch->path_begin[u + 1] - batch->path_begin[u];
    const int from = begin_of_last(w->window, end);
    const int begin = spec_int_max(from, begin_of_last(batch->window, end));
    const int sink = spec_int_max(from, spec_int_min(batch->sink, begin));
    if (sink == begin) return (sight){{{0, 0}, {from, end}}};
    return (sight){{{from, sink}, {begin, end}}};
}

/* Returns the blocks that have some of these positions. */
static span blocks_over(span positions)
{
    if (size_of(positions) == 0) return (span){0, 0};
    return (span){positions.begin / BLOCK, spec_int_ceil_div(positions.end, BLOCK)};
}

/* Returns both spans and what lies between them. An empty one does not count. */
static span hull_of(span a, span b)
{
    if (size_of(a) == 0) return b;
    if (size_of(b) == 0) return a;
    return (span){spec_int_min(a.begin, b.begin), spec_int_max(a.end, b.end)};
}

/* Returns the blocks of all columns. */
static sight blocks_of(const work *w)
{
    sight all = {{{0, 0}, {0, 0}}};
    for (int u = 0; u < w->batch->n; u++) {
        const sight seen = seen_by(w, u);
        for (int i = 0; i < 2; i++) all.part[i] = hull_of(all.part[i], blocks_over(seen.part[i]));
    }
    return all;
}

/* Returns the part of a span in block b; if it is empty, it begins and ends where the block begins.
 */
static span within(span seen, int b)
{
    const span block = {b * BLOCK, (b + 1) * BLOCK};
    const span both = {spec_int_max(seen.begin, block.begin), spec_int_min(seen.end, block.end)};
    return both.begin < both.end ? both : (span){block.begin, block.begin};
}

/* Attention runs over pieces: the blocks of part[0], then those of part[1]. A block with positions
 * of both is two pieces, so what a column sees in a piece has no gap. */
typedef struct {
    int number, part, block;
} piece;

static int n_pieces(const work *w)
{
    return size_of(w->blocks.part[0]) + size_of(w->blocks.part[1]);
}

static piece piece_of(const work *w, int number)
{
    const int before = size_of(w->blocks.part[0]), part = number >= before;
    return (piece){number, part, w->blocks.part[part].begin + number - part * before};
}

static int straight_end(const spec_batch *batch, int u)
{
    const int past = batch->past[u], *path = batch->path + batch->path_begin[u],
              n = batch->path_begin[u + 1] - batch->path_begin[u];
    int i = 0;
    while (i < n && path[i] == past + i) i++;
    return past + i;
}

static void take_unit(unit *of, const work *w, int i)
{
    of->kv_head = i / w->parts / w->tiles;
    of->first = i / w->parts % w->tiles * w->columns;
    of->columns = spec_int_min(w->columns, w->batch->n - of->first);
    of->head = i % w->parts * w->heads;
    of->heads = spec_int_min(w->heads, w->group - of->head);
    for (int c = 0; c < of->columns; c++)
        of->view[c] = (view){seen_by(w, of->first + c), straight_end(w->batch, of->first + c)};
}

/* Returns the positions of a piece that a column of a unit sees. */
static span seen_in(const unit *of, int column, const piece *p)
{
    return within(of->view[column].seen.part[p->part], p->block);
}

static bool sees(const unit *of, int column, const piece *p)
{
    return size_of(seen_in(of, column, p)) > 0;
}

static bool any_sees(const unit *of, const piece *p)
{
    for (int c = 0; c < of->columns; c++)
        if (sees(of, c, p)) return true;
    return false;
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

/* Returns the positions of a piece that a column sees in the slots of the same number. */
static span straight_in(const unit *of, int column, const piece *p)
{
    const span seen = seen_in(of, column, p);
    const int end = spec_int_min(seen.end, of->view[column].straight_end);
    return (span){seen.begin, spec_int_max(seen.begin, end)};
}

/* Returns the positions that all columns of a unit see or, without `all`, that at least one column
 * sees. */
static span straight_of(const unit *of, const piece *p, bool all)
{
    span found = straight_in(of, 0, p);
    for (int c = 1; c < of->columns; c++) {
        const span own = straight_in(of, c, p);
        found = all ? (span){spec_int_max(found.begin, own.begin), spec_int_min(found.end, own.end)}
                    : hull_of(found, own);
    }
    return within(found, p->block);
}

/* Keys or values of a few positions as floats, and those that follow them in memory. */
typedef struct {
    const float *number;
    spec_vector_ahead next;
    float widened[ROWS_AT_ONCE * SPEC_HEAD_DIM_MAX]; /* stays in the first-level cache */
} few_rows;

/* Takes numbers first..first+n-1 of a block's keys or values, for `queries` queries. */
static void take_rows(few_rows *rows, const work *w, int queries, const void *numbers, size_t first,
                      size_t n)
{
    const bool are_floats = w->kv->type == SPEC_TENSOR_F32;
    const size_t size = are_floats ? sizeof(float) : sizeof(uint16_t);
    const unsigned char *const from = (const unsigned char *)numbers + first * size;
    rows->next =
        (spec_vector_ahead){from + n * size, are_floats && queries <= QUERIES_FEW ? 0 : n * size};
    rows->number = (const float *)(const void *)from;
    if (are_floats) return;
    w->a->kernels->widen(rows->widened, (const uint16_t *)(const void *)from, w->kv->type, (int)n);
    rows->number = rows->widened;
}

/* Computes the scores of `queries` queries and tiles first..end-1 of a block. */
static void score_tiles(const work *w, float *score, const float *query, int queries,
                        const void *keys, int first, int end)
{
    const size_t numbers = LANES * (size_t)w->width;
    few_rows rows;
    for (int tile = first; tile < end; tile += ROWS_AT_ONCE / LANES) {
        const int n = spec_int_min(ROWS_AT_ONCE / LANES, end - tile);
        take_rows(&rows, w, queries, keys, (size_t)tile * numbers, (size_t)n * numbers);
        w->a->kernels->score(score + tile * LANES, query, queries, w->width, rows.number, n,
                             rows.next);
    }
}

/* Mixes positions `at` of a block into the sums of some queries, whose weights begin with the
 * block. */
static void mix_rows(const work *w, float *mixed, const float *weight, int queries,
                     const void *values, span at)
{
    const size_t width = (size_t)w->width;
    few_rows rows;
    for (int t = at.begin; t < at.end; t += ROWS_AT_ONCE) {
        const int n = spec_int_min(ROWS_AT_ONCE, at.end - t);
        take_rows(&rows, w, queries, values, (size_t)t * width, (size_t)n * width);
        w->a->kernels->mix(mixed, weight + t, queries, w->width, rows.number, n, rows.next);
    }
}

/* Keys and values of nodes, which may be in any slots. */
typedef struct {
    float key[SPEC_HEAD_DIM_MAX * LANES], value[LANES * SPEC_HEAD_DIM_MAX];
} node_tile;

/* Collects the nodes of column u at positions begin..end-1, at most LANES. */
static void collect_nodes(node_tile *to, const work *w, int kv_head, int u, int begin, int end)
{
    const spec_batch *batch = w->batch;
    const size_t width = (size_t)w->width;
    float key[SPEC_HEAD_DIM_MAX];
    for (int t = begin; t < end; t++) {
        const int slot = batch->path[batch->path_begin[u] + t - batch->past[u]];
        spec_kv_cache_read(key, to->value + (size_t)(t - begin) * width, w->kv, w->layer, kv_head,
                           slot, w->a->kernels);
        for (size_t d = 0; d < width; d++) to->key[d * LANES + (size_t)(t - begin)] = key[d];
    }
}

/* The positions of a column in a piece, in order: those before the ones that all columns of the
 * unit see in the same slots, those after them, and nodes in other slots. */
typedef struct {
    span before, behind, nodes;
} own_positions;

static own_positions own_of(const unit *of, int column, const piece *p, span common)
{
    const span seen = seen_in(of, column, p);
    const int straight = straight_in(of, column, p).end;
    const int before = spec_int_max(seen.begin, spec_int_min(straight, common.begin)),
              behind = spec_int_max(before, common.end);
    return (own_positions){
        {seen.begin, before}, {behind, spec_int_max(behind, straight)}, {straight, seen.end}};
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

/* Computes the scores of column u's nodes, `heads` queries. */
static void score_nodes(const work *w, const unit *of, float *score, const float *query, int u,
                        span nodes, int begin)
{
    float found[QUERIES * ROW];
    node_tile tile;
    for (int t = nodes.begin; t < nodes.end; t += LANES) {
        const int n = spec_int_min(LANES, nodes.end - t);
        collect_nodes(&tile, w, of->kv_head, u, t, t + n);
        w->a->kernels->score(found, query, of->heads, w->width, tile.key, 1,
                             (spec_vector_ahead){0});
        for (int h = 0; h < of->heads; h++)
            memcpy(score + h * ROW + t - begin, found + h * ROW, (size_t)n * sizeof *found);
    }
}

static void mix_nodes(const work *w, const unit *of, float *mixed, const float *weight, int u,
                      span nodes, int begin)
{
    node_tile tile;
    for (int t = nodes.begin; t < nodes.end; t += LANES) {
        const int n = spec_int_min(LANES, nodes.end - t);
        collect_nodes(&tile, w, of->kv_head, u, t, t + n);
        w->a->kernels->mix(mixed, weight + t - begin, of->heads, w->width, tile.value, n,
                           (spec_vector_ahead){0});
    }
}

static span moved(span positions, int begin)
{
    return (span){positions.begin - begin, positions.end - begin};
}

/* Computes a piece. Scores are computed for whole tiles, even for positions that a column does not
 * see, but no weight depends on those. */
static void attend_piece(const work *w, const unit *of, const float *query, mixture *to,
                         const piece *p)
{
    const int begin = p->block * BLOCK, width = w->width, heads = of->heads;
    const void *keys, *values;
    const span common = straight_of(of, p, true), some = straight_of(of, p, false);
    float weight[QUERIES * ROW];
    own_positions own[QUERIES];

    spec_kv_cache_block(&keys, &values, w->kv, w->layer, of->kv_head, p->block);
    score_tiles(w, weight, query, of->columns * heads, keys, (some.begin - begin) / LANES,
                spec_int_ceil_div(some.end - begin, LANES));
    memset(to->mixed, 0, (size_t)(of->columns * heads * width) * sizeof to->mixed[0]);
    for (int i = 0; i < of->columns; i++) {
        const int u = of->first + i, at = i * heads;
        own[i] = own_of(of, i, p, common);
        score_nodes(w, of, weight + at * ROW, query + at * width, u, own[i].nodes, begin);
        for (int h = 0; h < heads; h++)
            weigh(w->a->kernels, &to->largest[at + h], &to->sum[at + h], weight + (at + h) * ROW,
                  seen_in(of, i, p), begin);
        mix_rows(w, to->mixed + at * width, weight + at * ROW, heads, values,
                 moved(own[i].before, begin));
    }
    mix_rows(w, to->mixed, weight, of->columns * heads, values, moved(common, begin));
    for (int i = 0; i < of->columns; i++) {
        const int at = i * heads;
        mix_rows(w, to->mixed + at * width, weight + at * ROW, heads, values,
                 moved(own[i].behind, begin));
        mix_nodes(w, of, to->mixed + at * width, weight + at * ROW, of->first + i, own[i].nodes,
                  begin);
    }
}

/* Merges the next piece of a query into the previous ones. */
static void join(const work *w, float *mixed, float *largest, float *sum, const float *next,
                 float next_largest, float next_sum)
{
    float factor[LANES] = {*largest, next_largest}, unused;
    w->a->kernels->weigh(largest, &unused, factor, 2);
    for (int d = 0; d < w->width; d++) mixed[d] = mixed[d] * factor[0] + next[d] * factor[1];
    *sum = *sum * factor[0] + next_sum * factor[1];
}

/* Returns the index of query q of a unit among all heads of all columns. */
static int number_of(const work *w, const unit *of, int q)
{
    return (of->first + q / of->heads) * w->a->n_heads + of->kv_head * w->group + of->head +
           q % of->heads;
}

/* Stores the result of a query. A sink is one more score, whose value is zero. */
static void put(const work *w, const unit *of, int q, const float *mixed, float largest, float sum)
{
    const int number = number_of(w, of, q), head = number % w->a->n_heads;
    float *o = w->o + (size_t)number * (size_t)w->a->head_dim;
    float factor = 1.0f / sum;
    if (w->opt_sinks != NULL) {
        const float sink = w->opt_sinks[head], both = sink > largest ? sink : largest;
        const float before = spec_vector_exp(largest - both);
        factor = before / (sum * before + spec_vector_exp(sink - both));
    }
    for (int d = 0; d < w->a->head_dim; d++) o[d] = mixed[d] * factor;
}

/* Appends a piece of a query to the previous ones, if its column sees it. The sum is 0 before the
 * first one, and not after it, since the largest weight is 1. */
static void add_piece(const work *w, const unit *of, mixture *so_far, const mixture *last, int q,
                      const piece *p)
{
    float *mixed = so_far->mixed + q * w->width;
    const float *next = last->mixed + q * w->width;
    if (!sees(of, q / of->heads, p)) return;
    if (so_far->sum[q] != 0.0f) {
        join(w, mixed, &so_far->largest[q], &so_far->sum[q], next, last->largest[q], last->sum[q]);
        return;
    }
    memcpy(mixed, next, (size_t)w->width * sizeof *mixed);
    so_far->largest[q] = last->largest[q];
    so_far->sum[q] = last->sum[q];
}

/* Computes all pieces of a few units. */
static void attend_units(void *job, int chunk)
{
    const work *w = job;
    for (int i = chunk * w->units_a_chunk;
         i < spec_int_min((chunk + 1) * w->units_a_chunk, w->units); i++) {
        unit of;
        take_unit(&of, w, i);
        const int queries = of.columns * of.heads;
        float query[QUERIES * SPEC_HEAD_DIM_MAX];
        mixture so_far, mixed;
        memset(so_far.sum, 0, sizeof so_far.sum);
        take_queries(query, w, &of);
        for (int n = 0; n < n_pieces(w); n++) {
            const piece p = piece_of(w, n);
            if (!any_sees(&of, &p)) continue;
            attend_piece(w, &of, query, &mixed, &p);
            for (int q = 0; q < queries; q++) add_piece(w, &of, &so_far, &mixed, q, &p);
        }
        for (int q = 0; q < queries; q++)
            put(w, &of, q, so_far.mixed + q * w->width, so_far.largest[q], so_far.sum[q]);
    }
}

/* Returns query q's partial result for a piece in a unit: width floats, largest score, sum. */
static float *partial_of(const work *w, const unit *of, int q, const piece *p)
{
    const int number = number_of(w, of, q);
    assert(number < QUERIES_SPLIT);
    return w->a->partial +
           ((size_t)number * (size_t)w->a->blocks + (size_t)p->number) * (size_t)(w->width + 2);
}

/* Computes one piece of a few units. */
static void attend_parts(void *job, int chunk)
{
    const work *w = job;
    const int chunks = spec_int_ceil_div(w->units, w->units_a_chunk),
              first = chunk % chunks * w->units_a_chunk;
    const piece p = piece_of(w, chunk / chunks);
    mixture mixed;
    for (int i = first; i < spec_int_min(first + w->units_a_chunk, w->units); i++) {
        unit of;
        take_unit(&of, w, i);
        float query[QUERIES * SPEC_HEAD_DIM_MAX];
        if (!any_sees(&of, &p)) continue;
        take_queries(query, w, &of);
        attend_piece(w, &of, query, &mixed, &p);
        for (int q = 0; q < of.columns * of.heads; q++) {
            float *partial = partial_of(w, &of, q, &p);
            memcpy(partial, mixed.mixed + q * w->width, (size_t)w->width * sizeof *partial);
            partial[w->width] = mixed.largest[q];
            partial[w->width + 1] = mixed.sum[q];
        }
    }
}

static void join_parts(const work *w, int i)
{
    unit of;
    take_unit(&of, w, i);
    for (int q = 0; q < of.columns * of.heads; q++) {
        float *so_far = NULL;
        for (int n = 0; n < n_pieces(w); n++) {
            const piece p = piece_of(w, n);
            float *next = partial_of(w, &of, q, &p);
            if (!sees(&of, q / of.heads, &p)) continue;
            if (so_far == NULL)
                so_far = next;
            else
                join(w, so_far, &so_far[w->width], &so_far[w->width + 1], next, next[w->width],
                     next[w->width + 1]);
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
    w.width = spec_kv_cache_width(attention->head_dim);
    w.heads = spec_int_min(w.group, QUERIES);
    w.parts = spec_int_ceil_div(w.group, w.heads);
    w.columns = spec_int_min(QUERIES / w.heads, batch->n);
    const int kv_parts = attention->n_kv_heads * w.parts,
              wanted_tiles = spec_int_ceil_div(2 * spec_thread_pool_size(opt_locked), kv_parts);
    while (w.columns * w.heads > QUERIES_LEAST &&
           spec_int_ceil_div(batch->n, w.columns) < wanted_tiles)
        w.columns = spec_int_ceil_div(w.columns, 2);
    w.tiles = spec_int_ceil_div(batch->n, w.columns);
    w.units = w.tiles * kv_parts;
    int longest = 0;
    for (int u = 0; u < batch->n; u++) {
        const sight seen = seen_by(&w, u);
        longest = spec_int_max(longest, size_of(seen.part[0]) + size_of(seen.part[1]));
    }
    w.blocks = blocks_of(&w);
    const int pieces = n_pieces(&w);
    const bool split =
        pieces > 1 && pieces <= attention->blocks && batch->n * attention->n_heads <= QUERIES_SPLIT;
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
    spec_thread_pool_run(opt_locked, attend_parts, &w, chunks * pieces);
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
    const size_t partials = QUERIES_SPLIT * (size_t)attention->blocks;
    attention->partial = calloc(partials, (size_t)(spec_kv_cache_width(shape->head_dim) + 2) *
                                              sizeof *attention->partial);
    if (attention->partial == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for %zu partial sums", partials);
    return GSL_SUCCESS;
}

void spec_attention_free(spec_attention *attention)
{
    free(attention->partial);
    *attention = (spec_attention){0};
}
