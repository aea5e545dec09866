/* trace_evidence: what the tokens of a trace say against the law that the trace itself records.
 * The null: whatever stands in earlier lines, and whatever the engine logs for this place before it has the token, the
 * token has the law of the target's row. Tests are lines of spec_trace_tests; those that lack what they need are left
 * out. docs/conformance.md#traces. */
#ifndef SPECLAB_TRACE_EVIDENCE_H
#define SPECLAB_TRACE_EVIDENCE_H

#include "conformance/evidence/evidence.h"
#include "conformance/traces/trace_read.h"

typedef struct spec_trace_evidence spec_trace_evidence;

typedef struct {
    const char *name, *reason; /* one line: which mistakes it is made for */
    void (*finding)(spec_finding *ret, const spec_trace_evidence *evidence, int setting);
    int setting;
} spec_trace_test;

extern const spec_trace_test spec_trace_tests[]; /* at most SPEC_TESTS_MAX; ends with a name of NULL */

/* Places in cumulative laws are smoothed by draws from `rng`, which stays the caller's. GSL_ENOMEM. */
int spec_trace_evidence_init(spec_trace_evidence **ret, const spec_trace_head *head, gsl_rng *rng, spec_error *error);
void spec_trace_evidence_free(spec_trace_evidence *evidence);

/* Count the next token, and keep in its text what later ones are compared with. Nothing is allocated. */
void spec_trace_evidence_add(spec_trace_evidence *evidence, const spec_trace_record *record, uint64_t line);

/* What the tests say: ret (SPEC_TESTS_MAX); returns how many had something to look at. `drafted` and `coin` say what
 * the engine did, not what came of it: they have no e-value, and no part in a verdict. The p-values of tests about one
 * number are NaN where too little was expected for a normal law. */
int spec_trace_evidence_findings(spec_finding *ret, const spec_trace_evidence *evidence);

/* Tokens; those with a row. */
uint64_t spec_trace_evidence_tokens(const spec_trace_evidence *evidence);
uint64_t spec_trace_evidence_rows(const spec_trace_evidence *evidence);

/* The first token that may never be, and its line. */
spec_hard spec_trace_evidence_hard(const spec_trace_evidence *evidence, uint64_t *ret_line);

/* The mean n_accepted of a round, NaN where it is not logged. */
double spec_trace_evidence_accepted(const spec_trace_evidence *evidence);

/* What would have been found with that power, where log_needed is the capital that one test needs by itself.
 * _detectable: the TV from uniform of the tokens' places in the target's cumulative law, in 32 cells; NaN: no rows.
 * _share: the share of tokens taken from the draft without a test; NaN: there are no ratios, or none would do. */
double spec_trace_evidence_detectable(const spec_trace_evidence *evidence, double log_needed, double power);
double spec_trace_evidence_share(const spec_trace_evidence *evidence, double log_needed, double power);

#endif
