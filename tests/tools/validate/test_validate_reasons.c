/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the reasons that reports give: the numbers behind the verdict, the kind of difference, and
 * where it shows. */
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/validate/plugin_stand.h"
#include "tests/tools/validate/validation.h"
#include "tools/validate/samplers/supervisor.h"
#include "tools/validate/validate_report.h"

#include <math.h>
#include <string.h>

/* Returns the text and JSON reports, concatenated; the caller frees them. */
static char *both_reports(const spec_validation *v)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(spec_validate_report_text(v, out, NULL), GSL_SUCCESS);
    assert_int_equal(spec_validate_report_json(v, out, NULL), GSL_SUCCESS);
    fclose(out);
    return text;
}

static void says(const char *report, const char *line)
{
    if (strstr(report, line) == NULL) fail_msg("no '%s' in %s", line, report);
}

/* With this seed the first look is only suspicious, and fresh data lead to a FAIL by their
 * p-values. */
TEST(a_verdict_on_fresh_data_shows_their_figures)
{
    static const char *const only[] = {"plain-4", NULL};
    spec_validate_plan plan = plan_of(40000, 1, only);
    char line[160], e[SPEC_VALIDATE_NUMBER], first[SPEC_VALIDATE_NUMBER],
        fail[SPEC_VALIDATE_NUMBER];
    OWNED(spec_validation) v;
    plan.scopes = SPEC_SCOPE_VERIFY;
    plan.seed = 53;
    run(&v, "biased:first?state=0&tv=0.06", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_true(v.fresh && v.p <= 0.5 * plan.false_alarm_rate && v.p < v.first_p &&
                v.log_e > v.first_log_e);
    assert_same(v.log_e, v.result[0].log_e);
    assert_same(v.p, v.result[0].p);
    FREED char *report = both_reports(&v);
    snprintf(line, sizeof line, "\n  evidence     e = %s; p = %.2g on fresh data",
             spec_validate_report_e(e, v.log_e), v.p);
    says(report, line);
    snprintf(line, sizeof line,
             "\n  first look   e = %s, where %s is a FAIL; p = %.2g over all tests\n",
             spec_validate_report_e(first, v.first_log_e), spec_validate_report_e(fail, log(2e6)),
             v.first_p);
    says(report, line);
    says(report, "\"first_look\": {");
}

static void reason_is(const char *subject, const char *fixture, uint64_t draws, const char *reason)
{
    const char *const only[] = {fixture, NULL};
    spec_validate_plan plan = plan_of(draws, 1, only);
    OWNED(spec_validation) v;
    plan.limits = patient;
    plan.limits.opt_options = "antithetic"; /* an option of tests/plugins/inventions.c */
    run(&v, subject, &plan);
    if (strstr(v.reason, reason) == NULL)
        fail_msg("%s: '%s' has no '%s'", subject, v.reason, reason);
}

TEST(a_reason_says_what_the_test_is_about)
{
    reason_is("rule:resample-target", "plain-4", 200000,
              ": the tokens after a state have a different distribution, by a TV of about ");
    /* the tokens after one state differ, too, but alone they would not be a FAIL */
    reason_is(
        "mutant:one-coin", "plain-4", 10000,
        ": the tokens of a text depend on each other in a way that the models do not (test 'pairs");
    reason_is("rule:lenience?l=0.98", "zipf-16", 1000000,
              ": the tokens after a state have a different distribution: of 42969, token 11 came "
              "15789 times, where 16488 are expected");
    reason_is("rule:lenience?l=0.985", "zipf-16", 1000000,
              ": the tokens after one state have a different distribution, by a TV that these data "
              "cannot measure");
    reason_is("rule:lenience?l=0.97", "tile-257", 1000000,
              ": the tokens have a different distribution, though no single state shows it (test "
              "'kept': ");
}

/* The table shows the token that came, although rounds that break a hard rule are not counted. */
TEST(a_forbidden_token_is_in_the_table)
{
    static const char *const only[] = {"top-k-16", NULL};
    const spec_validate_plan plan = plan_of(20000, 1, only);
    OWNED(spec_validation) v;
    int forbidden = 0;
    run(&v, "mutant:filters-on-bonus", &plan);
    const spec_reproducer *c = &v.reproducer;
    assert_int_equal(c->round.hard, SPEC_HARD_IMPOSSIBLE);
    for (int k = 0; k < c->n_shown; k++)
        forbidden += c->target[k] == 0.0 && c->seen[k] == 1.0 / (double)c->n;
    assert_int_equal(forbidden, 1);
    FREED char *report = both_reports(&v);
    says(report, "  may not be\n");
}

/* The reason names the rounds that share random numbers, whichever test finds them. A wrong row or
 * law, which also makes rounds emit the same tokens, is not mistaken for shared numbers. */
/* Of 17 tokens or more, filters leave a few. */
TEST(tokens_that_filters_remove_are_not_in_the_table)
{
    static const char *const only[] = {"k12-v17-several", NULL};
    const spec_validate_plan plan = plan_of(200000, 1, only);
    OWNED(spec_validation) v;
    run(&v, "mutant:residual-from-target", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_true(v.reproducer.vocab > SPEC_REPRODUCER_TOKENS && v.reproducer.n_shown > 1);
    for (int k = 0; k < v.reproducer.n_shown; k++)
        assert_true(v.reproducer.expected[k] > 0.0 || v.reproducer.seen[k] > 0.0);
}

TEST(a_reason_names_random_numbers_that_rounds_share)
{
    static const char by_call[] = ": the rounds of a call share random numbers: ",
                      by_seed[] = ": rounds that have the same seed share random numbers: ",
                      by_seeds[] = ": rounds that have different seeds share random numbers: ",
                      mirrored[] = ": a round and the next use one random number as u and 1 - u",
                      law[] = ": the tokens after a state have a different distribution";
    reason_is("mutant:numbers-of-first", "no-draft-4", 100000, by_call);
    reason_is("mutant:coins-stratified", "no-draft-4", 100000, by_call);
    reason_is("mutant:offset-forgotten", "no-draft-4", 100000, by_seed);
    reason_is("mutant:offset-forgotten", "batch-1", 100000, by_seed);
    reason_is("mutant:offset-8-bits", "wide-4", 400000, by_seed);
    reason_is("mutant:correction-shared", "heavy-draft-4", 400000, by_seed);
    reason_is("mutant:seed-16-bits", "wide-4", 200000, by_seeds);
    reason_is("mutant:seed-32-bits", "wide-4", 2000000, by_seeds);
    reason_is("mutant:row-of-first", "no-draft-4", 100000, law);
    reason_is("mutant:row-of-neighbour", "no-draft-4", 100000, law);
    reason_is("mutant:target-argmax", "no-draft-4", 100000, law);
    reason_is(path_of("inventions.so"), "no-draft-4", 100000, mirrored);
}

/* The report names the test, where it shows the difference, and how to run it again, instead of an
 * unrelated state of a fixture. */
TEST(what_all_fixtures_show_together_has_no_single_reproducer)
{
    static const char *const only[] = {"plain-4", "zipf-16", "repeats-4", "blind-3", "two-2", NULL};
    const spec_validate_plan plan = plan_of(2000000, 1, only);
    OWNED(spec_validation) v;
    run(&v, "rule:lenience?l=0.975", &plan);
    assert_non_null(v.together);
    assert_null(v.reproducer.kind);
    for (int i = 0; i < v.n_results; i++) assert_false(v.result[i].failed);
    char *report = both_reports(&v);
    says(report, "\nThe test 'kept' over all fixtures of scope V; where it shows most:\n  zipf-16");
    says(report, "\"reproducer\": null");
    says(report, "speclab validate 'rule:lenience?l=0.975' --only "
                 "kept,plain-4,zipf-16,repeats-4,blind-3,two-2 --scopes V "
                 "--seed 42 --budget 2000000\n");
    free(report);
    v.verdict = SPEC_VERDICT_FAIL; /* as if the sampler had not declared that it is lossy */
    FREED char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(spec_validate_report_junit(&v, out, NULL), GSL_SUCCESS);
    fclose(out);
    says(text, " failures=\"1\"");
    says(text, "name=\"all fixtures together\">\n      <failure");
}
