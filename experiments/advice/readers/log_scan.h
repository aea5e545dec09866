/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_scan: a position in a line of a log, and the words and numbers that follow it.
 * Numbers are decimal with a point, in any locale, without a sign; anything else fails as
 * "file:line: accept len: expected ..., not '...'". Borrows the record. */
#ifndef SPECLAB_LOG_SCAN_H
#define SPECLAB_LOG_SCAN_H

#include "experiments/advice/log_format.h"

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

/* Returns half a unit of the last decimal: the largest rounding error of a number printed with so
 * many decimals. */
double spec_log_scan_half_unit(int decimals);

/* Returns whether a number printed with these decimals differs from its value by more than rounding
 * explains, with 1e-9 for arithmetic. False if either is NaN. */
bool spec_log_scan_differs(double printed, int decimals, double value);

#endif
