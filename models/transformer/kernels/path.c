/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/path.h"

const spec_path_kernels *spec_path_kernels_of(spec_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI:
    case SPEC_ISA_AVX512: return &spec_path_kernels_avx512;
    case SPEC_ISA_AVX2: return &spec_path_kernels_avx2;
#endif
    default: return &spec_path_kernels_ref;
    }
}
