/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/tensor_block_write.h"

#include "base/half_float.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { HALF_BYTES = 2, BLOCK = 32 };

/* Returns the weight of largest magnitude, the first among equals; NaN if one is not finite. */
static float largest(const float *value)
{
    float most = 0.0f;
    for (int j = 0; j < BLOCK; j++) {
        if (!isfinite(value[j])) return NAN;
        if (fabsf(value[j]) > fabsf(most)) most = value[j];
    }
    return most;
}

/* Returns the largest magnitude, or NaN if a weight is not finite, without branches. */
static float magnitude(const float *value)
{
    uint32_t most = 0;
    for (int j = 0; j < BLOCK; j++) {
        uint32_t bits;
        memcpy(&bits, value + j, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    return most < 0x7f800000 ? spec_half_float_of_bits(most) : NAN;
}

/* Writes a block's scale into its first bytes; returns 1 / scale, or 0 if the block has only zeros
 * or a non-finite value, or if 1 / scale overflows (in F16 the scale is 0 long before that). */
static float write_scale(unsigned char *block, float scale)
{
    const uint16_t half = spec_half_float_to_f16(scale);
    memcpy(block, &half, sizeof half);
    const float inverse = 1.0f / scale;
    return isfinite(inverse) ? inverse : 0.0f;
}

void spec_tensor_block_write_q8_0(unsigned char *ret_block, const float *value)
{
    const float inverse = write_scale(ret_block, magnitude(value) / 127.0f);
    if (inverse == 0.0f) {
        memset(ret_block + HALF_BYTES, 0, BLOCK);
        return;
    }
    /* Rounds half away from zero, as roundf does: we add the largest float below 1/2, because 1/2
     * itself would round 0.49999997 up. */
    for (int j = 0; j < BLOCK; j++) {
        const float x = value[j] * inverse;
        ret_block[HALF_BYTES + j] =
            (unsigned char)(signed char)(int)(x + copysignf(0x1.fffffep-2f, x));
    }
}

/* Computes round((w - least) / scale) + offset of each weight, at most `most`; ties up. */
static void round_all(unsigned char ret_q[BLOCK], const float *value, float least, float inverse,
                      int offset, int most)
{
    for (int j = 0; j < BLOCK; j++) {
        const float steps = inverse != 0.0f ? (value[j] - least) * inverse : 0.0f;
        const int rounded = (int)(steps + ((float)offset + 0.5f));
        ret_q[j] = (unsigned char)(rounded < most ? rounded : most);
    }
}

/* The low halves of 16 bytes are the first 16 weights, the high halves the others. */
static void pack_pairs(unsigned char *ret_pair, const unsigned char q[BLOCK])
{
    for (int j = 0; j < BLOCK / 2; j++)
        ret_pair[j] = (unsigned char)((q[j] & 15) | (q[j + BLOCK / 2] & 15) << 4);
}

/* Packs four bytes of fifth bits, then the pairs. */
static void pack_five_bits(unsigned char *ret_bytes, const unsigned char q[BLOCK])
{
    memset(ret_bytes, 0, BLOCK / 8);
    for (int j = 0; j < BLOCK; j++)
        ret_bytes[j / 8] = (unsigned char)(ret_bytes[j / 8] | (q[j] >> 4) << j % 8);
    pack_pairs(ret_bytes + BLOCK / 8, q);
}

void spec_tensor_block_write_q4_0(unsigned char *ret_block, const float *value)
{
    unsigned char q[BLOCK];
    round_all(q, value, 0.0f, write_scale(ret_block, largest(value) / -8.0f), 8, 15);
    pack_pairs(ret_block + HALF_BYTES, q);
}

void spec_tensor_block_write_q5_0(unsigned char *ret_block, const float *value)
{
    unsigned char q[BLOCK];
    round_all(q, value, 0.0f, write_scale(ret_block, largest(value) / -16.0f), 16, 31);
    pack_five_bits(ret_block + HALF_BYTES, q);
}

/* Writes both scales and returns the numbers of steps above the least weight. */
static void write_range(unsigned char *ret_block, unsigned char ret_q[BLOCK], const float *value,
                        int most)
{
    float least = value[0], greatest = value[0];
    for (int j = 1; j < BLOCK; j++) {
        if (value[j] < least) least = value[j];
        if (value[j] > greatest) greatest = value[j];
    }
    const bool finite = isfinite(largest(value));
    const float scale = finite ? (greatest - least) / (float)most : NAN,
                inverse = write_scale(ret_block, scale);
    const uint16_t half = spec_half_float_to_f16(finite ? least : NAN);
    memcpy(ret_block + HALF_BYTES, &half, sizeof half);
    round_all(ret_q, value, least, inverse, 0, most);
}

void spec_tensor_block_write_q4_1(unsigned char *ret_block, const float *value)
{
    unsigned char q[BLOCK];
    write_range(ret_block, q, value, 15);
    pack_pairs(ret_block + 2 * HALF_BYTES, q);
}

void spec_tensor_block_write_q5_1(unsigned char *ret_block, const float *value)
{
    unsigned char q[BLOCK];
    write_range(ret_block, q, value, 31);
    pack_five_bits(ret_block + 2 * HALF_BYTES, q);
}
