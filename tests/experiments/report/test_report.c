#include "experiments/report/report.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_page_says_what_was_asked_and_what_came_out(void **state)
{
    static const char text[] =
        "title = \"Speed-up\"; question = \"How\nmuch?\"; theory = \"Thm 3.8.\"; finding = \"Enough.\"; time = \"1 "
        "s\";\n"
        "measure = \"acceptance\"; rounds = 2000; grid = { alpha = \"0.1:0.9:0.1\"; K = [1, 2, 3]; };";
    char folder[] = "/tmp/speclab-test-XXXXXX", figure[100], *page = NULL;
    spec_experiment e;
    spec_result result;
    spec_error error = {""};
    spec_run_options run = {.threads = 1};
    size_t n;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(figure, sizeof figure, "%s/table.svg", folder);
    assert_int_equal(spec_experiment_parse(&e, "table.cfg", text, strlen(text), NULL, &error), GSL_SUCCESS);
    assert_int_equal(spec_experiment_run(&result, &e, &run, &error), GSL_SUCCESS);
    const spec_experiment *experiments[] = {&e};
    const spec_result *results[] = {&result};
    spec_report_options options = SPEC_REPORT_DEFAULT;
    options.folder = folder;
    options.rows = 20;
    for (int with_figure = 0; with_figure < 2; with_figure++) {
        if (with_figure) fclose(fopen(figure, "w"));
        FILE *out = open_memstream(&page, &n);
        assert_int_equal(spec_report_write(out, experiments, results, 1, &options, &error), GSL_SUCCESS);
        fclose(out);
        const char *const parts[] = {"# speclab report\n",
                                     "## Summary\n",
                                     "| [Speed-up](#table) | 27 | all 27 checked rows hold, largest \\|z\\| ",
                                     "27 rows, of which 27 were checked against exact theory or a promise: all hold.",
                                     "## Speed-up\n",
                                     "**Question.** How much?\n",
                                     "**Theory.** Thm 3.8.\n",
                                     "In every row: rounds = `2000`.\n",
                                     "| alpha |   K | emitted | emitted_se |",
                                     "The first 20 of 27 rows; all are in [table.csv](./table.csv).",
                                     "**Finding.** Enough.",
                                     "**Again.** `speclab run experiments/table.cfg`: 1 s\n"};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strstr(page, parts[i]) == NULL) fail_msg("no '%s' in:\n%s", parts[i], page);
        assert_true((strstr(page, "![Speed-up](./table.svg)") != NULL) == (with_figure == 1));
        free(page);
    }
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        assert_int_equal(spec_report_write(full, experiments, results, 1, NULL, &error), GSL_EFAILED);
        assert_non_null(strstr(error.text, "No space left"));
        fclose(full);
    }
    result.fails = 2;
    result.holds = 25;
    FILE *out = open_memstream(&page, &n);
    assert_int_equal(spec_report_write(out, experiments, results, 1, NULL, &error), GSL_SUCCESS);
    fclose(out);
    assert_non_null(strstr(page, "**2 of 27 checked rows FAIL**"));
    free(page);
    unlink(figure);
    rmdir(folder);
    spec_result_free(&result);
    spec_experiment_free(&e);
}

/* A table leaves out the columns that say the same everywhere: of equal rows that would be all. */
static void equal_rows_keep_their_table(void **state)
{
    static const char text[] = "measure = \"predict\"; grid = { alpha = [0.27, 0.27]; K = 3; };";
    char *page = NULL;
    spec_experiment e;
    spec_result result;
    spec_error error = {""};
    const spec_run_options run = {.threads = 1};
    size_t n;
    (void)state;
    assert_int_equal(spec_experiment_parse(&e, "twice.cfg", text, strlen(text), NULL, &error), GSL_SUCCESS);
    assert_int_equal(spec_experiment_run(&result, &e, &run, &error), GSL_SUCCESS);
    const spec_experiment *experiments[] = {&e};
    const spec_result *results[] = {&result};
    FILE *out = open_memstream(&page, &n);
    assert_int_equal(spec_report_write(out, experiments, results, 1, NULL, &error), GSL_SUCCESS);
    fclose(out);
    assert_non_null(strstr(page, "| alpha |   K | emitted |"));
    assert_null(strstr(page, "In every row"));
    free(page);
    spec_result_free(&result);
    spec_experiment_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_says_what_was_asked_and_what_came_out),
        cmocka_unit_test(equal_rows_keep_their_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
