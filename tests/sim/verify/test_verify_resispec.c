/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks ResiSpec: its decisions by hand, the law of one token by formula, and how large the bias
 * is at least, however the residual is filled. */
#include "tests/support/near.h"
#include "tests/support/rule_law.h"
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"

#include <math.h>

static const double target[4] = {0.4, 0.3, 0.3, 0.0}, row[4] = {0.6, 0.3, 0.1, 0.0};

#define IID(its_target, its_row)                                                                   \
    .rule = "resispec", .siblings = SPEC_SIBLINGS_IID, .target = its_target, .row = its_row,       \
    .vocab = 4

/* Token 0 has .2 too much and is rejected with 1/3. At level 1/2 tokens 1 and 2 contribute (.15,
 * .05). If token 2 is judged next, its residual 1/4 is above the row; token 1 has 3/4, which is
 * also above .3. */
TEST(a_rejection_leaves_what_looks_like_the_draft)
{
    static const double less[4] = {0.2, 0.1, 0.3, 0.4};
    const sibling_case cases[] = {
        {IID(target, row), .n = 1, .token = {0}, .n_answers = 2, .answer = {0, 1},
         .asked = {1.0 / 3.0, 0.75}, .accepted = 0, .emitted = 1},
        {IID(target, row), .n = 2, .token = {0, 0}, .n_answers = 3, .answer = {0, 0, 2},
         .asked = {1.0 / 3.0, 1.0, 0.25}, .accepted = 0, .emitted = 2},
        {IID(target, row), .n = 2, .token = {0, 2}, .n_answers = 3, .answer = {0, 1, 0},
         .asked = {1.0 / 3.0, 1.0, 0.4}, .accepted = 1, .emitted = 2},
        /* Token 0 has .4 too much, so the draft's other tokens contribute all they have, .1 and
         * .3. */
        {IID(less, row), .n = 1, .token = {0}, .n_answers = 2, .answer = {0, 2},
         .asked = {2.0 / 3.0, 0.75}, .accepted = 0, .emitted = 2},
    };
    SIBLING_CASES_CHECK(cases);
}

/* What the draft's tokens lack, the others contribute: token 0 has .7 too much, and token 1 has
 * .1. */
TEST(tokens_without_draft_probability_give_the_rest)
{
    static const double t[4] = {0.2, 0.1, 0.3, 0.4}, d[4] = {0.9, 0.1, 0.0, 0.0};
    const sibling_case cases[] = {
        {IID(t, d), .n = 1, .token = {0}, .n_answers = 2, .answer = {0, 3},
         .asked = {7.0 / 9.0, 0.6 / 0.7 * 4.0 / 7.0}, .accepted = 0, .emitted = 3},
    };
    SIBLING_CASES_CHECK(cases);
}

/* Computes min(level draft, target) off x, by bisection of the level. */
static void shaped(double *ret, const double *t, const double *d, int x, int vocab)
{
    const double lacked = d[x] - t[x];
    double low = 0.0, high = 1e9, sum = 0.0, others = 0.0;
    for (int step = 0; step < 200; step++) {
        const double level = 0.5 * (low + high);
        sum = others = 0.0;
        for (int i = 0; i < vocab; i++) {
            ret[i] = i != x ? fmin(level * d[i], t[i]) : 0.0;
            sum += ret[i];
            others += d[i] > 0.0 ? 0.0 : t[i];
        }
        *(sum < lacked ? &low : &high) = level;
    }
    for (int i = 0; i < vocab; i++)
        if (!(d[i] > 0.0) && others > 0.0) ret[i] = t[i] * fmax(0.0, lacked - sum) / others;
}

/* Computes the law: min(T, D) plus the residual of each x that may be rejected. */
static double by_formula(double *ret_law, const double *t, const double *d, int vocab,
                         const double *setting)
{
    double accepted = 0.0, given[8];
    (void)setting;
    for (int x = 0; x < vocab; x++) accepted += ret_law[x] = fmin(t[x], d[x]);
    for (int x = 0; x < vocab; x++) {
        if (!(d[x] > t[x])) continue;
        shaped(given, t, d, x, vocab);
        for (int i = 0; i < vocab; i++) ret_law[i] += given[i];
    }
    return accepted;
}

TEST(the_law_is_that_of_the_formula, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    print_message("worst tv %.1e\n",
                  rule_law_check("resispec", by_formula, NULL, 20, 1e-7, &noise));
}

static spec_output_law first_token(const table_model *t, const table_model *d, const char *drafting)
{
    return rule_law(t, d, "resispec", drafting, 1, 1);
}

/* target (.4, .3, .3), draft (.6, .3, .1): tv .15. */
TEST(one_draft_of_three_tokens_is_biased)
{
    OWNED(table_model) t, d;
    rule_law_pair(&t, &d, target, row, 3);
    OWNED(spec_output_law) law = first_token(&t, &d, "chain");
    const double expected[] = {0.4, 0.45, 0.15};
    for (int i = 0; i < 3; i++) assert_within(law.law[i], expected[i], 1e-15);
    assert_within(law.tv, 0.15, 1e-15);
}

/* However the residual is filled beyond min(Z draft, target): a token that the draft has too often
 * gets more than its target probability from rejections of others. */
TEST(the_bias_has_a_least_size_and_two_tokens_have_none)
{
    uint64_t noise = spec_test_seed();
    int shown = 0;
    for (int c = 0; c < 600; c++) {
        OWNED(table_model) t, d;
        const int vocab = 2 + c % 4;
        table_model_init(&t, vocab);
        table_model_init(&d, vocab);
        table_pair_randomize(&t, &d, (pair_family)(c / 4 % PAIR_FAMILIES), &noise);
        OWNED(spec_output_law) law = first_token(&t, &d, "chain");
        const double *p = table_model_row(&t, NULL, 0), *q = table_model_row(&d, NULL, 0);
        double least = 0.0;
        for (int v = 0; v < vocab; v++)
            for (int x = 0; x < vocab; x++)
                if (x != v && q[x] > p[x] && q[v] >= p[v])
                    least += fmin((q[x] - p[x]) * q[v], p[v]);
        assert_true(law.tv >= least - 1e-14);
        if (vocab == 2) assert_true(law.tv < 1e-14);
        shown += least > 1e-6;
    }
    assert_true(shown > 60);
}
