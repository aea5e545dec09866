/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launch_attention: launches the kernels of rotary embedding, KV cache updates and attention.
 * The cache is [layer][kv head][keys, values][slot][head_dim],
 * floats or bf16. Chunks of a column's sequence are merged in order, so a column's result depends
 * only on that column. */
#ifndef SPECLAB_LAUNCH_ATTENTION_H
#define SPECLAB_LAUNCH_ATTENTION_H

#include "models/gpu/launch.h"
#include "models/transformer/engine/backend.h"

/* Computes cosines and sines of the columns' positions, once per pass: table (PASS_COLUMNS,
 * head_dim/2, 2); frequency (head_dim/2) in radians per position, in double as on the CPU. */
void spec_launch_angles(spec_launch launch, float *table, const double *frequency, int half);

/* Rotates the queries and keys of qkv in place, and stores keys and values in the columns' slots of
 * a layer. */
void spec_launch_place(spec_launch launch, spec_kv *kv, int layer, float *qkv, int n_heads,
                       const float *angles, spec_rope_pairs pairs);

/* o is an operand of `format`, (n, n_heads * head_dim). The workspace has _attend_bytes for the
 * longest possible sequence. */
size_t spec_launch_attend_bytes(const spec_shape *shape, int longest);
void spec_launch_attend(spec_launch launch, void *o, const float *qkv, const spec_kv *kv, int layer,
                        int n_heads, operand_format format, void *workspace);

/* Moves slots from[i] (in GPU memory, ascending, from[i] >= to + i) to to + i, in all layers. */
void spec_launch_keep(spec_stream *stream, spec_kv *kv, const int *from, int to, int n);

#endif
