/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/heavy_traffic.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>

int spec_heavy_traffic_of_life(spec_heavy_traffic *ret, const spec_request_life *life, double rate,
                               double base)
{
    *ret = (spec_heavy_traffic){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const double work = spec_request_life_total(life),
                 square = spec_request_life_total_square(life), load = rate * work;
    if (!(rate > 0.0 && base > 0.0 && work > 0.0 && load < 1.0)) return GSL_EDOM;
    double later = 0.0;
    for (int j = life->n; j-- > 0;) later += (j + 1.0) * life->added[j];
    const double turn = later / work, steps = spec_request_life_steps(life);
    *ret = (spec_heavy_traffic){.base = base,
                                .load = load,
                                .steps = steps,
                                .turn = turn,
                                .prompt = life->prefill ? life->added[0] : 0.0,
                                .shape = 2.0 * base * turn * work / square,
                                .latency = (steps + 0.5) * (base + square / (2.0 * turn * work)) /
                                           (1.0 - load)};
    return GSL_SUCCESS;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool is_near(const spec_heavy_traffic *limit, double q)
{
    return q > 0.0 && q < 1.0 && 1.0 - limit->load <= (0.05 + 1e-9) * fmin(limit->shape, 4.0);
}

static double gamma_quantile(double q, double mean, double variance)
{
    return gsl_cdf_gamma_Pinv(q, mean * mean / variance, variance / mean);
}

double spec_heavy_traffic_batch_quantile(double q, const spec_heavy_traffic *limit,
                                         const spec_branching *b)
{
    if (!is_near(limit, q) || limit->shape < 1.0) return NAN;
    /* batches are integers: n gets the gamma probability between n - 1/2 and n + 1/2 */
    return ceil(gamma_quantile(q, b->batch, b->batch_variance) - 0.5);
}

double spec_heavy_traffic_step_quantile(double q, const spec_heavy_traffic *limit,
                                        const spec_branching *b)
{
    const double added = b->step - limit->base;
    if (!is_near(limit, q) || limit->shape < 1.0 || limit->prompt > 0.4 * added) return NAN;
    return limit->base + gamma_quantile(q, added, b->step2 - b->step * b->step);
}

/* ---- latency --------------------------------------------------------------------------------- */

/* Latency of a request of n steps: (n + 1/2) base plus a gamma variable. */
typedef struct {
    double low, mean, variance;
} steps_time;

/* The time T that requests add to a step is a Feller diffusion, which forgets within `turnover`
 * steps and has the exact mean m. What remains of the exact variance is new in each step. An
 * arrival is more likely to see a long step, in proportion to its time t = base + T. The T that it
 * sees has mean m + excess and variance `seen`. */
typedef struct {
    double base, m, variance, fresh, turnover, excess, seen;
} environment;

static environment environment_of(const spec_heavy_traffic *limit, const spec_branching *b)
{
    environment v = {.base = limit->base, .m = b->step - limit->base};
    v.variance = v.m * v.m / limit->shape;
    v.fresh = fmax(0.0, b->step2 - b->step * b->step - v.variance);
    v.turnover = limit->turn / (1.0 - limit->load);
    v.excess = v.variance / b->step;
    /* E[T^2 t] / E[t] - (E[T t] / E[t])^2, with the third moment of a gamma distribution. */
    const double square = v.m * v.m + v.variance, mean = v.m + v.excess,
                 cube = square * (v.m + 2.0 * v.variance / v.m);
    v.seen = (v.base * square + cube) / b->step - mean * mean;
    return v;
}

static steps_time time_of(const environment *v, double n)
{
    const double x = n / v->turnover, gone = -expm1(-x), gone_twice = -expm1(-2.0 * x);
    const double begun = 0.5 + v->turnover * gone, mean = v->m + v->excess;
    /* The variance of the path, given its start, needs the integrals over y in (0,x) of (1 -
     * e^-y)^2, and of e^(y-x) times that. */
    const double level = x - 2.0 * gone + 0.5 * gone_twice, begin = gone_twice - 2.0 * x * exp(-x);
    const double path =
        2.0 * v->variance * v->turnover * v->turnover * (level + v->excess / v->m * begin);
    const double rest = (v->seen + mean * mean) / 12.0; /* for the rest of the step in which the
                                                         * request arrived */
    return (steps_time){.low = (n + 0.5) * v->base,
                        .mean = (n + 0.5) * v->m + v->excess * begun,
                        .variance = v->seen * begun * begun + path + rest + n * v->fresh};
}

static double share_of(const spec_request_life *life, int j)
{
    return life->alive[j] - (j + 1 < life->n ? life->alive[j + 1] : 0.0);
}

/* Returns P(latency <= x). The time that requests add is scaled by `raise`, so that the mean
 * latency is exact. */
static double chance_below(double x, const environment *v, double raise,
                           const spec_request_life *life)
{
    double sum = 0.0;
    for (int j = 0; j < life->n; j++) {
        const double share = share_of(life, j);
        if (share < 1e-12) continue;
        const steps_time t = time_of(v, j + 1.0);
        if (x > t.low)
            sum += share * gsl_cdf_gamma_P((x - t.low) / raise, t.mean * t.mean / t.variance,
                                           t.variance / t.mean);
    }
    return sum;
}

double spec_heavy_traffic_latency_quantile(double q, const spec_heavy_traffic *limit,
                                           const spec_branching *b, const spec_request_life *life)
{
    if (!is_near(limit, q)) return NAN;
    const environment v = environment_of(limit, b);
    double low = 0.0, mean = 0.0;
    for (int j = 0; j < life->n; j++) {
        const steps_time t = time_of(&v, j + 1.0);
        low += share_of(life, j) * t.low;
        mean += share_of(life, j) * t.mean;
    }
    const double raise = (b->latency - low) / mean;
    double from = 0.0, to = b->latency;
    while (chance_below(to, &v, raise, life) < q) to *= 2.0;
    while (to - from > 1e-6 * to) {
        const double middle = 0.5 * (from + to);
        *(chance_below(middle, &v, raise, life) < q ? &from : &to) = middle;
    }
    return 0.5 * (from + to);
}
