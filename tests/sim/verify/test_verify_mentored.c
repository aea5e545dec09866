/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

static const double target[] = {0.5, 0.3, 0.2}, drafts[] = {0.2, 0.5, 0.3};

/* ---- a second solution ----------------------------------------------------------------------- */

/* The output is the draft's row clamped to [u target, target / a]: finds u by bisection for its
 * sum, and then a for its divergence. */
static double clamped(double *ret_law, double *ret_kl, const double *goal, const double *drafted,
                      int vocab, double a)
{
    double low = 0.0, high = 1.0, alpha = 0.0;
    for (int step = 0; step < 100; step++) {
        const double u = (low + high) / 2.0;
        double sum = 0.0;
        for (int i = 0; i < vocab; i++) sum += fmax(u * goal[i], fmin(drafted[i], goal[i] / a));
        *(sum > 1.0 ? &high : &low) = u;
    }
    *ret_kl = 0.0;
    for (int i = 0; i < vocab; i++) {
        ret_law[i] = fmax(high * goal[i], fmin(drafted[i], goal[i] / a));
        alpha += fmin(drafted[i], goal[i] / a);
        if (goal[i] > 0.0) *ret_kl += goal[i] * log(goal[i] / ret_law[i]);
    }
    return alpha;
}

static double law_of(double *ret_law, const double *goal, const double *drafted, int vocab,
                     const double *budget)
{
    double low = log(1e-14), high = 0.0, kl;
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2.0;
        clamped(ret_law, &kl, goal, drafted, vocab, exp(middle));
        *(kl <= *budget ? &high : &low) = middle;
    }
    return clamped(ret_law, &kl, goal, drafted, vocab, exp(high));
}

/* ---- scripted -------------------------------------------------------------------------------- */

static rule_case one_token(int token, bool sampled)
{
    static const double after[] = {0.15, 0.6, 0.25};
    rule_case run;
    rule_case_init(&run, 3);
    run.target[0] = target;
    run.target[1] = after;
    spec_draft_append(&run.draft, token, -1, drafts, sampled);
    return run;
}

TEST(a_token_that_the_target_likes_more_is_certain_and_others_have_their_ratio_over_a)
{
    double law[3], kl;
    OWNED(rule_case) run = one_token(0, true);
    rule_case_verify(&run, "mentored", (const int[]){1, 2}, 2);
    assert_true(run.asked[0] == 1.0);
    assert_within(run.asked[1], 0.25, 1e-15);
    assert_int_equal(run.round.n_accepted, 1);
    rule_case_free(&run);

    run = one_token(1, true);
    rule_case_verify(&run, "mentored?budget=0.01", (const int[]){1, 1}, 2);
    const double a = 0.3 / (0.5 * run.asked[0]); /* both capped: 1 and 2 have .3/a and .2/a */
    clamped(law, &kl, target, drafts, 3, a);
    assert_within(kl, 0.01, 1e-12);
    assert_within(law[1], 0.3 / a, 1e-12);
    assert_within(law[0] + 0.5 / a, 1.0, 1e-12);
    rule_case_verify(&run, "mentored?budget=0.01", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 1.0 - 0.3 / a / 0.5, 1e-12);
    assert_within(run.asked[1], 1.0, 1e-15); /* only token 0 remains */
    assert_int_equal(run.round.token[0], 0);
    rule_case_verify(&run, "mentored", (const int[]){1, 0}, 2); /* .1 by default */
    clamped(law, &kl, target, drafts, 3, 0.3 / (0.5 * run.asked[0]));
    assert_within(kl, 0.1, 1e-12);
}

TEST(without_a_budget_it_is_the_token_rule)
{
    OWNED(rule_case) run = one_token(1, true);
    rule_case_verify(&run, "mentored?budget=0", (const int[]){0, 0}, 2);
    assert_true(run.asked[0] == 1.0 - 0.3 / 0.5 && run.asked[1] == 1.0);
    rule_case_free(&run);
    run = one_token(1, false); /* a chosen token, so the rest of the target after a rejection */
    rule_case_verify(&run, "mentored?budget=0", (const int[]){0, 2}, 2);
    assert_within(run.asked[0], 0.7, 1e-15);
    assert_within(run.asked[1], 0.2 / 0.7, 1e-15);
}

/* If only rounding makes a rejection possible, it leaves no residual, and the draw is from the
 * target itself. */
TEST(where_rounding_leaves_nothing_the_target_is_drawn_from)
{
    static const double almost[3] = {0x1.fffffffffffffp-2, 0.5, 0.0}, even[3] = {0.5, 0.5, 0.0};
    OWNED(rule_case) run;
    rule_case_init(&run, 3);
    run.target[0] = run.target[1] = almost;
    spec_draft_append(&run.draft, 0, -1, even, true);
    rule_case_verify(&run, "mentored?budget=0", (const int[]){0, 1}, 2);
    assert_true(run.asked[0] > 0.0 && run.asked[0] < 1e-15);
    assert_within(run.asked[1], 0.5, 1e-15);
    assert_int_equal(run.round.n_accepted, 0);
    assert_int_equal(run.round.token[0], 1);
}

/* ---- enumerated ------------------------------------------------------------------------------ */

TEST(the_law_is_the_formulas, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const double budget[] = {0.01, 0.1, 0.7};
    const char *const rule[] = {"mentored?budget=0.01", "mentored", "mentored?budget=0.7"};
    for (int i = 0; i < 3; i++) {
        const double tv =
            rule_law_check(rule[i], law_of, &budget[i], (int)spec_test_samples(6), 1e-8, &noise);
        print_message("%s: tv up to %.3f\n", rule[i], tv);
        assert_true(tv > 0.01);
    }
}

/* Any other way to accept and correct within the budget accepts less: tries 20,000 of them, near
 * the rule's and far from it. */
TEST(no_other_acceptance_within_the_budget_accepts_more)
{
    uint64_t noise = spec_test_seed();
    OWNED(table_model) goal, draft;
    table_model_init(&goal, 4);
    table_model_init(&draft, 4);
    int within = 0;
    for (int pair = 0; pair < 20; pair++) {
        table_pair_randomize(&goal, &draft, PAIR_PLAIN, &noise);
        spec_output_law law = rule_law(&goal, &draft, "mentored?budget=0.05", "chain", 1, 1);
        double kl = 0.0;
        for (int i = 0; i < 4; i++) kl += goal.row[i] * log(goal.row[i] / law.law[i]);
        assert_true(kl <= 0.05 + 1e-12 && (kl > 0.05 - 1e-9 || law.accepted > 1.0 - 1e-9));
        for (int other = 0; other < 1000; other++) {
            double kept[4], rest[4], alpha = 0.0, total = 0.0, divergence = 0.0;
            const double far = other % 2 == 0 ? 1.0 : 0.05;
            for (int i = 0; i < 4; i++) {
                const double mine = fmin(law.law[i], draft.row[i]);
                kept[i] = fmin(fmax(mine + far * (table_uniform(&noise) - 0.4) * draft.row[i], 0.0),
                               draft.row[i]);
                rest[i] = fmax(law.law[i] - mine, 0.0) + far * 0.1 * table_uniform(&noise);
                alpha += kept[i];
                total += rest[i];
            }
            for (int i = 0; i < 4; i++)
                divergence +=
                    goal.row[i] * log(goal.row[i] / (kept[i] + (1.0 - alpha) * rest[i] / total));
            if (divergence > 0.05) continue;
            within++;
            assert_true(alpha <= law.accepted + 1e-12);
        }
        spec_output_law_free(&law);
    }
    print_message("%d alternatives were within the budget\n", within);
    assert_true(within > 1000);
}
