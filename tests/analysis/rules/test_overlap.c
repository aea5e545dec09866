/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the acceptance and the distance of two rows against integer arithmetic, expansions and
 * known answers. */
#include "analysis/rules/overlap.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <float.h>
#include <math.h>

static const double target[3] = {0.5, 0.3, 0.2}, draft[3] = {0.2, 0.5, 0.3};

TEST(known_rows_give_known_distances)
{
    assert_within(spec_overlap(target, draft, 3), 0.7, 1e-16);
    assert_within(spec_overlap_match_probability(target, draft, 3), 0.31, 1e-16);
    assert_within(spec_overlap_total_variation(target, draft, 3), 0.3, 1e-16);
    /* python3: .5*log(2.5)+.3*log(.6)+.2*log(2/3), and the entropy; the reversed divergence. */
    assert_within(spec_overlap_kl_divergence(target, draft, 3), 0.22380465718564746, 1e-15);
    assert_within(spec_overlap_kl_divergence(draft, target, 3), 0.19379419794061364, 1e-15);
    assert_within(spec_overlap_entropy(target, 3), 1.0296530140645737, 1e-15);
}

/* The strength of a watermark by its definition, over all pairs of a draft and a correction, is the
 * target's entropy without that of the coin. */
TEST(coins_take_their_entropy_from_a_watermark)
{
    static const double rows[][4] = {{0.5, 0.3, 0.2, 0.0},
                                     {0.2, 0.5, 0.3, 0.0},
                                     {0.1, 0.2, 0.3, 0.4},
                                     {0.0, 0.05, 0.15, 0.8},
                                     {0.97, 0.01, 0.01, 0.01}};
    enum { ROWS = sizeof rows / sizeof *rows };
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            const double *t = rows[i], *d = rows[j], tv = spec_overlap_total_variation(t, d, 4);
            double strength = 0.0;
            for (int x = 0; x < 4; x++) {
                const double a = d[x] > 0.0 ? fmin(1.0, t[x] / d[x]) : 0.0;
                if (d[x] == 0.0) continue;
                if (a > 0.0) strength += d[x] * a * log(a / t[x]);
                for (int c = 0; c < 4 && a < 1.0; c++)
                    if (t[c] > d[c])
                        strength += d[x] * (t[c] - d[c]) / tv * (1.0 - a) * log((1.0 - a) / t[c]);
            }
            assert_within(spec_overlap_entropy(t, 4) - spec_overlap_coin_entropy(t, d, 4), strength,
                          1e-14);
        }
    assert_within(spec_overlap_coin_entropy(rows[0], rows[1], 4),
                  0.5 * (-0.6 * log(0.6) - 0.4 * log(0.4)) +
                      0.3 * (-log(2.0 / 3.0) * 2.0 / 3.0 - log(1.0 / 3.0) / 3.0),
                  1e-15);
    assert_nan(spec_overlap_coin_entropy((double[]){NAN, 1.0}, rows[0], 2));
}

TEST(empty_rows_give_zero)
{
    assert_true(spec_overlap(target, draft, 0) == 0 &&
                spec_overlap_match_probability(target, draft, 0) == 0);
    assert_true(spec_overlap_total_variation(target, draft, 0) == 0);
    assert_true(spec_overlap_kl_divergence(target, draft, 0) == 0 &&
                spec_overlap_entropy(target, 0) == 0);
}

/* 17 terms of 2^-58 beside 1/2 add more than half a unit in its last place, and 16 add a tie that
 * rounds to 1/2, so one lost term shows. The half comes second, so that both orders of size
 * occur. */
TEST(no_grain_is_lost_beside_a_large_term)
{
    double row[18];
    for (int i = 0; i < 18; i++) row[i] = i == 1 ? 0.5 : ldexp(1, -58);
    assert_true(spec_overlap(row, row, 18) == 0.5 + ldexp(1, -53));
    double zero[18] = {0};
    assert_true(spec_overlap_total_variation(row, zero, 18) == (0.5 + ldexp(1, -53)) / 2);
}

TEST(long_rows_are_exact)
{
    enum { V = 128000 };
    static double a[V], b[V];
    uint64_t lcg = spec_test_seed(), least = 0, distance = 0;
    double naive = 0;
    for (int x = 0; x < V;
         x++) { /* probabilities are multiples of 2^-57, so that integers sum them exactly */
        lcg = lcg * 6364136223846793005u + 1442695040888963407u;
        uint64_t i = x == 0 ? (uint64_t)1 << 56 : lcg >> 24;
        lcg = lcg * 6364136223846793005u + 1442695040888963407u;
        uint64_t j = x == V - 1 ? (uint64_t)1 << 55 : lcg >> 24;
        a[x] = ldexp((double)i, -57);
        b[x] = ldexp((double)j, -57);
        least += i < j ? i : j;
        distance += i < j ? j - i : i - j;
        naive += a[x] < b[x] ? a[x] : b[x];
    }
    double exact = ldexp((double)least, -57);
    assert_within(spec_overlap(a, b, V), exact, exact * DBL_EPSILON);
    assert_true(fabs(naive - exact) > 2 * exact * DBL_EPSILON); /* a plain sum would fail */
    exact = ldexp((double)distance, -58);
    assert_within(spec_overlap_total_variation(a, b, V), exact, exact * DBL_EPSILON);
}

TEST(divergence_of_near_rows_does_not_cancel)
{
    for (double e = 1e-3; e > 1e-12; e /= 10) { /* Taylor's series in e */
        double a[2] = {0.27 + e, 0.73 - e}, b[2] = {0.27, 0.73}, u = a[0] - 0.27, v = a[1] - 0.73;
        double series = 0, up = 1, vp = 1;
        for (int j = 2; j < 12; j++) {
            up *= -u / 0.27;
            vp *= -v / 0.73;
            series -= (up * u + vp * v) / (j * (j - 1));
        }
        assert_within(spec_overlap_kl_divergence(a, b, 2), series, 1e-13 * series);
    }
    assert_true(spec_overlap_kl_divergence(target, target, 3) == 0);
}

TEST(divergence_is_the_plain_sum_for_distant_rows)
{
    for (double u = 0.01; u < 1; u += 0.01) {
        for (double v = 0.01; v < 1; v += 0.01) {
            double a[2] = {u, 1 - u}, b[2] = {v, 1 - v};
            double plain = u * log(u / v) + (1 - u) * log((1 - u) / (1 - v));
            assert_within(spec_overlap_kl_divergence(a, b, 2), plain, 2e-15);
        }
    }
}

TEST(divergence_knows_zeros_and_infinity)
{
    double a[3] = {0, 0.4, 0.6}, b[3] = {0.2, 0.2, 0.6}, c[3] = {0, 0, 1};
    assert_within(spec_overlap_kl_divergence(a, b, 3), 0.4 * log(2), 1e-16);
    assert_true(isinf(spec_overlap_kl_divergence(b, a, 3)) &&
                spec_overlap_kl_divergence(b, a, 3) > 0);
    assert_true(spec_overlap_kl_divergence(c, c, 3) == 0);
    assert_within(spec_overlap_kl_divergence(c, b, 3), log(1 / 0.6), 1e-15);
    double even[2] = {0.5, 0.5},
           thin[2] = {1e-320, 1}; /* the ratio overflows one way, underflows the other */
    double logarithm = log(1e-320);
    assert_within(spec_overlap_kl_divergence(even, thin, 2), log(0.5) - 0.5 * logarithm, 1e-12);
    assert_within(spec_overlap_kl_divergence(thin, even, 2), log(2), 1e-15);
}

TEST(entropy_knows_zeros)
{
    double certain[3] = {0, 1, 0}, even[4] = {0.25, 0.25, 0.25, 0.25};
    assert_true(spec_overlap_entropy(certain, 3) == 0);
    assert_within(spec_overlap_entropy(even, 4), log(4), 1e-15);
}

TEST(not_a_number_propagates)
{
    double (*const distances[])(const double *, const double *, size_t) = {
        spec_overlap, spec_overlap_match_probability, spec_overlap_total_variation,
        spec_overlap_kl_divergence};
    for (int x = 0; x < 3; x++) {
        double bad[3] = {0.5, 0.3, 0.2}, certain[3] = {0, 0, 1};
        bad[x] = NAN;
        for (int i = 0; i < 4; i++) {
            assert_true(isnan(distances[i](bad, draft, 3)) && isnan(distances[i](draft, bad, 3)));
            assert_true(isnan(distances[i](bad, certain, 3)) &&
                        isnan(distances[i](certain, bad, 3)));
        }
        assert_true(isnan(spec_overlap_entropy(bad, 3)));
    }
}
