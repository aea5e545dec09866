/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text_lines.h"

#include "tests/support/support.h"

#include <string.h>

static FILE *file_of(const char *bytes, size_t n)
{
    FILE *file = fmemopen((void *)(uintptr_t)bytes, n, "r");
    assert_non_null(file);
    return file;
}

/* Whether the lines are those of `line`, NULL-terminated. */
static void reads(const char *bytes, size_t n, const char *const *line)
{
    FILE *file = file_of(bytes, n);
    spec_text_lines lines = spec_text_lines_of(file, "x", 1000);
    bool end;
    for (; *line != NULL; line++) {
        assert_int_equal(spec_text_lines_next(&lines, &end, NULL), GSL_SUCCESS);
        assert_false(end);
        assert_string_equal(lines.bytes, *line);
        assert_int_equal(lines.length, strlen(*line));
    }
    assert_int_equal(spec_text_lines_next(&lines, &end, NULL), GSL_SUCCESS);
    assert_true(end);
    spec_text_lines_free(&lines);
    fclose(file);
}

#define READS(text, ...) reads(text, sizeof(text) - 1, (const char *const[]){__VA_ARGS__, NULL})

TEST(lines_end_in_three_ways)
{
    READS("a\nbc\r\n\nd", "a", "bc", "", "d");
    READS("a\n", "a");
    READS("\n", "");
    READS("\xef\xbb\xbf"
          "a\n\xef\xbb\xbf"
          "b",
          "a",
          "\xef\xbb\xbf"
          "b");
    READS("a\rb", "a\rb");
}

TEST(data_lines_leave_out_blanks_and_comments)
{
    static const char text[] = "# a\n\n \t\r\nb\n#c\n #d\n";
    FILE *file = file_of(text, sizeof text - 1);
    spec_text_lines lines = spec_text_lines_of(file, "x", 1000);
    bool end;
    assert_int_equal(spec_text_lines_next_data(&lines, &end, NULL), GSL_SUCCESS);
    assert_string_equal(lines.bytes, "b");
    assert_int_equal(lines.number, 4);
    assert_int_equal(spec_text_lines_next_data(&lines, &end, NULL), GSL_SUCCESS);
    assert_string_equal(lines.bytes, " #d");
    assert_int_equal(spec_text_lines_next_data(&lines, &end, NULL), GSL_SUCCESS);
    assert_true(end);
    spec_text_lines_free(&lines);
    fclose(file);
}

static void fails(const char *bytes, size_t n, const char *text)
{
    FILE *file = file_of(bytes, n);
    spec_text_lines lines = spec_text_lines_of(file, "x.csv", 600);
    spec_error error = {""};
    bool end = false;
    int status = GSL_SUCCESS;
    while (status == GSL_SUCCESS && !end) status = spec_text_lines_next(&lines, &end, &error);
    assert_int_equal(status, GSL_EINVAL);
    assert_string_equal(error.text, text);
    spec_text_lines_free(&lines);
    fclose(file);
}

TEST(long_and_binary_lines_are_refused)
{
    char bytes[2000];
    memset(bytes, 'a', sizeof bytes);
    bytes[600] = '\n';
    fails(bytes, 1202, "x.csv:2: is longer than 600 bytes");
    fails("a\nb\0c", 5, "x.csv:2: has a NUL byte: it is not a text file");
    fails("\x1f\x8b\x08", 3, "x.csv:1: is compressed: decompress it first (gunzip)");
}

TEST(an_unreadable_file_is_an_error)
{
    FILE *file = fopen("/", "r");
    assert_non_null(file);
    spec_text_lines lines = spec_text_lines_of(file, "folder", 600);
    bool end;
    assert_fails(spec_text_lines_next(&lines, &end, &error), GSL_EFAILED, "folder: Is a directory");
    spec_text_lines_free(&lines);
    fclose(file);
}
