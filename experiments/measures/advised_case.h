/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advised_case: an advice on a simulated engine, on the way of a user.
 * Logs of the engine are written as files, files are read by their content, and the answer is the
 * printed table (experiments/advice/advice_report.h). The caller owns the answer. */
#ifndef SPECLAB_ADVISED_CASE_H
#define SPECLAB_ADVISED_CASE_H

#include "base/table.h"
#include "experiments/measures/counted_cases.h"

enum { SPEC_ADVISED_RUNS = 16 };

typedef struct {
    double low, value, high; /* NaN: not printed */
} spec_advised_interval;

/* The answer. */
typedef struct {
    spec_table table;     /* as -f csv prints it */
    bool decided;         /* keep, change or off; else one more run is asked for */
    int K;                /* the recommended length, or the one to run; -1: none is named */
    double drift_p;       /* of the test of constant acceptance */
} spec_advised;

/* Ask about the logs of n runs (SPEC_ADVISED_RUNS at most); those with K = 0 are given as plain
 * ones. Responses of llama.cpp do not say K: it is then given, too, as the K of the first run.
 * GSL_ENOMEM, GSL_EFAILED for files, and whatever refuses the logs. To be freed on failure, too. */
int spec_advised_case(spec_advised *ret, const spec_counted_case *c, const spec_counted_run *run,
                      int n, uint64_t seed, spec_error *error);
void spec_advised_free(spec_advised *advised);

/* The row of a draft length; -1: none. */
int spec_advised_row(const spec_advised *advised, int K);

/* The interval that the columns NAME, NAME_low and NAME_high of a row print. Without a column of
 * the value, or without a value, `value` is NaN. All are NaN for row = -1. */
spec_advised_interval spec_advised_interval_of(const spec_advised *advised, int row,
                                               const char *name);

#endif
