/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints: a failed sampler is matched with its mistake, and one with an unknown mistake with none.
 */
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/validate/plugin_stand.h"
#include "tools/validate/evidence/nearest.h"
#include "tools/validate/samplers/supervisor.h"
#include "tools/validate/self_test.h"

#include <string.h>

/* Validates on one fixture; returns whether the mistake is among the hints, or -1 if there is no
 * FAIL. */
static int is_hinted(const char *sampler, const char *fixture, const char *mistake, int *opt_n)
{
    const char *const only[] = {fixture, NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    OWNED(spec_validation) v;
    spec_error error = {{0}};
    int found = 0;
    plan.draws = 100000;
    plan.seed = spec_test_seed();
    plan.opt_only = only;
    if (spec_validate(&v, sampler, &plan, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", sampler, error.text);
    for (int i = 0; i < v.n_hints; i++) {
        found = found || strcmp(v.hint[i].name, mistake) == 0;
        assert_true(v.hint[i].log_likelihood <= (i > 0 ? v.hint[i - 1].log_likelihood : 0.0));
    }
    if (opt_n != NULL) *opt_n = v.n_hints;
    if (v.verdict != SPEC_VERDICT_FAIL) found = -1;
    return found;
}

/* A rule of sim has the law of the mistake, although its code is not the mutant's. */
TEST(a_wrong_rule_is_recognised)
{
    assert_int_equal(is_hinted("rule:resample-target", "plain-4", "residual-from-target", NULL), 1);
}

TEST(a_mistake_is_near_to_itself, SLOW)
{
    static const char *const lines[][2] = {{"mutant:residual-softmax", "plain-4"},
                                           {"mutant:draft-sharper", "blind-64"},
                                           {"mutant:beam", "plain-4"}};
    for (int i = 0; i < 3; i += spec_test_stride(1))
        if (is_hinted(lines[i][0], lines[i][1], lines[i][0] + strlen("mutant:"), NULL) != 1)
            fail_msg("%s is not near to itself", lines[i][0]);
}

TEST(a_right_sampler_gets_no_hint)
{
    int n = -1;
    assert_int_equal(is_hinted("rule:token", "plain-4", "", &n), -1);
    assert_int_equal(n, 0);
}

/* Returns whether the mutant differs from an exact sampler where its own order is promised. */
static bool differs(const char *name)
{
    spec_subject subject;
    spec_fixture fixture;
    const spec_fixture_kind *kind;
    const spec_hint_base on = {&fixture, 32000};
    bool ret = false;
    assert_works(spec_subject_open(&subject, name, &SPEC_SUBJECT_LIMITS_DEFAULT, &error));
    assert_works(spec_fixture_find(&kind, "orders-cold-16", &error));
    assert_works(spec_fixture_open(&fixture, kind, &error));
    assert_works(spec_fixture_promise(&fixture, &subject.about, &error));
    assert_works(
        spec_nearest_differs(&ret, &subject, &on, SPEC_SCOPE_VERIFY, spec_test_seed(), &error));
    spec_fixture_close(&fixture);
    spec_subject_close(&subject);
    return ret;
}

TEST(hints_compare_with_the_declared_order_of_filters)
{
    assert_false(differs("mutant:filters-in-turn"));
    assert_false(differs("mutant:filters-temperature-last"));
    assert_true(differs("mutant:filters-chained"));
}

TEST(mistakes_with_other_laws_are_not_named)
{
    int n = -1;
    assert_int_equal(is_hinted("mutant:row-by-stride", "shorter-4", "accept-all", &n), 0);
    assert_in_range(n, 1, 3);
}

/* Forbidden tokens from the draft, from a correction and from the bonus are told apart. */
TEST(a_forbidden_token_is_traced_to_its_source, SLOW)
{
    static const char *const lines[][2] = {{"accept-all", "disjoint-8"},
                                           {"residual-from-draft", "target-zeros-8"},
                                           {"bonus-from-draft", "target-zeros-8"},
                                           {"coin-at-most", "coins-8"}};
    for (int i = 0; i < 4; i += spec_test_stride(1)) {
        const char *const only[] = {lines[i][1], NULL};
        spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
        plan.opt_pool = spec_test_pool(0);
        OWNED(spec_validation) v;
        char sampler[64];
        snprintf(sampler, sizeof sampler, "mutant:%s", lines[i][0]);
        plan.draws = 100000;
        plan.opt_only = only;
        assert_int_equal(spec_validate(&v, sampler, &plan, NULL), GSL_SUCCESS);
        assert_int_equal(v.reproducer.round.hard, SPEC_HARD_IMPOSSIBLE);
        bool named = false; /* on disjoint rows ratio-inverted has the law of accept-all */
        for (int k = 0; k < v.n_hints; k++)
            named = named || strcmp(v.hint[k].name, lines[i][0]) == 0;
        if (!named)
            fail_msg("%s on %s: %s", lines[i][0], lines[i][1],
                     v.n_hints > 0 ? v.hint[0].name : "no hint");
    }
}

/* With two tokens every residual is a single token. */
TEST(fixtures_of_two_tokens_give_no_hints)
{
    int n = -1;
    assert_int_equal(is_hinted("mutant:residual-softmax", "two-2", "", &n), 0);
    assert_int_equal(n, 0);
}

/* These mistakes are not in the catalogue. From a single fixture the hints would be
 * residual-softmax, block-uncapped and draft-row-before. */
TEST(inventions_get_no_hint, SLOW)
{
    static const char *const names[] = {"residual-absolute", "second-chance", "last-free",
                                        "bonus-no-repeat",   "third-free",    "draft-no-repeat",
                                        "page-boundary"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i += spec_test_stride(3)) {
        spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
        plan.opt_pool = spec_test_pool(0);
        OWNED(spec_validation) v;
        plan.limits.supervisor = "/proc/self/exe";
        plan.limits.opt_options = names[i];
        assert_works(spec_validate(&v, path_of("inventions.so"), &plan, &error));
        assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
        if (v.n_hints > 0) fail_msg("%s: %s", names[i], v.hint[0].name);
    }
}

/* A part of `validate --self-test`: mistakes of each theme that are found early. */
TEST(the_first_hint_is_right_for_nine_in_ten, SLOW)
{
    static const char *const names[] = {
        "accept-all",       "ratio-inverted",      "residual-from-target",
        "residual-zeroed",  "bonus-argmax",        "block-stops",
        "draft-argmax",     "draft-sharper",       "coin-again",
        "offset-forgotten", "row-before",          "row-by-stride",
        "padding-judged",   "bonus-left-out",      "temperature-ignored",
        "top-p-ignored",    "siblings-not-zeroed", "tree-slice",
        "cache-kept",       "end-resampled"};
    enum { NAMES = sizeof names / sizeof *names };
    const char *some[NAMES + 1] = {NULL};
    int n = 0;
    spec_self_test_plan plan = SPEC_SELF_TEST_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    spec_self_test_result result;
    for (int i = 0; i < NAMES; i += spec_test_stride(3)) some[n++] = names[i];
    plan.runs = 1;
    plan.distance_draws = 0;
    plan.seed = spec_test_seed();
    plan.opt_only = some;
    assert_int_equal(spec_self_test(&result, &plan, NULL), GSL_SUCCESS);
    for (int i = 0; i < result.n; i++)
        printf("%-22s %s\n", result.line[i].mutant->name,
               result.line[i].hint != NULL ? result.line[i].hint : "no hint");
    assert_int_equal(result.n_failed, n);
    assert_true(result.n_hinted >= SPEC_SELF_TEST_HINTED * result.n_failed);
    assert_int_equal(result.n_misled, 0);
    spec_self_test_free(&result);
}
