/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

static const double target[][4] = {
    {0.4, 0.3, 0.2, 0.1}, {0.2, 0.3, 0.2, 0.3}, {0.15, 0.05, 0.55, 0.25}};
static const double drafts[][4] = {{0.1, 0.2, 0.3, 0.4}, {0.25, 0.25, 0.25, 0.25}};
static const double *const rows[] = {drafts[0], drafts[1]};

static void check_kept(const char *rule, int first, int second, int kept)
{
    for (int last = 0; last < 4; last++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 4);
        for (int i = 0; i < 3; i++) run.target[i] = target[i];
        rule_case_chain(&run, (const int[]){first, second}, rows, 2);
        rule_case_verify(&run, rule, &last, 1);
        assert_within(run.asked[0], target[kept][last],
                      1e-15); /* the target's own sample, even if it is the rejected token */
        assert_int_equal(run.round.n_accepted, kept);
        assert_int_equal(run.round.token[kept], last);
    }
}

TEST(the_k_likeliest_tokens_are_kept_and_the_lower_id_wins_a_tie)
{
    check_kept("top-k-relaxed?k=1", 0, 1, 2);
    check_kept("top-k-relaxed?k=1", 1, 1, 0);
    check_kept("top-k-relaxed?k=1", 0, 3, 1);
    check_kept("top-k-relaxed?k=2", 1, 3, 2);
    check_kept("top-k-relaxed?k=2", 2, 3, 0);
    check_kept("top-k-relaxed?k=2", 1, 0, 1);
    check_kept("top-k-relaxed", 2, 0, 2); /* 3 by default */
    check_kept("top-k-relaxed", 2, 2, 1);
    check_kept("top-k-relaxed", 3, 0, 0);
    check_kept("top-k-relaxed?k=4", 3, 2, 2);
}

/* The positions have .4 .3 .2 .1 and .2 .3 .2 .3; the argmax follows, without a decision. */
TEST(a_token_within_delta_is_kept_and_the_argmax_follows)
{
    static const struct {
        const char *rule;
        int first, second, kept, last;
    } cases[] = {{"relaxed?delta=0.25", 2, 0, 2, 2}, {"relaxed?delta=0.25", 3, 0, 0, 0},
                 {"relaxed?delta=0.05", 0, 0, 1, 1}, {"relaxed?k=2&delta=0.25", 2, 0, 0, 0},
                 {"relaxed?k=1", 0, 3, 1, 1},        {"relaxed", 3, 0, 2, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 4);
        for (int r = 0; r < 3; r++) run.target[r] = target[r];
        rule_case_chain(&run, (const int[]){cases[i].first, cases[i].second}, rows, 2);
        rule_case_verify(&run, cases[i].rule, NULL, 0);
        assert_int_equal(run.round.n_accepted, cases[i].kept);
        assert_int_equal(run.round.token[cases[i].kept], cases[i].last);
    }
    check_kept("relaxed?k=2&delta=1&else=sample", 1, 3, 2); /* top-k-relaxed?k=2 */
    check_kept("relaxed?delta=0.25&else=sample", 3, 0, 0);
}

static double law_of(double *ret_law, const double *goal, const double *drafted, int vocab,
                     const double *k)
{
    double alpha = 0.0;
    int taken[8] = {0};
    for (int i = 0; i < (int)*k && i < vocab; i++) { /* k times the largest remaining one */
        int best = -1;
        for (int x = 0; x < vocab; x++)
            if (!taken[x] && (best < 0 || goal[x] > goal[best])) best = x;
        taken[best] = 1;
        alpha += drafted[best];
    }
    for (int x = 0; x < vocab; x++)
        ret_law[x] = (taken[x] ? drafted[x] : 0.0) + (1.0 - alpha) * goal[x];
    return alpha;
}

TEST(the_law_is_the_formulas, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const double k[] = {1, 2, 3};
    const char *const rule[] = {"top-k-relaxed?k=1", "top-k-relaxed?k=2", "top-k-relaxed"};
    for (int i = 0; i < 3; i++) {
        const double tv =
            rule_law_check(rule[i], law_of, &k[i], (int)spec_test_samples(40), 1e-12, &noise);
        print_message("%s: tv up to %.3f\n", rule[i], tv);
        assert_true(tv > 0.05);
    }
}
