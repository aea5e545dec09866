/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures are those that llama.cpp printed for 51, 67, 87, 203 and 2053 rounds. */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tests/tools/advise/readers/llamacpp_lines.h"
#include "tools/advise/log_format.h"

static const spec_log_format *const format = &spec_reader_llamacpp_log;
static read_lines r;

#define SLOT "0.06.895.998 I slot print_timing: id  1 | task 12 | "
#define PROMPT                                                                                     \
    SLOT                                                                                           \
        "prompt eval time =     300.11 ms /    20 tokens (   15.01 ms per token,    66.64 tokens " \
        "per second)\n"
#define TIMES                                                                                      \
    SLOT                                                                                           \
        "       eval time =    2296.72 ms /   256 tokens (    8.97 ms per token,   111.46 tokens " \
        "per second)\n"
#define DRAFTS                                                                                     \
    SLOT "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean acceptance length "  \
         "=  2.92, acceptance rate per position = (0.805, 0.632, 0.483)\n"
#define STATISTICS                                                                                 \
    "0.06.896.057 I statistics     draft-eagle3: #calls(b,g,a) =    1     87     87, #gen drafts " \
    "=     87, #acc drafts =    70, #gen tokens =    259, #acc tokens =   167, #mean acc len = "   \
    "2.92, #acc rate/pos = (0.805, 0.632, 0.483), dur(b,g,a) = 0.005, 325.555, 0.114 ms\n"

TEST(a_request_is_its_times_and_its_drafts)
{
    read_lines_of(&r, format, PROMPT TIMES DRAFTS STATISTICS, -1);
    assert_int_equal(r.n, 1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(o->kind, SPEC_OBSERVED_REQUEST);
    assert_int_equal(o->line, 3);
    assert_int_equal(o->K, 3);
    assert_same(o->rounds, 87.0);
    assert_same(o->rounds_low, 87.0);
    assert_same(o->rounds_high, 87.0);
    assert_passed(o, 3, (const double[]){70, 55, 42});
    assert_same(o->drafted, 259.0);
    assert_same(o->accepted, 167.0);
    assert_same(o->emitted, 256.0);
    assert_same(o->passes, 89.0);
    assert_near(o->seconds, 2.29672, 1e-12);
    assert_same(o->running, 1.0);
    assert_same(o->printed_length, 2.92);
    assert_same(o->printed_rate, 0.64479);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, 0);
}

/* 51 rounds, in which 108 of 152 tokens are accepted: mean len 3.12. */
TEST(rates_by_depth_may_be_on_a_line_of_their_own)
{
    read_lines_of(&r, format,
                  TIMES SLOT
                  "draft acceptance = 0.71053 (  108 accepted /   152 generated), mean len =  "
                  "3.12\n" SLOT "     acc per pos = (0.902, 0.725, 0.490)\n",
                  -1);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].rounds, 51.0);
    assert_passed(&r.observation[0], 3, (const double[]){46, 37, 25});
    assert_int_equal(r.learned.generation, 2);
    assert_int_equal(r.learned.gaps, 0);
    read_lines_of(&r, format,
                  SLOT "draft acceptance = 0.71053 (  108 accepted /   152 generated), mean len "
                       "=  3.12\n",
                  3);
    assert_int_equal(r.observation[0].K, 3);
    assert_same(r.observation[0].rounds, 51.0);
    assert_int_equal(r.observation[0].depths, 0);
    assert_true(isnan(r.observation[0].seconds) && isnan(r.observation[0].emitted));
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
}

TEST(old_lines_have_no_rounds_and_no_slots)
{
    read_lines_of(
        &r, format,
        "slot print_timing: id  0 | task 0 | \n"
        "prompt eval time =     410.44 ms /     4 tokens (  102.61 ms per token,     9.75 tokens "
        "per second)\n"
        "       eval time =    4055.10 ms /   260 tokens (   15.60 ms per token,    64.12 tokens "
        "per second)\n"
        "      total time =   25465.54 ms /   132 tokens\n"
        "slot print_timing: id  0 | task 0 | \n"
        "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)\n",
        -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].K, -1);
    assert_true(isnan(r.observation[0].rounds));
    assert_same(r.observation[0].accepted, 171.0);
    assert_same(r.observation[0].drafted, 297.0);
    assert_same(r.observation[0].emitted, 260.0);
    assert_same(r.observation[0].passes, 89.0);
    assert_near(r.observation[0].seconds, 4.0551, 1e-12);
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
}

/* One token is sampled from the prompt, so a request with one token has no decoding to time. */
TEST(times_alone_are_plain_decoding)
{
    read_lines_of(&r, format, TIMES CONTEXT TIMES DRAFTS, 3);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.observation[0].K, 0);
    assert_same(r.observation[0].emitted, 256.0);
    assert_same(r.observation[0].passes, 256.0);
    assert_same(r.observation[0].rounds, 0.0);
    assert_same(r.observation[1].emitted, 898.0);
    assert_near(r.observation[1].seconds, 27.63604, 1e-12);
    assert_int_equal(r.observation[2].K, 3);
    read_lines_of(&r, format,
                  "       eval time =       0.00 ms /     1 tokens (    0.00 ms per token,      "
                  "inf tokens per second)\n",
                  -1);
    assert_int_equal(r.n, 0);
    read_lines_of(&r, format,
                  "       eval time =       0.00 ms /     9 tokens (    0.00 ms per token,      "
                  "inf tokens per second)\n",
                  -1);
    assert_true(isnan(r.observation[0].seconds));
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
}

/* A lookup that found nothing: these are passes of a speculating server, not plain decoding. */
TEST(statistics_behind_a_request_without_drafts_say_that_it_speculates)
{
    read_lines_of(&r, format, TIMES MTP, 4);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].K, 4);
    assert_same(r.observation[0].rounds, 0.0);
    assert_same(r.observation[0].passes, 256.0);
}

/* llama-cli prints the speed of an answer, not its length, so an answer is given the weight of a
 * second. */
#define SPEED "[ Prompt: 57.0 t/s | Generation: 5.5 t/s ]\n"
TEST(speeds_of_llama_cli_are_plain_decoding)
{
    read_lines_of(&r, format, "Beef\n\n" SPEED "> more\n" SPEED, -1);
    assert_int_equal(r.n, 2);
    const spec_observation *o = &r.observation[1];
    assert_int_equal(o->K, 0);
    assert_same(o->emitted, 5.5);
    assert_same(o->seconds, 1);
    assert_same(o->running, 1);
    assert_int_equal(r.learned.gaps, 0);
    /* the request before it has its own times; a run with drafts is not plain */
    read_lines_of(&r, format, TIMES SPEED, -1);
    assert_int_equal(r.n, 1);
    read_lines_of(&r, format, SPEED CONTEXT, -1);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].emitted, 898);
    read_lines_of(&r, format, SPEED MTP SPEED, -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].kind, SPEC_OBSERVED_TOTAL);
    read_lines_fails(format, "[ Prompt: 57,0 t/s | Generation: 5,5 t/s ]\n", GSL_EINVAL,
                     "x:1: t/s | Generation: expected a decimal point, not the comma of '5,5'; run "
                     "the engine with LC_ALL=C");
}

#define OTHER "slot print_timing: id  2 | task 13 | "
TEST(lines_of_another_task_are_another_request)
{
    read_lines_of(&r, format,
                  TIMES OTHER "draft acceptance = 0.50000 (    1 accepted /     2 generated)\n",
                  -1);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.observation[0].K, 0);
    assert_true(isnan(r.observation[1].emitted));
    read_lines_of(&r, format, TIMES DRAFTS DRAFTS, -1);
    assert_int_equal(r.n, 2);
    assert_same(r.observation[0].emitted, 256.0);
    assert_true(isnan(r.observation[1].emitted));
}

TEST(a_request_that_shared_the_server_has_no_batch)
{
    read_lines_of(
        &r, format,
        "slot launch_slot_: id  1 | task 12 | processing task, is_child = 0\n"
        "slot launch_slot_: id  2 | task 13 | processing task, is_child = 0\n"
        "slot      release: id  2 | task 13 | stop processing: n_tokens = 275\n" TIMES DRAFTS
        "slot      release: id  1 | task 12 | stop processing: n_tokens = 275\n"
        "slot launch_slot_: id  1 | task 14 | processing task, is_child = 0\n"
        "slot      release: id  1 | task 14 | stop processing: n_tokens = 275\n"
        "slot print_timing: id  1 | task 14 | eval time = 10.00 ms / 4 tokens (2.50 ms per "
        "token, 400.00 tokens per second)\n",
        -1);
    assert_int_equal(r.n, 2);
    assert_true(isnan(r.observation[0].running));
    assert_same(r.observation[1].running, 1.0);
}

TEST(malformed_lines_say_what_was_expected)
{
    static const char *const cases[][2] = {
        {"draft acceptance = 0.64479 (  167 accepted /   2", "x:1: draft acceptance: expected "
                                                             "'generated)', not ''"},
        {"draft acceptance = 0,64479 (  167 accepted /   259 generated)",
         "x:1: draft acceptance: expected a decimal point, not the comma of '0,6'; run the "
         "engine with LC_ALL=C"},
        {"draft acceptance = 0.64479 (  -167 accepted /   259 generated)",
         "x:1: draft acceptance: expected a whole number, not '-167 accepted /   259 ge'"},
        {"draft acceptance = 1.55090 (  259 accepted /   167 generated)",
         "x:1: draft acceptance: expected at most 167 accepted, not 259"},
        {"draft acceptance = 0.54479 (  167 accepted /   259 generated)",
         "x:1: draft acceptance: expected 0.64479, accepted over generated, not 0.54479"},
        {"draft acceptance = -nan (  0 accepted /   0 generated)",
         "x:1: draft acceptance: expected a number, not '-nan (  0 accepted /   0'"},
        {"draft acceptance = 0.50000 (  1 accepted /   2 generated)draft acceptance = 0.5",
         "x:1: draft acceptance: occurs twice; two lines are mixed up"},
        {"draft acceptance = 0.64479 (  167 accepted /   259 generated), mean len =  9.92",
         "x:1: expected a length and rates by depth that belong to one number of rounds (167 "
         "accepted of 259 drafted, nan tokens)"},
        {"draft acceptance = 0.64479 (  167 accepted /   259 generated), mean acceptance length =  "
         "2.92, acceptance rate per position = (0.905, 0.632, 0.483)",
         "x:1: expected a length and rates by depth that belong to one number of rounds (167 "
         "accepted of 259 drafted, nan tokens)"},
        {"draft acceptance = 0.64479 (  167 accepted /   259 generated), mean len = nan",
         "x:1: mean len: expected a number, not 'nan'"},
        {"\n       eval time =    2296.72 ms /   156 tokens (    8.97 ms per token,   111.46 "
         "tokens per second)\n"
         "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean acceptance length =  "
         "2.92, acceptance rate per position = (0.805, 0.632, 0.483)",
         "x:3: expected rounds and accepted tokens to sum to the output (167 accepted of 259 "
         "drafted, 156 tokens)"},
        {"eval time =    2296.72 ms /   56 tokens (    8.97 ms per token,   111.46 tokens per "
         "second)\ndraft acceptance rate = 0.57576 (  171 accepted /   297 generated)",
         "x:2: expected accepted tokens to be in the output (171 accepted of 297 drafted, 56 "
         "tokens)"},
        {"eval time =    2296.72 ms /   256 tok", "x:1: eval time: expected 'tokens', not "
                                                  "' tok'"},
        {"eval time =    2296.72 ms /   256 tokens (    8.97 ms per",
         "x:1: eval time: expected one record that ends with 'tokens per second)'"},
        {"eval time =    2296,72 ms /   256 tokens (",
         "x:1: eval time: expected a decimal point, not the comma of '2296,7'; run the engine "
         "with LC_ALL=C"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_lines_fails(format, cases[i][0], GSL_EINVAL, cases[i][1]);
}

TEST(lines_of_others_do_not_concern_it)
{
    static const char *const others[] = {
        "SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens",
        "Speculative metrics: Draft acceptance rate: 0.607, System efficiency: 0.510",
        "generate: n_ctx = 4096, n_batch = 2048, n_predict = 128, n_keep = 1",
        "prompt eval time =     410.44 ms /     4 tokens (  102.61 ms per token,     9.75 tokens "
        "per second)",
        "encoded   14 tokens in    0.054 seconds, speed:  258.250 t/s",
        "Decode batch. #running-req: 32, accept len: 2.54",
        "slot update_slots: id  3 | task 0 | new prompt, n_ctx_slot = 4096",
        "my n_accept  = 3",
        "n_predict = 128, n_keep = 1",
        "",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(format->concerns(others[i], strlen(others[i])));
}

/* A log that is cut anywhere, or has a changed byte, is read, or refused with a message. */
TEST(damaged_lines_never_break_the_reader)
{
    static const char whole[] = TIMES DRAFTS STATISTICS MTP RUN CONTEXT TIMES DRAFTS;
    uint64_t random = spec_test_seed();
    char text[sizeof whole];
    for (int i = 0; i < 20000; i++) {
        memcpy(text, whole, sizeof whole);
        for (int changes = 0; changes < 3; changes++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % (sizeof whole - 1)] = " 0123456789.,-:()\n"[(random >> 20) % 18];
        }
        read_lines_with(&r, format, text, -1);
        assert_true(r.status == GSL_SUCCESS ? r.error.text[0] == '\0'
                                            : strncmp(r.error.text, "x:", 2) == 0);
        for (int k = 0; k < r.n; k++)
            assert_false(r.observation[k].accepted > r.observation[k].drafted);
    }
}
