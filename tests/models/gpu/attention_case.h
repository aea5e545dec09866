/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attention_case: KV caches, columns and reference results for tests of attention on a GPU.
 * A case has the same keys and values on the GPU and on the host, as floats that the GPU's type can
 * hold. Tokens of different sequences or positions are unrelated. A failed call fails the test. */
#ifndef SPECLAB_TESTS_ATTENTION_CASE_H
#define SPECLAB_TESTS_ATTENTION_CASE_H

#include "base/noise.h"
#include "models/gpu/launch_attention.h"
#include "tests/support/contexts.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

typedef struct {
    spec_shape shape;
    spec_tensor_type type;
    size_t width, o_width, o_bytes, kv_floats;
    spec_card *card;
    spec_stream *stream;
    spec_kv kv;
    float *host;              /* (layer, kv head, keys and values, slot, head_dim) */
    float *qkv;               /* (PASS_COLUMNS, width) */
    float *card_qkv, *angles; /* this and the following pointers are to GPU memory */
    double *frequency;
    void *o, *workspace;
    pass_batch *batch;
} attention_case;

/* Columns of a sequence or a tree. Positions are 0, so that nothing is rotated, unless a test sets
 * them. */
typedef struct {
    spec_batch batch;
    int path[PASS_COLUMNS * 192];
} attention_pass;

/* Returns a number from a triangular law on (-2, 2), as a function of i. */
static inline float attention_draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(2385, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

/* Rounds to nearest, ties to even. */
static inline float attention_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x)
        bits = (bits | 0x400000) &
               0xffff0000; /* a GPU's NaN is 0x7fffffff, which rounding up would turn into -0 */
    const uint32_t rest = bits & 0xffff;
    bits &= 0xffff0000;
    if (rest > 0x8000 || (rest == 0x8000 && (bits & 0x10000))) bits += 0x10000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline void *attention_alloc(attention_case *c, size_t bytes)
{
    void *memory;
    assert_works(spec_card_alloc(c->card, &memory, bytes, &error));
    return memory;
}

/* `longest` is the longest sequence for which the workspace has room. */
static inline attention_case attention_open(spec_shape shape, spec_tensor_type type, int slots,
                                            int longest)
{
    attention_case c = {.shape = shape, .type = type};
    const size_t heads = (size_t)shape.n_heads, head_dim = (size_t)shape.head_dim,
                 half = head_dim / 2;
    c.width = (heads + 2 * (size_t)shape.n_kv_heads) * head_dim;
    c.o_width = heads * head_dim;
    c.o_bytes = PASS_COLUMNS * (c.o_width + 127) / 128 * 128 * sizeof(float);
    c.kv_floats = (size_t)(shape.n_layers * shape.n_kv_heads) * 2 * (size_t)slots * head_dim;
    assert_works(spec_card_open(&c.card, spec_test_context(0)->cards, 0, &error));
    assert_works(spec_stream_init(&c.stream, c.card, &error));
    const size_t element = type == SPEC_TENSOR_BF16 ? sizeof(uint16_t) : sizeof(float);
    c.kv = (spec_kv){.layers = shape.n_layers,
                     .slots = slots,
                     .n_kv_heads = shape.n_kv_heads,
                     .head_dim = shape.head_dim,
                     .type = type,
                     .data = attention_alloc(&c, c.kv_floats * element)};
    c.host = calloc(c.kv_floats, sizeof *c.host);
    c.qkv = calloc(PASS_COLUMNS * c.width, sizeof *c.qkv);
    c.card_qkv = attention_alloc(&c, PASS_COLUMNS * c.width * sizeof(float));
    c.angles = attention_alloc(&c, PASS_COLUMNS * half * 2 * sizeof(float));
    c.frequency = attention_alloc(&c, half * sizeof(double));
    c.o = attention_alloc(&c, c.o_bytes);
    c.workspace = attention_alloc(&c, spec_launch_attend_bytes(&shape, longest));
    c.batch = attention_alloc(&c, sizeof *c.batch);
    FREED double *frequency = malloc(half * sizeof *frequency);
    for (size_t i = 0; i < half; i++)
        frequency[i] = pow(shape.rope.base, -2.0 * (double)i / (double)head_dim);
    spec_card_put(c.card, c.frequency, frequency, half * sizeof *frequency);
    return c;
}

static inline void attention_close(attention_case *c)
{
    void *const memory[] = {c->kv.data, c->card_qkv,  c->angles, c->frequency,
                            c->o,       c->workspace, c->batch};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) spec_card_free(c->card, memory[i]);
    spec_stream_free(c->stream);
    spec_card_close(c->card);
    free(c->host);
    free(c->qkv);
}

static inline float attention_kept(const attention_case *c, float x)
{
    return c->type == SPEC_TENSOR_BF16 ? attention_bf16(x) : x;
}

/* Draws queries, keys and values of a token at a position of a sequence; keys and values are
 * rounded as in the cache. */
static inline void attention_token(const attention_case *c, float *qkv, int text, int position)
{
    for (size_t i = 0; i < c->width; i++) {
        const uint64_t which = ((uint64_t)text << 44) + ((uint64_t)position << 20) + i;
        qkv[i] = attention_draw(which) * (i % 7 == 0 ? 3.0f : 1.0f);
        if (i >= c->o_width) qkv[i] = attention_kept(c, qkv[i]);
    }
}

/* Returns the host's row of a slot. */
static inline float *attention_row(const attention_case *c, int layer, int kv_head, int value,
                                   int slot)
{
    const int plane = (layer * c->shape.n_kv_heads + kv_head) * 2 + value;
    return c->host +
           ((size_t)plane * (size_t)c->kv.slots + (size_t)slot) * (size_t)c->shape.head_dim;
}

/* Writes a token to a slot of the host's copy. */
static inline void attention_fill(attention_case *c, int layer, int slot, int text, int position)
{
    const size_t head_dim = (size_t)c->shape.head_dim, kv_heads = (size_t)c->shape.n_kv_heads;
    FREED float *row = malloc(c->width * sizeof *row);
    attention_token(c, row, text, position);
    for (size_t h = 0; h < 2 * kv_heads; h++)
        memcpy(attention_row(c, layer, (int)(h % kv_heads), h >= kv_heads, slot),
               row + c->o_width + h * head_dim, head_dim * sizeof *row);
}

static inline void attention_upload(attention_case *c)
{
    if (c->type == SPEC_TENSOR_F32) {
        spec_card_put(c->card, c->kv.data, c->host, c->kv_floats * sizeof *c->host);
        return;
    }
    FREED uint16_t *half = malloc(c->kv_floats * sizeof *half);
    for (size_t i = 0; i < c->kv_floats; i++)
        memcpy(&half[i], (const char *)&c->host[i] + 2, sizeof *half);
    spec_card_put(c->card, c->kv.data, half, c->kv_floats * sizeof *half);
}

/* Asserts that the GPU's and the host's cache are equal everywhere. */
static inline void attention_same(const attention_case *c)
{
    FREED float *card = calloc(c->kv_floats, sizeof *card);
    if (c->type == SPEC_TENSOR_F32) {
        spec_card_get(c->card, card, c->kv.data, c->kv_floats * sizeof *card);
    } else {
        FREED uint16_t *half = malloc(c->kv_floats * sizeof *half);
        spec_card_get(c->card, half, c->kv.data, c->kv_floats * sizeof *half);
        for (size_t i = 0; i < c->kv_floats; i++)
            memcpy((char *)&card[i] + 2, &half[i], sizeof *half);
    }
    assert_memory_equal(card, c->host, c->kv_floats * sizeof *card);
}

/* Appends a column with the queries of the token at that position of a sequence. */
static inline void attention_column(attention_case *c, attention_pass *pass, int slot, int past,
                                    const int *path, int n_path, int text)
{
    spec_batch *batch = &pass->batch;
    const int u = batch->n++, begin = batch->path_begin[u];
    memcpy(pass->path + begin, path, (size_t)n_path * sizeof *path);
    batch->path = pass->path;
    batch->past[u] = past;
    batch->slot[u] = slot;
    batch->path_begin[u + 1] = begin + n_path;
    attention_token(c, c->qkv + (size_t)u * c->width, text, past + n_path - 1);
}

/* Uploads the pass and its queries, keys and values; unused columns are NaN. */
static inline void attention_put(attention_case *c, const attention_pass *pass)
{
    const spec_batch *batch = &pass->batch;
    const size_t n = (size_t)batch->n;
    pass_batch *all = calloc(1, sizeof *all);
    for (int u = 0; u < PASS_COLUMNS; u++)
        all->past[u] = all->slot[u] = all->path_begin[u] = 1 << 29;
    all->n = batch->n;
    memcpy(all->position, batch->position, n * sizeof *all->position);
    memcpy(all->slot, batch->slot, n * sizeof *all->slot);
    memcpy(all->past, batch->past, n * sizeof *all->past);
    memcpy(all->path_begin, batch->path_begin, (n + 1) * sizeof *all->path_begin);
    memcpy(all->path, batch->path, (size_t)batch->path_begin[n] * sizeof *all->path);
    spec_card_put(c->card, c->batch, all, sizeof *all);
    free(all);
    memset(c->qkv + n * c->width, 0xff, (PASS_COLUMNS - n) * c->width * sizeof *c->qkv);
    spec_card_put(c->card, c->card_qkv, c->qkv, PASS_COLUMNS * c->width * sizeof *c->qkv);
}

static inline void attention_wait(attention_case *c)
{
    assert_works(spec_stream_wait(c->stream, &error));
}

/* Runs attention of a layer and returns all o_bytes of its output; unwritten bytes are 0xa5. */
static inline void attention_attend(attention_case *c, void *ret_o, int layer,
                                    operand_format format, int longest, int bucket)
{
    memset(ret_o, 0xa5, c->o_bytes);
    spec_card_put(c->card, c->o, ret_o, c->o_bytes);
    const spec_launch launch = {
        .stream = c->stream, .batch = c->batch, .bucket = bucket, .longest = longest};
    spec_launch_attend(launch, c->o, c->card_qkv, &c->kv, layer, c->shape.n_heads, format,
                       c->workspace);
    attention_wait(c);
    spec_card_get(c->card, ret_o, c->o, c->o_bytes);
}

/* Computes one head of a column in double precision, from the definition. */
static inline void attention_truth(const attention_case *c, double *ret_o, int layer,
                                   const attention_pass *pass, int u, int head)
{
    const spec_batch *batch = &pass->batch;
    const int head_dim = c->shape.head_dim, past = batch->past[u], begin = batch->path_begin[u];
    const int n = past + batch->path_begin[u + 1] - begin,
              kv_head = head / (c->shape.n_heads / c->shape.n_kv_heads);
    const float *query = c->qkv + (size_t)u * c->width + (size_t)(head * head_dim);
    double *score = malloc((size_t)n * sizeof *score), largest = -INFINITY, sum = 0.0;
    for (int d = 0; d < head_dim; d++) ret_o[d] = 0.0;
    for (int t = 0; t < n; t++) {
        const float *key =
            attention_row(c, layer, kv_head, 0, t < past ? t : batch->path[begin + t - past]);
        score[t] = 0.0;
        for (int d = 0; d < head_dim; d++)
            score[t] += (double)query[d] * (double)key[d] / sqrt(head_dim);
        largest = fmax(largest, score[t]);
    }
    for (int t = 0; t < n; t++) {
        const float *value =
            attention_row(c, layer, kv_head, 1, t < past ? t : batch->path[begin + t - past]);
        sum += exp(score[t] - largest);
        for (int d = 0; d < head_dim; d++) ret_o[d] += exp(score[t] - largest) * (double)value[d];
    }
    for (int d = 0; d < head_dim; d++) ret_o[d] /= sum;
    free(score);
}

#endif
