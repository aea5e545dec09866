/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/lanes_step.h"

#if defined(__aarch64__)

void spec_lanes_fill_neon(spec_lanes *lanes, uint32_t *out, size_t n_steps)
{
    spec_lanes_neon v;
    spec_lanes_load_neon(&v, lanes);
    for (size_t s = 0; s < n_steps; s++, out += SPEC_LANES) {
        for (int g = 0; g < SPEC_LANES_QUADS; g++)
            vst1q_u32(out + 4 * g, spec_lanes_step_neon(&v, g));
    }
    spec_lanes_store_neon(lanes, &v);
}

#endif
