/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_experts: reads what a GGUF file says about a mixture of experts.
 * A file that asks for another form of mixture is refused, with the name of the value or tensor. */
#ifndef SPECLAB_GGUF_EXPERTS_H
#define SPECLAB_GGUF_EXPERTS_H

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_keys.h"

/* Reads n_experts, n_active and expert_dim of an architecture with experts, and in ffn_dim the
 * width of the expert that every token takes, if there is one. For an architecture without experts,
 * checks that the file has none either. May return GSL_EINVAL. */
int spec_gguf_experts_read(spec_shape *shape, const spec_architecture *architecture,
                           spec_gguf_keys *keys);

/* Checks that a tensor of a part is divided by experts: (n_experts, rows of one, cols) for weights.
 * Other parts always pass. */
int spec_gguf_experts_check(const spec_gguf_tensor *tensor, const spec_gguf *gguf, spec_part part,
                            const spec_shape *shape, spec_error *error);

#endif
