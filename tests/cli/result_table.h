/* SPDX-License-Identifier: GPL-3.0-or-later */
/* result_table: reads the CSV that a command writes, and finds its cells by the names of columns.
 * SPECLAB names the program. */
#ifndef SPECLAB_TESTS_RESULT_TABLE_H
#define SPECLAB_TESTS_RESULT_TABLE_H

#include "base/table.h"
#include "tests/support/child.h"

/* The caller frees the table. */
static inline void read_csv(spec_table *table, const char *path)
{
    spec_error error;
    if (spec_table_read_csv(table, path, NULL, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
}

/* Runs the command with -o result.csv, and reads that. */
static inline void read_result(spec_table *table, const char *arguments)
{
    char whole[1200];
    snprintf(whole, sizeof whole, "%s --force -o result.csv", arguments);
    spec_program_works(whole);
    read_csv(table, "result.csv");
}

static inline const spec_cell *cell(const spec_table *table, size_t row, const char *name)
{
    const int column = spec_table_column(table, name);
    if (column < 0) fail_msg("no column %s", name);
    return spec_table_cell(table, row, column);
}

static inline double number(const spec_table *table, size_t row, const char *name)
{
    return spec_cell_number(cell(table, row, name));
}

#endif
