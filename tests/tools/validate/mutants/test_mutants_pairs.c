/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mistakes that need two values at once are found at the default budget. */
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tools/validate/fixtures/design.h"
#include "tools/validate/mutants/mutants.h"
#include "tools/validate/validate.h"

#include <string.h>

static bool is_found(const char *name, double *ret_draws)
{
    char subject[96];
    spec_validation v;
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.hints = false;
    plan.opt_pool = spec_test_pool(0);
    plan.seed = spec_test_seed();
    snprintf(subject, sizeof subject, "mutant:%s", name);
    assert_works(spec_validate(&v, subject, &plan, &error));
    const bool found = v.verdict == SPEC_VERDICT_FAIL;
    *ret_draws = (double)v.draws;
    printf("%-36s %-8s %10.0f  %s\n", name, found ? "found" : "MISSED", *ret_draws,
           v.reproducer.kind != NULL ? v.reproducer.kind->name : "");
    fflush(stdout);
    spec_validation_free(&v);
    return found;
}

TEST(there_are_many_for_all_pairs_of_dimensions)
{
    int n = 0;
    for (; spec_mutants_pair(n) != NULL; n++) {
        const spec_mutant *found;
        assert_works(spec_mutants_find(&found, spec_mutants_pair(n)->name, &error));
        assert_ptr_equal(found, spec_mutants_pair(n));
    }
    printf("%d mistakes in pairs\n", n);
    assert_true(n >= 60);
}

/* Every ninth one; `speclab validate --self-test` runs all of them. */
TEST(a_part_of_them_is_found, SLOW)
{
    int missed = 0;
    double draws;
    for (int i = 0; spec_mutants_pair(i) != NULL; i += spec_test_stride(9))
        missed += !is_found(spec_mutants_pair(i)->name, &draws);
    assert_int_equal(missed, 0);
}
