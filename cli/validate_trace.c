/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_trace.h"

#include "cli/output.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "conformance/traces/trace_write.h"

#include <string.h>

#define DEFAULT_FIXTURE "plain-4"
#define DEFAULT_TOKENS 100000ull

static spec_trace_contents contents_of(const char *opt_holds, const char *verb)
{
    int i = 0;
    if (opt_holds == NULL) return SPEC_TRACE_ROWS;
    while (i < SPEC_TRACE_CONTENTS && strcmp(spec_trace_contents_names[i], opt_holds) != 0) i++;
    if (i == SPEC_TRACE_CONTENTS)
        spec_usage_fail(verb, "--holds: '%s' is not rows, top or logprobs", opt_holds);
    return (spec_trace_contents)i;
}

int spec_validate_write_trace(const spec_validate_args *args, const char *verb)
{
    const spec_fixture_kind *kind;
    const spec_trace_contents contents = contents_of(args->holds, verb);
    spec_error error = {{0}};
    if (spec_fixture_find(&kind, args->only != NULL ? args->only[0] : DEFAULT_FIXTURE, &error) !=
        GSL_SUCCESS)
        spec_usage_fail(verb, "--only: %s", error.text);
    spec_output output;
    if (spec_output_open(&output, args->write_trace, verb, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--write-trace: %s", error.text);
    int status;
    status = spec_trace_write(output.out, args->sampler, kind, contents,
                              args->budget_given ? args->plan.draws : DEFAULT_TOKENS,
                              args->plan.seed, &spec_stop, &error);
    SPEC_TRY(spec_output_check(&output, status, &error));
    SPEC_TRY(spec_output_close(&output, args->common.force, verb, &error));
done:
    spec_output_discard(&output);
    if (status == GSL_SUCCESS) return SPEC_EXIT_HOLDS;
    spec_usage_say(verb, spec_stop ? "interrupted" : "%s: %s", args->sampler, error.text);
    return SPEC_EXIT_USAGE;
}
