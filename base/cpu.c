#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static const char *const isa_name[] = {
    [SPEC_ISA_PORTABLE] = "portable", [SPEC_ISA_AVX2] = "avx2", [SPEC_ISA_AVX512] = "avx512",
    [SPEC_ISA_VNNI] = "vnni"};

spec_isa spec_cpu_isa(void)
{
    const spec_isa best = spec_cpu_best_isa();
    const char *wanted = getenv("SPECLAB_ISA");
    if (wanted == NULL) return best;
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa < best; isa++) {
        if (strcmp(wanted, isa_name[isa]) == 0) return isa;
    }
    return best;
}

spec_isa spec_cpu_best_isa(void)
{
#if defined(__x86_64__)
    /* The builtins also ask whether the operating system saves the wide registers. FMA never comes without F16C, for
     * which not every compiler lets us ask. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw")) {
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
