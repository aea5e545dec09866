/* SPDX-License-Identifier: GPL-3.0-or-later */
/* noise: reproducible random numbers for synthetic models, each a pure function of a key.
 * A synthetic row must depend only on (seed, context), not on the order of requests. So it comes
 * from a hash, SplitMix64 [Steele14], rather than a simulator's stream. It is also available as a
 * GSL generator. */
#ifndef SPECLAB_NOISE_H
#define SPECLAB_NOISE_H

#include <gsl/gsl_rng.h>
#include <stddef.h>
#include <stdint.h>

/* Applies the SplitMix64 finaliser, a bijection of 64-bit words with good avalanche. */
uint64_t spec_noise_mix(uint64_t word);

/* Hashes the seed and the last `order` of the context's n tokens (order < 0: all of them), and how
 * many these are, into a key. */
uint64_t spec_noise_key(uint64_t seed, const int *context, size_t n, int order);

/* Returns word i >= 0 of a key's SplitMix64 sequence in constant time. The generator returns the
 * same word at step i, counted from 0. */
uint64_t spec_noise_word(uint64_t key, uint64_t i);

/* SplitMix64 as a GSL generator. Its state is one uint64_t that starts as the key, so it can live
 * on the stack: uint64_t state = key; gsl_rng rng = {spec_noise_rng_type, &state}; base/wide_rng.h
 * draws whole words and integers from it. */
extern const gsl_rng_type *const spec_noise_rng_type;

#endif
