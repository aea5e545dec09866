/* trace: is what an engine did lossless? A verdict over a file of its tokens, without running it.
 * There is no fresh data to ask for: a FAIL is a capital of 1/alpha or a token that may never be, and what is only
 * suspicious is INCONCLUSIVE. docs/conformance.md#traces. */
#ifndef SPECLAB_TRACE_H
#define SPECLAB_TRACE_H

#include "conformance/traces/trace_evidence.h"
#include "conformance/validate.h"

/* Judge the trace in the file `path`, "-" being standard input. Of the plan alpha, eps, power, seed and opt_only (names
 * of tests) are used. The validation has one result, of kind spec_trace_kind: rounds are texts, draws are tokens,
 * detectable is the TV of the tokens' places in the target's cumulative law (32 cells). PASS takes rows; without, a
 * trace that shows nothing is INCONCLUSIVE, with what would have been seen.
 * GSL_EINVAL for a test that there is not and for what is no trace, with file and line; GSL_EFAILED for a file that
 * cannot be read; GSL_ENOMEM. spec_validation_free frees it. */
int spec_trace_validate(spec_validation *ret, const char *path, const spec_validate_plan *plan, spec_error *error);

/* The same of an open file; `name` is for messages. */
int spec_trace_validate_file(spec_validation *ret, FILE *file, const char *name, const spec_validate_plan *plan,
                             spec_error *error);

extern const spec_fixture_kind spec_trace_kind; /* stands in for a fixture in reports; it cannot be opened */

#endif
