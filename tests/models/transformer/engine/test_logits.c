/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/logits.h"

#include "base/noise.h"
#include "base/thread_pool.h"
#include "models/row.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { VOCAB = 32000 };

static float logits[2 * VOCAB];
static double row[2][VOCAB], again[VOCAB];

static void fill(float scale)
{
    for (uint64_t i = 0; i < 2 * VOCAB; i++)
        logits[i] = scale * (float)((double)(spec_noise_word(27, i) >> 11) * 0x1p-52 - 1.0);
}

static const spec_vector_kernels *kernels(void)
{
    return spec_vector_kernels_of(spec_cpu_isa());
}

static void expect_softmax(const double *found, const float *x, int vocab, double temperature)
{
    long double sum = 0.0L;
    float largest = x[0];
    for (int i = 0; i < vocab; i++) largest = fmaxf(largest, x[i]);
    for (int i = 0; i < vocab; i++)
        sum += expl(((long double)x[i] - (long double)largest) / (long double)temperature);
    for (int i = 0; i < vocab; i++) {
        const long double exponent =
            ((long double)x[i] - (long double)largest) / (long double)temperature;
        const long double truth = expl(exponent) / sum;
        /* The engine rounds its exponent twice: 1 / temperature, and the product. */
        if (exponent < -707.0L) assert_true(found[i] < 1e-300);
        else
            assert_true(fabsl((long double)found[i] - truth) <=
                        (2e-15L - exponent * 2.3e-16L) * truth);
    }
    assert_true(fabs(spec_row_sum(found, vocab) - 1.0) < 1e-15);
}

TEST(rows_are_the_softmax_at_every_temperature)
{
    static const double temperatures[] = {1.0,          0.27, 2.385, 1e-3,    1e-300,
                                          DBL_TRUE_MIN, 1e3,  1e300, INFINITY};
    static const int vocabs[] = {1, 2, 511, 512, 513, 4097, 32000};
    double *const rows[] = {row[0], row[1]};
    for (size_t v = 0; v < sizeof vocabs / sizeof vocabs[0]; v++)
        for (size_t t = 0; t < sizeof temperatures / sizeof temperatures[0]; t++) {
            fill(30.0f);
            assert_works(spec_logits_rows(rows, logits, temperatures[t], 2, vocabs[v], kernels(),
                                          NULL, &error));
            for (int i = 0; i < 2; i++)
                expect_softmax(row[i], logits + i * vocabs[v], vocabs[v],
                               fmax(temperatures[t], 1.0 / DBL_MAX));
        }
    logits[0] = FLT_MAX;
    logits[1] = -FLT_MAX;
    assert_works(spec_logits_rows(rows, logits, 1.0, 1, 3, kernels(), NULL, &error));
    assert_true(row[0][0] == 1.0 && row[0][1] == 0.0 && row[0][2] == 0.0);
}

TEST(rows_do_not_depend_on_threads_or_instructions)
{
    double *const rows[] = {row[0], row[1]}, *const others[] = {again};
    fill(12.0f);
    assert_works(spec_logits_rows(rows, logits, 0.7, 2, VOCAB, kernels(), NULL, &error));
    spec_thread_pool *locked = spec_thread_pool_try_lock(spec_test_pool(3));
    assert_non_null(locked);
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
        assert_works(spec_logits_rows(others, logits + VOCAB, 0.7, 1, VOCAB,
                                      spec_vector_kernels_of(isa), locked, &error));
        assert_memory_equal(row[1], again, sizeof again);
    }
    spec_thread_pool_unlock(locked);
}

TEST(the_largest_is_the_lowest_among_ties)
{
    int token[2];
    fill(12.0f);
    logits[2385] = logits[27] = logits[31999] = 12.5f;
    logits[VOCAB + 31998] = logits[VOCAB + 31999] = 12.5f;
    assert_works(spec_logits_argmax(token, logits, 2, VOCAB, kernels(), &error));
    assert_int_equal(token[0], 27);
    assert_int_equal(token[1], 31998);
}

TEST(non_finite_weights_are_refused_in_one_line)
{
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    double *const rows[] = {row[0], row[1]};
    for (int k = 0; k < 3; k++) {
        int token[2];
        fill(12.0f);
        logits[VOCAB + 17] = broken[k];
        assert_fails_with(spec_logits_rows(rows, logits, 1.0, 2, VOCAB, kernels(), NULL, &error),
                          GSL_EDOM, "not finite");
        assert_status(spec_logits_argmax(token, logits, 2, VOCAB, kernels(), &error), GSL_EDOM);
    }
}
