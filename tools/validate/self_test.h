/* SPDX-License-Identifier: GPL-3.0-or-later */
/* self_test: validates every known mistake (mutants.h): does `validate` find it?
 * Each mutant is validated like any sampler, with several seeds. A mistake must FAIL, unless the
 * table calls it too small; an exact algorithm must not FAIL; a lossy one must be LOSSY. If the
 * first run is a FAIL, its hints are counted. */
#ifndef SPECLAB_SELF_TEST_H
#define SPECLAB_SELF_TEST_H

#include "base/thread_pool.h"
#include "tools/validate/mutants/mutants_run.h"
#include "tools/validate/validate.h"

typedef struct {
    const spec_mutant *mutant;
    int runs, n_found;   /* runs, and how many of them were FAIL (for a lossy one: LOSSY) */
    const char *fixture; /* fixture and test of the first run that found it; NULL: not found */
    const char *test;
    const spec_fixture_kind *kind; /* kind of that fixture; NULL: no single fixture found it */
    bool failed;               /* the first run was a FAIL */
    const char *hint;          /* first hint of the first run; NULL: none */
    const char *other_hint;    /* the first of its hints that is another mistake; NULL: none */
    char needed[96];           /* the values of the design that the first failure needs, separated
                                * by "; " */
    double draws; /* draws until it was found, median over runs; NaN: most runs did not find it */
    spec_mutants_distance worst;
    bool ok;
    bool whole; /* ran to the end */
} spec_self_test_line;

typedef struct {
    int runs; /* seeds for each mutant; one for a mistake in a pair */
    uint64_t draws; /* per run; a mutant that need not be found gets one run of draws / 16 */
    uint64_t distance_draws;   /* draws for spec_mutants_worst; 0: not measured */
    uint64_t seed;
    spec_thread_pool *opt_pool;  /* one mutant per thread */
    const char *const *opt_only; /* names of mutants, NULL-terminated; NULL: all */
    const volatile int *opt_stop;
    void (*progress)(void *self, const char *mutant, int done, int all); /* may be NULL */
    void *self;
} spec_self_test_plan;

#define SPEC_SELF_TEST_PLAN_DEFAULT                                                                \
    ((spec_self_test_plan){                                                                        \
        .runs = 3, .draws = SPEC_VALIDATE_DRAWS, .distance_draws = 10000, .seed = 42})

typedef struct {
    spec_self_test_line *line; /* (n) */
    int n, n_wrong;            /* n_wrong: lines with the wrong outcome */
    int all; /* more than n if *opt_stop was set, because the other lines are then left out */
    int n_failed;              /* lines whose first run was a FAIL */
    int n_hinted, n_misled;    /* how many of these have a right first hint, and how many a wrong
                                * one */
    int n_other; /* how many of these have a hint at another mistake, first or not */
} spec_self_test_result;

/* The share of failed lines whose first hint must be right. */
#define SPEC_SELF_TEST_HINTED 0.9

int spec_self_test(spec_self_test_result *ret, const spec_self_test_plan *plan, spec_error *error);
void spec_self_test_free(spec_self_test_result *result);

/* Returns the outcome in a word or two: "found", or "MISSED"; "too small"; "lossy", or "NOT CALLED
 * LOSSY"; "passes", or "FALSE ALARM". */
const char *spec_self_test_outcome(const spec_self_test_line *line);

#endif
