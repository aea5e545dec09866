/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row.h"

#include "base/cpu.h"
#include "base/noise.h"
#include "models/row_kernels.h"
#include "tests/support/support.h"

#include <float.h>
#include <math.h>

static double uniform(uint64_t i)
{
    return ((double)(spec_noise_mix(i * 27 + 1) >> 11) + 0.5) * 0x1p-53;
}

/* Second route: the same sum in long double, for lengths around the block of 128 and the lanes of
 * 8. */
TEST(sums_agree_with_long_double)
{
    static const int lengths[] = {1, 2, 7, 8, 9, 127, 128, 129, 136, 255, 256, 1000, 100000};
    double *a = malloc(100000 * sizeof a[0]), *b = malloc(100000 * sizeof b[0]);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const int n = lengths[k];
        long double sum = 0.0L, overlap = 0.0L;
        for (int i = 0; i < n; i++) {
            a[i] = exp(40.0 * uniform((uint64_t)(i + n)) - 20.0);
            b[i] = exp(40.0 * uniform((uint64_t)(i + n) << 32) - 20.0);
            sum += a[i];
            overlap += fmin(a[i], b[i]);
        }
        assert_true(fabsl(spec_row_sum(a, n) - sum) <= 16 * DBL_EPSILON * sum);
        assert_true(fabsl(spec_row_overlap(a, b, n) - overlap) <= 16 * DBL_EPSILON * overlap);
        spec_row_normalise(a, n);
        assert_true(fabs(spec_row_sum(a, n) - 1.0) <= 4 * DBL_EPSILON);
    }
    free(a);
    free(b);
}

/* A plain sum of a million times 2^-52 beside a 1 would lose every one of them. */
TEST(small_terms_are_not_lost)
{
    const int n = 1 << 20;
    FREED double *a = malloc((size_t)n * sizeof a[0]);
    for (int i = 1; i < n; i++) a[i] = 0x1p-54;
    a[0] = 1.0;
    assert_true(fabs(spec_row_sum(a, n) - (1.0 + (n - 1) * 0x1p-54)) <= 200 * 0x1p-54);
    assert_true(fabs(spec_row_overlap(a, a, n) - (1.0 + (n - 1) * 0x1p-54)) <= 200 * 0x1p-54);
    a[0] = 0x1p-54;
    a[n - 1] = 1.0;
    assert_true(fabs(spec_row_sum(a, n) - (1.0 + (n - 1) * 0x1p-54)) <= 200 * 0x1p-54);
}

TEST(extremes_are_the_lowest_among_ties)
{
    const double row[] = {0.2, 0.3, 0.1, 0.3, 0.1};
    assert_int_equal(spec_row_argmax(row, 5), 1);
    assert_int_equal(spec_row_argmin(row, 5), 2);
    assert_int_equal(spec_row_argmax(row, 1), 0);
    assert_int_equal(spec_row_argmin(row + 1, 2), 1);
    assert_int_equal(spec_row_argmax(row, 2), 1);
    assert_int_equal(spec_row_argmin(row + 4, 1), 0);
}

TEST(the_largest_come_in_order_and_the_lowest_first_among_ties)
{
    const double row[] = {0.2, 0.3, 0.1, 0.3, 0.1};
    const int order[] = {1, 3, 0, 2, 4};
    for (int n = 1; n <= 5; n++)
        for (int k = 0; k <= 6; k++) {
            int index[7] = {-1, -1, -1, -1, -1, -1, -1}, expected = 0;
            assert_int_equal(spec_row_largest(index, k, row, n), k < n ? k : n);
            for (int i = 0; i < 5 && expected < k;
                 i++) /* the largest of the first n entries, in the order of all */
                if (order[i] < n) assert_int_equal(index[expected++], order[i]);
            assert_int_equal(index[k < n ? k : n], -1);
        }
}

TEST(the_largest_of_a_long_row_is_the_lowest_among_ties)
{
    double value[700];
    uint64_t key = 27;
    for (int c = 0; c < 2000; c++) {
        const int n = 1 + (int)((key = spec_noise_mix(key)) % 700), levels = 1 + c % 40;
        int best = 0;
        for (int i = 0; i < n; i++) {
            value[i] = (double)((key = spec_noise_mix(key)) % (uint64_t)levels);
            if (value[i] > value[best]) best = i;
        }
        assert_int_equal(spec_row_argmax(value, n), best);
    }
}

TEST(every_instruction_set_finds_the_same_values_above_a_bound)
{
    static const struct {
        spec_isa isa;
        spec_row_above_kernel *above;
    } kernels[] = {
        {SPEC_ISA_PORTABLE, spec_row_above_ref},
#if defined(__x86_64__)
        {SPEC_ISA_AVX2, spec_row_above_avx2},
        {SPEC_ISA_AVX512, spec_row_above_avx512},
#elif defined(__aarch64__)
        {SPEC_ISA_NEON, spec_row_above_neon},
#endif
    };
    enum { N = 203 };
    double value[N + 1];
    int index[N + 1];
    uint64_t key = 27;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        if (spec_cpu_best_isa() < kernels[k].isa) {
            print_message("skipped: this machine has no %s\n", spec_cpu_isa_name(kernels[k].isa));
            continue;
        }
        for (int n = 0; n <= N; n++)
            for (int levels = 1; levels < 60; levels += 7) {
                const double least = (double)(levels / 2);
                for (int i = 0; i < n; i++)
                    value[i] = (double)((key = spec_noise_mix(key)) % (uint64_t)levels);
                index[n] = -7;
                const int found = kernels[k].above(index, value, n, least);
                assert_int_equal(index[n], -7); /* no index past the end */
                for (int i = 0, at = 0; i < n; i++) {
                    if (value[i] >= least) assert_int_equal(index[at++], i);
                    if (i == n - 1) assert_int_equal(found, at);
                }
            }
    }
}
