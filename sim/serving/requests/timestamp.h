/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timestamp: a point in time, as a number or as a date of ISO 8601.
 * Dates are in UTC unless they have an offset. Differences keep the digits that the absolute time
 * in one double would lose. */
#ifndef SPECLAB_TIMESTAMP_H
#define SPECLAB_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t seconds; /* of a date, since 1970; 0 for a number */
    double rest;     /* of a date, in [0, 1) s; or the number */
    bool date;
} spec_timestamp;

/* Reads "2023-11-16 18:17:03.9799600", also with 'T' between day and time, without a fraction, and
 * with "Z" or "+00:00" behind it; or a finite number, in any unit. False, and zeros, for anything
 * else: days that do not exist and years before 1970 or after 9999. */
bool spec_timestamp_parse(spec_timestamp *ret, const char *text);

/* to - from: seconds of dates, or the difference of numbers. */
double spec_timestamp_difference(const spec_timestamp *from, const spec_timestamp *to);

#endif
