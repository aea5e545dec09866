#include "models/gpu/kernels_attention.h"
#include "models/gpu/operand.h"

KERNEL(angles, 128)
{
    const int u = BLOCK_X;
    if (u >= a.batch->n) return;
    for (int i = THREAD; i < a.half; i += THREADS) {
        const double angle = a.batch->position[u] * a.frequency[i];
        a.table[2 * (u * a.half + i)] = (float)cos(angle);
        a.table[2 * (u * a.half + i) + 1] = (float)sin(angle);
    }
}

/* Two elements of a row of keys or values, `apart` from one another. */
DEVICE void put_two(void *row, bool bf16, int at, int apart, float x, float y)
{
    if (bf16) {
        ((uint16_t *)row)[at] = bf16_of_float(x);
        ((uint16_t *)row)[at + apart] = bf16_of_float(y);
    } else {
        ((float *)row)[at] = x;
        ((float *)row)[at + apart] = y;
    }
}

KERNEL(place, 256)
{
    const int u = BLOCK_X, half = a.head_dim / 2, i = BLOCK_Y * THREADS + THREAD;
    if (u >= a.batch->n) return;
    const int head = i / half, pair = i % half, kv = head - a.n_heads;
    if (kv >= 2 * a.n_kv_heads) return;
    float *at = a.qkv + ((size_t)u * (size_t)(a.n_heads + 2 * a.n_kv_heads) + (size_t)head) * (size_t)a.head_dim;
    const bool value = kv >= a.n_kv_heads, split = a.halves && !value;
    const int first = split ? pair : 2 * pair, apart = split ? half : 1;
    float x = at[first], y = at[first + apart];
    if (!value) {
        const float *angle = a.angles + 2 * ((size_t)u * (size_t)half + (size_t)pair);
        const float rotated = fmaf(x, angle[0], -(y * angle[1]));
        y = fmaf(y, angle[0], x * angle[1]);
        x = rotated;
        at[first] = x;
        at[first + apart] = y;
    }
    if (kv < 0) return;
    const int plane = value ? 2 * (kv - a.n_kv_heads) + 1 : 2 * kv;
    const size_t row = ((size_t)plane * (size_t)a.slots + (size_t)a.batch->slot[u]) * (size_t)a.head_dim;
    put_two((char *)a.keys + row * (a.bf16 ? sizeof(uint16_t) : sizeof(float)), a.bf16, first, apart, x, y);
}

/* ---- attention ---------------------------------------------------------------------------------------------------- */

DEVICE int positions_seen(const pass_batch *batch, int u)
{
    return batch->past[u] + batch->path_begin[u + 1] - batch->path_begin[u];
}

DEVICE int slot_of(const pass_batch *batch, int u, int t)
{
    return t < batch->past[u] ? t : batch->path[batch->path_begin[u] + t - batch->past[u]];
}

DEVICE float element(const void *rows, bool bf16, size_t at)
{
    return bf16 ? float_of_bf16(((const uint16_t *)rows)[at]) : ((const float *)rows)[at];
}

KERNEL(attend, 128)
{
    SHARED float query[256], weight[ATTEND_CHUNK];
    const int part = BLOCK_X, head = BLOCK_Y, u = BLOCK_Z, begin = part * ATTEND_CHUNK, head_dim = a.head_dim;
    if (u >= a.batch->n) return;
    const int n = positions_seen(a.batch, u) - begin < ATTEND_CHUNK ? positions_seen(a.batch, u) - begin : ATTEND_CHUNK;
    if (n <= 0) return;
    const size_t width = (size_t)(a.n_heads + 2 * a.n_kv_heads) * (size_t)head_dim;
    const size_t plane = (size_t)(2 * (head / (a.n_heads / a.n_kv_heads))) * (size_t)a.slots;
    const float scale = (float)(1.0 / sqrt((double)head_dim));
    for (int d = THREAD; d < head_dim; d += THREADS)
        query[d] = a.qkv[(size_t)u * width + (size_t)(head * head_dim + d)] * scale;
    sync_block();
    for (int t = WARP; t < n; t += THREADS / WARP_LANES) {
        const size_t row = (plane + (size_t)slot_of(a.batch, u, begin + t)) * (size_t)head_dim;
        float sum = 0.0f;
        for (int d = LANE; d < head_dim; d += WARP_LANES) sum = fmaf(query[d], element(a.keys, a.bf16, row + (size_t)d), sum);
        for (int apart = 16; apart > 0; apart /= 2) sum += shuffle_xor(sum, apart);
        if (LANE == 0) weight[t] = sum;
    }
    sync_block();
    float largest = -INFINITY, sum = 0.0f;
    for (int t = 0; t < n; t++) largest = fmaxf(largest, weight[t]);
    sync_block();
    if (THREAD < n) weight[THREAD] = expf(weight[THREAD] - largest);
    sync_block();
    for (int t = 0; t < n; t++) sum += weight[t];
    const size_t to = ((size_t)part * (size_t)a.columns + (size_t)u) * (size_t)a.n_heads + (size_t)head;
    for (int d = THREAD; d < head_dim; d += THREADS) {
        float mixed = 0.0f;
        for (int t = 0; t < n; t++) {
            const size_t row = (plane + (size_t)a.slots + (size_t)slot_of(a.batch, u, begin + t)) * (size_t)head_dim;
            mixed = fmaf(weight[t], element(a.keys, a.bf16, row + (size_t)d), mixed);
        }
        a.mixed[to * (size_t)head_dim + (size_t)d] = mixed;
    }
    if (THREAD == 0) {
        a.range[2 * to] = largest;
        a.range[2 * to + 1] = sum;
    }
}

/* Some of the text and two of the elements that it mixes to. */
typedef struct {
    float largest, sum, mixed[2];
} mixture;

/* What comes next in the text joins what is before it. */
DEVICE mixture joined(mixture before, mixture next)
{
    const float largest = fmaxf(before.largest, next.largest);
    const float old = expf(before.largest - largest), now = expf(next.largest - largest);
    const mixture both = {largest, fmaf(before.sum, old, next.sum * now),
                          {fmaf(before.mixed[0], old, next.mixed[0] * now),
                           fmaf(before.mixed[1], old, next.mixed[1] * now)}};
    return both;
}

DEVICE mixture mixture_of(const struct combine_args *a, int part, int u, int head, int d)
{
    const size_t at = ((size_t)part * (size_t)a->columns + (size_t)u) * (size_t)a->n_heads + (size_t)head;
    const pair range = load_pair(a->range + 2 * at);
    const pair mixed = load_pair(a->mixed + at * (size_t)a->head_dim + (size_t)d);
    const mixture m = {float_of_bits(range.x), float_of_bits(range.y), {float_of_bits(mixed.x), float_of_bits(mixed.y)}};
    return m;
}

KERNEL(combine, 128)
{
    const int first = (BLOCK_X * (THREADS / WARP_LANES) + WARP) * OPERAND_WARP, u = BLOCK_Y;
    const int cols = a.n_heads * a.head_dim;
    if (u >= a.batch->n || first >= cols) return;
    const int part = ATTEND_CHUNK * a.chunks, parts = (positions_seen(a.batch, u) + part - 1) / part;
    const int parts_a_stretch = ATTEND_STRETCH / a.chunks;
    float value[OPERAND_LANE] = {0.0f, 0.0f, 0.0f, 0.0f};
    UNROLL
    for (int i = 0; i < OPERAND_LANE; i += 2) {
        const int at = first + OPERAND_LANE * LANE + i, head = at / a.head_dim, d = at % a.head_dim;
        if (at >= cols) continue;
        mixture all = {0.0f, 0.0f, {0.0f, 0.0f}};
        for (int p = 0; p < parts; p += parts_a_stretch) {
            const int end = p + parts_a_stretch < parts ? p + parts_a_stretch : parts;
            mixture stretch = mixture_of(&a, p, u, head, d);
            for (int j = p + 1; j < end; j++) stretch = joined(stretch, mixture_of(&a, j, u, head, d));
            all = p == 0 ? stretch : joined(all, stretch);
        }
        const float factor = 1.0f / all.sum;
        value[i] = all.mixed[0] * factor;
        value[i + 1] = all.mixed[1] * factor;
    }
    operand_write(a.o, a.format, u, cols, first, value);
}

/* ---- keep --------------------------------------------------------------------------------------------------------- */

/* A thread moves its unit of all slots, in order: a source may be the target of a later move, never of an earlier one. */
KERNEL(keep, 256)
{
    const int i = BLOCK_X * THREADS + THREAD, plane = i / a.units, unit = i % a.units;
    if (plane >= a.planes) return;
    const size_t row_bytes = (size_t)a.units * (size_t)a.unit_bytes;
    char *rows = (char *)a.keys + (size_t)plane * (size_t)a.slots * row_bytes + (size_t)unit * (size_t)a.unit_bytes;
    for (int k = 0; k < a.n; k++) {
        const char *from = rows + (size_t)a.from[k] * row_bytes;
        char *to = rows + (size_t)(a.to + k) * row_bytes;
        if (a.unit_bytes == (int)sizeof(quad))
            store_quad(to, load_quad(from));
        else
            *(uint32_t *)to = *(const uint32_t *)from;
    }
}
