/* lanes: 32 interleaved PCG32 (XSH-RR 64/32, [ONeill14]) generators, the vector generator of the acceptance engine.
 * Lane l of stream i starts from state and increment hashed from (seed, i, l) and has period 2^64: enough for tallies
 * of 1e13 draws, not for cryptography, nor for chances below 2^-32. AVX-512, AVX2 and C agree bit for bit. */
#ifndef SPECLAB_LANES_H
#define SPECLAB_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { SPEC_LANES = 32 };

/* All lanes step x <- x * 6364136223846793005 + increment (mod 2^64) and output XSH-RR of the state before the step.
 * They differ by increment and starting point alone, so two lanes are related by an affine map: the hash, not the
 * algebra, keeps them apart. Two lanes would be visibly alike if their increments and states agreed in the low m bits
 * for some m of 30 or more: chance 2^(1-2m) a pair. */
typedef struct {
    uint64_t state[SPEC_LANES];
    uint64_t increment[SPEC_LANES]; /* odd */
} spec_lanes;

/* The lanes of stream `stream`: 64 words of a PCG64-DXSM stream (sim/chance/rng.h) whose seed is set apart from everybody
 * else's. */
void spec_lanes_init(spec_lanes *lanes, uint64_t seed, uint64_t stream);

/* n_steps steps of all lanes: out[s * SPEC_LANES + l] is lane l's draw at step s. */
void spec_lanes_fill(spec_lanes *lanes, uint32_t *out, size_t n_steps);
void spec_lanes_fill_ref(spec_lanes *lanes, uint32_t *out, size_t n_steps);

#endif
