/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validation: a plan without hints, and a validation that must run.
 * Hints take most of the time of a run that fails. */
#ifndef SPECLAB_TESTS_VALIDATION_H
#define SPECLAB_TESTS_VALIDATION_H

#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tools/validate/validate.h"

static inline spec_validate_plan plan_of(uint64_t draws, int threads, const char *const *only)
{
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    plan.draws = draws;
    plan.opt_pool = spec_test_pool(threads);
    plan.opt_only = only;
    plan.hints = false;
    return plan;
}

static inline void run(spec_validation *v, const char *subject, const spec_validate_plan *plan)
{
    spec_error error = {{0}};
    if (spec_validate(v, subject, plan, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", subject, error.text);
}

#endif
