/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_math: results of PTX instructions for which C has no operator.
 * ex2.approx is computed in double and rounded, which is more accurate than a GPU's 2 ulp; all
 * others are exact as [PTX] defines them. NaN results are those of a GPU: 0x7fffffff, and
 * 0x7ff8000000000000 in double. */
#ifndef SPECLAB_PTX_MATH_H
#define SPECLAB_PTX_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float ptx_float_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float ptx_float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & 31,
                   fraction = half & 1023;
    if (exponent == 31) return ptx_float_bits(fraction != 0 ? 0x7fffffffu : sign | 0x7f800000u);
    if (exponent != 0) return ptx_float_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float value = (float)fraction * 0x1p-24f;
    return sign != 0 ? -value : value;
}

/* Saturates; NaN gives 0, or the sign bit alone for 64 bits or from double. */
static inline int32_t ptx_s32_of_float(float a)
{
    if (isnan(a)) return 0;
    return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int32_t)a;
}
static inline int32_t ptx_s32_of_double(double a)
{
    const double whole = rint(a);
    if (isnan(a)) return INT32_MIN;
    return whole >= 0x1p31 ? INT32_MAX : whole < -0x1p31 ? INT32_MIN : (int32_t)whole;
}
static inline uint64_t ptx_u64_of_double(double a)
{
    if (isnan(a)) return 0x8000000000000000u;
    return a >= 0x1p64 ? UINT64_MAX : a <= -1 ? 0 : (uint64_t)a;
}

/* Ignores a single NaN; -0 is below 0. */
static inline float ptx_max_float(float a, float b)
{
    if (isnan(a)) return b;
    return isnan(b) || a > b || (a == b && !signbit(a)) ? a : b;
}
static inline double ptx_max_double(double a, double b)
{
    if (isnan(a)) return b;
    return isnan(b) || a > b || (a == b && !signbit(a)) ? a : b;
}

static inline uint32_t ptx_reversed(uint32_t a)
{
    uint32_t d = 0;
    for (int i = 0; i < 32; i++) d |= (a >> i & 1) << (31 - i);
    return d;
}

/* Each of four digits of c selects one of the eight bytes of a and b, or fills with its sign
 * bit. */
static inline uint32_t ptx_prmt(uint32_t a, uint32_t b, uint32_t c)
{
    const uint64_t bytes = a | (uint64_t)b << 32;
    uint32_t d = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t digit = c >> 4 * i & 15, byte = (uint32_t)(bytes >> 8 * (digit & 7)) & 255;
        d |= ((digit & 8) == 0 ? byte : byte >> 7 != 0 ? 255u : 0u) << 8 * i;
    }
    return d;
}

/* Rounds down once: the product is exact in double, and `rest` is the rounding error of the sum. */
static inline float ptx_fma_down(float a, float b, float c)
{
    const double product = (double)a * b, sum = product + c, part = sum - product;
    const double rest = (product - (sum - part)) + (c - part);
    const float near = (float)sum;
    if (!(fabs(sum) < INFINITY)) return near;
    return near > sum || (near == sum && rest < 0) ? nextafterf(near, -INFINITY) : near;
}

/* Subnormal inputs and results are 0. */
static inline float ptx_ex2(float a)
{
    const float value = (float)exp2(fabsf(a) < 0x1p-126f ? 0.0 : (double)a);
    return value < 0x1p-126f ? 0 : value;
}

#endif
