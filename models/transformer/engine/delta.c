/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/delta.h"

#include "base/int_math.h"
#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PERIOD = SPEC_DELTA_PERIOD,
    DEPTH = SPEC_DELTA_DEPTH,
    LANES = SPEC_VECTOR_LANES,
    WIDEST = SPEC_HEAD_DIM_MAX,
    /* states kept: those of the anchors of a node and of the text before it */
    STATES = DEPTH / PERIOD + 1,
    SEEN = DEPTH + PERIOD,       /* a token sums over fewer tokens than this, its own included */
    /* Slots of the text, which are used cyclically: room for what the first token of a pass sees,
     * and for the pass. */
    TEXT = SEEN + SPEC_COLUMNS_MAX,
    SLOTS = TEXT + SPEC_NODES_MAX,
    PAIR = 2, /* results that a kernel computes at once */
    ROW = SPEC_PATH_MAX
};

_Static_assert(DEPTH % PERIOD == 0 && (int)SEEN <= (int)ROW, "sums fit a row of weights");
_Static_assert((int)WIDEST <= (int)ROW, "a key fits a row of weights");

/* The cache of one layer. Widths are rounded up to LANES, with zeros. */
typedef struct {
    float *input;  /* (SLOTS, channels) of the convolution */
    float *key;    /* (n_key_heads, SLOTS, key_width) */
    float *update; /* u: (n_value_heads, SLOTS, value_width) */
    double *decay; /* a: (n_value_heads, SLOTS) */
    /* (STATES, n_value_heads, key_width, value_width), that of anchor A is at index A / PERIOD mod
     * STATES */
    float *state;
    int newest, held; /* the latest anchor, and how many states in a row up to it are known; anchor
                         0 has none, because its state is 0 */
    int written;      /* slots of the text 0..written-1 were written, the last TEXT of them are
                         still there */
} layer_cache;

struct spec_delta_cache {
    spec_delta_shape shape;
    int channels, key_width, value_width;
    void *memory;
    layer_cache *layer; /* (shape.n_layers) */
};

static int width_of(int dim)
{
    return spec_int_ceil_div(dim, LANES) * LANES;
}

static int anchor_of(int position)
{
    return position < DEPTH ? 0 : (position - DEPTH) / PERIOD * PERIOD;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t floats_of_state(const spec_delta_shape *s)
{
    return (size_t)s->n_value_heads * (size_t)width_of(s->key_dim) * (size_t)width_of(s->value_dim);
}

/* Sets the arrays of a layer, which begin at `memory`; returns how many bytes they take. */
static size_t place(layer_cache *ret_layer, const spec_delta_shape *s, char *memory)
{
    const size_t heads = (size_t)s->n_value_heads;
    const size_t decay = heads * SLOTS * sizeof(double),
                 input = (size_t)spec_checkpoint_channels(s) * SLOTS * sizeof(float),
                 key =
                     (size_t)s->n_key_heads * SLOTS * (size_t)width_of(s->key_dim) * sizeof(float),
                 update = heads * SLOTS * (size_t)width_of(s->value_dim) * sizeof(float),
                 state = STATES * floats_of_state(s) * sizeof(float);
    if (memory != NULL)
        *ret_layer =
            (layer_cache){.decay = (double *)(void *)memory,
                          .input = (float *)(void *)(memory + decay),
                          .key = (float *)(void *)(memory + decay + input),
                          .update = (float *)(void *)(memory + decay + input + key),
                          .state = (float *)(void *)(memory + decay + input + key + update)};
    return (decay + input + key + update + state + 63) / 64 * 64;
}

size_t spec_delta_cache_bytes(const spec_delta_shape *shape)
{
    return (size_t)shape->n_layers * place(NULL, shape, NULL);
}

/* Memory is reserved for all nodes, but pages that no tree ever used take none. */
int spec_delta_cache_init(spec_delta_cache **ret_cache, const spec_shape *shape, spec_error *error)
{
    const spec_delta_shape *s = &shape->delta;
    const size_t bytes = spec_delta_cache_bytes(s);
    spec_delta_cache *cache = *ret_cache = calloc(1, sizeof *cache);
    if (cache == NULL) return spec_no_memory(error);
    *cache = (spec_delta_cache){.shape = *s,
                                .channels = spec_checkpoint_channels(s),
                                .key_width = width_of(s->key_dim),
                                .value_width = width_of(s->value_dim),
                                .layer = calloc((size_t)s->n_layers, sizeof *cache->layer)};
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cache->memory = memory != MAP_FAILED ? memory : NULL;
    if (cache->layer == NULL || cache->memory == NULL) {
        spec_delta_cache_free(cache);
        *ret_cache = NULL;
        return spec_fail(error, GSL_ENOMEM, "out of memory for recurrent states (%zu bytes)",
                         bytes);
    }
    for (int i = 0; i < s->n_layers; i++)
        place(&cache->layer[i], s, (char *)memory + (size_t)i * place(NULL, s, NULL));
    return GSL_SUCCESS;
}

void spec_delta_cache_free(spec_delta_cache *cache)
{
    if (cache == NULL) return;
    if (cache->memory != NULL) munmap(cache->memory, spec_delta_cache_bytes(&cache->shape));
    free(cache->layer);
    free(cache);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Returns the index of a slot, after a text of n_text tokens. */
static int index_of(int slot, int n_text)
{
    assert(slot < n_text + SPEC_NODES_MAX);
    return slot < n_text ? slot % TEXT : TEXT + slot - n_text;
}

static void move(const spec_delta_cache *cache, layer_cache *layer, int to, int from)
{
    const size_t channels = (size_t)cache->channels, key = (size_t)cache->key_width,
                 value = (size_t)cache->value_width;
    memcpy(layer->input + (size_t)to * channels, layer->input + (size_t)from * channels,
           channels * sizeof(float));
    for (size_t h = 0; h < (size_t)cache->shape.n_key_heads; h++)
        memcpy(layer->key + (h * SLOTS + (size_t)to) * key,
               layer->key + (h * SLOTS + (size_t)from) * key, key * sizeof(float));
    for (size_t h = 0; h < (size_t)cache->shape.n_value_heads; h++) {
        memcpy(layer->update + (h * SLOTS + (size_t)to) * value,
               layer->update + (h * SLOTS + (size_t)from) * value, value * sizeof(float));
        layer->decay[h * SLOTS + (size_t)to] = layer->decay[h * SLOTS + (size_t)from];
    }
}

void spec_delta_cache_keep(spec_delta_cache *cache, const int *from, int to, int n)
{
    for (int l = 0; l < cache->shape.n_layers; l++) {
        layer_cache *layer = &cache->layer[l];
        for (int i = 0; i < n; i++)
            move(cache, layer, index_of(to + i, to + n), index_of(from[i], to));
        layer->written = spec_int_max(layer->written, to + n);
    }
}

/* Drops the states of anchors beyond the text, or all states if one that later positions need is
 * lost. Returns whether the tokens from the first anchor on are still in the cache. */
static bool resumes(layer_cache *layer, int length)
{
    const int anchor = anchor_of(length), needed = anchor > 0 ? anchor : PERIOD;
    while (layer->newest > length) {
        layer->newest -= PERIOD;
        layer->held--;
    }
    if (needed < layer->newest - (layer->held - 1) * PERIOD) layer->newest = layer->held = 0;
    return layer->written - spec_int_min(anchor, layer->newest) <= TEXT;
}

int spec_delta_cache_resume(spec_delta_cache *cache, int length)
{
    bool all = length > 0;
    for (int l = 0; l < cache->shape.n_layers; l++) all = resumes(&cache->layer[l], length) && all;
    for (int l = 0; l < cache->shape.n_layers && !all; l++) {
        layer_cache *layer = &cache->layer[l];
        layer->newest = layer->held = layer->written = 0;
    }
    return all ? length : 0;
}

/* ---- one head of keys ------------------------------------------------------------------------ */

typedef struct {
    const spec_delta_work *work;
    const spec_delta_cache *cache;
    const layer_cache *layer;
    const spec_delta *delta;
    const float *x;
    float *y;
    int first, last; /* the anchors of the pass */
} job;

/* The tokens that a column sees from its anchor on, as indices of the cache; its own is the last.
 */
typedef struct {
    int column, anchor, position, n;
    int index[SEEN];
} sight;

static int slot_at(const spec_batch *batch, int u, int position)
{
    return position < batch->past[u]
               ? position
               : batch->path[batch->path_begin[u] + position - batch->past[u]];
}

static void look(sight *ret, const spec_batch *batch, int u)
{
    *ret = (sight){
        .column = u, .position = batch->position[u], .anchor = anchor_of(batch->position[u])};
    for (int at = ret->anchor; at <= ret->position; at++)
        ret->index[ret->n++] = index_of(slot_at(batch, u, at), batch->n_text);
    assert(ret->n <= SEEN);
}

/* Computes silu of the convolution of n channels. */
static void convolve(float *y, const job *j, const sight *of, int first, int n)
{
    const int kernel = j->cache->shape.kernel;
    const float *input[SPEC_DELTA_KERNEL_MAX];
    float ones[WIDEST];
    for (int m = 0; m < kernel; m++) {
        const int back = kernel - 1 - m, at = of->position - back;
        const int slot = at >= 0 ? slot_at(j->work->batch, of->column, at) : -1;
        input[m] = slot >= 0 ? j->layer->input + (size_t)index_of(slot, j->work->batch->n_text) *
                                                     (size_t)j->cache->channels
                             : NULL;
    }
    for (int c = 0; c < n; c++) {
        const float *weight = j->delta->conv + (size_t)(first + c) * (size_t)kernel;
        float sum = 0.0f;
        for (int m = 0; m < kernel; m++)
            if (input[m] != NULL) sum += weight[m] * input[m][first + c];
        y[c] = sum;
        ones[c] = 1.0f;
    }
    j->work->kernels->gate(y, y, ones, n);
}

/* Scales x to this length, in the way transformers does. */
static void set_length(float *x, int n, float length, const spec_vector_kernels *kernels)
{
    static const float eps = 1e-6f;
    float gain[WIDEST];
    for (int i = 0; i < n; i++) gain[i] = length / sqrtf((float)n);
    kernels->norm(x, x, gain, eps / (float)n, n);
}

static float *state_of(const job *j, int anchor, int head)
{
    const size_t one = (size_t)j->cache->key_width * (size_t)j->cache->value_width;
    return j->layer->state +
           ((size_t)(anchor / PERIOD % STATES) * (size_t)j->cache->shape.n_value_heads +
            (size_t)head) *
               one;
}

/* Computes a head's state at the next anchor from the PERIOD tokens between: S' = w S + sum_j w_j
 * k_j u_j'. */
static void advance(const job *j, int anchor, int key_head, int head)
{
    const int width = j->cache->value_width, rows = j->cache->key_width;
    const double *decay = j->layer->decay + (size_t)head * SLOTS;
    const float *key = j->layer->key + (size_t)key_head * SLOTS * (size_t)rows;
    const float *old = anchor > 0 ? state_of(j, anchor, head) : NULL;
    float *state = state_of(j, anchor + PERIOD, head), weight[PAIR * ROW], share[PERIOD];
    double product = 1.0;
    int index[PERIOD];
    for (int i = PERIOD - 1; i >= 0; i--) {
        index[i] = (anchor + i) % TEXT;
        share[i] = (float)product;
        product *= decay[index[i]];
    }
    for (int i = 0; i < rows * width; i++) state[i] = old != NULL ? (float)product * old[i] : 0.0f;
    for (int row = 0; row < rows; row += PAIR) {
        for (int i = 0; i < PERIOD; i++) {
            const float *k = key + (size_t)index[i] * (size_t)rows + row;
            weight[i] = share[i] * k[0];
            weight[ROW + i] = share[i] * k[1];
        }
        j->work->path->add(state + (size_t)row * (size_t)width, weight, width,
                           j->layer->update + (size_t)head * SLOTS * (size_t)width, index, PERIOD);
    }
}

/* What the value heads of a key head share: the key and query of a column, and their products with
 * the keys that the column sees. */
typedef struct {
    float vector[PAIR * ROW];
    float product[PAIR * ROW];
} key_and_query;

static void make_keys(key_and_query *ret, const job *j, const sight *of, int key_head)
{
    const spec_delta_shape *s = &j->cache->shape;
    const int width = j->cache->key_width, all = s->n_key_heads * s->key_dim;
    const spec_vector_kernels *kernels = j->work->kernels;
    float packed[PAIR * WIDEST] = {0.0f}, *const k = packed, *const q = packed + width;
    float *keys = j->layer->key + (size_t)key_head * SLOTS * (size_t)width;
    convolve(k, j, of, all + key_head * s->key_dim, s->key_dim);
    convolve(q, j, of, key_head * s->key_dim, s->key_dim);
    set_length(k, s->key_dim, 1.0f, kernels);
    set_length(q, s->key_dim, 1.0f / sqrtf((float)s->key_dim), kernels);
    memcpy(keys + (size_t)of->index[of->n - 1] * (size_t)width, k, (size_t)width * sizeof *k);
    for (int i = 0; i < PAIR; i++)
        memcpy(ret->vector + i * ROW, packed + i * width, (size_t)width * sizeof *packed);
    j->work->path->dot(ret->product, packed, width, keys, of->index, of->n);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double log_of_one_and_exp(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

/* Computes u_t, and writes o_t, normed and gated, to y. */
static void update(const job *j, const sight *of, const key_and_query *shared, int key_head,
                   int head)
{
    const spec_delta_shape *s = &j->cache->shape;
    const spec_vector_kernels *kernels = j->work->kernels;
    const int width = j->cache->value_width, per_key = s->n_value_heads / s->n_key_heads,
              values = s->n_value_heads * s->value_dim, last = of->n - 1, own = of->index[last],
              k = key_head, channels = j->cache->channels;
    const float *x = j->x + (size_t)of->column * (size_t)(channels + values + 2 * s->n_value_heads);
    const float *gate = x + channels + (ptrdiff_t)head * s->value_dim,
                *both = x + channels + values;
    const float beta = j->delta->alternates ? both[2 * k * per_key + head % per_key] : both[head],
                alpha = j->delta->alternates ? both[(2 * k + 1) * per_key + head % per_key]
                                             : both[s->n_value_heads + head];
    float *updates = j->layer->update + (size_t)head * SLOTS * (size_t)width,
          *u = updates + (size_t)own * (size_t)width;
    double *decay = j->layer->decay + (size_t)head * SLOTS, product = 1.0;
    float weight[PAIR * ROW], mixed[PAIR * WIDEST] = {0.0f}, v[WIDEST];
    float *const read = mixed, *const out = mixed + width;

    decay[own] = exp((double)j->delta->rate[head] *
                     log_of_one_and_exp((double)alpha + (double)j->delta->bias[head]));
    for (int i = last; i >= 0; i--) {
        weight[i] = (float)product * shared->product[i];
        weight[ROW + i] = (float)product * shared->product[ROW + i];
        product *= decay[of->index[i]];
    }
    if (of->anchor > 0) {
        int row[WIDEST];
        for (int i = 0; i < s->key_dim; i++) row[i] = i;
        j->work->path->add(mixed, shared->vector, width, state_of(j, of->anchor, head), row,
                           s->key_dim);
        for (int i = 0; i < PAIR * width; i++) mixed[i] *= (float)product;
    }
    j->work->path->add(mixed, weight, width, updates, of->index, last);

    convolve(v, j, of, 2 * s->n_key_heads * s->key_dim + head * s->value_dim, s->value_dim);
    const float by = (float)sigmoid((double)beta), mine = weight[ROW + last];
    for (int i = 0; i < s->value_dim; i++) {
        u[i] = by * (v[i] - read[i]);
        out[i] += mine * u[i];
    }
    kernels->norm(out, out, j->delta->norm, j->work->shape->norm_eps, s->value_dim);
    kernels->gate(j->y + (size_t)of->column * (size_t)values + (ptrdiff_t)head * s->value_dim, gate,
                  out, s->value_dim);
}

/* Returns the i-th value head that reads a key head. */
static int value_head_of(const spec_delta_shape *s, int key_head, int i)
{
    return s->is_tiled ? i * s->n_key_heads + key_head
                       : key_head * (s->n_value_heads / s->n_key_heads) + i;
}

/* Computes the anchors and columns in ascending order, so that everything a column reads is
 * computed before it. */
static void run_head(void *self, int key_head)
{
    const job *j = self;
    const spec_delta_shape *s = &j->cache->shape;
    const int per_key = s->n_value_heads / s->n_key_heads;
    for (int anchor = spec_int_min(j->first, j->layer->newest); anchor <= j->last;
         anchor += PERIOD) {
        for (int i = 0; i < per_key && anchor > j->layer->newest; i++)
            advance(j, anchor - PERIOD, key_head, value_head_of(s, key_head, i));
        for (int u = 0; u < j->work->batch->n; u++) {
            sight of;
            key_and_query shared;
            if (anchor_of(j->work->batch->position[u]) != anchor) continue;
            look(&of, j->work->batch, u);
            make_keys(&shared, j, &of, key_head);
            for (int i = 0; i < per_key; i++)
                update(j, &of, &shared, key_head, value_head_of(s, key_head, i));
        }
    }
}

void spec_delta_compute(const spec_delta_work *work, float *y, const float *x,
                        spec_delta_cache *cache, int layer, const spec_delta *delta)
{
    const spec_delta_shape *s = &cache->shape;
    const spec_batch *batch = work->batch;
    const size_t channels = (size_t)cache->channels,
                 width = channels + (size_t)(s->n_value_heads * (s->value_dim + 2));
    layer_cache *of = &cache->layer[layer];
    job j = {work, cache, of, delta, x, y, anchor_of(batch->position[0]), 0};
    for (int u = 0; u < batch->n; u++) {
        const int anchor = anchor_of(batch->position[u]), slot = batch->slot[u];
        j.first = spec_int_min(j.first, anchor);
        j.last = spec_int_max(j.last, anchor);
        if (slot < batch->n_text) of->written = spec_int_max(of->written, slot + 1);
        memcpy(of->input + (size_t)index_of(slot, batch->n_text) * channels, x + (size_t)u * width,
               channels * sizeof *x);
    }
    spec_thread_pool_run(work->opt_locked, run_head, &j, s->n_key_heads);
    if (j.last > of->newest) {
        of->held = spec_int_min(of->held + (j.last - of->newest) / PERIOD, STATES);
        of->newest = j.last;
    }
}
