/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks questions with their files: the user's mistakes, and what the answer is written from. */
#include "tools/advise/asked_advice.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <stdio.h>

/* Writes a log of vLLM with `running` requests at a time: windows of 10 s with these rounds of K
 * draft tokens, of which seven in ten are accepted; K = 0: plain decoding. */
static void write_log(const char *name, int K, int rounds, int running)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    for (int w = 0; w < 12; w++) {
        const int passed = 7 * (rounds + w % 3) / 10, all = rounds + w % 3;
        fprintf(out,
                "INFO 05-01 14:%02d:%02d [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 "
                "tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Waiting: 0 "
                "reqs, GPU KV cache usage: 1.0%%, Prefix cache hit rate: 0.0%%\n",
                w / 6, 10 * (w % 6), (all + (K > 0 ? passed : 0)) / 10.0, running);
        if (K > 0)
            fprintf(out,
                    "INFO 05-01 14:%02d:%02d [metrics.py:101] SpecDecoding metrics: Mean "
                    "acceptance length: %.2f, Accepted throughput: %.2f tokens/s, Drafted "
                    "throughput: %.2f tokens/s, Accepted: %d tokens, Drafted: %d tokens, "
                    "Per-position acceptance rate: %.3f, Avg Draft acceptance rate: %.1f%%\n",
                    w / 6, 10 * (w % 6), 1.0 + (double)passed / all, passed / 10.0, all / 10.0,
                    passed, all, (double)passed / all, 100.0 * passed / all);
    }
    assert_int_equal(fclose(out), 0);
}

TEST(a_file_counts_once)
{
    static const char *const twice[] = {"a.log", "a.log"}, *const one[] = {"a.log"},
                             *const unnamed[] = {""};
    const struct {
        spec_advice_paths paths;
        const char *message;
    } cases[] = {
        {{.file = twice, .n_files = 2}, "'a.log' is given twice"},
        {{.file = one, .n_files = 1, .plain = one, .n_plain = 1}, "'a.log' is given twice"},
        {{.file = one, .n_files = 1, .opt_before = "a.log"}, "'a.log' is given twice"},
        {{.file = unnamed, .n_files = 1}, "a file has no name"},
        {{.n_files = 0}, "no file is given"},
        {{.file = one, .n_files = 1, .K = (const int[]){3, 4}, .n_K = 2},
         "--current has 2 lengths for 1 file: give one for all, or one for each, in order"},
    };
    const spec_advice_question question = SPEC_ADVICE_QUESTION;
    write_log("a.log", 1, 1000, 8);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OWNED(spec_asked_advice) asked;
        assert_fails(spec_asked_advice_init(&asked, &cases[i].paths, &question, &error), GSL_EINVAL,
                     cases[i].message);
    }
}

/* 8 requests have 170 tokens/s in total, 21.25 each. 100 tokens/s in total by plain decoding are
 * 12.5 for each; if 100 were given as the speed of one request, plain decoding would seem five
 * times as fast as K = 1. */
TEST(a_total_is_not_the_speed_of_one_request)
{
    static const char *const one[] = {"a.log"};
    const spec_advice_paths paths = {.file = one, .n_files = 1};
    spec_advice_question question = SPEC_ADVICE_QUESTION;
    write_log("a.log", 1, 1000, 8);
    question.plain_tokens_per_s = 100.0;
    OWNED(spec_asked_advice) asked;
    assert_fails(
        spec_asked_advice_init(&asked, &paths, &question, &error), GSL_EINVAL,
        "plain tokens per second: 100 of one request is 800 for the 8.0 that run here, 4.7 "
        "times what K = 1 gives: give the total divided by the running requests");
    spec_asked_advice_free(&asked);
    question.plain_tokens_per_s = 5.0;
    assert_fails(
        spec_asked_advice_init(&asked, &paths, &question, &error), GSL_EINVAL,
        "plain tokens per second: at 5, a round of K = 1 takes 0.40 of the time of a plain "
        "token, and no round takes less than one");
    spec_asked_advice_free(&asked);
    question.plain_tokens_per_s = 12.5;
    assert_works(spec_asked_advice_init(&asked, &paths, &question, &error));
    assert_ptr_equal(asked.facts.advice, asked.advice);
    assert_int_equal(asked.facts.n_sources, 1);
    assert_int_equal(asked.facts.n_K_given, 0);
}

/* SGLang counts the nodes of a tree as drafted, so 15 in a round do not contradict --current 3. */
TEST(nodes_of_trees_are_no_slip)
{
    static const char *const tree[] = {"tree.log"};
    const spec_advice_paths paths = {.file = tree, .n_files = 1, .K = (const int[]){3}, .n_K = 1};
    static const double length[] = {2.73, 2.76, 2.90, 2.66};
    const spec_advice_question question = SPEC_ADVICE_QUESTION;
    FILE *out = fopen("tree.log", "w");
    assert_non_null(out);
    for (int w = 0; w < 12; w++)
        fprintf(
            out,
            "[2025-10-22 10:00:%02d TP0] Decode batch. #running-req: 8, #token: %d, token usage: "
            "0.00, accept len: %.2f, accept rate: %.2f, cuda graph: True, gen throughput "
            "(token/s): 1120.51, #queue-req: 0, \n",
            w, 1000 + w, length[w % 4], (length[w % 4] - 1.0) / 15.0);
    assert_int_equal(fclose(out), 0);
    OWNED(spec_asked_advice) asked;
    assert_works(spec_asked_advice_init(&asked, &paths, &question, &error));
    assert_int_equal(asked.facts.K_given[0], 3);
    assert_int_equal(asked.advice->K, 3);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
