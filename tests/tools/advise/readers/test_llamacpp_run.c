/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the runs of llama-speculative with the reader of the log. */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tests/tools/advise/readers/llamacpp_lines.h"
#include "tools/advise/log_format.h"

static const spec_log_format *const format = &spec_reader_llamacpp_log;
static read_lines r;

TEST(a_run_of_llama_speculative_is_a_request)
{
    /* Two contexts belong to the run; the third line is llama-cli's. */
    read_lines_of(&r, format, RUN CONTEXT CONTEXT CONTEXT RUN, -1);
    assert_int_equal(r.n, 3);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(o->kind, SPEC_OBSERVED_REQUEST);
    assert_int_equal(o->K, 5);
    assert_same(o->drafted, 730.0);
    assert_same(o->accepted, 526.0);
    assert_same(o->emitted, 673.0);
    assert_same(o->passes, 147.0);
    assert_same(o->rounds, 146.0); /* 730 / 5 */
    assert_same(o->rounds_low, 146.0);
    assert_same(o->rounds_high, 147.0);
    assert_near(o->seconds, 12.132, 1e-12);
    assert_same(o->running, 1.0);
    assert_int_equal(r.observation[1].K, 0);
    assert_same(r.observation[1].emitted, 898.0);
    assert_int_equal(r.observation[2].line, 18);
}

TEST(a_run_without_whole_drafts_leaves_its_rounds_open)
{
    read_lines_of(&r, format,
                  "n_draft   = 8\nn_predict = 129\nn_drafted = 132\nn_accept  = 47\naccept    = "
                  "35.606%\nn_draft   = 200\nn_predict = 20\nn_drafted = 9\nn_accept  = 5\n"
                  "n_predict = 20\nn_drafted = 0\nn_accept  = 0\naccept    = -nan%\n"
                  "n_draft   = 2\nn_predict = 20\nn_drafted = 90\nn_accept  = 10\n",
                  3);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.observation[0].K, 8);
    assert_same(r.observation[0].rounds_low, 17.0); /* 132 / 8 */
    assert_same(r.observation[0].rounds, 82.0);
    assert_same(r.observation[0].rounds_high, 82.0);
    assert_true(isnan(r.observation[0].seconds));
    assert_int_equal(r.observation[1].K, 3); /* 200 is not a known length: the user's counts */
    assert_same(r.observation[1].rounds_low, 1.0);
    assert_same(r.observation[1].rounds_high, 9.0);
    assert_same(r.observation[2].rounds_high, 0.0);
    assert_same(r.observation[2].passes, 20.0);
    assert_same(r.observation[3].rounds, 10.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES | SPEC_LOG_TREE);
}

TEST(a_run_without_tokens_is_no_request)
{
    read_lines_of(&r, format, "n_predict = 0\nn_drafted = 0\nn_accept  = 0\n" RUN, -1);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].emitted, 673.0);
}

TEST(malformed_lines_say_what_was_expected)
{
    static const char *const cases[][2] = {
        {"decoded  673 tok in   12.132 seconds, speed:   55.473 t/s",
         "x:1: decoded: expected 'tokens in', not ' tok in   12.132 seconds'"},
        {"n_draft   = 5\nn_accept  = 526", "x:2: n_accept: expected n_predict and n_drafted "
                                           "before it"},
        {"n_predict = 9\nn_drafted = 4\nn_accept  = 1\nn_drafted = 4\nn_accept  = 1",
         "x:5: n_accept: expected n_predict and n_drafted before it"},
        {"n_draft   = -5", "x:1: n_draft: expected a whole number, not '-5'"},
        {"n_predict = 673\nn_drafted = 73\nn_accept  = 526",
         "x:3: n_accept: expected at most the 73 of n_drafted, not 526"},
        {"n_predict = 67\nn_drafted = 730\nn_accept  = 526",
         "x:3: n_accept: expected at most the 67 of n_predict, not 526"},
        {"decoded  672 tokens in   12.132 seconds, speed:   55.473 t/s\nn_predict = 673\n"
         "n_drafted = 730\nn_accept  = 526",
         "x:4: n_predict: expected the 672 tokens decoded, not 673"},
        {"n_predict = 673\nn_drafted = 730\nn_accept  = 526\naccept    = 73.055%",
         "x:4: accept: expected 72.055%, n_accept over n_drafted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_lines_fails(format, cases[i][0], GSL_EINVAL, cases[i][1]);
}
