/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode_ahead.h"

#include "models/model_open.h"
#include "models/row.h"
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

/* ---- the law --------------------------------------------------------------------------------- */

static const char *const rules[] = {"token",        "match",  "block",
                                    "block-greedy", "greedy", "traversal"};
enum { N_RULES = sizeof rules / sizeof *rules };

static double tv_of(const spec_decoder_config *config, int n_tokens)
{
    OWNED(spec_output_law) law;
    spec_error error = {""};
    if (spec_output_law_init(&law, config, NULL, 0, n_tokens, 0, &error) != GSL_SUCCESS)
        fail_msg("%s, %s: %s", config->rule, config->drafting, error.text);
    const double tv = law.tv;
    assert_within(law.total, 1.0, 1e-12);
    return tv;
}

static const char *const learning[] = {"average?lengths=0.1.2&rate=0.9&warm=0&every=1",
                                       "gate?base=1&window=1&warm=1", "tiers?max=2&window=1"};

/* Tries every rule, both strategies, fixed and growing lengths, and pairs of every family, with and
 * without an end of text that one or both models know. The texts include a round whose chain was
 * drafted ahead. */
TEST(texts_keep_the_targets_law)
{
    double worst = 0.0;
    for (int c = 0; c < N_RULES * 2 * 2 * 3; c++)
        for (int family = 0; family < PAIR_FAMILIES; family++) {
            OWNED(stage) s;
            stage_init(&s, 2, (pair_family)family, (uint64_t)(27 + c));
            s.config.ahead = true;
            s.config.rule = rules[c % N_RULES];
            s.config.drafting = c / N_RULES % 2 == 0 ? "chain" : "greedy";
            s.config.policy = c / N_RULES / 2 % 2 == 0 ? "fixed" : "heuristic?cap=2";
            if (family % 4 == 3 && strcmp(s.config.rule, "block-greedy") != 0)
                s.config.policy = learning[c % 3]; /* their state is copied to guess the length */
            s.config.K = 1 + family % 2;
            if (c / N_RULES / 4 >= 1) s.target.head.ends = spec_text_ends_one(1);
            if (c / N_RULES / 4 == 2) s.draft.head.ends = spec_text_ends_one(1);
            const double tv = tv_of(&s.config, 4);
            if (!(tv < 1e-12))
                fail_msg("%s %s %s, family %d: tv %g", s.config.rule, s.config.drafting,
                         s.config.policy, family, tv);
            worst = fmax(worst, tv);
        }
    print_message("worst total variation %.1e\n", worst);
}

TEST(chains_cut_at_a_window_leave_the_law_as_it_is)
{
    for (int c = 0; c < 3; c++)
        for (int target = 3; target <= 6; target++)
            for (int draft = 1; draft <= 6; draft++) {
                OWNED(stage) s;
                stage_init(&s, 2, PAIR_PLAIN, (uint64_t)(27 + c));
                s.target.head.window = target;
                s.target.fails_after = target + 1;
                s.draft.head.window = draft;
                s.draft.fails_after =
                    draft + 1; /* no row beyond the window is requested, not even ahead */
                s.config.ahead = true;
                s.config.rule = c == 1 ? "block-greedy" : "token";
                s.config.policy = c == 2 ? "heuristic?cap=3" : "fixed";
                s.config.K = c == 2 ? 1 : 2;
                const double tv = tv_of(&s.config, 4);
                if (!(tv < 1e-12))
                    fail_msg("%s, windows %d and %d: tv %g", s.config.rule, target, draft, tv);
            }
}

/* A wrong version that uses a chain depending on its tokens: enumeration detects it. */
TEST(a_chain_that_is_chosen_by_its_tokens_is_not_lossless)
{
    OWNED(stage) s;
    stage_init(&s, 2, PAIR_PLAIN, 27);
    s.config.ahead = true;
    s.config.K = 1;
    double tv[2];
    for (int wrong = 0; wrong < 2; wrong++) {
        OWNED(spec_decoder) decoder;
        OWNED(spec_enumeration) walk;
        double law[32] = {0.0};
        stage_open_decoder(&decoder, &s.config);
        assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
        do {
            assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            while (decoder.n_context < 5) {
                assert_int_equal(spec_decoder_round(&decoder, &walk.chance, NULL, NULL),
                                 GSL_SUCCESS);
                if (wrong && decoder.ahead.there && decoder.ahead.draft.token[0] == 0)
                    spec_decode_ahead_forget(&decoder.ahead);
            }
            int text = 0;
            for (int i = 0; i < 5; i++) text = 2 * text + decoder.context[i];
            law[text] += spec_enumeration_probability(&walk);
        } while (spec_enumeration_next(&walk));
        tv[wrong] = 0.0;
        for (int text = 0; text < 32; text++) {
            int token[5];
            double chance = 1.0;
            for (int i = 0; i < 5; i++) {
                token[i] = text >> (4 - i) & 1;
                chance *= table_model_row(&s.target, token, (size_t)i)[token[i]];
            }
            tv[wrong] += 0.5 * fabs(law[text] - chance);
        }
    }
    assert_true(tv[0] < 1e-13);
    assert_true(tv[1] > 1e-3);
}

/* ---- rounds one by one ----------------------------------------------------------------------- */

/* K = 2 over order-0 models; the draft's argmax is 1. The script forces a round that is accepted
 * with the guess as its bonus, one with another bonus, and one that is rejected. */
TEST(a_round_finds_the_chain_where_it_came_out_as_guessed)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    table_model_fill(&s.target, (const double[]){0.5, 0.3, 0.2});
    table_model_fill(&s.draft, (const double[]){0.2, 0.5, 0.3});
    s.config.K = 2;
    s.config.ahead = true;
    s.config.costs = (spec_costs){.draft = 0.07, .verify = 0.18, .fixed = 0.011};
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    const int answer[] = {
        0, 0, /* a draft */ 2, 1, /* ahead */ 1,        1, /* accepted */ 1, /* bonus: the guess */
        0, 1, /* ahead */ 1,   1, /* 2 1 accepted */ 0,                      /* bonus: another */
        1, 2, /* a draft */ 0, 0, /* ahead */ 1,        0, 0, /* rejected at 2, correction 0 */
        0, 0, /* a draft */ 1, 1, /* ahead */ 1,        1, 2};
    enum { ANSWERS = sizeof answer / sizeof *answer };
    static const struct {
        bool hit, tested, right;
        int accepted, calls;
        double time;
    } expected[] = {{false, true, true, 2, 2, 2 * 0.07 + 3 * 0.07},
                    {true, true, false, 2, 0, 3 * 0.07},
                    {false, false, false, 1, 2, 2 * 0.07 + 3 * 0.07},
                    {false, true, false, 2, 2, 2 * 0.07 + 3 * 0.07}};
    spec_script script;
    spec_script_init(&script, answer, ANSWERS, NULL);
    spec_tally tally = {0};
    double time = 0.0;
    for (int r = 0; r < 4; r++) {
        assert_int_equal(spec_decoder_round(&decoder, &script.chance, &tally, NULL), GSL_SUCCESS);
        const spec_round *round = &decoder.round;
        assert_int_equal(round->hit, expected[r].hit);
        assert_int_equal(round->guess_tested, expected[r].tested);
        assert_int_equal(round->guess_right, expected[r].right);
        assert_int_equal(round->n_accepted, expected[r].accepted);
        assert_int_equal(decoder.drafter.n_calls, expected[r].calls);
        assert_int_equal(decoder.ahead.n_calls, 3);
        time += expected[r].time + 0.011;
        assert_within(tally.time, time, 1e-15);
    }
    assert_false(script.broken);
    assert_int_equal(script.used, ANSWERS);
    assert_true(tally.hits == 1 && tally.guesses_tested == 3 && tally.guesses_right == 1);
    const int text[] = {0, 0, 1, 2, 1, 0, 1, 0, 0, 0, 2};
    assert_int_equal(decoder.n_context, 11);
    assert_memory_equal(decoder.context, text, sizeof text);
}

/* Here the clock's time of a draft call is not the one with which these policies begin. */
TEST(the_length_ahead_is_guessed_with_the_times_of_the_clock)
{
    static const char *const policies[] = {"climb?samples=1", "ucb", "eliminate?doubt=1e9",
                                           "exp3spec"};
    for (int i = 0; i < 4; i++) {
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        spec_tally tally = {0};
        stage_init(&s, 2, PAIR_PLAIN, 27);
        s.config.K = 4;
        s.config.ahead = true;
        s.config.policy = policies[i];
        s.config.costs.draft = 0.01;
        stage_open_decoder(&decoder, &s.config);
        for (int r = 0; r < 300; r++) {
            const int due = decoder.policy.now;
            assert_works(spec_decoder_round(&decoder, &s.chance, &tally, &error));
            assert_int_equal(decoder.draft.depth, due);
        }
        assert_true(tally.hits > 10);
    }
}

/* The longer of the two determines the time. Nothing is drafted ahead of an empty chain, or after
 * an end of text. */
TEST(the_clock_charges_the_longer_of_verification_and_drafting)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_EQUAL, 27);
    table_model_fill(&s.target, (const double[]){0.0, 1.0, 0.0});
    table_model_fill(&s.draft, (const double[]){0.0, 1.0, 0.0});
    s.config.ahead = true;
    for (int c = 0; c < 5; c++) {
        s.config.K = c == 2 ? 0 : 3;
        s.config.costs = (spec_costs){.draft = c == 0 ? 0.1 : 0.4, .verify = 1.0};
        s.target.head.ends = s.draft.head.ends = spec_text_ends_one(c == 3 ? 1 : -1);
        table_model_fill(&s.draft, c == 4 ? (const double[]){0.5, 0.5, 0.0}
                                          : (const double[]){0.0, 1.0, 0.0});
        if (c == 4) s.draft.head.ends = spec_text_ends_one(0); /* the draft guesses an end */
        const double times[] = {1.0, 1.6, 1.0, 0.4 + 1.0, 3 * 0.4 + 1.0};
        const int calls[] = {4, 4, 0, 0, 1};
        OWNED(spec_decoder) decoder;
        spec_tally tally = {0};
        stage_open_decoder(&decoder, &s.config);
        const int ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        spec_script script;
        for (int r = 0; r < 5; r++) {
            const double before = tally.time;
            spec_script_init(&script, ones, 20, NULL);
            assert_int_equal(spec_decoder_round(&decoder, &script.chance, &tally, NULL),
                             GSL_SUCCESS);
            if (r > 0 || c == 2) assert_within(tally.time - before, times[c], 1e-13);
            assert_int_equal(decoder.ahead.n_calls, calls[c]);
            assert_int_equal(decoder.round.hit, r > 0 && c < 2);
        }
    }
}

TEST(a_text_that_goes_on_otherwise_finds_no_chain)
{
    OWNED(stage) s;
    stage_init(&s, 2, PAIR_EQUAL, 27);
    table_model_fill(&s.target, (const double[]){1.0, 0.0});
    table_model_fill(&s.draft, (const double[]){1.0, 0.0});
    s.config.ahead = true;
    s.config.K = 2;
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    int text[4];
    size_t n;
    double time;
    assert_int_equal(spec_decode(&decoder, 3, text, &n, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_true(decoder.ahead.there); /* the chain is cut where the round ended */
    assert_int_equal(spec_decode(&decoder, 2, text, &n, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_true(decoder.round.hit);
    assert_false(decoder.ahead.there); /* cut one before */
    assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_true(!decoder.round.hit && decoder.ahead.there);
    assert_int_equal(spec_decode_plain(&decoder, 1, text, &n, &s.chance, &time, NULL), GSL_SUCCESS);
    assert_false(decoder.ahead.there);
    assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_true(!decoder.round.hit && decoder.ahead.there);
    assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
    assert_false(decoder.ahead.there);
}

TEST(what_cannot_be_drafted_ahead_is_refused_with_a_line)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    s.config.ahead = true;
    static const struct {
        const char *drafting, *policy, *line;
    } refused[] = {
        {"lookup", "fixed",
         "only chains of a draft model can be drafted ahead: draft strategy chain or greedy, not "
         "lookup"},
        {"tree?widths=2.1", "fixed",
         "only chains of a draft model can be drafted ahead: draft strategy chain or greedy, not "
         "tree"},
        {"chain", "confidence",
         "to draft ahead, the length of the next draft must be known: use a length policy like "
         "fixed or heuristic, not confidence"},
        {"chain", "oracle",
         "to draft ahead, the length of the next draft must be known: use a length policy like "
         "fixed or heuristic, not oracle"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        spec_decoder decoder;
        s.config.drafting = refused[i].drafting;
        s.config.policy = refused[i].policy;
        s.config.rule = i == 1 ? "rrs" : "token";
        assert_fails(spec_decoder_init(&decoder, &s.config, &error), GSL_EINVAL, refused[i].line);
    }
}

/* The draft's failure ends the round, after the target's pass has finished. */
TEST(a_failure_ahead_leaves_the_text_as_it_was)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    s.config.ahead = true;
    s.config.K = 2;
    s.draft.fails_after = 2; /* the chain is at 0 and 1, the guess at 2 */
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    assert_fails(spec_decoder_round(&decoder, &s.chance, NULL, &error), GSL_EFAILED,
                 "no row after 2 tokens");
    assert_int_equal(decoder.n_context, 0);
    s.draft.fails_after = -1;
    assert_works(spec_decoder_round(&decoder, &s.chance, NULL, &error));
}

/* ---- transformers ---------------------------------------------------------------------------- */

/* After every round the chain's rows are those of a session that has read nothing else: discarded
 * chains leave no trace in the KV caches. The greedy text is the plain one, to the window's last
 * token. */
TEST(caches_forget_what_is_thrown_away)
{
    enum { VOCAB = 23, WINDOW = 47, PROMPT = 4, TEXT = WINDOW + 1 - PROMPT };
    static const int prompt[PROMPT] = {3, 1, 4, 1};
    static const char *const specs[] = {"layers?exit=2&temperature=0.8", "quantised?type=q4_0",
                                        "layers?exit=3&temperature=0&top_k=3",
                                        "quantised?type=q8_0&top_p=0.9"};
    OWNED_MODEL *target =
        model_of("random?dim=32&layers=3&heads=2&ffn=64&vocab=23&context=48&type=q8_0", NULL);
    OWNED_MODEL *argmax = model_of(
        "random?dim=32&layers=3&heads=2&ffn=64&vocab=23&context=48&type=q8_0&temperature=0", NULL);
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, spec_test_seed());
    spec_chance chance = spec_chance_sampled(rng);
    uint64_t hits = 0;
    for (int c = 0; c < 4 * 2 * 3; c++) {
        const bool greedy = c / 4 % 2 == 0;
        spec_model *of = greedy ? argmax : target, *draft = model_of(specs[c % 4], of);
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        config.target = of;
        config.opt_draft = draft;
        config.K = 1 + c / 8 * 2;
        config.ahead = true;
        config.policy = c % 3 == 0 ? "heuristic" : "fixed";
        spec_decoder decoder;
        spec_session fresh;
        spec_tally tally = {0};
        stage_open_decoder(&decoder, &config);
        assert_false(decoder.shared);
        int plain[TEXT];
        size_t n;
        double time, row[VOCAB];
        assert_int_equal(spec_decoder_reset(&decoder, prompt, PROMPT, NULL), GSL_SUCCESS);
        assert_int_equal(spec_decode_plain(&decoder, TEXT, plain, &n, &chance, &time, NULL),
                         GSL_SUCCESS);
        assert_int_equal(spec_decoder_reset(&decoder, prompt, PROMPT, NULL), GSL_SUCCESS);
        while (spec_decoder_room(&decoder) >= 0) {
            const size_t before = decoder.n_context;
            assert_int_equal(spec_decoder_round(&decoder, &chance, &tally, NULL), GSL_SUCCESS);
            int text[2 * WINDOW];
            memcpy(text, decoder.context, before * sizeof *text);
            for (int i = 0; i < decoder.draft.n_nodes; i++) {
                assert_int_equal(spec_session_init(&fresh, draft, NULL), GSL_SUCCESS);
                assert_memory_equal(decoder.draft.row[i],
                                    spec_session_row(&fresh, text, before + (size_t)i, row, NULL),
                                    sizeof row);
                spec_session_free(&fresh);
                text[before + (size_t)i] = decoder.draft.token[i];
            }
        }
        for (int i = 0; greedy && i < TEXT; i++)
            assert_int_equal(decoder.context[PROMPT + i], plain[i]);
        hits += tally.hits;
        spec_decoder_free(&decoder);
        spec_model_close(draft);
    }
    print_message("%llu rounds found their chain\n", (unsigned long long)hits);
    assert_true(hits > 40);
}

TEST(texts_have_the_targets_law_through_the_transformer)
{
    OWNED_MODEL *target =
        model_of("random?dim=32&layers=2&heads=2&ffn=32&vocab=2&context=16&type=f32", NULL);
    static const char *const specs[] = {"layers?exit=1", "quantised?type=q4_0&temperature=0.7"};
    for (int c = 0; c < 2; c++) {
        OWNED_MODEL *draft = model_of(specs[c], target);
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        config.target = target;
        config.opt_draft = draft;
        config.K = 1;
        config.ahead = true;
        assert_true(tv_of(&config, 5) < 1e-13);
    }
}
