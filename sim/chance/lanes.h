/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lanes: 32 interleaved PCG32 generators: the vector random numbers of the acceptance engine.
 * Lane l of stream i starts from a state and an increment hashed from (seed, i, l), and has period
 * 2^64 [ONeill14, XSH-RR 64/32]: enough for tallies of 1e13 draws, not for cryptography, nor for
 * chances below 2^-32. All instruction sets and C agree bit for bit. */
#ifndef SPECLAB_LANES_H
#define SPECLAB_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { SPEC_LANES = 32 };

/* All lanes step x <- a x + increment (mod 2^64), a = 6364136223846793005, and output XSH-RR of the
 * state before the step. They differ only in increment and starting point. For increments c and c'
 * let s = 1 if c = c' (mod 4), else s = -1. Then y = s x + b with (a - 1) b = s c - c' maps the
 * orbit of one lane onto the orbit of the other. So every lane is an affine image of every other
 * lane, started at another point of the same orbit of 2^64. Only this offset separates two lanes,
 * and the hash makes it uniform.
 *
 * If the offset is a multiple of 2^m, the low m + 2 bits of y - s x are the same at every step. In
 * PractRand 0.95, on two alternating lanes, offsets of 2^41 to 2^44 fail within 1 GB, and some of
 * 2^37 to 2^40 within 4 GB; there 2^36 is suspicious, but 2^35 and random offsets are not. A pair
 * has an offset divisible by 2^36 with chance 2^-36; one of the 496 pairs of a stream does with
 * chance 7e-9. An offset near such a multiple shows the same pattern at a lag. */
typedef struct {
    uint64_t state[SPEC_LANES];
    uint64_t increment[SPEC_LANES]; /* odd */
} spec_lanes;

/* Starts the lanes of stream `stream` from 64 words of a PCG64-DXSM stream (sim/chance/rng.h) whose
 * seed is separate from all other uses. */
void spec_lanes_init(spec_lanes *lanes, uint64_t seed, uint64_t stream);

/* Runs n_steps steps of all lanes: out[s * SPEC_LANES + l] is the draw of lane l at step s. */
void spec_lanes_fill(spec_lanes *lanes, uint32_t *out, size_t n_steps);
void spec_lanes_fill_ref(spec_lanes *lanes, uint32_t *out, size_t n_steps);

#endif
