/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab report as its users run it, with hostile files. SPECLAB names the program. */
#include "base/json_rows.h"
#include "cli/figures/gnuplot.h"
#include "cli/report/html_text.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/picture.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
    return n;
}

static void has(const char *text, const char *word)
{
    if (strstr(text, word) == NULL) fail_msg("no '%s' in\n%.4000s", word, text);
}

static bool has_gnuplot(void)
{
    spec_error error;
    return spec_gnuplot_check(&error) == GSL_SUCCESS;
}

/* Returns the bytes of a base64 text up to the quote. */
static char *decode(const char *text)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *bytes = calloc(1, strlen(text) + 1), *to = bytes;
    unsigned word = 0;
    assert_non_null(bytes);
    for (int i = 1; *text != '"' && *text != '='; text++, i++) {
        word = word << 6 | (unsigned)(strchr(digit, *text) - digit);
        if (i % 4 != 1) *to++ = (char)(word >> (6 - 2 * ((i - 1) % 4)) & 255);
    }
    return bytes;
}

TEST(a_page_has_every_cell_its_checks_and_its_figure)
{
    spec_needs_program();
    spec_program_works("sweep --alpha 0.6,0.8 --K 2,4 --rounds 20000 -o sweep.csv");
    spec_program_works("report sweep.csv -o sweep.html");
    char *page = spec_file_bytes("sweep.html"), *csv = spec_file_bytes("sweep.csv");
    has(page, "<!DOCTYPE html>");
    has(page, "<h2 id=\"r1\">sweep</h2>");
    has(page, "All 4 rows hold; the largest difference from theory is ");
    has(page, "<caption>4 rows</caption>");
    has(page, "speclab sweep --alpha 0.6,0.8 --K 2,4");
    assert_int_equal(count(page, "<tr>"), 5);
    assert_null(strstr(page, "row_check"));
    for (char *rest = strstr(csv, "\n0.6,") + 1, *line; (line = strsep(&rest, "\n")) != NULL;)
        for (char *cell; *line != '\0' && (cell = strsep(&line, ",")) != NULL && line != NULL;) {
            char wanted[64], full[64];
            snprintf(wanted, sizeof wanted, ">%s</td>", cell);
            snprintf(full, sizeof full, " data-v=\"%s\">", cell);
            if (strstr(page, wanted) == NULL) has(page, full);
        }
    if (has_gnuplot()) {
        const char *data = strstr(page, "data:image/svg+xml;base64,");
        assert_non_null(data);
        char *svg = decode(data + strlen("data:image/svg+xml;base64,"));
        spec_file_write("sweep.svg", svg);
        spec_picture_check("sweep.svg");
        has(svg, "gnuplot_svg.showHypertext(evt,'2, 1."); /* K and speed-up of a point */
        assert_int_equal(count(svg, "showHypertext(evt,'"), 4);
        assert_null(strstr(svg, "gnuplot_svg.js"));
        assert_null(strstr(svg, "xlink:href=\"http"));
        free(svg);
    } else {
        has(page, "No figure: gnuplot is not installed");
    }
    assert_null(strstr(page, " src="));
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    free(page);
    free(csv);
}

TEST(markdown_is_the_usual_format)
{
    spec_needs_program();
    spec_program_works("predict --K 1:30 -o predict.csv");
    spec_program_prints(
        "report predict.csv --title A_title", 0, "# A_title\n\nNo row has a check. By speclab ",
        "\n## predict\n\nNo row has exact theory or a claim to check.\n\n| alpha |",
        "\nThe first 24 of 30 rows.\n", "\n    | speclab predict --alpha 0.8 --K 1:30");
}

TEST(a_failed_check_and_an_edited_row_are_told)
{
    spec_child c;
    spec_needs_program();
    spec_program_works("predict --K 1:3 -o whole.csv");
    char *csv = spec_file_bytes("whole.csv"), *digit = strstr(csv, "\n0.8,2,") + 5;
    *digit = '4';
    spec_file_write("edited.csv", csv);
    free(csv);
    spec_child_run(&c, "report edited.csv");
    assert_int_equal(c.code, 1);
    has(c.text, "**1 of 1 checks FAIL**");
    has(c.text, "- **edited.csv**: **1 of 1 checked rows FAIL**; **row 2 was edited after the run, "
                "or a row above it was removed**.\n");
    assert_null(strstr(c.text, "edited.csv**, row 2"));
    spec_child_free(&c);


    spec_file_write("fails.csv", "# measure: acceptance\nalpha,emitted_z\n0.5,1.2\n0.6,-7\n");
    spec_child_run(&c, "report fails.csv --html");
    assert_int_equal(c.code, 1);
    has(c.text, "<strong>1 of 2 checks FAIL</strong>");
    has(c.text, "<p class=\"fails\"><strong>1 of 2 checked rows FAIL</strong>");
    spec_child_free(&c);
}

TEST(json_of_validate_has_its_verdict_and_a_row_per_fixture, SLOW)
{
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "validate rule:resample-target --budget 100k --report wrong.json");
    assert_int_equal(c.code, 1);
    spec_child_free(&c);
    spec_child_run(&c, "report wrong.json");
    assert_int_equal(c.code, 1);
    has(c.text, "**1 of 1 checks FAIL**");
    has(c.text, "**Verdict FAIL**: ");
    has(c.text, "| fixture");
    has(c.text, " detectable.first.tv ");
    has(c.text, "\n    plan.false_alarm_rate: ");
    spec_child_free(&c);
}

/* Outside code blocks, every mark of HTML or of a link has a backslash before it. */
static void only_our_markup(const char *text)
{
    for (const char *line = text, *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        if (strncmp(line, "    ", 4) == 0) continue;
        for (const char *c = line; c < end; c++) {
            if (*c == '\\')
                c++;
            else if (strchr("<>[]", *c) != NULL)
                fail_msg("'%.*s'", (int)(end - line), line);
        }
    }
}

/* Each file has many rows, of which one fails; the page and its table begin with that row. */
TEST(what_fails_comes_first)
{
    spec_child c;
    char csv[1000] = "# speclab 1\n# measure: acceptance\nalpha,K,emitted,emitted_z\n";
    spec_needs_program();
    for (int i = 0; i < 30; i++)
        snprintf(csv + strlen(csv), 40, "0.5,%d,1.5,%s\n", i + 1, i == 28 ? "-7.25" : "0.5");
    spec_file_write("late.csv", csv);
    spec_file_write("fixtures.json",
                    "{\"verdict\": \"FAIL\", \"reason\": \"two-2: another law\", \"results\": ["
                    "{\"fixture\": \"one-1\", \"failed\": false, \"tv\": 0.0},"
                    "{\"fixture\": \"two-2\", \"failed\": true, \"tv\": 0.11}]}");
    spec_file_write("wrong.csv", "# measure: prove\nrule,K,tv,verdict\ntoken,2,0,lossless\n"
                                 "match,2,0.25,NOT lossless\n");
    spec_child_run(&c, "report late.csv fixtures.json wrong.csv");
    assert_int_equal(c.code, 1);
    has(c.text,
        ".\n\n## What fails\n\n"
        "- **late.csv**, row 29 of 30 (K = 29), `emitted_z` is -7.25, not within 5 of 0.\n"
        "- **fixtures.json**: **Verdict FAIL**: two-2: another law.\n"
        "- **fixtures.json**, row 2 of 2, `fixture` is `two-2`, `failed` is `true`, `tv` is "
        "0.11.\n"
        "- **wrong.csv**, row 2 of 2 (rule = `match`), `verdict` is `NOT lossless`, `tv` is "
        "0.25.\n\n## late\n");
    has(c.text, "|\n|   0.5 |  29 |     1.5 |     -7.25 |\n|   0.5 |   1 |");
    has(c.text, "\nThe first 24 of 30 rows, those that fail before the others.\n");
    spec_child_free(&c);
    spec_program_prints(
        "report late.csv fixtures.json --html", 1,
        "<h2>What fails</h2>\n<ul>\n<li><strong>late.csv</strong>, row 29 of 30 (K = 29), "
        "<code>emitted_z</code> is -7.25, not within 5 of 0.</li>\n",
        "<tbody>\n<tr class=\"failing\"><td class=\"n\">0.5</td><td class=\"n\">29</td>");
}

TEST(json_of_a_run_has_the_checks_of_its_csv)
{
    spec_needs_program();
    spec_program_works("sweep --alpha 0.6,0.8 --K 2,4 --rounds 5000 -o checked.json");
    spec_program_prints("report checked.json", 0,
                        "All 4 rows hold; the largest difference from theory is ");
    spec_file_write("lines.json", "{\"a\": 1}\n\n{\"a\": 2, \"b\": \"x\"}\n");
    spec_program_prints("report lines.json", 0, "|   2 | x   |\n");
}

/* The table stops where the run did, and the page says so. */
TEST(an_interrupted_result_says_so)
{
    static const char *const ends[][2] = {
        {"# interrupted after 1 of 4 points\n",
         "; **unfinished: interrupted after 1 of 4 points**.\n"},
        {"0.5,2,1.", "; **unfinished: interrupted within a row**.\n"}};
    spec_needs_program();
    for (size_t i = 0; i < 2; i++) {
        spec_child c;
        char csv[200];
        snprintf(csv, sizeof csv,
                 "# speclab 1\n# measure: acceptance\nalpha,K,emitted\n0.5,1,1.5\n%s", ends[i][0]);
        spec_file_write("short.csv", csv);
        spec_child_run(&c, "report short.csv");
        has(c.text, "No row has a check, and **the result is unfinished**. By speclab");
        has(c.text, ends[i][1]);
        spec_child_free(&c);
        spec_program_prints(
            "report short.csv fails.csv", 1,
            "1 of 2 checks FAIL**, and **1 of 2 results is unfinished**. By speclab");
    }
}

TEST(texts_from_files_cannot_be_markup)
{
    spec_child c;
    spec_needs_program();
    spec_file_write("hostile.csv", "\xEF\xBB\xBF# experiment: </pre><script>alert(1)</script>\r\n"
                                   "name,<b>v</b>\r\n<script>alert(2)</script>,1\r\n"
                                   "\"<img src=x onerror=\"\"a()\"\">\",2\r\n\x80\xff\x01,3\r\n");
    spec_file_write("hostile.json", "[{\"<i>\":\"</td><script>alert(3)</script>\",\"n\":null}]");
    spec_child_run(&c, "report hostile.csv hostile.json --html --title </title><script>4");
    assert_int_equal(c.code, 0);
    assert_int_equal(count(c.text, "<script"), 1); /* our own */
    assert_int_equal(count(c.text, "<img"), 0);
    assert_int_equal(count(c.text, "<b>"), 0);
    has(c.text, "<td>&lt;img src=x onerror=&quot;a()&quot;&gt;</td>");
    has(c.text, "<td>\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD</td>");
    has(c.text, "<td class=\"n\">3</td>"); /* without its carriage return */
    spec_child_free(&c);
    spec_file_write("![x](y)<i>.csv", "a|b,c\n\"![x](http://y)\n\n# z|\",\x1b[2J\r\n");
    spec_file_write("return.csv", "# experiment: a\r<script>b</script>\nx\n1\n");
    spec_child_run(&c, "report hostile.csv hostile.json return.csv ![x](y)<i>.csv --title "
                       "##<b>\r\n![x](y)");
    assert_int_equal(c.code, 0);
    only_our_markup(c.text);
    assert_null(strpbrk(c.text, "\x1b\r"));
    has(c.text, "# \\##\\<b\\>  !\\[x\\](y)\n");
    has(c.text, "\n## !\\[x\\](y)\\<i\\>\n");
    has(c.text, "\n| a\\|b ");
    has(c.text, "\n| !\\[x\\](http:\\//y)  \\# z\\| | ");
    has(c.text, "\n    experiment: a\n    <script>b</script>\n");
    spec_child_free(&c);
    spec_file_write("hostile.json", "{\"verdict\": \"FAIL\", \"reason\": \"<i> [a](b)\", "
                                    "\"rows\": [{\"n\": 1}]}");
    spec_file_write("hostile.csv", "# measure: prove\nverdict\n\"`<i>\n\n# a\"\n");
    spec_program_prints("report hostile.json hostile.csv", 1,
                        "\n**Verdict FAIL**: \\<i\\> \\[a\\](b).\n",
                        "; `verdict` is \\`\\<i\\>  \\# a in 1.\n");
    spec_program_prints("report hostile.json --html", 1,
                        "<strong>Verdict FAIL</strong>: &lt;i&gt; [a](b).</p>");
}

/* In the page of random hostile files, parsers of both languages find only the page's own
 * markup. */
TEST(parsers_find_only_our_own_markup, SLOW)
{
    char command[3 * PATH_MAX], said[2048] = "";
    spec_needs_program();
    snprintf(command, sizeof command,
             "python3 '%s/tests/cli/report_oracle.py' '%s' %llu %llu >said 2>&1",
             spec_folder_before, spec_program, (unsigned long long)spec_test_samples(30),
             (unsigned long long)spec_test_seed());
    const int ended = system(command), code = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    FILE *in = fopen("said", "r");
    if (in != NULL) said[fread(said, 1, sizeof said - 1, in)] = '\0';
    if (in != NULL) fclose(in);
    if (code == 77 || code == 127) {
        printf("skipped: %s: %s", __func__, said);
        skip();
    }
    if (code != 0) fail_msg("%s", said);
}

TEST(a_file_that_is_too_large_is_refused_in_a_line)
{
    spec_needs_program();
    FILE *big = fopen("big.csv", "w");
    assert_non_null(big);
    fprintf(big, "a,b\n");
    assert_int_equal(fseek(big, (1 << 26) + 10L, SEEK_SET), 0);
    fprintf(big, "1\n");
    fclose(big);
    spec_program_fails("report big.csv", 2, "speclab report: big.csv: larger than 64 MiB");
}

TEST(json_becomes_a_table)
{
    static const char text[] = "{\"speclab\":\"1\",\"plan\":{\"seed\":\"7\",\"only\":[]},"
                               "\"short\":[{\"x\":1}],"
                               "\"rows\":[{\"a\":1,\"b\":{\"c\":0.5}},{\"a\":null,\"d\":[1,2,3]}]}";
    spec_error error;
    spec_table table;
    char buffer[32];
    assert_int_equal(spec_json_rows_read(&table, text, strlen(text), "t.json", &error), 0);
    assert_int_equal(table.n_rows, 2);
    assert_int_equal(table.n_columns, 3);
    assert_string_equal(table.column[1], "b.c");
    assert_int_equal(spec_table_cell(&table, 0, 0)->integer, 1);
    assert_true(spec_cell_number(spec_table_cell(&table, 0, 1)) == 0.5);
    assert_int_equal(spec_table_cell(&table, 1, 0)->kind, SPEC_CELL_EMPTY);
    assert_string_equal(spec_table_cell(&table, 1, 2)->text, "3 values");
    assert_string_equal(spec_table_provenance(&table, "plan.seed", buffer, sizeof buffer), "7");
    spec_table_free(&table);

    char wide[6000] = "[{";
    for (int i = 0; i <= SPEC_JSON_ROWS_COLUMNS; i++)
        snprintf(wide + strlen(wide), 16, "%s\"m%d\":1", i > 0 ? "," : "", i);
    strcat(wide, "}]");
    assert_int_equal(spec_json_rows_read(&table, wide, strlen(wide), "w.json", &error), GSL_EINVAL);
    assert_string_equal(error.text, "w.json: a row has more than 256 members");
    assert_null(table.cell);
}

TEST(marks_become_elements_if_they_close)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    spec_html_text_marked(out, "**a<b** `c**` d** `e *f");
    fputc('|', out);
    spec_html_text_base64(out, "Man", 3);
    spec_html_text_base64(out, "Ma", 2);
    spec_html_text_base64(out, "\xff", 1);
    fclose(out);
    assert_string_equal(text, "<strong>a&lt;b</strong> <code>c**</code> d** `e *f|TWFuTWE=/w==");
    free(text);
}

TEST(without_gnuplot_a_line_says_so)
{
    spec_child c;
    spec_needs_program();
    spec_program_works("predict --K 1:3 -o p.csv");
    spec_program_works("sweep --rounds 1000 -o s.csv");
    spec_child_start(&c, "PATH=/nowhere", NULL, "report s.csv -o s.html");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "report s.csv", 0, "speclab report: the page has no figures: gnuplot is");
    spec_child_free(&c);
    char *page = spec_file_bytes("s.html");
    has(page, "<p class=\"note\">No figure: gnuplot is not installed");
    free(page);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
