/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor_block: ggml's blocks of quantised weights: their sizes and scales, and how to decode them.
 * The floats equal those of ggml's dequantize_row functions: the same operations in the same order.
 * A block may be at any alignment. */
#ifndef SPECLAB_TENSOR_BLOCK_H
#define SPECLAB_TENSOR_BLOCK_H

#include <stdbool.h>

enum { SPEC_TENSOR_SCALES_MAX = 2 };

typedef struct {
    int weights, bytes;                   /* per block */
    int n_scales;                         /* F16 values on which all weights depend */
    int scale_at[SPEC_TENSOR_SCALES_MAX]; /* their offsets in bytes */
    bool has_exponent;                    /* byte 0 is a scale of E8M0: 2^(byte - 127) */
    /* Writes `weights` floats; `scale` holds the block's scales as floats. */
    void (*decode)(float *ret_value, const unsigned char *block, const float *scale);
    /* Writes a block of floats (tensor_block_write.h, tensor_block_search.h); NULL: blocks can only
     * be read. */
    void (*opt_write)(unsigned char *ret_block, const float *value);
    /* Writes the same weights as one block of Q8_0; NULL: the weights are not multiples of one
     * scale. */
    void (*opt_to_q8_0)(unsigned char *ret_block, const unsigned char *block);
} spec_tensor_block;

/* 32 weights: w = scale * q, with q of 8, 4 or 5 bits, or one of 16 levels (IQ4_NL). */
extern const spec_tensor_block spec_tensor_block_q8_0, spec_tensor_block_q4_0,
    spec_tensor_block_q5_0, spec_tensor_block_iq4_nl;

/* 32 weights: w = scale * q + scale_2, with q of 4 or 5 bits. */
extern const spec_tensor_block spec_tensor_block_q4_1, spec_tensor_block_q5_1;

/* 32 weights: w = 2^(byte - 127) * q, with q a float of 4 bits (E2M1): 0, 0.5, 1, 1.5, 2, 3, 4, 6
 * and their negatives [Rouhani23]. */
extern const spec_tensor_block spec_tensor_block_mxfp4;

/* 256 weights. Q2_K: sixteen groups of 16 with w = (scale * s) * q - (scale_2 * m), s and m of 4
 * bits. Q3_K: sixteen groups of 16 with w = (scale * (s - 32)) * (q - 4), s of 6 bits. Q4_K, Q5_K:
 * eight groups of 32 with w = (scale * s) * q - (scale_2 * m), s and m of 6 bits. Q6_K: sixteen
 * groups of 16 with w = (scale * s) * (q - 32), s of 8 bits. IQ4_XS: eight groups of 32 with
 * w = (scale * (s - 32)) * level, s of 6 bits, the levels of IQ4_NL. */
extern const spec_tensor_block spec_tensor_block_q2_k, spec_tensor_block_q3_k,
    spec_tensor_block_q4_k, spec_tensor_block_q5_k, spec_tensor_block_q6_k,
    spec_tensor_block_iq4_xs;

#endif
