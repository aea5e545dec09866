/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Damaged files of sums, each with the right row_check. tests/cli/test_batches.c has those that a
 * user makes. */
#include "experiments/experiment.h"
#include "experiments/group_file.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum { GROUPS = 3 }; /* of each of two points */

static spec_experiment made(void)
{
    static const char *const alpha[] = {"0.27", "0.9"}, *const K[] = {"2"};
    spec_experiment e;
    assert_works(spec_experiment_init(&e, "x", "speclab x", "acceptance", &error));
    assert_int_equal(spec_grid_add(&e.grid, "alpha", alpha, 2, false), GSL_SUCCESS);
    assert_int_equal(spec_grid_add(&e.grid, "K", K, 1, false), GSL_SUCCESS);
    e.rounds = (1ull << 18) * 64 * (GROUPS - 1) + 1000;
    return e;
}

/* Runs into x.csv; `text` is the expected error, NULL: none. */
static void run(spec_run_options options, const char *text)
{
    OWNED(spec_experiment) e = made();
    OWNED(spec_result) result;
    spec_error error = {""};
    options.csv_path = "x.csv";
    const int status = spec_experiment_run(&result, &e, &options, &error);
    if (text == NULL && status != GSL_SUCCESS) fail_msg("%s", error.text);
    if (text != NULL && status == GSL_SUCCESS) fail_msg("no error, but '%s' is expected", text);
    if (text != NULL && strstr(error.text, text) == NULL)
        fail_msg("no '%s' in '%s'", text, error.text);
}

/* Writes the first n rows of a file again, with the right row_check. Row `odd` gets `opt_place` and
 * `opt_sum` instead of its own. */
static void rewrite(const char *into, const char *path, size_t n, size_t odd, const char *opt_place,
                    const char *opt_sum)
{
    static const char *const columns[] = {SPEC_SHARD_COLUMN, SPEC_GROUP_COLUMN};
    const spec_check none[2 * GROUPS] = {SPEC_CHECK_NONE};
    OWNED(spec_table) old, table;
    spec_result_file file;
    int kept;
    assert_works(spec_table_read_csv(&old, path, NULL, &error));
    assert_int_equal(spec_table_init(&table, columns, 2), GSL_SUCCESS);
    free(table.provenance);
    table.provenance = strdup(old.provenance);
    for (size_t r = 0; r < n; r++) {
        const spec_cell *cell = spec_table_cell(&old, r, 0);
        const bool edits = r == odd;
        spec_table_text(&table, columns[0], edits && opt_place ? opt_place : cell[0].text);
        spec_table_text(&table, columns[1], edits && opt_sum ? opt_sum : cell[1].text);
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    unlink(into);
    spec_result_file_init(&file, into, NULL);
    assert_works(spec_result_file_open(&file, &error));
    assert_works(spec_result_file_write(&file, &table, 0, none, &error));
    assert_works(spec_result_file_close(&file, &kept, &error));
}

/* Writes sums.csv: two points with three groups each. */
static void write_sums(void)
{
    unlink("x.csv");
    run((spec_run_options){.batches = {1, 1}}, NULL);
    assert_int_equal(rename("x.csv", "sums.csv"), 0);
}

/* Returns the text of a row's sum. */
static char *sum_of(size_t row)
{
    OWNED(spec_table) table;
    assert_works(spec_table_read_csv(&table, "sums.csv", NULL, &error));
    assert_int_equal(table.n_rows, 2 * GROUPS);
    char *text = strdup(spec_table_cell(&table, row, 1)->text);
    return text;
}

static void read_odd(const char *text)
{
    unlink("x.csv");
    run((spec_run_options){.opt_sums = "odd.csv"}, text);
}

TEST(damaged_sums_are_refused)
{
    enum { ALL = 2 * GROUPS };
    write_sums();
    char *first = sum_of(0), *last = sum_of(GROUPS - 1), cut[4096];
    snprintf(cut, sizeof cut, "%.*s", (int)(strrchr(first, ' ') - first), first);
    rewrite("odd.csv", "sums.csv", ALL, ALL, NULL, NULL);
    read_odd(NULL); /* whole */
    rewrite("odd.csv", "sums.csv", ALL - 1, ALL, NULL, NULL);
    read_odd("K=2;alpha=0.9: odd.csv: the sum of group 3 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 0, "2/2 1/3", NULL);
    read_odd("K=2;alpha=0.27: odd.csv: the sum of group 1 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 1, "1/2 1/3", NULL);
    read_odd("the sum of group 2 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 1, "1/2 2/4", NULL);
    read_odd("the sum of group 2 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 1, "1/3 2/3", NULL);
    read_odd("the sum of group 2 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 1, "here", NULL);
    read_odd("the sum of group 2 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 0, NULL, cut);
    read_odd("the sum of group 1 of 3 is missing");
    rewrite("odd.csv", "sums.csv", ALL, 0, NULL, last); /* fewer rounds, and more */
    read_odd("odd.csv: the sum of group 1 of 3 is missing: not the sum of ");
    rewrite("odd.csv", "sums.csv", ALL, GROUPS - 1, NULL, first);
    read_odd("odd.csv: the sum of group 3 of 3 is missing: not the sum of ");
    free(first);
    free(last);
}

/* A point that an earlier run has finished uses no sums. */
TEST(sums_go_on_after_the_points_of_an_earlier_run)
{
    write_sums();
    unlink("x.csv");
    run((spec_run_options){.opt_sums = "sums.csv"}, NULL);
    char *whole = spec_file_bytes("x.csv"), *end = strrchr(whole, '\n');
    spec_file_write("whole.csv", whole);
    *end = '\0';
    *(strrchr(whole, '\n') + 1) = '\0'; /* without its last row */
    spec_file_write("x.csv", whole);
    free(whole);
    run((spec_run_options){.opt_sums = "sums.csv", .resume = true}, NULL);
    spec_files_same("x.csv", "whole.csv");
}

TEST(a_part_with_a_misplaced_row_is_not_resumed)
{
    write_sums();
    rewrite("x.csv", "sums.csv", 2, 1, "1/2 3/3", NULL);
    run((spec_run_options){.batches = {1, 1}, .resume = true},
        "K=2;alpha=0.27: row 2 is not '1/2 2/3'");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
