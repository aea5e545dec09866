/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"

#include "base/noise.h"
#include "base/wide_rng.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

static const uint64_t cheap_multiplier = 0xda942042e4dd58b5u;

/* Takes one more word into a hash: a bijection of the word, so the streams of a seed never
 * coincide. The odd constants keep zero from being a fixed point. */
static uint64_t absorb(uint64_t hash, uint64_t word)
{
    return spec_noise_mix((hash + 0x9e3779b97f4a7c15u) ^
                          spec_noise_mix(word + 0xd1b54a32d192ed03u));
}

/* DXSM: double xorshift, multiply. */
static inline uint64_t output(spec_u128 state)
{
    uint64_t high = (uint64_t)(state >> 64);
    high ^= high >> 32;
    high *= cheap_multiplier;
    high ^= high >> 48;
    return high * ((uint64_t)state | 1);
}

static inline uint64_t next(spec_rng_state *state)
{
    const uint64_t word = output(state->state);
    state->state = state->state * cheap_multiplier + state->increment;
    return word;
}

/* Multiplies instead of calling ldexp: it is exact too, and vectorises. */
static inline double to_unit(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53;
}

static void gsl_set(void *state, unsigned long seed)
{
    *(spec_rng_state *)state = spec_rng_stream_state(seed, 0);
}

static uint64_t wide_word(void *state)
{
    return next(state);
}

static unsigned long gsl_get(void *state)
{
    return (unsigned long)next(state);
}

static double gsl_get_double(void *state)
{
    return to_unit(next(state));
}

static const spec_wide_rng_type pcg64dxsm = {
    .gsl = {.name = "pcg64dxsm",
            .max = ULONG_MAX,
            .min = 0,
            .size = sizeof(spec_rng_state),
            .set = gsl_set,
            .get = gsl_get,
            .get_double = gsl_get_double},
    .word = wide_word,
};
const gsl_rng_type *const spec_rng_pcg64dxsm = &pcg64dxsm.gsl;

gsl_rng *spec_rng_alloc(void)
{
    gsl_rng *rng = malloc(sizeof *rng);
    void *state = malloc(sizeof(spec_rng_state));
    if (rng == NULL || state == NULL) {
        free(rng);
        free(state);
        return NULL;
    }
    *rng = (gsl_rng){.type = spec_rng_pcg64dxsm, .state = state};
    spec_rng_stream(rng, 0, 0);
    return rng;
}

void spec_rng_stream(gsl_rng *rng, uint64_t seed, uint64_t stream)
{
    assert(rng->type == spec_rng_pcg64dxsm);
    *(spec_rng_state *)rng->state = spec_rng_stream_state(seed, stream);
}

spec_rng_state spec_rng_stream_state(uint64_t seed, uint64_t stream)
{
    const uint64_t key = absorb(absorb(0, seed), stream);
    uint64_t word[4];
    for (uint64_t i = 0; i < 4; i++) word[i] = absorb(key, i);

    spec_rng_state state;
    spec_rng_set_raw(&state, (spec_u128)word[0] << 64 | word[1],
                     (spec_u128)word[2] << 64 | word[3] | 1);
    return state;
}

uint64_t spec_rng_named_seed(uint64_t seed, const char *name)
{
    uint64_t hash = absorb(1, seed);
    for (; *name != '\0'; name++) hash = absorb(hash, (unsigned char)*name);
    return hash;
}

uint64_t spec_rng_next(spec_rng_state *state)
{
    return next(state);
}

double spec_rng_next_double(spec_rng_state *state)
{
    return to_unit(next(state));
}

void spec_rng_set_raw(spec_rng_state *state, spec_u128 raw_state, spec_u128 raw_increment)
{
    assert(raw_increment & 1);
    state->state = raw_state;
    state->increment = raw_increment;
}
