/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/markup.h"
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

static void html(FILE *out, const char *text)
{
    spec_markup_html(out, text, strlen(text));
}

TEST(texts_become_what_each_language_shows_as_they_are)
{
    static const struct {
        writer *write;
        const char *text, *wanted;
    } cases[] = {
        {html, "<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"},
        {html, "a\x1b[31m\xff\xe2\x80\xae", "a\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd"},
        {spec_markup_markdown, "emitted_se _a_ a*b", "emitted_se \\_a\\_ a\\*b"},
        {spec_markup_markdown, "<script>a|b</script>", "\\<script\\>a\\|b\\</script\\>"},
        {spec_markup_markdown, "![x](http://y)", "!\\[x\\](http:\\//y)"},
        {spec_markup_markdown, "see www.a.org", "see www\\.a.org"},
        {spec_markup_markdown, "a\r\n\n# b\tc", "a   # b c"},
        {spec_markup_markdown, "# b", "\\# b"},
        {spec_markup_markdown, "-7", "-7"},
        {spec_markup_markdown, "---", "\\---"},
        {spec_markup_markdown, "x?a=1&b=2 &lt; &#60;", "x?a=1\\&b=2 \\&lt; \\&#60;"},
        {spec_markup_markdown, "\x1b[1m$x$ ~y~ \\n", "\xef\xbf\xbd\\[1m\\$x\\$ \\~y\\~ \\\\n"},
        {spec_markup_code, "zipf?V=20&s=2", "`zipf?V=20&s=2`"},
        {spec_markup_code, "<b>\r\n", "`<b>  `"},
        {spec_markup_code, "a`<b>", "a\\`\\<b\\>"},
        {spec_markup_code, "a|b", "a\\|b"},
        {spec_markup_code, "", ""},
        {spec_markup_prose, "*so* `a<b|c` <i> ![x](y) `", "*so* `a<b|c` \\<i\\> !\\[x\\](y) \\`"},
        {spec_markup_block, "a\r<b>\r\nc\n\nd\x1b",
         "    a\n    <b>\n    c\n    \n    d\xef\xbf\xbd\n\n"},
        {spec_markup_path, "./a b(c)<d>.svg", "./a%20b%28c%29%3Cd%3E.svg"},
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
            char *made = written(spec_markup_markdown, text);
            for (const char *c = made; *c != '\0'; c++) {
                if (*c == '\\' && c[1] != '\0')
                    c++;
                else if (strchr(marks, *c) != NULL)
                    fail_msg("%d %d: '%s'", a, b, made);
                assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
            }
            free(made);
            made = written(html, text);
            assert_null(strpbrk(made, "<>\"'"));
            free(made);
        }
}
