/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_sample.h"

#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>

static const double slack = 1e-9; /* tolerance of bounds, for rounding */

int spec_timing_sample_init(spec_timing_sample *sample, const spec_timing *timed, double error,
                            int resamples, spec_error *message)
{
    int status = GSL_SUCCESS;
    gsl_rng *rng = spec_rng_alloc();
    *sample = (spec_timing_sample){.timed = timed, .resamples = resamples, .error = error};
    sample->sum = malloc(((size_t)resamples + 1) * (size_t)timed->n_columns * sizeof *sample->sum);
    sample->value = malloc(((size_t)resamples + 1) * sizeof *sample->value);
    sample->work = malloc(((size_t)resamples + 1) * sizeof *sample->work);
    if (sample->sum == NULL || sample->value == NULL || sample->work == NULL || rng == NULL)
        SPEC_TRY(spec_fail(message, GSL_ENOMEM, "out of memory for %d resamples", resamples));
    spec_rng_stream(rng, spec_rng_named_seed(timed->plan.seed, "bench bootstrap"), 0);
    spec_block_bootstrap_sums(sample->sum, timed->block, timed->n_blocks, timed->n_columns,
                              resamples, rng);
done:
    if (rng != NULL) gsl_rng_free(rng);
    if (status != GSL_SUCCESS) spec_timing_sample_free(sample);
    return status;
}

void spec_timing_sample_free(spec_timing_sample *sample)
{
    free(sample->sum);
    free(sample->value);
    free(sample->work);
    *sample = (spec_timing_sample){0};
}

void spec_timing_sample_quotient(double *value, const spec_timing_sample *sample, const int *over,
                                 const int *under, int n)
{
    for (int r = 0; r <= sample->resamples; r++) {
        const double *sum = sample->sum + (size_t)r * (size_t)sample->timed->n_columns;
        value[r] = 1.0;
        for (int i = 0; i < n; i++) value[r] *= sum[over[i]] / sum[under[i]];
    }
}

spec_block_interval spec_timing_sample_ratio(const spec_timing_sample *sample, const int *over,
                                             const int *under, int n)
{
    spec_timing_sample_quotient(sample->value, sample, over, under, n);
    return spec_block_bootstrap_interval(sample->value, sample->resamples, sample->timed->n_blocks,
                                         sample->error);
}

static spec_block_interval of_logarithm(const spec_timing_sample *sample, const int *over,
                                        const int *under, int n, double error)
{
    spec_block_interval interval;
    spec_timing_sample_quotient(sample->value, sample, over, under, n);
    spec_block_bootstrap_joint(&interval, sample->value, 1, sample->resamples,
                               sample->timed->n_blocks, error, sample->work);
    return interval;
}

bool spec_timing_sample_below(const spec_timing_sample *sample, const int *over, const int *under,
                              int n, double bound)
{
    return of_logarithm(sample, over, under, n, 2.0 * SPEC_RATIO_IMPOSSIBLE_ERROR).high <
           bound * (1.0 - slack);
}

spec_block_interval spec_timing_sample_reported(const spec_timing_sample *sample, const int *over,
                                                const int *under, int n, double least)
{
    const bool impossible = spec_timing_sample_below(sample, over, under, n, least);
    spec_block_interval ratio = of_logarithm(sample, over, under, n, sample->error);
    spec_bounded_ratio(&ratio, impossible, least, INFINITY, INFINITY);
    return ratio;
}
