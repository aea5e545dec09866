#include "sim/verify/float_rows_kernels.h"

#if defined(__AVX2__)

#include <immintrin.h>

enum { BLOCK = SPEC_FLOAT_BLOCK };

/* Lanes 0..3 and 4..7 to one number: 4 apart, 2 apart, 1 apart. */
static inline double add_lanes(__m256d low, __m256d high)
{
    const __m256d four = _mm256_add_pd(low, high);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

static inline __m256d load(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static size_t row_avx2(double *sum, const float *row, size_t N, double limit)
{
    double before = *sum;
    size_t b = 0;
    for (; b < N; b++, row += BLOCK) {
        __m256d low = load(row), high = load(row + 4);
        for (int i = 8; i < BLOCK; i += 8) {
            low = _mm256_add_pd(low, load(row + i));
            high = _mm256_add_pd(high, load(row + i + 4));
        }
        const double next = before + add_lanes(low, high);
        if (next > limit) break;
        before = next;
    }
    *sum = before;
    return b;
}

static inline __m256d load_residual(const float *target, const float *draft)
{
    return _mm256_max_pd(_mm256_sub_pd(load(target), load(draft)), _mm256_setzero_pd());
}

static size_t residual_avx2(double *sum, const float *target, const float *draft, size_t N, double limit)
{
    double before = *sum;
    size_t b = 0;
    for (; b < N; b++, target += BLOCK, draft += BLOCK) {
        __m256d low = load_residual(target, draft), high = load_residual(target + 4, draft + 4);
        for (int i = 8; i < BLOCK; i += 8) {
            low = _mm256_add_pd(low, load_residual(target + i, draft + i));
            high = _mm256_add_pd(high, load_residual(target + i + 4, draft + i + 4));
        }
        const double next = before + add_lanes(low, high);
        if (next > limit) break;
        before = next;
    }
    *sum = before;
    return b;
}

const spec_float_rows_kernels spec_float_rows_kernels_avx2 = {row_avx2, residual_avx2};

#endif
