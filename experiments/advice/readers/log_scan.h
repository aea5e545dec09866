/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_scan: a position in a line of a log, and the words and numbers that follow it.
 * Numbers are decimal with a point, in any locale, without a sign; what else is there fails as
 * "file:line: accept len: expected ..., not '...'". Borrows the record. */
#ifndef SPECLAB_LOG_SCAN_H
#define SPECLAB_LOG_SCAN_H

#include "experiments/advice/log_format.h"

typedef struct {
    const char *at, *end; /* end points to the record's zero byte */
    const spec_log_record *record;
} spec_log_scan;

spec_log_scan spec_log_scan_of(const spec_log_record *record);

/* Move behind the next place of `needle`. False, and the position stays, if there is none. */
bool spec_log_scan_find(spec_log_scan *scan, const char *needle);

/* Move behind blanks and tabs. */
void spec_log_scan_blanks(spec_log_scan *scan);

/* Move behind blanks and `word`. False, and the position stays, if something else follows. */
bool spec_log_scan_word(spec_log_scan *scan, const char *word);

/* The same, and GSL_EINVAL where `name` is the quantity for the message. */
int spec_log_scan_expect(spec_log_scan *scan, const char *word, const char *name,
                         spec_error *error);

/* The whole number behind blanks, at most 2^53. */
int spec_log_scan_count(double *ret, spec_log_scan *scan, const char *name, spec_error *error);

/* The number behind blanks, below 1e15, and the number of its decimals (at most 15). */
int spec_log_scan_real(double *ret, int *opt_decimals, spec_log_scan *scan, const char *name,
                       spec_error *error);

/* A decimal digit, in any locale. */
static inline bool spec_log_scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool spec_log_scan_is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Half a unit of the last of `decimals` digits: the rounding error of a printed number. */
double spec_log_scan_half_unit(int decimals);

/* Does a number printed with these decimals differ from its value by more than the rounding, and
 * 1e-9 for the arithmetic? False if either is NaN. */
bool spec_log_scan_differs(double printed, int decimals, double value);

#endif
