/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges parts of short runs. They compute closed forms, in which a point has one row or
 * several. */
#include "experiments/shard_merge.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum { MOST = 8 };

static const char *const names[MOST] = {"1.csv", "2.csv", "3.csv", "4.csv",
                                        "5.csv", "6.csv", "7.csv", "8.csv"};

/* Four points with one row each, or three points with as many rows as `accuracies` has budgets. */
static spec_experiment made(bool several_rows)
{
    static const char *const alpha[] = {"0.27", "0.5", "0.9", "1"}, *const K[] = {"2"},
                             *const c[] = {"0.1", "0.2", "0.3"}, *const accept[] = {"0.6,0.2"},
                             *const nodes[] = {"1,2,5"};
    spec_experiment e;
    assert_works(
        spec_experiment_init(&e, "x", "speclab x", several_rows ? "plan" : "predict", &error));
    if (several_rows) {
        assert_int_equal(spec_grid_add(&e.grid, "accept", accept, 1, false), GSL_SUCCESS);
        assert_int_equal(spec_grid_add(&e.grid, "nodes", nodes, 1, false), GSL_SUCCESS);
        assert_int_equal(spec_grid_add(&e.grid, "c", c, 3, false), GSL_SUCCESS);
    } else {
        assert_int_equal(spec_grid_add(&e.grid, "alpha", alpha, 4, false), GSL_SUCCESS);
        assert_int_equal(spec_grid_add(&e.grid, "K", K, 1, false), GSL_SUCCESS);
    }
    return e;
}

/* Returns the rows that the run writes into the file. */
static size_t run(const spec_experiment *e, spec_shard shard, const char *path, bool resume)
{
    OWNED(spec_result) result;
    const spec_run_options options = {.csv_path = path, .shard = shard, .resume = resume};
    assert_works(spec_experiment_run(&result, e, &options, &error));
    const size_t rows = result.table.n_rows;
    return rows;
}

static void write_parts(const spec_experiment *e, uint64_t of)
{
    for (uint64_t number = 1; number <= of; number++) {
        unlink(names[number - 1]);
        run(e, (spec_shard){number, of}, names[number - 1], false);
    }
}

static void merge(const char *path, const char *const *part, size_t n)
{
    OWNED(spec_parts) parts;
    OWNED(spec_result) result;
    assert_works(spec_parts_read(&parts, part, n, &error));
    assert_true(spec_parts_are_whole(&parts));
    assert_works(spec_parts_merge(&result, &parts, path, NULL, &error));
}

/* Tries every number of shards, with the files in any order; points of several rows stay
 * together. */
TEST(merged_parts_have_the_bytes_of_the_whole_run)
{
    for (int several = 0; several < 2; several++) {
        OWNED(spec_experiment) e = made(several != 0);
        unlink("whole.csv");
        const size_t rows = run(&e, (spec_shard){0}, "whole.csv", false);
        assert_true(several == 0 ? rows == 4 : rows > 9);
        for (uint64_t of = 1; of <= spec_grid_size(&e.grid); of++) {
            const char *backwards[MOST];
            write_parts(&e, of);
            for (uint64_t i = 0; i < of; i++) backwards[i] = names[of - 1 - i];
            merge("merged.csv", names, of);
            spec_files_same("merged.csv", "whole.csv");
            merge("merged.csv", backwards, of);
            spec_files_same("merged.csv", "whole.csv");
        }
    }
}

/* A killed run leaves a file that may be cut anywhere. It then lacks points, and resuming gives the
 * same bytes as a whole run. */
TEST(a_part_cut_at_any_byte_is_unfinished_and_resumes)
{
    for (int several = 0; several < 2; several++) {
        OWNED(spec_experiment) e = made(several != 0);
        write_parts(&e, 2);
        FREED char *bytes = spec_file_bytes(names[0]);
        const size_t n = strlen(bytes), step = several ? 37 : 1;
        for (size_t cut = 0; cut < n; cut += step) {
            spec_parts parts;
            char byte = bytes[cut];
            bytes[cut] = '\0';
            spec_file_write("cut.csv", bytes);
            bytes[cut] = byte;
            const char *const pair[] = {"cut.csv", names[1]};
            spec_error error = {""};
            if (spec_parts_read(&parts, pair, 2, &error) == GSL_SUCCESS) {
                assert_false(spec_parts_are_whole(&parts));
                assert_true(parts.part[0].done < 2);
                spec_parts_free(&parts);
            }
            run(&e, (spec_shard){1, 2}, "cut.csv", true);
            spec_files_same("cut.csv", names[0]);
        }
    }
}

static void refused(const char *const *part, size_t n, const char *text)
{
    spec_parts parts;
    spec_error error = {""};
    if (spec_parts_read(&parts, part, n, &error) == GSL_SUCCESS) fail_msg("read, not '%s'", text);
    assert_null(parts.part);
    if (strstr(error.text, text) == NULL) fail_msg("no '%s' in '%s'", text, error.text);
}

/* Writes 2.csv with the first `from` replaced, into odd.csv, and merges it. */
static void edited(const char *from, const char *to, const char *text)
{
    char *bytes = spec_file_bytes(names[1]), *at = strstr(bytes, from), odd[4096];
    assert_non_null(at);
    snprintf(odd, sizeof odd, "%.*s%s%s", (int)(at - bytes), bytes, to, at + strlen(from));
    spec_file_write("odd.csv", odd);
    free(bytes);
    refused((const char *const[]){names[0], "odd.csv"}, 2, text);
}

TEST(what_is_no_part_of_the_run_is_refused)
{
    OWNED(spec_experiment) e = made(false);
    write_parts(&e, 3);
    run(&e, (spec_shard){0}, "alone.csv", false);
    run(&e, (spec_shard){2, 4}, "four.csv", false);
    refused((const char *const[]){"none.csv"}, 1, "none.csv: No such file");
    refused((const char *const[]){names[0], "alone.csv"}, 2, "alone.csv: not a part of a run");
    refused((const char *const[]){names[0], names[1], names[0]}, 3,
            "1.csv and 1.csv are both shard 1/3");
    refused((const char *const[]){names[0], "four.csv"}, 2,
            "four.csv: one of 4 shards, but 1.csv is one of 3");
    edited("# seed: 42", "# seed: 43", "odd.csv: row 1, or a line above it, was edited");
    edited("# shard: 2/3", "# shard: 3/3", "odd.csv: row 1, or a line above it, was edited");
    edited("# shard: 2/3", "# shard: 0/3", "odd.csv: # shard: '0/3' is not I/N");
    edited("# shard: 2/3", "# shard: 2/99999999", "'2/99999999' has over 10 million shards");
    edited("# shard: 2/3\n", "", "odd.csv: not a part of a run");
    edited("0.5,", "0.6,", "odd.csv: row 1, or a line above it, was edited");
    edited("2/4 1/1", "3/4 1/1", "odd.csv: row 1, or a line above it, was edited");
    edited(",shard_row", "", "odd.csv:");
    edited(",shard_row", ",other", "odd.csv: it has no column shard_row");
    edited(",row_check", ",other", "odd.csv: it has no column row_check");
    e.seed = 7;
    run(&e, (spec_shard){2, 3}, "seed.csv", false);
    refused((const char *const[]){names[0], "seed.csv"}, 2,
            "seed.csv: its head differs from that of 1.csv: 'seed: 7'");
}

TEST(more_shards_than_points_are_refused)
{
    OWNED(spec_experiment) e = made(false);
    OWNED(spec_result) result;
    const spec_run_options options = {.csv_path = "many.csv", .shard = {2, 5}};
    assert_fails(spec_experiment_run(&result, &e, &options, &error), GSL_EINVAL,
                 "--shard 2/5: the grid has 4 points; use at most as many shards");
    assert_int_equal(access("many.csv", F_OK), -1);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
