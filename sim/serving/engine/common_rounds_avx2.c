/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/common_rounds_loop.h"

#if defined(__AVX2__)
spec_common_rounds_sums spec_common_rounds_avx2(const spec_common_rounds *rounds)
{
    return spec_common_rounds_loop(rounds);
}
#endif
