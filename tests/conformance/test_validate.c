/* Validate: the same result for any number of threads; verdicts; what is said to be detectable is found; the budget. */
#include "conformance/validate.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const few[] = {"plain-4", "zipf-16", "repeats-4", "blind-3", "two-2", NULL};

static void run(spec_validation *ret, const char *subject, const spec_validate_plan *plan)
{
    spec_error error = {{0}};
    if (spec_validate(ret, subject, plan, &error) != GSL_SUCCESS) fail_msg("%s: %s", subject, error.text);
}

static spec_validate_plan small(const char *const *only, uint64_t draws)
{
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_only = only;
    plan.draws = draws;
    plan.threads = 1;
    return plan;
}

static void same(const spec_validation *a, const spec_validation *b)
{
    assert_int_equal(a->verdict, b->verdict);
    assert_string_equal(a->reason, b->reason);
    assert_same(a->log_e, b->log_e);
    assert_same(a->p, b->p);
    assert_int_equal(a->draws, b->draws);
    assert_int_equal(a->rounds, b->rounds);
    assert_int_equal(a->n_results, b->n_results);
    for (int i = 0; i < a->n_results; i++) {
        const spec_validate_result *x = &a->result[i], *y = &b->result[i];
        assert_int_equal(x->n_findings, y->n_findings);
        assert_int_equal(x->hard, y->hard);
        assert_same(x->accepted, y->accepted);
        assert_same(x->detectable, y->detectable);
        for (int k = 0; k < x->n_findings; k++) {
            assert_same(x->finding[k].log_e, y->finding[k].log_e);
            assert_same(x->finding[k].p, y->finding[k].p);
            assert_same(x->finding[k].n, y->finding[k].n);
        }
    }
    assert_int_equal(a->reproducer.state, b->reproducer.state);
    assert_int_equal(a->reproducer.round.index, b->reproducer.round.index);
}

static void the_result_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    static const char *const subjects[] = {"rule:token", "rule:resample-target", "mutant:coin-at-most"};
    static const char *const coins[] = {"coins-8", "plain-4", NULL};
    for (int s = 0; s < 3; s++) {
        spec_validate_plan plan = small(s < 2 ? few : coins, 150000);
        spec_validation one, more;
        run(&one, subjects[s], &plan);
        for (plan.threads = 2; plan.threads <= 3; plan.threads++) {
            run(&more, subjects[s], &plan);
            same(&one, &more);
            spec_validation_free(&more);
        }
        assert_int_equal(one.verdict, s == 0 ? SPEC_VERDICT_PASS : SPEC_VERDICT_FAIL);
        spec_validation_free(&one);
    }
}

static void lossless_rules_pass(void **state)
{
    (void)state;
    static const char *const subjects[] = {"rule:token", "rule:block", "rule:match"};
    const spec_validate_plan plan = small(few, 300000);
    for (int s = 0; s < 3; s++) {
        spec_validation v;
        run(&v, subjects[s], &plan);
        assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
        assert_true(v.detectable > 0.0 && v.detectable < 0.1 && v.log_e < log(2e6) && v.p > 1e-3);
        assert_int_equal(v.reproducer.n_shown, 0);
        spec_validation_free(&v);
    }
}

/* Gross mistakes are found in the first of the four stages, which has a 64th of the budget. */
static void what_is_grossly_wrong_is_found_soon(void **state)
{
    (void)state;
    const spec_validate_plan plan = small(few, 3000000);
    spec_validation v;
    run(&v, "rule:resample-target", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_true(v.draws < 3000000 / 16);
    assert_true(v.reproducer.n_shown > 0 && v.log_e >= log(2e6));
    spec_validation_free(&v);
    run(&v, "rule:lenience?l=0.5", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_LOSSY);
    spec_validation_free(&v);
}

static void too_little_says_nothing(void **state)
{
    (void)state;
    static const char *const one[] = {"plain-4", NULL}, *const test[] = {"tail", "plain-4", NULL};
    spec_validate_plan plan = small(one, 2000);
    spec_validation v;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    spec_validation_free(&v);
    plan.draws = 200000;
    plan.eps = 0.001;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    spec_validation_free(&v);
    plan.eps = 0.05;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
    assert_true(v.detectable <= 0.05);
    spec_validation_free(&v);
    plan.opt_only = test;
    run(&v, "rule:token", &plan);
    for (int i = 0; i < v.n_results; i++) assert_int_equal(v.result[i].n_findings, 1);
    spec_validation_free(&v);
}

/* A budget of time is kept, but for the batch that is under way. */
static void time_is_a_budget(void **state)
{
    (void)state;
    spec_validate_plan plan = small(few, 0);
    spec_validation v;
    plan.seconds = 0.2;
    run(&v, "rule:token", &plan);
    assert_true(v.verdict == SPEC_VERDICT_PASS || v.verdict == SPEC_VERDICT_INCONCLUSIVE);
    assert_true(v.seconds < 5.0);
    assert_true(v.draws > 0);
    spec_validation_free(&v);
}

/* Drafts are kept a fiftieth too often, on every fixture: a TV of .004 at most, which needs ten times as many draws on a
 * fixture alone. */
static void what_is_slightly_wrong_everywhere_shows_together(void **state)
{
    (void)state;
    const spec_validate_plan plan = small(few, 2000000);
    spec_validation v;
    run(&v, "rule:lenience?l=0.975", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_LOSSY);
    assert_non_null(v.together);
    for (int i = 0; i < v.n_results; i++) assert_true(v.result[i].log_e < log(2e6));
    spec_validation_free(&v);
}

/* 200 runs of an exact sampler at a level that tempts: false alarms are a binomial of chance .02 at most, and more than
 * 17 have a chance of 1e-7. */
static void false_alarms_are_as_rare_as_promised(void **state)
{
    (void)state;
    static const char *const one[] = {"plain-4", NULL};
    spec_validate_plan plan = small(one, 8000);
    int failed = 0;
    const uint64_t seed = spec_test_seed();
    plan.alpha = 0.02;
    for (uint64_t i = 0; i < 200; i++) {
        spec_validation v;
        plan.seed = seed * 1000 + i;
        run(&v, "rule:token", &plan);
        failed += v.verdict == SPEC_VERDICT_FAIL;
        spec_validation_free(&v);
    }
    printf("%d false alarms in 200 runs at .02\n", failed);
    assert_true(failed <= 17);
}

static void names_that_are_not_there_are_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {"plain-5", NULL};
    const spec_validate_plan plan = small(wrong, 1000), all = small(NULL, 1000);
    spec_validation v;
    spec_error error = {{0}};
    assert_int_equal(spec_validate(&v, "rule:token", &plan, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "'plain-5'"));
    assert_int_equal(spec_validate(&v, "rule:tokn", &all, &error), GSL_EINVAL);
    assert_int_equal(v.n_results, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_result_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(lossless_rules_pass),
        cmocka_unit_test(what_is_grossly_wrong_is_found_soon),
        cmocka_unit_test(too_little_says_nothing),
        cmocka_unit_test(time_is_a_budget),
        cmocka_unit_test(what_is_slightly_wrong_everywhere_shows_together),
        cmocka_unit_test(false_alarms_are_as_rare_as_promised),
        cmocka_unit_test(names_that_are_not_there_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
