/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/vector.h"

const spec_vector_kernels *spec_vector_kernels_of(spec_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI:
    case SPEC_ISA_AVX512: return &spec_vector_kernels_avx512;
    case SPEC_ISA_AVX2: return &spec_vector_kernels_avx2;
#elif defined(__aarch64__)
    case SPEC_ISA_DOTPROD:
    case SPEC_ISA_NEON: return &spec_vector_kernels_neon;
#endif
    default: return &spec_vector_kernels_ref;
    }
}
