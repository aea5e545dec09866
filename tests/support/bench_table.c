/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/bench_table.h"

#include "tests/support/support.h"
#include "tools/bench/timing_report.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void fill_pass(spec_table *table, int width, double target)
{
    spec_table_integer(table, "pass", width);
    spec_table_number(table, "target_pass_ms", target);
    spec_table_number(table, "target_pass_ratio", target);
    spec_table_number(table, "draft_pass_ms", 0.27 * target);
}

static void fill_row(spec_table *table, const bench_row *row)
{
    const double round = row->draft + row->verify + row->rule + row->rest;
    const double speedup = row->tokens * fmin(1.0, 1.0 / round);
    spec_table_integer(table, "K", row->K);
    spec_table_integer(table, "ahead", row->ahead);
    spec_table_integer(table, "texts", 16);
    spec_table_number(table, "tokens_per_round", row->tokens);
    spec_table_number(table, "alpha_tested_pooled", 0.7);
    spec_table_number(table, "c", 0.27);
    spec_table_number(table, "c_low", 0.25);
    spec_table_number(table, "c_high", 0.29);
    if (row->verdict == BENCH_REPORTED) spec_table_number(table, "speedup", speedup);
    if (row->verdict != BENCH_IMPOSSIBLE) {
        spec_table_number(table, "speedup_low", speedup * (1.0 - row->width));
        spec_table_number(table, "speedup_high", speedup * (1.0 + row->width));
    }
    if (row->tied) spec_table_text(table, "best", "alike");
    spec_table_number(table, "plain_ms", 1.0);
    spec_table_number(table, "round_ms", round);
    spec_table_number(table, "draft_ms", row->draft);
    spec_table_number(table, "verify_ms", row->verify);
    spec_table_number(table, "rule_ms", row->rule);
    spec_table_number(table, "rest_ms", row->rest);
    spec_table_integer(table, "threads", 2);
    spec_table_integer(table, "processors", 2);
    spec_table_text(table, "clock", "wall");
    spec_table_integer(table, "waits_on_card", 0);
    spec_table_number(table, "others", 0.02);
    spec_table_number(table, "lost", 0.01);
    spec_table_number(table, "plain_spread", 0.03);
    spec_table_number(table, "speed_spread", 0.001);
    fill_pass(table, row->K + 1, row->K > 0 ? row->verify : 1.0);
    assert_int_equal(spec_table_append(table), GSL_SUCCESS);
}

void bench_table_init(spec_table *table, const bench_row *row, int n)
{
    int columns = 0;
    bool has_one = false;
    while (spec_timing_report_columns[columns] != NULL) columns++;
    assert_int_equal(spec_table_init(table, spec_timing_report_columns, columns), GSL_SUCCESS);
    free(table->provenance);
    table->provenance = strdup(
        "speclab test\ntarget: a\ndraft: b\ndecoding: rule token, drafting chain, policy fixed\n"
        "machine: none\n| bench");
    assert_non_null(table->provenance);
    for (int i = 0; i < n; i++) {
        fill_row(table, &row[i]);
        has_one = has_one || row[i].K == 0;
    }
    if (has_one) return;
    fill_pass(table, 1, 1.0);
    assert_int_equal(spec_table_append(table), GSL_SUCCESS);
}

static spec_cell *cell_at(spec_table *table, size_t row, const char *column)
{
    const int at = spec_table_column(table, column);
    assert_true(at >= 0 && row < table->n_rows);
    return &table->cell[row * (size_t)table->n_columns + (size_t)at];
}

void bench_table_set(spec_table *table, size_t row, const char *column, double value)
{
    const spec_cell cell = {.kind = isnan(value) ? SPEC_CELL_EMPTY : SPEC_CELL_NUMBER,
                            .number = value};
    assert_int_equal(spec_cell_copy(cell_at(table, row, column), &cell), GSL_SUCCESS);
}

void bench_table_say(spec_table *table, size_t row, const char *column, const char *text)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", text);
    const spec_cell cell = {.kind = SPEC_CELL_TEXT, .text = copy};
    assert_int_equal(spec_cell_copy(cell_at(table, row, column), &cell), GSL_SUCCESS);
}

void bench_table_write(const char *path, const char *opt_column, double value)
{
    static const bench_row row[] = {
        {.K = 0, .tokens = 1.0, .verify = 1.0, .width = 0.02},
        {.K = 2, .tokens = 2.2, .draft = 0.54, .verify = 1.2, .width = 0.05},
        {.K = 4, .tokens = 2.7, .draft = 1.08, .verify = 1.6, .width = 0.05}};
    OWNED(spec_table) table;
    bench_table_init(&table, row, 3);
    if (opt_column != NULL) bench_table_set(&table, 0, opt_column, value);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_works(spec_table_write(&table, SPEC_FORMAT_CSV, out, &error));
    assert_int_equal(fclose(out), 0);
}
