/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

static const spec_log_format *const format = &spec_reader_mlx_vlm_log;
static read_lines r;

TEST(a_generation_is_a_request_with_its_rounds)
{
    read_lines_of(
        &r, format,
        "Prompt: 29 tokens, 142.641 tokens-per-sec\n"
        "Speculative decoding: 2.59 accepted tokens/round (1.59 accepted drafts/round, 53.0% of "
        "drafted, avg draft 3.00) over 1000 rounds\n",
        -1);
    assert_int_equal(r.n, 1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(o->kind, SPEC_OBSERVED_REQUEST);
    assert_int_equal(o->line, 2);
    assert_int_equal(o->K, -1);
    assert_same(o->rounds, 1000.0);
    assert_same(o->drafted, 3000.0);
    assert_same(o->accepted, 1590.0);
    assert_true(isnan(o->emitted) && isnan(o->seconds));
    assert_same(o->printed_length, 2.59);
    assert_near(o->printed_rate, 0.53, 1e-12);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES | SPEC_LOG_ROUNDED);
}

/* Lines about drafts of 2, 1 and 2 tokens, of which 1, 0 and 2 are accepted, as in the project's
 * own test. */
TEST(few_rounds_have_their_counts_exactly)
{
    read_lines_of(&r, format,
                  "Speculative decoding: 2.00 accepted tokens/round (1.00 accepted drafts/round, "
                  "60.0% of drafted, avg draft 1.67) over 3 rounds\n",
                  2);
    assert_int_equal(r.observation[0].K, 2);
    assert_same(r.observation[0].accepted, 3.0);
    assert_same(r.observation[0].drafted, 5.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    read_lines_of(&r, format, "Speculative decoding: 2.33 accepted tokens over 3 rounds\n", -1);
    assert_same(r.observation[0].accepted, 4.0);
    assert_true(isnan(r.observation[0].drafted) && isnan(r.observation[0].printed_rate));
    assert_int_equal(r.learned.generation, 0);
}

/* All counts of up to 60 rounds are recovered: two decimals distinguish up to 100. */
TEST(counts_come_back_from_their_means)
{
    char text[300];
    for (int rounds = 1; rounds <= 60; rounds += 7) {
        for (int drafted = rounds; drafted <= 4 * rounds; drafted += 3) {
            for (int accepted = 0; accepted <= drafted; accepted += 2) {
                const double n = rounds;
                snprintf(text, sizeof text,
                         "Speculative decoding: %.2f accepted tokens/round (%.2f accepted "
                         "drafts/round, %.1f%% of drafted, avg draft %.2f) over %d rounds\n",
                         (accepted + rounds) / n, accepted / n, 100.0 * accepted / drafted,
                         drafted / n, rounds);
                read_lines_of(&r, format, text, -1);
                assert_same(r.observation[0].accepted, (double)accepted);
                assert_same(r.observation[0].drafted, (double)drafted);
            }
        }
    }
}

TEST(malformed_lines_say_what_was_expected)
{
    static const char *const cases[][2] = {
        {"Speculative decoding: 2,59 accepted tokens/round",
         "x:1: Speculative decoding: expected a decimal point, not the comma of '2,5'; run the "
         "engine "
         "with LC_ALL=C"},
        {"Speculative decoding: 2.59 accepted tokens/round (1.5",
         "x:1: round: expected 'accepted drafts/round,', not ''"},
        {"Speculative decoding: 2.59 accepted tokens/round (1.59 accepted drafts/round, 53.0% of "
         "drafted, avg draft 3.00) over 0 rounds",
         "x:1: rounds: expected 1 or more"},
        {"Speculative decoding: 2.59 accepted tokens/round (1.59 accepted drafts/round, 63.0% of "
         "drafted, avg draft 3.00) over 1000 rounds",
         "x:1: expected accepted tokens, accepted drafts and their share that belong to 1000 "
         "rounds"},
        {"Speculative decoding: 2.59 accepted tokens/round (1.49 accepted drafts/round, 53.0% of "
         "drafted, avg draft 3.00) over 1000 rounds",
         "x:1: expected accepted tokens, accepted drafts and their share that belong to 1000 "
         "rounds"},
        {"Speculative decoding: 2.59 accepted tokens over -3 rounds",
         "x:1: over: expected a whole number, not '-3 rounds'"},
        {"Speculative decoding: 0.50 accepted tokens over 3 rounds",
         "x:1: expected accepted tokens, accepted drafts and their share that belong to 3 "
         "rounds"},
        {"Speculative decoding: 2.59 accepted tokens over 3 roundsSpeculative decoding: 2.59",
         "x:1: over: expected 'rounds', not ' roundsSpeculative decod'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_lines_fails(format, cases[i][0], GSL_EINVAL, cases[i][1]);
}

TEST(lines_of_others_do_not_concern_it)
{
    assert_false(format->concerns("Speculative decoding: on", 24));
    assert_false(format->concerns("Generation: 120 tokens, 24.488 tokens-per-sec", 45));
}
