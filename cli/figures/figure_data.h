/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_data: the columns of a CSV that a figure draws, as numbers.
 * Texts become level numbers, from 1, so gnuplot sees a file's texts only as names of levels. The
 * data own everything; a column is valid until they are freed. */
#ifndef SPECLAB_FIGURE_DATA_H
#define SPECLAB_FIGURE_DATA_H

#include "cli/figures/word_list.h"
#include "experiments/measures/measure.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *name;
    bool is_text;     /* some cell is a text, so all values are level numbers */
    double *value;    /* (n_rows) NaN: empty, or not a number within 1e100 */
    bool is_constant; /* every row has the same value */
    /* number of distinct values: numbers ascending, texts in order of appearance */
    int n_levels;
    char **level; /* (n_levels) the levels as printed, or the first SPEC_FIGURE_LEVELS_MAX */
    double *level_value;
} spec_figure_column;

/* Maximum number of named levels. A column with more distinct values has n_levels = this + 1, and
 * no names. */
enum { SPEC_FIGURE_LEVELS_MAX = 1000 };

typedef struct {
    char *path;
    spec_table table;
    size_t *row, n_rows;         /* the drawn rows */
    spec_figure_column *columns; /* (table.n_columns) value is NULL until it is requested */
} spec_figure_data;

/* Reads a result of speclab, or CSV or JSON of another program. `where` has conditions
 * COLUMN=VALUE[,VALUE...]. Two conditions on the same column allow the values of either. A row is
 * drawn if every column with a condition has an allowed value. Returns GSL_EINVAL if no row is
 * left. */
int spec_figure_data_load(spec_figure_data *data, const char *path, const spec_word_list *where,
                          spec_error *error);
void spec_figure_data_free(spec_figure_data *data);

/* Finds a column by its name. If there is none, returns GSL_EINVAL with the nearest name, or with
 * all names. */
int spec_figure_data_column(const spec_figure_column **ret_column, spec_figure_data *data,
                            const char *name, spec_error *error);
bool spec_figure_data_has(const spec_figure_data *data, const char *name);

/* Returns the measure that the provenance names, or NULL. */
const spec_measure *spec_figure_data_measure(const spec_figure_data *data);

/* Returns the level number of a row's value, from 0; -1 for an empty value. */
int spec_figure_column_level(const spec_figure_column *column, size_t row);

#endif
