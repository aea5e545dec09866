/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/likely_times.h"

#include <math.h>
#include <stdbool.h>

static double between(gsl_rng *rng, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

static double log_between(gsl_rng *rng, double low, double high)
{
    return low * pow(high / low, gsl_rng_uniform(rng));
}

/* Draws an engine. A verification is free up to a number of tokens that is whole in half of the
 * cases, because kernels work on tiles. */
static spec_likely_engine drawn(gsl_rng *rng)
{
    const bool linear = gsl_rng_uniform(rng) < 0.4, whole = gsl_rng_uniform(rng) < 0.5;
    const double some = between(rng, 1.5, 9.5);
    return (spec_likely_engine){.overhead =
                                    gsl_rng_uniform(rng) < 0.5 ? 0.0 : log_between(rng, 0.005, 0.1),
                                .draft = log_between(rng, 0.005, 0.5),
                                .token = log_between(rng, linear ? 0.002 : 0.1, linear ? 0.6 : 1.2),
                                .free = linear  ? 1.0
                                        : whole ? floor(some + 0.5)
                                                : some};
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

/* Returns the weight of an engine: its tails are those of a Student distribution, so that some
 * engine always has weight. */
static double weight_of(const spec_likely_engine *engine, const spec_round_times *measured)
{
    /* scale of the Student distribution of relative errors */
    static const double NEAR = 0.01;
    double unit = 0.0, weight = 1.0;
    for (int i = 0; i < measured->n && measured->K[0] > 0; i++)
        unit += error_at(engine, measured, i) / measured->n;
    for (int i = 0; i < measured->n; i++) {
        const double far = (error_at(engine, measured, i) - unit) / NEAR, square = 1.0 + far * far;
        weight /= square * square;
    }
    return weight;
}

void spec_likely_times_engines(spec_likely_engine *ret_engines, const spec_round_times *measured,
                               gsl_rng *rng)
{
    double sum = 0.0;
    for (int e = 0; e < SPEC_LIKELY_ENGINES; e++) {
        ret_engines[e] = drawn(rng);
        ret_engines[e].weights = sum += weight_of(&ret_engines[e], measured);
    }
}

void spec_likely_times_draw(double ret[SPEC_ADVICE_K], const spec_likely_engine *engines,
                            const spec_round_times *measured, gsl_rng *rng)
{
    const double at = engines[SPEC_LIKELY_ENGINES - 1].weights * gsl_rng_uniform(rng);
    int low = 0, high = SPEC_LIKELY_ENGINES - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (engines[middle].weights > at)
            high = middle;
        else
            low = middle + 1;
    }
    double time[SPEC_ADVICE_K];
    for (int K = 0; K < SPEC_ADVICE_K; K++) time[K] = time_at(&engines[low], K);
    for (int K = 0; K < SPEC_ADVICE_K; K++) ret[K] = spec_likely_times_bent(time, measured, K);
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
