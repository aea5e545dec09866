/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/minimax_length.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>

enum { LENGTHS = 41, ALPHAS = 41 };

static void fill_speeds(double *speed, const double *time, double low, double high, int scenarios)
{
    for (int s = 0; s < scenarios; s++) {
        const double alpha = low + (high - low) * s / (scenarios - 1);
        for (int K = 0; K < LENGTHS; K++)
            speed[s * LENGTHS + K] = spec_capped_geometric_mean(alpha, K) / time[K];
    }
}

/* At a cost of .1 per draft token and alpha from .3 to .95, K = 5 loses at most 21 %, and the best
 * length for the middle alpha loses up to 36 %. */
TEST(the_minimax_length_of_a_wide_interval_is_known)
{
    double time[LENGTHS], speed[2 * LENGTHS], loss[LENGTHS], middle[LENGTHS], ignored[LENGTHS];
    const struct {
        double low, high;
        int K;
        const char *loss;
    } known[] = {{0.3, 0.95, 5, "21.1"}, {0.6, 0.9, 5, "9.0"}, {0.7, 0.8, 5, "1.0"}};
    for (int K = 0; K < LENGTHS; K++) time[K] = 1.0 + 0.1 * K;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        fill_speeds(speed, time, known[i].low, known[i].high, 2);
        assert_int_equal(spec_minimax_length(loss, speed, 2, LENGTHS), known[i].K);
        assert_prints(100.0 * loss[known[i].K], 1, known[i].loss);
    }
    for (int K = 0; K < LENGTHS; K++) middle[K] = spec_capped_geometric_mean(0.625, K) / time[K];
    fill_speeds(speed, time, 0.3, 0.95, 2);
    spec_minimax_length(loss, speed, 2, LENGTHS);
    const int best = spec_minimax_length(ignored, middle, 1, LENGTHS);
    assert_prints(100.0 * loss[best], 0, "36");
}

/* With any times, no alpha between the ends has a larger loss. */
TEST(the_largest_loss_is_at_an_end_of_the_interval)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    double time[LENGTHS], all[ALPHAS * LENGTHS], ends[2 * LENGTHS], most[LENGTHS], loss[LENGTHS];
    for (int trial = 0; trial < 200; trial++) {
        const double a = gsl_rng_uniform(rng), b = gsl_rng_uniform(rng);
        for (int K = 0; K < LENGTHS; K++) time[K] = 0.5 + gsl_rng_uniform(rng);
        fill_speeds(all, time, fmin(a, b), fmax(a, b), ALPHAS);
        fill_speeds(ends, time, fmin(a, b), fmax(a, b), 2);
        const int of_all = spec_minimax_length(most, all, ALPHAS, LENGTHS);
        assert_int_equal(spec_minimax_length(loss, ends, 2, LENGTHS), of_all);
        for (int K = 0; K < LENGTHS; K++) assert_near(loss[K], most[K], 1e-12);
    }
}

TEST(no_length_is_named_without_speeds)
{
    const double speed[] = {1.0, 0.0}, fine[] = {1.0, 2.0, 3.0, 1.0};
    double loss[2];
    assert_int_equal(spec_minimax_length(loss, speed, 1, 2), -1);
    assert_nan(loss[0]);
    assert_int_equal(spec_minimax_length(loss, fine, 0, 2), -1);
    assert_int_equal(spec_minimax_length(loss, fine, 2, 0), -1);
    assert_int_equal(spec_minimax_length(loss, fine, 2, 2), 0);
    assert_near(loss[0], 0.5, 1e-15);
    assert_near(loss[1], 2.0 / 3.0, 1e-15);
}
