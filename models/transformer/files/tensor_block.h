/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor_block: ggml's blocks of quantised weights: their sizes, their scales, their decoding.
 * The floats are those of ggml's dequantize_row functions: the same operations in the same order.
 * A block may be at any alignment. */
#ifndef SPECLAB_TENSOR_BLOCK_H
#define SPECLAB_TENSOR_BLOCK_H

enum { SPEC_TENSOR_SCALES_MAX = 2 };

typedef struct {
    int weights, bytes;                   /* of a block */
    int n_scales;                         /* F16 values that all weights depend on */
    int scale_at[SPEC_TENSOR_SCALES_MAX]; /* their offsets in bytes */
    /* Write `weights` floats; `scale` holds the block's scales as floats. */
    void (*decode)(float *ret_value, const unsigned char *block, const float *scale);
} spec_tensor_block;

/* 32 weights: w = scale * q, with q of 8, 4 or 5 bits, or one of 16 levels (IQ4_NL). */
extern const spec_tensor_block spec_tensor_block_q8_0, spec_tensor_block_q4_0,
    spec_tensor_block_q5_0, spec_tensor_block_iq4_nl;

/* 256 weights. Q4_K, Q5_K: eight groups of 32 with w = (scale * s) * q - (scale_2 * m), s and m of
 * 6 bits. Q6_K: sixteen groups of 16 with w = (scale * s) * (q - 32), s of 8 bits. */
extern const spec_tensor_block spec_tensor_block_q4_k, spec_tensor_block_q5_k,
    spec_tensor_block_q6_k;

#endif
