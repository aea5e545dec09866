/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/residual_loops.h"

#if defined(__AVX2__)
const spec_residual_kernels spec_residual_kernels_avx2 = {
    spec_residual_loop_blocks, spec_residual_loop_split, spec_residual_loop_pair};
#else
typedef int spec_residual_avx2_is_empty; /* ISO C requires a declaration */
#endif
