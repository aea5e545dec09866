/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/bench_table.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/bench/timing_report.h"
#include "tools/bench/timing_result.h"

#include <string.h>

static const bench_row rows[] = {
    {.K = 0, .tokens = 1.0, .verify = 1.02, .width = 0.03},
    {.K = 2, .tokens = 2.2, .draft = 0.54, .verify = 1.1, .rule = 0.05, .width = 0.05},
    {.K = 4, .tokens = 2.7, .draft = 1.08, .verify = 1.3, .width = 0.1, .tied = 1}};

TEST(numbers_are_those_of_the_table)
{
    spec_table table;
    spec_error error;
    spec_timing_result *result = malloc(sizeof *result);
    assert_non_null(result);
    bench_table_init(&table, rows, 3);
    bench_table_set(&table, 2, "ahead_ms", 0.02);
    bench_table_set(&table, 2, "round_ms", 2.4);
    bench_table_set(&table, 2, "speedup", 2.7 / 2.4);
    bench_table_set(&table, 0, "c_high", INFINITY); /* an interval from two texts */
    bench_table_set(&table, 2, "speedup_high", 1e15);
    if (spec_timing_result_init(result, &table, "x.csv", &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_int_equal(result->n_rows, 3);
    assert_int_equal(result->n_passes, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(result->row[i].K, rows[i].K);
        assert_int_equal(result->width[i], rows[i].K + 1);
        assert_near(result->row[i].tokens, rows[i].tokens, 1e-12);
        assert_near(result->row[i].verify, rows[i].verify, 1e-12);
    }
    assert_near(result->row[1].speedup, 2.2 / 1.69, 1e-9);
    assert_near(result->row[2].during, 0.02, 1e-12);
    assert_true(result->row[1].best && !result->row[2].best && result->row[2].tied &&
                !result->row[0].best);
    assert_true(result->plain == 1.0 && result->c == 0.27 &&
                result->c_high == INFINITY && result->texts == 16 &&
                result->has_draft);
    assert_near(result->target[2], 1.3, 1e-12);
    assert_true(result->trust.threads == 2 && result->trust.lost == 0.01 &&
                !result->trust.processor_clock);
    free(result);
    spec_table_free(&table);
}

/* Makes a table with one cell changed, as by hand. */
typedef struct {
    size_t row;
    const char *column;
    double value;
    const char *opt_text, *says;
} change;

TEST(what_was_edited_is_refused_with_its_row_and_column)
{
    static const change changes[] = {
        {1, "speedup", 2.9, NULL,
         "row 2: 'speedup' is not what plain_ms, round_ms and tokens_per_round give: it was "
         "edited"},
        {1, "tokens_per_round", 2.5, NULL, "row 2: 'speedup' is not what plain_ms"},
        {1, "tokens_per_round", 3.1, NULL,
         "row 2: 'tokens_per_round' is above K + 1: it was edited"},
        {1, "tokens_per_round", 0.5, NULL, "row 2: 'tokens_per_round' is out of its range"},
        {1, "draft_ms", 0.1, NULL, "row 2: 'round_ms' is not the sum of its parts: it was edited"},
        {1, "round_ms", 0.0, NULL, "row 2: 'round_ms' is out of its range"},
        {1, "speedup_low", 1.4, NULL, "row 2: 'speedup' is outside its interval: it was edited"},
        {1, "speedup_high", 1.2, NULL, "row 2: 'speedup' is outside its interval: it was edited"},
        {1, "speedup_low", NAN, NULL, "row 2: 'speedup' is outside its interval: it was edited"},
        {2, "speedup", NAN, NULL,
         "row 3: 'best' is marked where there is no speed-up: it was edited"},
        {0, "best", 0.0, "alike", "row 1: 'best' is marked at K = 0: it was edited"},
        {0, "best", 0.0, "fastest", "row 1: 'best' is a text, where a number belongs"},
        {0, "K", 0.5, NULL, "row 1: 'K' is not a whole number"},
        {0, "K", -1.0, NULL, "row 1: 'K' is out of its range"},
        {0, "K", 1e300, NULL, "row 1: 'K' is out of its range"},
        {0, "K", 0.0, "zero", "row 1: 'K' is a text, where a number belongs"},
        {0, "verify", 0.0, "\033[2J", "row 1: 'verify' is a text, where a number belongs"},
        {0, "plain_ms", NAN, NULL, "row 1: 'plain_ms' is empty"},
        {0, "plain_ms", INFINITY, NULL, "row 1: 'plain_ms' is out of its range"},
        {0, "texts", 1.0, NULL, "row 1: 'texts' is out of its range"},
        {0, "lost", 1.5, NULL, "row 1: 'lost' is out of its range"},
        {1, "pass", 0.0, NULL, "row 2: 'pass' is out of its range"},
        {1, "pass", 1e9, NULL, "row 2: 'pass' is out of its range"},
        {0, "target_pass_ms", -1.0, NULL, "row 1: 'target_pass_ms' is out of its range"},
        {0, "pass", NAN, NULL, "it has no row of the pass of one token"},
    };
    spec_timing_result *result = malloc(sizeof *result);
    assert_non_null(result);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        spec_table table;
        spec_error error = {{0}};
        char says[256];
        bench_table_init(&table, rows, 3);
        if (changes[i].opt_text != NULL)
            bench_table_say(&table, changes[i].row, changes[i].column, changes[i].opt_text);
        else bench_table_set(&table, changes[i].row, changes[i].column, changes[i].value);
        assert_int_equal(spec_timing_result_init(result, &table, "x.csv", &error), GSL_EINVAL);
        snprintf(says, sizeof says, "x.csv: %s", changes[i].says);
        if (strncmp(error.text, says, strlen(says)) != 0)
            fail_msg("'%s' says: %s", says, error.text);
        spec_table_free(&table);
    }
    free(result);
}

TEST(tables_of_others_are_refused)
{
    static const char *const others[] = {"K", "speedup"};
    spec_timing_result *result = malloc(sizeof *result);
    spec_table table;
    spec_error error;
    assert_non_null(result);
    assert_int_equal(spec_table_init(&table, others, 2), GSL_SUCCESS);
    assert_int_equal(spec_timing_result_init(result, &table, "x.csv", &error), GSL_EINVAL);
    assert_string_equal(
        error.text,
        "x.csv: it has no column 'pass': give a CSV that 'speclab bench -o' of this version wrote");
    spec_table_free(&table);
    bench_table_init(&table, rows, 0); /* passes alone */
    assert_int_equal(spec_timing_result_init(result, &table, "x.csv", &error), GSL_EINVAL);
    assert_string_equal(error.text,
                        "x.csv: it has no row with a K: give a CSV that 'speclab bench -o' wrote");
    spec_table_free(&table);
    bench_row many[SPEC_TIMING_SPEEDS_MAX + 1];
    for (int i = 0; i <= SPEC_TIMING_SPEEDS_MAX; i++) many[i] = rows[1];
    bench_table_init(&table, many, SPEC_TIMING_SPEEDS_MAX + 1);
    assert_int_equal(spec_timing_result_init(result, &table, "x.csv", &error), GSL_EINVAL);
    assert_string_equal(error.text, "x.csv: row 129: 'K' is one of too many");
    spec_table_free(&table);
    free(result);
}
