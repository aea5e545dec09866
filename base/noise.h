/* SPDX-License-Identifier: GPL-3.0-or-later */
/* noise: reproducible random numbers for synthetic models, a pure function of a key.
 * A synthetic row depends only on (seed, context), not on the order of requests. So it comes from a
 * hash rather than a simulator's stream: SplitMix64 [Steele14], also as a GSL generator. */
#ifndef SPECLAB_NOISE_H
#define SPECLAB_NOISE_H

#include <gsl/gsl_rng.h>
#include <stddef.h>
#include <stdint.h>

/* Applies the SplitMix64 finaliser, a bijection of 64-bit words with good avalanche. */
uint64_t spec_noise_mix(uint64_t word);

/* Returns a key for the seed, the last `order` of the context's n tokens, and how many these are;
 * order < 0: all tokens. */
uint64_t spec_noise_key(uint64_t seed, const int *context, size_t n, int order);

/* Returns word i >= 0 of a key's SplitMix64 sequence, in constant time: what the generator returns
 * at step i, counted from 0. */
uint64_t spec_noise_word(uint64_t key, uint64_t i);

/* SplitMix64 as a GSL generator. Its state is one uint64_t that starts as the key, so it can live
 * on the stack: uint64_t state = key; gsl_rng rng = {spec_noise_rng_type, &state}; base/wide_rng.h
 * draws whole words and integers from it. */
extern const gsl_rng_type *const spec_noise_rng_type;

#endif
