/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_data: the columns of a CSV that a figure draws, as numbers.
 * A text becomes the number of its level, from 1, so that gnuplot sees a file's texts only as names
 * of levels. The data own everything; a column is valid until they are freed. */
#ifndef SPECLAB_FIGURE_DATA_H
#define SPECLAB_FIGURE_DATA_H

#include "cli/figures/word_list.h"
#include "experiments/measures/measure.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *name;
    bool is_text;     /* a cell is a text, so that all values are level numbers */
    double *value;    /* (n_rows) NaN: empty, or not a number within 1e100 */
    bool is_constant; /* every row has the same value */
    int n_levels;     /* different values: numbers ascending, texts in order of appearance */
    char **level;     /* (n_levels) as printed, or SPEC_FIGURE_LEVELS_MAX of them */
    double *level_value;
} spec_figure_column;

/* Maximum number of distinct levels: a column with more has n_levels = this + 1, and no names. */
enum { SPEC_FIGURE_LEVELS_MAX = 1000 };

typedef struct {
    char *path;
    spec_table table;
    size_t *row, n_rows;         /* the drawn rows */
    spec_figure_column *columns; /* (table.n_columns) value is NULL until it is requested */
} spec_figure_data;

/* Reads a result of speclab, or CSV or JSON of another program. `where` has conditions
 * COLUMN=VALUE[,VALUE...]; two conditions on one column allow the values of both. A row is drawn if
 * every column with a condition has an allowed value. Returns GSL_EINVAL if no row is left. */
int spec_figure_data_load(spec_figure_data *data, const char *path, const spec_word_list *where,
                          spec_error *error);
void spec_figure_data_free(spec_figure_data *data);

/* Finds a column by its name. Returns GSL_EINVAL with the nearest name, or with all names. */
int spec_figure_data_column(const spec_figure_column **ret_column, spec_figure_data *data,
                            const char *name, spec_error *error);
bool spec_figure_data_has(const spec_figure_data *data, const char *name);

/* Returns the measure that the provenance names, or NULL. */
const spec_measure *spec_figure_data_measure(const spec_figure_data *data);

/* Returns the level number of a row's value, from 0; -1 for an empty value. */
int spec_figure_column_level(const spec_figure_column *column, size_t row);

#endif
