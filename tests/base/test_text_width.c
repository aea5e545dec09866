/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Widths of UTF-8 text on a terminal: known answers, and random texts, whose lines must add up to
 * the text and never be too wide. */
#include "base/escape.h"
#include "base/text_width.h"

#include "tests/support/support.h"

#include <string.h>

TEST(characters_take_the_columns_they_take_on_a_screen)
{
    static const struct {
        const char *text;
        int width;
    } known[] = {
        {"", 0},
        {"abc", 3},
        {"\xc3\xa9t\xc3\xa9", 3},             /* e acute, one character */
        {"e\xcc\x81", 1},                      /* e with a combining accent */
        {"\xe4\xb8\xad\xe6\x96\x87", 4},       /* two Chinese characters */
        {"\xf0\x9f\x98\x80!", 3},              /* an emoji */
        {"\xe2\x96\x81the", 4},                /* the blank of SentencePiece */
        {"\xff\xfe", 2},                       /* not UTF-8 */
        {"a\xe4\xb8", 3},                      /* an incomplete character */
        {"tab\there", 8},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (spec_text_width(known[i].text) != known[i].width)
            fail_msg("'%s' takes %d columns, not %d", known[i].text, spec_text_width(known[i].text),
                     known[i].width);
}

static void expect_line(const char *text, int columns, const char *line, int width)
{
    int got;
    const size_t n = spec_text_line(text, columns, &got);
    if (n != strlen(line) || strncmp(text, line, n) != 0 || got != width)
        fail_msg("'%s' in %d: '%.*s' of %d columns, not '%s' of %d", text, columns, (int)n, text,
                 got, line, width);
}

TEST(lines_break_at_blanks_then_at_marks_then_anywhere)
{
    expect_line("one two three", 80, "one two three", 13);
    expect_line("one two three", 7, "one two ", 7);
    expect_line("one two three", 8, "one two ", 7);
    expect_line("one two three", 6, "one ", 3);
    expect_line("dirichlet?V=64&seed=7", 16, "dirichlet?V=64&", 15);
    expect_line("dirichlet?V=64&seed=7", 12, "dirichlet?", 10);
    expect_line("a dirichlet?V=64&seed=7", 20, "a dirichlet?V=64&",
                17); /* a break at the blank leaves too short a line */
    expect_line("a dirichlet", 9, "a ", 1); /* there is no mark to break at */
    expect_line("emitted_theory", 8, "emitted_", 8);
    expect_line("unbreakable", 4, "unbr", 4);
    expect_line("\xe4\xb8\xad\xe6\x96\x87", 3, "\xe4\xb8\xad", 2);
    expect_line("\xe4\xb8\xad\xe6\x96\x87", 1, "\xe4\xb8\xad", 2); /* at least one character */
    expect_line("e\xcc\x81"
                "e\xcc\x81",
                1, "e\xcc\x81", 1); /* an accent stays with its letter */
}

/* Random texts of pieces of all kinds. */
TEST(lines_are_the_whole_text_and_none_is_too_wide)
{
    static const char *const piece[] = {
        "a", "bc", " ", "_", "&", "\xc3\xa9", "\xe4\xb8\xad", "e\xcc\x81", "\xff", "-", "long"};
    unsigned noise = 42;
    for (int i = 0; i < 2000; i++) {
        char text[256] = "", again[256] = "";
        for (int k = 0; k < 30; k++) {
            noise = noise * 1664525u + 1013904223u;
            strcat(text, piece[(noise >> 16) % (sizeof piece / sizeof piece[0])]);
        }
        const int columns = 2 + i % 30;
        for (const char *rest = text; *rest != '\0';) {
            char line[256];
            int width;
            const size_t n = spec_text_line(rest, columns, &width);
            assert_true(n > 0);
            snprintf(line, sizeof line, "%.*s", (int)n, rest);
            strcat(again, line);
            if (n > 0 && line[n - 1] == ' ' && spec_text_width(line) > width) line[n - 1] = '\0';
            assert_int_equal(spec_text_width(line), width);
            assert_true(width <= columns);
            rest += n;
        }
        assert_string_equal(again, text);
    }
}

TEST(control_characters_never_reach_the_screen)
{
    FREED char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char evil[] = "a\033[31mb\n\tc\xff\xc2\x9b\x7f";
    spec_escape_line(out, evil, strlen(evil));
    fclose(out);
    assert_string_equal(text, "a?[31mb  c???");
}
