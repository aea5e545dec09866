/* noise: reproducible randomness for models, a pure function of a key.
 * A synthetic row is a function of (seed, context) and never of who asks first, so it comes from a hash, not from a
 * simulator's stream: SplitMix64 [Steele14], also offered to GSL's samplers as a generator seeded by a 64-bit key. */
#ifndef SPECLAB_NOISE_H
#define SPECLAB_NOISE_H

#include <gsl/gsl_rng.h>
#include <stddef.h>
#include <stdint.h>

/* The SplitMix64 finaliser: a bijection of 64-bit words with good avalanche. */
uint64_t spec_noise_mix(uint64_t word);

/* A key for (seed, the last `order` of the context's n tokens, and how many of these there are); order < 0: all of
 * them. */
uint64_t spec_noise_key(uint64_t seed, const int *context, size_t n, int order);

/* Word i >= 0 of SplitMix64 from a key, without those before it: of the generator below, what its i-th step gives. */
uint64_t spec_noise_word(uint64_t key, uint64_t i);

/* SplitMix64 as a GSL generator. Its state is one uint64_t, which begins as the key, so that it can live on the stack:
 *     uint64_t state = key;
 *     gsl_rng rng = {spec_noise_rng_type, &state}; */
extern const gsl_rng_type *const spec_noise_rng_type;

#endif
