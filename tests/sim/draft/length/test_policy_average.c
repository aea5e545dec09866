/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/sim/draft/length/policy_case.h"
#include "tests/sim/serving/length_run.h"
#include "tests/support/support.h"

/* SGLang's constants: average 2 at the start; .8 average + .2 accepted; a decision in rounds 15,
 * 20,
 * ... */
TEST(lengths_move_by_hand_computed_averages)
{
    policy_case c = case_of("average", 3);
    assert_int_equal(c.policy.K, 7);
    assert_int_equal(c.policy.now, 3);
    double average = 2.0;
    for (int round = 1; round <= 15; round++) {
        assert_int_equal(c.policy.now, 3);
        case_round(&c, 3, 3);
        average = 0.8 * average + 0.6;
    }
    assert_true(average > 2.5 && average < 4.5); /* above 3 - .5, below 5 - .5 */
    assert_int_equal(c.policy.now, 5);
    for (int round = 16; round <= 20; round++) {
        assert_int_equal(c.policy.now, 5);
        case_round(&c, 5, 0);
        average *= 0.8;
    }
    assert_true(average > 0.25 && average < 2.25); /* below 3 - .75, above 1 - .75 */
    assert_int_equal(c.policy.now, 3);
    for (int round = 21; round <= 30; round++) case_round(&c, 3, 0);
    assert_int_equal(c.policy.now, 1);
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 3);
    for (int round = 1; round <= 15; round++) case_round(&c, 3, 3);
    assert_int_equal(c.policy.now, 5); /* as at the start, because the text before is forgotten */
    case_free(&c);
}

TEST(no_drafts_are_probed_after_an_interval)
{
    policy_case c = case_of("average?lengths=0.2.4&warm=0&every=3", 0);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(c.policy.now, 0);
        case_round(&c, 0, 0);
    }
    assert_int_equal(c.policy.now, 2);
    /* From -1 the average begins at 2 - 1: 1 -> .8 -> .64 -> .512, above .5 - .25. */
    for (int round = 0; round < 3; round++) case_round(&c, 2, 0);
    assert_int_equal(c.policy.now, 2);
    for (int round = 0; round < 3; round++) case_round(&c, 2, 0); /* .262 */
    assert_int_equal(c.policy.now, 2);
    for (int round = 0; round < 3; round++) case_round(&c, 2, 0); /* .134 */
    assert_int_equal(c.policy.now, 0);
    case_free(&c);
}

TEST(a_start_outside_the_list_is_its_middle)
{
    policy_case c = case_of("average", 4);
    assert_int_equal(c.policy.now, 5);
    case_free(&c);
    c = case_of("average?lengths=2", 4);
    assert_int_equal(c.policy.now, 2);
    for (int round = 0; round < 40; round++) case_round(&c, 2, round % 3);
    assert_int_equal(c.policy.now, 2);
    case_free(&c);
}

/* The serving engine's choice for a single request is another implementation of the same law. */
TEST(lengths_are_those_of_the_serving_engine_with_one_request)
{
    static const struct {
        const char *policy, *choice;
        int K;
    } laws[] = {
        {"average", "sglang?K=3", 3},
        {"average?lengths=0.1.3&down=0", "sglang?K=1&slots=1:0.1.3&down=0", 1},
        {"average?lengths=0.2.4&warm=3&every=2&rate=0.4&up=-0.5&ceiling=1.5",
         "sglang?K=4&slots=1:0.2.4&warm=3&interval=2&rate=0.4&up=-0.5&ceiling=1.5", 4},
        {"average?lengths=1.2.6&warm=0&every=1", "sglang?K=5&slots=1:1.2.6&warm=0&interval=1", 5},
    };
    const uint64_t seed = spec_test_seed();
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        policy_case c = case_of(laws[i].policy, laws[i].K);
        length_run run;
        int moves = 0, last = c.policy.now;
        length_run_init(&run, laws[i].choice, "affine:step=1ms", NULL, 1);
        for (int round = 0; round < 3000; round++) {
            const uint64_t key = spec_noise_mix(seed * 1000003 + (uint64_t)round);
            const float alpha = 0.5f;
            const int K = length_run_choose(&run, &alpha, 1);
            assert_int_equal(c.policy.now, K);
            moves += K != last;
            last = K;
            int32_t n = 0; /* acceptance drifts, so that all lengths occur */
            const double chance = 0.1 + 0.85 * ((round / 60) % 4) / 3.0;
            while (n < K && case_uniform(key, (uint64_t)n) < chance) n++;
            length_run_observe(&run, &alpha, 1, &n, 1.0);
            case_round(&c, K, n);
        }
        assert_true(moves > 50);
        length_run_free(&run);
        case_free(&c);
    }
}
