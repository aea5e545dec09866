/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "timing/timing_ranking.h"

#include <math.h>
#include <stdlib.h>

/* The ranked values: value (n_speeds, resamples+1) are the speed-ups, and ratio (n_speeds,
 * resamples+1) compares one K with the others. */
typedef struct {
    const spec_timing_sample *sample;
    spec_timing_prediction *prediction;
    double *value, *ratio;
    spec_block_interval *interval; /* (n_speeds) */
} ranking;

static double *row_of(const ranking *r, double *values, int i)
{
    return values + (size_t)i * ((size_t)r->sample->resamples + 1);
}

static void joint(const ranking *r, const double *value, int m)
{
    const spec_timing_sample *s = r->sample;
    spec_block_bootstrap_joint(r->interval, value, m, s->resamples, s->timed->n_blocks, s->error,
                               s->work);
}

/* Computes the speed-up: tokens per round, times the ratio of a plain token's time to a round's.
 * The second factor cannot exceed 1. */
static void measure(const ranking *r)
{
    const int plain = spec_timing_column(0, 0);
    for (int i = 0; i < r->prediction->n_speeds; i++) {
        const int own = spec_timing_column(i + 1, 0);
        const int over[] = {own + SPEC_TIMING_ALL_TOKENS, plain + SPEC_TIMING_SECONDS,
                            own + SPEC_TIMING_ROUNDS};
        const int under[] = {own + SPEC_TIMING_ALL_ROUNDS, plain + SPEC_TIMING_TOKENS,
                             own + SPEC_TIMING_SECONDS};
        spec_timing_sample_quotient(row_of(r, r->value, i), r->sample, over, under, 3);
    }
    joint(r, r->value, r->prediction->n_speeds);
    for (int i = 0; i < r->prediction->n_speeds; i++) {
        spec_timing_speed *speed = &r->prediction->speed[i];
        const int own = spec_timing_column(i + 1, 0);
        const int over[] = {own + SPEC_TIMING_SECONDS, plain + SPEC_TIMING_TOKENS};
        const int under[] = {own + SPEC_TIMING_ROUNDS, plain + SPEC_TIMING_SECONDS};
        const double most = speed->tokens_per_round.value, high = speed->tokens_per_round.high;
        speed->speedup = r->interval[i];
        speed->verdict = spec_bounded_ratio(
            &speed->speedup, spec_timing_sample_below(r->sample, over, under, 2, 1.0), 0.0, most,
            isnan(high) ? most : high);
    }
}

/* Excludes K = 0, which drafts nothing. */
static bool is_candidate(const spec_timing_speed *speed)
{
    return speed->way->K > 0 && speed->verdict == SPEC_RATIO_REPORTED;
}

/* Returns whether K may be the fastest: the joint intervals of these ratios show no other K to be
 * faster. */
static bool may_be_fastest(const ranking *r, int k)
{
    const int n = r->prediction->n_speeds;
    int m = 0;
    for (int i = 0; i < n; i++) {
        if (i == k || !is_candidate(&r->prediction->speed[i])) continue;
        const double *other = row_of(r, r->value, i), *own = row_of(r, r->value, k);
        double *ratio = row_of(r, r->ratio, m++);
        for (int s = 0; s <= r->sample->resamples; s++) ratio[s] = other[s] / own[s];
    }
    joint(r, r->ratio, m);
    for (int i = 0; i < m; i++)
        if (r->interval[i].low > 1.0) return false;
    return true;
}

/* The best K has the interval with the largest lower end, so if any interval is above 1, this one
 * is. */
static void choose(const ranking *r)
{
    spec_timing_prediction *p = r->prediction;
    p->best = -1;
    for (int i = 0; i < p->n_speeds; i++) {
        spec_timing_speed *speed = &p->speed[i];
        speed->tied = is_candidate(speed) && may_be_fastest(r, i);
        if (is_candidate(speed) &&
            (p->best < 0 || speed->speedup.low > p->speed[p->best].speedup.low))
            p->best = i;
    }
}

int spec_timing_rank(spec_timing_prediction *prediction, const spec_timing_sample *sample,
                     spec_error *message)
{
    const size_t n = (size_t)prediction->n_speeds, row = (size_t)sample->resamples + 1;
    ranking r = {.sample = sample, .prediction = prediction};
    int status = GSL_SUCCESS;
    r.value = malloc(n * row * sizeof *r.value);
    r.ratio = malloc(n * row * sizeof *r.ratio);
    r.interval = malloc(n * sizeof *r.interval);
    if (r.value == NULL || r.ratio == NULL || r.interval == NULL) {
        status =
            spec_fail(message, GSL_ENOMEM, "out of memory for %d resamples", sample->resamples);
    } else {
        measure(&r);
        choose(&r);
    }
    free(r.value);
    free(r.ratio);
    free(r.interval);
    return status;
}
