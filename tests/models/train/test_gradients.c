/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of every operation and loss equal central differences, in double; floats agree with
 * double, and have the same bits for every instruction set and number of threads. */
#include "base/noise.h"
#include "tests/support/double_training.h"
#include "tests/support/support.h"
#include "tests/support/training_case.h"

#include <stdlib.h>
#include <string.h>

/* Short texts, and texts of two blocks of attention. */
static const int short_text = 6, long_text = CASE_PLACES;

typedef struct {
    size_t n;
    double *value, *gradient, loss;
    double_training *training;
} judge;

/* Values of about 1/2, which floats represent exactly. */
static judge judge_of(bool is_head, spec_losses_kind kind, int places, bool pairs_adjacent)
{
    judge j = {.training = double_training_new(is_head, kind, places, pairs_adjacent)};
    assert_non_null(j.training);
    j.n = double_training_numbers(j.training);
    j.value = malloc(j.n * sizeof *j.value);
    j.gradient = malloc(j.n * sizeof *j.gradient);
    assert_true(j.value != NULL && j.gradient != NULL);
    for (size_t i = 0; i < j.n; i++)
        j.value[i] = (double)(float)((double)(spec_noise_word(9, i) >> 40) * 0x1p-24 - 0.5) * 1.5;
    for (size_t i = 0; i < j.n; i++) j.value[i] = (double)(float)j.value[i];
    j.loss = double_training_gradient(j.gradient, j.training, j.value);
    return j;
}

static void judge_free(judge *j)
{
    double_training_free(j->training);
    free(j->value);
    free(j->gradient);
}

static double largest_of(const judge *j)
{
    double largest = 0.0;
    for (size_t i = 0; i < j->n; i++) largest = fmax(largest, fabs(j->gradient[i]));
    return largest;
}

static void compare_with_differences(bool is_head, spec_losses_kind kind, int places, bool adjacent,
                                     size_t step)
{
    const double h = 1e-5;
    OWNED(judge) j = judge_of(is_head, kind, places, adjacent);
    const double scale = 1e-3 * largest_of(&j);
    assert_true(scale > 0.0);
    for (size_t i = 0; i < j.n; i += step) {
        const double at = j.value[i];
        j.value[i] = at + h;
        const double above = double_training_loss(j.training, j.value);
        j.value[i] = at - h;
        const double below = double_training_loss(j.training, j.value);
        j.value[i] = at;
        const double difference = (above - below) / (2.0 * h),
                     error = fabs(difference - j.gradient[i]) / (fabs(difference) + scale);
        if (!(error < 1e-6))
            fail_msg("%s, %s, %d places: number %zu: gradient %.10g, central difference %.10g",
                     is_head ? "head" : "model", spec_losses_names[kind], places, i, j.gradient[i],
                     difference);
    }
}

/* LK keeps its factor fixed, so no finite difference has its gradient;
 * tests/models/train/test_losses.c checks it row by row. */
TEST(gradients_equal_central_differences, SLOW)
{
    for (int is_head = 0; is_head < 2; is_head++) {
        for (int kind = 0; kind < SPEC_LOSSES_LK; kind++)
            compare_with_differences(is_head, (spec_losses_kind)kind, short_text, kind % 2 == 0, 1);
        compare_with_differences(is_head, SPEC_LOSSES_FKL, long_text, true,
                                 (size_t)spec_test_stride(5));
    }
}

static double norm_of_difference(const judge *j, const float *gradient)
{
    double sum = 0.0, of = 0.0;
    for (size_t i = 0; i < j->n; i++) {
        sum += pow((double)gradient[i] - j->gradient[i], 2.0);
        of += pow(j->gradient[i], 2.0);
    }
    return sqrt(sum / of);
}

/* Computes the gradient in floats, and stores it in `first` if it is the first one, or else
 * compares the two. */
static void run_floats(float *first, bool is_first, const judge *j,
                       const training_case_shape *shape, spec_isa isa, spec_thread_pool *pool)
{
    OWNED(training_case) c;
    assert_true(training_case_init(&c, isa, pool, shape));
    assert_int_equal(c.parameters.numbers, j->n);
    for (size_t i = 0; i < j->n; i++) c.parameters.value[i] = (float)j->value[i];
    for (int run = 0; run < 2; run++) { /* nothing is left over from the run before */
        spec_parameters_clear_gradient(&c.parameters);
        spec_graph_forward(&c.graph);
        spec_graph_backward(&c.graph);
        if (is_first && run == 0) {
            memcpy(first, c.parameters.gradient, j->n * sizeof *first);
            const double error = norm_of_difference(j, first);
            if (!(error < 1e-5))
                fail_msg("%s: floats differ from double by %g", spec_losses_names[shape->kind],
                         error);
            assert_true(fabs(training_case_loss(&c) - j->loss) < 1e-5);
        }
        assert_memory_equal(first, c.parameters.gradient, j->n * sizeof *first);
    }
}

TEST(floats_agree_with_double_and_each_other, SLOW)
{
    for (int i = 0; i < 2 * SPEC_LOSSES_KINDS; i++) {
        const training_case_shape shape = {i % 2 != 0, (spec_losses_kind)(i / 2), long_text, true};
        OWNED(judge) j = judge_of(shape.is_head, shape.kind, long_text, true);
        FREED float *first = malloc(j.n * sizeof *first);
        assert_non_null(first);
        for (int isa = 0; isa <= (int)spec_cpu_isa(); isa++)
            for (int threads = 1; threads <= 3; threads++) {
                spec_thread_pool *pool = NULL;
                assert_works(spec_thread_pool_init(&pool, threads, &error));
                run_floats(first, isa == 0 && threads == 1, &j, &shape, (spec_isa)isa, pool);
                spec_thread_pool_free(pool);
            }
    }
}
