/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampling_law: computes a token's probability from its logit, and orders tokens by probability.
 * For kernels. */
#ifndef SPECLAB_SAMPLING_LAW_H
#define SPECLAB_SAMPLING_LAW_H

#include "models/gpu/kernels_sampling.h"
#include "models/gpu/simt.h"
#include "models/transformer/kernels/exp_double.h"

/* The block's first thread fills shared memory with 2^(j/8), which saves a table per thread in
 * local memory. A barrier must follow. */
DEVICE void sampling_eighths(double *eighth)
{
    const double value[] = {SPEC_EXP_DOUBLE_EIGHTHS};
    if (THREAD != 0) return;
    UNROLL
    for (int j = 0; j < 8; j++) eighth[j] = value[j];
}

/* Returns exp(x) for x <= 0, with the bits of models/transformer/kernels/vector_ref.c. */
DEVICE double sampling_exp(double x, const double *eighth)
{
    const double term[] = {SPEC_EXP_DOUBLE_TERM_LIST};
    if (x < SPEC_EXP_DOUBLE_LEAST) return 0.0;
    const double shifted = fma(x, SPEC_EXP_DOUBLE_STEPS, SPEC_EXP_DOUBLE_ROUND),
                 k = shifted - SPEC_EXP_DOUBLE_ROUND;
    const double r = fma(k, -SPEC_EXP_DOUBLE_STEP_REST, fma(k, -SPEC_EXP_DOUBLE_STEP, x));
    const uint64_t steps = bits_of_double(shifted);
    const double scale =
        double_of_bits(bits_of_double(eighth[steps & 7]) + ((steps & ~(uint64_t)7) << 49));
    double sum = term[0];
    UNROLL
    for (int i = 1; i < SPEC_EXP_DOUBLE_TERMS; i++) sum = fma(sum, r, term[i]);
    return fma(scale, fma(sum, r * r, r), scale);
}

DEVICE double sampling_exponent(const sampling_law *law, float logit)
{
    return ((double)logit - (double)law->largest) * law->factor;
}

DEVICE bool sampling_stays(const sampling_law *law, float logit, int id)
{
    return logit > law->cut || (logit == law->cut && id <= law->last);
}

/* Returns the probability of token `id`. Divisions by 1 are skipped because they cost time. */
DEVICE double sampling_value(const sampling_law *law, float logit, int id, const double *eighth)
{
    if (law->hot >= 0) return id == law->hot ? 1.0 : 0.0;
    if (!sampling_stays(law, logit, id)) return 0.0;
    double p = sampling_exp(sampling_exponent(law, logit), eighth) * law->scale;
    if (law->rest[0] != 1.0) p /= law->rest[0];
    if (law->rest[1] != 1.0) p /= law->rest[1];
    if (p < law->least) return 0.0;
    if (law->rest[2] != 1.0) p /= law->rest[2];
    return p;
}

/* -- order by probability -- */

/* Returns a key that ascends with the logit; both zeros are equal. */
DEVICE uint32_t sampling_order(float logit)
{
    const uint32_t bits = bits_of_float(logit + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

DEVICE float sampling_logit(uint32_t order)
{
    return float_of_bits(order & 0x80000000u ? order & 0x7fffffffu : ~order);
}

/* Returns a key that puts the most probable token first, and the lowest id first among ties. */
DEVICE uint64_t sampling_key(float logit, int id)
{
    return (uint64_t)sampling_order(logit) << 32 | (uint32_t)~(uint32_t)id;
}

DEVICE float sampling_key_logit(uint64_t key) { return sampling_logit((uint32_t)(key >> 32)); }
DEVICE int sampling_key_id(uint64_t key) { return (int)~(uint32_t)key; }

/* Returns the bin of a logit by its distance d from the largest, in nats: 64 bins for each doubling
 * of 1 + d. A bin spans a factor of at least 65/64: near the top, where there are few tokens, it is
 * narrow, and further down it is wider. Every step is monotone, including its rounding. */
DEVICE int sampling_bin(const sampling_law *law, float logit)
{
    const float factor = law->factor < 1e30 ? (float)law->factor : 1e30f;
    const float at = 1.0f + (law->largest - logit) * factor;
    const uint32_t bin = (bits_of_float(at) - bits_of_float(1.0f)) >> 17;
    return bin < SAMPLING_BINS ? (int)bin : SAMPLING_BINS - 1;
}

/* Returns a probability as integers, whose sums do not depend on their order: units of 2^-62, and
 * the remainder in 2^-102. The sum of any number of probabilities from 2^-50 on is exact. */
DEVICE sampling_mass sampling_mass_of(double p)
{
    const double scaled = p * 0x1p62;
    sampling_mass mass;
    mass.whole = (uint64_t)scaled;
    mass.part = (uint64_t)((scaled - (double)mass.whole) * 0x1p40);
    return mass;
}

DEVICE sampling_mass sampling_mass_sum(sampling_mass one, sampling_mass other)
{
    one.whole += other.whole;
    one.part += other.part;
    return one;
}

/* Returns whether the mass is at least top_p, after rounding it once to a double, as the host's
 * compensated sum is. If the mass is close to the middle between two doubles, the remainder below
 * 2^-62 decides. */
DEVICE bool sampling_reaches(sampling_mass mass, double top_p)
{
    const uint64_t whole = mass.whole + (mass.part >> 40),
                   part = mass.part & (((uint64_t)1 << 40) - 1);
    if (whole >> 54 != 0) return (double)(whole | (part != 0 ? 1u : 0u)) * 0x1p-62 >= top_p;
    return ((double)whole + (double)part * 0x1p-40) * 0x1p-62 >= top_p;
}

#endif
