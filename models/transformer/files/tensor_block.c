/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/tensor_block.h"

enum { HALF_BYTES = 2, BLOCK = 32, SUPER = 256, SCALES_BYTES = 12 };

/* ---- 32 weights ------------------------------------------------------------------------------ */

static void decode_q8_0(float *ret_value, const unsigned char *block, const float *scale)
{
    for (int j = 0; j < BLOCK; j++)
        ret_value[j] = *scale * (float)(signed char)block[HALF_BYTES + j];
}

static void decode_q4_0(float *ret_value, const unsigned char *block, const float *scale)
{
    for (int j = 0; j < BLOCK / 2; j++) {
        const int pair = block[HALF_BYTES + j];
        ret_value[j] = *scale * (float)((pair & 15) - 8);
        ret_value[j + BLOCK / 2] = *scale * (float)((pair >> 4) - 8);
    }
}

/* Bit j of four bytes is the fifth bit of weight j. */
static void decode_q5_0(float *ret_value, const unsigned char *block, const float *scale)
{
    const unsigned char *const fifth = block + HALF_BYTES, *const pairs = fifth + BLOCK / 8;
    for (int j = 0; j < BLOCK; j++) {
        const int pair = pairs[j % (BLOCK / 2)], low = j < BLOCK / 2 ? pair & 15 : pair >> 4;
        ret_value[j] = *scale * (float)((low | (fifth[j / 8] >> j % 8 & 1) << 4) - 16);
    }
}

static void decode_iq4_nl(float *ret_value, const unsigned char *block, const float *scale)
{
    static const signed char level[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};
    for (int j = 0; j < BLOCK / 2; j++) {
        const int pair = block[HALF_BYTES + j];
        ret_value[j] = *scale * (float)level[pair & 15];
        ret_value[j + BLOCK / 2] = *scale * (float)level[pair >> 4];
    }
}

/* ---- 256 weights ----------------------------------------------------------------------------- */

/* Twelve bytes hold eight scales and eight minima of 6 bits: those of groups 0..3 in the low bits
 * of bytes 0..7, those of groups 4..7 in bytes 8..11 and in the high bits of the others. */
static void read_group(float *ret_step, float *ret_minimum, const unsigned char *bytes, int group,
                       const float *scale)
{
    int step, minimum;
    if (group < 4) {
        step = bytes[group] & 63;
        minimum = bytes[group + 4] & 63;
    } else {
        step = (bytes[group + 4] & 15) | bytes[group - 4] >> 6 << 4;
        minimum = bytes[group + 4] >> 4 | bytes[group] >> 6 << 4;
    }
    *ret_step = scale[0] * (float)step;
    *ret_minimum = scale[1] * (float)minimum;
}

/* Groups 2i and 2i + 1 are the low and high halves of 32 bytes; bit g of byte j of `opt_fifth` is
 * the fifth bit of weight j of group g. */
static void decode_groups(float *ret_value, const unsigned char *scales, const float *scale,
                          const unsigned char *pairs, const unsigned char *opt_fifth)
{
    for (int group = 0; group < SUPER / BLOCK; group++, ret_value += BLOCK) {
        const unsigned char *const pair = pairs + group / 2 * BLOCK;
        float step, minimum;
        read_group(&step, &minimum, scales, group, scale);
        for (int j = 0; j < BLOCK; j++) {
            int weight = group % 2 == 0 ? pair[j] & 15 : pair[j] >> 4;
            if (opt_fifth != 0) weight |= (opt_fifth[j] >> group & 1) << 4;
            ret_value[j] = step * (float)weight - minimum;
        }
    }
}

static void decode_q4_k(float *ret_value, const unsigned char *block, const float *scale)
{
    const unsigned char *const scales = block + 2 * HALF_BYTES;
    decode_groups(ret_value, scales, scale, scales + SCALES_BYTES, 0);
}

static void decode_q5_k(float *ret_value, const unsigned char *block, const float *scale)
{
    const unsigned char *const scales = block + 2 * HALF_BYTES, *const fifth =
                                                                    scales + SCALES_BYTES;
    decode_groups(ret_value, scales, scale, fifth + BLOCK, fifth);
}

/* 128 low halves, 64 bytes of upper pairs of bits, 16 steps. Each half of the block holds four runs
 * of 32 weights: two in the low and two in the high halves of the same 64 bytes. */
static void decode_q6_k(float *ret_value, const unsigned char *block, const float *scale)
{
    const unsigned char *low = block, *high = block + SUPER / 2, *steps = high + SUPER / 4;
    for (int half = 0; half < 2; half++, low += 64, high += BLOCK, steps += 8) {
        for (int run = 0; run < 4; run++, ret_value += BLOCK) {
            for (int j = 0; j < BLOCK; j++) {
                const int byte = low[run % 2 * BLOCK + j], bits = run < 2 ? byte & 15 : byte >> 4;
                const int weight = bits | (high[j] >> 2 * run & 3) << 4;
                const float step = *scale * (float)(signed char)steps[2 * run + j / 16];
                ret_value[j] = step * (float)(weight - 32);
            }
        }
    }
}

const spec_tensor_block spec_tensor_block_q8_0 = {BLOCK, 34, 1, {0}, decode_q8_0};
const spec_tensor_block spec_tensor_block_q4_0 = {BLOCK, 18, 1, {0}, decode_q4_0};
const spec_tensor_block spec_tensor_block_q5_0 = {BLOCK, 22, 1, {0}, decode_q5_0};
const spec_tensor_block spec_tensor_block_iq4_nl = {BLOCK, 18, 1, {0}, decode_iq4_nl};
const spec_tensor_block spec_tensor_block_q4_k = {SUPER, 144, 2, {0, HALF_BYTES}, decode_q4_k};
const spec_tensor_block spec_tensor_block_q5_k = {SUPER, 176, 2, {0, HALF_BYTES}, decode_q5_k};
const spec_tensor_block spec_tensor_block_q6_k = {SUPER, 210, 1, {208}, decode_q6_k};
