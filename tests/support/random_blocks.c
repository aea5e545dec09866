/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/random_blocks.h"

#include "base/noise.h"

#include <string.h>

/* Offsets of the scales in a block of each type. */
static int scales_of(int at[2], spec_tensor_type type)
{
    at[0] = type == SPEC_TENSOR_Q6_K ? 208 : 0;
    at[1] = 2;
    return type == SPEC_TENSOR_Q4_K || type == SPEC_TENSOR_Q5_K ? 2 : 1;
}

void random_blocks_fill(void *ret_row, spec_tensor_type type, int cols, uint64_t *noise)
{
    const int weights = spec_tensor_block_weights(type);
    const size_t bytes = spec_tensor_row_bytes(type, weights);
    unsigned char *block = ret_row;
    for (int k = 0; k < cols; k += weights, block += bytes) {
        int at[2];
        for (size_t i = 0; i < bytes; i++) block[i] = (unsigned char)spec_noise_word(0, (*noise)++);
        for (int i = scales_of(at, type) - 1; i >= 0; i--) {
            const int exponent = 6 + (int)(spec_noise_word(0, (*noise)++) % 5);
            const uint16_t half = (uint16_t)(exponent << 10 | (block[at[i]] & 0xff) << 2 |
                                             (block[at[i] + 1] & 0x80) << 8);
            memcpy(block + at[i], &half, sizeof half);
        }
    }
}
