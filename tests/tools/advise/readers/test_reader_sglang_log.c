/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

static const spec_log_format *const format = &spec_reader_sglang_log;
static read_lines r;

/* A line of SGLang 0.4.3, March 2025. */
#define OLDEST                                                                                     \
    "[2025-03-05 10:00:00 TP0] Decode batch. #running-req: 32, #token: 7352, token usage: 0.01, "  \
    "accept len: 2.54, gen throughput (token/s): 39.33, largest-len: 0, #queue-req: 68\n"

/* Returns lines with the given figures. */
static char *line(char *text, const char *ranks, int running, const char *drafts,
                  const char *throughput)
{
    sprintf(text + strlen(text),
            "[2025-11-05 10:00:00%s] Decode batch, #running-req: %d, #token: 4096, token usage: "
            "0.12, %scuda graph: True, gen throughput (token/s): %s, #queue-req: 0, \n",
            ranks, running, drafts, throughput);
    return text;
}

TEST(a_line_without_a_rate_has_ratios_of_forty_steps)
{
    read_lines_of(&r, format, OLDEST OLDEST, -1);
    assert_int_equal(r.n, 2);
    const spec_observation *o = &r.observation[1];
    assert_int_equal(o->kind, SPEC_OBSERVED_WINDOW);
    assert_int_equal(o->line, 2);
    assert_int_equal(o->label, 0);
    assert_int_equal(o->K, -1);
    assert_same(o->rounds, 40 * 32.0);
    assert_same(o->passes, 40 * 32.0);
    assert_near(o->accepted, 1.54 * 1280, 1e-9);
    assert_near(o->emitted, 2.54 * 1280, 1e-9);
    assert_same(o->running, 32.0);
    assert_near(o->seconds, 2.54 * 1280 / 39.33, 1e-9);
    assert_same(o->printed_length, 2.54);
    assert_true(isnan(o->printed_rate) && isnan(o->drafted));
    assert_true(isnan(r.observation[0].seconds)); /* since the server started */
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS);
    read_lines_of(&r, format, OLDEST, 5);
    assert_int_equal(r.observation[0].K, 5);
    assert_same(r.observation[0].drafted, 5 * 1280.0);
}

TEST(the_time_of_a_round_does_not_depend_on_the_weight)
{
    char text[2000] = "server_args=ServerArgs(model_path='m', decode_log_interval=10, x=1)\n";
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 2);
    const spec_observation *o = &r.observation[1];
    assert_same(o->rounds, 10 * 8.0);
    assert_near(o->seconds * o->running / o->rounds, 8 * 2.59 / 400.0, 1e-15);
}

TEST(the_rate_tells_draft_length_and_generation)
{
    char text[2000] = "";
    line(text, " TP0", 8, "accept len: 2.59, accept rate: 0.53, cap len: 3.00, ", "400.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].K, 3);
    assert_same(r.observation[0].drafted, 3 * 320.0);
    assert_same(r.observation[0].printed_rate, 0.53);
    assert_int_equal(r.learned.generation, 2);
    assert_int_equal(r.learned.gaps, SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS);

    text[0] = '\0'; /* nothing accepted: 1/9 */
    line(text, " TP0", 48, "accept len: 1.00, accept rate: 0.11, ", "5452.63");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].K, 8);
    assert_same(r.observation[0].accepted, 0.0);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS | SPEC_LOG_OLD_MEANING);
}

/* 2.00 with .50 means K = 2 or 3: observations are held back, and come out in order. */
TEST(observations_wait_for_the_line_that_decides)
{
    char text[4000] = "";
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    line(text, "", 1, "accept len: 2.40, accept rate: 0.60, ", "80.00");
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(r.observation[i].K, 3);
        assert_int_equal(r.observation[i].line, i + 1);
        assert_same(r.observation[i].drafted, 120.0);
    }
    assert_int_equal(r.learned.generation, 1);
    /* at the end of the file the user's length decides, but one that no line agrees with does
     * not */
    text[strlen(text) / 4] = '\0';
    read_lines_of(&r, format, text, 2);
    assert_int_equal(r.observation[0].K, 2);
    assert_int_equal(r.learned.generation, 2);
    read_lines_of(&r, format, text, 7);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].K, -1);
    assert_true(isnan(r.observation[0].drafted));
    assert_int_equal(r.learned.generation, -1);
}

TEST(waiting_observations_do_not_take_a_later_length)
{
    char text[2000] = "";
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    line(text, "", 1, "accept len: 3.10, accept rate: 0.42, ", "80.00"); /* 2.1 of 5 */
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.observation[0].K, -1);
    assert_int_equal(r.observation[1].K, 5);
}

TEST(many_undecided_lines_do_not_wait_for_ever)
{
    FREED char *text = calloc(200, 400);
    for (int i = 0; i < 100; i++)
        line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(r.observation[i].line, i + 1);
        assert_int_equal(r.observation[i].K, -1);
    }
}

TEST(another_length_given_or_in_the_file_is_said)
{
    char text[4000] = "";
    line(text, "", 1, "accept len: 2.59, accept rate: 0.53, ", "80.00");
    read_lines_of(&r, format, text, 4);
    assert_int_equal(r.observation[0].K, 3);
    assert_string_equal(r.learned.note,
                        "accept len and accept rate belong to 3 draft tokens, not to the 4 given");
    line(text, "", 1, "accept len: 3.10, accept rate: 0.42, ", "80.00");
    line(text, "", 1, "accept len: 3.10, accept rate: 0.93, ", "80.00"); /* of no length */
    line(text, "", 1, "accept len: 2.59, accept rate: 0.53, ", "80.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.observation[0].K, 3);
    assert_int_equal(r.observation[1].K, 5);
    assert_int_equal(r.observation[2].K, -1);
    assert_int_equal(r.observation[3].K, 3);
    assert_string_equal(r.learned.note,
                        "the draft length changes: accept len and accept rate disagree with the "
                        "lines before on 2 lines");
}

/* The end of a log of EAGLE-2: 5 steps, and 31 nodes beside the root. */
TEST(a_shorter_length_than_the_rates_is_a_tree)
{
    char text[4000] = "";
    line(text, "", 1, "accept len: 3.61, accept rate: 0.08, ", "80.00"); /* 2.61 / 31 is .084 */
    line(text, "", 1, "accept len: 3.72, accept rate: 0.09, ", "80.00"); /* .088 */
    line(text, "", 1, "accept len: 2.40, accept rate: 0.05, ", "80.00"); /* .045 */
    line(text, "", 1, "accept len: 4.26, accept rate: 0.11, ", "80.00"); /* .105 */
    line(text, "", 1, "accept len: 2.70, accept rate: 0.05, ", "80.00"); /* .0548 */
    read_lines_of(&r, format, text, 5);
    assert_int_equal(r.n, 5);
    assert_int_equal(r.observation[0].K, 5);
    assert_same(r.observation[0].drafted, 31 * 40.0);
    assert_true(r.learned.gaps & SPEC_LOG_TREE);
    assert_string_equal(r.learned.note, "accept rate counts 31 draft tokens per round, more than "
                                        "the 5 given: read as trees of that depth");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.observation[0].K, 31);
    assert_string_equal(r.learned.note,
                        "31 draft tokens per round, by accept rate; if they are trees "
                        "(--speculative-eagle-topk above 1), give --current with num_steps");
}

TEST(the_settings_of_the_server_come_first)
{
    char text[4000] = "[2025-11-05 09:59:00] server_args=ServerArgs(model_path='m', "
                      "speculative_algorithm='EAGLE', speculative_num_steps=5, "
                      "speculative_eagle_topk=8, speculative_num_draft_tokens=64, "
                      "decode_log_interval=40)\n";
    line(text, "", 1, "accept len: 2.59, accept rate: 0.03, ", "80.00"); /* 1.59 / 63 */
    read_lines_of(&r, format, text, 3);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].K, 5);
    assert_same(r.observation[0].drafted, 63 * 40.0);
    assert_true(r.learned.gaps & SPEC_LOG_TREE);

    strcpy(text, "server_args=ServerArgs(speculative_num_steps=3, speculative_eagle_topk=1, "
                 "speculative_num_draft_tokens=4, decode_log_interval=None)\n");
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.observation[0].K, 3);
    assert_int_equal(r.learned.generation, 1); /* 2/4; 1/3 is .33 */
    assert_false(r.learned.gaps & SPEC_LOG_TREE);

    strcpy(text, "server_args=ServerArgs(speculative_num_draft_tokens=200)\n");
    line(text, "", 1, "accept len: 2.59, accept rate: 0.01, ", "80.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.observation[0].K, -1); /* more than advise supports */

    strcpy(text, "server_args=ServerArgs(speculative_num_steps=-3, decode_log_interval=1e9, "
                 "speculative_num_draft_tokens=99999999999999999999)\n");
    line(text, "", 1, "accept len: 2.59, accept rate: 0.53, ", "80.00");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.observation[0].K, 3);
    assert_same(r.observation[0].rounds, 40.0);
}

TEST(lines_without_an_accept_len_are_plain_decoding)
{
    char text[2000] = "";
    line(text, " TP0", 5, "", "144.95");
    line(text, " TP0", 5, "", "140.27");
    line(text, " TP0", 0, "", "0.00");
    read_lines_of(&r, format, text, 3);
    assert_int_equal(r.n, 2); /* nothing ran in the third */
    const spec_observation *o = &r.observation[1];
    assert_int_equal(o->K, 0);
    assert_same(o->passes, 200.0);
    assert_same(o->emitted, 200.0);
    assert_same(o->rounds + o->drafted + o->accepted, 0.0);
    assert_near(o->seconds, 200.0 / 140.27, 1e-12);
    assert_int_equal(r.learned.generation, -1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_ROUNDED);
}

/* Data-parallel ranks are sources of their own, and have their own tensor-parallel rank. */
TEST(of_tensor_parallel_ranks_the_first_counts)
{
    char text[8000] = "";
    for (int i = 0; i < 2; i++) {
        line(text, " TP1", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
        line(text, " TP0", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
        line(text, " PP1 TP1", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    }
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.observation[1].line, 4);
    text[0] = '\0';
    line(text, " DP0 TP0 EP0", 8, "accept len: 2.90, accept rate: 0.63, ", "171.01");
    line(text, " DP6 TP6 EP6", 8, "accept len: 2.86, accept rate: 0.62, ", "168.28");
    line(text, " DP0 TP1 EP1", 8, "accept len: 2.90, accept rate: 0.63, ", "171.01");
    line(text, " DP6 TP6 EP6", 8, "accept len: 2.86, accept rate: 0.62, ", "168.28");
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 3);
    assert_true(r.observation[0].label != 0 && r.observation[1].label != 0);
    assert_true(r.observation[0].label != r.observation[1].label);
    assert_true(r.observation[1].label == r.observation[2].label);
    /* a bracket that is not a time stamp */
    read_lines_of(&r, format,
                  "2025-12-04 20:35:53 INFO 15 [metrics.py:287] Decode batch [12], #running-req: "
                  "48, accept len: 1.00, accept rate: 0.11, gen throughput (token/s): 5452.63\n",
                  -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].label, 0);
}

TEST(too_many_ranks_are_refused)
{
    char *text = calloc(300, 400), name[20];
    for (int i = 0; i < 257; i++) {
        snprintf(name, sizeof name, " DP%d", i);
        line(text, name, 0, "", "1.00");
    }
    read_lines_fails(format, text, GSL_EINVAL, "x:257: expected at most 256 data-parallel ranks");
    free(text);
}

/* A window that includes a pause has the throughput of the pause; its ratios are right. */
TEST(times_of_pauses_are_left_out)
{
    char text[8000] = "";
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "3.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "99.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "101.00");
    line(text, "", 64, "accept len: 2.59, accept rate: 0.53, ", "600.00"); /* larger batch: slow */
    line(text, "", 2, "accept len: 2.59, accept rate: 0.53, ", "20.00");   /* than 8 at 400 */
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 6);
    assert_true(isnan(r.observation[0].seconds));
    assert_near(r.observation[1].seconds, 2.59 * 320 / 400.0, 1e-12);
    assert_true(isnan(r.observation[2].seconds));
    assert_near(r.observation[3].seconds, 2.59 * 320 / 101.0, 1e-12);
    assert_near(r.observation[4].seconds, 2.59 * 2560 / 600.0, 1e-12);
    assert_true(isnan(r.observation[5].seconds));
    assert_string_equal(r.learned.note, "2 of 5 lines span a pause or long prompts: their times "
                                        "are left out");
}

TEST(rounds_lie_between_the_batches_of_two_lines)
{
    char text[2000] = "";
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 5, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    read_lines_of(&r, format, text, -1);
    assert_same(r.observation[0].rounds_low, 320.0);
    assert_same(r.observation[0].rounds_high, 320.0);
    assert_same(r.observation[1].rounds_low, 200.0);
    assert_same(r.observation[1].rounds, 200.0);
    assert_same(r.observation[1].rounds_high, 320.0);
    text[0] = '\0';
    line(text, "", 5, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    read_lines_of(&r, format, text, -1);
    assert_same(r.observation[1].rounds_low, 200.0);
    assert_same(r.observation[1].rounds, 320.0);
    assert_same(r.observation[1].rounds_high, 320.0);
}

#define FINISH(counts)                                                                             \
    "[2025-11-05 10:00:14 TP0] Finish: obj=GenerateReqInput(rid='a', sampling_params={'n': 1}), "  \
    "out={'text': 'x', 'meta_info': {'id': 'a', 'finish_reason': {'type': 'length', 'length': "    \
    "256}, 'prompt_tokens': 37, " counts "}}\n"

/* The counts of one of SGLang's tests: 30 rounds of 4, with 98 accepted. */
TEST(finished_requests_have_acceptance_by_depth)
{
    static const char *const lines[] = {
        FINISH("'completion_tokens': 128, 'e2e_latency': 1.4077615810092539, 'spec_accept_rate': "
               "0.8166666666666667, 'spec_accept_length': 4.266666666666667, "
               "'spec_accept_histogram': [4, 0, 2, 2, 22], 'spec_accept_token_num': 98, "
               "'spec_draft_token_num': 120, 'spec_verify_ct': 30"),
        /* both names of an intermediate version, and meta_info printed alone */
        "{'spec_verify_ct': 30, 'spec_num_proposed_drafts': 120, 'spec_proposed_drafts': 120, "
        "'spec_num_correct_drafts': 98, 'spec_accepted_drafts': 98, 'e2e_latency': "
        "1.4077615810092539, 'spec_correct_drafts_histogram': [4, 0, 2, 2, 22], "
        "'spec_accept_histogram': [4, 0, 2, 2, 22], 'completion_tokens': 128}\n",
        "x {'spec_verify_ct': 30, 'spec_acceptance_histogram': [4, 0, 2, 2, 22], "
        "'spec_draft_token_num': 120, 'completion_tokens': 128, 'e2e_latency': "
        "1.4077615810092539} y\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const spec_observation *o = read_lines_only(&r, format, lines[i], -1);
        assert_int_equal(o->kind, SPEC_OBSERVED_REQUEST);
        assert_counts(o, 4, (const double[]){30, NAN, 120, 98, 128});
        assert_passed(o, 4, (const double[]){26, 26, 24, 22});
        assert_near(o->seconds, 1.4077615810092539, 1e-12);
        assert_int_equal(r.learned.gaps, 0);
    }
    /* only rounds: 256 tokens, one of which came from the prefill */
    const spec_observation *o =
        read_lines_only(&r, format, FINISH("'spec_verify_ct': 101, 'completion_tokens': 256"), 3);
    assert_counts(o, 3, (const double[]){101, NAN, NAN, 154, 256});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    /* one line with a response that is not finished, and one that did not speculate */
    read_lines_of(&r, format,
                  "[{'finish_reason': None, 'spec_verify_ct': 3, 'completion_tokens': 5}, "
                  "{'spec_verify_ct': 0, 'completion_tokens': 9}]\n",
                  -1);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].emitted, 9);
    read_lines_of(&r, format,
                  "[{'spec_verify_ct': 3, 'completion_tokens': 5}, {'spec_verify_ct': 0, "
                  "'completion_tokens': 9}]\n",
                  2);
    assert_int_equal(r.n, 2);
    assert_same(r.observation[0].accepted, 1);
    assert_int_equal(r.observation[1].K, 0);
    read_lines_fails(
        format,
        FINISH("'spec_verify_ct': 30, 'completion_tokens': 128, "
               "'spec_accept_histogram': [4, 0, 2, 2, 21], 'spec_accept_token_num': 98"),
        GSL_EINVAL, "x:1: 'spec_accept_histogram' has 29 rounds, 'spec_verify_ct' is 30");
    /* Python's texts: quotes of both kinds, escapes, and words that are values elsewhere */
    read_lines_of(
        &r, format,
        "[{'text': \"it's {None\", 'b': 'a \\'True\\' \"q \\x1b\\\\', 'c': (1, None, True, False), "
        "'spec_verify_ct': 3, 'completion_tokens': 5}]\n",
        2);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].rounds, 3);
    /* no round accepted 3 or 4 of the 4 tokens */
    read_lines_of(&r, format,
                  FINISH("'spec_verify_ct': 6, 'completion_tokens': 11, 'spec_accept_histogram': "
                         "[4, 0, 2], 'spec_accept_token_num': 4, 'spec_draft_token_num': 24"),
                  -1);
    assert_int_equal(r.observation[0].K, 4);
    assert_int_equal(r.observation[0].depths, 4);
    assert_same(r.observation[0].passed[1], 2);
    assert_same(r.observation[0].passed[3], 0);
}

/* The rounds of requests are those of the batches, so they count once. */
TEST(batches_win_over_requests)
{
    char text[4000] = FINISH("'spec_verify_ct': 30, 'completion_tokens': 128");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    strcat(text, FINISH("'spec_verify_ct': 30, 'completion_tokens': 128"));
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].kind, SPEC_OBSERVED_WINDOW);
    assert_string_equal(r.learned.note, "2 requests have acceptance by depth: grep spec_verify_ct "
                                        "FILE, and give only these lines");
    text[0] = '\0'; /* lines of plain decoding mention no rounds */
    line(text, "", 8, "", "400.00");
    strcat(text, FINISH("'spec_verify_ct': 30, 'completion_tokens': 128"));
    read_lines_of(&r, format, text, -1);
    assert_int_equal(r.n, 2);
}

TEST(malformed_lines_say_what_was_expected)
{
    read_lines_fails(
        format, "Decode batch. #running-req: 32, #token: 7352, token usage: 0.01, accept\n",
        GSL_EINVAL,
        "x:1: Decode batch: expected 'gen throughput (token/s):' before the end; the line is "
        "truncated");
    read_lines_fails(
        format, "Decode batch. #running-req: 32, accept len: 2,54, gen throughput (token/s): 1",
        GSL_EINVAL,
        "x:1: accept len: expected a decimal point, not the comma of '2,5'; run the "
        "engine with LC_ALL=C");
    read_lines_fails(format, "Decode batch. #running-req: -3, gen throughput (token/s): 1.00",
                     GSL_EINVAL,
                     "x:1: #running-req: expected a whole number, not '-3, gen throughput (toke'");
    read_lines_fails(
        format, "\nDecode batch. #running-req: 3, accept len: 0.54, gen throughput (token/s): 1",
        GSL_EINVAL, "x:2: accept len: expected 1 or more, the bonus token included, not 0.54");
    read_lines_fails(format,
                     "Decode batch. #running-req: 3, accept len: 1.54, accept rate: 1.20, gen "
                     "throughput (token/s): 1",
                     GSL_EINVAL, "x:1: accept rate: expected at most 1, not 1.2");
    read_lines_fails(format,
                     "Decode batch. #running-req: 3, accept leDecode batch. #running-req: 3, gen "
                     "throughput (token/s): 1",
                     GSL_EINVAL, "x:1: #running-req: occurs twice; two lines are mixed up");
    read_lines_fails(format, "Decode batch. #running-req: 3, gen throughput (token/s): nan",
                     GSL_EINVAL, "x:1: gen throughput (token/s): expected a number, not 'nan'");
}

TEST(nothing_was_verified_in_a_line_of_length_zero)
{
    read_lines_of(&r, format,
                  "Decode batch. #running-req: 3, accept len: 0.00, "
                  "gen throughput (token/s): 0.00\n",
                  -1);
    assert_int_equal(r.n, 0);
}

TEST(lines_of_others_do_not_concern_it)
{
    static const char *const others[] = {
        "[2025-11-05 10:00:00] Prefill batch, #new-seq: 1, #running-req: 31, #queue-req: 0",
        "SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens",
        "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean len =  2.92",
        "Decode batch of 3",
        "",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(format->concerns(others[i], strlen(others[i])));
}

/* A line that is cut anywhere, or has a changed byte, is read, or refused with a message. */
TEST(damaged_lines_never_break_the_reader)
{
    uint64_t random = spec_test_seed();
    char text[600];
    for (int i = 0; i < 20000; i++) {
        text[0] = '\0';
        line(text, " DP3 TP3", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
        for (int changes = 0; changes < 3; changes++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % strlen(text)] = " 0123456789.,-:]["[(random >> 20) % 17];
        }
        if (i % 2 == 0) text[(random >> 40) % strlen(text)] = '\0';
        read_lines_with(&r, format, text, -1);
        assert_true(r.status == GSL_SUCCESS ? r.error.text[0] == '\0'
                                            : strncmp(r.error.text, "x:", 2) == 0);
        for (int k = 0; k < r.n; k++)
            assert_true(r.observation[k].rounds >= 0.0 && r.observation[k].accepted >= 0.0);
    }
}
