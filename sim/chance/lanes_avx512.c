/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/lanes_step.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)

void spec_lanes_fill_avx512(spec_lanes *lanes, uint32_t *out, size_t n_steps)
{
    spec_lanes_avx512 v;
    spec_lanes_load_avx512(&v, lanes);
    for (size_t s = 0; s < n_steps; s++, out += SPEC_LANES) {
        _mm512_storeu_si512(out, spec_lanes_step_avx512(&v, 0));
        _mm512_storeu_si512(out + 16, spec_lanes_step_avx512(&v, 1));
    }
    spec_lanes_store_avx512(lanes, &v);
}

#endif
