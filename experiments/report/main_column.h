/* SPDX-License-Identifier: GPL-3.0-or-later */
/* main_column: a main column of a measure in a result, with its standard errors.
 * Main columns are the headlines of experiments/measures/measure.h. Borrows the keys and their
 * table. */
#ifndef SPECLAB_MAIN_COLUMN_H
#define SPECLAB_MAIN_COLUMN_H

#include "experiments/report/row_keys.h"

typedef struct {
    const spec_row_keys *keys;
    const spec_headline *headline;
    const char *name; /* name of the column */
    int column, se;   /* indices in the table; se < 0: no standard errors */
    bool exact;
} spec_main_column;

/* Finds a column; returns false if the result does not show it. */
bool spec_main_column_find(spec_main_column *ret, const spec_row_keys *keys,
                           const spec_headline *headline);

/* Finds the column by which rows are compared: the column itself if it is exact or has standard
 * errors, else its exact theory. Returns false if there is neither. */
bool spec_main_column_comparable(spec_main_column *ret, const spec_main_column *measured);

/* Return a value, NaN for an empty cell, and its standard error, 0 if there is none. */
double spec_main_column_value(const spec_main_column *measured, size_t row);
double spec_main_column_se(const spec_main_column *measured, size_t row);

/* Writes "4.8653 ± 0.0061", with two digits of the standard error. A number without one has four
 * digits, and is 0 if it does not differ from 0 (experiments/report/trend.h). */
void spec_main_column_write(FILE *out, const spec_main_column *measured, size_t row);

#endif
