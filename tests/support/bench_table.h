/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_table: synthetic results of bench: a test states tokens, times and intervals.
 * A plain token takes 1 ms. */
#ifndef SPECLAB_TESTS_BENCH_TABLE_H
#define SPECLAB_TESTS_BENCH_TABLE_H

#include "base/table.h"

typedef enum { BENCH_REPORTED, BENCH_VAGUE, BENCH_IMPOSSIBLE } bench_verdict;

typedef struct {
    int K;
    double tokens;                    /* per round */
    double draft, verify, rule, rest; /* ms of a round */
    double width;                     /* the interval is value (1 - width) to value (1 + width) */
    bench_verdict verdict;
    int tied, ahead;
} bench_row;

/* Fills n rows of K, with passes of K + 1 tokens that take `verify`, and one row of a single token.
 * c is .27. The caller may change cells, and frees the table. */
void bench_table_init(spec_table *table, const bench_row *row, int n);

/* Writes the CSV of a result with K = 0, 2 and 4 to `path`. opt_column, if given, has `value` in
 * the first row; NaN empties the cell. */
void bench_table_write(const char *path, const char *opt_column, double value);

/* Change a cell of the table, a number or a text. */
void bench_table_set(spec_table *table, size_t row, const char *column, double value);
void bench_table_say(spec_table *table, size_t row, const char *column, const char *text);

#endif
