/* kernels_attention: rotation, keys and values, and what columns mix of them.
 * Keys and values of a layer lie as [kv head][keys, values][slot][head_dim], floats or bf16. A column's text is cut into
 * chunks of ATTEND_CHUNK positions, in the order of the text; ATTEND_STRETCH chunks join to a stretch in order, and the
 * stretches in order. What a part of the text gives is its largest score, the sum of exp(score - largest), and the
 * values mixed with these weights. */
#ifndef SPECLAB_KERNELS_ATTENTION_H
#define SPECLAB_KERNELS_ATTENTION_H

#include "models/gpu/pass_batch.h"

#include <stdbool.h>

#define SPEC_KERNELS_ATTENTION(X)                                                                                      \
    X(attention, angles, 128) X(attention, place, 256) X(attention, attend, 128) X(attention, combine, 128)            \
    X(attention, keep, 256)

enum { ATTEND_CHUNK = 64, ATTEND_STRETCH = 4 };

/* Blocks: columns. table (columns, half, 2): cosine and sine of position * frequency (half). */
struct angles_args {
    float *table;
    const double *frequency;
    const pass_batch *batch;
    int half;
};

/* Blocks: columns, pieces of a column's pairs. qkv (n, (n_heads + 2 n_kv_heads) * head_dim). */
struct place_args {
    float *qkv;
    void *keys; /* of the layer */
    const float *angles;
    const pass_batch *batch;
    int n_heads, n_kv_heads, head_dim, slots;
    bool bf16, halves; /* type of the keys; pairs are halves of a head apart */
};

/* Blocks: parts of the text. mixed (parts, columns, n_heads, head_dim), range (parts, columns, n_heads, 2): largest and
 * sum. A part is of `chunks` chunks: 1 or ATTEND_STRETCH. */
struct attend_args {
    float *mixed, *range;
    const float *qkv;
    const void *keys;
    const pass_batch *batch;
    int n_heads, n_kv_heads, head_dim, slots, columns, chunks;
    bool bf16;
};

/* Blocks: pieces of 512 elements, columns. o: an operand (n, n_heads * head_dim). */
struct combine_args {
    void *o;
    const float *mixed, *range;
    const pass_batch *batch;
    int n_heads, head_dim, columns, chunks;
    operand_format format;
};

/* Slots from[i] to to + i in `planes` planes of rows of `units` of unit_bytes (16 or 4), a thread for each unit. */
struct keep_args {
    void *keys;
    const int *from;
    int to, n, slots, planes, units, unit_bytes;
};

#endif
