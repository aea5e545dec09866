/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "speclab/speclab.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static speclab *lab;

static int set_up(void **state)
{
    const int code = spec_program_set_up(state);
    return code != 0 ? code : speclab_open(&lab, NULL, NULL, 0);
}

static int tear_down(void **state)
{
    speclab_close(lab);
    return spec_program_tear_down(state);
}

/* Five minutes of a vLLM server: windows of 10 s with four requests, in which `passed` of 1000
 * rounds accept each of three draft tokens; 0: plain decoding. */
static void write_log(const char *name, int passed)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    for (int w = 0; w < 30; w++) {
        const int n = 1000 + 10 * (w % 3), one = passed * n / 1000, accepted = 3 * one;
        fprintf(out,
                "INFO 05-01 14:%02d:%02d [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 "
                "tokens/s, Avg generation throughput: %.1f tokens/s, Running: 4 reqs, Waiting: 0 "
                "reqs, GPU KV cache usage: 1.2%%, Prefix cache hit rate: 0.0%%\n",
                w / 6, 10 * (w % 6), (n + accepted) / 10.0);
        if (passed == 0) continue;
        fprintf(out,
                "INFO 05-01 14:%02d:%02d [metrics.py:101] SpecDecoding metrics: Mean acceptance "
                "length: %.2f, Accepted throughput: %.2f tokens/s, Drafted throughput: %.2f "
                "tokens/s, Accepted: %d tokens, Drafted: %d tokens, Per-position acceptance rate: "
                "%.3f, %.3f, %.3f, Avg Draft acceptance rate: %.1f%%\n",
                w / 6, 10 * (w % 6), 1.0 + (double)accepted / n, accepted / 10.0, 3.0 * n / 10.0,
                accepted, 3 * n, (double)one / n, (double)one / n, (double)one / n,
                100.0 * accepted / (3 * n));
    }
    assert_int_equal(fclose(out), 0);
}

static void write_text(const char *name, const char *text)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static const char *const server[] = {"server.log", NULL}, *const plain[] = {"plain.log", NULL};

static speclab_advice *advise(const char *const *file, const speclab_advise_options *opt_options)
{
    char error[512];
    speclab_advice *a;
    if (speclab_advise(&a, lab, file, opt_options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    return a;
}

static void assert_says(const speclab_advice *a, const char *words)
{
    if (strstr(speclab_advice_json(a), words) == NULL)
        fail_msg("no '%s' in %s", words, speclab_advice_json(a));
}

TEST(the_verdict_has_its_length_its_text_and_its_table)
{
    static const int32_t K[] = {0, 3};
    write_log("server.log", 500);
    write_log("plain.log", 0);
    const speclab_advise_options options = {.size = sizeof options, .plain = plain, .K = K};
    speclab_advice *a = advise(server, &options);
    assert_says(a, "\"answer\": \"Keep K = 3: ");
    assert_says(a, "\"verdict\": \"keep\"");
    assert_says(a, "\"to_K\": 3");
    assert_says(a, "\"decides_K\": null");
    assert_says(a,
                "\"setting\": \"--speculative-config '{..., \\\"num_speculative_tokens\\\": 3}'");
    assert_int_equal(strncmp(speclab_advice_text(a), "Keep K = 3: ", 12), 0);
    const speclab_table *table = speclab_advice_table(a);
    const int32_t column = speclab_table_find(table, "K");
    assert_int_equal(speclab_table_rows(table), 4);
    for (int64_t k = 0; k < 4; k++) assert_int_equal(speclab_table_integer(table, k, column), k);
    speclab_advice_free(a);
}

TEST(the_run_that_decides_is_named)
{
    write_log("server.log", 500);
    write_log("plain.log", 0);
    speclab_advice *a = advise(server, NULL);
    assert_says(a, "\"verdict\": \"measure\"");
    assert_says(a, "\"decides_K\": 0");
    speclab_advice_free(a);
    a = advise(plain, NULL);
    assert_says(a, "\"verdict\": \"nothing\"");
    assert_says(a, "\"to_K\": null");
    assert_says(a, "\"setting\": \"\"");
    speclab_advice_free(a);
}

TEST(a_diagnosis_has_its_evidence_and_what_to_do_next)
{
    static const char *const file[] = {"all.log", NULL};
    write_log("all.log", 1000);
    speclab_advice *a = advise(file, NULL);
    const char *name = strstr(speclab_advice_json(a), "\"name\": \"all-accepted\"");
    assert_non_null(name);
    assert_non_null(strstr(name, "\"wrong\": true"));
    assert_non_null(strstr(name, "\"evidence\": \""));
    assert_non_null(strstr(name, "\"next\": \""));
    speclab_advice_free(a);
}

/* Asks a question that is refused; the error line must have these words. */
typedef struct {
    const char *const *file;
    speclab_advise_options options;
    int32_t code;
    const char *words;
} refusal;

TEST(wrong_questions_are_refused_in_one_line)
{
    static const char *const none[] = {NULL}, *const missing[] = {"missing.log", NULL},
                             *const twice[] = {"server.log", "server.log", NULL},
                             *const unnamed[] = {"", NULL}, *const words[] = {"words.txt", NULL},
                             *const means[] = {"means.csv", NULL};
    static const int32_t falling[] = {3, 2}, long_K[] = {0, 65};
    static const refusal refusals[] = {
        {none, {.size = 0}, SPECLAB_INPUT, "no file is given"},
        {unnamed, {.size = 0}, SPECLAB_INPUT, "a file has no name"},
        {twice, {.size = 0}, SPECLAB_INPUT, "'server.log' is given twice"},
        {server, {.plain = server}, SPECLAB_INPUT, "'server.log' is given twice"},
        {server, {.before = "server.log"}, SPECLAB_INPUT, "'server.log' is given twice"},
        {missing, {.size = 0}, SPECLAB_FAILED, "missing.log: No such file or directory"},
        {words, {.size = 0}, SPECLAB_INPUT, "words.txt: no known format"},
        {means, {.size = 0}, SPECLAB_INPUT, "means.csv:1: a SPEED-Bench report has means"},
        {server, {.engine = "vlm"}, SPECLAB_INPUT, "did you mean 'vllm'?"},
        {server, {.current = 65}, SPECLAB_INPUT, "current must be 1 to 64, got 65"},
        {server, {.K = falling}, SPECLAB_INPUT, "K must be a range within 0 to 64, got 3 to 2"},
        {server, {.K = long_K}, SPECLAB_INPUT, "K must be a range within 0 to 64, got 0 to 65"},
        {server,
         {.round_over_plain = -1.0},
         SPECLAB_INPUT,
         "round_over_plain must be 1e-06 to 1e+09, got -1"},
        {server,
         {.plain_tokens_per_s = NAN},
         SPECLAB_INPUT,
         "plain_tokens_per_s must be 1e-06 to 1e+09, got nan"},
        {server,
         {.plain = plain, .round_over_plain = 1.4},
         SPECLAB_INPUT,
         "give only one of plain, plain_tokens_per_s and round_over_plain"},
    };
    write_log("server.log", 500);
    write_log("plain.log", 0);
    write_text("words.txt", "no log at all\n");
    write_text("means.csv", "Model,coding,math,Overall\nmine,2.1,2.9,2.5\n");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char error[512];
        speclab_advise_options options = refusals[i].options;
        options.size = sizeof options;
        speclab_advice *a = (speclab_advice *)error;
        const int32_t code =
            speclab_advise(&a, lab, refusals[i].file, &options, error, sizeof error);
        if (code != refusals[i].code || strstr(error, refusals[i].words) == NULL)
            fail_msg("not '%s': %d '%s'", refusals[i].words, code, error);
        assert_null(a);
    }
}

TEST(a_stop_ends_the_reading)
{
    char error[512];
    const volatile int stop = 1;
    write_log("server.log", 500);
    const speclab_advise_options options = {.size = sizeof options, .opt_stop = &stop};
    speclab_advice *a;
    assert_int_equal(speclab_advise(&a, lab, server, &options, error, sizeof error),
                     SPECLAB_STOPPED);
    assert_null(a);
}

TEST(absent_arguments_are_refused_and_an_absent_advice_is_empty)
{
    speclab_advice *a = NULL;
    assert_int_equal(speclab_advise(NULL, lab, server, NULL, NULL, 0), SPECLAB_INPUT);
    assert_int_equal(speclab_advise(&a, lab, NULL, NULL, NULL, 0), SPECLAB_INPUT);
    assert_int_equal(speclab_advise(&a, NULL, server, NULL, NULL, 0), SPECLAB_INPUT);
    assert_string_equal(speclab_advice_text(NULL), "");
    assert_string_equal(speclab_advice_json(NULL), "");
    assert_int_equal(speclab_table_rows(speclab_advice_table(NULL)), 0);
    speclab_advice_free(NULL);
}

SUITE(.setup = set_up, .teardown = tear_down);
