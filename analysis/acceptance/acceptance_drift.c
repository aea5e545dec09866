/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/acceptance_drift.h"

#include "analysis/statistics/evalue.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { MOST = 512, VARIANCES = 3, CORRELATIONS = 7, MODELS = VARIANCES * CORRELATIONS };
enum { KEPT = 3 }; /* a capital is used only if it lasts for this many windows */

static const double correlation[CORRELATIONS] = {0.0, 0.2, 0.4, 0.6, 0.75, 0.87, 0.95};

/* The prior variance of a step, relative to that of an average window. */
static const double step_variance = 4.0;

/* The windows, joined if there are too many. */
typedef struct {
    size_t n, learn;
    size_t first[MOST]; /* the first of the caller's windows in each */
    double angle[MOST]; /* relative to the mean angle of the learning windows */
    double size[MOST];  /* tested, relative to the mean of the learning windows */
    double least;       /* what the binomial noise of one window adds to the sum of squares of
                         * angles */
    double shares; /* sum of 1/i up to MOST; a step at the i-th window has prior (1/i) / shares */
} series;

/* Regression of the whitened angles on a whitened constant, and on a step at each window. */
typedef struct {
    double constant, cross, square; /* sums of squares and products up to now */
    double log_scale;               /* log scale of the likelihood */
    struct {
        /* sums of the step's square, and of its products with the constant and the angle */
        double step, constant, angle;
    } at[MOST];
} regression;

/* The evidence over all models, after each window. */
typedef struct {
    double null[MOST], bet[MOST]; /* logs of the largest likelihood under the null, and of the
                                   * bet */
    double likeliest[MOST];       /* log likelihood of the most likely step */
    size_t from[MOST];
} evidence;

static double log_add(double a, double b)
{
    const double high = fmax(a, b), low = fmin(a, b);
    return isinf(low) ? high : high + log1p(exp(low - high));
}

static double angle_of(double passed, double tested)
{
    return asin(sqrt((passed + 0.375) / (tested + 0.75)));
}

/* Fills the series; returns false for counts outside their domain. */
static bool gather(series *ret, const double *passed, const double *tested, size_t n, size_t learn)
{
    size_t windows = 0, each = 1, held = 0;
    double all_passed[MOST], all_tested[MOST], sum_passed = 0.0, sum_tested = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(passed[i] >= 0.0 && passed[i] <= tested[i]) || isinf(tested[i])) return false;
        windows += tested[i] > 0.0;
    }
    while (windows > each * MOST) each *= 2;
    *ret = (series){.learn = learn};
    for (size_t i = 0; i < n; i++) {
        if (tested[i] == 0.0) continue;
        const size_t at = held++ / each;
        if (at == ret->n) {
            ret->first[ret->n++] = i;
            all_passed[at] = all_tested[at] = 0.0;
        }
        all_passed[at] += passed[i];
        all_tested[at] += tested[i];
    }
    if (ret->n <= learn) return true;
    for (size_t k = 0; k < learn; k++) {
        sum_passed += all_passed[k];
        sum_tested += all_tested[k];
    }
    const double mean = sum_tested / (double)learn, level = angle_of(sum_passed, sum_tested);
    for (size_t k = 0; k < ret->n; k++) {
        ret->angle[k] = angle_of(all_passed[k], all_tested[k]) - level;
        ret->size[k] = all_tested[k] / mean;
    }
    ret->least = 0.25 / mean;
    for (int i = MOST; i > 0; i--) ret->shares += 1.0 / i;
    return true;
}

/* Returns the variance of window k relative to an average one: inversely proportional to its size,
 * halfway between that and constant, or constant. */
static double variance_at(const series *s, size_t k, int way)
{
    return way == 0 ? 1.0 / s->size[k] : way == 1 ? 0.5 + 0.5 / s->size[k] : 1.0;
}

/* Adds window k to the regression of one model, and the model's likelihoods to the evidence. */
static void add_window(evidence *all, regression *r, const series *s, size_t k, int way, double phi)
{
    const double root = sqrt(1.0 - phi * phi), weight = 1.0 / sqrt(variance_at(s, k, way)),
                 last = k > 0 ? 1.0 / sqrt(variance_at(s, k - 1, way)) : 0.0,
                 constant = k > 0 ? weight - phi * last : root * weight,
                 angle = k > 0 ? weight * s->angle[k] - phi * last * s->angle[k - 1]
                               : root * weight * s->angle[k];
    r->log_scale += log(weight) + (k == 0 ? log(root) : 0.0);
    r->constant += constant * constant;
    r->cross += constant * angle;
    r->square += angle * angle;
    for (size_t j = s->learn; j <= k; j++) {
        const double step = j == k ? weight : constant;
        r->at[j].step += step * step;
        r->at[j].constant += step * constant;
        r->at[j].angle += step * angle;
    }
    if (k < s->learn) return;
    const double residual = fmax(r->square - r->cross * r->cross / r->constant, 0.0) + s->least,
                 power = 0.5 * (double)(k + 1),
                 null = r->log_scale - 0.5 * log(r->constant) - power * log(residual);
    double top = 0.0, sum = s->shares; /* sum of the prior times the bet, divided by exp(top) */
    for (size_t j = s->learn; j <= k; j++) {
        const double share = 1.0 / (double)(j - s->learn + 1),
                     tilt = r->at[j].constant / r->constant,
                     step = r->at[j].step - tilt * r->at[j].constant,
                     product = r->at[j].angle - tilt * r->cross, wide = 1.0 + step_variance * step,
                     gain = -0.5 * log(wide) -
                            power * log1p(-step_variance * product * product / (wide * residual));
        if (gain > top) {
            sum *= exp(top - gain);
            top = gain;
        }
        sum += share * (exp(gain - top) - exp(-top));
        if (null + gain > all->likeliest[k]) {
            all->likeliest[k] = null + gain;
            all->from[k] = j;
        }
    }
    all->null[k] = fmax(all->null[k], null);
    all->bet[k] = log_add(all->bet[k], null + top + log(sum / s->shares) - log(MODELS));
}

static double ratio_between(const double *passed, const double *tested, size_t from, size_t to)
{
    double all_passed = 0.0, all_tested = 0.0;
    for (size_t i = from; i < to; i++) {
        all_passed += passed[i];
        all_tested += tested[i];
    }
    return all_passed / all_tested;
}

spec_acceptance_drift spec_acceptance_drift_test(const double *passed, const double *tested,
                                                 size_t n, size_t learn)
{
    spec_acceptance_drift drift = {1.0, n, NAN, NAN};
    series s;
    evidence all;
    double capital = 0.0;
    assert(learn >= 2);
    if (!gather(&s, passed, tested, n, learn)) {
        drift.p = NAN;
        return drift;
    }
    for (size_t k = 0; k < s.n; k++) {
        all.null[k] = all.bet[k] = all.likeliest[k] = -INFINITY;
        all.from[k] = s.n;
    }
    for (int model = 0; model < MODELS && s.n > learn; model++) {
        regression r = {0};
        for (size_t k = 0; k < s.n; k++)
            add_window(&all, &r, &s, k, model % VARIANCES, correlation[model / VARIANCES]);
    }
    for (size_t k = learn; k + KEPT <= s.n; k++) {
        double least = INFINITY;
        for (size_t i = k; i < k + KEPT; i++) least = fmin(least, all.bet[i] - all.null[i]);
        if (least > capital) {
            capital = least;
            drift.from = s.first[all.from[k + KEPT - 1]];
        }
    }
    drift.p = fmax(spec_evalue_p(capital), DBL_MIN);
    drift.before = ratio_between(passed, tested, 0, drift.from);
    drift.after = ratio_between(passed, tested, drift.from, n);
    return drift;
}
