/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/log_stamp.h"

#include <math.h>
#include <stdbool.h>

enum { SHORTEST = 14 }; /* bytes of "05-01 14:24:50" */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the number with two digits, or -1 if there is none or it exceeds `most`. */
static int two(const char *at, int most)
{
    if (!is_digit(at[0]) || !is_digit(at[1])) return -1;
    const int value = 10 * (at[0] - '0') + (at[1] - '0');
    return value <= most ? value : -1;
}

/* Returns the fraction of a second after a point or a comma. */
static double fraction(const char *at, const char *end)
{
    double unit = 1.0, sum = 0.0;
    if (at == end || (*at != '.' && *at != ',')) return 0.0;
    for (at++; at < end && is_digit(*at) && unit > 1e-6; at++) {
        unit /= 10.0;
        sum += unit * (*at - '0');
    }
    return sum;
}

double spec_log_stamp(const char *bytes, size_t n)
{
    static const int before[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
    if (n < SHORTEST) return NAN;
    for (size_t i = n - SHORTEST + 1; i-- > 0;) {
        const char *at = bytes + i;
        if (at[2] != '-' || at[8] != ':' || at[11] != ':' || (at[5] != ' ' && at[5] != 'T'))
            continue;
        const int month = two(at, 12), day = two(at + 3, 31), hour = two(at + 6, 23);
        const int minute = two(at + 9, 59), second = two(at + 12, 60);
        if (month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0) continue;
        return 86400.0 * (before[month - 1] + day - 1) + 3600.0 * hour + 60.0 * minute + second +
               fraction(at + SHORTEST, bytes + n);
    }
    return NAN;
}
