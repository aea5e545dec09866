#include "sim/verify/float_rows_kernels.h"

#if defined(__AVX512F__)

#include <immintrin.h>

enum { BLOCK = SPEC_FLOAT_BLOCK };

/* Eight lanes to one number: 4 apart, 2 apart, 1 apart. */
static inline double add_lanes(__m512d lane)
{
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(lane), _mm512_extractf64x4_pd(lane, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

static inline __m512d load(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

static size_t row_avx512(double *sum, const float *row, size_t N, double limit)
{
    double before = *sum;
    size_t b = 0;
    for (; b < N; b++, row += BLOCK) {
        __m512d lane = load(row);
        for (int i = 8; i < BLOCK; i += 8) lane = _mm512_add_pd(lane, load(row + i));
        const double next = before + add_lanes(lane);
        if (next > limit) break;
        before = next;
    }
    *sum = before;
    return b;
}

static inline __m512d load_residual(const float *target, const float *draft)
{
    return _mm512_max_pd(_mm512_sub_pd(load(target), load(draft)), _mm512_setzero_pd());
}

static size_t residual_avx512(double *sum, const float *target, const float *draft, size_t N, double limit)
{
    double before = *sum;
    size_t b = 0;
    for (; b < N; b++, target += BLOCK, draft += BLOCK) {
        __m512d lane = load_residual(target, draft);
        for (int i = 8; i < BLOCK; i += 8) lane = _mm512_add_pd(lane, load_residual(target + i, draft + i));
        const double next = before + add_lanes(lane);
        if (next > limit) break;
        before = next;
    }
    *sum = before;
    return b;
}

const spec_float_rows_kernels spec_float_rows_kernels_avx512 = {row_avx512, residual_avx512};

#endif
