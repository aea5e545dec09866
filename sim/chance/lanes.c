/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/lanes.h"

#include "base/cpu.h"
#include "sim/chance/lanes_step.h"
#include "sim/chance/rng.h"

void spec_lanes_init(spec_lanes *lanes, uint64_t seed, uint64_t stream)
{
    spec_rng_state source = spec_rng_stream_state(spec_rng_named_seed(seed, "lanes"), stream);
    for (int l = 0; l < SPEC_LANES; l++) {
        lanes->state[l] = spec_rng_next(&source);
        lanes->increment[l] = spec_rng_next(&source) | 1;
    }
}

void spec_lanes_fill(spec_lanes *lanes, uint32_t *out, size_t n_steps)
{
    switch (spec_cpu_isa()) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI:
    case SPEC_ISA_AVX512:
        spec_lanes_fill_avx512(lanes, out, n_steps);
        return;
    case SPEC_ISA_AVX2:
        spec_lanes_fill_avx2(lanes, out, n_steps);
        return;
#elif defined(__aarch64__)
    case SPEC_ISA_DOTPROD:
    case SPEC_ISA_NEON:
        spec_lanes_fill_neon(lanes, out, n_steps);
        return;
#endif
    default:
        spec_lanes_fill_ref(lanes, out, n_steps);
    }
}

void spec_lanes_fill_ref(spec_lanes *lanes, uint32_t *out, size_t n_steps)
{
    for (size_t s = 0; s < n_steps; s++) {
        for (int l = 0; l < SPEC_LANES; l++) {
            out[s * SPEC_LANES + (size_t)l] =
                spec_lanes_step(&lanes->state[l], lanes->increment[l]);
        }
    }
}
