/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/time_comment.h"

#include <math.h>
#include <string.h>

static const double SECONDS_MOST = 1e11; /* more must be milliseconds; seconds reach this in 5138 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Reads digits, with more after a point; NaN for other words. */
static double seconds_of(const char *word, const char *end)
{
    double value = 0.0, unit = 1.0;
    const char *at = word;
    for (; at < end && is_digit(*at); at++) value = 10.0 * value + (*at - '0');
    if (at == word) return NAN;
    if (at + 1 < end && *at == '.' && is_digit(at[1])) {
        for (at++; at < end && is_digit(*at); at++)
            if (unit < 1e9) unit *= 10.0, value = 10.0 * value + (*at - '0');
    }
    value /= unit;
    return at == end && value > 0.0 && value < SECONDS_MOST ? value : NAN;
}

bool spec_time_comment(double *ret_seconds, const char *bytes, size_t n)
{
    static const char begin[] = "# time ";
    const size_t length = sizeof begin - 1;
    if (n <= length || memcmp(bytes, begin, length) != 0) return false;
    const char *word = bytes + length, *end = bytes + n;
    while (word < end && is_blank(*word)) word++;
    while (word < end && is_blank(end[-1])) end--;
    if (word == end || !(is_digit(*word) || strchr("+-.", *word) != NULL)) return false;
    for (const char *at = word; at < end; at++)
        if (is_blank(*at)) return false;
    *ret_seconds = seconds_of(word, end);
    return true;
}
