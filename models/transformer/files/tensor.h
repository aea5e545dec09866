/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor: a matrix of weights in one of the types of files, and functions that decode its rows.
 * Quantised types are ggml's: blocks of weights along a row with scales (tensor_block.h). A
 * tensor borrows its data, which may be in a mapped, untrusted file, at any alignment: its size has
 * been checked, its values have not. */
#ifndef SPECLAB_TENSOR_H
#define SPECLAB_TENSOR_H

#include "base/thread_pool.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CPU can multiply with the types before SPEC_TENSOR_TYPES. A matrix in one of the other types
 * is converted first (`computed_type` of spec_backend). spec_tensor_can_write says which types can
 * be written. */
typedef enum {
    SPEC_TENSOR_F32,
    SPEC_TENSOR_F16,
    SPEC_TENSOR_BF16,
    SPEC_TENSOR_Q8_0, /* scale (F16), 32 x int8: w = scale * q; 34 bytes per block */
    SPEC_TENSOR_Q4_0, /* scale (F16), 16 bytes: weight j in the low, j + 16 in the high nibble of
                         byte j: w = scale * (q - 8); 18 bytes per block */
    SPEC_TENSOR_Q4_K, /* blocks of 256: 144 bytes (tensor_block.h) */
    SPEC_TENSOR_Q5_K, /* 176 bytes */
    SPEC_TENSOR_Q6_K, /* 210 bytes */
    SPEC_TENSOR_TYPES,
    SPEC_TENSOR_Q5_0,
    SPEC_TENSOR_IQ4_NL,
    SPEC_TENSOR_Q4_1,
    SPEC_TENSOR_Q5_1,
    SPEC_TENSOR_MXFP4,
    SPEC_TENSOR_Q2_K,
    SPEC_TENSOR_Q3_K,
    SPEC_TENSOR_IQ4_XS,
    SPEC_TENSOR_ALL_TYPES
} spec_tensor_type;

enum { SPEC_TENSOR_BLOCK = 32 }; /* weights per scale in Q8_0 and Q4_0 */

/* "f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q5_k", "q6_k", NULL, followed by the types that
 * are first converted to one of these. */
extern const char *const spec_tensor_type_names[SPEC_TENSOR_ALL_TYPES];

typedef struct {
    spec_tensor_type type;
    int rows, cols;   /* a vector is one row; quantised: cols is a multiple of the block */
    const void *data; /* (rows, cols), row after row without gaps; NULL: the tensor is absent */
} spec_tensor;

/* Returns whether the weights come in blocks with a scale. */
bool spec_tensor_is_quantised(spec_tensor_type type);

/* Returns whether spec_tensor_row_write can write this type. */
bool spec_tensor_can_write(spec_tensor_type type);

/* Returns the size of a block: a row's length must be a multiple of it. 1 for types without
 * blocks. */
int spec_tensor_block_weights(spec_tensor_type type);

/* Returns the bytes of a row of `cols` weights; 0 if cols is not a multiple of the type's block. */
size_t spec_tensor_row_bytes(spec_tensor_type type, int cols);

/* Converts row `row` to floats (cols). Exact for every type. */
void spec_tensor_decode_row(float *ret_value, const spec_tensor *tensor, int row);

/* Returns the first row with a non-finite weight (for quantised types, a non-finite scale), or -1.
 * In a type that a device may compute as Q8_0, a scale of spec_tensor_scale_end or more is bad too,
 * because Q8_0 could not hold the weights. */
int spec_tensor_first_bad_row(const spec_tensor *tensor, spec_thread_pool *opt_pool);

/* Returns the smallest scale at which Q8_0 cannot hold the weights: 2^9, or 2^19 for MXFP4. Returns
 * 0 for floats, Q8_0 and Q4_0, which need no conversion. */
int spec_tensor_scale_end(spec_tensor_type type);

/* Writes a row of `cols` floats in a type that can be written. Rounding is to nearest (ties to
 * even); F16 overflows to infinity. Blocks of 32 weights have the bytes of ggml's reference
 * (tensor_block_write.h), and blocks of 256 have the scales that a search found
 * (tensor_block_search.h). A block with a non-finite weight gets the scale NaN. */
void spec_tensor_row_write(void *ret_data, spec_tensor_type type, const float *value, int cols);

/* Writes row `row` of a tensor in a type that can be written, or in its own; `value` (cols) is
 * workspace. If the type stays the same, so do the bytes. Q4_0, Q5_0, IQ4_NL and MXFP4 become Q8_0
 * without rounding, as long as the scale of MXFP4 is 2^-23 or more. Other rows are decoded and
 * written. */
void spec_tensor_convert_row(void *ret_data, spec_tensor_type type, const spec_tensor *tensor,
                             int row, float *value);

#endif
