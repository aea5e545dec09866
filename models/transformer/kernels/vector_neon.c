/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/vector_parts.h"

#if defined(__aarch64__)
#include <arm_neon.h>

enum { FLOATS = 4, DOUBLES = 2 };
typedef float32x4_t floats;
typedef float64x2_t doubles;

#define load vld1q_f32
#define store vst1q_f32
#define all vdupq_n_f32
#define plus vaddq_f32
#define minus vsubq_f32
#define times vmulq_f32
#define over vdivq_f32
#define smaller vminq_f32 /* of a constant and a number; keeps NaN */
#define highest vmaxvq_f32 /* the largest lane; none may be NaN */
#define load_double vld1q_f64
#define store_double vst1q_f64
#define all_double vdupq_n_f64
#define plus_double vaddq_f64
#define minus_double vsubq_f64
#define times_double vmulq_f64

static inline floats fused(floats a, floats b, floats c)
{
    return vfmaq_f32(c, a, b);
}

static inline doubles fused_double(doubles a, doubles b, doubles c)
{
    return vfmaq_f64(c, a, b);
}

/* NEON's maximum of a NaN is a NaN; this returns the second operand, as the reference does. */
static inline floats larger(floats a, floats b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

/* a b - c in even lanes, a b + c in odd ones */
static inline floats fused_minus_plus(floats a, floats b, floats c)
{
    const uint32x4_t sign = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return fused(a, b, vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c), sign)));
}

static inline floats exchanged(floats x)
{
    return vrev64q_f32(x);
}

static inline floats twice(const float *x)
{
    const float32x2_t two = vld1_f32(x);
    return vcombine_f32(vzip1_f32(two, two), vzip2_f32(two, two));
}

static inline bool any_equal(floats a, floats b)
{
    return vmaxvq_u32(vceqq_f32(a, b)) != 0;
}

static inline doubles widened(const float *x)
{
    return vcvt_f64_f32(vld1_f32(x));
}

static inline doubles unless_less(doubles a, doubles b, doubles value)
{
    return vreinterpretq_f64_u64(vandq_u64(vcgeq_f64(a, b), vreinterpretq_u64_f64(value)));
}

static inline floats from_f16(const uint16_t *x)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
}

static inline void to_f16(uint16_t *to, floats x)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}

static inline floats half_power(floats shifted)
{
    const uint32x4_t bits = vaddq_u32(vreinterpretq_u32_f32(shifted), vdupq_n_u32(126));
    return vreinterpretq_f32_u32(vshlq_n_u32(bits, 23));
}

static inline doubles eighth_power(doubles shifted)
{
    const uint64x2_t bits = vreinterpretq_u64_f64(shifted);
    const double *const first = spec_exp_eighth + (vgetq_lane_u64(bits, 0) & 7),
                 *const second = spec_exp_eighth + (vgetq_lane_u64(bits, 1) & 7);
    const doubles power = vcombine_f64(vld1_f64(first), vld1_f64(second));
    const uint64x2_t exponent = vshlq_n_u64(vbicq_u64(bits, vdupq_n_u64(7)), 49);
    return vreinterpretq_f64_u64(vaddq_u64(vreinterpretq_u64_f64(power), exponent));
}

/* Reduces a sum's lanes: lanes 8, then 4, 2 and 1 apart. */
static inline float added(const floats *sum)
{
    const floats lanes = plus(plus(sum[0], sum[2]), plus(sum[1], sum[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(lanes), vget_high_f32(lanes));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

static inline double added_double(const doubles *sum)
{
    const doubles low = plus_double(plus_double(sum[0], sum[4]), plus_double(sum[2], sum[6])),
                  high = plus_double(plus_double(sum[1], sum[5]), plus_double(sum[3], sum[7])),
                  two = plus_double(low, high);
    return vgetq_lane_f64(two, 0) + vgetq_lane_f64(two, 1);
}

#include "models/transformer/kernels/vector_wide.h"

const spec_vector_kernels spec_vector_kernels_neon = {
    norm, rotate,    score, weigh,      mix,  widen, narrow,
    gate, gelu_gate, cap,   largest_of, find, exps,  spec_vector_scale};

#else
typedef int spec_vector_neon_is_empty; /* ISO C requires a declaration */
#endif
