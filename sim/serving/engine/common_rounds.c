/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/common_rounds.h"

#include "sim/serving/engine/common_rounds_loop.h"

spec_common_rounds_sums spec_common_rounds_portable(const spec_common_rounds *rounds)
{
    return spec_common_rounds_loop(rounds);
}

spec_common_rounds_kernel *spec_common_rounds_kernel_of(spec_isa isa)
{
#if defined(__x86_64__)
    if (isa >= SPEC_ISA_AVX512) return spec_common_rounds_avx512;
    if (isa >= SPEC_ISA_AVX2) return spec_common_rounds_avx2;
#else
    (void)isa; /* all arm64 processors have the vectors that the portable loop uses */
#endif
    return spec_common_rounds_portable;
}
