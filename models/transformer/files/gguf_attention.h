/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_attention: a model's windows, rotary embeddings and scales as values of a GGUF file.
 * Reading and writing of the same keys, which docs/formats.md lists; beside them a tensor of rotary
 * factors, rope_freqs.weight. */
#ifndef SPECLAB_GGUF_ATTENTION_H
#define SPECLAB_GGUF_ATTENTION_H

#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_writer.h"

/* Set windows, ropes and scales of a checkpoint whose other dimensions, rope.base, architecture and
 * layers are set. *ret_factors: the memory of the ropes' factors, which the caller frees, or NULL.
 * GSL_EINVAL, with a line naming file and key, if one of them makes no sense or cannot be computed.
 */
int spec_gguf_attention_read(spec_checkpoint *to, float **ret_factors, const spec_gguf *gguf,
                             spec_error *error);

/* Add these values of a checkpoint but rope.freq_base, and name its tensor of factors if
 * *ret_has_tensor: (1, head_dim/2) F32. Values that every reader assumes are left out. */
void spec_gguf_attention_write(spec_gguf_writer *writer, bool *ret_has_tensor,
                               const spec_checkpoint *from);

#endif
