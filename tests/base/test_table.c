/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/table.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Texts that CSV, JSON and Markdown must quote or escape. */
static const char *const awkward[] = {
    "plain", "a,b",         "say \"no\"", "two\nlines", "cr\r\nlf", "",    "# not a comment",
    "0.5",   "1e3",         " blank ",    "a|b",        "nan",      "inf", "caf\xc3\xa9",
    "\"",    "back\\slash", "tab\there"};
enum { N_AWKWARD = sizeof awkward / sizeof *awkward };

static void fill(spec_table *table)
{
    const char *const columns[] = {"name", "number", "count, \"odd\""};
    assert_int_equal(spec_table_init(table, columns, 3), GSL_SUCCESS);
    free(table->provenance);
    table->provenance = strdup("speclab test\nseed: 42\n\n| text, with \"quotes\"");
    for (int i = 0; i < N_AWKWARD; i++) {
        spec_table_text(table, "name", awkward[i]);
        spec_table_number(table, "number", i % 3 == 0 ? NAN : 0.27 * i + 1e-9 / 3.0);
        if (i % 2 == 0) spec_table_integer(table, "count, \"odd\"", i - 5);
        assert_int_equal(spec_table_append(table), GSL_SUCCESS);
    }
}

static void write_file(const char *path, const char *bytes, size_t n)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static char *as_bytes(const spec_table *table, spec_format format, size_t *ret_n)
{
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, ret_n);
    assert_works(spec_table_write(table, format, out, &error));
    assert_int_equal(fclose(out), 0);
    return bytes;
}

static void temporary(char path[64])
{
    strcpy(path, "/tmp/speclab-test-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
}

static void assert_same_table(const spec_table *a, const spec_table *b)
{
    assert_int_equal(a->n_columns, b->n_columns);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_string_equal(a->provenance, b->provenance);
    for (int c = 0; c < a->n_columns; c++) assert_string_equal(a->column[c], b->column[c]);
    for (size_t r = 0; r < a->n_rows; r++) {
        for (int c = 0; c < a->n_columns; c++) {
            const spec_cell *x = spec_table_cell(a, r, c), *y = spec_table_cell(b, r, c);
            assert_int_equal(x->kind, y->kind);
            assert_same(spec_cell_number(x), spec_cell_number(y));
            if (x->kind == SPEC_CELL_TEXT) assert_string_equal(x->text, y->text);
        }
    }
}

TEST(csv_reads_back_as_it_was_written)
{
    spec_table table, back;
    char path[64];
    size_t n, n_again;
    long good;
    fill(&table);
    char *bytes = as_bytes(&table, SPEC_FORMAT_CSV, &n);
    temporary(path);
    write_file(path, bytes, n);
    assert_works(spec_table_read_csv(&back, path, &good, &error));
    assert_int_equal(good, n);
    assert_same_table(&table, &back);
    assert_non_null(strstr(
        bytes,
        "\n\"# not a comment\",")); /* gnuplot takes '#' anywhere as a comment */
    char *again = as_bytes(&back, SPEC_FORMAT_CSV, &n_again);
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, again, n);
    free(bytes);
    free(again);
    spec_table_free(&table);
    spec_table_free(&back);
    unlink(path);
}

/* Cuts the file at every byte: all whole rows before the cut are read, and good_bytes is their
 * end. */
TEST(a_cut_csv_keeps_its_whole_rows)
{
    spec_table table, back;
    spec_error error;
    char path[64];
    size_t n, n_head;
    fill(&table);
    char *bytes = as_bytes(&table, SPEC_FORMAT_CSV, &n), *head = NULL;
    FILE *out = open_memstream(&head, &n_head);
    assert_works(spec_table_write_head(&table, out, &error));
    fclose(out);
    temporary(path);
    for (size_t cut = 0; cut <= n; cut++) {
        long good = -1;
        write_file(path, bytes, cut);
        int status = spec_table_read_csv(&back, path, &good, &error);
        if (cut < n_head) {
            assert_int_equal(status, GSL_EINVAL);
            continue;
        }
        assert_int_equal(status, GSL_SUCCESS);
        assert_true((size_t)good <= cut && (good == 0 || bytes[good - 1] == '\n'));
        if (cut == n) assert_int_equal(back.n_rows, N_AWKWARD);
        char *rest = NULL;
        size_t n_rest;
        rest = as_bytes(&back, SPEC_FORMAT_CSV, &n_rest);
        assert_int_equal(n_rest, good);
        assert_memory_equal(rest, bytes, n_rest);
        free(rest);
        spec_table_free(&back);
    }
    free(bytes);
    free(head);
    spec_table_free(&table);
    unlink(path);
}

/* A byte order mark, comments and empty lines anywhere, blanks, quoted numbers, CRLF, no final
 * newline. */
TEST(a_csv_of_another_program_is_read)
{
    static const char text[] = "\xef\xbb\xbf# by: a program\r\n\r\n"
                               " a , \tb,\"c, d\"\r\n1, x y ,\"2.5\"\r\n# 7,8,9\n\n , ,\n3,y,\"z\"";
    spec_table table;
    char path[64], value[32];
    temporary(path);
    write_file(path, text, sizeof text - 1);
    assert_works(spec_table_read_foreign_csv(&table, path, &error));
    assert_int_equal(table.n_columns, 3);
    assert_string_equal(table.column[0], "a");
    assert_string_equal(table.column[2], "c, d");
    assert_int_equal(table.n_rows, 3);
    assert_int_equal(spec_table_cell(&table, 0, 0)->integer, 1);
    assert_string_equal(spec_table_cell(&table, 0, 1)->text, "x y");
    assert_same(spec_table_cell(&table, 0, 2)->number, 2.5);
    for (int c = 0; c < 3; c++)
        assert_int_equal(spec_table_cell(&table, 1, c)->kind, SPEC_CELL_EMPTY);
    assert_string_equal(spec_table_cell(&table, 2, 2)->text, "z");
    assert_non_null(spec_table_provenance(&table, "by", value, sizeof value));
    spec_table_free(&table);
    static const char *const bad[] = {"",           "# only\n",   "a,b\n1\n", "a,b\n1,\"2\n",
                                      "a,a\n1,2\n", "a\n\"1\"x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(path, bad[i], strlen(bad[i]));
        assert_status(spec_table_read_foreign_csv(&table, path, &error), GSL_EINVAL);
    }
    unlink(path);
}

TEST(json_parses_and_holds_the_same)
{
    OWNED(spec_table) table;
    json_error_t problem;
    size_t n;
    fill(&table);
    spec_table_number(&table, "number", INFINITY);
    spec_table_text(&table, "name", "not utf-8: \xff");
    assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    FREED char *bytes = as_bytes(&table, SPEC_FORMAT_JSON, &n);
    json_t *rows = json_loadb(bytes, n, 0, &problem);
    if (rows == NULL) fail_msg("line %d: %s", problem.line, problem.text);
    assert_int_equal(json_array_size(rows), table.n_rows);
    for (int i = 0; i < N_AWKWARD; i++) {
        json_t *row = json_array_get(rows, (size_t)i), *number = json_object_get(row, "number");
        assert_string_equal(json_string_value(json_object_get(row, "name")), awkward[i]);
        if (i % 3 == 0) assert_true(json_is_null(number));
        else assert_within(json_number_value(number), 0.27 * i, 1e-8);
        if (i % 2 == 0)
            assert_int_equal(json_integer_value(json_object_get(row, "count, \"odd\"")), i - 5);
        else assert_true(json_is_null(json_object_get(row, "count, \"odd\"")));
    }
    assert_true(json_is_null(json_object_get(json_array_get(rows, N_AWKWARD), "number")));
    json_decref(rows);
}

TEST(an_empty_table_is_valid_in_every_format)
{
    const char *const columns[] = {"a", "b"};
    const char *const expected[] = {"a  b\n", "a,b\n", "[]\n", "|   a |   b |\n| --: | --: |\n"};
    for (int f = 0; f < 4; f++) {
        OWNED(spec_table) table;
        size_t n;
        assert_int_equal(spec_table_init(&table, columns, 2), GSL_SUCCESS);
        FREED char *bytes = as_bytes(&table, (spec_format)f, &n);
        assert_string_equal(bytes, expected[f]);
    }
}

TEST(tables_for_the_eye_are_aligned_by_characters)
{
    const char *const columns[] = {"rule", "tv"};
    OWNED(spec_table) table;
    size_t n;
    assert_int_equal(spec_table_init(&table, columns, 2), GSL_SUCCESS);
    spec_table_text(&table, "rule", "caf\xc3\xa9|x");
    spec_table_number(&table, "tv", 0.123456789);
    spec_table_append(&table);
    spec_table_text(&table, "rule", "to");
    spec_table_integer(&table, "tv", 12);
    spec_table_append(&table);
    char *text = as_bytes(&table, SPEC_FORMAT_TABLE, &n);
    assert_string_equal(text, "rule          tv\ncaf\xc3\xa9|x  0.123457\nto            12\n");
    free(text);
    text = as_bytes(&table, SPEC_FORMAT_MARKDOWN, &n);
    assert_string_equal(
        text, "| rule    |       tv |\n| :------ | -------: |\n| caf\xc3\xa9\\|x | 0.123457 |\n"
              "| to      |       12 |\n");
    free(text);
    spec_table_clear(&table);
    spec_table_number(&table, "tv", 1.5e-17); /* rounding, which CSV keeps */
    spec_table_append(&table);
    text = as_bytes(&table, SPEC_FORMAT_TABLE, &n);
    assert_string_equal(text, "rule  tv\n       0\n");
    free(text);
    text = as_bytes(&table, SPEC_FORMAT_CSV, &n);
    assert_string_equal(text, "rule,tv\n,1.5e-17\n");
    free(text);
    spec_table_clear(&table);
    spec_table_text(&table, "rule", "\x1b[2J<b>\r\n");
    spec_table_append(&table);
    text = as_bytes(&table, SPEC_FORMAT_TABLE, &n); /* no control character reaches the terminal */
    assert_string_equal(text, "rule       tv\n?[2J<b>      \n");
    free(text);
    text = as_bytes(&table, SPEC_FORMAT_MARKDOWN, &n);
    assert_non_null(strstr(text, "\n| \xef\xbf\xbd\\[2J\\<b\\>   |"));
    free(text);
}

TEST(what_is_no_result_is_refused_by_line)
{
    const struct {
        const char *text, *error;
    } cases[] = {{"", ":1: no line of column names"},
                 {"# only: provenance\n", ":2: no line of column names"},
                 {"a,b", ":1: no line of column names"},
                 {"a,b\n1\n", ":2: fewer than the 2 fields"},
                 {"# x\na,b\n1,2\n1,2,3\n", ":4: more than the 2 fields"},
                 {"a,a\n", ":1: two columns are named 'a'"},
                 {"a,b\n\"x\"y,2\n", ":2: characters after a closing quote"},
                 {"a,b\nx\"y\",2\n", ":2: a quote within a field"},
                 {"a\n\"two\nlines\"\nx\"y\"\n", ":4: a quote within a field"}};
    char path[64];
    temporary(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_table table;
        spec_error error = {""};
        char expected[200];
        write_file(path, cases[i].text, strlen(cases[i].text));
        assert_int_equal(spec_table_read_csv(&table, path, NULL, &error), GSL_EINVAL);
        snprintf(expected, sizeof expected, "%s%s", path, cases[i].error);
        if (strncmp(error.text, expected, strlen(expected)) != 0)
            fail_msg("'%s', not '%s'", error.text, expected);
        assert_null(table.cell);
    }
    write_file(path, "a\n\0\n", 4);
    spec_table table;
    assert_fails_with(spec_table_read_csv(&table, path, NULL, &error), GSL_EINVAL, "zero byte");
    unlink(path);
    assert_fails_with(spec_table_read_csv(&table, path, NULL, &error), GSL_EFAILED, "No such file");
    assert_status(spec_table_read_csv(&table, "/tmp", NULL, &error), GSL_EFAILED);
}

TEST(a_full_disk_is_a_failure_with_its_reason)
{
    OWNED(spec_table) table;
    fill(&table);
    for (int f = 0; f < 4; f++) {
        FILE *full = fopen("/dev/full", "w");
        if (full == NULL) skip();
        assert_fails_with(spec_table_write(&table, (spec_format)f, full, &error), GSL_EFAILED,
                          "No space left");
        fclose(full);
    }
}

TEST(provenance_is_found_by_key)
{
    OWNED(spec_table) table;
    char buffer[8];
    fill(&table);
    assert_string_equal(spec_table_provenance(&table, "seed", buffer, sizeof buffer), "42");
    assert_null(spec_table_provenance(&table, "see", buffer, sizeof buffer));
    assert_null(spec_table_provenance(&table, "measure", buffer, sizeof buffer));
}

TEST(a_number_is_kept_as_it_prints)
{
    const char *const columns[] = {"x"};
    OWNED(spec_table) table;
    assert_int_equal(spec_table_init(&table, columns, 1), GSL_SUCCESS);
    spec_table_number(&table, "x", 2.0 / 3.0);
    assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    assert_same(spec_table_cell(&table, 0, 0)->number, 0.6666666667);
    spec_table_number(&table, "x",
                      -0.0); /* -0 would be read back as the integer 0, one byte shorter */
    assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    char buffer[40];
    assert_string_equal(
        spec_cell_format(spec_table_cell(&table, 1, 0), SPEC_FORMAT_CSV, buffer, sizeof buffer),
        "0");
}
