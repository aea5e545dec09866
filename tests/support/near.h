/* SPDX-License-Identifier: GPL-3.0-or-later */
/* near: cmocka assertions for real numbers, which print both values.
 * NaN and infinities are values, equal to themselves and to nothing else. */
#ifndef SPECLAB_TESTS_NEAR_H
#define SPECLAB_TESTS_NEAR_H

#include "tests/support/support.h"

#include <math.h>

static inline void near_check(double actual, double expected, double tolerance, const char *text,
                              const char *file, int line)
{
    int same = actual == expected || (isnan(actual) && isnan(expected));
    if (same || fabs(actual - expected) <= tolerance) return;
    print_error("%s: %.17g, not %.17g (off by %.3g, allowed %.3g)\n", text, actual, expected,
                actual - expected, tolerance);
    _fail(file, line);
}

/* With a relative tolerance, an absolute one, and none. */
#define assert_near(actual, expected, relative)                                                    \
    near_check((actual), (expected), (relative)*fabs(expected), #actual, __FILE__, __LINE__)
#define assert_within(actual, expected, absolute)                                                  \
    near_check((actual), (expected), (absolute), #actual, __FILE__, __LINE__)
#define assert_same(actual, expected)                                                              \
    near_check((actual), (expected), 0.0, #actual, __FILE__, __LINE__)
#define assert_nan(actual) near_check((actual), NAN, 0.0, #actual, __FILE__, __LINE__)

/* Asserts that printf with that many digits after the point prints `text` for `actual`. */
#define assert_prints(actual, digits, text)                                                        \
    do {                                                                                           \
        char printed_[64];                                                                         \
        snprintf(printed_, sizeof printed_, "%.*f", (digits), (actual));                           \
        assert_string_equal(printed_, (text));                                                     \
    } while (0)

#endif
