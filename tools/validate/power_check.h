/* SPDX-License-Identifier: GPL-3.0-or-later */
/* power_check: measures power: is a TV that we report as detectable found as often as promised?
 * It validates an exact sampler, biases it by exactly the reported TV at a place and state, and
 * validates it many times. Runs are independent and parallel: the result is the same for any number
 * of threads. The check owns its lines. */
#ifndef SPECLAB_POWER_CHECK_H
#define SPECLAB_POWER_CHECK_H

#include "tools/validate/samplers/bias.h"
#include "tools/validate/validate.h"

/* One fixture, scope, place and direction. */
typedef struct {
    const spec_fixture_kind *kind;
    uint32_t scope;
    spec_bias_spec bias; /* .tv is the reported TV */
    int runs, ended, found; /* ended: runs finished so far. runs = 0: a TV this large is
                             * impossible */
    double low, high;    /* Clopper-Pearson interval of the power, confidence .95 */
} spec_power_check_line;

typedef struct {
    spec_power_check_line *line; /* (n) */
    int n, n_short;              /* n_short: spec_power_check_short for plan->power */
    int done, all;               /* runs; fewer than all if limits.opt_stop was set */
} spec_power_check_result;

#define SPEC_POWER_CHECK_DRAWS 60000ull /* draws per run */

/* Runs spec_validate `runs` times for each line, up to plan->draws. Each run has its own seed, one
 * thread and one fixture. plan->opt_only names fixtures (NULL: 22 of all kinds), plan->scopes
 * chooses scopes. plan->endless: endless runs, stopped at plan->draws. plan->progress receives the
 * runs done out of all. After a stop, ret has only the lines with finished runs, and counts only
 * these runs. Errors come from spec_validate, in the first run that fails. */
int spec_power_check(spec_power_check_result *ret, int runs, const spec_validate_plan *plan,
                     spec_error *error);
/* Returns the number of lines with too little power, that is with a Clopper-Pearson interval below
 * `power` at confidence 1 - .05/lines. So with probability at most .05 some line falls short by
 * chance. With confidence .95 for each line, one in forty with exactly this power would fall short.
 * Lines without runs are ignored. */
int spec_power_check_short(const spec_power_check_line *line, int n, double power);
void spec_power_check_free(spec_power_check_result *result);

#endif
