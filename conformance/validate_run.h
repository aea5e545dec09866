/* validate_run: the fixtures and samplers of one validation while it runs, for validate*.c; nobody else needs this
 * header. validate_trials.c asks and counts, validate_judge.c reads what the tests say, validate.c decides when and
 * what next. */
#ifndef SPECLAB_VALIDATE_RUN_H
#define SPECLAB_VALIDATE_RUN_H

#include "conformance/validate.h"

#include <time.h>

/* Shares of the budget after which the evidence is looked at; how many more times as much of it fresh data is. */
enum { SPEC_STAGES = 4, SPEC_FRESH_TIMES = 4 };

/* How suspicious is enough for fresh data. */
#define SPEC_SUSPICIOUS 1e-3

/* One fixture in one scope. */
typedef struct {
    spec_fixture fixture;
    spec_evidence *evidence;
    bool applies[SPEC_TESTS_MAX]; /* which lines of spec_tests: wanted ones only */
    int n_applies;
    double share;                 /* of the budget, before all are made to sum to 1 */
    uint64_t draws;               /* its budget */
    uint64_t batches;             /* asked so far */
    bool fresh;                   /* its batches are of the second look */
} spec_trial;

/* What one thread works with. */
typedef struct {
    spec_subject subject;
    spec_evidence *evidence;      /* of one batch: a fork of the trial's */
    gsl_rng *rng;
    int32_t *text;
    uint64_t accepted, emitted;   /* of the trial, for the subject's own counters */
    spec_error error;
    int status;
} spec_worker;

typedef struct {
    spec_validation *validation;
    const spec_validate_plan *plan;
    const char *subject;
    spec_trial *trial;            /* (n_results) */
    int *turn;                    /* (n_results) smallest first, so that what shows a mistake first is small */
    spec_worker *worker;          /* (threads) */
    int threads;
    double *p;                    /* (n_results SPEC_TESTS_MAX) workspace */
    size_t *order;                /* the same */
    uint64_t done;                /* draws */
    bool suspicious;
    struct timespec begun;
    spec_error *error;
} spec_validate_run;

/* ---- validate_trials.c ------------------------------------------------------------------------------------------- */

int spec_validate_make_workers(spec_validate_run *run);

/* One place for each fixture and each of the sampler's scopes that it is made for. */
int spec_validate_make_trials(spec_validate_run *run);
void spec_validate_free_run(spec_validate_run *run);

double spec_validate_seconds(const spec_validate_run *run);
bool spec_validate_is_stopped(const spec_validate_run *run);

/* Is it stopped, or its time over? What is asked again may take as long again. */
bool spec_validate_must_end(const spec_validate_run *run, bool fresh);

/* Draw more of trial i, in batches that run in parallel and merge in order, until a hard rule is broken or the time is
 * over. At least one. */
int spec_validate_run_trial(spec_validate_run *run, int i, uint64_t draws);

/* Find the smallest case of a failed trial. */
int spec_validate_reproduce(spec_validate_run *run, int i);

/* ---- validate_judge.c -------------------------------------------------------------------------------------------- */

/* What the tests say of trial i, and of all together: run->validation->log_e, ->together. */
void spec_validate_read(spec_validate_run *run, int i);

/* Holm over the p-values of all results, or of those with opt_mask[i]: fills in result->p, returns the least. */
double spec_validate_holm(const spec_validate_run *run, const bool *opt_mask);

/* The capital at which it is a FAIL, as a logarithm: half of alpha is for the bets, half for fresh data. */
double spec_validate_log_fail(const spec_validate_plan *plan);

int spec_validate_first_hard(const spec_validation *validation); /* -1: none */

/* The sizes from which on every difference in the row of one state would have been found. */
void spec_validate_fill_detectable(spec_validate_run *run);

/* The verdict, its reason, and which result failed: its number, or -1. fresh_p: of fresh data; 1 without. */
int spec_validate_judge(spec_validate_run *run, bool failed, double fresh_p);

#endif
