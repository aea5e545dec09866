/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_speeds: tokens per round, time and speed of every draft length, from sums of runs.
 * They depend only on the sums, so resampled sums give resampled speeds. Times and speeds are
 * relative to plain decoding if it was measured, else to the current length. A number that the data
 * do not determine has two ends. docs/formulas/lengths.md#advice. */
#ifndef SPECLAB_LENGTH_SPEEDS_H
#define SPECLAB_LENGTH_SPEEDS_H

#include "analysis/acceptance/length_bounds.h"
#include "analysis/acceptance/serial_widening.h"
#include "analysis/statistics/block_bootstrap.h"
#include "tools/advise/advice_record.h"
#include "tools/advise/likely_drafts.h"
#include "tools/advise/likely_times.h"
#include "tools/advise/observed_runs.h"

/* A number and its range. The ends are equal if the data determine it, and NaN if they say nothing
 * about it; `point` is the central estimate between them. */
typedef struct {
    double low, point, high;
} spec_length_number;

typedef struct {
    spec_length_number tokens; /* per round */
    spec_length_number time;   /* time of a round */
    spec_length_number speed;  /* tokens per time */
    /* at a length that was run: tokens per round of the next longer run, cut at this length; NaN if
     * there is none, or without depths */
    double cut;
} spec_length_speed;

/* What stays the same in all resamples. */
typedef struct {
    const spec_observed_runs *runs;
    const spec_advice_question *question;
    int current;                   /* draft length, >= 1 */
    int longest;                   /* longest length that was run, >= 1 */
    int reference;                 /* 0: plain decoding; else `current` */
    /* plain decoding was run with other batches but the same tokens/s; seconds per token can then
     * be compared, by Little's law */
    bool equal_rate;
    /* factor by which dependence between a run's windows widens its intervals */
    double widening[SPEC_ADVICE_K];
    /* relative variance of the run's tokens per busy second if windows were independent, and what
     * dependence changes, by each of its models */
    double variance[SPEC_ADVICE_K];
    spec_serial_model serial[SPEC_ADVICE_K][SPEC_SERIAL_MODELS];
    /* for a K that was not run: the run it is derived from has counts by depth that fit one alpha
     * per request, so the ends of the ratio of that run's tokens to those at K are linear in its
     * depths */
    bool linear[SPEC_ADVICE_K];
    spec_length_bound ratio_low[SPEC_ADVICE_K], ratio_high[SPEC_ADVICE_K];
} spec_length_plan;

/* Makes the plan from runs with drafts. Its reference is 0 if plain decoding was run in a range of
 * batches that some length with drafts ran in too, if only one of the two says how many requests
 * ran at a time, or if the question gives its speed. Returns GSL_ENOMEM. */
int spec_length_plan_init(spec_length_plan *plan, const spec_observed_runs *runs,
                          const spec_advice_question *question);

/* Returns the longest length of the question; if it has none, twice the longest run. */
int spec_length_plan_highest(const spec_length_plan *plan);

/* Computes the speeds of all lengths that were run or are at most the plan's highest, from sum
 * (runs->n, SPEC_SUM_COLUMNS). Leaves other entries unchanged. */
void spec_length_speeds(spec_length_speed ret[SPEC_ADVICE_K], const spec_length_plan *plan,
                        const double *sum);

/* Returns how many requests a run had at a time in a range of batches (-1: all), averaged over its
 * busy time; NaN: not known. */
double spec_length_plan_running(const spec_length_plan *plan, int K, int batch);

/* Returns whether both lengths had about equally many requests at a time in a range of batches. We
 * check because a range is wide, and a log that prints momentary numbers puts some windows into the
 * wrong range. */
bool spec_length_plan_same_batch(const spec_length_plan *plan, int K, int other_K, int batch);

/* Returns the run that says most about K >= 1: at K itself, else at the next longer length that was
 * run, else at the longest. */
const spec_observed_run *spec_length_plan_base(const spec_length_plan *plan, int K);

/* ---- Samples (length_samples.c) -------------------------------------------------------------- */

/* Speeds on resampled clusters, which give their intervals. Clusters of each run are drawn with
 * replacement, within their range of batches [Efron79]. All lengths use the same resamples, so that
 * their comparisons keep the dependence between them. Owns its samples. */
enum { SPEC_LENGTH_RESAMPLES = 500 };

typedef struct {
    const spec_length_plan *plan;
    /* (SPEC_LENGTH_RESAMPLES + 1, SPEC_ADVICE_K); row 0 is the data's own */
    spec_length_speed *speed;
    double *work;                /* (SPEC_LENGTH_RESAMPLES + 1) */
    spec_likely_engine *engines; /* that agree with the data's own times */
    spec_likely_draft *drafts;   /* that agree with its counters */
} spec_length_samples;

/* Draws the samples, and makes the median over likely engines the central estimate of each time
 * that was not measured. Returns GSL_ENOMEM. */
int spec_length_samples_init(spec_length_samples *samples, const spec_length_plan *plan);
void spec_length_samples_free(spec_length_samples *samples);

/* The number of a length that an interval is for. */
typedef enum { SPEC_LENGTH_TOKENS, SPEC_LENGTH_TIME, SPEC_LENGTH_SPEED } spec_length_which;

/* Returns the interval of a number of K, which covers both its range and sampling: it reaches from
 * the low quantile of the low end to the high quantile of the high end. With fewer than 16 clusters
 * it is Student's, with the standard error of the resamples; NaN with fewer than 2. `se` is NaN. */
spec_block_interval spec_length_samples_interval(spec_length_samples *samples, int K,
                                                 spec_length_which which);

/* Returns the same for the ratio of K's speed to that of another length. */
spec_block_interval spec_length_samples_ratio(spec_length_samples *samples, int K, int other);

/* Returns the probability that a loss is at most SPEC_ADVICE_TOLERANCE: the share of n scenarios,
 * or that of one kind of engine (likely_times.h) if it is smaller. Kinds that at most 5 % of the
 * scenarios have count only in the first share. */
double spec_length_within(const double *loss, const spec_likely_kind *kind, int n);

/* What a length loses compared with the fastest of several, as a share of that one's speed. */
typedef struct {
    double within;    /* spec_length_within of the scenarios */
    double largest;   /* quantile 1 - error over resamples of the largest loss over the ends */
    double fastest;   /* share of scenarios in which it is the fastest */
    spec_bounds gain; /* interval over scenarios of its speed relative to that of another length */
} spec_length_loss;

/* Computes the losses of K (n), lengths with a speed, and their gains over K[now]. A scenario is a
 * resample with the times of a likely engine and the tokens of a likely draft, within their bounds.
 * The largest loss is that over all combinations of ends (analysis/minimax_length.h). Returns the
 * smallest number of clusters of any length; below 2 nothing is resampled, and the losses come from
 * the scenarios alone. -1 if memory runs out. */
int spec_length_samples_losses(spec_length_loss *ret, spec_length_samples *samples, const int *K,
                               int n, int now);

#endif
