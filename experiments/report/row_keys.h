/* SPDX-License-Identifier: GPL-3.0-or-later */
/* row_keys: the columns that identify the rows of a result, and series of rows along one of them.
 * A column with the same value in every row is not a key, nor is a label that follows from other
 * keys. A value built from shown axes is printed before its references are expanded:
 * "ngram:{text}". The table and the experiment must outlive the keys. */
#ifndef SPECLAB_ROW_KEYS_H
#define SPECLAB_ROW_KEYS_H

#include "experiments/experiment.h"

enum { SPEC_ROW_KEYS_MAX = SPEC_AXES_MAX + 16 };

typedef struct {
    const spec_table *table;
    /* (n_columns) NULL, or (n_rows): the values before references were expanded */
    const char ***origin;
    int n;
    int column[SPEC_ROW_KEYS_MAX]; /* in the table, in its order */
    int n_names;
    int name[SPEC_ROW_KEYS_MAX]; /* the fewest leading columns that identify every row, including
                                  * labels */
} spec_row_keys;

/* Finds the keys. Returns GSL_ENOMEM. */
int spec_row_keys_init(spec_row_keys *keys, const spec_experiment *experiment,
                       const spec_table *table);
void spec_row_keys_free(spec_row_keys *keys); /* a zeroed one is allowed */

/* Returns the text of a row in a column; NULL for another kind of value. */
const char *spec_row_keys_text(const spec_row_keys *keys, size_t row, int column);

/* Writes a value of a row in Markdown: a number, or a text in backticks, as the user typed it. */
void spec_row_keys_write_value(FILE *out, const spec_row_keys *keys, size_t row, int column);

/* Writes the name of a row: "alpha = 0.8, rule = `block`". Returns the number of columns
 * written. */
int spec_row_keys_write_row(FILE *out, const spec_row_keys *keys, size_t row);

/* Writes the name of a series: the keys of the row without `axis`. */
int spec_row_keys_write_series(FILE *out, const spec_row_keys *keys, size_t row, int axis);

/* Returns whether every value of this column is a number. */
bool spec_row_keys_is_numeric(const spec_row_keys *keys, int column);

/* Returns all rows (n_rows of the table), sorted by the other keys and then by `axis`, a key or -1.
 * Rows of the same series are neighbours. The caller frees it; NULL if memory runs out. */
size_t *spec_row_keys_series(const spec_row_keys *keys, int axis);

/* Returns whether two rows belong to the same series, with equal keys except `axis`. */
bool spec_row_keys_same_series(const spec_row_keys *keys, size_t row, size_t other, int axis);

#endif
