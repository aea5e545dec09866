/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run_measure: helpers for tests of measures: run a small grid, read its cells, check its rows.
 * Every failure fails the calling test; the caller frees the result. */
#ifndef SPECLAB_TESTS_RUN_MEASURE_H
#define SPECLAB_TESTS_RUN_MEASURE_H

#include "experiments/experiment.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <string.h>

/* Reads a grid of a measure, with the suite's seed and sample sizes. */
static inline void parse(spec_experiment *ret, const char *measure, uint64_t rounds,
                         const char *grid)
{
    char text[1000];
    snprintf(text, sizeof text, "measure = \"%s\"; rounds = %lluL; seed = %lluL; grid = { %s };",
             measure, (unsigned long long)spec_test_samples(rounds),
             (unsigned long long)spec_test_seed(), grid);
    assert_works(spec_experiment_parse(ret, "test.cfg", text, strlen(text), NULL, &error));
}

/* Runs it. */
static inline void run(spec_result *result, const char *measure, uint64_t rounds, const char *grid)
{
    OWNED(spec_experiment) e;
    parse(&e, measure, rounds, grid);
    const spec_run_options options = {.opt_context = spec_test_context(2)};
    assert_works(spec_experiment_run(result, &e, &options, &error));
}

static inline double number(const spec_result *result, size_t row, const char *column)
{
    int c = spec_table_column(&result->table, column);
    assert_true(c >= 0);
    return spec_cell_number(spec_table_cell(&result->table, row, c));
}

static inline const char *text(const spec_result *result, size_t row, const char *column)
{
    int c = spec_table_column(&result->table, column);
    assert_true(c >= 0);
    return spec_table_cell(&result->table, row, c)->text;
}

/* Checks that each of n grids is refused with an error that contains the text beside it. */
static inline void assert_grids_refused(const char *measure, const char *const wrong[][2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        spec_experiment e;
        spec_result result;
        spec_error error = {""};
        char source[300];
        snprintf(source, sizeof source, "measure = \"%s\"; grid = { %s };", measure, wrong[i][0]);
        int status = spec_experiment_parse(&e, "test.cfg", source, strlen(source), NULL, &error);
        if (status == GSL_SUCCESS) {
            status = spec_experiment_run(
                &result, &e, &(spec_run_options){.opt_context = spec_test_context(2)}, &error);
            spec_result_free(&result); /* this also works after a run that failed */
            spec_experiment_free(&e);
        }
        assert_int_not_equal(status, GSL_SUCCESS);
        if (strstr(error.text, wrong[i][1]) == NULL)
            fail_msg("'%s' lacks '%s'", error.text, wrong[i][1]);
    }
}

static inline void assert_all_hold(const spec_result *result, size_t rows)
{
    spec_error error;
    assert_int_equal(result->table.n_rows, rows);
    if (result->fails > 0) spec_table_write(&result->table, SPEC_FORMAT_TABLE, stderr, &error);
    assert_int_equal(result->fails, 0);
    assert_int_equal(result->holds, rows);
}

#endif
