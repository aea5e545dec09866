/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"

#include "base/wide_rng.h"

#include <limits.h>

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

uint64_t spec_noise_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

uint64_t spec_noise_key(uint64_t seed, const int *context, size_t n, int order)
{
    const size_t used = order >= 0 && n > (size_t)order ? (size_t)order : n;
    uint64_t key = spec_noise_mix(seed + golden);
    key = spec_noise_mix(key + golden * (used + 1));
    for (size_t i = n - used; i < n; i++)
        key = spec_noise_mix((key + golden) ^ (uint64_t)(uint32_t)context[i]);
    return key;
}

uint64_t spec_noise_word(uint64_t key, uint64_t i)
{
    return spec_noise_mix(key + golden * (i + 1));
}

static uint64_t next(void *state)
{
    uint64_t *word = state;
    *word += golden;
    return spec_noise_mix(*word);
}

static void rng_set(void *state, unsigned long seed)
{
    *(uint64_t *)state = seed;
}

static unsigned long rng_get(void *state)
{
    return (unsigned long)next(state);
}

static double rng_get_double(void *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}

static const spec_wide_rng_type splitmix64 = {
    .gsl = {.name = "splitmix64",
            .max = ULONG_MAX,
            .min = 0,
            .size = sizeof(uint64_t),
            .set = rng_set,
            .get = rng_get,
            .get_double = rng_get_double},
    .word = next,
};
const gsl_rng_type *const spec_noise_rng_type = &splitmix64.gsl;
