/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_attention: reads and writes windows, rotary embeddings and scales as values of a GGUF file.
 * docs/formats.md lists the keys; there is also a tensor of rotary factors. */
#ifndef SPECLAB_GGUF_ATTENTION_H
#define SPECLAB_GGUF_ATTENTION_H

#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_keys.h"
#include "models/transformer/files/gguf_writer.h"

/* The tensor of rotary factors: (1, head_dim/2) F32. */
#define SPEC_GGUF_ROPE_FACTORS "rope_freqs.weight"

/* Reads n_heads, n_kv_heads, head_dim, rotated, rope.base and norm_eps of a shape whose dim is set.
 * On entry norm_eps is the value to use if the file has none; if it is below 0, the file must have
 * one. Refuses heads of which only a part rotates, unless `partial`, and values whose width differs
 * from that of keys; spec_checkpoint_check_shape checks the rest. */
int spec_gguf_attention_read_heads(spec_shape *shape, bool partial, spec_gguf_keys *keys);

/* Sets windows, ropes and scales of a checkpoint whose other dimensions, rope.base, architecture
 * and layers are set. *ret_factors: the memory of the ropes' factors, which the caller frees, or
 * NULL. Returns GSL_EINVAL, with a line naming file and key, if a value makes no sense or is not
 * supported. */
int spec_gguf_attention_read(spec_checkpoint *to, float **ret_factors, spec_gguf_keys *keys);

/* Adds these values of a checkpoint except rope.freq_base, and if *ret_has_tensor names its tensor
 * of factors: (1, head_dim/2) F32. Leaves out values that every reader assumes by default. */
void spec_gguf_attention_write(spec_gguf_writer *writer, bool *ret_has_tensor,
                               const spec_checkpoint *from);

#endif
