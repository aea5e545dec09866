/* SPDX-License-Identifier: GPL-3.0-or-later */
/* random_blocks: quantised rows of random bytes, with scales of a size that checkpoints have.
 * Weights take every integer value, including those that no quantiser writes. Owns nothing. */
#ifndef SPECLAB_TESTS_RANDOM_BLOCKS_H
#define SPECLAB_TESTS_RANDOM_BLOCKS_H

#include "models/transformer/files/tensor.h"

/* Fills a row of `cols` weights; its F16 scales have magnitudes in [2^-9, 2^-4) and either sign. */
void random_blocks_fill(void *ret_row, spec_tensor_type type, int cols, uint64_t *noise);

#endif
