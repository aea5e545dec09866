/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/quantity.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

TEST(units_scale_to_base_units)
{
    static const struct {
        const char *text;
        spec_quantity_kind kind;
        double value;
    } known[] = {{"7.1ms", SPEC_QUANTITY_TIME, 0.0071},
                 {"21us", SPEC_QUANTITY_TIME, 21e-6},
                 {"39ns", SPEC_QUANTITY_TIME, 39e-9},
                 {"0.25s", SPEC_QUANTITY_TIME, 0.25},
                 {"1.5min", SPEC_QUANTITY_TIME, 90.0},
                 {"2h", SPEC_QUANTITY_TIME, 7200.0},
                 {"3e-3s", SPEC_QUANTITY_TIME, 3e-3},
                 {"0", SPEC_QUANTITY_TIME, 0.0},
                 {"3e-3ms", SPEC_QUANTITY_TIME, 3e-6},
                 {"-2ms", SPEC_QUANTITY_TIME, -2e-3},
                 {"80GB", SPEC_QUANTITY_BYTES, 80e9},
                 {"128KiB", SPEC_QUANTITY_BYTES, 131072.0},
                 {"3GiB", SPEC_QUANTITY_BYTES, 3221225472.0},
                 {"2.039TB/s", SPEC_QUANTITY_BANDWIDTH, 2.039e12},
                 {"989TFLOPS", SPEC_QUANTITY_FLOPS, 989e12},
                 {"8.03B", SPEC_QUANTITY_COUNT, 8.03e9},
                 {"40", SPEC_QUANTITY_RATE, 40.0},
                 {"90/min", SPEC_QUANTITY_RATE, 1.5}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double value;
        assert_true(spec_quantity_parse(&value, known[i].text, known[i].kind));
        assert_near(value, known[i].value, 2e-16);
    }
}

TEST(anything_else_is_refused)
{
    static const char *const bad[] = {
        "",       "ms", "7.1 ms", "7.1MS", "7.1msx", "inf",     "nan",  "0x1ms", "7,1ms", "1e400",
        "1e308h", "e",  "7.1GB",  " 7ms",  "7ms ",   "1e5.2ms", "--1s", "7.1",   "500"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value = 7.0;
        if (spec_quantity_parse(&value, bad[i], SPEC_QUANTITY_TIME)) fail_msg("'%s'", bad[i]);
        assert_same(value, 0.0);
    }
    char digits[100];
    double value;
    memset(digits, '1', 80);
    digits[80] = '\0';
    assert_false(spec_quantity_parse(&value, digits, SPEC_QUANTITY_TIME));
}

TEST(settings_name_key_and_units)
{
    static const double range[2] = {0.0, 10.0};
    OWNED(spec_settings) settings;
    double value;
    assert_works(spec_settings_init(&settings, "affine?a=3ms&b=3foo&c=11s", &error));
    assert_works(
        spec_quantity_setting(&value, &settings, "a", 1.0, SPEC_QUANTITY_TIME, range, &error));
    assert_same(value, 3e-3);
    assert_works(
        spec_quantity_setting(&value, &settings, "x", 1.0, SPEC_QUANTITY_TIME, range, &error));
    assert_same(value, 1.0);
    assert_fails(
        spec_quantity_setting(&value, &settings, "b", 1.0, SPEC_QUANTITY_TIME, range, &error),
        GSL_EINVAL,
        "affine: b=3foo is not a time with its unit, as in 7.1ms: s, ms, us, ns, min, h");
    assert_fails(
        spec_quantity_setting(&value, &settings, "c", 1.0, SPEC_QUANTITY_TIME, range, &error),
        GSL_EDOM, "affine: c=11s is not between 0 and 10");
    assert_same(value, 0.0);
}
