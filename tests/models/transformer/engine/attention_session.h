/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attention_session: a session on the CPU with made-up queries, keys and values.
 * It has a text, and a tree after it. */
#ifndef SPECLAB_TEST_ATTENTION_SESSION_H
#define SPECLAB_TEST_ATTENTION_SESSION_H

#include "base/half_float.h"
#include "base/noise.h"
#include "models/transformer/engine/backend.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <string.h>

static const spec_backend *cpu; /* uses as many threads as OpenMP has */

/* Returns a reproducible number with a triangular law on (-2, 2). */
static inline float draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(2385, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

/* One session: keys and values of a text in slots 0.., followed by those of a tree. */
typedef struct {
    spec_shape shape;
    spec_queue queue;
    spec_attending how; /* sinks, and the window if the shape has one */
    int window, sink;   /* of all batches */
    spec_kv kv;
    float *qkv, *o;
    size_t width;             /* floats of a row of qkv */
    spec_tensor_type rounded; /* keys and values are rounded to it before they are stored */
} session;

static const float sinks[] = {0.27f, -1.5f, 3.0f, 2.385f, 1.0f, -0.4f, 0.9f, 2.0f};

enum { SLOTS = 1700 };

static inline session open_session_of(spec_shape shape, spec_tensor_type kv_type)
{
    session s = {.shape = shape,
                 .width = (size_t)((shape.n_heads + 2 * shape.n_kv_heads) * shape.head_dim)};
    void *memory;
    spec_error error;
    if (shape.window > 0) s.how = (spec_attending){.has_window = true, .opt_sinks = sinks};
    assert_int_equal(cpu->queue_init(cpu, &s.queue, &shape, &error), GSL_SUCCESS);
    assert_int_equal(cpu->kv_init(cpu, &s.kv, &shape, kv_type, SLOTS, &error), GSL_SUCCESS);
    assert_int_equal(cpu->alloc(cpu, &memory, SPEC_COLUMNS_MAX * s.width * sizeof(float), &error),
                     GSL_SUCCESS);
    s.qkv = memory;
    assert_int_equal(cpu->alloc(cpu, &memory, SPEC_COLUMNS_MAX * s.width * sizeof(float), &error),
                     GSL_SUCCESS);
    s.o = memory;
    return s;
}

static inline session open_session(spec_shape shape)
{
    return open_session_of(shape, SPEC_TENSOR_F32);
}

static inline void session_free(session *s)
{
    cpu->free(cpu, s->qkv);
    cpu->free(cpu, s->o);
    cpu->kv_free(cpu, &s->kv);
    cpu->queue_free(&s->queue);
}

/* Draws queries, keys and values of the token at a position of text `text`; texts have nothing in
 * common. */
static inline void fill(float *qkv, size_t width, int text, int position)
{
    for (size_t i = 0; i < width; i++)
        qkv[i] = draw(((uint64_t)text << 40) + ((uint64_t)position << 20) + i) *
                 (i % 7 == 0 ? 3.0f : 1.0f);
}

/* Rounds the keys and values of the first n rows of qkv. */
static inline void round_rows(session *s, int n)
{
    const size_t queries = (size_t)(s->shape.n_heads * s->shape.head_dim);
    for (int u = 0; u < n && s->rounded != SPEC_TENSOR_F32; u++)
        for (size_t i = queries; i < s->width; i++) {
            float *const x = &s->qkv[(size_t)u * s->width + i];
            *x = s->rounded == SPEC_TENSOR_F16
                     ? spec_half_float_from_f16(spec_half_float_to_f16(*x))
                     : spec_half_float_from_bf16(spec_half_float_to_bf16(*x));
        }
}

static inline void add_column(spec_batch *batch, int *path, int slot, int past, const int *way,
                              int n_way)
{
    const int u = batch->n++, begin = batch->path_begin[u];
    memcpy(path + begin, way, (size_t)n_way * sizeof *way);
    batch->path = path;
    batch->past[u] = past;
    batch->slot[u] = slot;
    batch->position[u] = past + n_way - 1;
    batch->path_begin[u + 1] = begin + n_way;
}

/* Processes tokens from..to-1 of text 0, in passes. */
static inline void read_text(session *s, int from, int to)
{
    for (int done = from; done < to;) {
        spec_batch batch = {.window = s->window, .sink = s->sink};
        int path[SPEC_COLUMNS_MAX];
        for (; done < to && batch.n < SPEC_COLUMNS_MAX; done++) {
            fill(s->qkv + (size_t)batch.n * s->width, s->width, 0, done);
            add_column(&batch, path, done, done, &done, 1);
        }
        spec_error error;
        round_rows(s, batch.n);
        cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
        for (int layer = 0; layer < s->shape.n_layers; layer++) {
            cpu->store(&s->queue, &s->kv, layer, s->qkv);
            cpu->attend(&s->queue, s->o, s->qkv, &s->kv, layer, &s->how, NULL);
        }
        cpu->end(&s->queue);
        assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
    }
}

static const spec_shape shapes[] = {
    {.dim = 96,
     .n_layers = 2,
     .n_heads = 4,
     .n_kv_heads = 4,
     .head_dim = 24,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
    {.dim = 448,
     .n_layers = 2,
     .n_heads = 7,
     .n_kv_heads = 1,
     .head_dim = 64,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
    {.dim = 64,
     .n_layers = 2,
     .n_heads = 8,
     .n_kv_heads = 4,
     .head_dim = 8,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 4096,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
    {.dim = 96,
     .n_layers = 2,
     .n_heads = 8,
     .n_kv_heads = 4,
     .head_dim = 24,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4,
     .window = 5,
     .window_rope.base = 1e3},
    {.dim = 448,
     .n_layers = 2,
     .n_heads = 7,
     .n_kv_heads = 1,
     .head_dim = 64,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4,
     .window = 300,
     .window_rope.base = 1e4},
    {.dim = 64,
     .n_layers = 2,
     .n_heads = 4,
     .n_kv_heads = 4,
     .head_dim = 8,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 4096,
     .norm_eps = 1e-5f,
     .rope.base = 1e4,
     .window = 256,
     .window_rope.base = 1e4},
    {.dim = 48, /* units of 32 columns, of which 42 leave the second unit unfilled */
     .n_layers = 2,
     .n_heads = 6,
     .n_kv_heads = 3,
     .head_dim = 8,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* Makes a tree of NODES nodes after a text of `past` tokens; its columns use the slots after the
 * text, in the order of the nodes. Tokens are those of text `text` at their positions, so a path is
 * a text.
 */
enum { NODES = 20 };
static const int parent[NODES] = {-1, -1, 0, 1,  0,  2, 2,  5,  3,  7,
                                  9,  10, 4, 11, 13, 6, 14, 16, 17, 18};

static inline int way_to(int *way, int node, int past)
{
    int depth = 0;
    for (int at = node; at >= 0; at = parent[at]) depth++;
    for (int at = node, i = depth; at >= 0; at = parent[at]) way[--i] = past + at;
    return depth;
}

static inline void score_tree(session *s, int past, int first, int end)
{
    spec_batch batch = {.window = s->window, .sink = s->sink};
    int path[NODES * NODES], way[NODES];
    spec_error error;
    for (int node = first; node < end; node++) {
        const int depth = way_to(way, node, past);
        fill(s->qkv + (size_t)batch.n * s->width, s->width, 1 + node, past + depth - 1);
        add_column(&batch, path, past + node, past, way, depth);
    }
    cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
    cpu->rope(&s->queue, s->qkv, &s->how);
    round_rows(s, batch.n);
    cpu->store(&s->queue, &s->kv, 1, s->qkv);
    cpu->attend(&s->queue, s->o, s->qkv, &s->kv, 1, &s->how, NULL);
    cpu->end(&s->queue);
    assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
}

/* Reads a path as a text: token by token, each in the slot of its position. */
static inline void score_straight(session *s, int past, int node)
{
    int way[NODES];
    const int depth = way_to(way, node, past);
    for (int i = 0; i < depth; i++) {
        spec_batch batch = {.window = s->window, .sink = s->sink};
        int path[1], place = past + i;
        spec_error error;
        fill(s->qkv, s->width, 1 + way[i] - past, place);
        add_column(&batch, path, place, place, &place, 1);
        cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
        cpu->rope(&s->queue, s->qkv, &s->how);
        cpu->store(&s->queue, &s->kv, 1, s->qkv);
        cpu->attend(&s->queue, s->o, s->qkv, &s->kv, 1, &s->how, NULL);
        cpu->end(&s->queue);
        assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
    }
}

static int set_up(void **state)
{
    (void)state;
    cpu = spec_test_context(0)->cpu;
    return 0;
}

#endif
