/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_fields: the numbers of a line of a log, one by one or with a table of the words around them.
 * Numbers are decimal with a point, in any locale, without a sign; anything else fails with
 * spec_log_bad, as "file:line: accept len: expected ..., not '...'". */
#ifndef SPECLAB_LOG_FIELDS_H
#define SPECLAB_LOG_FIELDS_H

#include "tools/advise/log_format.h"

/* A position in a line. Borrows the record. */
typedef struct {
    const char *at, *end; /* end points to the record's zero byte */
    const spec_log_record *record;
} spec_log_scan;

spec_log_scan spec_log_scan_of(const spec_log_record *record);

/* Moves past the next occurrence of `needle`. If there is none, returns false and stays. */
bool spec_log_scan_find(spec_log_scan *scan, const char *needle);

/* Moves past blanks and tabs. */
void spec_log_scan_blanks(spec_log_scan *scan);

/* Moves past blanks and `word`. If something else follows, returns false and stays. */
bool spec_log_scan_word(spec_log_scan *scan, const char *word);

/* Does the same, but returns GSL_EINVAL if something else follows; `name` is the quantity for the
 * message. */
int spec_log_scan_expect(spec_log_scan *scan, const char *word, const char *name,
                         spec_error *error);

/* Skips blanks and reads a whole number, at most 2^53. */
int spec_log_scan_count(double *ret, spec_log_scan *scan, const char *name, spec_error *error);

/* Skips blanks and reads a number below 1e15, with its number of decimals (at most 15). */
int spec_log_scan_real(double *ret, int *opt_decimals, spec_log_scan *scan, const char *name,
                       spec_error *error);

/* Returns whether c is a decimal digit, in any locale. */
static inline bool spec_log_scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool spec_log_scan_is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Returns half a unit of the last decimal: the largest rounding error of a number printed with this
 * many decimals. */
double spec_log_scan_half_unit(int decimals);

/* Returns whether a number printed with these decimals differs from its value by more than rounding
 * explains, with 1e-9 for arithmetic. False if either is NaN. */
bool spec_log_scan_differs(double printed, int decimals, double value);

/* Returns the last time stamp in these bytes, in seconds since the year began; NaN if there is
 * none. A stamp is MM-DD HH:MM:SS, or as in 2025-05-01T14:24:50.123. Years are ignored, so a
 * difference across New Year is negative, and every February has 29 days. */
double spec_log_stamp(const char *bytes, size_t n);

/* ---- Tables of fields ------------------------------------------------------------------------ */

typedef enum {
    SPEC_LOG_COUNT = 1, /* a whole number */
    SPEC_LOG_REAL,      /* a number */
    SPEC_LOG_MEAN,      /* a number; nan, -nan and None mean that there is none */
    /* "0.805, 0.632": at most 1, with equally many decimals, not increasing; or nan */
    SPEC_LOG_RATES,
} spec_log_field_kind;

typedef struct {
    const char *before; /* the words before the number; NULL: it follows the field above */
    const char *behind; /* the words after it; NULL: any */
    spec_log_field_kind kind;
    bool needed; /* if this field is missing, the line is cut off */
    int slot;    /* slot for its value; unused for lists */
} spec_log_field;

typedef struct {
    const char *name;            /* name of the line, for messages */
    /* text between two fields, where any other text ends the list of fields; NULL: any text */
    const char *between;
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

/* Reads the numbers from here to the end of the scan, which moves past the last field. Fields may
 * come in any order, and the words of several versions may give the same number. It is an error if
 * a number has the wrong form, a field is missing, or one occurs twice with different numbers. */
int spec_log_fields_read(spec_log_numbers *ret, const spec_log_line *line, spec_log_scan *scan,
                         spec_error *error);

static inline bool spec_log_numbers_has(const spec_log_numbers *numbers, int slot)
{
    return (numbers->seen >> slot & 1) != 0;
}

#endif
