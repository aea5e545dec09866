/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/byte_peak.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum { SUMS = 8 /* independent, to cover the latency */, PER_STEP = 2 * 32 };

/* Where the loop starts matters: unaligned, it takes up to 1.9 times as long on Zen 3. */
#define STEP(i)                                                                                    \
    "vpmaddubsw %[x], %[w], %%ymm15\n\t"                                                           \
    "vpmaddwd %[ones], %%ymm15, %%ymm15\n\t"                                                       \
    "vpaddd %%ymm15, %[s" #i "], %[s" #i "]\n\t"
#define SUM(i) [s##i] "+x"(sum[i])

uint64_t byte_peak_avx2(int32_t *ret_sink, uint64_t operations)
{
    const __m256i w = _mm256_set1_epi8((char)(*ret_sink & 1)), x = _mm256_set1_epi8(2),
                  ones = _mm256_set1_epi16(1);
    __m256i sum[SUMS];
    int32_t lane[8];
    const uint64_t loops = operations / (SUMS * PER_STEP) + 1;
    uint64_t left = loops;
    for (int i = 0; i < SUMS; i++) sum[i] = _mm256_set1_epi32(i);
    /* clang-format off */
    __asm__ volatile(
        ".p2align 6\n"
        "1:\n\t"
        STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
        "dec %[left]\n\t"
        "jnz 1b"
        : [left] "+r"(left), SUM(0), SUM(1), SUM(2), SUM(3), SUM(4), SUM(5), SUM(6), SUM(7)
        : [w] "x"(w), [x] "x"(x), [ones] "x"(ones)
        : "cc", "xmm15");
    /* clang-format on */
    for (int i = 1; i < SUMS; i++) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
    _mm256_storeu_si256((__m256i *)(void *)lane, sum[0]);
    *ret_sink = lane[0];
    return loops * SUMS * PER_STEP;
}
#else
uint64_t byte_peak_avx2(int32_t *ret_sink, uint64_t operations)
{
    (void)ret_sink;
    return operations;
}
#endif
