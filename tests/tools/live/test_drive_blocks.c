/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks blocks written to and read from a file, and counters of /metrics. */
#include "tests/support/folder.h"
#include "tests/support/owned.h"
#include "tests/support/support.h"
#include "tools/live/drive_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file -------------------------------------------------------------------------------- */

static spec_drive_block random_block(gsl_rng *rng)
{
    spec_drive_block b = {.K = (int)gsl_rng_uniform_int(rng, 9),
                          .concurrency = 1 + (int)gsl_rng_uniform_int(rng, 16),
                          .pass = (int)gsl_rng_uniform_int(rng, 5),
                          .seconds = gsl_rng_uniform(rng),
                          .tokens = (double)gsl_rng_uniform_int(rng, 999),
                          .refused = (int)gsl_rng_uniform_int(rng, 3),
                          .n = (int)gsl_rng_uniform_int(rng, 6)};
    b.counted = gsl_rng_uniform_int(rng, 2) == 1;
    b.counts = (spec_live_counts){30.0, 60.0, 20.0, 2, {15.0, 5.0}};
    if (!b.counted) b.counts = (spec_live_counts){.rounds = 0.0};
    b.request = calloc((size_t)b.n + 1, sizeof *b.request);
    for (int i = 0; i < b.n; i++)
        b.request[i] = (spec_drive_request){.prompt = i,
                                            .tokens = 9 + i,
                                            .first = 1 + i % 2,
                                            .ttft = gsl_rng_uniform(rng),
                                            .decode = 0.25,
                                            .latency = i == 0 ? NAN : 0.5,
                                            .rounds = NAN,
                                            .drafted = 8.0,
                                            .accepted = 3.0};
    return b;
}

static void assert_same(double a, double b)
{
    assert_true((isnan(a) && isnan(b)) || fabs(a - b) <= 1e-11 * fabs(a));
}

static void assert_equal_blocks(const spec_drive_block *a, const spec_drive_block *b)
{
    const spec_drive_sums x = spec_drive_block_sums(a, NULL), y = spec_drive_block_sums(b, NULL);
    assert_true(a->K == b->K && a->concurrency == b->concurrency && a->pass == b->pass &&
                a->refused == b->refused && a->n == b->n && a->counted == b->counted);
    assert_same(a->seconds, b->seconds);
    assert_same(a->tokens, b->tokens);
    assert_same(x.seconds, y.seconds);
    assert_same(x.accepted, y.accepted);
    assert_same(x.rounds, y.rounds);
    for (int i = 0; i < a->n; i++) {
        assert_same(a->request[i].ttft, b->request[i].ttft);
        assert_same(a->request[i].latency, b->request[i].latency);
        assert_int_equal(a->request[i].first, b->request[i].first);
    }
    for (int i = 0; i < a->counts.depths; i++)
        assert_same(a->counts.passed[i], b->counts.passed[i]);
}

TEST(blocks_are_read_as_they_were_written_and_a_cut_line_is_dropped)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { BLOCKS = 12 };
    spec_drive_block block[BLOCKS];
    const spec_live_server about = {.dialect = &spec_dialects[1], .model = "m\"1"};
    spec_live_server read_about = {.dialect = NULL};
    spec_drive_blocks read;
    spec_error error;
    FILE *file = tmpfile();
    assert_int_equal(spec_drive_file_begin(file, 77, &error), GSL_SUCCESS);
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = random_block(rng);
        assert_int_equal(spec_drive_file_add(file, &block[i], &about, &error), GSL_SUCCESS);
    }
    fputs("{\"K\": 2, \"concurr", file);
    for (int again = 0; again < 2; again++) { /* the second time without the cut line */
        assert_int_equal(spec_drive_file_read(&read, &read_about, file, "x", 77, &error),
                         GSL_SUCCESS);
        assert_int_equal(read.n, BLOCKS);
        assert_ptr_equal(read_about.dialect, about.dialect);
        assert_string_equal(read_about.model, about.model);
        for (int i = 0; i < BLOCKS; i++) assert_equal_blocks(&block[i], &read.block[i]);
        spec_drive_blocks_free(&read);
    }
    assert_int_equal(spec_drive_file_read(&read, &read_about, file, "x", 78, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "x:1: it was measured with other prompts or settings"));
    for (int i = 0; i < BLOCKS; i++) spec_drive_block_free(&block[i]);
    fclose(file);
}

TEST(a_file_of_another_kind_is_refused)
{
    static const char *const head = "{\"speclab drive\":1,\"settings\":\"000000000000004d\"}\n";
    static const char *const texts[][2] = {
        {"", "hello\n"},
        {"", "{\"speclab drive\":2}\n"},
        {"", "[1]\n"},
        {"x", "{}\n"},
        {"x", "{\"K\":-1}\n"},
        {"x", "{\"K\":1,\"concurrency\":1,\"pass\":0,\"refused\":0,\"seconds\":-1,\"tokens\":0,"
              "\"counts\":[0,0,0],\"passed\":[],\"requests\":[]}\n"},
        {"x", "{\"K\":1,\"concurrency\":1,\"pass\":0,\"refused\":0,\"seconds\":1,\"tokens\":0,"
              "\"counts\":[0,0,0],\"passed\":[],\"requests\":[[0,5,9,1,1,1,1,1,1]]}\n"},
        {"x", "{\"K\":1,\"concurrency\":1,\"pass\":0,\"refused\":0,\"seconds\":1,\"tokens\":0,"
              "\"counts\":[0,0,0],\"passed\":[],\"requests\":7}\n"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spec_live_server read_about;
        spec_drive_blocks read;
        spec_error error;
        FILE *file = tmpfile();
        fprintf(file, "%s%s", *texts[i][0] != '\0' ? head : "", texts[i][1]);
        assert_int_equal(spec_drive_file_read(&read, &read_about, file, "x", 77, &error),
                         GSL_EINVAL);
        assert_true(strncmp(error.text, *texts[i][0] != '\0' ? "x:2: " : "x:1: ", 5) == 0);
        fclose(file);
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

TEST(counters_of_metrics_are_summed_over_engines)
{
    static const char text[] =
        "# HELP vllm:x y\n"
        "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 100\n"
        "vllm:spec_decode_num_drafts_total{engine=\"0\",model_name=\"m\"} 30\n"
        "vllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"m\"} 60\n"
        "vllm:spec_decode_num_accepted_tokens_total{engine=\"0\",model_name=\"m\"} 20\n"
        "vllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} 10\n"
        "vllm:spec_decode_num_drafts_total{engine=\"1\",model_name=\"m\"} 3\n"
        "vllm:spec_decode_num_draft_tokens_total{engine=\"1\",model_name=\"m\"} 6\n"
        "vllm:spec_decode_num_accepted_tokens_total{engine=\"1\",model_name=\"m\"} 2\n";
    spec_live_counts counts, none, between;
    spec_error error;
    assert_int_equal(spec_live_counts_read(&counts, text, "vllm", &error), GSL_SUCCESS);
    assert_true(counts.rounds == 33.0 && counts.drafted == 66.0 && counts.accepted == 22.0);
    assert_int_equal(
        spec_live_counts_read(&none, "vllm:generation_tokens_total 5\n", "vllm", &error),
        GSL_SUCCESS);
    assert_true(none.rounds == 0.0 && none.drafted == 0.0);
    assert_true(spec_live_counts_between(&between, &none, &counts));
    assert_true(between.drafted == 66.0);
    assert_false(spec_live_counts_between(&between, &counts, &none));
    assert_int_equal(spec_live_counts_read(&none, "<html>\n", "vllm", &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "/metrics has no line"));
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
