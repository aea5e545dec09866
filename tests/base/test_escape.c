/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/escape.h"
#include "tests/support/support.h"

#include <string.h>

typedef void writer(FILE *out, const char *text);

static char *written(writer *write, const char *text)
{
    char *made = NULL;
    size_t n;
    FILE *out = open_memstream(&made, &n);
    write(out, text);
    assert_int_equal(fclose(out), 0);
    return made;
}

static void line(FILE *out, const char *text)
{
    spec_escape_line(out, text, strlen(text));
}

static void in_place(FILE *out, const char *text)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%s", text);
    spec_escape_in_place(copy);
    fputs(copy, out);
}

TEST(texts_become_what_each_language_shows_as_they_are)
{
    static const struct {
        writer *write;
        const char *text, *wanted;
    } cases[] = {
        {spec_escape_terminal, "a\tb\n\r\x1b[31m\xff\xc2\x9b\x7f\xe2\x80\xae\xc3\xa9",
         "a\tb\n?\?[31m????\xc3\xa9"},
        {line, "a\tb\n\r\x1b[31m\xff\xc2\x9b\x7f\xe2\x80\xae\xc3\xa9", "a b  ?[31m??\?\?\xc3\xa9"},
        {in_place, "a\tb\n\r\x1b[31m\xff\xc2\x9b\x7f\xe2\x80\xae\xc3\xa9",
         "a?b???[31m????\xc3\xa9"},
        {spec_escape_html, "<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"},
        {spec_escape_html, "a\x1b[31m\xff\xe2\x80\xae",
         "a\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd"},
        {spec_escape_html, "]]>\xef\xbf\xbe\xef\xbf\xbf\xef\xb7\x90",
         "]]&gt;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {spec_escape_markdown, "emitted_se _a_ a*b", "emitted_se \\_a\\_ a\\*b"},
        {spec_escape_markdown, "<script>a|b</script>", "\\<script\\>a\\|b\\</script\\>"},
        {spec_escape_markdown, "![x](http://y)", "!\\[x\\](http:\\//y)"},
        {spec_escape_markdown, "see www.a.org", "see www\\.a.org"},
        {spec_escape_markdown, "a\r\n\n# b\tc", "a   \\# b c"},
        {spec_escape_markdown, "# b #", "\\# b \\#"},
        {spec_escape_markdown, "-7", "-7"},
        {spec_escape_markdown, "---", "\\---"},
        {spec_escape_markdown, "x?a=1&b=2 &lt; &#60;", "x?a=1\\&b=2 \\&lt; \\&#60;"},
        {spec_escape_markdown, "\x1b[1m$x$ ~y~ \\n", "\xef\xbf\xbd\\[1m\\$x\\$ \\~y\\~ \\\\n"},
        {spec_escape_code, "zipf?V=20&s=2", "`zipf?V=20&s=2`"},
        {spec_escape_code, "<b>\r\n", "`<b>  `"},
        {spec_escape_code, "a`<b>", "a\\`\\<b\\>"},
        {spec_escape_code, "a|b", "a\\|b"},
        {spec_escape_code, "", ""},
        {spec_escape_prose, "*so* `a<b|c` <i> ![x](y) `", "*so* `a<b|c` \\<i\\> !\\[x\\](y) \\`"},
        {spec_escape_prose, "`<a>```b", "\\`\\<a\\>\\`\\`\\`b"}, /* not a code span in Markdown */
        {spec_escape_block, "a\r<b>\r\nc\n\nd\x1b",
         "    a\n    <b>\n    c\n    \n    d\xef\xbf\xbd\n\n"},
        {spec_escape_link, "./a b(c)<d>.svg", "./a%20b%28c%29%3Cd%3E.svg"},
        {spec_escape_link, "javascript:alert(1)", "javascript%3Aalert%281%29"},
        {spec_escape_latex, "\\{a}_b^c~d & 1% #1 $x <y> |z| \"q\" `",
         "\\textbackslash{}\\{a\\}\\_b\\textasciicircum{}c\\textasciitilde{}d \\& 1\\% \\#1 \\$x "
         "\\textless{}y\\textgreater{} \\textbar{}z\\textbar{} \\char34{}q\\char34{} "
         "\\textasciigrave{}"},
        {spec_escape_latex, "[4pt] --rule ''\n\x1b \xce\xb1 \xe2\x89\xa4",
         "{}[4pt] -{}-rule '{}' ? $\\alpha$ $\\le$"},
        {spec_escape_gnuplot, "a'b`c`@d\\n%s\x1b\n\xef\xbf\xbe",
         "'a' . \"\\047\" . 'b`c`@d\\n%s??\?'"},
        {spec_escape_gnuplot_tic, "5 %", "'5 %%'"},
        {spec_escape_shell, "zipf:V=20,s=2", "zipf:V=20,s=2"},
        {spec_escape_shell, "", "''"},
        {spec_escape_shell, "=ls", "'=ls'"},
        {spec_escape_shell, "~", "'~'"},
        {spec_escape_shell, "it's $(x)", "'it'\\''s $(x)'"},
        {spec_escape_shell, "a\x1b[1m\nb", "'a'\"$(printf '\\033')\"'[1m\nb'"},
        {spec_escape_shell, "-f", "-f"},
        {spec_escape_shell_file, "-f", "./-f"},
        {spec_escape_shell_file, "-", "-"},
        {spec_escape_csv, "a\"b\n", "\"a\"\"b\n\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FREED char *text = written(cases[i].write, cases[i].text);
        assert_string_equal(text, cases[i].wanted);
    }
}

/* Every pair of bytes stays on one line, without an unescaped mark, and without a control
 * character. */
TEST(no_two_bytes_make_markup)
{
    static const char marks[] = "`*<>[]|~$";
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            const char text[] = {(char)a, (char)b, '\0'};
            char *made = written(spec_escape_markdown, text);
            for (const char *c = made; *c != '\0'; c++) {
                if (*c == '\\' && c[1] != '\0')
                    c++;
                else if (strchr(marks, *c) != NULL)
                    fail_msg("%d %d: '%s'", a, b, made);
                assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
            }
            free(made);
            made = written(spec_escape_html, text);
            assert_null(strpbrk(made, "<>\"'"));
            free(made);
        }
}

TEST(a_word_that_does_not_fit_is_left_out)
{
    char buffer[6];
    assert_string_equal(spec_escape_shell_fit(buffer, sizeof buffer, "a b", "FILE"), "'a b'");
    assert_string_equal(spec_escape_shell_fit(buffer, sizeof buffer, "a bc", "FILE"), "FILE");
    assert_string_equal(spec_escape_shell_fit(buffer, sizeof buffer, "-x", "FILE"), "./-x");
}

/* An error is cut at the size of its buffer, perhaps within a character. */
TEST(an_error_cannot_control_a_terminal)
{
    spec_error error;
    char name[600];
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof error.text - 2, "\xc3\xa9", 3);
    assert_int_equal(spec_fail(&error, GSL_EINVAL, "\x1b]0;%s\xc2\x9b\xe2\x80\xae\n", "x"),
                     GSL_EINVAL);
    assert_string_equal(error.text, "?]0;x???");
    spec_fail(&error, GSL_EINVAL, "%s", name);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(error.text[sizeof error.text - 2], '?');
}
