/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the measure lengths with closed forms for independent acceptance. */
#include "tests/experiments/measures/run_measure.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

#define PAIR "target = \"zipf?V=20\"; draft = \"perturb?of=target&alpha=0.7\"; "

enum { MOST = 6 };
static const double alpha = 0.7;

/* Fixed lengths are charged for K calls; the oracle is charged for as many as it has accepted
 * tokens. */
TEST(losses_are_those_of_closed_forms, SLOW)
{
    const double c = 0.12, emitted = spec_capped_geometric_mean(alpha, MOST);
    const double oracle = emitted / (1.0 + c * (emitted - 1.0));
    double best = 1.0;
    int best_K = 0;
    for (int K = 1; K <= MOST; K++) {
        const double speedup = spec_capped_geometric_mean(alpha, K) / (1.0 + c * K);
        if (speedup > best) best = speedup, best_K = K;
    }
    OWNED(spec_result) result;
    run(&result, "lengths", 200000,
        PAIR "K = 5; most = 6; c = 0.12; policies = \"fixed,oracle,switch-off\"");
    assert_int_equal(result.table.n_rows, 3);
    for (size_t row = 0; row < 3; row++) {
        assert_int_equal((int)number(&result, row, "best_K"), best_K);
        assert_near(number(&result, row, "speedup_fixed"), best, 0.01);
        assert_near(number(&result, row, "speedup_oracle"), oracle, 0.01);
        assert_true(number(&result, row, "loss_fixed_se") < 0.004);
        const double own = number(&result, row, "speedup");
        assert_within(number(&result, row, "loss_fixed"),
                      1.0 - own / number(&result, row, "speedup_fixed"), 1e-8);
        assert_within(number(&result, row, "loss_oracle"),
                      1.0 - own / number(&result, row, "speedup_oracle"), 1e-8);
    }
    const double five = spec_capped_geometric_mean(alpha, 5);
    assert_near(number(&result, 0, "speedup"), five / (1.0 + c * 5.0), 0.01);
    assert_near(number(&result, 1, "speedup"), five / (1.0 + c * (five - 1.0)), 0.01);
    assert_string_equal(text(&result, 2, "policy"), "switch-off");
    assert_same(number(&result, 2, "speedup"), number(&result, 0, "speedup")); /* it is never off */
}

/* With the same random numbers, a policy that equals the best fixed length loses exactly
 * nothing. */
TEST(the_best_fixed_length_loses_nothing)
{
    OWNED(spec_result) result;
    run(&result, "lengths", 80000, PAIR "K = 3; most = 5; c = 0.2; policies = \"fixed\"");
    assert_true(number(&result, 0, "best_K") == 3.0);
    assert_true(number(&result, 0, "loss_fixed") == 0.0);
}

/* A round costs one call and each verified token its time; the oracle pays for accepted tokens. */
TEST(one_pass_and_tokens_have_their_costs)
{
    const double c = 0.2, token = 0.07;
    OWNED(spec_result) result;
    run(&result, "lengths", 50000,
        PAIR "K = 4; most = 4; c = 0.2; "
             "verify_token = 0.07; one_pass = 1; policies = \"fixed,trim\"");
    const double emitted = number(&result, 0, "emitted");
    assert_near(number(&result, 0, "speedup"), emitted / (1.0 + c + 4.0 * token), 1e-8);
    assert_near(number(&result, 0, "drafted"), 4.0, 1e-12);
    const double trimmed = number(&result, 1, "drafted");
    assert_true(trimmed < 4.0);
    assert_near(number(&result, 1, "speedup"),
                number(&result, 1, "emitted") / (1.0 + c + token * trimmed), 1e-8);
    /* If no token is accepted, the oracle makes no call. */
    const double calls = 1.0 - (1.0 - alpha);
    const double expected = spec_capped_geometric_mean(alpha, 4);
    assert_near(number(&result, 0, "speedup_oracle"),
                expected / (1.0 + c * calls + token * (expected - 1.0)), 0.02);
}

TEST(wrong_policies_are_refused)
{
    static const char *const wrong[][2] = {
        {PAIR "K = 3; policies = \"fixed,trimm\"", "'trim'"},
        {PAIR "K = 3; policies = \"fixed,,trim\"", "policies"},
        {PAIR "K = 65; policies = \"goodput\"", "64 positions"},
        {PAIR "K = 3; most = 0", "most"},
        {PAIR "K = 3; token = -1", "token"},
        {PAIR "K = 3; one_pass = 2", "one_pass"},
    };
    assert_grids_refused("lengths", wrong, sizeof wrong / sizeof *wrong);
}
