/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
static const char *const isa_name[] = {
    [SPEC_ISA_PORTABLE] = "portable", [SPEC_ISA_AVX2] = "avx2", [SPEC_ISA_AVX512] = "avx512",
    [SPEC_ISA_VNNI] = "vnni"};
static const char sets[] = "instruction sets are portable, avx2, avx512 and vnni";
#elif defined(__aarch64__)
#include <sys/auxv.h>
static const char *const isa_name[] = {
    [SPEC_ISA_PORTABLE] = "portable", [SPEC_ISA_NEON] = "neon", [SPEC_ISA_DOTPROD] = "dotprod"};
static const char sets[] = "instruction sets are portable, neon and dotprod";
#else
static const char *const isa_name[] = {[SPEC_ISA_PORTABLE] = "portable"};
static const char sets[] = "the only instruction set is portable";
#endif

static atomic_int limit = SPEC_ISA_END - 1;

spec_isa spec_cpu_isa(void)
{
    const spec_isa best = spec_cpu_best_isa();
    const spec_isa most = (spec_isa)atomic_load_explicit(&limit, memory_order_relaxed);
    return best < most ? best : most;
}

int spec_cpu_limit(const char *opt_name, spec_error *error)
{
    int most = SPEC_ISA_END - 1;
    while (opt_name != NULL && strcmp(opt_name, isa_name[most]) != 0)
        if (most-- == SPEC_ISA_PORTABLE)
            return spec_fail(error, GSL_EINVAL, "%.60s: %s", opt_name, sets);
    atomic_store(&limit, most);
    return GSL_SUCCESS;
}

spec_isa spec_cpu_best_isa(void)
{
#if defined(__x86_64__)
    /* The builtins also check that the operating system saves the wide registers. We need F16C too.
     * Not every compiler can test for it, but every processor with FMA has it. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        return __builtin_cpu_supports("avx512vnni") ? SPEC_ISA_VNNI : SPEC_ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SPEC_ISA_AVX2;
    return SPEC_ISA_PORTABLE;
#elif defined(__aarch64__)
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? SPEC_ISA_DOTPROD : SPEC_ISA_NEON;
#else
    return SPEC_ISA_PORTABLE;
#endif
}

const char *spec_cpu_isa_name(spec_isa isa)
{
    return isa_name[isa];
}
