/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/support.h"

#include <string.h>

TEST(a_fault_names_file_line_and_reason)
{
    char name[400], expected[600];
    spec_error error = {""};
    const spec_log_record record = {.file = "server.log", .line = UINT64_MAX};
    assert_fails(spec_log_bad(&record, &error, "has %d rates, not %s", 3, "5"), GSL_EINVAL,
                 "server.log:18446744073709551615: has 3 rates, not 5");
    assert_int_equal(spec_log_bad(&record, NULL, "has no rates"), GSL_EINVAL);
    /* A long name leaves room for the line and the reason. */
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const spec_log_record far = {.file = name, .line = 7};
    assert_int_equal(spec_log_bad(&far, &error, "%0300d", 0), GSL_EINVAL);
    snprintf(expected, sizeof expected, "%.150s:7: %0300d", name, 0);
    assert_string_equal(error.text, expected);
}

TEST(words_are_found_in_bytes_without_an_end)
{
    static const char bytes[] = "accept len: 2.54, accept rate: 0.11";
    assert_ptr_equal(spec_log_find(bytes, sizeof bytes - 1, "accept"), bytes);
    assert_ptr_equal(spec_log_find(bytes, sizeof bytes - 1, "rate: 0.11"), bytes + 25);
    assert_null(spec_log_find(bytes, sizeof bytes - 2, "rate: 0.11"));
    assert_null(spec_log_find(bytes, 5, "accept"));
    assert_null(spec_log_find(bytes, 0, "accept"));
}

/* The published values of FNV-1a with 64 bits. */
TEST(a_label_is_the_hash_of_its_bytes)
{
    assert_true(spec_log_label("", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(spec_log_label("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(spec_log_label("foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(spec_log_label("foobarbaz", 6) == UINT64_C(0x85944171f73967e8));
    /* The hash of these bytes is 0, which would mean that there is no label. */
    assert_true(spec_log_label("\xd5\x6b\xb9\x53\x42\x87\x08\x36", 8) == 1);
}
