/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timestamp: a point in time, as a number or as a date of ISO 8601.
 * Dates are in UTC unless they have an offset. Differences keep digits that an absolute time in one
 * double would lose. */
#ifndef SPECLAB_TIMESTAMP_H
#define SPECLAB_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t seconds; /* for a date, since 1970; 0 for a number */
    double rest;     /* for a date, the fraction, in [0, 1) s; else the number itself */
    bool date;
} spec_timestamp;

/* Reads "2023-11-16 18:17:03.9799600", also with 'T' between day and time, without a fraction, or
 * with "Z" or "+00:00" at the end; or a finite number, in any unit. Returns false and zeroes *ret
 * for anything else, such as days that do not exist and years before 1970 or after 9999. */
bool spec_timestamp_parse(spec_timestamp *ret, const char *text);

/* Returns to - from: in seconds for dates, else the difference of the numbers. */
double spec_timestamp_difference(const spec_timestamp *from, const spec_timestamp *to);

#endif
