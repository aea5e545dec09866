/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_evidence: counts and tests of a trace's tokens against the rows that it records.
 * The null: the token has the law of the target's row, given all earlier lines and what the engine
 * logs for this place before it draws. Tests are lines of spec_trace_tests; those without the data
 * they need are skipped. docs/conformance.md#traces. */
#ifndef SPECLAB_TRACE_EVIDENCE_H
#define SPECLAB_TRACE_EVIDENCE_H

#include "conformance/evidence/evidence.h"
#include "conformance/traces/trace_record.h"

typedef struct spec_trace_evidence spec_trace_evidence;

typedef struct {
    const char *name, *reason; /* one line: the mistakes that it finds */
    void (*finding)(spec_finding *ret, const spec_trace_evidence *evidence, int setting);
    int setting;
} spec_trace_test;

extern const spec_trace_test
    spec_trace_tests[]; /* at most SPEC_TESTS_MAX; ends with a name of NULL */

/* PITs are randomised with draws from `rng`, which stays the caller's. GSL_ENOMEM. */
int spec_trace_evidence_init(spec_trace_evidence **ret, const spec_trace_head *head, gsl_rng *rng,
                             spec_error *error);
void spec_trace_evidence_free(spec_trace_evidence *evidence);

/* Counts the next token, and updates its text for the tokens after it. Allocates nothing. */
void spec_trace_evidence_add(spec_trace_evidence *evidence, const spec_trace_record *record,
                             uint64_t line);

/* Runs the tests: ret (SPEC_TESTS_MAX); returns how many had data. `drafted` and `coin` are about
 * the engine, not its output: they have no e-value and no part in a verdict. Tests about one mean
 * have a p of NaN if too little was expected for a normal law. */
int spec_trace_evidence_findings(spec_finding *ret, const spec_trace_evidence *evidence);

/* Tokens; tokens with a row. */
uint64_t spec_trace_evidence_tokens(const spec_trace_evidence *evidence);
uint64_t spec_trace_evidence_rows(const spec_trace_evidence *evidence);

/* The first token that breaks a hard rule, and its line. */
spec_hard spec_trace_evidence_hard(const spec_trace_evidence *evidence, uint64_t *ret_line);

/* Mean n_accepted of a round; NaN if it is not logged. */
double spec_trace_evidence_accepted(const spec_trace_evidence *evidence);

/* The difference that would have been detected with that power, where a test by itself needs the
 * log capital log_needed. _detectable: TV from uniform of the tokens' PITs in the target's law, in
 * 32 cells; NaN: no rows. _share: share of tokens taken from the draft untested; NaN: no ratios, or
 * no share would be detected. */
double spec_trace_evidence_detectable(const spec_trace_evidence *evidence, double log_needed,
                                      double power);
double spec_trace_evidence_share(const spec_trace_evidence *evidence, double log_needed,
                                 double power);

#endif
