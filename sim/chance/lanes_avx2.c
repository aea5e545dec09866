/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/lanes_step.h"

#if defined(__AVX2__)

void spec_lanes_fill_avx2(spec_lanes *lanes, uint32_t *out, size_t n_steps)
{
    spec_lanes_avx2 v;
    spec_lanes_load_avx2(&v, lanes);
    for (size_t s = 0; s < n_steps; s++, out += SPEC_LANES) {
        for (int g = 0; g < 4; g++)
            _mm256_storeu_si256((__m256i *)(out + 8 * g), spec_lanes_step_avx2(&v, g));
    }
    spec_lanes_store_avx2(lanes, &v);
}

#endif
