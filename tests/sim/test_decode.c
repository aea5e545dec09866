/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode.h"
#include "sim/output_law.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <string.h>

/* ---- length ---------------------------------------------------------------------------------- */

TEST(a_text_is_cut_at_exactly_n_tokens)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    for (int c = 0; c < 3 * 3 * 6; c++) {
        s.config.rule = stage_rules[c % 3];
        s.config.drafting = stage_draftings[c / 3 % 3];
        s.config.policy = stage_policies[c / 9];
        OWNED(spec_decoder) decoder;
        stage_open_decoder(&decoder, &s.config);
        int text[700] = {0};
        for (size_t n = 0; n < 20; n++) {
            size_t length = 99;
            spec_tally tally = {0};
            assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            text[n] = -7;
            assert_int_equal(spec_decode(&decoder, n, text, &length, &s.chance, &tally, NULL),
                             GSL_SUCCESS);
            assert_int_equal(length, n);
            assert_int_equal(decoder.n_context, n);
            assert_int_equal(text[n], -7); /* no token beyond */
            for (size_t i = 0; i < n; i++) assert_int_equal(text[i], decoder.context[i]);
            assert_true(tally.emitted >= n && tally.emitted < n + (uint64_t)decoder.policy.K + 1);
            if (n == 0) assert_true(tally.rounds == 0);
        }
        size_t length; /* a long one, so the context grows */
        assert_int_equal(spec_decode(&decoder, 700, text, &length, &s.chance, NULL, NULL),
                         GSL_SUCCESS);
        assert_int_equal(decoder.n_context, 19 + 700);
        for (int i = 0; i < 700; i++) assert_int_equal(text[i], decoder.context[19 + i]);
    }
}

TEST(a_prompt_stays_before_the_text)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    int prompt[600], text[5];
    for (int i = 0; i < 600; i++) prompt[i] = i * 5 % 3;
    size_t length;
    assert_int_equal(spec_decoder_reset(&decoder, prompt, 600, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decode(&decoder, 5, text, &length, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.n_context, 605);
    assert_memory_equal(decoder.context, prompt, sizeof prompt);
    assert_memory_equal(decoder.context + 600, text, sizeof text);

    /* Then a new one replaces it. */
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){2}, 1, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.n_context, 1);
    assert_int_equal(decoder.context[0], 2);
    assert_int_equal(spec_decode(&decoder, 5, text, &length, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.context[0], 2);
    assert_memory_equal(decoder.context + 1, text, sizeof text);
    spec_decoder_free(&decoder);
    assert_null(decoder.rule.verify);
}

/* In plain decoding and in rounds, each of several ends ends a text. */
TEST(every_end_of_several_ends_a_text)
{
    OWNED(stage) s;
    stage_init(&s, 4, PAIR_PLAIN, 42);
    s.target.head.ends = spec_text_ends_one(1);
    spec_text_ends_add(&s.target.head.ends, 3);
    spec_text_ends_add(&s.target.head.ends, 2);
    s.config.rule = stage_rules[0];
    s.config.drafting = stage_draftings[0];
    uint64_t ends[4] = {0};
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    for (int i = 0; i < 400; i++) {
        int text[8];
        size_t n;
        double time;
        assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
        assert_int_equal(i % 2 == 0
                             ? spec_decode(&decoder, 8, text, &n, &s.chance, NULL, NULL)
                             : spec_decode_plain(&decoder, 8, text, &n, &s.chance, &time, NULL),
                         GSL_SUCCESS);
        for (size_t k = 0; k + 1 < n; k++) assert_int_equal(text[k], 0);
        if (n < 8) assert_int_not_equal(text[n - 1], 0);
        ends[text[n - 1]]++;
    }
    assert_true(ends[1] > 20 && ends[2] > 20 && ends[3] > 20);
}

TEST(an_end_of_text_ends_the_text_where_it_stands)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 42);
    s.target.head.ends = spec_text_ends_one(1); /* unknown to the draft */
    uint64_t dropped = 0, ended = 0, full = 0;
    for (int c = 0; c < 2 * 3; c++) {
        s.config.rule = stage_rules[c % 2];
        s.config.drafting = stage_draftings[c / 2];
        OWNED(spec_decoder) decoder;
        stage_open_decoder(&decoder, &s.config);
        for (int i = 0; i < 300; i++) {
            int text[6];
            size_t n;
            spec_tally tally = {0};
            assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decode(&decoder, 6, text, &n, &s.chance, &tally, NULL),
                             GSL_SUCCESS);
            assert_true(n >= 1 && n <= 6);
            for (size_t k = 0; k + 1 < n; k++) assert_int_not_equal(text[k], 1);
            if (n < 6) assert_int_equal(text[n - 1], 1);
            assert_int_equal(decoder.n_context, n);
            ended += text[n - 1] == 1;
            full += text[n - 1] != 1;
            dropped += n < 6 && tally.emitted > n;
        }
    }
    assert_true(ended > 100 && full > 20 && dropped > 100); /* all three ways to end occurred */
}

/* ---- the text -------------------------------------------------------------------------------- */

TEST(greedy_text_equals_plain_greedy_text)
{
    enum { N = 600 }; /* beyond the first buffer of the context */
    uint64_t accepted = 0;
    for (int family = 0; family < PAIR_FAMILIES; family++)
        for (int c = 0; c < 3 * 6; c++) {
            OWNED(stage) s;
            stage_init(&s, 4, (pair_family)family, 42 + (uint64_t)c);
            s.config.rule = "greedy";
            s.config.drafting = stage_draftings[c % 3];
            s.config.policy = stage_policies[c / 3];
            OWNED(spec_decoder) decoder;
            stage_open_decoder(&decoder, &s.config);
            int text[N], plain[N], own[N + 2] = {0};
            size_t n, n_plain;
            double time;
            spec_tally tally = {0};
            assert_int_equal(spec_decode(&decoder, N, text, &n, &s.chance, &tally, NULL),
                             GSL_SUCCESS);
            assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            assert_int_equal(
                spec_decode_plain(&decoder, N, plain, &n_plain, &s.chance, &time, NULL),
                GSL_SUCCESS);
            assert_int_equal(n, N);
            assert_int_equal(n_plain, N);
            assert_within(time, N, 0.0);
            assert_memory_equal(text, plain, sizeof text);
            for (size_t i = 0; i < N; i++) { /* and by hand */
                const double *row = table_model_row(&s.target, own, i);
                for (int x = 1; x < 4; x++)
                    if (row[x] > row[own[i]]) own[i] = x;
                assert_int_equal(text[i], own[i]);
            }
            accepted += tally.accepted;
        }
    assert_true(accepted > 1000);
}

TEST(plain_decoding_has_the_targets_law)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    double law[27] = {0};
    spec_enumeration walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    do {
        int text[3];
        size_t n;
        double time;
        assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
        assert_int_equal(spec_decode_plain(&decoder, 3, text, &n, &walk.chance, &time, NULL),
                         GSL_SUCCESS);
        law[9 * text[0] + 3 * text[1] + text[2]] += spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    assert_int_equal(walk.branches, 27);
    for (int i = 0; i < 27; i++) {
        const int text[] = {i / 9, i / 3 % 3, i % 3};
        double product = 1.0;
        for (size_t k = 0; k < 3; k++) product *= table_model_row(&s.target, text, k)[text[k]];
        assert_within(law[i], product, 1e-15);
    }
    spec_enumeration_free(&walk);

    s.target.head.ends = spec_text_ends_one(1);
    spec_script script;
    spec_script_init(&script, (const int[]){0, 1}, 2, NULL);
    int text[3];
    size_t n;
    double time;
    assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decode_plain(&decoder, 3, text, &n, &script.chance, &time, NULL),
                     GSL_SUCCESS);
    assert_int_equal(n, 2);
    assert_within(time, 2.0, 0.0);
    assert_int_equal(decoder.n_context, 2);
}

/* Compares the sampled loop with its own enumerated law: 40,000 texts of two tokens, 9 cells,
 * chi-square with the number of cells of positive probability less one as degrees of freedom; p >
 * 1e-6. A rule that resampled from the target would be off by a TV of .09 or more on this pair: the
 * noncentrality is 4 N TV^2 > 1400 against a threshold of 43, so the power is 1 to any printed
 * digit. */
TEST(sampled_texts_follow_the_enumerated_law, SLOW | STATISTICS)
{
    const uint64_t seed = spec_test_seed(), n_texts = spec_test_samples(40000);
    for (int r = 0; spec_rules[r] != NULL; r++)
        for (int d = 0; d < 3; d++) {
            stage s;
            stage_init(&s, 3, PAIR_PLAIN, seed);
            s.config.rule = spec_rules[r]->name;
            s.config.drafting = stage_draftings[d];
            s.config.K = 2;
            const int prompt[] = {1, 2, 1};
            spec_output_law law;
            assert_int_equal(spec_output_law_init(&law, &s.config, prompt, 3, 2, 0, NULL),
                             GSL_SUCCESS);
            spec_decoder decoder;
            stage_open_decoder(&decoder, &s.config);
            double count[9] = {0}, statistic = 0.0;
            for (uint64_t t = 0; t < n_texts; t++) {
                int text[2];
                size_t n;
                assert_int_equal(spec_decoder_reset(&decoder, prompt, 3, NULL), GSL_SUCCESS);
                assert_int_equal(spec_decode(&decoder, 2, text, &n, &s.chance, NULL, NULL),
                                 GSL_SUCCESS);
                count[3 * text[0] + text[1]]++;
            }
            int cells = 0;
            for (int i = 0; i < 9; i++) {
                const double expected = (double)n_texts * law.law[i];
                if (expected == 0.0) assert_within(count[i], 0.0, 0.0);
                if (expected == 0.0) continue;
                statistic += (count[i] - expected) * (count[i] - expected) / expected;
                cells++;
            }
            const double p = cells > 1 ? gsl_cdf_chisq_Q(statistic, cells - 1) : 1.0;
            if (!(p > SPEC_TEST_P))
                fail_msg("%s %s: chi-square %g, %d cells, p %g", s.config.rule, stage_draftings[d],
                         statistic, cells, p);
            spec_decoder_free(&decoder);
            spec_output_law_free(&law);
            stage_free(&s);
        }
}

/* ---- edges ----------------------------------------------------------------------------------- */

TEST(a_vocabulary_of_one_is_always_accepted)
{
    for (int c = 0; c < 3 * 3; c++) {
        OWNED(stage) s;
        stage_init(&s, 1, PAIR_PLAIN, 27);
        s.config.rule = stage_rules[c % 3];
        s.config.drafting = stage_draftings[c / 3];
        OWNED(spec_decoder) decoder;
        stage_open_decoder(&decoder, &s.config);
        spec_tally tally = {0};
        int text[50];
        size_t n;
        assert_int_equal(spec_decode(&decoder, 50, text, &n, &s.chance, &tally, NULL), GSL_SUCCESS);
        assert_true(tally.accepted == tally.drafted && n == 50);
        for (int i = 0; i < 50; i++) assert_int_equal(text[i], 0);
    }
}

TEST(the_policy_forgets_on_reset_and_not_between_texts)
{
    OWNED(stage) s;
    stage_init(&s, 2, PAIR_EQUAL, 27);
    s.config.policy = "heuristic?cap=9";
    s.config.K = 3;
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    int text[20];
    size_t n;
    assert_int_equal(spec_decode(&decoder, 20, text, &n, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.policy.now, 9); /* 3 5 7: 4 + 6 + 8 tokens, then one round of 9 */
    assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.policy.now, 3);
}

TEST(failures_of_either_model_are_passed_on_and_change_nothing)
{
    for (int which = 0; which < 2; which++) {
        OWNED(stage) s;
        stage_init(&s, 3, PAIR_PLAIN, 27);
        *(which == 0 ? &s.target.fails_after : &s.draft.fails_after) = 2;
        s.config.K = 4;
        OWNED(spec_decoder) decoder;
        stage_open_decoder(&decoder, &s.config);
        spec_error error = {""};
        spec_tally tally = {0};
        const int prompt[] = {2, 1};
        assert_int_equal(spec_decoder_reset(&decoder, prompt, 2, NULL), GSL_SUCCESS);
        assert_fails(spec_decoder_round(&decoder, &s.chance, &tally, &error), GSL_EFAILED,
                     "no row after 2 tokens");
        assert_int_equal(decoder.n_context, 2);
        assert_true(tally.rounds == 0);

        int text[9];
        size_t n = 99;
        double time = 99.0;
        assert_int_equal(spec_decode(&decoder, 9, text, &n, &s.chance, &tally, &error),
                         GSL_EFAILED);
        assert_int_equal(n, 0);
        n = 99;
        const int status = spec_decode_plain(&decoder, 9, text, &n, &s.chance, &time, &error);
        assert_int_equal(status, which == 0 ? GSL_EFAILED : GSL_SUCCESS);
        assert_int_equal(n, which == 0 ? 0 : 9);
        assert_within(time, which == 0 ? 0.0 : 9.0, 0.0);
    }
}

TEST(what_cannot_be_decoded_is_refused_with_a_line)
{
    stage s, other;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    stage_init(&other, 4, PAIR_PLAIN, 27);
    spec_decoder_config bad[7];
    for (int i = 0; i < 7; i++) bad[i] = s.config;
    bad[0].opt_draft = &other.draft.head;
    bad[1].rule = "tokn";
    bad[2].policy = "fixd";
    bad[3].drafting = "chian";
    bad[4].K = -1;
    bad[5].K = SPEC_K_MAX + 1;
    bad[6].opt_draft = NULL;
    const char *const says[] = {"the draft has 4 tokens and the target 3",
                                "'token'",
                                "'fixed'",
                                "'chain'",
                                "-1",
                                "257",
                                "draft model"};
    for (int i = 0; i < 7; i++) {
        OWNED(spec_decoder) decoder;
        assert_fails_with(spec_decoder_init(&decoder, &bad[i], &error), GSL_EINVAL, says[i]);
    }
    s.config.opt_draft = NULL;
    s.config.drafting = "lookup";
    spec_decoder decoder;
    stage_open_decoder(&decoder, &s.config);
    assert_fails(spec_decoder_reset(&decoder, (const int[]){0, 3}, 2, &error), GSL_EINVAL,
                 "token 2 of the prompt is 3, outside 0..2");
    assert_status(spec_decoder_reset(&decoder, (const int[]){-1}, 1, &error), GSL_EINVAL);
    assert_works(spec_decoder_reset(&decoder, (const int[]){0, 2}, 2, &error));
    spec_decoder_free(&decoder);
    stage_free(&s);
    stage_free(&other);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Tries every lossless rule with windows of one or both models that cut the drafts of a text of
 * four tokens at each position. If a draft's content decided the cut, or if levels of block-greedy
 * reached beyond it, the law would be off by more than 1e-3. */
TEST(drafts_cut_at_a_window_leave_the_law_as_it_is)
{
    static const struct {
        const char *rule, *drafting, *policy;
    } way[] = {{"token", "chain", "fixed"},        {"block", "chain", "fixed"},
               {"block-greedy", "chain", "fixed"}, {"block-greedy", "chain", "heuristic"},
               {"match", "greedy", "peak"},        {"token", "chain", "confidence"},
               {"traversal", "tree?widths=2.1.1&siblings=without", "fixed"},
               {"rrsw", "tree?widths=1.2.1&siblings=without", "fixed"}};
    for (size_t c = 0; c < sizeof way / sizeof way[0]; c++)
        for (int target = 3; target <= 5; target++)
            for (int draft = 1; draft <= 5; draft += 2) {
                OWNED(stage) s;
                stage_init(&s, 2, PAIR_PLAIN, 27 + c);
                s.target.head.window = target;
                s.draft.head.window = draft;
                s.config.rule = way[c].rule;
                s.config.drafting = way[c].drafting;
                s.config.policy = way[c].policy;
                s.config.K = 3;
                OWNED(spec_output_law) law;
                assert_works(spec_output_law_init(&law, &s.config, NULL, 0, 4, 0, &error));
                if (!(law.tv < 1e-12))
                    fail_msg("%s, windows %d and %d: tv %g", way[c].rule, target, draft, law.tv);
            }
}

TEST(a_text_fills_the_window_and_no_more)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_EQUAL, 27);
    s.target.head.window = 7;
    s.target.fails_after = 8; /* no row is requested beyond the window */
    s.draft.fails_after = 7;
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    const int prompt[8] = {1, 2};
    assert_fails(spec_decoder_reset(&decoder, prompt, 8, &error), GSL_EINVAL,
                 "the prompt has 8 tokens, and the context of the target holds 7");
    assert_int_equal(spec_decoder_reset(&decoder, prompt, 2, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decoder_room(&decoder), 5);
    int rounds = 0;
    while (spec_decoder_room(&decoder) >= 0) {
        const int room = spec_decoder_room(&decoder);
        assert_works(spec_decoder_round(&decoder, &s.chance, NULL, &error));
        assert_int_equal(decoder.round.n_drafted, room < 5 ? room : 5);
        rounds++;
    }
    assert_int_equal(rounds,
                     1); /* equal models: all five accepted, and the bonus is the eighth token */
    assert_int_equal(decoder.n_context, 8);
    assert_fails(spec_decoder_round(&decoder, &s.chance, NULL, &error), GSL_EINVAL,
                 "the context of 7 tokens is full");
    assert_int_equal(decoder.n_context, 8);

    int text[9];
    size_t n;
    double time;
    assert_int_equal(spec_decoder_reset(&decoder, prompt, 2, NULL), GSL_SUCCESS);
    assert_works(spec_decode_plain(&decoder, 6, text, &n, &s.chance, &time, &error));
    assert_fails(spec_decode_plain(&decoder, 1, text, &n, &s.chance, &time, &error), GSL_EINVAL,
                 "the context of 7 tokens is full");

    s.draft.head.window = 3; /* the draft's window is full earlier, so plain decoding continues */
    spec_decoder_free(&decoder);
    stage_open_decoder(&decoder, &s.config);
    assert_int_equal(spec_decoder_reset(&decoder, prompt, 5, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decoder_room(&decoder), 0);
    assert_works(spec_decoder_round(&decoder, &s.chance, NULL, &error));
    assert_int_equal(decoder.n_context, 6);
}
