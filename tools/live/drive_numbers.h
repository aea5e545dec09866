/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drive_numbers: what the blocks of a measurement say: speeds, speed-ups, and what explains them.
 * Intervals are Student's, from the logarithms of one number per pass. Speed-ups compare a draft
 * length with K = 0 in the same pass, by the time per token after the first. The advice is that of
 * `speclab advise`, for each concurrency. docs/drive.md#numbers. */
#ifndef SPECLAB_DRIVE_NUMBERS_H
#define SPECLAB_DRIVE_NUMBERS_H

#include "tools/advise/advice.h"
#include "tools/live/drive.h"

/* A median, and the quantiles .9 and .99, NaN with fewer than 10 and 100 values. */
typedef struct {
    double p50, p90, p99;
} spec_drive_quantiles;

/* A draft length at a concurrency; NaN: not known. Times are in seconds. */
typedef struct {
    int K, concurrency;
    const char *category; /* "": all prompts */
    int passes, requests, refused;
    double tokens;
    spec_block_interval tokens_per_s; /* of all requests together, while every lane has work */
    spec_block_interval tokens_gain;  /* tokens_per_s divided by its value at K = 0 */
    spec_block_interval tpot;         /* seconds per token after the first token of a text */
    spec_block_interval speedup;      /* tpot at K = 0 divided by this one */
    double predicted;                 /* from the alpha of `advice` and the fitted round time */
    double perfect; /* speed-up if every draft token were accepted and rounds took as long as they
                     * do */
    double drafted, accepted;
    double tokens_per_round;
    double round, fitted;     /* time of a round as measured, and on the line a + b K */
    spec_cluster_ratio alpha; /* accepted over tested tokens */
    spec_drive_quantiles ttft, token, latency;
    double drift; /* K = 0: the last block's tpot over the first one's, minus 1 */
} spec_drive_row;

/* What is computed from all rows of a concurrency. */
typedef struct {
    int concurrency;
    double a, b; /* the line of round times, s; NaN with fewer than two lengths above 0 */
    spec_observed_sums sums;
    spec_advice *choice; /* among the lengths that were measured */
    /* whether the choice loses at most SPEC_ADVICE_TOLERANCE, both according to the advice and
     * according to the passes; and the larger of the two losses, as a share of the fastest length's
     * speed. NaN with one pass, which gives no interval */
    bool certain;
    double loss;
    spec_advice *advice; /* of all lengths: which one to measure next */
} spec_drive_level;

typedef struct {
    spec_drive_row *row; /* (n_rows) by category, concurrency, K; all prompts first */
    int n_rows;
    int n_categories;
    spec_drive_level *level; /* (n_levels) concurrencies with blocks of K = 0 and of another
                              * length */
    int n_levels;
} spec_drive_numbers;

/* Computes the numbers. Returns GSL_ENOMEM, or the errors of advice.h. Must be freed even on
 * failure; borrows the result. */
int spec_drive_numbers_init(spec_drive_numbers *numbers, const spec_drive_result *result,
                            const spec_drive_plan *plan, spec_error *error);
void spec_drive_numbers_free(spec_drive_numbers *numbers);

/* Returns Student's interval of a positive number with confidence 1 - error:
 *
 *     exp(mean +- t_{n-1}(1 - error/2) s / sqrt(n)),  mean and s of the n logarithms
 *
 *   logs    (n) values that are not finite are left out
 *   returns the value alone with one number, NaN without any; se is that of the logarithm
 * Assumes independent normal logarithms. Checked by: coverage in tests/tools/live. */
spec_block_interval spec_drive_interval(const double *logs, int n, double error);

#endif
