/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/output_law.h"
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* The text 3, 1, 3 has acceptance .25, .2 and 1. The first position has the entropy of .4, .3,
 * .2. */
static rule_case text(int depth)
{
    rule_case run = rule_case_text((const int[]){3, 1, 3}, 3);
    run.draft.depth = depth;
    return run;
}

TEST(a_rejected_token_returns_if_its_window_is_accepted)
{
    OWNED(rule_case) run = text(3);
    rule_case_verify(&run, "fly?window=1", (const int[]){0, 1, 1, 1}, 4);
    assert_within(run.asked[0], 0.75, 1e-15);
    assert_within(run.asked[1], 0.2, 1e-15);
    assert_within(run.asked[2], 1.0, 0.0); /* the position after the window is also judged */
    assert_within(run.asked[3], 0.9, 1e-15);
    assert_int_equal(run.round.n_accepted, 3);
    rule_case_verify(&run, "fly?window=2", (const int[]){0, 1, 1, 1}, 4);
    assert_int_equal(run.round.n_accepted, 3);

    /* The window fails, so the correction comes from the first position, (.3, .1, 0, 0). */
    rule_case_verify(&run, "fly?window=1", (const int[]){0, 0, 1}, 3);
    assert_within(run.asked[1], 0.8, 1e-15);
    assert_within(run.asked[2], 0.25, 1e-14);
    assert_int_equal(run.round.n_accepted, 0);

    /* No window fits after the second token, so nothing more is asked. */
    rule_case_verify(&run, "fly?window=2", (const int[]){1, 0, 2}, 3);
    assert_within(run.asked[2], 0.25 / 0.35, 1e-14);
    assert_int_equal(run.round.n_accepted, 1);
}

TEST(two_rejections_may_return_in_one_round)
{
    OWNED(rule_case) run = rule_case_text((const int[]){3, 1, 1}, 3);
    rule_case_verify(&run, "fly?window=1", (const int[]){1, 0, 1, 1}, 4);
    assert_within(run.asked[2], 0.72, 1e-15);
    assert_int_equal(run.round.n_accepted, 3);
    /* A window must be accepted by the token rule itself: .2 here, then .72 for the third token. */
    rule_case_verify(&run, "fly?window=1", (const int[]){0, 0, 0}, 3);
    assert_int_equal(run.round.n_accepted, 0);
}

TEST(the_window_follows_the_draft_length)
{
    OWNED(rule_case) run = text(3); /* min(6, 3 - 1) = 2 */
    rule_case_verify(&run, "fly", (const int[]){0, 1, 1, 1}, 4);
    assert_int_equal(run.round.n_accepted, 3);
    rule_case_verify(&run, "fly", (const int[]){1, 0, 2}, 3); /* the window does not fit */
    run.draft.depth = 2;                                      /* min(6, 2 - 1) = 1 */
    rule_case_verify(&run, "fly", (const int[]){1, 0, 1, 1}, 4);
    assert_int_equal(run.round.n_accepted, 3);
    run.draft.depth = 9; /* 6 */
    rule_case_verify(&run, "fly?window=auto", (const int[]){0, 1}, 2);
}

/* The entropy of .4, .3, .2 is 1.04963 nats; the fourth token is not counted. */
TEST(a_certain_place_keeps_its_rejection)
{
    OWNED(rule_case) run = text(3);
    const double gate = -0.4 * log(0.4) - 0.3 * log(0.3) - 0.2 * log(0.2);
    char rule[64];
    snprintf(rule, sizeof rule, "fly?window=1&entropy=%.6f", gate - 1e-5);
    rule_case_verify(&run, rule, (const int[]){0, 1, 1, 1}, 4);
    assert_int_equal(run.round.n_accepted, 3);
    snprintf(rule, sizeof rule, "fly?window=1&entropy=%.6f", gate + 1e-5);
    rule_case_verify(&run, rule, (const int[]){0, 1}, 2);
    assert_int_equal(run.round.n_accepted, 0);
}

TEST(a_token_of_probability_0_stays_rejected)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 3; i++) run.target[i] = rule_case_target[2];
    spec_draft_append(&run.draft, 2, -1, rule_case_draft[2], true);
    spec_draft_append(&run.draft, 3, 0, rule_case_draft[2], true);
    rule_case_verify(&run, "fly?window=1", (const int[]){0, 0}, 2);
    assert_int_equal(run.round.n_accepted, 0);
}

/* ---- the law of two tokens at K = 2 ---------------------------------------------------------- */

enum { MOST = 4 };

/* Returns whether the three largest probabilities have .3 nats: the sum over all four tokens less
 * that of the smallest. */
static bool uncertain(const double *row, int vocab)
{
    double entropy = 0.0, least = INFINITY;
    for (int x = 0; x < vocab; x++) {
        if (row[x] > 0.0) entropy -= row[x] * log(row[x]);
        least = fmin(least, row[x]);
    }
    if (vocab == MOST && least > 0.0) entropy += least * log(least);
    return entropy >= 0.3;
}

typedef struct {
    const table_model *target, *draft;
    const char *drafting;
    int vocab;
} pair;

static double drafted_after(const pair *p, int x, int y)
{
    return rule_law_drafted(p->draft, p->drafting, &x, 1, y);
}

static double overlap_after(const pair *p, int x)
{
    double sum = 0.0;
    for (int y = 0; y < p->vocab; y++)
        sum += fmin(table_model_row(p->target, &x, 1)[y], drafted_after(p, x, y));
    return sum;
}

/* A first token x is accepted, and no window follows the next position; or it is rejected, and
 * returns with the next token, if that is accepted; or it is a correction, and a new round
 * begins. */
static void check_two_tokens(const pair *p)
{
    const int V = p->vocab;
    const double *t = table_model_row(p->target, NULL, 0);
    const bool gate = uncertain(t, V);
    double accepted[MOST], returns[MOST], residual[MOST], lost = 0.0, sum = 0.0;
    for (int x = 0; x < V; x++) {
        const double d = rule_law_drafted(p->draft, p->drafting, NULL, 0, x);
        const double rejected = fmax(d - t[x], 0.0);
        accepted[x] = fmin(t[x], d);
        residual[x] = fmax(t[x] - d, 0.0);
        returns[x] = gate && t[x] > 0.0 ? rejected : 0.0; /* if the window is accepted */
        lost += rejected - returns[x] * overlap_after(p, x);
        sum += residual[x];
    }
    spec_output_law one = rule_law(p->target, p->draft, "fly", p->drafting, 2, 1),
                    two = rule_law(p->target, p->draft, "fly", p->drafting, 2, 2);
    for (int x = 0; x < V; x++) {
        const double corrected = sum > 0.0 ? lost * residual[x] / sum : 0.0;
        double rest = 0.0; /* of texts that begin with x in neither of these ways */
        assert_within(one.law[x], accepted[x] + returns[x] * overlap_after(p, x) + corrected,
                      1e-13);
        for (int y = 0; y < V; y++) {
            const double next = table_model_row(p->target, &x, 1)[y],
                         both = fmin(next, drafted_after(p, x, y));
            const double later = two.law[x * V + y] - accepted[x] * next - returns[x] * both;
            assert_true(later > -1e-13);
            rest += later;
        }
        assert_within(rest, corrected, 1e-13);
    }
    spec_output_law_free(&one);
    spec_output_law_free(&two);
}

TEST(the_law_is_the_formulas)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 40 * PAIR_FAMILIES; c++) {
        OWNED(table_model) goal, draft;
        const int V = 1 + (int)(4.0 * table_uniform(&noise));
        table_model_init(&goal, V);
        table_model_init(&draft, V);
        table_pair_randomize(&goal, &draft, (pair_family)(c % PAIR_FAMILIES), &noise);
        const char *drafting = c / PAIR_FAMILIES % 2 == 0 ? "chain" : "greedy";
        check_two_tokens(&(pair){&goal, &draft, drafting, V});
    }
}

/* The first token is drafted as 0 and returns half of the time, if both positions after it accept.
 * The second is drafted from the target's row, (1/2, 1/2), and after it the third is certainly
 * accepted if it was 0, and half of the time if it was 1. So 2/3 of the texts in which the first
 * token returns continue with 0. */
TEST(a_place_of_the_window_depends_on_later_acceptance)
{
    enum { ROOT = 0, AFTER_00 = 3, AFTER_01 = 4 };
    static const double sure[2] = {1.0, 0.0};
    OWNED(table_model) goal, draft;
    table_model_init(&goal, 2); /* rows are uniform except for these */
    table_model_init(&draft, 2);
    memcpy(draft.row + 2 * ROOT, sure, sizeof sure);
    memcpy(draft.row + 2 * AFTER_00, sure, sizeof sure);
    memcpy(goal.row + 2 * AFTER_00, sure, sizeof sure);
    memcpy(goal.row + 2 * AFTER_01, sure, sizeof sure);
    OWNED(spec_output_law) law = rule_law(&goal, &draft, "fly?window=2", "chain", 3, 3);
    const double accepted = 0.5, both = accepted * 0.5, /* first 0, then either token */
        returns[2] = {law.law[0] - both, law.law[2] - both}, all = returns[0] + returns[1];
    assert_within(all, 0.5 * 0.75, 1e-15);
    assert_within(returns[0] / all, 2.0 / 3.0, 1e-15);
    assert_within(law.law[0] + law.law[2], 1 - 0.5 * 0.25, 1e-15);
    assert_same(law.law[1] + law.law[3], 0.0); /* after 0, the target's third token is 0 */
}

TEST(wrong_settings_are_named)
{
    static const char *const bad[][2] = {{"fly?window=0", "window=0"},
                                         {"fly?window=257", "window=257"},
                                         {"fly?window=some", "window=some"},
                                         {"fly?entropy=-1", "entropy=-1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec_rule rule;
        spec_error error = {""};
        assert_int_not_equal(spec_rule_init(&rule, bad[i][0], &error), GSL_SUCCESS);
        if (strstr(error.text, bad[i][1]) == NULL) fail_msg("'%s': %s", bad[i][0], error.text);
    }
}
