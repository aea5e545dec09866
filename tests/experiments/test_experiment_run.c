/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs an experiment that a verb puts together, without a file. */
#include "experiments/experiment.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

static spec_experiment made(const char *measure)
{
    spec_experiment e;
    assert_works(spec_experiment_init(&e, "x", "speclab x\n--now", measure, &error));
    return e;
}

static void add(spec_experiment *e, const char *name, const char *a, const char *opt_b, bool label)
{
    const char *const value[] = {a, opt_b};
    assert_int_equal(spec_grid_add(&e->grid, name, value, opt_b != NULL ? 2 : 1, label),
                     GSL_SUCCESS);
}

static spec_result run(const spec_experiment *e, const spec_run_options *options)
{
    spec_result result;
    assert_works(spec_experiment_run(&result, e, options, &error));
    return result;
}

static const spec_cell *cell(const spec_table *table, size_t row, const char *column)
{
    const int c = spec_table_column(table, column);
    assert_true(c >= 0);
    return spec_table_cell(table, row, c);
}

TEST(columns_are_the_axes_and_then_those_of_the_measure)
{
    static const char *const names[] = {
        "K",       "alpha",      "task",   "emitted",      "emitted_var",
        "speedup", "ops_factor", "best_K", "best_speedup", "break_even_alpha"};
    OWNED(spec_experiment) e = made("predict");
    add(&e, "K", "2", NULL, false);
    add(&e, "alpha", "0.27", "0.5", false);
    add(&e, "task", "a", NULL, true);
    const spec_run_options options = {0};
    spec_result result = run(&e, &options);
    assert_int_equal(result.table.n_columns, sizeof names / sizeof *names);
    for (int c = 0; c < result.table.n_columns; c++)
        assert_string_equal(result.table.column[c], names[c]);
    assert_int_equal(result.table.n_rows, 2);
    assert_int_equal(result.kept, 0);
    assert_near(spec_cell_number(cell(&result.table, 1, "emitted")), 1.75, 1e-15);
    spec_result_free(&result);

    /* show: only these columns, in this order. */
    char *show[] = {"emitted", "task"};
    e.show = show;
    e.n_show = 2;
    result = run(&e, &options);
    assert_int_equal(result.table.n_columns, 2);
    assert_string_equal(result.table.column[0], "emitted");
    assert_near(spec_cell_number(cell(&result.table, 0, "emitted")), 1.0 + 0.27 + 0.27 * 0.27,
                1e-15);
    assert_string_equal(cell(&result.table, 0, "task")->text, "a");
    spec_result_free(&result);
    e.show = NULL;
    e.n_show = 0;
}

/* A label counts as a number if printing that number gives the same text. */
TEST(a_value_is_a_number_if_it_prints_back)
{
    static const struct {
        const char *value;
        int kind;
    } cases[] = {{"7", SPEC_CELL_INTEGER},  {"-3", SPEC_CELL_INTEGER}, {"07", SPEC_CELL_TEXT},
                 {"0.5", SPEC_CELL_NUMBER}, {"0.50", SPEC_CELL_TEXT},  {"1e-05", SPEC_CELL_NUMBER},
                 {"1:2", SPEC_CELL_TEXT},   {"", SPEC_CELL_TEXT},      {"nine", SPEC_CELL_TEXT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_experiment) e = made("predict");
        add(&e, "K", "2", NULL, false);
        add(&e, "alpha", "0.5", NULL, false);
        add(&e, "task", cases[i].value, NULL, true);
        const spec_run_options options = {0};
        OWNED(spec_result) result = run(&e, &options);
        assert_int_equal(cell(&result.table, 0, "task")->kind, cases[i].kind);
    }
}

static double progress_last;
static uint64_t progress_calls;

static void hear(void *self, double done, uint64_t total)
{
    assert_null(self);
    assert_int_equal(total, 4);
    assert_true(done >= progress_last && done <= 4.0);
    if (progress_calls++ == 0) assert_same(done, 0.0);
    progress_last = done;
}

TEST(a_stream_gets_the_rows_of_the_file_and_progress_its_end)
{
    char path[] = "/tmp/speclab-test-XXXXXX", file_bytes[4096] = "", *bytes = NULL;
    OWNED(spec_experiment) e = made("predict");
    size_t n, n_file;
    add(&e, "K", "2", "5", false);
    add(&e, "alpha", "0.27", "0.5", false);
    close(mkstemp(path));
    const spec_run_options to_file = {.csv_path = path};
    OWNED(spec_result) result = run(&e, &to_file);
    spec_result_free(&result);
    FILE *in = fopen(path, "rb"), *out = open_memstream(&bytes, &n);
    n_file = fread(file_bytes, 1, sizeof file_bytes - 1, in);
    fclose(in);
    unlink(path);

    const spec_run_options to_stream = {.opt_csv = out, .progress = hear};
    result = run(&e, &to_stream);
    fclose(out);
    assert_true(progress_calls >= 5); /* before each point, and at the end */
    assert_same(progress_last, 4.0);
    assert_int_equal(result.table.n_rows, 4);
    /* The lines are the same, except that a row of the file also has a checksum, which resuming
     * uses. */
    const char *line = bytes, *whole = file_bytes;
    for (int rows = 0; *line != '\0'; line = strchr(line, '\n') + 1) {
        const size_t length = strcspn(line, "\n");
        assert_int_equal(strncmp(whole, line, length), 0);
        rows += line[0] != '#';
        assert_int_equal(whole[length], line[0] == '#' ? '\n' : ',');
        whole = strchr(whole + length, '\n') + 1;
        if (line[length + 1] == '\0') assert_int_equal(rows, 5);
    }
    assert_int_equal(whole - file_bytes, n_file);
    assert_non_null(strstr(bytes, "\n# | speclab x\n# | --now\n"));
    free(bytes);
}

/* The second point has more branches than the limit, and its row says so. */
TEST(a_point_that_is_too_large_is_a_row)
{
    OWNED(spec_experiment) e = made("prove");
    add(&e, "rule", "token", NULL, false);
    add(&e, "target", "zipf?V=3", NULL, false);
    add(&e, "draft", "chain:zipf?V=3&s=2", NULL, false);
    add(&e, "K", "4", "1", false);
    const spec_run_options options = {.limit = 100};
    OWNED(spec_result) result = run(&e, &options);
    assert_int_equal(result.table.n_rows, 2);
    assert_string_equal(cell(&result.table, 0, "verdict")->text, SPEC_TOO_LARGE);
    assert_int_equal(cell(&result.table, 0, "branches")->kind, SPEC_CELL_EMPTY);
    assert_int_equal(spec_cell_number(cell(&result.table, 0, "K")), 4);
    assert_int_equal(result.left_out, 1);
    assert_int_equal(result.left_out_row[0], 0);
    assert_int_equal(strncmp(result.why.text, "more than 100 branches", 22), 0);
    assert_int_equal(result.holds, 1); /* its verdict is checked */
    assert_int_equal(result.fails, 0);
}

static volatile int stop;

static void stop_after_one(void *self, double done, uint64_t total)
{
    (void)self, (void)total;
    stop = done >= 1.0;
}

TEST(an_interrupted_run_keeps_the_rows_before_it)
{
    OWNED(spec_experiment) e = made("predict");
    OWNED(spec_result) result;
    spec_error error = {""};
    add(&e, "alpha", "0.5", NULL, false);
    add(&e, "K", "1", "4", false);
    const spec_run_options options = {.stop = &stop, .progress = stop_after_one};
    assert_int_not_equal(spec_experiment_run(&result, &e, &options, &error), GSL_SUCCESS);
    assert_int_equal(result.table.n_rows, 1);
    assert_string_equal(error.text, "interrupted after 1 of 2 points; their rows are kept");
    spec_result_free(&result);
    stop = 1;
    const spec_run_options stopped = {.stop = &stop};
    assert_int_not_equal(spec_experiment_run(&result, &e, &stopped, &error), GSL_SUCCESS);
    assert_string_equal(error.text, "interrupted before the first row");
}

TEST(a_fault_begins_with_its_point)
{
    static const char line[] = "K: 300 is not within [0, 256]";
    OWNED(spec_experiment) e = made("predict");
    OWNED(spec_result) result;
    spec_run_options options = {.limit = 0};
    spec_error error = {""};
    add(&e, "alpha", "0.5", NULL, false);
    add(&e, "K", "1", "300", false);
    assert_int_equal(spec_experiment_run(&result, &e, &options, &error), GSL_EDOM);
    assert_int_equal(strncmp(error.text, "K=300;alpha=0.5: ", 17), 0);
    assert_string_equal(error.text + 17, line);
    spec_result_free(&result);
    options.no_point = true;
    assert_fails(spec_experiment_run(&result, &e, &options, &error), GSL_EDOM, line);
}

/* A lossless law counts as a check that holds; the bias of a rule that is marked wrong is not a
 * check. */
TEST(checked_rows_are_counted)
{
    static const char *const rules[] = {"token", "greedy-softmax"}, *const verdicts[] = {
                                                                        "lossless",
                                                                        "biased, as marked"};
    for (int i = 0; i < 2; i++) {
        OWNED(spec_experiment) e = made("prove");
        add(&e, "rule", rules[i], NULL, false);
        add(&e, "target", "zipf?V=3", NULL, false);
        add(&e, "draft", "greedy:zipf?V=3&s=2", NULL, false);
        add(&e, "K", "1", "2", false);
        const spec_run_options options = {0};
        OWNED(spec_result) result = run(&e, &options);
        assert_int_equal(result.table.n_rows, 2);
        assert_string_equal(cell(&result.table, 0, "verdict")->text, verdicts[i]);
        assert_int_equal(result.holds, i == 0 ? 2 : 0);
        assert_int_equal(result.fails, 0);
        assert_int_equal(result.resumed, 0);
    }
}

TEST(what_cannot_run_computes_nothing)
{
    enum { EMPTY, TWICE, UNKNOWN, NEEDED, TAKEN, SHOWN, MISSING, CASES };
    static const char *const errors[CASES] = {
        [EMPTY] = "the grid has no points",
        [TWICE] = "'K' is given twice",
        [UNKNOWN] = "predict has no parameter 'task'",
        [NEEDED] = "predict needs 'K'",
        [TAKEN] = "'emitted' is a column of predict: another name is needed",
        [SHOWN] = "no column 'emited' to show",
        [MISSING] = "x needs ROWS: a file",
    };
    for (int i = 0; i < CASES; i++) {
        OWNED(spec_experiment) e = made("predict");
        spec_result result;
        char *show[] = {"emited"};
        if (i != EMPTY && i != NEEDED) add(&e, "K", "1", NULL, false);
        if (i != EMPTY) add(&e, "alpha", "0.5", NULL, false);
        if (i == TWICE) add(&e, "K", "2", NULL, false);
        if (i == UNKNOWN) add(&e, "task", "a", NULL, false);
        if (i == TAKEN) add(&e, "emitted", "3", NULL, true);
        if (i == SHOWN) e.show = show, e.n_show = 1;
        if (i == MISSING) {
            free(e.missing);
            e.missing = strdup("ROWS: a file");
        }
        const spec_run_options options = {0};
        assert_fails(spec_experiment_run(&result, &e, &options, &error), GSL_EINVAL, errors[i]);
        assert_int_equal(result.table.n_rows, 0);
        spec_result_free(&result);
        if (i == SHOWN) e.show = NULL, e.n_show = 0;
    }
}

/* A point that cannot run ends the run before the first row: wrong parameters, missing models, and
 * models that do not go together. */
TEST(a_fault_of_the_last_point_is_found_before_the_first_row)
{
    static const struct {
        const char *measure, *axis, *good, *bad, *line;
    } cases[] = {
        {"decode", "target", "zipf?V=3", "gguf:/none.gguf", "target: "},
        {"decode", "draft", "zipf?V=3", "zipf?V=4", "draft: "},
        {"decode", "drafting", "chain", "lookup?width=none", "drafting: "},
        {"decode", "rule", "token", "rrs?x=1", "rule: "},
        {"decode", "drafting", "chain", "gumbel?seed=3", "draft strategy 'gumbel?seed=3' shares"},
        {"lossless", "tokens", "6", "3", "tokens: 3 is too few"},
        {"prove", "rule", "token", "gumbel?seed=3", "rule 'gumbel?seed=3' emits the one text"},
        {"prove", "target", "zipf?V=3", "zipf?V=x", "target: "},
        {"overlap", "draft", "uniform?V=3", "uniform?V=4", "draft: "},
        {"overlap", "top", "1", "-1", "top: "},
        {"overlap", "delta", "0", "1.1", "delta: "},
        {"overlap", "delta", "0", "0.5", "delta: must be 0 unless top is 1"},
        {"overlap", "coins", "0", "2", "coins: "},
        {"betas", "draft", "uniform?V=3", "uniform?V=4", "draft: "},
        {"accept", "target", "zipf?V=3", "zipf?V=0", "target: "},
        {"four_alphas", "K", "3", "300", "K: 300 is not within"},
        {"plan", "nodes", "4", "4000", "nodes: '4000'"},
        {"plan", "methods", "chain", "dynamic", "methods: dynamic needs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_experiment e = made(cases[i].measure);
        spec_result result;
        spec_error error = {""};
        static const char *const rest[][2] = {
            {"target", "zipf?V=3"}, {"draft", "uniform?V=3"}, {"rule", "token"}, {"K", "4"},
            {"nodes", "4"},         {"ahead", "1"},           {"alpha", "0.5"},  {"accept", "0.5"}};
        add(&e, cases[i].axis, cases[i].good, cases[i].bad, false);
        for (size_t j = 0; j < sizeof rest / sizeof *rest; j++) {
            const bool chain = strcmp(cases[i].measure, "prove") == 0 && j == 1;
            const bool given = strcmp(rest[j][0], cases[i].axis) == 0;
            const bool planned = strcmp(cases[i].measure, "plan") == 0 && j < 3;
            bool known;
            spec_measure_default(e.measure, rest[j][0], &known);
            if (!known || given || planned) continue;
            if (j == 5 && strcmp(cases[i].measure, "lossless") != 0) continue;
            add(&e, rest[j][0], chain ? "chain:uniform?V=3" : rest[j][1], NULL, false);
        }
        e.rounds = 100;
        const spec_run_options options = {.no_point = true};
        if (spec_experiment_run(&result, &e, &options, &error) == GSL_SUCCESS)
            fail_msg("%s: %s=%s ran", cases[i].measure, cases[i].axis, cases[i].bad);
        if (strncmp(error.text, cases[i].line, strlen(cases[i].line)) != 0)
            fail_msg("%s: %s, not %s", cases[i].measure, error.text, cases[i].line);
        assert_int_equal(result.table.n_rows, 0);
        spec_result_free(&result);
        spec_experiment_free(&e);
    }
}
