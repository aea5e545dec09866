/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_speeds: tokens per round, time and speed of every draft length, from sums of runs.
 * A function of the sums alone, so that resampled sums give resampled speeds. Times and speeds are
 * relative to plain decoding where it was measured, else to the current length. Numbers that the
 * data leave open have two ends. docs/formulas.md#advice. */
#ifndef SPECLAB_LENGTH_SPEEDS_H
#define SPECLAB_LENGTH_SPEEDS_H

#include "analysis/acceptance/length_bounds.h"
#include "experiments/advice/advice_record.h"
#include "experiments/advice/observed_runs.h"

/* The ends are equal where the data determine the number; NaN where they say nothing. `point` is
 * the central estimate between them. */
typedef struct {
    double low, point, high;
} spec_length_number;

typedef struct {
    spec_length_number tokens; /* per round */
    spec_length_number time;   /* of a round */
    spec_length_number speed;  /* tokens per time */
} spec_length_speed;

/* The questions that do not change between resamples. */
typedef struct {
    const spec_observed_runs *runs;
    const spec_advice_question *question;
    int current;                   /* draft length, >= 1 */
    int longest;                   /* that was run, >= 1 */
    int reference;                 /* 0: plain decoding; else `current` */
    /* plain decoding was run at other batches, but at the same tokens/s: by Little's law seconds
     * per token compare then */
    bool equal_rate;
    double time_se[SPEC_ADVICE_K]; /* relative standard error of a run's time, for the line */
    double widening[SPEC_ADVICE_K]; /* of intervals of a run, by the dependence of its windows */
    /* [K] not run: do the rounds of its base have depths, and allow one alpha per request? Then the
     * ends of the base's tokens over those at K are linear in its depths. */
    bool linear[SPEC_ADVICE_K];
    spec_length_bound ratio_low[SPEC_ADVICE_K], ratio_high[SPEC_ADVICE_K];
} spec_length_plan;

/* The plan of runs with drafts. GSL_ENOMEM; reference 0 if plain decoding was run in a range of
 * batches that a length with drafts shares, or the question gives its speed. */
int spec_length_plan_init(spec_length_plan *plan, const spec_observed_runs *runs,
                          const spec_advice_question *question);

/* The longest length of the question; without one, twice the longest run. */
int spec_length_plan_highest(const spec_length_plan *plan);

/* For the lengths that ran and those up to the highest of the plan, from sum (runs->n,
 * SPEC_SUM_COLUMNS). Others are not written. */
void spec_length_speeds(spec_length_speed ret[SPEC_ADVICE_K], const spec_length_plan *plan,
                        const double *sum);

/* Requests at a time of a run in a range of batches (-1: all), by its busy time; NaN: not known. */
double spec_length_plan_running(const spec_length_plan *plan, int K, int batch);

/* Did both lengths have about as many requests at a time, in a range of batches? A range is wide,
 * and a log that prints the number of a moment puts some windows into a wrong one. */
bool spec_length_plan_same_batch(const spec_length_plan *plan, int K, int other_K, int batch);

/* The run that says most of K >= 1: its own, else the next longer one, else the longest. */
const spec_observed_run *spec_length_plan_base(const spec_length_plan *plan, int K);

#endif
