/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/peak.h"

#include "base/cpu.h"

#include <stddef.h>

#if defined(__x86_64__)
enum { SUMS = 12 /* independent, to cover the latency */ };

/* Runs a loop that adds products of two registers of zeros to each sum. Where it begins matters:
 * unaligned, it takes up to 1.9 times as long on Zen 3. */
#define LOOP(operations, a_step, STEP)                                                             \
    do {                                                                                           \
        loops = (operations) / (SUMS * (a_step)) + 1;                                              \
        done = loops * SUMS * (a_step);                                                            \
        __asm__ volatile("vzeroall\n\t"                                                            \
                         ".p2align 6\n"                                                            \
                         "1:\n\t" STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)  \
                             STEP(8) STEP(9) STEP(10) STEP(11) "dec %[loops]\n\t"                  \
                                                               "jnz 1b\n\t"                        \
                                                               "vzeroupper"                        \
                         : [loops] "+r"(loops)                                                     \
                         :                                                                         \
                         : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",   \
                           "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");  \
    } while (0)

#define BYTES_VNNI(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define BYTES_AVX2(i)                                                                              \
    "vpmaddubsw %%ymm12, %%ymm13, %%ymm15\n\t"                                                     \
    "vpmaddwd %%ymm14, %%ymm15, %%ymm15\n\t"                                                       \
    "vpaddd %%ymm15, %%ymm" #i ", %%ymm" #i "\n\t"
#define FLOATS_AVX512(i) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define FLOATS_AVX2(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n\t"

const char *peak_missing(void)
{
    return spec_cpu_isa() >= SPEC_ISA_AVX2 ? NULL : "no AVX2";
}

uint64_t peak_bytes(uint64_t operations)
{
    uint64_t loops, done;
    if (spec_cpu_isa() >= SPEC_ISA_VNNI)
        LOOP(operations, 2 * 64, BYTES_VNNI);
    else
        LOOP(operations, 2 * 32, BYTES_AVX2);
    return done;
}

uint64_t peak_floats(uint64_t operations)
{
    uint64_t loops, done;
    if (spec_cpu_isa() >= SPEC_ISA_AVX512)
        LOOP(operations, 2 * 16, FLOATS_AVX512);
    else
        LOOP(operations, 2 * 8, FLOATS_AVX2);
    return done;
}
#else
const char *peak_missing(void)
{
    return "neither AVX2 nor VNNI";
}

uint64_t peak_bytes(uint64_t operations)
{
    return operations;
}

uint64_t peak_floats(uint64_t operations)
{
    return operations;
}
#endif
