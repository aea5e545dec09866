/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks llamacpp_statistics through the reader of the log. */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tests/tools/advise/readers/llamacpp_lines.h"
#include "tools/advise/log_format.h"

static const spec_log_format *const format = &spec_reader_llamacpp_log;
static read_lines r;

TEST(statistics_alone_are_totals)
{
    read_lines_of(&r, format, MTP, -1);
    assert_int_equal(r.n, 1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(o->kind, SPEC_OBSERVED_TOTAL);
    assert_true(o->label != 0);
    assert_same(o->rounds, 67.0);
    assert_same(o->drafted, 134.0);
    assert_same(o->accepted, 53.0);
    assert_passed(o, 2, (const double[]){37, 16});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);

    /* There are two ways to draft, and the second prints no rates. */
    read_lines_of(&r, format,
                  MTP "5.05 I statistics ngram-mod: #calls(b,g,a) = 11 800 4, #gen drafts = 4, "
                      "#acc drafts = 4, #gen tokens = 256, #acc tokens = 47\n"
                      "5.06 I statistics ngram-mod: #calls(b,g,a) = 12 900 5, #gen drafts = 5, "
                      "#acc drafts = 4, #gen tokens = 320, #acc tokens = 47\n"
                      "5.07 I statistics ngram-mod: #calls(b,g,a) = 13 990 5, #gen drafts = 5, "
                      "#acc drafts = 4, #gen tokens = 320, #acc tokens = 47\n",
                  -1);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.observation[0].line, 2);
    assert_int_equal(r.observation[1].line, 3);
    assert_int_equal(r.observation[2].line, 4);
    assert_int_equal(r.observation[3].line, 1); /* held back for a second one until the end */
    assert_true(r.observation[0].label != r.observation[3].label);
    assert_same(r.observation[1].rounds, 5.0);
}

/* 2053 rounds: 1553 and 1264 acceptances. Rates of three digits would also allow 1552 + 1265; #acc
 * drafts decides. */
TEST(drafts_with_an_accepted_token_are_those_of_depth_1)
{
    read_lines_of(
        &r, format,
        "statistics draft-mtp: #calls(b,g,a) = 9 2053 2053, #gen drafts = 2053, #acc drafts = "
        "1553, #gen tokens = 4106, #acc tokens = 2817, #mean acc len = 2.37, #acc rate/pos = "
        "(0.756, 0.616), dur(b,g,a) = 0.1, 22000.5, 3.5 ms\n",
        -1);
    assert_int_equal(r.n, 1);
    assert_passed(&r.observation[0], 2, (const double[]){1553, 1264});
}

/* 203 rounds: 172 and 136 acceptances. If a request has no length, its rounds are the difference to
 * the line before. */
#define FIRST                                                                                      \
    "slot print_timing: id  1 | task 12 |        eval time =    9100.00 ms /   512 tokens (   "    \
    "17.77 ms per token,    56.26 tokens per second)\n"                                            \
    "slot print_timing: id  1 | task 12 | draft acceptance = 0.76049 (  308 accepted /   405 "     \
    "generated)\n"
#define SECOND                                                                                     \
    "slot print_timing: id  1 | task 13 | draft acceptance = 0.76049 (  308 accepted /   405 "     \
    "generated)\n"
#define AFTER(requests, rounds, firsts, generated, accepted, ms)                                   \
    "spec common_specu: statistics        draft-mtp: #calls(b,g,a) = " #requests " " #rounds       \
    " " #rounds ", #gen drafts = " #rounds ", #acc drafts = " #firsts                              \
    ", #gen tokens = " #generated ", #acc tokens = " #accepted                                     \
    ", #mean acc len = 2.52, #acc rate/pos = (0.847, 0.670), "                                     \
    "dur(b,g,a) = 0.004, " #ms ", 0.448 ms\n"
TEST(requests_win_over_statistics)
{
    read_lines_of(&r, format,
                  FIRST AFTER(1, 203, 172, 405, 308, 1014.965)
                      SECOND AFTER(2, 406, 344, 810, 616, 3014.965),
                  -1);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.observation[0].kind, SPEC_OBSERVED_REQUEST);
    for (int i = 0; i < 2; i++) assert_same(r.observation[i].rounds, 203.0);

    /* The beginning of the log is missing, so the rounds of earlier requests are not this one's. */
    read_lines_of(
        &r, format,
        AFTER(7, 203, 172, 405, 308, 1014.965) SECOND AFTER(8, 406, 344, 810, 616, 3014.965), -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].kind, SPEC_OBSERVED_REQUEST);
    assert_same(r.observation[0].rounds, 203.0);
    read_lines_of(&r, format, SECOND AFTER(8, 406, 344, 810, 616, 3014.965), -1);
    assert_true(isnan(r.observation[0].rounds));

    /* The server changed: the counts fall, or a model is loaded. */
    read_lines_of(
        &r, format,
        SECOND AFTER(8, 406, 344, 810, 616, 3014.965) SECOND AFTER(
            1, 203, 172, 405, 308,
            1014.965) "llama_model_loader: loaded meta data with 30 key-value pairs\n" SECOND
            AFTER(1, 203, 172, 405, 308, 4014.965),
        -1);
    assert_int_equal(r.n, 3);
    for (int i = 1; i < 3; i++) assert_same(r.observation[i].rounds, 203.0);
}

/* Tokens divided by drafts are K. Drafts with an accepted token give depth 1, so two depths are
 * known. */
TEST(lines_without_rates_have_K_and_up_to_two_depths)
{
    read_lines_of(
        &r, format,
        "statistics ngram_mod: #calls(b,g,a) = 9 810 15, #gen drafts = 15, #acc drafts = "
        "13, #gen tokens = 960, #acc tokens = 730, dur(b,g,a) = 0.149, 0.347, 0.005 ms\n"
        "statistics draft: #calls = 600, #gen drafts = 100, #acc drafts = 70, #gen tokens "
        "= 273, #acc tokens = 98\n"
        "statistics mtp: #calls = 600, #gen drafts = 100, #acc drafts = 70, #gen tokens "
        "= 199, #acc tokens = 98\n",
        -1);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.observation[0].K, 64);
    assert_int_equal(r.observation[0].depths, 0);
    assert_int_equal(r.observation[1].K, -1); /* 2.73 tokens: drafts end early */
    assert_same(r.observation[1].rounds, 100);
    assert_int_equal(r.observation[2].K, 2); /* an output ended within a draft */
    assert_passed(&r.observation[2], 2, (const double[]){70, 28});
}

#define CHAIN(begun, ngrams, ngram_tokens, ngram_accepted, drafts, tokens, accepted)               \
    "statistics ngram_mod: #calls(b,g,a) = " #begun " 80 " #ngrams ", #gen drafts = " #ngrams      \
    ", #acc drafts = " #ngrams ", #gen tokens = " #ngram_tokens ", #acc tokens = " #ngram_accepted \
    "\nstatistics draft: #calls(b,g,a) = " #begun " 80 " #drafts ", #gen drafts = " #drafts        \
    ", #acc drafts = " #drafts ", #gen tokens = " #tokens ", #acc tokens = " #accepted "\n"
#define REQUEST(task, rate, accepted, drafted)                                                     \
    "slot print_timing: id  0 | task " #task " | eval time = 1000.00 ms / 200 tokens ( 5.00 ms "   \
    "per token, 200.00 tokens per second)\n"                                                       \
    "slot print_timing: id  0 | task " #task " | draft acceptance rate = " rate " ( " #accepted    \
    " accepted / " #drafted " generated)\n"

/* ngram-mod with 64 tokens comes before a draft of 3, and we know which one drafted for a
 * request. */
TEST(ways_to_draft_have_their_own_part_of_a_request)
{
    read_lines_of(&r, format,
                  REQUEST(1, "0.66667", 80, 120) CHAIN(1, 0, 0, 0, 40, 120, 80)
                      REQUEST(2, "0.50000", 94, 188) CHAIN(2, 2, 128, 64, 60, 180, 110),
                  -1);
    assert_int_equal(r.n, 3);
    /* Only one of them drafted, so the request has its length, its exact rounds and its time. */
    const spec_observation *o = &r.observation[0];
    assert_counts(o, 3, (const double[]){40, 120, 120, 80, 200});
    assert_same(o->seconds, 1);
    assert_true(o->label != 0);
    /* Both drafted: there are two parts, which sum to the request. The time of neither is known. */
    assert_int_equal(r.observation[1].K, 64);
    assert_same(r.observation[1].rounds, 2);
    assert_same(r.observation[1].drafted + r.observation[2].drafted, 188);
    assert_same(r.observation[1].accepted + r.observation[2].accepted, 94);
    assert_int_equal(r.observation[2].K, 3);
    assert_same(r.observation[2].rounds, 20);
    assert_true(isnan(r.observation[1].seconds) && isnan(r.observation[2].seconds));
    assert_int_equal(r.observation[2].label, o->label);
    assert_true(r.observation[1].label != o->label);

    /* If another request ran at the same time, the parts are not this request's. */
    read_lines_of(&r, format, REQUEST(1, "0.50000", 50, 100) CHAIN(1, 0, 0, 0, 40, 120, 80), 3);
    assert_int_equal(r.n, 1);
    assert_nan(r.observation[0].rounds);
    assert_same(r.observation[0].drafted, 100);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
}

TEST(more_ways_to_draft_than_expected_are_refused)
{
    char text[4000] = "";
    for (int i = 0; i < 9; i++)
        sprintf(text + strlen(text),
                "statistics way-%d: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 1, #gen "
                "tokens = 4, #acc tokens = 2\n",
                i);
    read_lines_fails(format, text, GSL_EINVAL, "x:9: expected at most 8 ways to draft");
}

TEST(malformed_lines_say_what_was_expected)
{
    static const char *const cases[][2] = {
        {"statistics draft-mtp: #calls(b,g,a) = 1 67 67, #gen drafts = 67, #acc dr",
         "x:1: statistics: expected '#acc drafts =' before the end; the line is truncated"},
        {"statistics a: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 1, #gen tokens = 4, "
         "#acc tokens = 5",
         "x:1: #acc tokens: expected at most the 4 of #gen tokens, not 5"},
        {"statistics a: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 3, #gen tokens = 4, "
         "#acc tokens = 3",
         "x:1: #acc drafts: expected at most the 2 of #gen drafts and the 3 of #acc tokens"},
        {"statistics a: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 2, #gen tokens = 4, "
         "#acc tokens = 3, #mean acc len = 2.60",
         "x:1: #mean acc len: expected 2.50, 1 + #acc tokens over #calls, not 2.6"},
        {"statistics a: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 1, #gen tokens = 4, "
         "#acc tokens = 2, #mean acc len = 2.00, #acc rate/pos = (1.000, 0.500)",
         "x:1: #acc rate/pos: expected 0.500 at depth 1, #acc drafts over #calls, not 1.000"},
        {"statistics a: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 1, #gen tokens = 4, "
         "#acc tokens = 2, #mean acc len = 2.00, #acc rate/pos = (0.500, 0.000)",
         "x:1: #acc rate/pos: expected rates that sum to 2 of #acc tokens"},
        {"statistics a: #calls(b,g,a) = 1 2 2, #gen drafts = 2, #acc drafts = 1, #gen tokens = 4, "
         "#acc tokens = 2, statistics b: #calls(b,g,a) = 1",
         "x:1: #calls(b,g,a): occurs twice; two lines are mixed up"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_lines_fails(format, cases[i][0], GSL_EINVAL, cases[i][1]);
}
