/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tools/live/equal_texts.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>

enum { V = 9 };

static void draw_row(double *row, gsl_rng *rng)
{
    double sum = 0.0;
    for (int i = 0; i < V; i++) sum += row[i] = -log(1.0 - gsl_rng_uniform(rng));
    for (int i = 0; i < V; i++) row[i] /= sum;
}

/* Makes another row by moving some of the mass; returns the total variation. */
static double move_mass(double *ret, const double *row, gsl_rng *rng)
{
    double other[V], variation = 0.0;
    const double share = pow(10.0, -3.0 * gsl_rng_uniform(rng));
    draw_row(other, rng);
    for (int i = 0; i < V; i++) {
        ret[i] = (1.0 - share) * row[i] + share * other[i];
        variation += 0.5 * fabs(ret[i] - row[i]);
    }
    return variation;
}

static int pick(const double *row, double u)
{
    int i = 0;
    while (i < V - 1 && (u -= row[i]) > 0.0) i++;
    return i;
}

TEST(the_first_difference_is_found_or_where_one_text_ends)
{
    int32_t a[] = {5, 6, 7}, b[] = {5, 6, 8};
    assert_int_equal(spec_equal_texts_first(&(spec_live_tokens){a, 3}, &(spec_live_tokens){a, 3}),
                     -1);
    assert_int_equal(spec_equal_texts_first(&(spec_live_tokens){a, 3}, &(spec_live_tokens){b, 3}),
                     2);
    assert_int_equal(spec_equal_texts_first(&(spec_live_tokens){a, 2}, &(spec_live_tokens){b, 3}),
                     2);
    assert_int_equal(spec_equal_texts_first(&(spec_live_tokens){a, 0}, &(spec_live_tokens){b, 0}),
                     -1);
}

/* Checks all coins at once: between two neighbouring ends of cells of either row, both picks are
 * constant. There are two claims: the mass between the tokens that one coin picks is at most the
 * total variation, and picks differ with at least that probability. */
TEST(what_two_rows_do_with_one_coin_is_bounded_by_their_total_variation)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    double largest = 0.0, least = INFINITY;
    for (int t = 0; t < 2000; t++) {
        double row[V], other[V], end[2 * V + 1] = {0.0};
        spec_live_place place = {.n = V};
        draw_row(row, rng);
        const double variation = move_mass(other, row, rng);
        double sum[2] = {0.0, 0.0}, differ = 0.0;
        for (int i = 0; i < V; i++) {
            place.top[i] = (spec_live_candidate){i, log(row[i])};
            end[2 * i + 1] = sum[0] += row[i];
            end[2 * i + 2] = sum[1] += other[i];
        }
        for (int i = 1; i <= 2 * V; i++) /* sorts the ends */
            for (int k = i; k > 0 && end[k - 1] > end[k]; k--) {
                const double swap = end[k];
                end[k] = end[k - 1];
                end[k - 1] = swap;
            }
        for (int i = 0; i < 2 * V; i++) {
            const double width = end[i + 1] - end[i], u = 0.5 * (end[i] + end[i + 1]);
            const int a = pick(row, u), b = pick(other, u);
            if (width < 1e-12 || a == b) continue;
            const double between = spec_equal_texts_between(&place, a, b);
            assert_true(between <= variation + 1e-12);
            assert_same(between, spec_equal_texts_between(&place, b, a));
            largest = fmax(largest, between / variation);
            differ += width;
        }
        assert_true(differ >= variation - 1e-12);
        least = fmin(least, differ / variation);
    }
    assert_true(largest > 0.5 && least < 1.5); /* neither bound is vacuous */
}

TEST(unlisted_tokens_are_not_counted_between_two)
{
    const spec_live_place place = {.n = 3, .top = {{7, log(0.5)}, {3, log(0.25)}, {9, log(0.125)}}};
    assert_within(spec_equal_texts_between(&place, 2, 8), 0.75, 1e-12);
    assert_within(spec_equal_texts_between(&place, 9, 3), 0.5, 1e-12);
    assert_same(spec_equal_texts_between(&place, 3, 7), 0.0);
}

/* The Poisson law of N is the limit of many positions; Chernoff's bound may not promise more. */
TEST(what_would_have_shown_shows_with_the_stated_power)
{
    assert_within(spec_equal_texts_detectable(1000.0, 0, 0.9), log(10.0) / 1000.0, 1e-12);
    for (int t = 0; t < 300; t = 2 * t + 1) {
        const double m = 1e4 * spec_equal_texts_detectable(1e4, t, 0.9),
                     missed = gsl_cdf_poisson_P((unsigned)t, m);
        assert_true(missed <= 0.1 + 1e-12);
        assert_true(missed >= (t == 0 ? 0.1 - 1e-9 : 0.01));
        assert_true(m <= 0.5 * gsl_cdf_chisq_Pinv(0.99, 2.0 * (t + 1)));
        assert_true(isnan(spec_equal_texts_detectable(floor(m), t, 0.9)));
        assert_true(spec_equal_texts_detectable(ceil(m), t, 0.9) <= 1.0);
    }
}

/* A server moves the probability v from a token to its neighbour, so that picks differ with
 * probability exactly v. In at least 0.9 of all runs, what is reported as too small to show must be
 * at least v. */
TEST(what_is_reported_covers_the_truth_with_the_stated_power, STATISTICS)
{
    static const double moved[] = {0.0003, 0.0012, 0.004, 0.02};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const int runs = 500;
    int least = runs;
    for (int s = 0; s < 4; s++) {
        int covered = 0;
        for (int r = 0; r < runs; r++) {
            int compared = 0, different = 0;
            for (int text = 0; text < 40; text++)
                for (int i = 0; i < 50; i++) {
                    double row[V], other[V];
                    draw_row(row, rng);
                    int from = 0;
                    while (from < V - 2 && row[from] < moved[s]) from++;
                    memcpy(other, row, sizeof row);
                    other[from] -= moved[s];
                    other[from + 1] += moved[s];
                    const double u = gsl_rng_uniform(rng);
                    compared++;
                    if (pick(row, u) == pick(other, u)) continue;
                    different++;
                    break;
                }
            covered += moved[s] <= spec_equal_texts_detectable(compared, different, 0.9);
        }
        assert_true(gsl_cdf_binomial_P((unsigned)covered, 0.9, (unsigned)runs) > SPEC_TEST_P);
        if (covered < least) least = covered;
    }
    assert_true(least < 0.97 * runs); /* the bound is not vacuous */
}
