/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_ranking.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const spec_timing_sample *sample;
    spec_timing_prediction *prediction;
    double *value;                 /* (n_speeds, resamples+1) the speed-ups */
    double *work;                  /* (n_speeds+1, resamples+1) */
    spec_block_interval *interval; /* (n_speeds) */
    bool *tied;                    /* (n_speeds) */
} ranking;

static double *row_of(const ranking *r, int i)
{
    return r->value + (size_t)i * ((size_t)r->sample->resamples + 1);
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
        spec_timing_sample_quotient(row_of(r, i), r->sample, over, under, 3);
    }
    spec_block_bootstrap_joint(r->interval, r->value, r->prediction->n_speeds, r->sample->resamples,
                               r->sample->timed->n_blocks, r->sample->error, r->work);
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

/* Finds the speeds that may be the fastest. Those that are not candidates are set to NaN, which
 * takes them out of the comparison. */
static void find_tied(const ranking *r)
{
    const spec_timing_sample *s = r->sample;
    const int n = r->prediction->n_speeds;
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= s->resamples && !is_candidate(&r->prediction->speed[i]); k++)
            row_of(r, i)[k] = NAN;
    spec_block_bootstrap_largest(r->tied, r->value, n, s->resamples, s->timed->n_blocks, s->error,
                                 r->interval, r->work);
}

/* The best K has the interval with the largest lower end, so if any interval is above 1, this one
 * is. */
static void choose(const ranking *r)
{
    spec_timing_prediction *p = r->prediction;
    p->best = -1;
    find_tied(r);
    for (int i = 0; i < p->n_speeds; i++) {
        spec_timing_speed *speed = &p->speed[i];
        speed->tied = r->tied[i];
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
    r.work = malloc((n + 1) * row * sizeof *r.work);
    r.interval = malloc(n * sizeof *r.interval);
    r.tied = malloc(n * sizeof *r.tied);
    if (r.value == NULL || r.work == NULL || r.interval == NULL || r.tied == NULL) {
        status =
            spec_fail(message, GSL_ENOMEM, "out of memory for %d resamples", sample->resamples);
    } else {
        measure(&r);
        choose(&r);
    }
    free(r.value);
    free(r.work);
    free(r.interval);
    free(r.tied);
    return status;
}
