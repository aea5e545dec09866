/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/half_float.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint16_t spec_half_float_to_f16(float value)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
    uint32_t half;
    if (magnitude > 0x7f800000)
        half = 0x7e00 | (magnitude >> 13 & 0x3ff);
    else if (magnitude >= 0x477ff000)
        half = 0x7c00; /* 65520 and above */
    else if (magnitude < 0x38800000)
        half = bits_of(spec_half_float_of_bits(magnitude) + 0.5f) -
               0x3f000000; /* in units of 2^-24 */
    else
        half = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}
