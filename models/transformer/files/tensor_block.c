/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/tensor_block.h"

#include "models/transformer/files/tensor_block_search.h"
#include "models/transformer/files/tensor_block_write.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Returns weight j, which has 5 bits; its fifth bit is bit j of the first four bytes. */
static int five_bits(const unsigned char *fifth, int j)
{
    const int pair = fifth[BLOCK / 8 + j % (BLOCK / 2)],
              low = j < BLOCK / 2 ? pair & 15 : pair >> 4;
    return low | (fifth[j / 8] >> j % 8 & 1) << 4;
}

static void decode_q5_0(float *ret_value, const unsigned char *block, const float *scale)
{
    for (int j = 0; j < BLOCK; j++)
        ret_value[j] = *scale * (float)(five_bits(block + HALF_BYTES, j) - 16);
}

static void decode_q4_1(float *ret_value, const unsigned char *block, const float *scale)
{
    for (int j = 0; j < BLOCK / 2; j++) {
        const int pair = block[2 * HALF_BYTES + j];
        ret_value[j] = scale[0] * (float)(pair & 15) + scale[1];
        ret_value[j + BLOCK / 2] = scale[0] * (float)(pair >> 4) + scale[1];
    }
}

static void decode_q5_1(float *ret_value, const unsigned char *block, const float *scale)
{
    for (int j = 0; j < BLOCK; j++)
        ret_value[j] = scale[0] * (float)five_bits(block + 2 * HALF_BYTES, j) + scale[1];
}

/* The levels of IQ4_NL and IQ4_XS, and twice the values of E2M1, whose sign is in the high bit. */
static const signed char nl_level[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113},
                         e2m1_twice[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The low halves of 16 bytes are the first 16 weights, the high halves the others. */
static void decode_levels(float *ret_value, const unsigned char *pair, const signed char *level,
                          float scale)
{
    for (int j = 0; j < BLOCK / 2; j++) {
        ret_value[j] = scale * (float)level[pair[j] & 15];
        ret_value[j + BLOCK / 2] = scale * (float)level[pair[j] >> 4];
    }
}

static void decode_iq4_nl(float *ret_value, const unsigned char *block, const float *scale)
{
    decode_levels(ret_value, block + HALF_BYTES, nl_level, *scale);
}

/* The factor is 2^(byte - 128), half of the scale, because the levels are doubled. */
static void decode_mxfp4(float *ret_value, const unsigned char *block, const float *scale)
{
    const uint32_t bits =
        *block < 2 ? UINT32_C(0x00200000) << *block : (uint32_t)(*block - 1) << 23;
    float half;
    (void)scale;
    memcpy(&half, &bits, sizeof half);
    decode_levels(ret_value, block + 1, e2m1_twice, half);
}

/* ---- the same weights in Q8_0 ---------------------------------------------------------------- */

static void q8_0_from_q4_0(unsigned char *ret_block, const unsigned char *block)
{
    memcpy(ret_block, block, HALF_BYTES);
    for (int j = 0; j < BLOCK / 2; j++) {
        const int pair = block[HALF_BYTES + j];
        ret_block[HALF_BYTES + j] = (unsigned char)((pair & 15) - 8);
        ret_block[HALF_BYTES + j + BLOCK / 2] = (unsigned char)((pair >> 4) - 8);
    }
}

static void q8_0_from_q5_0(unsigned char *ret_block, const unsigned char *block)
{
    memcpy(ret_block, block, HALF_BYTES);
    for (int j = 0; j < BLOCK; j++)
        ret_block[HALF_BYTES + j] = (unsigned char)(five_bits(block + HALF_BYTES, j) - 16);
}

static void q8_0_from_iq4_nl(unsigned char *ret_block, const unsigned char *block)
{
    memcpy(ret_block, block, HALF_BYTES);
    for (int j = 0; j < BLOCK / 2; j++) {
        const int pair = block[HALF_BYTES + j];
        ret_block[HALF_BYTES + j] = (unsigned char)nl_level[pair & 15];
        ret_block[HALF_BYTES + j + BLOCK / 2] = (unsigned char)nl_level[pair >> 4];
    }
}

/* F16 can hold the powers 2^-24 to 2^15. If the power is larger, up to 2^18, we multiply the
 * weights by the excess. If it is smaller, we round the weights to units of 2^-24 (to nearest, ties
 * to even). */
enum { POWER_MIN = -24, POWER_MAX = 15 };

static int scaled_by_power(int level, int power)
{
    if (power >= 0) return level * (1 << power);
    if (power < -8) return 0;
    const int unit = 1 << -power, magnitude = level < 0 ? -level : level;
    const int down = magnitude / unit, rest = 2 * (magnitude % unit);
    const int rounded = down + (rest > unit || (rest == unit && down % 2 == 1));
    return level < 0 ? -rounded : rounded;
}

static void q8_0_from_mxfp4(unsigned char *ret_block, const unsigned char *block)
{
    const int power = *block - 128, most = power < POWER_MIN   ? POWER_MIN
                                           : power > POWER_MAX ? POWER_MAX
                                                               : power;
    const uint16_t half =
        (uint16_t)(most < -14 ? 1 << (most - POWER_MIN) : (most + 15) << 10); /* 2^most */
    memcpy(ret_block, &half, HALF_BYTES);
    for (int j = 0; j < BLOCK / 2; j++) {
        const int pair = block[1 + j];
        ret_block[HALF_BYTES + j] =
            (unsigned char)scaled_by_power(e2m1_twice[pair & 15], power - most);
        ret_block[HALF_BYTES + j + BLOCK / 2] =
            (unsigned char)scaled_by_power(e2m1_twice[pair >> 4], power - most);
    }
}

/* ---- 256 weights ----------------------------------------------------------------------------- */

/* Twelve bytes hold eight scales and eight minima of 6 bits: those of groups 0..3 are in the low
 * bits of bytes 0..7, those of groups 4..7 in bytes 8..11 and in the high bits of the other
 * bytes. */
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

/* A block has 128 bytes of low halves, 64 of upper pairs of bits, and 16 steps. Each half of the
 * block holds four runs of 32 weights: two in the low and two in the high halves of the same 64
 * bytes. */
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

/* Returns a weight's two bits: 32 bytes hold four runs of 32 weights, 16 weights for each group. */
static int two_bits(const unsigned char *pairs, int group, int j)
{
    return pairs[group / 8 * BLOCK + group % 2 * 16 + j] >> group / 2 % 4 * 2 & 3;
}

static void decode_q2_k(float *ret_value, const unsigned char *block, const float *scale)
{
    for (int group = 0; group < SUPER / 16; group++, ret_value += 16) {
        const float step = scale[0] * (float)(block[group] & 15),
                    minimum = scale[1] * (float)(block[group] >> 4);
        for (int j = 0; j < 16; j++)
            ret_value[j] = step * (float)two_bits(block + 16, group, j) - minimum;
    }
}

/* A block has 32 bytes of third bits, 64 bytes of pairs, and 12 bytes of steps: eight low halves,
 * then eight high ones, and four bytes of upper pairs of bits. */
static void decode_q3_k(float *ret_value, const unsigned char *block, const float *scale)
{
    const unsigned char *const steps = block + SUPER / 8 + SUPER / 4;
    for (int group = 0; group < SUPER / 16; group++, ret_value += 16) {
        const int low = group < 8 ? steps[group] & 15 : steps[group - 8] >> 4;
        const int high = steps[8 + group % 4] >> group / 4 * 2 & 3;
        const float step = *scale * (float)((low | high << 4) - 32);
        for (int j = 0; j < 16; j++) {
            const int third = block[group % 2 * 16 + j] >> group / 2 & 1;
            const int weight = two_bits(block + SUPER / 8, group, j) | third << 2;
            ret_value[j] = step * (float)(weight - 4);
        }
    }
}

/* A block has a scale, two bytes of upper pairs of bits, eight low halves of steps, and levels. */
static void decode_iq4_xs(float *ret_value, const unsigned char *block, const float *scale)
{
    const unsigned char *const high = block + HALF_BYTES, *const low = high + 2,
                               *const pairs = low + SUPER / BLOCK / 2;
    for (int group = 0; group < SUPER / BLOCK; group++) {
        const int step =
            (low[group / 2] >> group % 2 * 4 & 15) | (high[group / 4] >> group % 4 * 2 & 3) << 4;
        decode_levels(ret_value + group * BLOCK, pairs + group * (BLOCK / 2), nl_level,
                      *scale * (float)(step - 32));
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define BLOCK_TYPE(name) const spec_tensor_block spec_tensor_block_##name

BLOCK_TYPE(q8_0) = {BLOCK, 34, 1, {0}, false, decode_q8_0, spec_tensor_block_write_q8_0, NULL};
BLOCK_TYPE(q4_0) = {BLOCK,         18, 1, {0}, false, decode_q4_0, spec_tensor_block_write_q4_0,
                    q8_0_from_q4_0};
BLOCK_TYPE(q5_0) = {BLOCK,         22, 1, {0}, false, decode_q5_0, spec_tensor_block_write_q5_0,
                    q8_0_from_q5_0};
BLOCK_TYPE(iq4_nl) = {BLOCK, 18, 1, {0}, false, decode_iq4_nl, NULL, q8_0_from_iq4_nl};
BLOCK_TYPE(q4_1) = {BLOCK, 20, 2, {0, HALF_BYTES}, false, decode_q4_1, spec_tensor_block_write_q4_1,
                    NULL};
BLOCK_TYPE(q5_1) = {BLOCK, 24, 2, {0, HALF_BYTES}, false, decode_q5_1, spec_tensor_block_write_q5_1,
                    NULL};
BLOCK_TYPE(mxfp4) = {BLOCK, 17, 0, {0}, true, decode_mxfp4, NULL, q8_0_from_mxfp4};
BLOCK_TYPE(q2_k) = {SUPER, 84, 2, {80, 82}, false, decode_q2_k, NULL, NULL};
BLOCK_TYPE(q3_k) = {SUPER, 110, 1, {108}, false, decode_q3_k, NULL, NULL};
BLOCK_TYPE(q4_k) = {
    SUPER, 144, 2, {0, HALF_BYTES}, false, decode_q4_k, spec_tensor_block_search_q4_k, NULL};
BLOCK_TYPE(q5_k) = {
    SUPER, 176, 2, {0, HALF_BYTES}, false, decode_q5_k, spec_tensor_block_search_q5_k, NULL};
BLOCK_TYPE(q6_k) = {SUPER, 210, 1, {208}, false, decode_q6_k, spec_tensor_block_search_q6_k, NULL};
BLOCK_TYPE(iq4_xs) = {SUPER, 136, 1, {0}, false, decode_iq4_xs, NULL, NULL};
