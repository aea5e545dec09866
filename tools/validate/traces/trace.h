/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace: the verdict on a trace, a file of the tokens that an engine emitted.
 * The engine does not run, so we cannot get fresh data. Therefore a FAIL requires a capital of
 * 2/false_alarm_rate or a token of probability 0, and a trace that is only suspicious is
 * INCONCLUSIVE. docs/conformance.md#traces. */
#ifndef SPECLAB_TRACE_H
#define SPECLAB_TRACE_H

#include "tools/validate/traces/trace_evidence.h"
#include "tools/validate/validate.h"

/* Judges the trace in the file `path`; "-" is standard input. From the plan it uses
 * false_alarm_rate, eps, power, seed and opt_only (names of tests). The validation has one result,
 * of kind spec_trace_kind: rounds are texts, draws are tokens, and detectable is the TV between
 * uniform and the tokens' PITs in the target's law (32 cells). A PASS needs rows. Without them a
 * trace that shows nothing is INCONCLUSIVE, and the report gives the difference that would have
 * shown. Returns GSL_EINVAL for an unknown test, and, with file and line, for an invalid trace;
 * GSL_EFAILED if the file cannot be read; GSL_ENOMEM. Free it with spec_validation_free. */
int spec_trace_validate(spec_validation *ret, const char *path, const spec_validate_plan *plan,
                        spec_error *error);

/* The same for an open file; `name` is for messages. */
int spec_trace_validate_file(spec_validation *ret, FILE *file, const char *name,
                             const spec_validate_plan *plan, spec_error *error);

extern const spec_fixture_kind spec_trace_kind; /* for reports only; it has no open */

#endif
