/* SPDX-License-Identifier: GPL-3.0-or-later */
/* widening: makes a transformer wider with weights of zero, so that it computes the same function.
 * With it we can measure speed at a larger size and still have trained weights; a model with random
 * weights would accept no draft. Every width (embedding, heads, key-value heads, feed-forward) is
 * `by` times as large. */
#ifndef SPECLAB_WIDENING_H
#define SPECLAB_WIDENING_H

#include "models/transformer/files/checkpoint.h"

/* Makes a checkpoint whose matrices are the model's, in their types, followed by rows and columns
 * of zeros. A norm takes its mean square over `by` times as many activations, so its gain is
 * divided by sqrt(by) and its epsilon by `by`. Head i still reads key-value head i / (n_heads /
 * n_kv_heads). The logits equal the model's bit for bit on the CPU, in every type and instruction
 * set. Divisions by powers of two are exact, down to 1e-38. Zeros at the end change no sum, since
 * sums run in order or in 16 lanes, and blocks of quantised weights stay where they are.
 *
 *   by   a power of four, 4..; GSL_EINVAL otherwise, or if a width exceeds SPEC_DIM_MAX, or if the
 *        model has parts that llama and qwen2 lack (spec_architecture_extra)
 *   path begins the error line
 * May return GSL_ENOMEM. The result owns its weights, borrows the rope factors of `model`, and has
 * no tokenizer. Pages of zeros take no memory until they are written. */
int spec_widening_init(spec_checkpoint *ret_wide, const spec_checkpoint *model, int by,
                       const char *path, spec_error *error);

#endif
