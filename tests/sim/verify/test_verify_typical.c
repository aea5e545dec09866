/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

/* The entropies are 1.279854 and 1.089285 nats, so exp(-H) is .278078 and .336457. */
static const double target[][4] = {
    {0.4, 0.3, 0.2, 0.1}, {0.27, 0.36, 0.0, 0.37}, {0.15, 0.05, 0.55, 0.25}};
static const double drafts[][4] = {{0.1, 0.2, 0.3, 0.4}, {0.25, 0.25, 0.25, 0.25}};
static const double *const rows[] = {drafts[0], drafts[1]};

static int kept(const char *rule, int first, int second)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 3; i++) run.target[i] = target[i];
    rule_case_chain(&run, (const int[]){first, second}, rows, 2);
    rule_case_verify(&run, rule, NULL, 0); /* no decision is random */
    const int n = run.round.n_accepted, favourite[] = {0, 3, 2};
    assert_int_equal(run.round.token[n],
                     favourite[n]); /* ends with the target's argmax at the last position */
    if (n > 0) assert_int_equal(run.round.token[0], first);
    if (n > 0) assert_int_equal(run.round.node[0], 0);
    return n;
}

TEST(a_token_is_kept_where_the_target_likes_it_more_than_epsilon)
{
    assert_int_equal(kept("typical?epsilon=0.1&delta=1", 3, 1), 0); /* .1 is not more than .1 */
    assert_int_equal(kept("typical?epsilon=0.0999&delta=1", 3, 1), 2);
    assert_int_equal(kept("typical?epsilon=0.28&delta=1", 1, 0),
                     1); /* .3 beyond .278, .27 not beyond .28 */
    assert_int_equal(kept("typical?epsilon=0&delta=1", 0, 2),
                     1); /* a token that the target excludes is never kept */
}

TEST(the_threshold_falls_with_the_targets_entropy)
{
    assert_int_equal(kept("typical?epsilon=1&delta=1", 1, 0),
                     1); /* .3 beyond .278, .27 not beyond .336 */
    assert_int_equal(kept("typical?epsilon=1&delta=1", 2, 0), 0);
    assert_int_equal(kept("typical?epsilon=1&delta=0.72", 2, 3), 0); /* .2 against .2002 */
    assert_int_equal(kept("typical?epsilon=1&delta=0.71", 2, 3), 2); /* and .1974 */
    assert_int_equal(kept("typical", 3, 0), 2);                      /* .1 against .3 x .278 */
    assert_int_equal(kept("typical?delta=0.4", 3, 0), 2); /* against .09, for .111 is more */
    assert_int_equal(kept("typical?epsilon=0.11&delta=0.4", 3, 0), 0);
    assert_int_equal(kept("typical?epsilon=0.12", 3, 0), 2); /* delta is .3 by default */
}

static double law_of(double *ret_law, const double *goal, const double *drafted, int vocab,
                     const double *setting)
{
    double peak = 1.0, alpha = 0.0; /* exp(-H) as the product of p^p */
    int best = 0;
    for (int i = 0; i < vocab; i++) peak *= pow(goal[i], goal[i]);
    for (int i = vocab - 1; i >= 0; i--)
        if (goal[i] >= goal[best]) best = i;
    for (int i = 0; i < vocab; i++) {
        const int good = goal[i] > setting[0] && goal[i] > 0.0;
        const int typical = goal[i] > setting[1] * peak && goal[i] > 0.0;
        ret_law[i] = good || typical ? drafted[i] : 0.0;
        alpha += ret_law[i];
    }
    ret_law[best] += 1.0 - alpha;
    return alpha;
}

TEST(the_law_is_the_formulas, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const double setting[][2] = {{0.09, 0.3}, {0.4, 0.9}, {0.27, 0.62}};
    const char *const rule[] = {"typical", "typical?epsilon=0.4&delta=0.9",
                                "typical?epsilon=0.27&delta=0.62"};
    for (int i = 0; i < 3; i++) {
        const double tv =
            rule_law_check(rule[i], law_of, setting[i], (int)spec_test_samples(40), 1e-12, &noise);
        print_message("%s: tv up to %.3f\n", rule[i], tv);
        assert_true(tv > 0.05);
    }
}
