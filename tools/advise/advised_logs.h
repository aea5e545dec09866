/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advised_logs: what `speclab advise` prints about the logs of simulated engines.
 * The logs are files in memory. They are read like a user's files, by their content, and the answer
 * is the printed table (tools/advise/advice_report.h). */
#ifndef SPECLAB_ADVISED_LOGS_H
#define SPECLAB_ADVISED_LOGS_H

#include "base/table.h"
#include "tools/advise/counted_cases.h"

enum { SPEC_ADVISED_LOGS = 16 };

/* An engine's logs, one for each run. Owns its files; all zero is an empty list. */
typedef struct {
    int n;
    struct {
        FILE *out;
        char path[32];
        bool plain;
    } log[SPEC_ADVISED_LOGS];
} spec_advised_logs;

/* Adds an empty log (`plain`: one of plain decoding) and returns its stream. Its text must be
 * written before any question is asked, and the list must have room for it. Returns NULL, with an
 * error, if the system refuses. */
FILE *spec_advised_logs_add(spec_advised_logs *logs, bool plain, spec_error *error);
void spec_advised_logs_free(spec_advised_logs *logs);

/* The answer. */
typedef struct {
    spec_table table; /* as -f csv prints it */
    bool decided;     /* keep, change or off; otherwise one more run would decide */
    int K;            /* the recommended length, or the one to run; -1: none */
    double drift_p;   /* p-value of the test of constant acceptance */
} spec_advised;

/* Asks `speclab advise` about the logs. K is the value of --current; -1: not given. Returns
 * GSL_ENOMEM, GSL_EFAILED if a log could not be written, or the error of a log that is refused.
 * Must be freed even on failure. */
int spec_advised_ask(spec_advised *ret, const spec_advised_logs *logs, int K, uint64_t seed,
                     spec_error *error);
void spec_advised_free(spec_advised *advised);

/* Writes the logs of n runs (at most SPEC_ADVISED_LOGS; K = 0: plain decoding), and asks. Because
 * responses of llama.cpp do not say K, the first run's K is given for them. Returns the errors of
 * both steps. */
int spec_advised_case(spec_advised *ret, const spec_counted_case *c, const spec_counted_run *run,
                      int n, uint64_t seed, spec_error *error);

/* Returns the row of a draft length; -1: none. */
int spec_advised_row(const spec_advised *advised, int K);

/* The numbers that a row prints in the columns NAME_low, NAME and NAME_high. NaN: none, as for row
 * = -1. */
typedef struct {
    double low, value, high;
} spec_advised_interval;
spec_advised_interval spec_advised_interval_of(const spec_advised *advised, int row,
                                               const char *name);

#endif
