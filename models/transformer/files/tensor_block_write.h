/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor_block_write: writes blocks of 32 weights as ggml's reference does, byte for byte.
 * The extreme weights of a block give its scale, and each weight is rounded to the nearest step. A
 * block with a non-finite weight gets the scale NaN; a scale beyond F16 is infinite. */
#ifndef SPECLAB_TENSOR_BLOCK_WRITE_H
#define SPECLAB_TENSOR_BLOCK_WRITE_H

/* Q8_0: scale = max|w| / 127; ties away from zero. `value` has 32 weights. */
void spec_tensor_block_write_q8_0(unsigned char *ret_block, const float *value);

/* Q4_0, Q5_0: scale = the weight of largest magnitude / -8 or -16; ties up. */
void spec_tensor_block_write_q4_0(unsigned char *ret_block, const float *value);
void spec_tensor_block_write_q5_0(unsigned char *ret_block, const float *value);

/* Q4_1, Q5_1: the second scale is the smallest weight, and the first is the range / 15 or 31; ties
 * up. */
void spec_tensor_block_write_q4_1(unsigned char *ret_block, const float *value);
void spec_tensor_block_write_q5_1(unsigned char *ret_block, const float *value);

#endif
