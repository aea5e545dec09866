/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_fields: reads the numbers of a line of a log, with a table of the words around them.
 * Fields may come in any order, and the words of several versions may give the same number.
 * Malformed lines fail with spec_log_bad: a number has the wrong form, a field is missing, or a
 * field occurs twice with different numbers. */
#ifndef SPECLAB_LOG_FIELDS_H
#define SPECLAB_LOG_FIELDS_H

#include "experiments/advice/readers/log_scan.h"

typedef enum {
    SPEC_LOG_COUNT = 1, /* a whole number */
    SPEC_LOG_REAL,      /* a number */
    SPEC_LOG_MEAN,      /* a number; nan, -nan and None mean that there is none */
    SPEC_LOG_RATES,  /* "0.805, 0.632": at most 1, with equally many decimals, never rising; or
                      * nan */
    SPEC_LOG_COUNTS, /* "4, 0, 2, 22" */
} spec_log_field_kind;

typedef struct {
    const char *before; /* the words before the number; NULL: it follows the field above */
    const char *behind; /* the words after it; NULL: any */
    spec_log_field_kind kind;
    bool needed; /* if this field is missing, the line is cut off */
    int slot;    /* slot for its value; any for lists */
} spec_log_field;

typedef struct {
    const char *name;            /* name of the line, for messages */
    const char *between;         /* text between two fields; any other text ends them; NULL: any
                                  * text */
    const spec_log_field *field; /* ends with kind 0 */
} spec_log_line;

enum { SPEC_LOG_SLOTS = 12 };

typedef struct {
    unsigned seen;                /* bit per slot */
    double value[SPEC_LOG_SLOTS]; /* NaN: not printed, or nan */
    int decimals[SPEC_LOG_SLOTS];
    const spec_log_field *by[SPEC_LOG_SLOTS], *list_by; /* the fields that gave the values */
    int n; /* length of the list */
    double list[SPEC_OBSERVED_DEPTHS];
    int list_decimals;
} spec_log_numbers;

/* Reads the numbers from here to the end of the scan, which moves past the last field. */
int spec_log_fields_read(spec_log_numbers *ret, const spec_log_line *line, spec_log_scan *scan,
                         spec_error *error);

static inline bool spec_log_numbers_has(const spec_log_numbers *numbers, int slot)
{
    return (numbers->seen >> slot & 1) != 0;
}

#endif
