/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include <string.h>

TEST(acceptance_is_divided_by_l)
{
    OWNED(rule_case) run = rule_case_text((const int[]){3, 1}, 2);
    rule_case_verify(&run, "lenience?l=0.4", (const int[]){1, 1, 3}, 3);
    assert_within(run.asked[0], 0.1 / 0.16, 1e-15);
    assert_within(run.asked[1], 0.05 / 0.1, 1e-15);
    assert_within(run.asked[2], 0.37, 1e-15);
    assert_int_equal(run.round.n_accepted, 2);
    rule_case_verify(&run, "lenience", (const int[]){1, 1, 0},
                     3); /* l = 0.5 by default */
    assert_within(run.asked[0], 0.5, 1e-15);
    assert_within(run.asked[1], 0.4, 1e-15);
    rule_case_verify(&run, "lenience?l=0", (const int[]){1, 1, 0}, 3); /* for any draft */
    assert_true(run.asked[0] == 1.0 && run.asked[1] == 1.0);
}

TEST(a_rejection_corrects_from_the_residual_without_l)
{
    OWNED(rule_case) run = rule_case_text((const int[]){2, 1}, 2);
    rule_case_verify(&run, "lenience?l=0.8", (const int[]){1, 0, 2}, 3);
    assert_within(run.asked[0], 0.2 / 0.24, 1e-15);
    assert_within(run.asked[1], 0.75, 1e-15);
    assert_within(run.asked[2], 0.25 / 0.35, 1e-14); /* (.15, .05, .55, .25) - (.3, .25, .3, .15) */
    assert_int_equal(run.round.n_accepted, 1);
    rule_case_free(&run);

    rule_case_init(&run, 4); /* a chosen token */
    run.target[0] = rule_case_target[0];
    run.target[1] = rule_case_target[1];
    spec_draft_append(&run.draft, 3, -1, rule_case_draft[0], false);
    rule_case_verify(&run, "lenience?l=0.8", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 1.0 - 0.1 / 0.8, 1e-15);
    assert_within(run.asked[1], 0.4 / 0.9, 1e-15);
}

static double law_of(double *ret_law, const double *goal, const double *drafted, int vocab,
                     const double *l)
{
    double alpha = 0.0, left = 0.0;
    for (int i = 0; i < vocab; i++) alpha += fmin(goal[i] / *l, drafted[i]);
    for (int i = 0; i < vocab; i++) left += fmax(goal[i] - drafted[i], 0.0);
    for (int i = 0; i < vocab; i++) {
        ret_law[i] = fmin(goal[i] / *l, drafted[i]) +
                     (left > 0.0 ? (1.0 - alpha) * fmax(goal[i] - drafted[i], 0.0) / left : 0.0);
        assert_true(ret_law[i] <= goal[i] / *l + 1e-12); /* the guarantee of lenience */
    }
    return alpha;
}

TEST(the_law_is_the_formulas_and_no_token_comes_more_than_one_over_l_times_too_often, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const double l[] = {0.3, 0.5, 0.85};
    const char *const rule[] = {"lenience?l=0.3", "lenience?l=0.5", "lenience?l=0.85"};
    for (int i = 0; i < 3; i++) {
        const double tv =
            rule_law_check(rule[i], law_of, &l[i], (int)spec_test_samples(40), 1e-12, &noise);
        print_message("%s: tv up to %.3f\n", rule[i], tv);
        assert_true(tv > 0.05);
    }
}

/* tests/oracle/misc.py prints, for target (.5, .3, .2) and draft (.2, .5, .3): alpha 1 and TV .3 at
 * l = 1/2, alpha .7 and TV 0 at l = 1. */
TEST(the_worked_example_has_its_law)
{
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.5, 0.3, 0.2}, (const double[]){0.2, 0.5, 0.3},
                  3);
    spec_output_law half = rule_law(&goal, &draft, "lenience?l=0.5", "chain", 1, 1),
                    whole = rule_law(&goal, &draft, "lenience?l=1", "chain", 2, 3);
    assert_within(half.tv, 0.3, 1e-15);
    assert_within(half.accepted, 1.0, 1e-15);
    assert_within(whole.tv, 0.0, 1e-14); /* the token rule */
    spec_output_law_free(&half);
    spec_output_law_free(&whole);
}

TEST(a_rules_settings_are_read_and_mistakes_are_named)
{
    spec_rule rule;
    spec_error error;
    assert_works(spec_rule_init(&rule, "lenience?l=0.27", &error));
    assert_within(rule.settings.lenience.l, 0.27, 0.0);
    assert_int_equal(rule.claim, SPEC_LOSSY);
    assert_string_equal(rule.name, "lenience");
    static const char *const bad[][2] = {{"lenience?l=1.5", "l=1.5"},
                                         {"lenience?l=-0.1", "l=-0.1"},
                                         {"typical?epsilon=1.5", "epsilon=1.5"},
                                         {"typical?epsilon=-0.1", "epsilon=-0.1"},
                                         {"typical?delta=1.5", "delta=1.5"},
                                         {"typical?delta=-0.1", "delta=-0.1"},
                                         {"top-k-relaxed?k=0", "k=0"},
                                         {"mentored?budget=-0.1", "budget=-0.1"},
                                         {"mentored?budget=1000.5", "budget=1000.5"},
                                         {"lenience?m=1", "'m'"},
                                         {"lenience:x", "lenience?l=0.5"},
                                         {"token?l=1", "'l'"},
                                         {"lenienc?l=1", "'lenience'"},
                                         {"token:x", "token"},
                                         {"", "empty"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(spec_rule_init(&rule, bad[i][0], &error), GSL_SUCCESS);
        if (strstr(error.text, bad[i][1]) == NULL) fail_msg("'%s': %s", bad[i][0], error.text);
        assert_null(rule.name);
        assert_null(rule.verify);
    }
    for (int i = 0; spec_rules[i] != NULL; i++) { /* every usage is a valid spec of its own rule */
        const char *usage =
            spec_rules[i]->usage != NULL ? spec_rules[i]->usage : spec_rules[i]->name;
        assert_works(spec_rule_init(&rule, usage, &error));
        assert_string_equal(rule.name, spec_rules[i]->name);
        assert_true((rule.init != NULL) == (strchr(usage, '?') != NULL));
        if (rule.summary == NULL || rule.reference == NULL) /* 'speclab list' prints both */
            fail_msg("%s has no summary or reference", rule.name);
    }
}
