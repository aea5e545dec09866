/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks measures of a target and its draft: decoding, overlap, and what is lossless. */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

/* The decoding loop over models, beside two closed forms: the process of a perturb draft, and
 * the chain over contexts of Markov pairs. With 40000 rounds, theory for the wrong rule (overlap
 * for match) would be off by over 50 standard errors. */
TEST(decode_agrees_with_theory_for_pairs_that_have_one)
{
    OWNED(spec_result) result;
    run(&result, "decode", 40000,
        "target = \"markov?V=4&order=1&seed=3\"; draft = [\"perturb?of=target&alpha=0.73\", "
        "\"markov?V=4&order=2&seed=4\"]; rule = [\"token\", \"match\"]; drafting = [\"chain\", "
        "\"greedy\"]; K = 3;");
    assert_all_hold(&result, 8);
    assert_within(number(&result, 0, "emitted_theory"), (1.0 - pow(0.73, 4)) / 0.27, 1e-8);
    assert_within(number(&result, 0, "alpha_mean"), 0.73, 1e-9);
    assert_within(number(&result, 0, "emitted_iid"), (1.0 - pow(0.73, 4)) / 0.27, 1e-8);
    assert_within(number(&result, 0, "speedup_iid"), (1.0 - pow(0.73, 4)) / 0.27 / 1.3, 1e-8);
    /* (ii) is 1 - (rounds that ended early) / tests: within 5 standard errors of .73 at about 1e5
     * tests; (iii) is 1 less than emitted over K. */
    assert_within(number(&result, 0, "alpha_tested"), 0.73, 0.008);
    for (size_t r = 0; r < 8; r++)
        assert_within(number(&result, r, "accepted_over_drafted"),
                      (number(&result, r, "emitted") - 1.0) / 3.0, 1e-8);
    for (size_t r = 0; r < 8; r++) assert_within(number(&result, r, "rounds_drafted"), 1.0, 0.0);
    /* With a greedy draft, token and match have the same law. */
    assert_within(number(&result, 5, "emitted_theory"), number(&result, 7, "emitted_theory"), 1e-9);
}

/* At K = 1 a round with a draft drafts one token. Patterns of eight tokens are rare; those of one
 * token are not. */
TEST(rounds_without_a_draft_are_counted)
{
    OWNED(spec_result) result;
    run(&result, "decode", 20000,
        "target = \"markov?V=4&order=1&seed=3\"; drafting = [\"lookup?max=8&min=8\", "
        "\"lookup?max=1\", \"trie?depth=4&nodes=5\"]; rule = \"match\"; K = 1; burn_in = 0;");
    for (size_t r = 0; r < 2; r++) {
        const double share = number(&result, r, "rounds_drafted");
        assert_true(share > 0.0 && share < 1.0);
        assert_within(number(&result, r, "accepted_over_drafted"),
                      (number(&result, r, "emitted") - 1.0) / share, 1e-8);
    }
    assert_true(number(&result, 0, "rounds_drafted") < 0.5);
    assert_true(number(&result, 1, "rounds_drafted") > 0.9);
    assert_true(number(&result, 2, "rounds_drafted") > 0.9); /* a node with siblings counts once */
    assert_true(number(&result, 2, "rounds_drafted") <= 1.0);
}

/* Compares the simulation, with the shared noise of a seed, with the prediction by enumeration of
 * the coupling's law. The theory of a coupling is off by 90 standard errors if drafts are
 * independent, and vice versa. */
TEST(decode_by_a_seed_agrees_with_the_coupling_by_chance)
{
    OWNED(spec_result) result;
    run(&result, "decode", 40000,
        "target = \"markov?V=4&order=1&seed=3\"; draft = \"markov?V=4&order=1&seed=4\"; "
        "rule = [\"gumbel?seed=7\", \"minhash?seed=7\"]; "
        "drafting = [\"gumbel?seed=7\", \"minhash?seed=7\", \"chain\"]; K = 3;");
    assert_all_hold(&result, 6);
    const double matched = number(&result, 2, "emitted_theory");
    assert_within(number(&result, 1, "emitted_theory"), matched, 1e-9);
    assert_within(number(&result, 5, "emitted_theory"), matched, 1e-9);
    assert_true(number(&result, 0, "emitted_theory") > number(&result, 4, "emitted_theory") + 0.02);
    assert_true(number(&result, 4, "emitted_theory") > matched + 0.2);
    for (size_t r = 0; r < 6; r++)
        assert_within(number(&result, r, "alpha_tested"), number(&result, r, "alpha_mean"), 0.02);
}

TEST(decode_leaves_theory_empty_where_there_is_none)
{
    OWNED(spec_result) result;
    run(&result, "decode", 2000,
        "target = \"markov?V=17&order=2&seed=3\"; draft = \"markov?V=17&order=1&seed=4\"; "
        "policy = [\"fixed\", \"heuristic\"]; K = 3; positions = 1000;");
    assert_int_equal(result.holds + result.fails, 0);
    assert_nan(number(&result, 0, "emitted_theory"));
    assert_true(number(&result, 0, "emitted_iid") > 1.0);
    assert_nan(number(&result, 1, "emitted_iid")); /* K differs between rounds */
    assert_true(number(&result, 1, "speedup") > 0.0);
    spec_result_free(&result);
    run(&result, "decode", 2000,
        "target = \"markov?V=4&order=1&seed=3\"; drafting = \"lookup\"; K = 3; c = 0.5;");
    assert_nan(number(&result, 0, "alpha_mean"));
    assert_within(number(&result, 0, "speedup"), number(&result, 0, "emitted"),
                  1e-9); /* without a draft model there is no draft cost */
}

/* With one position alpha has no standard error, and adds none to the prediction. */
TEST(a_prediction_from_one_position_has_no_z)
{
    OWNED(spec_result) result;
    run(&result, "decode", 500,
        "target = \"markov?V=3&order=1&seed=3\"; draft = \"markov?V=3&order=1&seed=4\"; K = 3; "
        "positions = [1, 100];");
    assert_true(number(&result, 0, "emitted_iid") > 1.0);
    assert_nan(number(&result, 0, "emitted_iid_z"));
    assert_true(fabs(number(&result, 1, "emitted_iid_z")) < 1e3);
}

/* A first round of K = 2 with overlap .7 everywhere emits 1 + .7 + .49 tokens in 1.2 target calls;
 * without c there is no speed-up. */
TEST(prove_gives_the_speedup_of_the_first_round_where_c_is_given)
{
    OWNED(spec_result) result;
    run(&result, "prove", 0,
        "rule = \"token\"; target = \"probs:0.5,0.3,0.2\"; draft = \"chain:probs:0.2,0.5,0.3\"; K "
        "= 2; c = 0.1;");
    assert_within(number(&result, 0, "mean_n_accepted"), 0.7 + 0.49, 1e-9);
    assert_within(number(&result, 0, "speedup"), (1.0 + 0.7 + 0.49) / 1.2, 1e-9);
    spec_result_free(&result);
    run(&result, "prove", 0,
        "rule = \"token\"; target = \"probs:0.5,0.3,0.2\"; draft = \"chain:probs:0.2,0.5,0.3\"; K "
        "= 2;");
    assert_nan(number(&result, 0, "speedup"));
}

/* A fixed pair is iid: with verify = 2 and fixed = .5 the time of a round is 3 * .1 + 2 + .5. */
TEST(the_clock_charges_draft_verify_and_fixed_costs)
{
    OWNED(spec_result) result;
    run(&result, "decode", 20000,
        "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; K = 3; c = 0.1; verify = "
        "2; fixed = 0.5; "
        "positions = 64;");
    assert_within(number(&result, 0, "speedup"), number(&result, 0, "emitted") / 2.8, 1e-8);
    assert_within(number(&result, 0, "speedup_iid"), number(&result, 0, "emitted_iid") / 2.8, 1e-8);
}

/* A Markov chain that begins again after every token shows only its first row. The overlap there is
 * the enumerated acceptance of `accept`, and does not vary. */
TEST(overlap_begins_anew_after_its_length)
{
    OWNED(spec_result) result, first;
    run(&result, "overlap", 0,
        "target = \"markov?V=4&order=1&seed=5\"; draft = \"markov?V=4&order=1&seed=6\"; positions "
        "= 640; length = 1;");
    run(&first, "accept", 0,
        "target = \"markov?V=4&order=1&seed=5\"; draft = \"markov?V=4&order=1&seed=6\"; rule = "
        "\"token\";");
    assert_within(number(&result, 0, "alpha_mean"), number(&first, 0, "enumerated"), 1e-9);
    assert_within(number(&result, 0, "alpha_mean_se"), 0.0, 1e-9);
    spec_result_free(&result);
    run(&result, "overlap", 0,
        "target = \"markov?V=4&order=1&seed=5\"; draft = \"markov?V=4&order=1&seed=6\"; positions "
        "= 640;");
    assert_true(number(&result, 0, "alpha_mean_se") > 0.0);
}

/* All positions are alike, so shares are 0 or 1. KL is .0207 for the first draft and .149 for the
 * second; the certificates are .0253 (greedy), .0664 (within .25) and .0690 (two drafts) and, by
 * the margin alone, .0201, .0457 and .0380 (python3). */
TEST(overlap_certifies_greedy_drafts)
{
    static const struct {
        const char *draft, *rule;
        double accepted, certified, margin;
    } rows[] = {{"0.4,0.35,0.25", "top = 1;", 1.0, 1.0, 0.0},
                {"0.4,0.35,0.25", "top = 1; delta = 0.25;", 1.0, 1.0, 1.0},
                {"0.4,0.35,0.25", "top = 2;", 1.0, 1.0, 1.0},
                {"0.4,0.35,0.25", "top = 3;", 1.0, 1.0, 1.0},
                {"0.5,0.5,0", "top = 3;", 1.0, 1.0, 1.0},
                {"0.25,0.5,0.25", "top = 1;", 0.0, 0.0, 0.0},
                {"0.25,0.5,0.25", "top = 1; delta = 0.25;", 1.0, 0.0, 0.0},
                {"0.25,0.5,0.25", "top = 1; delta = 0.5;", 1.0, 1.0, 1.0},
                {"0.25,0.5,0.25", "top = 2;", 1.0, 0.0, 0.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(spec_result) result;
        char grid[200];
        snprintf(grid, sizeof grid,
                 "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:%s\"; positions = 64; %s",
                 rows[i].draft, rows[i].rule);
        run(&result, "overlap", 0, grid);
        assert_same(number(&result, 0, "greedy_accepted"), rows[i].accepted);
        assert_same(number(&result, 0, "certified"), rows[i].certified);
        assert_same(number(&result, 0, "certified_margin"), rows[i].margin);
    }
}

TEST(of_equal_drafts_the_first_are_taken)
{
    OWNED(spec_result) result;
    run(&result, "overlap", 0,
        "target = \"probs:0.2,0.3,0.5\"; draft = \"probs:0.4,0.3,0.3\"; positions = 1; "
        "top = \"2,3\";");
    assert_same(number(&result, 0, "greedy_accepted"), 0.0);
    assert_same(number(&result, 1, "greedy_accepted"), 1.0);
}

/* At a single position of many random pairs, what is certified is accepted. */
TEST(what_is_certified_is_accepted)
{
    double certified = 0.0, n = 0.0;
    for (int seed = 0; seed < 60; seed++) {
        OWNED(spec_result) result;
        char grid[300];
        snprintf(grid, sizeof grid,
                 "target = \"dirichlet?V=5&concentration=0.5&seed=%d\"; draft = "
                 "\"perturb?of=target&alpha=0.7&seed=%d\"; positions = 1; "
                 "top = \"1,2,3\";",
                 seed, seed + 100);
        run(&result, "overlap", 0, grid);
        for (size_t r = 0; r < result.table.n_rows; r++, n++) {
            const double is = number(&result, r, "certified");
            assert_true(is <= number(&result, r, "greedy_accepted"));
            assert_true(number(&result, r, "certified_margin") <= is);
            certified += is;
        }
    }
    assert_true(certified > 0.3 * n && certified < 0.9 * n);
}

/* Order-0 pairs have the same overlap everywhere: tests/oracle/vectors.py for (.5,.3,.2) and
 * (.2,.5,.3): .7 and .31. */
TEST(overlap_and_accept_know_the_reference_vector)
{
    OWNED(spec_result) result;
    run(&result, "overlap", 0,
        "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; drafting = [\"chain\", "
        "\"greedy\"]; "
        "positions = 64; coins = \"0,1\";");
    assert_nan(number(&result, 0, "coin_entropy"));
    assert_nan(number(&result, 0, "certified"));
    assert_within(number(&result, 1, "coin_entropy"), 0.5274601, 1e-7); /* python3 */
    assert_within(number(&result, 0, "alpha_mean"), 0.7, 1e-9);
    assert_within(number(&result, 2, "alpha_mean"), 0.3,
                  1e-9); /* the target's probability of the draft's most probable token */
    assert_within(number(&result, 0, "match"), 0.31, 1e-9);
    assert_within(number(&result, 0, "alpha_mean_se"), 0.0, 1e-9);
    assert_within(number(&result, 0, "target_entropy"),
                  -0.5 * log(0.5) - 0.3 * log(0.3) - 0.2 * log(0.2), 1e-9);
    assert_within(number(&result, 0, "argmax_agreement"), 0.0, 0.0);
    spec_result_free(&result);

    run(&result, "accept", 0,
        "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; rule = [\"token\", "
        "\"match\", \"greedy\"];");
    assert_all_hold(&result, 3);
    const double acceptance[] = {0.7, 0.31, 0.2}, optimal[] = {0.7, 0.7, 0.2};
    for (size_t r = 0; r < 3; r++) {
        assert_within(number(&result, r, "acceptance"), acceptance[r], 1e-9);
        assert_within(number(&result, r, "enumerated"), acceptance[r], 1e-9);
        assert_within(number(&result, r, "optimal"), optimal[r], 1e-9);
    }
    spec_result_free(&result);

    run(&result, "accept", 0,
        "target = \"dirichlet?V=4&seed=1\"; draft = \"dirichlet?V=4&seed=2\"; contexts = 40; "
        "rule = [\"token\", \"match\", \"greedy\", \"resample-target\"]; drafting = [\"chain\", "
        "\"greedy\"];");
    assert_all_hold(&result, 8); /* closed form = enumeration in 40 contexts each */
}

TEST(prove_tells_lossless_rules_from_marked_ones)
{
    OWNED(spec_result) result;
    const char *const expected[] = {"lossless",
                                    "lossless",
                                    "lossless (argmax)",
                                    "lossless (argmax)",
                                    "biased, as marked",
                                    "biased, as marked",
                                    "biased, lossy as marked",
                                    "biased, lossy as marked"};
    run(&result, "prove", 0,
        "rule = [\"token\", \"greedy\", \"resample-target\", \"lenience?l=0.4\"]; draft = "
        "[\"chain:dirichlet?V=3&seed=2\", "
        "\"greedy:perturb?of=target&alpha=0.6\"]; target = \"dirichlet?V=3&seed=1\"; K = 2; tokens "
        "= 2;");
    for (size_t r = 0; r < 8; r++) assert_string_equal(text(&result, r, "verdict"), expected[r]);
    assert_int_equal(result.holds, 4);
    assert_int_equal(result.fails, 0);
    assert_true(number(&result, 4, "tv") > 1e-3);
}

/* resample-target is off by sum (law - promise)^2 / promise = .41, so 20000 texts give a chi-square
 * of 8200 +- 200 at 56 degrees of freedom, and half of the texts would give half of that. */
TEST(lossless_accepts_the_rules_and_rejects_the_mistake)
{
    OWNED(spec_result) result;
    run(&result, "lossless", 0,
        "target = \"markov?V=4&order=1&seed=3\"; draft = \"markov?V=4&order=1&seed=4\"; "
        "rule = [\"token\", \"match\", \"greedy\", \"resample-target\"]; K = 3; tokens = 3; "
        "samples = 20000;");
    assert_int_equal(result.holds, 3);
    assert_int_equal(result.fails, 0);
    assert_within(number(&result, 3, "statistic"), 8250.0, 1000.0);
    assert_string_equal(text(&result, 0, "verdict"), "consistent");
    assert_string_equal(text(&result, 3, "verdict"), "biased, as marked");
    spec_result_free(&result);
    run(&result, "lossless", 0,
        "target = \"markov?V=4&order=1&seed=3\"; draft = \"markov?V=4&order=1&seed=4\"; K = 3; "
        "samples = 500; replica = \"1:3:1\";");
    assert_true(number(&result, 0, "p") != number(&result, 1, "p") &&
                number(&result, 1, "p") != number(&result, 2, "p"));
}
