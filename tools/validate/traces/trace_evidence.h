/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_evidence: counts and tests of a trace's tokens against the rows that it records.
 * The null hypothesis: the token has the law of the target's row, given all earlier lines and what
 * the engine logs for this position before it draws. Tests are lines of spec_trace_tests; a test is
 * skipped if its data are missing. docs/conformance.md#traces. */
#ifndef SPECLAB_TRACE_EVIDENCE_H
#define SPECLAB_TRACE_EVIDENCE_H

#include "tools/validate/evidence/evidence.h"
#include "tools/validate/traces/trace_record.h"

typedef struct spec_trace_evidence spec_trace_evidence;

typedef struct {
    const char *name, *reason; /* one line: the mistakes that it finds */
    void (*finding)(spec_finding *ret, const spec_trace_evidence *evidence, int setting);
    int setting;
} spec_trace_test;

extern const spec_trace_test
    spec_trace_tests[]; /* at most SPEC_TESTS_MAX; ends with a name of NULL */

/* Starts with no tokens. PITs are randomised with draws from `rng`, which stays the caller's.
 * Returns GSL_ENOMEM if out of memory. */
int spec_trace_evidence_init(spec_trace_evidence **ret, const spec_trace_head *head, gsl_rng *rng,
                             spec_error *error);
void spec_trace_evidence_free(spec_trace_evidence *evidence);

/* Counts the next token, and updates its text for the tokens that follow. Allocates nothing. */
void spec_trace_evidence_add(spec_trace_evidence *evidence, const spec_trace_record *record,
                             uint64_t line);

/* Runs the tests: ret (SPEC_TESTS_MAX). Returns how many had data. `drafted` and `coin` are about
 * the engine, not its output, so they have no e-value and do not affect the verdict. Tests about
 * one mean have a p of NaN if too little was expected for a normal approximation. */
int spec_trace_evidence_findings(spec_finding *ret, const spec_trace_evidence *evidence);

/* Return the number of tokens, and of tokens with a row. */
uint64_t spec_trace_evidence_tokens(const spec_trace_evidence *evidence);
uint64_t spec_trace_evidence_rows(const spec_trace_evidence *evidence);

/* Returns the first hard rule that a token broke, and its line. */
spec_hard spec_trace_evidence_hard(const spec_trace_evidence *evidence, uint64_t *ret_line);

/* Returns the mean n_accepted of a round; NaN if it is not logged. */
double spec_trace_evidence_accepted(const spec_trace_evidence *evidence);

/* Return the difference that would have been detected with this power, if a single test must reach
 * the log capital log_needed. _detectable: TV between uniform and the tokens' PITs in the target's
 * law, in 32 cells; NaN if there are no rows. _share: share of tokens taken from the draft
 * untested; NaN if there are no ratios, or no share would be detected. */
double spec_trace_evidence_detectable(const spec_trace_evidence *evidence, double log_needed,
                                      double power);
double spec_trace_evidence_share(const spec_trace_evidence *evidence, double log_needed,
                                 double power);

#endif
