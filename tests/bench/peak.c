/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/peak.h"

#include "base/cpu.h"

#include <stddef.h>

#if defined(__x86_64__)
enum { SUMS = 12 /* independent, to cover the latency */ };

/* Defines a function whose loop adds products of two registers of zeros to each sum. Where the loop
 * begins matters: unaligned, it takes up to 1.9 times as long on Zen 3. */
#define PEAK(name, a_step, STEP)                                                                   \
    static uint64_t name(uint64_t operations)                                                      \
    {                                                                                              \
        const uint64_t n = operations / (SUMS * (a_step)) + 1;                                     \
        uint64_t left = n;                                                                         \
        __asm__ volatile("vzeroall\n\t"                                                            \
                         ".p2align 6\n"                                                            \
                         "1:\n\t" STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)  \
                             STEP(8) STEP(9) STEP(10)                                              \
                                 STEP(11) "dec %[left]\n\tjnz 1b\n\tvzeroupper"                    \
                         : [left] "+r"(left)                                                       \
                         :                                                                         \
                         : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",   \
                           "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");  \
        return n * SUMS * (a_step);                                                                \
    }

#define BYTES_VNNI(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define BYTES_AVX2(i)                                                                              \
    "vpmaddubsw %%ymm12, %%ymm13, %%ymm15\n\t"                                                     \
    "vpmaddwd %%ymm14, %%ymm15, %%ymm15\n\t"                                                       \
    "vpaddd %%ymm15, %%ymm" #i ", %%ymm" #i "\n\t"
#define FLOATS_AVX512(i) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define FLOATS_AVX2(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n\t"

PEAK(bytes_vnni, 2 * 64, BYTES_VNNI)
PEAK(bytes_avx2, 2 * 32, BYTES_AVX2)
PEAK(floats_avx512, 2 * 16, FLOATS_AVX512)
PEAK(floats_avx2, 2 * 8, FLOATS_AVX2)

const char *peak_open(void **ret_state, const void *setup)
{
    (void)ret_state, (void)setup;
    return spec_cpu_isa() >= SPEC_ISA_AVX2 ? NULL : "no AVX2";
}

uint64_t peak_bytes(uint64_t operations)
{
    return spec_cpu_isa() >= SPEC_ISA_VNNI ? bytes_vnni(operations) : bytes_avx2(operations);
}

uint64_t peak_floats(uint64_t operations)
{
    return spec_cpu_isa() >= SPEC_ISA_AVX512 ? floats_avx512(operations) : floats_avx2(operations);
}
#else
const char *peak_open(void **ret_state, const void *setup)
{
    (void)ret_state, (void)setup;
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

void peak_close(void *state)
{
    (void)state;
}
