/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the detectable TV by hand: shares, rare and certain tokens, rarely reached places,
 * budgets. test_power_check shows that it is really detected. */
#include "tools/validate/evidence/detectable.h"

#include "analysis/statistics/power.h"
#include "tests/support/support.h"
#include "tests/tools/validate/evidence_stand.h"

static const spec_detectable_needs looks = {
    .power = 0.9, .suspicious = 1e-6, .fresh = 1e-9, .fresh_times = 4.0};

/* Puts n tokens at the first place after a state, and a share of them at another place. */
static void put(stand *s, int state, uint64_t n, spec_place place, uint64_t own)
{
    s->evidence->tables.visits[state] = s->evidence->tables.own[state][SPEC_PLACE_FIRST] = n;
    s->evidence->tables.own[state][place] = own;
    s->evidence->tokens += n;
}

TEST(the_weakest_state_decides)
{
    OWNED(stand) s;
    spec_detectable d[SPEC_PLACES];
    open_stand(&s, "two-2", SPEC_SCOPE_VERIFY);
    put(&s, 0, 9000, SPEC_PLACE_BONUS, 9000);
    put(&s, 2, 4000, SPEC_PLACE_BONUS, 4000);
    spec_detectable_find(d, s.evidence, &s.fixture, &looks);
    const double first = spec_power_noncentrality(1.0, 1e-6, 0.95),
                 fresh = spec_power_noncentrality(1.0, 1e-9, 0.95);
    assert_near(d[SPEC_PLACE_FIRST].tv, sqrt(fmax(first, fresh / 4.0) / 16000.0), 1e-12);
    assert_int_equal(d[SPEC_PLACE_FIRST].state, 2);
    assert_int_equal(d[SPEC_PLACE_FIRST].own, 13000);
    assert_int_equal(d[SPEC_PLACE_FIRST].states, 2);
    spec_detectable_needs strict = looks; /* now the second look decides */
    strict.fresh_times = 1.0;
    spec_detectable_find(d, s.evidence, &s.fixture, &strict);
    assert_near(d[SPEC_PLACE_FIRST].tv, sqrt(fresh / 16000.0), 1e-12);
}

/* A difference that affects a fifth of the tokens must be five times as large to be detected. */
TEST(a_share_of_the_tokens_needs_a_larger_difference)
{
    OWNED(stand) s;
    spec_detectable d[SPEC_PLACES];
    open_stand(&s, "two-2", SPEC_SCOPE_VERIFY);
    put(&s, 0, 10000, SPEC_PLACE_CORRECTION, 2000);
    spec_detectable_find(d, s.evidence, &s.fixture, &looks);
    assert_near(d[SPEC_PLACE_CORRECTION].tv, 5.0 * d[SPEC_PLACE_FIRST].tv, 1e-12);
    assert_true(d[SPEC_PLACE_BONUS].exists && d[SPEC_PLACE_BONUS].own == 0);
    assert_nan(d[SPEC_PLACE_BONUS].tv);
    assert_false(d[SPEC_PLACE_TEXT].exists);
}

/* Of 16 tokens those with expectations below ten are pooled into one cell; a difference among them
 * is invisible. */
TEST(pooled_mass_adds_to_the_detectable_tv)
{
    OWNED(stand) s;
    spec_detectable d[SPEC_PLACES];
    double before = 1.0;
    open_stand(&s, "zipf-16", SPEC_SCOPE_VERIFY);
    for (uint64_t n = 5; n < 1000000; n *= 3) {
        const double *law = law_of(&s, 0);
        double rare = 0.0;
        int often = 0;
        for (int x = 0; x < 16; x++) {
            often += law[x] * (double)n >= 10.0;
            rare += law[x] * (double)n < 10.0 ? law[x] : 0.0;
        }
        s.evidence->tokens = 0;
        put(&s, 0, n, SPEC_PLACE_BONUS, 0);
        spec_detectable_find(d, s.evidence, &s.fixture, &looks);
        assert_true(d[SPEC_PLACE_FIRST].tv <= before);
        before = d[SPEC_PLACE_FIRST].tv;
        if (often < 2) assert_same(before, 1.0);
        if (often >= 2 && before < 1.0) assert_true(before > rare);
        if (often == 16)
            assert_near(before,
                        sqrt(spec_power_noncentrality(15.0, 1e-6, 0.95) / (4.0 * (double)n)),
                        1e-12);
    }
    assert_true(before < 0.01);
}

/* After a state with a single possible token, any other is a FAIL. If others come with probability
 * s, none comes in n draws with probability (1 - s)^n. */
TEST(after_a_certain_token_any_other_is_found)
{
    OWNED(stand) s;
    spec_detectable d[SPEC_PLACES];
    open_stand(&s, "one-hot-target-4", SPEC_SCOPE_VERIFY);
    put(&s, 0, 1000, SPEC_PLACE_BONUS, 100);
    spec_detectable_find(d, s.evidence, &s.fixture, &looks);
    assert_within(pow(1.0 - d[SPEC_PLACE_FIRST].tv, 1000.0), 0.1, 1e-3);
    assert_within(pow(1.0 - d[SPEC_PLACE_BONUS].tv, 100.0), 0.1, 3e-3);
}

TEST(states_that_are_seldom_reached_are_left_out_and_counted)
{
    OWNED(stand) s;
    spec_detectable d[SPEC_PLACES];
    open_stand(&s, "two-2", SPEC_SCOPE_VERIFY);
    put(&s, 0, 100000, SPEC_PLACE_BONUS, 0);
    put(&s, 1, 99, SPEC_PLACE_BONUS, 99);
    spec_detectable_find(d, s.evidence, &s.fixture, &looks);
    assert_true(d[SPEC_PLACE_FIRST].seldom == 1 && d[SPEC_PLACE_FIRST].states == 2 &&
                d[SPEC_PLACE_FIRST].state == 0);
    assert_true(d[SPEC_PLACE_BONUS].seldom == 1 && d[SPEC_PLACE_BONUS].own == 99);
    assert_nan(d[SPEC_PLACE_BONUS].tv);
}

TEST(the_budget_that_is_named_is_enough_and_not_too_much)
{
    OWNED(stand) s;
    spec_detectable d[SPEC_PLACES];
    spec_detectable_needs bets = looks;
    bets.log_capital = 30.0;
    open_stand(&s, "zipf-16", SPEC_SCOPE_VERIFY);
    for (int way = 0; way < 2; way++) {
        const spec_detectable_needs *needs = way == 0 ? &looks : &bets;
        put(&s, 0, 3000, SPEC_PLACE_CORRECTION, 600);
        const double times =
            spec_detectable_times(s.evidence, &s.fixture, needs, SPEC_PLACE_CORRECTION, 0, 0.1);
        assert_true(times > 1.0 && times < 1e4);
        for (int less = 0; less < 2; less++) {
            const double n = 600.0 * times * (less ? 0.98 : 1.01);
            put(&s, 0, (uint64_t)(5.0 * n), SPEC_PLACE_CORRECTION, (uint64_t)n);
            spec_detectable_find(d, s.evidence, &s.fixture, needs);
            assert_true((d[SPEC_PLACE_CORRECTION].tv > 0.1) == less);
        }
        assert_same(
            spec_detectable_times(s.evidence, &s.fixture, needs, SPEC_PLACE_CORRECTION, 0, 0.9),
            1.0);
        put(&s, 0, 1000, SPEC_PLACE_CORRECTION, 1);
        assert_true(isinf(
            spec_detectable_times(s.evidence, &s.fixture, needs, SPEC_PLACE_CORRECTION, 0, 1e-6)));
    }
}

/* Bets must win at least 2e6 on one state, and pay for learning; more capital needs a larger
 * difference. */
TEST(bets_need_a_larger_difference_than_looks)
{
    OWNED(stand) s;
    spec_detectable at[3][SPEC_PLACES];
    spec_detectable_needs bets = looks;
    open_stand(&s, "zipf-16", SPEC_SCOPE_VERIFY);
    put(&s, 0, 30000, SPEC_PLACE_BONUS, 0);
    spec_detectable_find(at[0], s.evidence, &s.fixture, &looks);
    bets.log_capital = 20.0;
    spec_detectable_find(at[1], s.evidence, &s.fixture, &bets);
    bets.log_capital = 40.0;
    spec_detectable_find(at[2], s.evidence, &s.fixture, &bets);
    assert_true(at[0][0].tv < at[1][0].tv && at[1][0].tv < at[2][0].tv &&
                at[2][0].tv < 2.0 * at[0][0].tv);
}
