/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/alpha.h"

#include "analysis/brent.h"
#include "speclab/round.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

static const int most_steps = 200; /* steps of the root finder: Brent's method needs about ten */
static const uint64_t most_draws = 1u << 31;     /* GSL's multinomial counts in unsigned int */

static uint64_t rounds_of(const uint64_t *counts, int K)
{
    uint64_t rounds = 0;
    for (int k = 0; k <= K; k++) rounds += counts[k];
    return rounds;
}

void spec_alpha_trials(uint64_t *ret_passed, uint64_t *ret_tested, const uint64_t *counts, int K)
{
    uint64_t passed = 0, failed = 0;
    for (int k = 1; k <= K; k++) passed += (uint64_t)k * counts[k];
    for (int k = 0; k < K; k++) failed += counts[k];
    *ret_passed = passed;
    *ret_tested = passed + failed;
}

double spec_alpha_mle(const uint64_t *counts, int K)
{
    uint64_t passed, tested;
    spec_alpha_trials(&passed, &tested, counts, K);
    return (double)passed / (double)tested;
}

double spec_alpha_tested(const uint64_t *passed, const uint64_t *tested, int n)
{
    uint64_t passes = 0, tests = 0;
    for (int i = 0; i < n; i++) {
        passes += passed[i];
        tests += tested[i];
    }
    return (double)passes / (double)tests;
}

double spec_alpha_accepted_over_drafted(const uint64_t *counts, int K)
{
    uint64_t passed, tested;
    spec_alpha_trials(&passed, &tested, counts, K);
    return (double)passed / ((double)rounds_of(counts, K) * K);
}

double spec_alpha_emitted_over_K1(const uint64_t *counts, int K)
{
    uint64_t passed, tested, rounds = rounds_of(counts, K);
    spec_alpha_trials(&passed, &tested, counts, K);
    return (double)(passed + rounds) / ((double)rounds * (K + 1));
}

/* ---- inversion ------------------------------------------------------------------------------- */

/* Returns the root of an increasing function in [low, high], by Brent's method. If rounding gives
 * an end the wrong sign, the root is that end. */
static double increasing_root(gsl_function *function, double low, double high)
{
    if (GSL_FN_EVAL(function, low) >= 0) return low;
    if (GSL_FN_EVAL(function, high) <= 0) return high;
    spec_brent room;
    gsl_root_fsolver *solver = spec_brent_init(&room);
    double root = NAN;
    if (gsl_root_fsolver_set(solver, function, low, high) == GSL_SUCCESS) {
        for (int step = 0; step < most_steps; step++) {
            if (gsl_root_fsolver_iterate(solver) != GSL_SUCCESS) break;
            root = gsl_root_fsolver_root(solver);
            if (gsl_root_test_interval(gsl_root_fsolver_x_lower(solver),
                                       gsl_root_fsolver_x_upper(solver), 0,
                                       4 * DBL_EPSILON) == GSL_SUCCESS) {
                break;
            }
        }
    }
    return root;
}

typedef struct {
    double ratio;
    int K;
} mean_power;

static double mean_power_excess(double alpha, void *params)
{
    const mean_power *wanted = params;
    double sum = 0; /* alpha + ... + alpha^K, by Horner */
    for (int i = 0; i < wanted->K; i++) sum = (sum + 1) * alpha;
    return sum / wanted->K - wanted->ratio;
}

double spec_alpha_from_accepted_over_drafted(double ratio, int K)
{
    if (K < 1 || !(ratio >= 0 && ratio <= 1)) return NAN;
    mean_power wanted = {ratio, K};
    gsl_function function = {mean_power_excess, &wanted};
    /* alpha^i <= alpha bounds the root from below, alpha <= alpha + ... + alpha^K from above. */
    return increasing_root(&function, ratio, fmin(1, ratio * K));
}

double spec_alpha_from_emitted(double emitted, int K)
{
    return spec_alpha_from_accepted_over_drafted((emitted - 1) / K, K);
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int interval_defined(uint64_t passed, uint64_t tested, double error)
{
    return passed <= tested && error > 0 && error < 1;
}

void spec_alpha_wilson_interval(double *ret_low, double *ret_high, uint64_t passed, uint64_t tested,
                                double error)
{
    *ret_low = *ret_high = NAN;
    if (!interval_defined(passed, tested, error)) return;
    double z = gsl_cdf_ugaussian_Qinv(error / 2), n = (double)tested,
           failed = (double)(tested - passed);
    double centre = (double)passed + z * z / 2;
    double half = z * sqrt((double)passed * failed / n + z * z / 4);
    *ret_low = passed == 0 ? 0 : (centre - half) / (n + z * z);
    *ret_high = passed == tested ? 1 : (centre + half) / (n + z * z);
}

/* Returns the continued fraction of the incomplete beta function [DLMF] 8.17.22, by Lentz's method.
 * It converges within O(sqrt(a + b)) terms for x < (a+1)/(a+b+2). GSL's version stops after 512
 * terms, which is too few for ten million tests. */
static double beta_fraction(double a, double b, double x)
{
    double most = 1000 + sqrt(a + b);
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (double m = 1; m < most; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= c * d;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON) break;
    }
    return f;
}

/* Computes the lower and upper tail of Beta(a, b) at x. Neither cancels on its side of the mean. */
static void beta_tails(double *ret_lower, double *ret_upper, double a, double b, double x)
{
    double front = exp(a * log(x) + b * log1p(-x) - gsl_sf_lnbeta(a, b));
    if (x < (a + 1) / (a + b + 2)) {
        *ret_lower = front * beta_fraction(a, b, x) / a;
        *ret_upper = 1 - *ret_lower;
    } else {
        *ret_upper = front * beta_fraction(b, a, 1 - x) / b;
        *ret_lower = 1 - *ret_upper;
    }
}

typedef struct {
    double a, b, tail;
} beta_quantile;

static double lower_excess(double x, void *params)
{
    const beta_quantile *wanted = params;
    double lower, upper;
    beta_tails(&lower, &upper, wanted->a, wanted->b, x);
    return lower - wanted->tail;
}

static double upper_shortfall(double x, void *params)
{
    const beta_quantile *wanted = params;
    double lower, upper;
    beta_tails(&lower, &upper, wanted->a, wanted->b, x);
    return wanted->tail - upper;
}

void spec_alpha_clopper_pearson_interval(double *ret_low, double *ret_high, uint64_t passed,
                                         uint64_t tested, double error)
{
    *ret_low = *ret_high = NAN;
    if (!interval_defined(passed, tested, error)) return;
    double k = (double)passed, failed = (double)(tested - passed);
    beta_quantile low = {k, failed + 1, error / 2}, high = {k + 1, failed, error / 2};
    gsl_function low_function = {lower_excess, &low}, high_function = {upper_shortfall, &high};
    *ret_low = passed == 0 ? 0 : increasing_root(&low_function, 0, 1);
    *ret_high = passed == tested ? 1 : increasing_root(&high_function, 0, 1);
}

/* ---- bootstrap ------------------------------------------------------------------------------- */

static double resampled_alpha(const double *weight, int K, uint64_t rounds, gsl_rng *rng)
{
    uint64_t counts[SPEC_K_MAX + 1] = {0};
    unsigned int drawn[SPEC_K_MAX + 1];
    while (rounds > 0) {
        uint64_t some = rounds < most_draws ? rounds : most_draws;
        gsl_ran_multinomial(rng, (size_t)K + 1, (unsigned int)some, weight, drawn);
        for (int k = 0; k <= K; k++) counts[k] += drawn[k];
        rounds -= some;
    }
    return spec_alpha_mle(counts, K);
}

int spec_alpha_bootstrap(double *ret_low, double *ret_high, const uint64_t *counts, int K,
                         double error, int resamples, double *work, gsl_rng *rng)
{
    *ret_low = *ret_high = 0;
    if (K < 0 || K > SPEC_K_MAX || resamples < 1 || !(error > 0 && error < 1)) return GSL_EDOM;
    uint64_t rounds = rounds_of(counts, K);
    if (K == 0 || rounds == 0) {
        *ret_low = *ret_high = NAN;
        return GSL_SUCCESS;
    }
    double weight[SPEC_K_MAX + 1];
    for (int k = 0; k <= K; k++) weight[k] = (double)counts[k];
    for (int i = 0; i < resamples; i++) work[i] = resampled_alpha(weight, K, rounds, rng);
    gsl_sort(work, 1, (size_t)resamples);
    *ret_low = gsl_stats_quantile_from_sorted_data(work, 1, (size_t)resamples, error / 2);
    *ret_high = gsl_stats_quantile_from_sorted_data(work, 1, (size_t)resamples, 1 - error / 2);
    return GSL_SUCCESS;
}
