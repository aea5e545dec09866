#include "conformance/evidence/nearest.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* Validate on one fixture; is the mistake among the hints? -1: it did not fail. */
static int is_hinted(const char *sampler, const char *fixture, const char *mistake, int *opt_n)
{
    const char *const only[] = {fixture, NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    spec_validation v;
    spec_error error = {{0}};
    int found = 0;
    plan.draws = 100000;
    plan.seed = spec_test_seed();
    plan.opt_only = only;
    if (spec_validate(&v, sampler, &plan, &error) != GSL_SUCCESS) fail_msg("%s: %s", sampler, error.text);
    for (int i = 0; i < v.n_hints; i++) {
        found = found || strcmp(v.hint[i].name, mistake) == 0;
        assert_true(v.hint[i].log_likelihood <= (i > 0 ? v.hint[i - 1].log_likelihood : 0.0));
    }
    if (opt_n != NULL) *opt_n = v.n_hints;
    if (v.verdict != SPEC_VERDICT_FAIL) found = -1;
    spec_validation_free(&v);
    return found;
}

/* By other code than the mutant's: a rule of sim has the law of the mistake. */
static void a_wrong_rule_is_recognised(void **state)
{
    (void)state;
    assert_int_equal(is_hinted("rule:resample-target", "plain-4", "residual-from-target", NULL), 1);
}

static void a_mistake_is_near_to_itself(void **state)
{
    (void)state;
    static const char *const lines[][2] = {{"mutant:residual-softmax", "plain-4"},
                                           {"mutant:draft-sharper", "blind-64"},
                                           {"mutant:beam", "plain-4"}};
    for (int i = 0; i < 3; i++)
        if (is_hinted(lines[i][0], lines[i][1], lines[i][0] + strlen("mutant:"), NULL) != 1)
            fail_msg("%s is not near to itself", lines[i][0]);
}

static void what_does_not_fail_gets_no_hint(void **state)
{
    (void)state;
    int n = -1;
    assert_int_equal(is_hinted("rule:token", "plain-4", "", &n), -1);
    assert_int_equal(n, 0);
}

static void mistakes_with_other_laws_are_not_named(void **state)
{
    (void)state;
    int n = -1;
    assert_int_equal(is_hinted("mutant:row-by-stride", "shorter-4", "accept-all", &n), 0);
    assert_in_range(n, 1, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_rule_is_recognised),
        cmocka_unit_test(a_mistake_is_near_to_itself),
        cmocka_unit_test(what_does_not_fail_gets_no_hint),
        cmocka_unit_test(mistakes_with_other_laws_are_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
