/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"

#include <stdatomic.h>
#include <string.h>

static const char *const isa_name[] = {
    [SPEC_ISA_PORTABLE] = "portable", [SPEC_ISA_AVX2] = "avx2", [SPEC_ISA_AVX512] = "avx512",
    [SPEC_ISA_VNNI] = "vnni"};

static atomic_int limit = SPEC_ISA_VNNI;

spec_isa spec_cpu_isa(void)
{
    const spec_isa best = spec_cpu_best_isa();
    const spec_isa most = (spec_isa)atomic_load_explicit(&limit, memory_order_relaxed);
    return best < most ? best : most;
}

int spec_cpu_limit(const char *opt_name, spec_error *error)
{
    spec_isa most = SPEC_ISA_VNNI;
    while (opt_name != NULL && strcmp(opt_name, isa_name[most]) != 0)
        if (most-- == SPEC_ISA_PORTABLE)
            return spec_fail(error, GSL_EINVAL,
                             "%.60s: instruction sets are portable, avx2, avx512 and vnni",
                             opt_name);
    atomic_store(&limit, (int)most);
    return GSL_SUCCESS;
}

spec_isa spec_cpu_best_isa(void)
{
#if defined(__x86_64__)
    /* The builtins also check that the operating system saves the wide registers. FMA never comes
     * without F16C, which not every compiler can test. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        return __builtin_cpu_supports("avx512vnni") ? SPEC_ISA_VNNI : SPEC_ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SPEC_ISA_AVX2;
#endif
    return SPEC_ISA_PORTABLE;
}

const char *spec_cpu_isa_name(spec_isa isa)
{
    return isa_name[isa];
}
