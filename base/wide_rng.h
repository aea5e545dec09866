/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wide_rng: GSL generators of 64-bit words, even where unsigned long has 32 bits.
 * On those machines gsl_rng_get returns only the low bits, and GSL's gaussian distribution needs no
 * more than these. The generators of base/noise.h and sim/chance/rng.h are of this kind. Headers
 * only. */
#ifndef SPECLAB_WIDE_RNG_H
#define SPECLAB_WIDE_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* A type for gsl_rng, which is its first member. */
typedef struct {
    gsl_rng_type gsl;
    uint64_t (*word)(void *state); /* uniform over all words */
} spec_wide_rng_type;

/* Returns the next word. If unsigned long has 64 bits, this works for any generator, whose minimum
 * is subtracted. */
static inline uint64_t spec_wide_rng_word(const gsl_rng *rng)
{
    if (sizeof(unsigned long) == sizeof(uint64_t)) return gsl_rng_get(rng) - gsl_rng_min(rng);
    return ((const spec_wide_rng_type *)rng->type)->word(rng->state);
}

/* Returns a uniform integer below n >= 1. If unsigned long has 64 bits, it is the one that
 * gsl_rng_uniform_int returns. */
static inline uint64_t spec_wide_rng_below(const gsl_rng *rng, uint64_t n)
{
    const uint64_t most = sizeof(unsigned long) == sizeof(uint64_t)
                              ? gsl_rng_max(rng) - gsl_rng_min(rng)
                              : UINT64_MAX,
                   scale = most / n;
    uint64_t drawn;
    do drawn = spec_wide_rng_word(rng) / scale;
    while (drawn >= n);
    return drawn;
}

#endif
