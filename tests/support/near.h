/* near: cmocka assertions for real numbers.
 * They print both values, and treat NaN and infinities as values: equal to themselves and to nothing else. */
#ifndef SPECLAB_TESTS_NEAR_H
#define SPECLAB_TESTS_NEAR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

static inline void near_check(double actual, double expected, double tolerance, const char *text, const char *file,
                              int line)
{
    int same = actual == expected || (isnan(actual) && isnan(expected));
    if (same || fabs(actual - expected) <= tolerance) return;
    print_error("%s: %.17g, not %.17g (off by %.3g, allowed %.3g)\n", text, actual, expected, actual - expected,
                tolerance);
    _fail(file, line);
}

/* Relative, absolute, and no tolerance. */
#define assert_near(actual, expected, relative)                                                                        \
    near_check((actual), (expected), (relative) * fabs(expected), #actual, __FILE__, __LINE__)
#define assert_within(actual, expected, absolute)                                                                      \
    near_check((actual), (expected), (absolute), #actual, __FILE__, __LINE__)
#define assert_same(actual, expected) near_check((actual), (expected), 0.0, #actual, __FILE__, __LINE__)
#define assert_nan(actual) near_check((actual), NAN, 0.0, #actual, __FILE__, __LINE__)

/* What printf rounds `actual` to with that many digits after the point is the text. */
#define assert_prints(actual, digits, text)                                                                            \
    do {                                                                                                               \
        char printed_[64];                                                                                             \
        snprintf(printed_, sizeof printed_, "%.*f", (digits), (actual));                                               \
        assert_string_equal(printed_, (text));                                                                         \
    } while (0)

#endif
