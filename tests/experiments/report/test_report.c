/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/input_digest.h"
#include "experiments/report/report.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char table_text[] =
    "title = \"Speed-up | {K}\"; question = \"How\nmuch at {K}?\"; theory = \"Thm 3.8.\"; finding "
    "= \"Enough.\"; time = \"1 "
    "s\";\n"
    "measure = \"acceptance\"; rounds = 2000; grid = { alpha = \"0.1:0.9:0.1\"; K = [1, 2, 3]; };";

/* The experiment of table_text with overrides; its finding is for the inputs without overrides. */
static spec_experiment load(const char *const *opt_set)
{
    char digest[SPEC_INPUT_DIGEST_SIZE], text[1024];
    spec_experiment e;
    assert_works(
        spec_experiment_parse(&e, "table.cfg", table_text, strlen(table_text), NULL, &error));
    assert_works(spec_input_digest(digest, &e, NULL, &error));
    spec_experiment_free(&e);
    snprintf(text, sizeof text, "%s finding_for = \"%s\";", table_text, digest);
    assert_works(spec_experiment_parse(&e, "table.cfg", text, strlen(text), opt_set, &error));
    return e;
}

static void says(const char *page, const char *part)
{
    if (strstr(page, part) == NULL) fail_msg("no '%s' in:\n%s", part, page);
}

TEST(the_page_says_what_was_asked_and_what_came_out)
{
    char folder[] = "/tmp/speclab-test-XXXXXX", figure[100], *page = NULL;
    OWNED(spec_result) result;
    spec_run_options run = {.opt_context = spec_test_context(1)};
    size_t n;
    assert_non_null(mkdtemp(folder));
    snprintf(figure, sizeof figure, "%s/table.svg", folder);
    OWNED(spec_experiment) e = load(NULL);
    assert_works(spec_experiment_run(&result, &e, &run, &error));
    const spec_experiment *experiments[] = {&e};
    const spec_result *results[] = {&result};
    spec_report_options options = SPEC_REPORT_DEFAULT;
    options.folder = folder;
    options.rows = 20;
    for (int with_figure = 0; with_figure < 2; with_figure++) {
        if (with_figure) fclose(fopen(figure, "w"));
        FILE *out = open_memstream(&page, &n);
        assert_works(spec_report_write(out, experiments, results, 1, &options, &error));
        fclose(out);
        const char *const parts[] = {
            "# speclab report\n",
            "## Summary\n",
            "| [Speed-up \\| 1, 2 and 3](#table) | 27 | All 27 rows hold; the largest difference ",
            "27 rows, 27 of them checked against exact theory or a claim: all hold.",
            "## How to read this page\n",
            "## Speed-up \\| 1, 2 and 3\n",
            "**Question.** How much at 1, 2 and 3?\n",
            "**Theory.** Thm 3.8.\n",
            "**Inputs.** alpha = 0.1 to 0.9; K = 1, 2 and 3; 2000 rounds per row; seed 42.\n",
            "In every row: rounds = `2000`.\n",
            "| alpha |   K | emitted | emitted_se |",
            "The first 20 of 27 rows; all are in [table.csv](./table.csv).",
            "**Measured.**\n\n- `emitted` lies between 1.",
            "\n- Along `K`, `speedup_theory` ",
            "**Evidence.** All 27 rows hold; ",
            "**Finding.** Enough.",
            "**Command.** `speclab run table`: 1 s\n"};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) says(page, parts[i]);
        assert_true((strstr(page, "![Speed-up \\| 1, 2 and 3](./table.svg)") != NULL) ==
                    (with_figure == 1));
        free(page);
    }
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        assert_fails_with(spec_report_write(full, experiments, results, 1, NULL, &error),
                          GSL_EFAILED, "No space left");
        fclose(full);
    }
    result.fails = 2;
    result.holds = 25;
    FILE *out = open_memstream(&page, &n);
    assert_works(spec_report_write(out, experiments, results, 1, NULL, &error));
    fclose(out);
    assert_non_null(strstr(page, "**2 of 27 checked rows FAIL**"));
    free(page);
    unlink(figure);
    rmdir(folder);
}

/* For other inputs no finding and no time are given, and the command has the overrides. */
TEST(a_changed_experiment_reports_its_own_inputs_alone)
{
    static const char *const set[] = {"K=2:6:2", "rounds=900", NULL},
                             *const command[] = {"speclab run my/table.cfg"};
    spec_report_options options = SPEC_REPORT_DEFAULT;
    spec_run_options run = {.opt_context = spec_test_context(1)};
    OWNED(spec_result) result;
    FREED char *page = NULL;
    size_t n;
    OWNED(spec_experiment) e = load(set);
    assert_works(spec_experiment_run(&result, &e, &run, &error));
    const spec_experiment *experiments[] = {&e};
    const spec_result *results[] = {&result};
    options.command = command;
    FILE *out = open_memstream(&page, &n);
    assert_works(spec_report_write(out, experiments, results, 1, &options, &error));
    fclose(out);
    says(page, "## Speed-up \\| 2, 4 and 6\n");
    says(page, "alpha = 0.1 to 0.9; K = 2, 4 and 6; 900 rounds per row; seed 42.\n");
    says(page, "**Command.** `speclab run my/table.cfg --set K=2:6:2 --set rounds=900`\n");
    assert_null(strstr(page, "Enough"));
    assert_null(strstr(page, "1 s"));
}

/* A table omits the columns with only one value, but if all rows are equal, not all columns. */
TEST(equal_rows_keep_their_table)
{
    static const char text[] = "measure = \"predict\"; grid = { alpha = [0.27, 0.27]; K = 3; };";
    FREED char *page = NULL;
    OWNED(spec_experiment) e;
    OWNED(spec_result) result;
    const spec_run_options run = {.opt_context = spec_test_context(1)};
    size_t n;
    assert_works(spec_experiment_parse(&e, "twice.cfg", text, strlen(text), NULL, &error));
    assert_works(spec_experiment_run(&result, &e, &run, &error));
    const spec_experiment *experiments[] = {&e};
    const spec_result *results[] = {&result};
    FILE *out = open_memstream(&page, &n);
    assert_works(spec_report_write(out, experiments, results, 1, NULL, &error));
    fclose(out);
    assert_non_null(strstr(page, "| alpha |   K | emitted |"));
    assert_null(strstr(page, "In every row"));
}
