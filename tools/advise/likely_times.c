/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/likely_times.h"

#include "tools/advise/likely_draws.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdbool.h>

/* Log-uniform priors. */
typedef struct {
    double low, high;
} range;

static const range draft_range = {0.005, 0.5}, overhead_range = {0.005, 0.1};

static range token_range(const spec_likely_engine *engine)
{
    return engine->free == 1.0 ? (range){0.002, 0.6} : (range){0.1, 1.2};
}

static double density(range r, double value)
{
    return value >= r.low && value <= r.high ? 1.0 / (value * log(r.high / r.low)) : 0.0;
}

static double drawn_from(gsl_rng *rng, range r)
{
    return spec_likely_log_between(rng, r.low, r.high);
}

/* Draws an engine. A verification is free up to a number of tokens that is whole in half of the
 * cases, because kernels work on tiles. */
static spec_likely_engine drawn(gsl_rng *rng)
{
    const bool linear = gsl_rng_uniform(rng) < 0.4, whole = gsl_rng_uniform(rng) < 0.5;
    const double some = spec_likely_between(rng, 1.5, 9.5);
    spec_likely_engine ret = {.free = linear ? 1.0 : whole ? floor(some + 0.5) : some};
    ret.overhead = gsl_rng_uniform(rng) < 0.5 ? 0.0 : drawn_from(rng, overhead_range);
    ret.draft = drawn_from(rng, draft_range);
    ret.token = drawn_from(rng, token_range(&ret));
    return ret;
}

static double time_at(const spec_likely_engine *engine, int K)
{
    if (K == 0) return 1.0;
    return 1.0 + engine->overhead + engine->draft * K +
           engine->token * fmax(K + 1 - engine->free, 0.0);
}

static double error_at(const spec_likely_engine *engine, const spec_round_times *measured, int i)
{
    return log(measured->time[i] / time_at(engine, measured->K[i]));
}

/* How far, relatively, an engine's times are from our formula. */
static const double NEAR = 0.002;

/* A measured time as an equation for an engine's costs: a draft + b token = c. */
typedef struct {
    double a, b, c;
} equation;

/* Returns the equation of the measured time i: the formula gives this time; or, if plain decoding
 * was not measured, this multiple of the first time. */
static equation equation_of(const spec_likely_engine *engine, const spec_round_times *measured,
                            const double *time, int i)
{
    const double fixed = 1.0 + engine->overhead;
    const int K = measured->K[i], first = measured->K[0];
    const double beyond = fmax(K + 1 - engine->free, 0.0);
    if (first == 0) return (equation){K, beyond, time[i] - fixed};
    const double ratio = time[i] / time[0];
    return (equation){K - ratio * first, beyond - ratio * fmax(first + 1 - engine->free, 0.0),
                      (ratio - 1.0) * fixed};
}

/* Replaces the engine's costs by those that meet the measured times, and returns the probability
 * density of these times given what is left of the engine. Two equations determine both costs; one
 * determines the cost of a token, or that of a draft if no token costs anything. Other times have a
 * Student density around those of the engine. */
static double fitted(spec_likely_engine *engine, const spec_round_times *measured,
                     const double *error, gsl_rng *rng)
{
    double time[SPEC_ADVICE_K], weight;
    const int last = measured->n - 1;
    if (last < 1) return 1.0; /* without a second time there is nothing to meet */
    for (int i = 0; i <= last; i++)
        time[i] = measured->time[i] * exp(gsl_ran_gaussian(rng, hypot(NEAR, error[i])));
    const equation e = equation_of(engine, measured, time, last),
                   f = equation_of(engine, measured, time, 1);
    const double both = f.a * e.b - f.b * e.a;
    const bool two = last > 1 && engine->free > 1.0 && fabs(both) > 1e-9;
    if (two) {
        engine->draft = (f.c * e.b - f.b * e.c) / both;
        engine->token = (f.a * e.c - f.c * e.a) / both;
        weight = density(draft_range, engine->draft) * density(token_range(engine), engine->token) /
                 fabs(both);
    } else if (fabs(e.b) > 1e-9) {
        engine->token = (e.c - e.a * engine->draft) / e.b;
        weight = density(token_range(engine), engine->token) / fabs(e.b);
    } else {
        engine->draft = e.c / e.a;
        weight = density(draft_range, engine->draft) / fabs(e.a);
    }
    if (!(weight > 0.0)) return 0.0;
    const double unit = measured->K[0] == 0 ? 0.0 : error_at(engine, measured, 0);
    for (int i = 1; i <= last; i++) {
        if (i == last || (two && i == 1)) {
            weight *= time_at(engine, measured->K[i]); /* the derivative of c by a log time */
        } else {
            const double scale = hypot(NEAR, error[i]),
                         far = (error_at(engine, measured, i) - unit) / scale;
            weight *= M_2_PI / scale / ((1.0 + far * far) * (1.0 + far * far));
        }
    }
    return weight;
}

/* Returns the weight of an engine by its distance from measured times that no engine meets. */
static double weight_of(const spec_likely_engine *engine, const spec_round_times *measured)
{
    double unit = 0.0, far = 0.0;
    for (int i = 0; i < measured->n && measured->K[0] > 0; i++)
        unit += error_at(engine, measured, i) / measured->n;
    for (int i = 0; i < measured->n; i++) far += pow(error_at(engine, measured, i) - unit, 2.0);
    return pow(1.0 + far / (0.01 * 0.01), -2.0);
}

void spec_likely_times_engines(spec_likely_engine *ret_engines, const spec_round_times *measured,
                               const double *error, gsl_rng *rng)
{
    double sum = 0.0;
    for (int e = 0; e < SPEC_LIKELY_ENGINES; e++) {
        ret_engines[e] = drawn(rng);
        ret_engines[e].weights = sum += fitted(&ret_engines[e], measured, error, rng);
    }
    if (sum > 0.0) return;
    for (int e = 0; e < SPEC_LIKELY_ENGINES; e++) {
        ret_engines[e] = drawn(rng);
        ret_engines[e].weights = sum += weight_of(&ret_engines[e], measured);
    }
}

spec_likely_kind spec_likely_times_draw(double ret[SPEC_ADVICE_K],
                                        const spec_likely_engine *engines,
                                        const spec_round_times *measured, gsl_rng *rng)
{
    const spec_likely_engine *engine =
        engines + spec_likely_place(rng, &engines->weights, sizeof *engines / sizeof(double),
                                    SPEC_LIKELY_ENGINES);
    double time[SPEC_ADVICE_K];
    for (int K = 0; K < SPEC_ADVICE_K; K++) time[K] = time_at(engine, K);
    for (int K = 0; K < SPEC_ADVICE_K; K++) ret[K] = spec_likely_times_bent(time, measured, K);
    const double tokens = engine->free;
    return tokens == 1.0             ? SPEC_LIKELY_LINEAR
           : tokens == floor(tokens) ? SPEC_LIKELY_WHOLE
                                     : SPEC_LIKELY_BROKEN;
}

double spec_likely_times_bent(const double time[SPEC_ADVICE_K], const spec_round_times *measured,
                              int K)
{
    const int *run = measured->K;
    int i = 0;
    if (measured->n == 0) return time[K];
    while (i < measured->n - 1 && run[i + 1] <= K) i++; /* run[i] <= K < run[i + 1], if any */
    double bend = log(measured->time[i] / time[run[i]]);
    if (run[i] < K && i + 1 < measured->n)
        bend += (log(measured->time[i + 1] / time[run[i + 1]]) - bend) * (K - run[i]) /
                (run[i + 1] - run[i]);
    return time[K] * exp(bend);
}
