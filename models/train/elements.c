/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/elements.h"

/* Every arm64 processor has NEON, so the compiler uses it without a separate file. */
const spec_elements *spec_elements_of(spec_isa isa)
{
#if defined(__x86_64__)
    if (isa >= SPEC_ISA_AVX512) return &spec_elements_avx512;
    if (isa == SPEC_ISA_AVX2) return &spec_elements_avx2;
#endif
    (void)isa;
    return &spec_elements_ref;
}
