/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_attention: rotary embedding, KV cache updates, and attention split along the sequence.
 * Keys and values of a layer are [kv head][keys, values][slot][head_dim], floats or bf16. A
 * column's sequence is cut into chunks of ATTEND_CHUNK positions; ATTEND_STRETCH chunks are merged
 * into a stretch, and the stretches into the result, both in order. For each part of the sequence
 * we compute its largest score, the sum of exp(score - largest), and the values mixed with these
 * weights.
 *
 * Costs for head_dim 128 and 32 heads: A chunk of keys and values in bf16 is 32 KB. 128 threads
 * read it once, each with 8 to 16 loads of 16 and 8 bytes in flight. Products are 16 x 8 x 16: 6
 * for 16 positions, 16 dimensions and 8 queries (3 pieces, keys and values), so 192 per chunk and
 * eight queries. A part writes 520 bytes per query.
 *   context x n     KB a layer (32 kv heads)   8 kv heads   products (32)   (8 kv heads)
 *   64 x 1               1,049                    262          6,144          1,536
 *   1024 x 8            16,777                  4,194         98,304         98,304
 *   1024 x 64           16,777                  4,194        786,432        786,432
 *   8192 x 64          134,218                 33,554      6,291,456      6,291,456
 * An H200 computes about 1.4e11 such products and reads 4.3e12 bytes per second. For 64 columns the
 * products are the bottleneck: 0.18 ms per pass of 32 layers for every 1024 positions, plus 3.3 ms
 * for reading 14 GB. */
#ifndef SPECLAB_KERNELS_ATTENTION_H
#define SPECLAB_KERNELS_ATTENTION_H

#include "models/gpu/pass_batch.h"

#include <stdbool.h>

/* attend_<type>_<head_dim>_<queries>: head dimensions up to head_dim, `queries` per block, parts of
 * one chunk. _stretch: 32 queries, parts of one stretch. any: head_dim need not be a multiple of
 * 8. */
#define SPEC_KERNELS_ATTENTION(X)                                                                  \
    X(attention, angles, 128)                                                                      \
    X(attention, place, 256) X(attention, combine, 128) X(attention, keep, 256)                    \
        X(attention, attend_bf16_64_8, 128) X(attention, attend_bf16_128_8, 128)                   \
            X(attention, attend_bf16_256_8, 128) X(attention, attend_bf16_64_32, 128)              \
                X(attention, attend_bf16_128_32, 128) X(attention, attend_bf16_256_16, 128)        \
                    X(attention, attend_bf16_any_8, 128) X(attention, attend_bf16_64_stretch, 128) \
                        X(attention, attend_bf16_128_stretch, 128)                                 \
                            X(attention, attend_f32_64_8, 128) X(attention, attend_f32_128_8, 128) \
                                X(attention, attend_f32_256_8, 128)

enum { ATTEND_CHUNK = 64, ATTEND_STRETCH = 4 };

/* Grid: columns. table (columns, half, 2): cosine and sine of position * frequency (half). */
struct angles_args {
    float *table;
    const double *frequency;
    const pass_batch *batch;
    int half;
};

/* Grid: columns, pieces of a column's pairs. qkv (n, (n_heads + 2 n_kv_heads) * head_dim). */
struct place_args {
    float *qkv;
    void *keys; /* of this layer */
    const float *angles;
    const pass_batch *batch;
    int n_heads, n_kv_heads, head_dim, slots;
    bool bf16, halves; /* bf16: type of the keys; halves: pairs are half a head apart */
};

/* Grid: parts of the sequence, KV heads times groups of their heads, groups of columns. A block has
 * up to `heads` heads of block_columns columns; the launch covers columns first .. first + columns
 * - 1. mixed (parts, columns, n_heads, head_dim); range (parts, columns, n_heads, 2): largest and
 * sum. */
struct attend_args {
    float *mixed, *range;
    const float *qkv;
    const void *keys;
    const pass_batch *batch;
    int n_heads, n_kv_heads, head_dim, slots;
    int first, columns, heads, block_columns;
    float scale; /* 1 / sqrt(head_dim) */
};
#define attend_bf16_64_8_args attend_args
#define attend_bf16_128_8_args attend_args
#define attend_bf16_256_8_args attend_args
#define attend_bf16_64_32_args attend_args
#define attend_bf16_128_32_args attend_args
#define attend_bf16_256_16_args attend_args
#define attend_bf16_any_8_args attend_args
#define attend_bf16_64_stretch_args attend_args
#define attend_bf16_128_stretch_args attend_args
#define attend_f32_64_8_args attend_args
#define attend_f32_128_8_args attend_args
#define attend_f32_256_8_args attend_args

/* Grid: groups of 128 elements, columns from `first` on. A part has `chunks` chunks, 1 or
 * ATTEND_STRETCH. o: an operand (n, n_heads * head_dim). */
struct combine_args {
    void *o;
    const float *mixed, *range;
    const pass_batch *batch;
    int n_heads, head_dim, first, columns, chunks;
    operand_format format;
};

/* Moves slot from[i] to to + i in `planes` planes whose rows have `units` units of unit_bytes (16
 * or 4); one thread per unit. */
struct keep_args {
    void *keys;
    const int *from;
    int to, n, slots, planes, units, unit_bytes;
};

#endif
