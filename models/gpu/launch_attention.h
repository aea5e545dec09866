/* launch_attention: keys and values, and what columns mix of them. `bucket` as in launch_product.h.
 * They lie as [layer][kv head][keys, values][slot][head_dim], floats or bf16. A column's positions are taken in the order
 * of its text, in chunks that join in order: what it comes to depends on the column alone. */
#ifndef SPECLAB_LAUNCH_ATTENTION_H
#define SPECLAB_LAUNCH_ATTENTION_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

/* Cosines and sines of the columns' positions: table (PASS_COLUMNS, head_dim/2, 2) floats, once a pass; frequency
 * (head_dim/2) radians a position, in double precision as the CPU's. */
void spec_launch_angles(spec_stream *stream, float *table, const double *frequency, int half, const pass_batch *batch,
                        int bucket);

/* Rotate queries and keys of qkv in place, and put keys and values into the columns' slots of a layer. */
void spec_launch_place(spec_stream *stream, spec_kv *kv, int layer, float *qkv, int n_heads, const float *angles,
                       spec_rope_pairs pairs, const pass_batch *batch, int bucket);

/* o: an operand of a format, (n, n_heads * head_dim). longest: no column sees more positions than this (a power of two,
 * so that few different launches are recorded). workspace: _attend_bytes of the longest text that there may be. */
size_t spec_launch_attend_bytes(const spec_shape *shape, int longest);
void spec_launch_attend(spec_stream *stream, void *o, const float *qkv, const spec_kv *kv, int layer, int n_heads,
                        operand_format format, void *workspace, int longest, const pass_batch *batch, int bucket);

/* Slots from[i] (in the card's memory, ascending, from[i] >= to + i) to to + i, in all layers. */
void spec_launch_keep(spec_stream *stream, spec_kv *kv, const int *from, int to, int n);

#endif
