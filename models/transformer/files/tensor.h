/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor: a matrix of weights in one of a file's types, and decoding of its rows of weights.
 * Quantised types are ggml's: blocks of weights along a row with F16 scales (tensor_block.h). A
 * tensor borrows its data, which may be in a mapped, untrusted file, at any alignment: its size has
 * been checked, its values have not. */
#ifndef SPECLAB_TENSOR_H
#define SPECLAB_TENSOR_H

#include "base/thread_pool.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types before SPEC_TENSOR_TYPES can be written, and multiplied with. Those after it are read
 * only: a matrix in one of them is computed in another type (spec_tensor_computed_type). */
typedef enum {
    SPEC_TENSOR_F32,
    SPEC_TENSOR_F16,
    SPEC_TENSOR_BF16,
    SPEC_TENSOR_Q8_0, /* scale (F16), 32 x int8: w = scale * q; 34 bytes per block */
    SPEC_TENSOR_Q4_0, /* scale (F16), 16 bytes: weight j in the low, j + 16 in the high nibble of
                         byte j: w = scale * (q - 8); 18 bytes per block */
    SPEC_TENSOR_TYPES,
    SPEC_TENSOR_Q5_0,
    SPEC_TENSOR_IQ4_NL,
    SPEC_TENSOR_Q4_K,
    SPEC_TENSOR_Q5_K,
    SPEC_TENSOR_Q6_K,
    SPEC_TENSOR_ALL_TYPES
} spec_tensor_type;

enum { SPEC_TENSOR_BLOCK = 32 }; /* weights per scale in Q8_0 and Q4_0 */

/* "f32", "f16", "bf16", "q8_0", "q4_0", NULL, and from there the types that are only read. */
extern const char *const spec_tensor_type_names[SPEC_TENSOR_ALL_TYPES];

typedef struct {
    spec_tensor_type type;
    int rows, cols;   /* a vector is one row; quantised: cols is a multiple of the block */
    const void *data; /* (rows, cols), row after row without gaps; NULL: the tensor is absent */
} spec_tensor;

/* Whether its weights come in blocks with a scale. */
bool spec_tensor_is_quantised(spec_tensor_type type);

/* The type in which products with such a matrix are computed: its own, or Q8_0 for the types that
 * are only read. */
spec_tensor_type spec_tensor_computed_type(spec_tensor_type type);

/* The weights that a row must be a multiple of; 1 for types without blocks. */
int spec_tensor_block_weights(spec_tensor_type type);

/* Bytes of a row of `cols` weights; 0 if `cols` is not a multiple of the type's block. */
size_t spec_tensor_row_bytes(spec_tensor_type type, int cols);

/* Convert row `row` to floats (cols). Exact for every type. */
void spec_tensor_decode_row(float *ret_value, const spec_tensor *tensor, int row);

/* The first row with a non-finite weight (quantised: scale), or -1. In the types that are only
 * read, a scale of SPEC_TENSOR_SCALE_END or more counts too: Q8_0 could not hold its weights. */
enum { SPEC_TENSOR_SCALE_END = 512 };
int spec_tensor_first_bad_row(const spec_tensor *tensor, spec_thread_pool *opt_pool);

/* Write a row of `cols` floats in a type before SPEC_TENSOR_TYPES. Rounding is to nearest (ties to
 * even); F16 overflows to infinity. Q8_0: scale = max|w| / 127, w / scale rounded (ties away from
 * zero). Q4_0: scale = the weight of largest magnitude / -8, w / scale + 8 rounded (ties up). These
 * are the bytes of ggml's reference. A block with a non-finite weight has a NaN for its scale. */
void spec_tensor_row_write(void *ret_data, spec_tensor_type type, const float *value, int cols);

/* The conversions of one value. */
float spec_tensor_from_f16(uint16_t half);
uint16_t spec_tensor_to_f16(float value);
float spec_tensor_from_bf16(uint16_t half);
uint16_t spec_tensor_to_bf16(float value);

#endif
