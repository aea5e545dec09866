/* SPDX-License-Identifier: GPL-3.0-or-later */
/* half_float: converts floats from and to 16 bits, as F16 (IEEE binary16) or BF16 (the upper half).
 * Rounds to nearest, ties to even. NaN stays NaN, and F16 is infinite from 65520 on. */
#ifndef SPECLAB_HALF_FLOAT_H
#define SPECLAB_HALF_FLOAT_H

#include <stdint.h>
#include <string.h>

static inline float spec_half_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Has no branches, so that loops over rows vectorise. The exponent biases of the two formats differ
 * by 112, and the multiplication normalises denormals. */
static inline float spec_half_float_from_f16(uint16_t half)
{
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    const float finite = spec_half_float_of_bits(magnitude) * 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &finite, sizeof bits);
    if ((half & 0x7c00) == 0x7c00) bits = magnitude | 0x7f800000;
    return spec_half_float_of_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

static inline float spec_half_float_from_bf16(uint16_t half)
{
    return spec_half_float_of_bits((uint32_t)half << 16);
}

/* Has no branches, either. */
static inline uint16_t spec_half_float_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16,
                   not_a_number = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? not_a_number : rounded);
}

uint16_t spec_half_float_to_f16(float value);

#endif
