/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/decode.h"
#include "speclab/speclab.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static speclab *lab;

static int open_lab(void **state)
{
    (void)state;
    return speclab_open(&lab, NULL, NULL, 0);
}

static int close_lab(void **state)
{
    (void)state;
    speclab_close(lab);
    return 0;
}

static const speclab_pair example = {.size = sizeof example,
                                     .K = 1,
                                     .target = "probs:0.5,0.2,0.1,0.2",
                                     .draft = "probs:0.4,0.3,0.2,0.1"};

static speclab_round *run(const speclab_pair *pair, const speclab_round_options *options,
                          speclab_outcome *ret)
{
    char error[512];
    speclab_round *round;
    if (speclab_round_run(&round, lab, pair, options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    *ret = (speclab_outcome){.size = sizeof *ret};
    assert_int_equal(speclab_round_outcome(ret, round), SPECLAB_OK);
    return round;
}

static speclab_decision decision(const speclab_round *round, int32_t index)
{
    speclab_decision d = {.size = sizeof d};
    assert_int_equal(speclab_round_decision(&d, round, index), SPECLAB_OK);
    return d;
}

/* Token 1 is drafted and rejected at .7 >= .2/.3; the residual is (.5, 0, 0, .5). */
TEST(given_coins_reject_the_draft_of_the_worked_example)
{
    const double coin[] = {0.5, 0.7, 0.6, 0.9};
    const speclab_round_options options = {.size = sizeof options, .coin = coin, .n_coins = 4};
    speclab_outcome o;
    speclab_round *round = run(&example, &options, &o);
    assert_int_equal(o.vocab, 4);
    assert_int_equal(o.n_decisions, 3);
    assert_int_equal(o.coins_used, 3);
    assert_int_equal(o.n_nodes, 1);
    assert_int_equal(o.draft[0], 1);
    assert_int_equal(o.parent[0], -1);
    assert_int_equal(o.drawn[0], 1);
    assert_int_equal(o.n_accepted, 0);
    assert_int_equal(o.n_emitted, 1);
    assert_int_equal(o.token[0], 3);

    speclab_decision d = decision(round, 0);
    assert_int_equal(d.kind, SPECLAB_DECISION_PICK);
    assert_int_equal(d.phase, SPECLAB_PHASE_DRAFT);
    assert_int_equal(d.answer, 1);
    assert_int_equal(d.n_weights, 4);
    assert_same(d.weight[1], 0.3);
    d = decision(round, 1);
    assert_int_equal(d.kind, SPECLAB_DECISION_ACCEPT);
    assert_int_equal(d.phase, SPECLAB_PHASE_VERIFY);
    assert_int_equal(d.answer, 0);
    assert_same(d.coin, 0.7);
    assert_same(d.num, 0.2);
    assert_same(d.den, 0.3);
    assert_int_equal(d.role, SPECLAB_ROLE_TEST);
    assert_int_equal(d.node, 0);
    assert_int_equal(d.after, -1);
    d = decision(round, 2);
    assert_int_equal(d.role, SPECLAB_ROLE_CORRECTION);
    assert_int_equal(d.kind, SPECLAB_DECISION_PICK);
    assert_int_equal(d.phase, SPECLAB_PHASE_VERIFY);
    assert_int_equal(d.answer, 3);
    assert_int_equal(d.n_weights, 4);
    assert_near(d.weight[0], 0.1, 1e-12);
    assert_same(d.weight[1], 0.0);
    assert_same(d.weight[2], 0.0);
    assert_near(d.weight[3], 0.1, 1e-12);
    assert_same(speclab_round_target_row(round, -1)[0], 0.5);
    assert_same(speclab_round_target_row(round, 0)[3], 0.2);
    assert_same(speclab_round_draft_row(round, 0)[2], 0.2);
    speclab_round_free(round);
}

TEST(certain_decisions_draw_no_coin)
{
    const double coin[] = {0.1, 0.95};
    const speclab_round_options options = {.size = sizeof options, .coin = coin, .n_coins = 2};
    speclab_outcome o;
    speclab_round *round = run(&example, &options, &o);
    assert_int_equal(o.n_decisions, 3);
    assert_nan(decision(round, 1).coin); /* .5 >= .4 */
    assert_int_equal(decision(round, 1).answer, 1);
    assert_same(decision(round, 2).coin, 0.95);
    assert_int_equal(o.n_accepted, 1);
    assert_int_equal(o.node[0], 0);
    assert_int_equal(o.token[0], 0);
    assert_int_equal(o.token[1], 3);
    speclab_round_free(round);
}

/* The same round by the decoder and a sampled chance. */
static void sampled_round(int *ret_token, int *ret_n, const speclab_pair *pair, uint64_t seed)
{
    spec_model *target, *draft;
    spec_decoder decoder;
    const int context[] = {2, 0, 3};
    OWNED_RNG *rng = spec_rng_alloc();
    assert_works(spec_model_open(&target, pair->target, NULL, NULL, &error));
    assert_works(spec_model_open(&draft, pair->draft, target, NULL, &error));
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target;
    config.opt_draft = draft;
    config.K = pair->K;
    config.drafting = pair->drafting;
    config.rule = pair->rule;
    assert_works(spec_decoder_init(&decoder, &config, &error));
    assert_works(spec_decoder_reset(&decoder, context, 3, &error));
    spec_rng_stream(rng, seed, 0);
    spec_chance chance = spec_chance_sampled(rng);
    assert_works(spec_decoder_round(&decoder, &chance, NULL, &error));
    *ret_n = decoder.round.n_emitted;
    memcpy(ret_token, decoder.round.token, (size_t)*ret_n * sizeof *ret_token);
    spec_decoder_free(&decoder);
    spec_model_close(draft);
    spec_model_close(target);
}

TEST(a_seed_gives_the_round_of_the_decoder_and_its_coins_repeat_it, SLOW)
{
    const int32_t context[] = {2, 0, 3};
    const char *const way[][2] = {{"chain", "token"},
                                  {"chain", "block"},
                                  {"tree?widths=2.2.1&siblings=without", "rrsw"},
                                  {"greedy", "token"}};
    for (int w = 0; w < 4; w++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            const speclab_pair pair = {.size = sizeof pair,
                                       .K = 3,
                                       .target = "dirichlet?V=9&concentration=0.5&seed=1",
                                       .draft = "dirichlet?V=9&concentration=0.5&seed=2",
                                       .drafting = way[w][0],
                                       .rule = way[w][1]};
            int token[4], n;
            double coin[64];
            int32_t coins = 0;
            speclab_outcome o, again;
            speclab_round_options options = {
                .size = sizeof options, .seed = seed, .context = context, .n_context = 3};
            speclab_round *round = run(&pair, &options, &o);
            sampled_round(token, &n, &pair, seed);
            assert_int_equal(o.n_emitted, n);
            assert_memory_equal(o.token, token, (size_t)n * sizeof *token);
            for (int32_t i = 0; i < o.n_decisions; i++)
                if (!isnan(decision(round, i).coin)) coin[coins++] = decision(round, i).coin;
            options.coin = coin;
            options.n_coins = coins;
            options.seed = seed + 1;
            speclab_round *same = run(&pair, &options, &again);
            assert_int_equal(again.coins_used, coins);
            assert_int_equal(again.n_emitted, n);
            assert_memory_equal(again.token, token, (size_t)n * sizeof *token);
            speclab_round_free(round);
            speclab_round_free(same);
        }
}

static void refused(const speclab_pair *pair, const speclab_round_options *options,
                    const char *line)
{
    char error[512];
    speclab_round *round = (speclab_round *)&error;
    assert_int_equal(speclab_round_run(&round, lab, pair, options, error, sizeof error),
                     SPECLAB_INPUT);
    assert_null(round);
    if (strstr(error, line) == NULL) fail_msg("'%s' does not contain '%s'", error, line);
}

TEST(wrong_inputs_are_refused)
{
    const double wrong[] = {0.5, 1.0}, none[] = {NAN};
    const int32_t outside[] = {4};
    speclab_pair pair = example;
    speclab_round_options o = {.size = sizeof o, .coin = wrong, .n_coins = 2};
    refused(&pair, &o, "coin 1 must be in [0,1), got 1");
    o = (speclab_round_options){.size = sizeof o, .coin = none, .n_coins = 1};
    refused(&pair, &o, "coin 0 must be in [0,1), got nan");
    o = (speclab_round_options){.size = sizeof o, .n_coins = 1};
    refused(&pair, &o, "n_coins must be at least 0, and 0 if coin is NULL, got 1");
    o = (speclab_round_options){.size = sizeof o, .n_coins = -1};
    refused(&pair, &o, "n_coins must be at least 0, and 0 if coin is NULL, got -1");
    o = (speclab_round_options){.size = sizeof o, .n_context = 2};
    refused(&pair, &o, "n_context must be at least 0, and 0 if context is NULL, got 2");
    o = (speclab_round_options){.size = sizeof o, .context = outside, .n_context = 1};
    refused(&pair, &o, "outside 0..3");
    refused(NULL, NULL, "pair is NULL");
    pair.K = 257;
    refused(&pair, NULL, "K must be 0 to 256, got 257");
    pair.K = -1;
    refused(&pair, NULL, "K must be 0 to 256, got -1");
    pair = example;
    pair.target = NULL;
    refused(&pair, NULL, "target of speclab_pair is NULL");
    pair.target = "zipff?V=3";
    refused(&pair, NULL, "zipf");
    pair = example;
    pair.rule = "tokn";
    refused(&pair, NULL, "token");
    pair.rule = "rrs";
    pair.drafting = "trees";
    refused(&pair, NULL, "tree");
    pair = example;
    pair.draft = NULL;
    refused(&pair, NULL, "draft");
    pair.draft = "zipf?V=5";
    refused(&pair, NULL, "5");
    pair.size--;
    refused(&pair, NULL, "the size of speclab_pair is");
}

TEST(questions_outside_a_round_have_no_answer)
{
    speclab_outcome o;
    speclab_decision d = {.size = sizeof d, .n_weights = 7};
    speclab_round *round = run(&example, NULL, &o);
    assert_int_equal(speclab_round_decision(&d, round, -1), SPECLAB_INPUT);
    assert_int_equal(d.n_weights, 0);
    assert_int_equal(speclab_round_outcome(&o, NULL), SPECLAB_INPUT);
    assert_null(o.token);
    assert_int_equal(speclab_round_outcome(&o, round), SPECLAB_OK);
    assert_int_equal(speclab_round_decision(&d, round, o.n_decisions), SPECLAB_INPUT);
    assert_int_equal(speclab_round_decision(&d, NULL, 0), SPECLAB_INPUT);
    d.size = 3;
    assert_int_equal(speclab_round_decision(&d, round, 0), SPECLAB_INPUT);
    o.size = 0;
    assert_int_equal(speclab_round_outcome(&o, round), SPECLAB_INPUT);
    assert_int_equal(speclab_round_outcome(NULL, round), SPECLAB_INPUT);
    assert_null(speclab_round_target_row(round, -2));
    assert_null(speclab_round_target_row(round, 1));
    assert_null(speclab_round_draft_row(round, -1));
    assert_null(speclab_round_draft_row(NULL, 0));
    speclab_round_free(round);
    speclab_round_free(NULL);
}

SUITE(.setup = open_lab, .teardown = close_lab);
