/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/timestamp.h"

#include "base/settings.h"

#include <ctype.h>
#include <string.h>

/* Reads `digits` digits at *text as a number of low..high, and moves past them. */
static bool read_digits(int *ret, const char **text, int digits, int low, int high)
{
    *ret = 0;
    for (int i = 0; i < digits; i++, (*text)++) {
        if (!isdigit((unsigned char)**text)) return false;
        *ret = 10 * *ret + (**text - '0');
    }
    return *ret >= low && *ret <= high;
}

static bool read_character(const char **text, const char *one_of)
{
    if (**text == '\0' || strchr(one_of, **text) == NULL) return false;
    (*text)++;
    return true;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Returns the days from 1970 to the beginning of a year. */
static int64_t days_before(int year)
{
    const int64_t y = year - 1;
    return 365 * (int64_t)(year - 1970) + (y / 4 - 1969 / 4) - (y / 100 - 1969 / 100) +
           (y / 400 - 1969 / 400);
}

static bool read_day(int64_t *ret_days, const char **text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (!read_digits(&year, text, 4, 1970, 9999) || !read_character(text, "-") ||
        !read_digits(&month, text, 2, 1, 12) || !read_character(text, "-"))
        return false;
    const int longest = days[month - 1] + (month == 2 && is_leap(year));
    if (!read_digits(&day, text, 2, 1, longest)) return false;
    *ret_days = days_before(year) + day - 1 + (month > 2 && is_leap(year));
    for (int m = 1; m < month; m++) *ret_days += days[m - 1];
    return true;
}

static bool read_fraction(double *ret, const char **text)
{
    double digits = 0.0, scale = 1.0;
    *ret = 0.0;
    if (!read_character(text, ".")) return true;
    if (!isdigit((unsigned char)**text)) return false;
    for (int n = 0; isdigit((unsigned char)**text); (*text)++, n++) {
        if (n >= 15) continue; /* beyond the precision of a double */
        digits = 10.0 * digits + (**text - '0');
        scale *= 10.0;
    }
    *ret = digits / scale;
    return true;
}

/* Reads how many seconds the local time is ahead of UTC. */
static bool read_offset(int *ret, const char **text)
{
    int hours, minutes;
    *ret = 0;
    if (**text == '\0' || read_character(text, "Z")) return true;
    const int sign = **text == '-' ? -1 : 1;
    if (!read_character(text, "+-") || !read_digits(&hours, text, 2, 0, 23)) return false;
    read_character(text, ":");
    if (!read_digits(&minutes, text, 2, 0, 59)) return false;
    *ret = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_date(spec_timestamp *ret, const char *text)
{
    int64_t days;
    int hours, minutes, seconds, offset;
    if (!read_day(&days, &text) || !read_character(&text, " T") ||
        !read_digits(&hours, &text, 2, 0, 23) || !read_character(&text, ":") ||
        !read_digits(&minutes, &text, 2, 0, 59) || !read_character(&text, ":") ||
        !read_digits(&seconds, &text, 2, 0, 60) || !read_fraction(&ret->rest, &text) ||
        !read_offset(&offset, &text) || *text != '\0')
        return false;
    ret->seconds = days * 86400 + hours * 3600 + minutes * 60 + seconds - offset;
    ret->date = true;
    return true;
}

bool spec_timestamp_parse(spec_timestamp *ret, const char *text)
{
    *ret = (spec_timestamp){0};
    if (read_date(ret, text)) return true;
    *ret = (spec_timestamp){0};
    return spec_settings_parse_double(&ret->rest, text);
}

double spec_timestamp_difference(const spec_timestamp *from, const spec_timestamp *to)
{
    return (double)(to->seconds - from->seconds) + (to->rest - from->rest);
}
