/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the parts of a question: their sums are kept apart, plain runs have no drafts, and one
 * file is the one that the advice is about. */
#include "tools/advise/asked_advice.h"

#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* Responses of llama-server: 10 tokens, with drafts 8 of which 6 were accepted. */
static const char drafted[] = "{\"timings\":{\"predicted_n\":10,\"predicted_ms\":100.0,"
                              "\"draft_n\":8,\"draft_n_accepted\":6}}\n";
static const char plain[] = "{\"timings\":{\"predicted_n\":10,\"predicted_ms\":200.0}}\n";

static void write_files(void)
{
    static const char *const texts[][2] = {{"a.jsonl", drafted},
                                           {"b.jsonl", drafted},
                                           {"plain.jsonl", plain},
                                           {"other.txt", "accept rate\n"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        spec_file_write(texts[i][0], texts[i][1]);
}

static double sum_of(const spec_observed_sums *sums, int column)
{
    double sum = 0.0;
    for (size_t s = 0; s < sums->n; s++)
        for (size_t c = 0; c < sums->series[s].n; c++)
            sum += sums->series[s].column[c * SPEC_SUM_COLUMNS + (size_t)column];
    return sum;
}

TEST(files_are_one_set_and_the_time_before_another)
{
    static const char *const file[] = {"a.jsonl", "b.jsonl"}, *const run[] = {"plain.jsonl"};
    const spec_advice_paths paths = {.file = file,
                                     .n_files = 2,
                                     .plain = run,
                                     .n_plain = 1,
                                     .opt_before = "b.jsonl",
                                     .K = (const int[]){4},
                                     .n_K = 1};
    OWNED(spec_advice_files) files;
    write_files();
    assert_works(spec_advice_files_read(&files, &paths, &error));
    assert_same(sum_of(&files.sums, SPEC_SUM_DRAFTED), 16.0);
    assert_same(sum_of(&files.sums, SPEC_SUM_EMITTED), 30.0);
    assert_same(sum_of(&files.before, SPEC_SUM_DRAFTED), 8.0);
    assert_int_equal(files.n_sources, 4); /* all sources are accounted for */
    assert_string_equal(files.source[0].path, "b.jsonl");
    assert_int_equal(files.source[0].part, SPEC_SOURCE_BEFORE);
    assert_string_equal(files.source[2].path, "b.jsonl");
    assert_int_equal(files.source[2].part, SPEC_SOURCE_FILE);
    assert_int_equal(files.source[3].part, SPEC_SOURCE_PLAIN);
    assert_ptr_equal(files.read, &files.source[1].summary);
}

/* An unknown file is an error in any part, because otherwise it would be left out silently. */
TEST(an_unknown_file_names_the_nearest_formats)
{
    static const char *const file[] = {"other.txt"}, *const known[] = {"a.jsonl"};
    static const char *const option[] = {"", "--before ", "--plain "};
    const spec_advice_paths of_part[] = {
        {.file = file, .n_files = 1, .K = (const int[]){4}, .n_K = 1},
        {.file = known, .n_files = 1, .opt_before = "other.txt", .K = (const int[]){4}, .n_K = 1},
        {.file = known,
         .n_files = 1,
         .plain = file,
         .n_plain = 1,
         .K = (const int[]){4},
         .n_K = 1}};
    write_files();
    for (size_t i = 0; i < sizeof of_part / sizeof *of_part; i++) {
        OWNED(spec_advice_files) files;
        char line[512];
        snprintf(line, sizeof line,
            "%sother.txt: no known format: no line has the text that marks the nearest formats, "
            "vllm-bench-table ('Accept length'), llama.cpp-log ('n_accept  = '), "
            "vllm-response ('\"num_accepted_draft_tokens\"')",
            option[i]);
        assert_fails(spec_advice_files_read(&files, &of_part[i], &error), GSL_EINVAL, line);
    }
    OWNED(spec_advice_files) files;
    const spec_advice_paths asked = {
        .file = file, .n_files = 1, .opt_format = "mlx-vlm-log", .K = (const int[]){4}, .n_K = 1};
    assert_fails(spec_advice_files_read(&files, &asked, &error), GSL_EINVAL,
                 "other.txt: no known format of mlx-vlm-log: no line has the text that marks the "
                 "nearest formats, mlx-vlm-log ('Speculative decoding: ')");
    spec_advice_files_free(&files);
    spec_file_write("other.txt", "");
    assert_fails(spec_advice_files_read(&files, &of_part[0], &error), GSL_EINVAL,
                 "other.txt: is empty");
    spec_advice_files_free(&files);
    spec_file_write("other.txt", "{\n\"a\": [1,\n");
    assert_fails(spec_advice_files_read(&files, &asked, &error), GSL_EINVAL,
        "other.txt: no known format of mlx-vlm-log: no line has the text that marks the nearest "
        "formats, mlx-vlm-log ('Speculative decoding: '); the JSON value of line 1 has no "
        "end");
}

/* Each file has the draft length that is given for it; a single length counts for all files. */
TEST(files_have_the_lengths_that_the_user_knows)
{
    static const char *const file[] = {"a.jsonl", "b.jsonl"};
    const struct {
        int n_K, K[2];
    } cases[] = {{1, {4}}, {2, {4, 6}}};
    write_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spec_advice_paths paths = {
            .file = file, .n_files = 2, .K = cases[i].K, .n_K = cases[i].n_K};
        OWNED(spec_advice_files) files;
        assert_works(spec_advice_files_read(&files, &paths, &error));
        assert_int_equal(files.sums.n, cases[i].n_K);
        for (int k = 0; k < cases[i].n_K; k++)
            assert_int_equal(files.sums.series[k].K, cases[i].K[k]);
    }
}

TEST(plain_runs_have_no_drafts)
{
    static const char *const file[] = {"a.jsonl"}, *const run[] = {"plain.jsonl", "b.jsonl",
                                                                   "plain.jsonl"};
    const spec_advice_paths paths = {
        .file = file, .n_files = 1, .plain = run, .n_plain = 3, .K = (const int[]){4}, .n_K = 1};
    OWNED(spec_advice_files) files;
    write_files();
    assert_fails(spec_advice_files_read(&files, &paths, &error), GSL_EINVAL,
                 "--plain b.jsonl: has draft tokens; give a log without "
                 "speculation, or give it without --plain");
}

/* Totals of vLLM V0: the first one is where counting begins, and the note says so. */
TEST(rounds_before_the_first_total_are_named)
{
#define TOTAL(accepted, drafted, emitted)                                                          \
    "Speculative metrics: Draft acceptance rate: 0.500, System efficiency: 0.667, Number of "      \
    "speculative tokens: 2, Number of accepted tokens: " accepted                                  \
    ", Number of draft tokens: " drafted ", Number of emitted tokens: " emitted ".\n"
    static const char *const file[] = {"v0.log"};
    const spec_advice_paths paths = {.file = file, .n_files = 1};
    OWNED(spec_advice_files) files;
    spec_file_write("v0.log",
                    TOTAL("10", "20", "20") TOTAL("10", "20", "20") TOTAL("40", "80", "80"));
    assert_works(spec_advice_files_read(&files, &paths, &error));
    assert_same(sum_of(&files.sums, SPEC_SUM_DRAFTED), 60.0);
    assert_string_equal(files.source[0].summary.learned.note,
                        "counting begins at the first total, so its 10 rounds are left out");
    spec_advice_files_free(&files);
    spec_file_write("v0.log", TOTAL("10", "20", "20"));
    assert_works(spec_advice_files_read(&files, &paths, &error));
    assert_same(sum_of(&files.sums, SPEC_SUM_DRAFTED), 20.0);
    assert_string_equal(files.source[0].summary.learned.note, "");
}

TEST(a_file_that_cannot_be_read_is_an_error)
{
    static const char *const file[] = {"a.jsonl", "nothere"};
    const spec_advice_paths paths = {.file = file, .n_files = 2, .K = (const int[]){4}, .n_K = 1};
    OWNED(spec_advice_files) files;
    spec_error error = {{0}};
    write_files();
    assert_int_not_equal(spec_advice_files_read(&files, &paths, &error), GSL_SUCCESS);
    assert_non_null(strstr(error.text, "nothere: "));
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);

/* A plain run without times, and a K below the 153 tokens of drafts in 52 rounds and 8 more. */
TEST(files_that_cannot_be_used_are_errors)
{
    static const char *const a[] = {"a.jsonl"}, *const still[] = {"untimed.jsonl"},
                             *const long_one[] = {"long.jsonl"};
    const struct {
        spec_advice_paths paths;
        const char *message;
    } cases[] = {
        {{.file = a, .n_files = 1, .plain = still, .n_plain = 1, .K = (const int[]){4}, .n_K = 1},
         "--plain untimed.jsonl: its tokens have no times, or not how many requests ran; give "
         "--plain-tokens-per-s or --round-over-plain"},
        {{.file = long_one, .n_files = 1, .K = (const int[]){1}, .n_K = 1},
         "--current is 1, but 153 tokens of drafts in 60 rounds need at least K = 3"},
    };
    write_files();
    spec_file_write("long.jsonl", "{\"timings\":{\"predicted_n\":160,\"predicted_ms\":2000.0,"
                                  "\"draft_n\":153,\"draft_n_accepted\":108}}\n");
    spec_file_write("untimed.jsonl", "{\"timings\":{\"predicted_n\":10,\"predicted_ms\":0.0}}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OWNED(spec_advice_files) files;
        assert_fails(spec_advice_files_read(&files, &cases[i].paths, &error), GSL_EINVAL,
                     cases[i].message);
    }
}
