/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random hostile texts in each language, read by a program of that language (escape_oracle.py):
 * sh and bash, gnuplot, cmark-gfm, and Python's parsers of HTML, XML and CSV. */
#include "base/escape.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void writer(FILE *out, const char *text);

/* Pieces that mean something in some language, and characters of all kinds. */
static const char *const piece[] = {
    "<script>",  "</p>",    "<!--",     "-->",      "<![CDATA[", "]]>",      "&lt;",  "&#60;",
    "&",         "\"",      "'",        "`",        "``",        "```",      "|",     "\\",
    "\\n",       "\\|",     "*",        "**",       "_",         "~~",       "~",     "#",
    "##",        "- ",      "+ ",       "1. ",      "> ",        "    ",     "===",   "---",
    "![a](b)",   "[a]: b",  "[a](b)",   "http://a", "www.a.org", "a@b.org",  "javascript:a",
    "$(touch P)", "`touch P`", "${HOME}", "$HOME",  ";touch P;", "&& a",     "*.c",   "!!",
    "-f",        "--",      "~root",    "=ls",      "{a,b}",     "%s",       "%d %n", "%%",
    "@macro",    "\\input{a}", "\\\\",  "$x$",      "{",         "}",        "^^41",  ",",
    ";",         "\t",      "\n",       "\r",       "\r\n",      " ",        "a",     "b c",
    "0",         "\x1b[31m", "\x1b]0;a\x07", "\xc2\x9b" "31m", "\x7f",      "\x9b",  "\xff",
    "\xc3\xa9",  "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8",
    "\xef\xbf\xbe", "\xef\xbf\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\xe2\x82",
    "\xce\xb1",  "\xc2\xb1", "\xe2\x89\xa4", "\xc2\xa0", "\xe2\x80\x94", "\xef\xb7\x90",
};
enum { PIECES = sizeof piece / sizeof piece[0], MOST = 8, TEXT = 256 };

static void write_hex(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) fprintf(out, "%02x", (unsigned char)*text);
}

static void write_case(FILE *out, writer *write, const char *text)
{
    char *made = NULL;
    size_t n;
    FILE *into = open_memstream(&made, &n);
    write(into, text);
    assert_int_equal(fclose(into), 0);
    write_hex(out, text);
    fputc(' ', out);
    write_hex(out, made);
    fputc('\n', out);
    free(made);
}

/* Every byte by itself and within a text, every piece, then random texts of several pieces. */
static void write_cases(FILE *out, writer *write, uint64_t n)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    char text[TEXT];
    for (int byte = 1; byte < 256; byte++) {
        write_case(out, write, (const char[]){(char)byte, '\0'});
        write_case(out, write, (const char[]){'a', (char)byte, 'b', '\0'});
    }
    write_case(out, write, "");
    for (int i = 0; i < PIECES; i++) write_case(out, write, piece[i]);
    for (uint64_t i = 0; i < n; i++) {
        const unsigned long pieces = 2 + gsl_rng_uniform_int(rng, MOST - 1);
        text[0] = '\0';
        for (unsigned long k = 0; k < pieces; k++) {
            const char byte[] = {(char)(1 + gsl_rng_uniform_int(rng, 255)), '\0'};
            strcat(text, gsl_rng_uniform_int(rng, 4) == 0
                             ? byte
                             : piece[gsl_rng_uniform_int(rng, PIECES)]);
        }
        write_case(out, write, text);
    }
}

static void check(const char *language, writer *write, uint64_t n)
{
    char command[PATH_MAX + 128];
    FILE *out = fopen("cases", "w");
    assert_non_null(out);
    write_cases(out, write, spec_test_samples(n));
    assert_int_equal(fclose(out), 0);
    snprintf(command, sizeof command,
             "python3 '%s/tests/base/escape_oracle.py' %s cases >said 2>&1", spec_folder_before,
             language);
    const int state = system(command), code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    char said[2048] = "";
    FILE *in = fopen("said", "r");
    if (in != NULL) said[fread(said, 1, sizeof said - 1, in)] = '\0';
    if (in != NULL) fclose(in);
    if (code == 77 || code == 127) {
        printf("skipped: %s: %s", language, said);
        skip();
    }
    if (code != 0) fail_msg("%s: %s", language, said);
    assert_int_equal(access("P", F_OK), -1); /* touch P did not run */
    printf("%s", said);
}

static void line(FILE *out, const char *text)
{
    spec_escape_line(out, text, strlen(text));
}

static void in_place(FILE *out, const char *text)
{
    char copy[TEXT];
    snprintf(copy, sizeof copy, "%s", text);
    spec_escape_in_place(copy);
    fputs(copy, out);
}

TEST(terminals_show_characters_alone)
{
    check("terminal", spec_escape_terminal, 1000);
    check("line", line, 1000);
    check("in_place", in_place, 1000);
}

TEST(parsers_of_html_and_xml_read_the_text) { check("html", spec_escape_html, 1000); }

TEST(a_parser_of_markdown_reads_the_text)
{
    check("title", spec_escape_markdown, 400);
    check("cell", spec_escape_markdown, 400);
    check("code", spec_escape_code, 400);
    check("prose", spec_escape_prose, 400);
    check("block", spec_escape_block, 400);
    check("link", spec_escape_link, 400);
}

TEST(latex_finds_no_command_of_the_text) { check("latex", spec_escape_latex, 1000); }

TEST(gnuplot_prints_the_text)
{
    check("gnuplot", spec_escape_gnuplot, 1000);
    check("tic", spec_escape_gnuplot_tic, 1000);
}

TEST(shells_read_the_word)
{
    check("shell", spec_escape_shell, 200);
    check("shell", spec_escape_shell_file, 100);
}

TEST(a_parser_of_csv_reads_the_field) { check("csv", spec_escape_csv, 1000); }

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
