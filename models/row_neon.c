/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row_kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <stdint.h>

/* Bytes that move the lanes with set bits in a mask to the front, the lowest first; 255 gives 0. */
#define TAKE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define NONE 255, 255, 255, 255
static const uint8_t places[16][16] = {
    {NONE, NONE, NONE, NONE},
    {TAKE(0), NONE, NONE, NONE},
    {TAKE(1), NONE, NONE, NONE},
    {TAKE(0), TAKE(1), NONE, NONE},
    {TAKE(2), NONE, NONE, NONE},
    {TAKE(0), TAKE(2), NONE, NONE},
    {TAKE(1), TAKE(2), NONE, NONE},
    {TAKE(0), TAKE(1), TAKE(2), NONE},
    {TAKE(3), NONE, NONE, NONE},
    {TAKE(0), TAKE(3), NONE, NONE},
    {TAKE(1), TAKE(3), NONE, NONE},
    {TAKE(0), TAKE(1), TAKE(3), NONE},
    {TAKE(2), TAKE(3), NONE, NONE},
    {TAKE(0), TAKE(2), TAKE(3), NONE},
    {TAKE(1), TAKE(2), TAKE(3), NONE},
    {TAKE(0), TAKE(1), TAKE(2), TAKE(3)},
};
static const uint8_t set_bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
static const uint32_t bit[4] = {1, 2, 4, 8};

/* Takes four values at a time, without branches. Each store writes four indices; the surplus lies
 * before n and is overwritten or ignored. */
int spec_row_above_neon(int *ret_index, const double *value, int n, double least)
{
    static const int32_t first[4] = {0, 1, 2, 3};
    const float64x2_t bound = vdupq_n_f64(least);
    int32x4_t index = vld1q_s32(first);
    int found = 0, i = 0;
    for (; n - i >= 4; i += 4) {
        const uint32x4_t low = vreinterpretq_u32_u64(vcgeq_f64(vld1q_f64(value + i), bound)),
                         high = vreinterpretq_u32_u64(vcgeq_f64(vld1q_f64(value + i + 2), bound));
        const uint32_t above = vaddvq_u32(vandq_u32(vuzp1q_u32(low, high), vld1q_u32(bit)));
        const uint8x16_t order = vld1q_u8(places[above]);
        vst1q_s32(ret_index + found,
                  vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(index), order)));
        found += set_bits[above];
        index = vaddq_s32(index, vdupq_n_s32(4));
    }
    for (; i < n; i++)
        if (value[i] >= least) ret_index[found++] = i;
    return found;
}

#endif
