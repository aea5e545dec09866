/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/byte_peak.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { SUMS = 16 /* independent, to cover the latency */, PER_INSTRUCTION = 2 * 64 };

uint64_t byte_peak_vnni(int32_t *ret_sink, uint64_t operations)
{
    const __m512i w = _mm512_set1_epi8((char)(*ret_sink & 1)), x = _mm512_set1_epi8(2);
    __m512i sum[SUMS];
    UNROLL for (int i = 0; i < SUMS; i++) sum[i] = _mm512_set1_epi32(i);
    uint64_t done = 0;
    for (; done < operations; done += SUMS * PER_INSTRUCTION) {
        UNROLL for (int i = 0; i < SUMS; i++) sum[i] = _mm512_dpbusd_epi32(sum[i], w, x);
        __asm__ volatile("" : "+v"(sum[0])); /* the loop must not become a product */
    }
    UNROLL for (int i = 1; i < SUMS; i++) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
    *ret_sink = _mm512_reduce_add_epi32(sum[0]);
    return done;
}
#else
uint64_t byte_peak_vnni(int32_t *ret_sink, uint64_t operations)
{
    (void)ret_sink;
    return operations;
}
#endif
