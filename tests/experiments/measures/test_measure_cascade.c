/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the closed form with the enumeration of the decoder for three models, each of which
 * drafts for the one before. */
#include "analysis/cascade.h"
#include "sim/output_law.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"

#include <math.h>

/* A token is a pair of bits, and every row a product of two. The middle model differs from the
 * small one only in the first bit, and the target from the middle one only in the second. So
 * whether the target accepts a token does not depend on whether the middle model did: the
 * assumption of the closed form holds, with these alphas. */
static const char *const models[] = {"probs:0.42,0.18,0.28,0.12", "probs:0.3,0.3,0.2,0.2",
                                     "probs:0.45,0.45,0.05,0.05"};
static const double alpha[] = {0.8, 0.7}, cost[] = {1.0, 0.21, 0.034};

TEST(the_decoder_has_the_tokens_and_the_time_of_the_recursion)
{
    OWNED_MODEL *target = model_of(models[0], NULL), *middle = model_of(models[1], NULL),
                *small = model_of(models[2], NULL);
    for (int rounds = 1; rounds <= 2; rounds++)
        for (int K = 1; K <= 3 - rounds / 2; K++) {
            char drafting[40];
            snprintf(drafting, sizeof drafting, "cascade?K=%d&rounds=%d", K, rounds);
            spec_decoder_config config = SPEC_DECODER_DEFAULT;
            config.target = target;
            config.opt_draft = middle;
            config.opt_inner = small;
            config.drafting = drafting;
            config.K = rounds * (K + 1); /* which cuts nothing */
            config.costs = (spec_costs){.verify = 1.0, .draft = cost[1], .inner = cost[2]};
            OWNED(spec_output_law) law;
            assert_works(spec_output_law_init(&law, &config, NULL, 0, 1, 0, &error));
            const spec_cascade c = {3, alpha, cost, (const int[]){rounds, K}};
            assert_near(law.accepted + 1.0, spec_cascade_emitted(&c), 1e-13);
            assert_near(law.time, spec_cascade_cost(&c), 1e-13);
        }
}

/* A table has ten digits. */
TEST(prove_and_predict_say_the_same)
{
    char grid[400];
    OWNED(spec_result) proved, predicted;
    snprintf(grid, sizeof grid,
             "target = \"%s\"; inner_draft = \"%s\"; rule = \"token\"; draft = "
             "\"cascade?K=2&rounds=2:%s\"; K = 6; tokens = 1; c = 0.21; inner_c = 0.034",
             models[0], models[2], models[1]);
    run(&proved, "prove", 1, grid);
    run(&predicted, "cascade", 1,
        "alpha = 0.8; inner_alpha = 0.7; c = 0.21; inner_c = 0.034; inner_rounds = 2; inner_K = 2");
    assert_string_equal(text(&proved, 0, "verdict"), "lossless");
    assert_near(number(&proved, 0, "mean_n_accepted") + 1.0, number(&predicted, 0, "emitted"),
                1e-9);
    assert_near(number(&proved, 0, "speedup"), number(&predicted, 0, "speedup"), 1e-9);
    assert_true(number(&predicted, 0, "best_speedup") > number(&predicted, 0, "speedup"));
}

TEST(without_lengths_the_best_are_taken)
{
    OWNED(spec_result) r;
    run(&r, "cascade", 1, "alpha = 0.9; inner_alpha = 0.7; c = 0.2; inner_c = 0.01");
    const int best[] = {(int)number(&r, 0, "rounds_inner"), (int)number(&r, 0, "K_inner")};
    const spec_cascade c = {3, (const double[]){0.9, 0.7}, (const double[]){1.0, 0.2, 0.01}, best};
    assert_near(number(&r, 0, "emitted"), spec_cascade_emitted(&c), 1e-9);
    assert_true(number(&r, 0, "speedup") == number(&r, 0, "best_speedup"));
}

/* In this case the longest draft is the best, whichever model drafts. */
TEST(drafts_may_take_no_time)
{
    OWNED(spec_result) r;
    run(&r, "cascade", 1, "alpha = 0.9; inner_alpha = 0.7; c = 0; inner_c = 0");
    assert_true(number(&r, 0, "speedup") == number(&r, 0, "emitted"));
    assert_near(number(&r, 0, "best_speedup"), 10.0, 1e-7);
    assert_near(number(&r, 0, "speedup_middle"), 10.0, 1e-9);
    assert_near(number(&r, 0, "speedup_small"), 1.0 / 0.37, 1e-9);
}

TEST(a_cascade_is_lossless_on_every_family_of_pairs)
{
    OWNED(spec_result) r;
    run(&r, "prove_cases", 1,
        "rule = [\"token\", \"block\"]; drafting = [\"cascade?K=1&rounds=2\", "
        "\"cascade?K=2&rule=block\"]; K = 2; tokens = 3; V = 2; family = \"every\"; cases = 10");
    assert_int_equal(r.table.n_rows, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(text(&r, i, "verdict"), "lossless");
        assert_true(number(&r, i, "worst_tv") < 1e-12);
    }
    /* the inner draft is another model, so not all of its tokens are accepted */
    assert_true(number(&r, 1, "mean_n_accepted") < number(&r, 0, "mean_n_accepted") - 0.01);
}

/* The theory enumerates a round from every context, which here has two tokens, because the inner
 draft needs them. */
TEST(the_simulation_agrees_with_enumeration_over_the_contexts)
{
    OWNED(spec_result) r;
    run(&r, "decode", 60000,
        "target = \"markov?V=3&order=1&seed=3\"; draft = \"perturb?of=target&alpha=0.8\"; "
        "inner_draft = \"markov?V=3&order=2&seed=5\"; drafting = [\"cascade?K=1&rounds=2\", "
        "\"cascade?K=2&rule=block\", \"chain\"]; K = 4; c = 0.2; inner_c = 0.04; positions = 100");
    for (size_t i = 0; i < 3; i++) assert_true(fabs(number(&r, i, "emitted_z")) < 5.0);
    assert_true(number(&r, 0, "emitted") < number(&r, 2, "emitted") - 0.1);
    /* two inner rounds take one pass each, whatever was accepted */
    assert_near(number(&r, 0, "emitted") / number(&r, 0, "speedup"), 1.0 + 2 * (0.2 + 0.04), 1e-3);
}

/* A transformer has too many contexts to enumerate. */
TEST(without_an_order_of_the_inner_draft_there_is_no_theory)
{
    OWNED(spec_result) r;
    run(&r, "decode", 30,
        "target = \"uniform?V=3\"; draft = \"uniform?V=3\"; inner_draft = \"random?dim=32&layers=1&"
        "heads=2&ffn=32&vocab=3&context=64\"; drafting = \"cascade?K=1\"; K = 2; positions = 20");
    assert_true(number(&r, 0, "emitted") > 1.0);
    assert_true(isnan(number(&r, 0, "emitted_theory")));
}

TEST(a_cascade_without_its_models_or_lengths_is_refused)
{
    static const char *const proofs[][2] = {
        {"rule = \"token\"; target = \"uniform?V=2\"; draft = \"cascade:uniform?V=2\"; K = 1",
         "needs an inner draft"},
        {"rule = \"token\"; target = \"uniform?V=2\"; draft = \"cascade:uniform?V=2\"; K = 1; "
         "inner_draft = \"uniform?V=3\"",
         "3"},
        {"rule = \"token\"; target = \"uniform?V=2\"; draft = \"cascade:uniform?V=2\"; K = 1; "
         "inner_draft = \"unifrm\"",
         "inner_draft: "}};
    static const char *const lengths[][2] = {
        {"alpha = 0.5; inner_alpha = 0.5; inner_K = 0", "inner_K: 0"},
        {"alpha = 0.5; inner_alpha = 0.5; inner_rounds = 257", "inner_rounds: 257"},
        {"alpha = 0.5; inner_alpha = 1.5", "inner_alpha: 1.5"}};
    assert_grids_refused("prove", proofs, 3);
    assert_grids_refused("cascade", lengths, 3);
}
