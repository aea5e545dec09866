/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/sim/draft/length/policy_case.h"
#include "tests/sim/serving/length_run.h"
#include "tests/support/support.h"

enum { ROUNDS = 2000 };

/* ---- gate ------------------------------------------------------------------------------------ */

TEST(a_gate_opens_at_its_share_of_the_window)
{
    policy_case c = case_of("gate", 7);
    for (int round = 0; round < 8; round++) {
        assert_int_equal(c.policy.now, 3);
        case_round(&c, 3, round < 6 ? 3 : 2);
    }
    assert_int_equal(c.policy.now, 7); /* 6 of 8 */
    case_round(&c, 7, 0);
    assert_int_equal(c.policy.now, 7); /* 6 of 9: .667 */
    case_round(&c, 7, 2);
    assert_int_equal(c.policy.now, 3); /* 6 of 10 */
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 3);
    for (int round = 0; round < 7; round++) case_round(&c, 3, 3);
    assert_int_equal(c.policy.now, 3); /* seven rounds are too few */
    case_free(&c);
    c = case_of("gate?base=5", 4);
    assert_int_equal(c.policy.now, 4);
    case_free(&c);
}

/* The second route keeps all outcomes and counts the last ones, as the engine does. */
TEST(gates_follow_a_recount_of_all_rounds)
{
    static const struct {
        const char *spec;
        int base, window, warm;
        double share;
    } gates[] = {{"gate", 3, 32, 8, 0.65},
                 {"gate?base=1&share=0.5&window=64&warm=20", 1, 64, 20, 0.5},
                 {"gate?base=2&share=1&window=3&warm=1", 2, 3, 1, 1.0}};
    for (size_t g = 0; g < sizeof gates / sizeof *gates; g++) {
        policy_case c = case_of(gates[g].spec, 6);
        int outcome[ROUNDS], opened = 0;
        for (int round = 0; round < ROUNDS; round++) {
            const int window = round < gates[g].window ? round : gates[g].window;
            int hits = 0;
            for (int i = round - window; i < round; i++) hits += outcome[i] >= gates[g].base;
            const bool open = round >= gates[g].warm && (double)hits / window >= gates[g].share;
            assert_int_equal(c.policy.now, open ? 6 : gates[g].base);
            opened += open;
            outcome[round] = case_accepted(round, c.policy.now);
            case_round(&c, c.policy.now, outcome[round]);
        }
        assert_true(opened > ROUNDS / 20 && opened < ROUNDS);
        case_free(&c);
    }
}

/* ---- tiers ----------------------------------------------------------------------------------- */

TEST(tiers_are_those_between_K_and_the_most)
{
    static const struct {
        const char *spec;
        int K, n, length[4];
    } lists[] = {{"tiers", 3, 4, {3, 7, 11, 15}},
                 {"tiers?max=10", 3, 3, {3, 7, 10}},
                 {"tiers?max=3", 3, 1, {3}},
                 {"tiers", 7, 3, {7, 11, 15}},
                 {"tiers?max=16", 11, 3, {11, 15, 16}},
                 {"tiers", 40, 1, {40}},
                 {"tiers", 0, 1, {0}}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        policy_case c = case_of(lists[i].spec, lists[i].K);
        assert_int_equal(c.policy.tiers.n, lists[i].n);
        for (int t = 0; t < lists[i].n; t++)
            assert_int_equal(c.policy.tiers.length[t], lists[i].length[t]);
        assert_int_equal(c.policy.K, lists[i].length[lists[i].n - 1]);
        assert_int_equal(c.policy.now, lists[i].K);
        case_free(&c);
    }
}

/* Windows have two rounds. After the first window the last tier follows, whatever happened. */
TEST(tiers_go_up_and_down_by_their_window)
{
    policy_case c = case_of("tiers?window=2", 3);
    case_round(&c, 3, 0);
    assert_int_equal(c.policy.now, 3);
    case_round(&c, 3, 0);
    assert_int_equal(c.policy.now, 15);
    case_round(&c, 15, 1); /* mean 1.5 */
    assert_int_equal(c.policy.now, 11);
    case_round(&c, 11, 2); /* mean 2.5, none full */
    assert_int_equal(c.policy.now, 7);
    case_round(&c, 7, 3); /* mean 3.5, less than 6 */
    assert_int_equal(c.policy.now, 7);
    case_round(&c, 7, 7); /* one of two is full */
    assert_int_equal(c.policy.now, 11);
    case_round(&c, 11, 9); /* one of two is full */
    assert_int_equal(c.policy.now, 15);
    case_round(&c, 15, 12); /* mean 11.5, less than 12 */
    assert_int_equal(c.policy.now, 15);
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 3);
    case_free(&c);
}

/* Computes the law from all outcomes, by the engine's block sizes, which count the bonus token. */
static int next_block(int current, const int *tier, int n_tiers, const int *accepted,
                      const int *drafted, int n)
{
    int at = 0, output = 0, full = 0;
    if (n < 6) return current;
    for (int i = n - 6; i < n; i++) {
        output += accepted[i] + 1;
        full += accepted[i] >= (drafted[i] > 1 ? drafted[i] : 1);
    }
    while (tier[at] != current) at++;
    if (n == 6 && at == 0) return tier[n_tiers - 1];
    if (output < 12 || (output < 18 && full == 0)) return tier[at > 0 ? at - 1 : 0];
    if (full >= 2 || output >= 4.5 * current) return tier[at < n_tiers - 1 ? at + 1 : at];
    return current;
}

TEST(tiers_follow_a_recount_of_all_rounds)
{
    static const int tier[] = {4, 8, 12, 16};
    policy_case c = case_of("tiers", 3);
    int accepted[ROUNDS], drafted[ROUNDS], block = 4, seen[17] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(c.policy.now + 1, block);
        seen[block]++;
        drafted[round] = round % 7 == 0 ? c.policy.now / 2 : c.policy.now; /* some end early */
        accepted[round] = case_accepted(round, drafted[round]);
        case_round(&c, drafted[round], accepted[round]);
        block = next_block(block, tier, 4, accepted, drafted, round + 1);
    }
    for (int t = 0; t < 4; t++) assert_true(seen[tier[t]] > 20);
    case_free(&c);
}

/* ---- switch-off ------------------------------------------------------------------------------ */

TEST(a_switch_stays_off_until_the_text_ends)
{
    policy_case c = case_of("switch-off?window=3&threshold=1.1", 4);
    case_round(&c, 4, 0);
    case_round(&c, 4, 0);
    assert_int_equal(c.policy.now, 4); /* the window is not full */
    case_round(&c, 0, 0);              /* a round without drafts tells nothing */
    assert_int_equal(c.policy.now, 4);
    case_round(&c, 4, 4); /* mean 4/3 */
    assert_int_equal(c.policy.now, 4);
    case_round(&c, 4, 1); /* mean 5/3 */
    case_round(&c, 4, 0); /* mean 5/3 */
    assert_int_equal(c.policy.now, 4);
    case_round(&c, 4, 2); /* mean 1 */
    assert_int_equal(c.policy.now, 0);
    case_round(&c, 0, 0);
    assert_int_equal(c.policy.now, 0);
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 4);
    case_round(&c, 4, 0);
    assert_int_equal(c.policy.now, 4);
    case_free(&c);
}

/* The gate of the serving engine, with a single request, is another implementation. */
TEST(a_switch_by_share_is_that_of_the_serving_engine)
{
    const uint64_t seed = spec_test_seed();
    const float alpha = 0.5f;
    int offs = 0;
    for (uint64_t run = 0; run < 60; run++) {
        policy_case c = case_of("switch-off?of=share&window=20&threshold=0.3", 4);
        length_run engine;
        length_run_init(&engine, "trt?K=4&window=20&threshold=0.3", "affine:step=1ms", NULL, 1);
        for (int round = 0; round < 200; round++) {
            const int K = length_run_choose(&engine, &alpha, 1);
            assert_int_equal(c.policy.now, K);
            const uint64_t key = spec_noise_mix((seed + run) * 1000003 + (uint64_t)round);
            int32_t n = 0; /* a mean share near .4 */
            while (n < K && case_uniform(key, (uint64_t)n) < 0.69) n++;
            length_run_observe(&engine, &alpha, 1, &n, 1.0);
            case_round(&c, K, n);
        }
        offs += c.policy.now == 0;
        length_run_free(&engine);
        case_free(&c);
    }
    assert_true(offs > 5 && offs < 55);
}
