/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/settings.h"

#include "tests/support/support.h"

#include <string.h>

static void assert_not_split(const char *text, const char *expected)
{
    OWNED(spec_settings) settings;
    assert_fails_with(spec_settings_init(&settings, text, &error), GSL_EINVAL, expected);
    assert_null(settings.text);
    assert_int_equal(settings.n, 0);
}

TEST(a_spec_splits_into_name_path_and_pairs)
{
    spec_settings settings;
    assert_int_equal(
        spec_settings_init(&settings, "ngram:a:b/c.txt?order=4&tokens=x=y&empty=", NULL),
        GSL_SUCCESS);
    assert_string_equal(settings.text, "ngram:a:b/c.txt?order=4&tokens=x=y&empty=");
    assert_string_equal(settings.name, "ngram");
    assert_string_equal(settings.path, "a:b/c.txt");
    assert_int_equal(settings.n, 3);
    assert_string_equal(settings.key[0], "order");
    assert_string_equal(settings.value[0], "4");
    assert_string_equal(settings.value[1], "x=y");
    assert_string_equal(spec_settings_text(&settings, "empty"), "");
    assert_null(spec_settings_text(&settings, "Order"));
    spec_settings_free(&settings);
    spec_settings_free(&settings);
}

TEST(a_bare_name_has_no_path_and_no_keys)
{
    const char *const specs[] = {"token", "token:", "token?of=a:b", NULL};
    for (int i = 0; specs[i] != NULL; i++) {
        OWNED(spec_settings) settings;
        assert_int_equal(spec_settings_init(&settings, specs[i], NULL), GSL_SUCCESS);
        assert_string_equal(settings.name, "token");
        assert_string_equal(settings.path, "");
        assert_int_equal(settings.n, i == 2);
    }
}

TEST(malformed_specs_are_refused_in_one_line)
{
    assert_not_split("", "empty");
    assert_not_split(":path", "no name");
    assert_not_split("?V=3", "no name");
    assert_not_split("a?", "key=value");
    assert_not_split("a?V", "'V' is not");
    assert_not_split("a?=3", "key=value");
    assert_not_split("a?V=3&", "key=value");
    assert_not_split("a?V=3&s=1&V=3", "'V' is given twice");
    assert_not_split("a\n", "byte 2 is 0x0a");
    assert_not_split("a\x7f", "control");

    char many[8 * (SPEC_SETTINGS_MAX + 1) + 4] = "a?", *end = many + 2;
    for (int i = 0; i < SPEC_SETTINGS_MAX; i++) end += sprintf(end, "%sk%d=1", i > 0 ? "&" : "", i);
    spec_settings settings;
    assert_int_equal(spec_settings_init(&settings, many, NULL), GSL_SUCCESS);
    assert_int_equal(settings.n, SPEC_SETTINGS_MAX);
    spec_settings_free(&settings);
    strcpy(end, "&k=1");
    assert_not_split(many, "more than 32 keys");

    FREED char *lengthy = malloc(65538);
    memset(lengthy, 'a', 65537);
    lengthy[65537] = '\0';
    assert_not_split(lengthy, "65536");
    lengthy[65536] = '\0';
    assert_int_equal(spec_settings_init(&settings, lengthy, NULL), GSL_SUCCESS);
    spec_settings_free(&settings);
}

TEST(numbers_are_decimal_and_whole)
{
    double d;
    assert_true(spec_settings_parse_double(&d, "2.385") && d == 2.385);
    assert_true(spec_settings_parse_double(&d, "-1e-3") && d == -1e-3);
    assert_true(spec_settings_parse_double(&d, "1e-400") && d == 0.0);
    const char *const not_doubles[] = {"",      " 1",    "1 ",  "0x10", "inf", "nan", "-inf",
                                       "1e999", "1.2.3", "1,2", "--1",  "e5",  ".",   NULL};
    for (int i = 0; not_doubles[i] != NULL; i++) {
        d = 7.0;
        assert_false(spec_settings_parse_double(&d, not_doubles[i]));
        assert_true(d == 0.0);
    }
    int n;
    assert_true(spec_settings_parse_int(&n, "-2147483648") && n == INT32_MIN);
    assert_true(spec_settings_parse_int(&n, "2147483647") && n == INT32_MAX);
    const char *const not_ints[] = {"",    "2147483648", "-2147483649", "99999999999999999999",
                                    "1.0", "1e3",        " 1",          "+-1",
                                    "0x1", NULL};
    for (int i = 0; not_ints[i] != NULL; i++)
        assert_false(spec_settings_parse_int(&n, not_ints[i]));
    size_t at = 0;
    assert_int_equal(spec_settings_list_int(&n, &at, "skip", "3.27", 0, 27, NULL), GSL_SUCCESS);
    assert_true(n == 3 && at == 2);
    assert_int_equal(spec_settings_list_int(&n, &at, "skip", "3.27", 0, 27, NULL), GSL_SUCCESS);
    assert_true(n == 27 && at == 5);
    const char *const not_lists[] = {
        "", ".3", "28", "-1", "3,4", "1e1", "3x.4", "00000000000000000001", NULL};
    for (int i = 0; not_lists[i] != NULL; i++)
        assert_int_equal(
            spec_settings_list_int(&n, &(size_t){0}, "skip", not_lists[i], 0, 27, NULL),
            GSL_EINVAL);
    double share;
    at = 0;
    assert_int_equal(spec_settings_list_double(&share, &at, "of", "0.27/1", 0.0, 1.0, NULL),
                     GSL_SUCCESS);
    assert_true(share == 0.27 && at == 5);
    assert_int_equal(spec_settings_list_double(&share, &at, "of", "0.27/1", 0.0, 1.0, NULL),
                     GSL_SUCCESS);
    assert_true(share == 1.0 && at == 7);
    const char *const not_shares[] = {
        "",  "/0.5", "1.1", "-0.1", "0.5,0.2", "0.5x/1", "nan", "0.0000000000000000000000000000001",
        NULL};
    for (int i = 0; not_shares[i] != NULL; i++)
        assert_int_equal(
            spec_settings_list_double(&share, &(size_t){0}, "of", not_shares[i], 0.0, 1.0, NULL),
            GSL_EINVAL);
    uint64_t u;
    assert_true(spec_settings_parse_u64(&u, "18446744073709551615") && u == UINT64_MAX);
    const char *const not_u64[] = {"", "18446744073709551616", "-1", "+1", "1 ", NULL};
    for (int i = 0; not_u64[i] != NULL; i++) assert_false(spec_settings_parse_u64(&u, not_u64[i]));
}

TEST(values_are_read_and_checked)
{
    static const char *const choices[] = {"bytes", "words", "chars", NULL};
    OWNED(spec_settings) settings;
    double d;
    int n;
    uint64_t u;
    assert_int_equal(spec_settings_init(&settings, "m?d=0.27&n=4&u=9&c=words&bad=x", NULL),
                     GSL_SUCCESS);
    assert_works(spec_settings_double(&d, &settings, "d", 1.0, 0.0, 0.27, &error));
    assert_true(d == 0.27);
    assert_fails(spec_settings_double(&d, &settings, "d", 1.0, 0.0, 0.26, &error), GSL_EDOM,
                 "m: d=0.27 is not between 0 and 0.26");
    assert_true(d == 0.0);
    assert_works(spec_settings_double(&d, &settings, "absent", -5.0, 0.0, 1.0, &error));
    assert_true(d == -5.0);
    assert_works(spec_settings_int(&n, &settings, "n", 1, 4, 4, &error));
    assert_int_equal(n, 4);
    assert_status(spec_settings_int(&n, &settings, "n", 1, 5, 9, &error), GSL_EINVAL);
    assert_fails(spec_settings_int(&n, &settings, "n", 1, 1, 3, &error), GSL_EINVAL,
                 "m: n=4 is not a whole number between 1 and 3");
    assert_works(spec_settings_u64(&u, &settings, "u", 1, &error));
    assert_true(u == 9);
    assert_works(spec_settings_u64(&u, &settings, "absent", 11, &error));
    assert_true(u == 11);
    assert_works(spec_settings_choice(&n, &settings, "c", 0, choices, &error));
    assert_int_equal(n, 1);
    assert_works(spec_settings_choice(&n, &settings, "absent", 2, choices, &error));
    assert_int_equal(n, 2);
    assert_fails(spec_settings_choice(&n, &settings, "bad", 0, choices, &error), GSL_EINVAL,
                 "m: bad=x is not one of bytes, words or chars");
    assert_status(spec_settings_u64(&u, &settings, "bad", 1, &error), GSL_EINVAL);
    assert_status(spec_settings_double(&d, &settings, "bad", 1.0, 0.0, 1.0, &error), GSL_EINVAL);
}

static void checked(const char *spec, const char *usage, const char *opt_more, const char *line)
{
    OWNED(spec_settings) settings;
    spec_error error = {""};
    assert_int_equal(spec_settings_init(&settings, spec, NULL), GSL_SUCCESS);
    const int status = spec_settings_check(&settings, usage, opt_more, &error);
    assert_string_equal(error.text, line);
    assert_int_equal(status, line[0] == '\0' ? GSL_SUCCESS : GSL_EINVAL);
}

TEST(a_usage_line_says_which_keys_there_are)
{
    checked("m?one=1&two=2", "m?two=5&one=4", NULL, "");
    checked("m?one=1&two=2", "m?one=4", "two", "");
    checked("m?two=2", "m", "one,two", "");
    checked("m", "m", NULL, "");
    checked("m?one=1&two=2", "m?one=4", "twofold", "m has no key 'two'; its keys are one,twofold");
    checked("m?noe=1", "m?of=x&one=4", NULL, "m has no key 'noe'; did you mean 'one'?");
    checked("m?tow=1", "m?one=4", "to_be,two", "m has no key 'tow'; did you mean 'two'?");
    checked("m?one=1", "m", NULL, "m has no key 'one'");
    checked("m?on=1", "m?one=1", NULL,
            "m has no key 'on'; did you mean 'one'?"); /* a prefix is not the key */
    checked("m?b=1", "m?a=1\twhere b=2", NULL,
            "m has no key 'b'; its keys are a"); /* text after a tab is ignored */
}

TEST(a_usage_line_says_whether_there_is_a_path)
{
    checked("m:file?one=1", "m:PATH?one=2", NULL, "");
    checked("m:file", "m:PATH", NULL, "");
    checked("m:file", "m[:PATH]?one=2", NULL, "");
    checked("m?one=1", "m[:PATH]?one=2", NULL, "");
    checked("m?one=1", "m:PATH?one=2", NULL, "m needs something after a ':', as in m:PATH?one=2");
    checked("m:file?one=1", "m?one=2\tprose", NULL,
            "m takes no ':file'; its keys follow a '?', as in m?one=2");
    checked("m:file", "m?of=a:b", NULL,
            "m takes no ':file'; its keys follow a '?', as in m?of=a:b");
}
