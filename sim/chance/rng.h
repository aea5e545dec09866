/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rng: PCG64-DXSM as a GSL generator, with numbered streams.
 * [ONeill14; NumPy's PCG64DXSM] Stream i of a seed has state and increment hashed from (seed, i),
 * because raw PCG increments are not independent streams. Work item i draws from stream i on any
 * thread. 128-bit state, period 2^128. */
#ifndef SPECLAB_RNG_H
#define SPECLAB_RNG_H

#include <gsl/gsl_rng.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __SIZEOF_INT128__
#error "speclab needs a 64-bit processor: this compiler has no 128-bit integers"
#endif
__extension__ typedef unsigned __int128 spec_u128;

/* The generator for GSL. gsl_rng_uniform returns a double in [0,1) with 53 bits; gsl_rng_set(r, s)
 * selects stream 0 of seed s. gsl_rng_get returns a word, or only its low bits if unsigned long is
 * shorter; base/wide_rng.h draws whole words and integers. */
extern const gsl_rng_type *const spec_rng_pcg64dxsm;

/* Returns a generator of that type, at stream 0 of seed 0; gsl_rng_free frees it. Returns NULL if
 * memory runs out: gsl_rng_alloc would call GSL's error handler, and the default one ends the
 * program. */
gsl_rng *spec_rng_alloc(void);

/* The state, for inline use: LCG x <- x * 0xda942042e4dd58b5 + increment (mod 2^128), output DXSM
 * of the state before the step. */
typedef struct {
    spec_u128 state;
    spec_u128 increment; /* odd */
} spec_rng_state;

/* Puts `rng` (of type spec_rng_pcg64dxsm) at the start of stream `stream` of `seed`. */
void spec_rng_stream(gsl_rng *rng, uint64_t seed, uint64_t stream);
spec_rng_state spec_rng_stream_state(uint64_t seed, uint64_t stream);

/* Returns a seed for a named thing: a hash of `seed` and the bytes of `name`. So a grid point's
 * stream depends only on its own parameters. */
uint64_t spec_rng_named_seed(uint64_t seed, const char *name);

/* Return the next 64 bits; the next double in [0,1), from the high 53 of them. */
uint64_t spec_rng_next(spec_rng_state *state);
double spec_rng_next_double(spec_rng_state *state);

/* Sets the raw state and increment (odd), as NumPy's PCG64DXSM().state shows them; for known-answer
 * tests. */
void spec_rng_set_raw(spec_rng_state *state, spec_u128 raw_state, spec_u128 raw_increment);

#endif
