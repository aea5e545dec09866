/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "tests/support/near.h"
#include "tests/support/read_log.h"
#include "tests/support/support.h"

static const spec_log_format *const format = &spec_reader_sglang_log;

/* A line of SGLang 0.4.3, March 2025. */
#define OLDEST                                                                                     \
    "[2025-03-05 10:00:00 TP0] Decode batch. #running-req: 32, #token: 7352, token usage: 0.01, "  \
    "accept len: 2.54, gen throughput (token/s): 39.33, largest-len: 0, #queue-req: 68\n"

/* Lines with the figures given. */
static char *line(char *text, const char *ranks, int running, const char *drafts,
                  const char *throughput)
{
    sprintf(text + strlen(text),
            "[2025-11-05 10:00:00%s] Decode batch, #running-req: %d, #token: 4096, token usage: "
            "0.12, %scuda graph: True, gen throughput (token/s): %s, #queue-req: 0, \n",
            ranks, running, drafts, throughput);
    return text;
}

static void expect_error(int K, const char *text, const char *error)
{
    read_log_result log = read_log(format, K, text);
    assert_int_equal(log.status, GSL_EINVAL);
    assert_string_equal(log.error.text, error);
    free(log.seen);
}

static void a_line_without_a_rate_has_ratios_of_forty_steps(void **state)
{
    read_log_result log = read_log(format, -1, OLDEST OLDEST);
    (void)state;
    assert_int_equal(log.status, GSL_SUCCESS);
    assert_int_equal(log.n, 2);
    const spec_observation *o = &log.seen[1];
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
    assert_true(isnan(log.seen[0].seconds)); /* since the server started */
    assert_int_equal(log.learned.generation, 0);
    assert_int_equal(log.learned.gaps, SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS);
    free(log.seen);
    log = read_log(format, 5, OLDEST);
    assert_int_equal(log.seen[0].K, 5);
    assert_same(log.seen[0].drafted, 5 * 1280.0);
    free(log.seen);
}

static void the_time_of_a_round_does_not_depend_on_the_weight(void **state)
{
    char text[2000] = "server_args=ServerArgs(model_path='m', decode_log_interval=10, x=1)\n";
    (void)state;
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 2);
    const spec_observation *o = &log.seen[1];
    assert_same(o->rounds, 10 * 8.0);
    assert_near(o->seconds * o->running / o->rounds, 8 * 2.59 / 400.0, 1e-15);
    free(log.seen);
}

static void the_rate_tells_draft_length_and_generation(void **state)
{
    char text[2000] = "";
    (void)state;
    line(text, " TP0", 8, "accept len: 2.59, accept rate: 0.53, cap len: 3.00, ", "400.00");
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 1);
    assert_int_equal(log.seen[0].K, 3);
    assert_same(log.seen[0].drafted, 3 * 320.0);
    assert_same(log.seen[0].printed_rate, 0.53);
    assert_int_equal(log.learned.generation, 2);
    assert_int_equal(log.learned.gaps, SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS);
    free(log.seen);

    text[0] = '\0'; /* nothing accepted: 1/9 */
    line(text, " TP0", 48, "accept len: 1.00, accept rate: 0.11, ", "5452.63");
    log = read_log(format, -1, text);
    assert_int_equal(log.n, 1);
    assert_int_equal(log.seen[0].K, 8);
    assert_same(log.seen[0].accepted, 0.0);
    assert_int_equal(log.learned.generation, 1);
    assert_int_equal(log.learned.gaps,
                     SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS | SPEC_LOG_OLD_MEANING);
    free(log.seen);
}

/* 2.00 with .50 is K 2 or 3: observations wait, and go out in order. */
static void observations_wait_for_the_line_that_decides(void **state)
{
    char text[4000] = "";
    (void)state;
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    line(text, "", 1, "accept len: 2.40, accept rate: 0.60, ", "80.00");
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(log.seen[i].K, 3);
        assert_int_equal(log.seen[i].line, i + 1);
        assert_same(log.seen[i].drafted, 120.0);
    }
    assert_int_equal(log.learned.generation, 1);
    free(log.seen);
    /* at the end of the file the user's length decides; one that no line agrees with does not */
    text[strlen(text) / 4] = '\0';
    log = read_log(format, 2, text);
    assert_int_equal(log.seen[0].K, 2);
    assert_int_equal(log.learned.generation, 2);
    free(log.seen);
    log = read_log(format, 7, text);
    assert_int_equal(log.n, 1);
    assert_int_equal(log.seen[0].K, -1);
    assert_true(isnan(log.seen[0].drafted));
    assert_int_equal(log.learned.generation, -1);
    free(log.seen);
}

static void waiting_observations_do_not_take_a_later_length(void **state)
{
    char text[2000] = "";
    (void)state;
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    line(text, "", 1, "accept len: 3.10, accept rate: 0.42, ", "80.00"); /* 2.1 of 5 */
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 2);
    assert_int_equal(log.seen[0].K, -1);
    assert_int_equal(log.seen[1].K, 5);
    free(log.seen);
}

static void many_undecided_lines_do_not_wait_for_ever(void **state)
{
    char *text = calloc(200, 400);
    (void)state;
    for (int i = 0; i < 100; i++)
        line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(log.seen[i].line, i + 1);
        assert_int_equal(log.seen[i].K, -1);
    }
    free(log.seen);
    free(text);
}

static void another_length_given_or_in_the_file_is_said(void **state)
{
    char text[4000] = "";
    (void)state;
    line(text, "", 1, "accept len: 2.59, accept rate: 0.53, ", "80.00");
    read_log_result log = read_log(format, 4, text);
    assert_int_equal(log.seen[0].K, 3);
    assert_string_equal(log.learned.note,
                        "accept len and accept rate belong to 3 draft tokens, not to the 4 given");
    free(log.seen);
    line(text, "", 1, "accept len: 3.10, accept rate: 0.42, ", "80.00");
    line(text, "", 1, "accept len: 3.10, accept rate: 0.93, ", "80.00"); /* of no length */
    line(text, "", 1, "accept len: 2.59, accept rate: 0.53, ", "80.00");
    log = read_log(format, -1, text);
    assert_int_equal(log.n, 4);
    assert_int_equal(log.seen[0].K, 3);
    assert_int_equal(log.seen[1].K, 5);
    assert_int_equal(log.seen[2].K, -1);
    assert_int_equal(log.seen[3].K, 3);
    assert_string_equal(log.learned.note,
                        "the draft length changes: accept len and accept rate disagree with the "
                        "lines before on 2 lines");
    free(log.seen);
}

/* The end of a log of EAGLE-2: 5 steps, and 31 nodes beside the root. */
static void a_shorter_length_than_the_rates_is_a_tree(void **state)
{
    char text[4000] = "";
    (void)state;
    line(text, "", 1, "accept len: 3.61, accept rate: 0.08, ", "80.00"); /* 2.61 / 31 is .084 */
    line(text, "", 1, "accept len: 3.72, accept rate: 0.09, ", "80.00"); /* .088 */
    line(text, "", 1, "accept len: 2.40, accept rate: 0.05, ", "80.00"); /* .045 */
    line(text, "", 1, "accept len: 4.26, accept rate: 0.11, ", "80.00"); /* .105 */
    line(text, "", 1, "accept len: 2.70, accept rate: 0.05, ", "80.00"); /* .0548 */
    read_log_result log = read_log(format, 5, text);
    assert_int_equal(log.n, 5);
    assert_int_equal(log.seen[0].K, 5);
    assert_same(log.seen[0].drafted, 31 * 40.0);
    assert_true(log.learned.gaps & SPEC_LOG_TREE);
    assert_string_equal(log.learned.note, "accept rate counts 31 draft tokens per round, more than "
                                          "the 5 given: read as trees of that depth");
    free(log.seen);
    log = read_log(format, -1, text);
    assert_int_equal(log.seen[0].K, 31);
    assert_string_equal(log.learned.note,
                        "31 draft tokens per round, by accept rate; if they are trees "
                        "(--speculative-eagle-topk above 1), give --current with num_steps");
    free(log.seen);
}

static void the_settings_of_the_server_come_first(void **state)
{
    char text[4000] = "[2025-11-05 09:59:00] server_args=ServerArgs(model_path='m', "
                      "speculative_algorithm='EAGLE', speculative_num_steps=5, "
                      "speculative_eagle_topk=8, speculative_num_draft_tokens=64, "
                      "decode_log_interval=40)\n";
    (void)state;
    line(text, "", 1, "accept len: 2.59, accept rate: 0.03, ", "80.00"); /* 1.59 / 63 */
    read_log_result log = read_log(format, 3, text);
    assert_int_equal(log.n, 1);
    assert_int_equal(log.seen[0].K, 5);
    assert_same(log.seen[0].drafted, 63 * 40.0);
    assert_true(log.learned.gaps & SPEC_LOG_TREE);
    free(log.seen);

    strcpy(text, "server_args=ServerArgs(speculative_num_steps=3, speculative_eagle_topk=1, "
                 "speculative_num_draft_tokens=4, decode_log_interval=None)\n");
    line(text, "", 1, "accept len: 2.00, accept rate: 0.50, ", "80.00");
    log = read_log(format, -1, text);
    assert_int_equal(log.seen[0].K, 3);
    assert_int_equal(log.learned.generation, 1); /* 2/4; 1/3 is .33 */
    assert_false(log.learned.gaps & SPEC_LOG_TREE);
    free(log.seen);

    strcpy(text, "server_args=ServerArgs(speculative_num_draft_tokens=200)\n");
    line(text, "", 1, "accept len: 2.59, accept rate: 0.01, ", "80.00");
    log = read_log(format, -1, text);
    assert_int_equal(log.seen[0].K, -1); /* more than advise knows */
    free(log.seen);

    strcpy(text, "server_args=ServerArgs(speculative_num_steps=-3, decode_log_interval=1e9, "
                 "speculative_num_draft_tokens=99999999999999999999)\n");
    line(text, "", 1, "accept len: 2.59, accept rate: 0.53, ", "80.00");
    log = read_log(format, -1, text);
    assert_int_equal(log.seen[0].K, 3);
    assert_same(log.seen[0].rounds, 40.0);
    free(log.seen);
}

static void lines_without_an_accept_len_are_plain_decoding(void **state)
{
    char text[2000] = "";
    (void)state;
    line(text, " TP0", 5, "", "144.95");
    line(text, " TP0", 5, "", "140.27");
    line(text, " TP0", 0, "", "0.00");
    read_log_result log = read_log(format, 3, text);
    assert_int_equal(log.n, 2); /* nothing ran in the third */
    const spec_observation *o = &log.seen[1];
    assert_int_equal(o->K, 0);
    assert_same(o->passes, 200.0);
    assert_same(o->emitted, 200.0);
    assert_same(o->rounds + o->drafted + o->accepted, 0.0);
    assert_near(o->seconds, 200.0 / 140.27, 1e-12);
    assert_int_equal(log.learned.generation, -1);
    assert_int_equal(log.learned.gaps, SPEC_LOG_ROUNDED);
    free(log.seen);
}

/* Data-parallel ranks are sources of their own, and have their own tensor-parallel rank. */
static void of_tensor_parallel_ranks_the_first_counts(void **state)
{
    char text[8000] = "";
    (void)state;
    for (int i = 0; i < 2; i++) {
        line(text, " TP1", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
        line(text, " TP0", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
        line(text, " PP1 TP1", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    }
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 2);
    assert_int_equal(log.seen[1].line, 4);
    free(log.seen);
    text[0] = '\0';
    line(text, " DP0 TP0 EP0", 8, "accept len: 2.90, accept rate: 0.63, ", "171.01");
    line(text, " DP6 TP6 EP6", 8, "accept len: 2.86, accept rate: 0.62, ", "168.28");
    line(text, " DP0 TP1 EP1", 8, "accept len: 2.90, accept rate: 0.63, ", "171.01");
    line(text, " DP6 TP6 EP6", 8, "accept len: 2.86, accept rate: 0.62, ", "168.28");
    log = read_log(format, -1, text);
    assert_int_equal(log.n, 3);
    assert_true(log.seen[0].label != 0 && log.seen[1].label != 0);
    assert_true(log.seen[0].label != log.seen[1].label);
    assert_true(log.seen[1].label == log.seen[2].label);
    free(log.seen);
    /* a bracket that is no time stamp */
    log = read_log(format, -1,
                   "2025-12-04 20:35:53 INFO 15 [metrics.py:287] Decode batch [12], #running-req: "
                   "48, accept len: 1.00, accept rate: 0.11, gen throughput (token/s): 5452.63\n");
    assert_int_equal(log.n, 1);
    assert_int_equal(log.seen[0].label, 0);
    free(log.seen);
}

static void too_many_ranks_are_refused(void **state)
{
    char *text = calloc(300, 400), name[20];
    (void)state;
    for (int i = 0; i < 257; i++) {
        snprintf(name, sizeof name, " DP%d", i);
        line(text, name, 0, "", "1.00");
    }
    expect_error(-1, text, "log:257: expected at most 256 data-parallel ranks");
    free(text);
}

/* A window over a pause has the throughput of the pause; its ratios stay. */
static void times_of_pauses_are_left_out(void **state)
{
    char text[8000] = "";
    (void)state;
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "3.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "99.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "101.00");
    line(text, "", 64, "accept len: 2.59, accept rate: 0.53, ", "600.00"); /* larger batch: slow */
    line(text, "", 2, "accept len: 2.59, accept rate: 0.53, ", "20.00");   /* than 8 at 400 */
    read_log_result log = read_log(format, -1, text);
    assert_int_equal(log.n, 6);
    assert_true(isnan(log.seen[0].seconds));
    assert_near(log.seen[1].seconds, 2.59 * 320 / 400.0, 1e-12);
    assert_true(isnan(log.seen[2].seconds));
    assert_near(log.seen[3].seconds, 2.59 * 320 / 101.0, 1e-12);
    assert_near(log.seen[4].seconds, 2.59 * 2560 / 600.0, 1e-12);
    assert_true(isnan(log.seen[5].seconds));
    assert_string_equal(log.learned.note, "2 of 5 lines span a pause or long prompts: their times "
                                          "are left out");
    free(log.seen);
}

static void rounds_lie_between_the_batches_of_two_lines(void **state)
{
    char text[2000] = "";
    (void)state;
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 5, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    read_log_result log = read_log(format, -1, text);
    assert_same(log.seen[0].rounds_low, 320.0);
    assert_same(log.seen[0].rounds_high, 320.0);
    assert_same(log.seen[1].rounds_low, 200.0);
    assert_same(log.seen[1].rounds, 200.0);
    assert_same(log.seen[1].rounds_high, 320.0);
    free(log.seen);
    text[0] = '\0';
    line(text, "", 5, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    line(text, "", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
    log = read_log(format, -1, text);
    assert_same(log.seen[1].rounds_low, 200.0);
    assert_same(log.seen[1].rounds, 320.0);
    assert_same(log.seen[1].rounds_high, 320.0);
    free(log.seen);
}

static void malformed_lines_say_what_was_expected(void **state)
{
    (void)state;
    expect_error(-1, "Decode batch. #running-req: 32, #token: 7352, token usage: 0.01, accept\n",
                 "log:1: expected 'gen throughput (token/s): ' behind '#running-req: '");
    expect_error(-1,
                 "Decode batch. #running-req: 32, accept len: 2,54, gen throughput (token/s): 1",
                 "log:1: accept len: expected a decimal point, not the comma of '2,5'; run the "
                 "engine with LC_ALL=C");
    expect_error(-1, "Decode batch. #running-req: -3, gen throughput (token/s): 1.00",
                 "log:1: #running-req: expected a whole number, not '-3, gen throughput (toke'");
    expect_error(-1,
                 "\nDecode batch. #running-req: 3, accept len: 0.54, gen throughput (token/s): 1",
                 "log:2: accept len: expected 1 or more, the bonus token included, not 0.54");
    expect_error(-1,
                 "Decode batch. #running-req: 3, accept len: 1.54, accept rate: 1.20, gen "
                 "throughput (token/s): 1",
                 "log:1: accept rate: expected at most 1, not 1.2");
    expect_error(-1,
                 "Decode batch. #running-req: 3, accept leDecode batch. #running-req: 3, gen "
                 "throughput (token/s): 1",
                 "log:1: expected one record on a line, not two");
    expect_error(-1, "Decode batch. #running-req: 3, gen throughput (token/s): nan",
                 "log:1: gen throughput (token/s): expected a number, not 'nan'");
}

static void nothing_was_verified_in_a_line_of_length_zero(void **state)
{
    read_log_result log = read_log(format, -1,
                                   "Decode batch. #running-req: 3, accept len: 0.00, "
                                   "gen throughput (token/s): 0.00\n");
    (void)state;
    assert_int_equal(log.status, GSL_SUCCESS);
    assert_int_equal(log.n, 0);
    free(log.seen);
}

static void lines_of_others_do_not_concern_it(void **state)
{
    static const char *const others[] = {
        "[2025-11-05 10:00:00] Prefill batch, #new-seq: 1, #running-req: 31, #queue-req: 0",
        "SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens",
        "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean len =  2.92",
        "Decode batch of 3",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(format->concerns(others[i], strlen(others[i])));
}

/* Any cut or changed byte of a line is read, or refused with a message. */
static void damaged_lines_never_break_the_reader(void **state)
{
    uint64_t random = spec_test_seed();
    char text[600];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        text[0] = '\0';
        line(text, " DP3 TP3", 8, "accept len: 2.59, accept rate: 0.53, ", "400.00");
        for (int changes = 0; changes < 3; changes++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % strlen(text)] = " 0123456789.,-:]["[(random >> 20) % 17];
        }
        if (i % 2 == 0) text[(random >> 40) % strlen(text)] = '\0';
        read_log_result log = read_log(format, -1, text);
        assert_true(log.status == GSL_SUCCESS ? log.error.text[0] == '\0'
                                              : strncmp(log.error.text, "log:", 4) == 0);
        for (int k = 0; k < log.n; k++)
            assert_true(log.seen[k].rounds >= 0.0 && log.seen[k].accepted >= 0.0);
        free(log.seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_without_a_rate_has_ratios_of_forty_steps),
        cmocka_unit_test(the_time_of_a_round_does_not_depend_on_the_weight),
        cmocka_unit_test(the_rate_tells_draft_length_and_generation),
        cmocka_unit_test(observations_wait_for_the_line_that_decides),
        cmocka_unit_test(waiting_observations_do_not_take_a_later_length),
        cmocka_unit_test(many_undecided_lines_do_not_wait_for_ever),
        cmocka_unit_test(another_length_given_or_in_the_file_is_said),
        cmocka_unit_test(a_shorter_length_than_the_rates_is_a_tree),
        cmocka_unit_test(the_settings_of_the_server_come_first),
        cmocka_unit_test(lines_without_an_accept_len_are_plain_decoding),
        cmocka_unit_test(of_tensor_parallel_ranks_the_first_counts),
        cmocka_unit_test(too_many_ranks_are_refused),
        cmocka_unit_test(times_of_pauses_are_left_out),
        cmocka_unit_test(rounds_lie_between_the_batches_of_two_lines),
        cmocka_unit_test(malformed_lines_say_what_was_expected),
        cmocka_unit_test(nothing_was_verified_in_a_line_of_length_zero),
        cmocka_unit_test(lines_of_others_do_not_concern_it),
        cmocka_unit_test(damaged_lines_never_break_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
