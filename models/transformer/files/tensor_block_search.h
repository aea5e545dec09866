/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor_block_search: writes blocks of 256 weights, and searches for scales with a small error.
 * Each group tries several steps, and fits a scale and a minimum to its rounded weights. Then it
 * tries the nearest values of both that the block can store. */
#ifndef SPECLAB_TENSOR_BLOCK_SEARCH_H
#define SPECLAB_TENSOR_BLOCK_SEARCH_H

/* Writes a block of Q4_K, Q5_K or Q6_K (tensor_block.h); `value` has 256 weights. A block with a
 * non-finite weight gets the scale NaN; a scale beyond F16 is infinite. The bytes are the same on
 * every processor. */
void spec_tensor_block_search_q4_k(unsigned char *ret_block, const float *value);
void spec_tensor_block_search_q5_k(unsigned char *ret_block, const float *value);
void spec_tensor_block_search_q6_k(unsigned char *ret_block, const float *value);

#endif
