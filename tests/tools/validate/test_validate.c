/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that results do not depend on the number of threads, verdicts, that the detectable TV is
 * detected, and budgets. */
#include "tools/validate/validate.h"

#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/validate/validation.h"

#include <string.h>

static const char *const few[] = {"plain-4", "zipf-16", "repeats-4", "blind-3", "two-2", NULL};

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
        for (int place = 0; place < SPEC_PLACES; place++)
            assert_same(x->detectable[place].tv, y->detectable[place].tv);
        for (int k = 0; k < x->n_findings; k++) {
            assert_same(x->finding[k].log_e, y->finding[k].log_e);
            assert_same(x->finding[k].p, y->finding[k].p);
            assert_same(x->finding[k].n, y->finding[k].n);
        }
    }
    assert_int_equal(a->reproducer.state, b->reproducer.state);
    assert_int_equal(a->reproducer.round.index, b->reproducer.round.index);
}

TEST(the_result_is_the_same_for_any_number_of_threads)
{
    static const char *const subjects[] = {"rule:token", "rule:resample-target",
                                           "mutant:coin-at-most"};
    static const char *const coins[] = {"coins-8", "plain-4", NULL};
    for (int s = 0; s < 3; s++) {
        spec_validate_plan plan = plan_of(150000, 1, s < 2 ? few : coins);
        spec_validation one, more;
        run(&one, subjects[s], &plan);
        for (int threads = 2; threads <= 3; threads++) {
            plan.opt_pool = spec_test_pool(threads);
            run(&more, subjects[s], &plan);
            same(&one, &more);
            spec_validation_free(&more);
        }
        assert_int_equal(one.verdict, s == 0 ? SPEC_VERDICT_PASS : SPEC_VERDICT_FAIL);
        spec_validation_free(&one);
    }
}

TEST(lossless_rules_pass)
{
    static const char *const subjects[] = {"rule:token", "rule:block", "rule:match"};
    const spec_validate_plan plan = plan_of(300000, 1, few);
    for (int s = 0; s < 3; s++) {
        OWNED(spec_validation) v;
        run(&v, subjects[s], &plan);
        assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
        const double worst = v.power[SPEC_PLACE_FIRST].worst;
        assert_true(worst > 0.0 && worst < 0.1 && v.log_e < log(2e6) && v.p > 1e-3);
        assert_int_equal(v.reproducer.n_shown, 0);
    }
}

/* Gross mistakes are found in the first of four stages, with a 64th of the budget. */
TEST(gross_mistakes_are_found_early)
{
    const spec_validate_plan plan = plan_of(3000000, 1, few);
    OWNED(spec_validation) v;
    run(&v, "rule:resample-target", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_true(v.draws < 3000000 / 16);
    assert_true(v.reproducer.n_shown > 0 && v.log_e >= log(2e6));
    spec_validation_free(&v);
    run(&v, "rule:lenience?l=0.5", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_LOSSY);
}

static void count_phase(void *self, const char *what)
{
    assert_string_equal(what, "looking for the most likely mistake");
    (*(int *)self)++;
}

TEST(the_search_for_hints_is_a_phase_of_its_own)
{
    static const char *const one[] = {"plain-4", NULL};
    for (int fails = 0; fails < 2; fails++) {
        spec_validate_plan plan = plan_of(20000, 1, one);
        OWNED(spec_validation) v;
        int phases = 0;
        plan.hints = true;
        plan.phase = count_phase;
        plan.self = &phases;
        run(&v, fails ? "mutant:residual-from-target" : "rule:token", &plan);
        assert_int_equal(phases, fails);
    }
}

/* A FAIL names the conditions that it needs, or says why it names none. */
TEST(a_failure_says_why_it_names_no_condition, SLOW)
{
    static const struct {
        const char *subject, *fixture, *why;
    } cases[] = {
        {"mutant:residual-from-target", "two-2", "The conditions that it needs are not known: fi"},
        {"mutant:residual-from-target", "vocab-2049",
         "The conditions that it needs are not known: fixtures of over 1024 tokens are not tested"},
        {"mutant:residual-from-target", "draft-zeros-8",
         "The conditions that it needs are not known: its rows are special"},
        {"mutant:residual-from-target", "plain-4",
         "No single condition is needed for it: it shows"},
        {"mutant:chosen-ties-above", "k1-v5-chosen-top_k-ties", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const one[] = {cases[i].fixture, NULL};
        spec_validate_plan plan = plan_of(1000000, 2, one);
        OWNED(spec_validation) v;
        plan.hints = true;
        run(&v, cases[i].subject, &plan);
        assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
        if (strncmp(v.needed_why, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s on %s: '%s'", cases[i].subject, cases[i].fixture, v.needed_why);
        assert_int_equal(v.n_needed > 0, v.needed_why[0] == '\0');
    }
}

TEST(too_little_says_nothing)
{
    static const char *const one[] = {"plain-4", NULL}, *const test[] = {"tail", "plain-4", NULL};
    spec_validate_plan plan = plan_of(2000, 1, one);
    OWNED(spec_validation) v;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(v.reason, "on plain-4"));
    spec_validation_free(&v);
    plan.opt_only = test; /* without the test that has a guarantee */
    plan.draws = 200000;
    run(&v, "rule:token", &plan);
    for (int i = 0; i < v.n_results; i++) assert_int_equal(v.result[i].n_findings, 1);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(
        v.reason,
        "no TV is guaranteed to be found in a round's first token; no budget changes that"));
}

static double budget_of(const char *reason)
{
    static const char option[] = "--budget ";
    const char *at = strstr(reason, option);
    char unit = ' ';
    double number = 0.0;
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(option), "%lf%c", &number, &unit), 2);
    return number * (unit == 'k' ? 1e3 : unit == 'M' ? 1e6 : unit == 'G' ? 1e9 : NAN);
}

/* With the budget that the report suggests, first tokens and texts are certified, and with an
 * eighth less they are not. */
TEST(eps_is_certified_with_the_budget_that_is_named)
{
    static const char *const two[] = {"heavy-draft-4", "text-1-4", NULL};
    spec_validate_plan plan = plan_of(30000, 1, two);
    spec_validation v;
    plan.eps = 0.025;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(v.reason, "too few draws to certify a TV of 0.025: on "));
    plan.draws = (uint64_t)budget_of(v.reason);
    spec_validation_free(&v);
    for (int less = 0; less < 2; less++) {
        plan.draws -= less ? plan.draws / 8 : 0;
        run(&v, "rule:token", &plan);
        if (v.verdict != (less ? SPEC_VERDICT_INCONCLUSIVE : SPEC_VERDICT_PASS))
            fail_msg("%s", v.reason);
        for (int i = 0; i < v.n_results && !less; i++) {
            assert_false(v.result[i].detectable[SPEC_PLACE_FIRST].tv > 0.025);
            assert_false(v.result[i].detectable[SPEC_PLACE_TEXT].tv > 0.025);
        }
        spec_validation_free(&v);
    }
}

/* A bias of .03 in first tokens exceeds .025, so no seed gives a PASS. */
TEST(eps_does_not_certify_what_is_biased_by_more)
{
    static const char *const one[] = {"plain-4", NULL};
    spec_validate_plan plan = plan_of(600000, 1, one);
    plan.scopes = SPEC_SCOPE_VERIFY;
    plan.eps = 0.025;
    for (int i = 0; i < 5; i += spec_test_stride(1)) {
        OWNED(spec_validation) v;
        plan.seed = spec_test_seed() + (uint64_t)i;
        run(&v, "biased:first?state=0&tv=0.03", &plan);
        assert_true(v.verdict == SPEC_VERDICT_INCONCLUSIVE || v.verdict == SPEC_VERDICT_FAIL);
    }
}

/* A PASS is about small vocabularies only; if none was run, about everything that was run. */
TEST(large_vocabularies_do_not_keep_a_right_sampler_from_passing)
{
    static const char *const both[] = {"plain-4", "vocab-1000", NULL};
    static const char *const large[] = {"vocab-1000", NULL};
    spec_validate_plan plan = plan_of(300000, 1, both);
    OWNED(spec_validation) v;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
    assert_non_null(strstr(v.reason, "in a round's first token (1 of 2 fixtures)"));
    for (int i = 0; i < v.n_results; i++)
        assert_int_equal(v.result[i].judged, v.result[i].kind->name[0] == 'p');
    spec_validation_free(&v);
    plan.opt_only = large;
    plan.draws = 20000;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    assert_true(v.result[0].judged);
}

/* A sampler that never accepts passes, and the report lists no later place; the same holds with a
 * budget that ends at once. */
TEST(unreached_places_have_no_number)
{
    static const char *const one[] = {"disjoint-8", NULL};
    spec_validate_plan plan = plan_of(200000, 1, one);
    OWNED(spec_validation) v;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
    assert_null(strstr(v.reason, "later"));
    assert_true(v.result[0].detectable[SPEC_PLACE_LATER].exists);
    assert_nan(v.result[0].detectable[SPEC_PLACE_LATER].tv);
    assert_int_equal(v.power[SPEC_PLACE_LATER].reached, 0);
    spec_validation_free(&v);
    plan.seconds = 1e-9;
    run(&v, "rule:token", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    assert_string_equal(v.reason, "the time ran out before any fixture was run");
}

/* A budget in seconds is kept, except for the batch under way. */
TEST(time_is_a_budget)
{
    spec_validate_plan plan = plan_of(0, 1, few);
    OWNED(spec_validation) v;
    plan.seconds = 0.2;
    run(&v, "rule:token", &plan);
    assert_true(v.verdict == SPEC_VERDICT_PASS || v.verdict == SPEC_VERDICT_INCONCLUSIVE);
    assert_true(v.seconds < 5.0);
    assert_true(v.draws > 0);
}

/* Drafts are kept 2 % too often on every fixture, which is a TV of at most .004; a single fixture
 * would show it only with ten times the draws. */
TEST(small_differences_everywhere_show_together)
{
    const spec_validate_plan plan = plan_of(2000000, 1, few);
    OWNED(spec_validation) v;
    run(&v, "rule:lenience?l=0.975", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_LOSSY);
    assert_non_null(v.together);
    for (int i = 0; i < v.n_results; i++) assert_true(v.result[i].log_e < log(2e6));
}

/* 200 runs of an exact sampler at a high false-alarm rate: each is a false alarm with probability
 * at most .02, and more than 17 have probability 1e-7. */
TEST(false_alarms_are_as_rare_as_promised, SLOW)
{
    static const char *const one[] = {"plain-4", NULL};
    spec_validate_plan plan = plan_of(8000, 1, one);
    int failed = 0;
    const uint64_t seed = spec_test_seed();
    plan.false_alarm_rate = 0.02;
    for (int i = 0; i < 200; i += spec_test_stride(1)) {
        OWNED(spec_validation) v;
        plan.seed = seed * 1000 + (uint64_t)i;
        run(&v, "rule:token", &plan);
        failed += v.verdict == SPEC_VERDICT_FAIL;
    }
    printf("%d false alarms at .02\n", failed);
    assert_true(failed <= 17);
}

/* The same sampler renormalises after each filter, and either declares that or does not. */
TEST(an_order_of_filters_is_judged_as_declared, SLOW)
{
    static const char *const one[] = {"joint-16", "orders-hot-16", NULL};
    spec_validate_plan plan = plan_of(200000, 1, one);
    OWNED(spec_validation) v;
    run(&v, "mutant:filters-in-turn", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
    assert_null(v.order);
    spec_validation_free(&v);
    plan.hints = true; /* the search for the order belongs to the hints */
    plan.draws = 20000;
    run(&v, "mutant:filters-chained", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_string_equal(v.order, "temperature,top_k,top_p,min_p");
    spec_validation_free(&v);
    run(&v, "mutant:residual-from-target", &plan); /* wrong in any order */
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_null(v.order);
}

TEST(unknown_names_are_errors)
{
    static const char *const wrong[] = {"plain-5", NULL};
    const spec_validate_plan plan = plan_of(1000, 1, wrong), all = plan_of(1000, 1, NULL);
    spec_validation v;
    assert_fails_with(spec_validate(&v, "rule:token", &plan, &error), GSL_EINVAL, "'plain-5'");
    assert_status(spec_validate(&v, "rule:tokn", &all, &error), GSL_EINVAL);
    assert_int_equal(v.n_results, 0);
}
