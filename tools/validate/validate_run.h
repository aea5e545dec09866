/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_run: the state of a running validation, private to validate*.c.
 * In these files, validate_trials.c asks and counts, validate_judge.c reads the tests,
 * validate_power.c computes the detectable TV, and validate.c controls the stages. */
#ifndef SPECLAB_VALIDATE_RUN_H
#define SPECLAB_VALIDATE_RUN_H

#include "tools/validate/validate.h"


/* STAGES: how often we look at the evidence. FRESH_TIMES: size of the fresh data, in multiples of
 * the first data. */
enum { SPEC_STAGES = 4, SPEC_FRESH_TIMES = 4 };

/* If a p-value or an inverse e-value is below this, we draw fresh data. */
#define SPEC_SUSPICIOUS 1e-3

/* One fixture in one scope. */
typedef struct {
    spec_fixture fixture;
    spec_evidence *evidence;
    bool applies[SPEC_TESTS_MAX]; /* which lines of spec_tests apply and are wanted */
    int n_applies;
    double share;                 /* relative share of the budget */
    uint64_t draws;               /* its budget, tokens of full rounds */
    uint64_t asked;               /* tokens of full rounds asked so far */
    uint64_t batches;             /* batches so far */
    bool fresh;                   /* it has fresh data */
} spec_trial;

/* The place that needs the largest budget before a PASS can certify it. */
typedef struct {
    int result; /* -1: no place lacks budget; the other fields are then 0 */
    spec_place place;
    double tv, budget;
} spec_validate_lack;

/* The state of one thread. */
typedef struct {
    spec_subject subject;
    spec_evidence *evidence;      /* evidence of one batch: a fork of the trial's */
    gsl_rng *rng;
    int32_t *text;
    uint64_t accepted, emitted;   /* totals of the trial, to compare with the sampler's counters */
    spec_error error;
    int status;
} spec_worker;

typedef struct {
    spec_validation *validation;
    const spec_validate_plan *plan;
    const char *subject;
    spec_trial *trial;            /* (n_results) */
    /* (n_results) the order of trials, smallest first, so that a mistake shows on a small one */
    int *turn;
    spec_worker *worker;          /* (threads) */
    int threads;
    double *p;                    /* (n_results SPEC_TESTS_MAX) workspace */
    size_t *order;                /* (n_results SPEC_TESTS_MAX) workspace */
    uint64_t done;                /* draws so far */
    bool suspicious;
    bool unanswered;              /* a call for fresh data exceeded the time-out */
    spec_validate_lack lack;
    double begun; /* monotonic seconds */
    spec_error *error;
} spec_validate_run;

/* ---- validate_trials.c ----------------------------------------------------------------------- */

/* Fills the rows and laws of a trial, before its first use. */
int spec_validate_fill_trial(spec_validate_run *run, int trial);
int spec_validate_make_workers(spec_validate_run *run);

bool spec_validate_names_a_test(const spec_validate_plan *plan); /* in opt_only */

/* Makes a trial for each fixture and each scope that both it and the sampler have. */
int spec_validate_make_trials(spec_validate_run *run);
void spec_validate_free_run(spec_validate_run *run);
void spec_validate_end_worker(spec_worker *worker); /* accepts a zeroed worker */

double spec_validate_seconds(const spec_validate_run *run);
bool spec_validate_is_stopped(const spec_validate_run *run);

/* Returns whether the run was stopped, or its time is over. Fresh data get as much time again. */
bool spec_validate_must_end(const spec_validate_run *run, bool fresh);

/* Draws more of trial i, at least one batch, until a hard rule is broken or the time is over.
 * Batches run in parallel and merge in order. If a call exceeds limits.timeout, the result is late.
 * That is an error only if the sampler was late on more fixtures than it answered. */
int spec_validate_run_trial(spec_validate_run *run, int i, uint64_t draws);

/* If a call took too long, appends advice to run->error. Returns status. */
int spec_validate_blame_time(const spec_validate_run *run, int status);

/* Finds the reproducer of a failed trial. */
int spec_validate_reproduce(spec_validate_run *run, int i);

/* ---- validate_instances.c -------------------------------------------------------------------- */

/* Sends all workers the same questions with different seeds. If two give the same answers, only one
 * continues: validation->alone. */
int spec_validate_part_instances(spec_validate_run *run);

/* ---- validate_hints.c ------------------------------------------------------------------------ */

/* Finds the known mistakes closest to a FAIL, of a trial or (opt_worst -1) of all fixtures
 * together: validation->hint. */
int spec_validate_find_hints(spec_validate_run *run, int opt_worst);

/* ---- validate_orders.c ----------------------------------------------------------------------- */

/* For a failed trial with sampling parameters, tries other orders of filters: validation->order.
 * The trial then holds the evidence for the last order. */
int spec_validate_find_order(spec_validate_run *run, int i);

/* ---- validate_judge.c ------------------------------------------------------------------------ */

/* Reads the tests of trial i and of all trials together: run->validation->log_e, ->together. */
void spec_validate_read(spec_validate_run *run, int i);

/* Applies Holm's correction to the p-values of all results, or of those with opt_mask[i]: sets
 * result->p, returns the smallest. */
double spec_validate_holm(const spec_validate_run *run, const bool *opt_mask);

/* Returns the log capital at which bets FAIL. Bets may use half of false_alarm_rate, and fresh data
 * the rest. */
double spec_validate_log_fail(const spec_validate_plan *plan);

int spec_validate_first_hard(const spec_validation *validation); /* -1: none */

/* Sets the verdict and its reason; returns the failed result, or -1.
 *   failed   the bets reached spec_validate_log_fail, or a hard rule is broken (validate.c)
 *   fresh_p  p-value of fresh data; 1 if there are none */
int spec_validate_judge(spec_validate_run *run, bool failed, double fresh_p);

/* ---- validate_power.c ------------------------------------------------------------------------ */

/* Computes the detectable TV from the counts so far: result->detectable, result->judged and
 * run->validation->power. */
void spec_validate_fill_detectable(spec_validate_run *run);

/* Returns the place on a judged fixture that needs the largest budget, in tokens of full rounds, to
 * bring the detectable TV within the limit. Call this while the trials hold the data of the first
 * look. */
spec_validate_lack spec_validate_find_lack(const spec_validate_run *run);

#endif
