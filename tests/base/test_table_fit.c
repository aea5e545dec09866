/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables that are fitted to a terminal: each step of shrinking, and that no line is too wide, no
 * cell is lost without a note, and every screen has a heading. */
#include "base/table.h"

#include "base/text_width.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>

static char *on_screen(const spec_table *table, const spec_table_screen *screen)
{
    FREED char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(spec_table_write_fitting(table, screen, out, NULL), GSL_SUCCESS);
    assert_int_equal(fclose(out), 0);
    char *copy = strdup(text);
    return copy;
}

static char *fitted(const spec_table *table, int columns)
{
    return on_screen(table, &(spec_table_screen){.columns = columns});
}

static void expect(const spec_table *table, int columns, const char *expected)
{
    FREED char *text = fitted(table, columns);
    assert_string_equal(text, expected);
}

static void init(spec_table *table, const char *const *names)
{
    int n = 0;
    while (names[n] != NULL) n++;
    assert_int_equal(spec_table_init(table, names, n), GSL_SUCCESS);
}

static void add(spec_table *table, double K, double emitted, const char *draft)
{
    spec_table_number(table, "K", K);
    spec_table_number(table, "emitted_theory", emitted);
    spec_table_text(table, "draft", draft);
    spec_table_number(table, "c", 0.1);
    assert_int_equal(spec_table_append(table), GSL_SUCCESS);
}

TEST(each_step_is_taken_only_where_the_one_before_is_not_enough)
{
    OWNED(spec_table) table;
    init(&table, (const char *const[]){"K", "emitted_theory", "c", "empty", "draft", NULL});
    add(&table, 2, 1.75, "zipf?V=1000&s=1.1");
    add(&table, 12, 1.96875, "uniform");
    expect(&table, 52,
           " K  emitted_theory    c  empty  draft\n"
           " 2            1.75  0.1         zipf?V=1000&s=1.1\n"
           "12         1.96875  0.1         uniform\n");
    expect(&table, 38, /* the constant and the empty column move above */
           "In every row: c = 0.1\n\n"
           " K  emitted_theory  draft\n"
           " 2            1.75  zipf?V=1000&s=1.1\n"
           "12         1.96875  uniform\n\n"
           "Not shown: empty (--all shows them)\n");
    expect(&table, 36, /* then a column's name is wrapped */
           "In every row: c = 0.1\n\n"
           "    emitted_\n"
           " K    theory  draft\n"
           " 2      1.75  zipf?V=1000&s=1.1\n"
           "12   1.96875  uniform\n\n"
           "Not shown: empty (--all shows them)\n");
    expect(&table, 28, /* then a text is wrapped */
           "In every row: c = 0.1\n\n"
           "    emitted_\n"
           " K    theory  draft\n"
           " 2      1.75  zipf?V=1000&\n"
           "              s=1.1\n"
           "12   1.96875  uniform\n\n"
           "Not shown: 1 of 5 columns\n"
           "(--all shows them)\n");
    expect(&table, 24, /* last, a block per row */
           "In every row: c = 0.1\n\n"
           "K         2\n"
           "emitted_theory\n"
           "          1.75\n"
           "draft     zipf?V=1000&\n"
           "          s=1.1\n\n"
           "K         12\n"
           "emitted_theory\n"
           "          1.96875\n"
           "draft     uniform\n");
}

TEST(a_wide_terminal_leaves_out_what_qualifies_first_and_says_so)
{
    OWNED(spec_table) table;
    static const char *const names[] = {"alpha", "speedup", "speedup_se", "speedup_theory",
                                        "ops",   "verdict", NULL};
    init(&table, names);
    for (int r = 0; r < 2; r++) {
        for (int c = 0; c < 5; c++) spec_table_number(&table, names[c], (1 + r) * 1234.5678e-200);
        spec_table_text(&table, "verdict", r == 0 ? "lossless" : "lossy");
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    char *text = fitted(&table, 80);
    assert_null(strstr(text, "Not shown"));
    free(text);
    spec_table_free(&table);

    static const char *const more[] = {"alpha", "speedup", "speedup_se", "speedup_theory",
                                       "ops",   "ops_var", "verdict",    NULL};
    init(&table, more);
    for (int r = 0; r < 2; r++) {
        for (int c = 0; c < 6; c++) spec_table_number(&table, more[c], (1 + r) * -1234.5678e-200);
        spec_table_text(&table, "verdict", r == 0 ? "lossless" : "lossy");
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    expect(&table, 80,
           "        alpha        speedup     speedup_se            ops  verdict\n"
           "-1.23457e-197  -1.23457e-197  -1.23457e-197  -1.23457e-197  lossless\n"
           "-2.46914e-197  -2.46914e-197  -2.46914e-197  -2.46914e-197  lossy\n\n"
           "Not shown: speedup_theory, ops_var (--all shows them)\n");
}

TEST(important_columns_stay_and_rows_take_one_line)
{
    OWNED(spec_table) table;
    static const char *const names[] = {"draft",   "K",          "cost", "waits",
                                        "speedup", "speedup_se", NULL};
    static const char *const first[] = {"draft", "K", "speedup", "speedup_se", NULL};
    spec_table_screen screen = {.columns = 40, .opt_first = first};
    init(&table, names);
    for (int r = 0; r < 3; r++) {
        spec_table_text(&table, "draft", r == 0 ? "zipf?V=1000&s=1.1&temperature=0.5" : "uniform");
        spec_table_integer(&table, "K", r);
        spec_table_text(&table, "cost", r == 0 ? "affine?step=7.1ms" : "none");
        spec_table_integer(&table, "waits", 100 * r);
        spec_table_number(&table, "speedup", 1.25 * r);
        spec_table_number(&table, "speedup_se", 0.0625 * r);
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    FREED char *text = on_screen(&table, &screen);
    assert_string_equal(text, "                                speedup_\n"
                              "draft               K  speedup        se\n"
                              "zipf?V=1000&s=1...  0        0         0\n"
                              "uniform             1     1.25    0.0625\n"
                              "uniform             2      2.5     0.125\n\n"
                              "Not shown: 3 of 6 columns (--all shows\n"
                              "them)\n");
}

TEST(the_verdict_is_the_last_column_to_be_left_out)
{
    OWNED(spec_table) table;
    static const char *const names[] = {"rule", "branches", "tv", "max_error", "verdict", NULL};
    static const char *const first[] = {"rule", "max_error", "tv", NULL};
    spec_table_screen screen = {.columns = 28, .opt_first = first};
    init(&table, names);
    for (int r = 0; r < 2; r++) {
        spec_table_text(&table, "rule", r == 0 ? "token" : "match");
        spec_table_integer(&table, "branches", 1863 + r);
        spec_table_number(&table, "tv", 0.0625 * r);
        spec_table_number(&table, "max_error", 0.03125 * r);
        spec_table_text(&table, "verdict", r == 0 ? "lossless" : "NOT lossless");
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    FREED char *text = on_screen(&table, &screen);
    assert_non_null(strstr(text, "\nmatch  0.03125  NOT lossless\n"));
}

TEST(a_long_text_is_cut_or_wraps_if_alone_but_stays)
{
    OWNED(spec_table) table;
    static const char *const names[] = {"method", "speedup", "drafting", NULL};
    static const char *const first[] = {"method", "speedup", NULL};
    const spec_table_screen screen = {.columns = 40, .opt_first = first};
    init(&table, names);
    for (int r = 0; r < 2; r++) {
        spec_table_text(&table, "method", r == 0 ? "sequoia" : "chain");
        spec_table_number(&table, "speedup", 1.5 + r);
        spec_table_text(&table, "drafting",
                        r == 0 ? "tree?children=2.1.0.1&siblings=without" : "chain");
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
        FREED char *text = on_screen(&table, &screen);
        assert_string_equal(text, r == 0 ? "method   speedup  drafting\n"
                                           "sequoia      1.5  tree?children=2.1.0.1&\n"
                                           "                  siblings=without\n"
                                         : "method   speedup  drafting\n"
                                           "sequoia      1.5  tree?children=2.1.0...\n"
                                           "chain        2.5  chain\n\n"
                                           "Not shown: 1 of 3 columns (--all shows\n"
                                           "them)\n");
    }
}

TEST(what_identifies_a_single_row_leaves_its_place_to_results)
{
    OWNED(spec_table) table;
    static const char *const names[] = {"verdict", "draft", "K", "empty", "speedup", "ms", NULL};
    static const char *const first[] = {"draft", "K", "speedup", NULL};
    init(&table, names);
    spec_table_text(&table, "verdict", "lossless");
    spec_table_text(&table, "draft", "zipf?V=1000&s=1.1");
    spec_table_integer(&table, "K", 3);
    spec_table_number(&table, "speedup", 1.5);
    spec_table_number(&table, "ms", 926.5);
    assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    spec_table_screen screen = {.columns = 40, .opt_first = first, .n_keys = 2};
    char *text = on_screen(&table, &screen);
    assert_string_equal(text, "In every row: draft = zipf?V=1000&s=1.1,\n"
                              "K = 3\n\n"
                              "verdict   speedup     ms\n"
                              "lossless      1.5  926.5\n\n"
                              "Not shown: empty (--all shows them)\n");
    free(text);
    screen.columns = 60;
    text = on_screen(&table, &screen);
    assert_null(strstr(text, "In every row"));
    free(text);
}

TEST(every_screen_of_a_long_table_has_a_heading)
{
    for (int columns = 20; columns <= 80; columns += 60) {
        for (int n = 1; n < 100; n += 7) {
            OWNED(spec_table) table;
            init(&table, (const char *const[]){"K", "tokens_per_round_of_text", "c", NULL});
            for (int r = 0; r < n; r++) {
                spec_table_integer(&table, "K", r);
                spec_table_number(&table, "tokens_per_round_of_text", 1.0 / (3 + r));
                spec_table_integer(&table, "c", 7 * r);
                assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
            }
            static const char *const first[] = {"K", NULL};
            FREED char *text = on_screen(
                &table, &(spec_table_screen){.columns = columns, .lines = 24, .opt_first = first});
            int since = 0, rows = 0;
            for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
                const size_t width = strcspn(line, "\n");
                const bool heads = width > 0 && line[width - 1] == 'c';
                since = heads ? 0 : since + 1;
                rows += line[strspn(line, " ")] >= '0' && line[strspn(line, " ")] <= '9';
                if (since > 22) fail_msg("%d columns, %d rows: no heading on a screen", columns, n);
            }
            assert_int_equal(rows, n);
        }
    }
}

/* Removes blanks, to compare all other characters. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *c = text; *c != '\0'; c++)
        if (*c != ' ' && *c != '\n') *to++ = *c;
    *to = '\0';
}

/* Each cell is on the page, or a note names its column as not shown. */
static void check_cells(const spec_table *table, char *page)
{
    char buffer[40], cell[512], name[64];
    squeeze(page);
    const char *not_shown = strstr(page, "Notshown:");
    int most_lost = 0, lost = 0; /* columns */
    if (not_shown != NULL) most_lost = atoi(not_shown + strlen("Notshown:"));
    for (int c = 0; c < table->n_columns; c++) {
        snprintf(name, sizeof name, "%s", table->column[c]);
        if (not_shown != NULL && strstr(not_shown, name) != NULL) continue;
        for (size_t r = 0; r < table->n_rows; r++) {
            if (spec_table_cell(table, r, c)->kind == SPEC_CELL_TEXT)
                continue; /* texts may be wrapped */
            snprintf(cell, sizeof cell, "%s",
                     spec_cell_format(spec_table_cell(table, r, c), SPEC_FORMAT_TABLE, buffer,
                                      sizeof buffer));
            if (strstr(page, cell) != NULL) continue;
            if (++lost > most_lost)
                fail_msg("row %zu has lost its %s, %s: %s", r, name, cell, page);
            break;
        }
    }
}

static unsigned next(unsigned *noise, unsigned n)
{
    *noise = *noise * 1664525u + 1013904223u;
    return (*noise >> 16) % n;
}

TEST(no_line_is_too_wide_and_no_column_is_lost_in_silence)
{
    static const char *const words[] = {"alpha",
                                        "emitted",
                                        "emitted_se",
                                        "speedup_theory",
                                        "\xe4\xb8\xad\xe6\x96\x87",
                                        "K",
                                        "verdict",
                                        "accepted_over_drafted",
                                        "draft",
                                        "x",
                                        "speedup",
                                        "speedup_iid_z"};
    unsigned noise = 42;
    for (int i = 0; i < 3000; i++) {
        const int n = 1 + (int)next(&noise, 12), rows = (int)next(&noise, 4),
                  columns = 20 + (int)next(&noise, 130);
        const char *names[13] = {NULL}, *const first[] = {words[next(&noise, 12)], words[0], NULL};
        const bool listed = next(&noise, 2) == 1;
        spec_table table;
        for (int c = 0; c < n; c++) names[c] = words[c];
        init(&table, names);
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < n; c++) {
                char text[256] = "";
                switch (next(&noise, 4)) {
                case 0: spec_table_number(&table, names[c], 1.0 / (3.0 + next(&noise, 100))); break;
                case 1: spec_table_integer(&table, names[c], (long long)next(&noise, 30000)); break;
                case 2:
                    for (unsigned k = next(&noise, 12); k > 0; k--)
                        strcat(text, k % 3 == 0 ? "zipf?V=3&" : words[next(&noise, 12)]);
                    spec_table_text(&table, names[c], text);
                    break;
                default: break;
                }
            }
            assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
        }
        FREED char *text =
            on_screen(&table, &(spec_table_screen){.columns = columns,
                                                   .opt_first = listed ? first : NULL,
                                                   .n_keys = listed ? (int)next(&noise, 2) : 0});
        for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
            char one[1024];
            snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
            if (spec_text_width(one) > columns)
                fail_msg("%d columns for %d: '%s' of\n%s", spec_text_width(one), columns, one,
                         text);
        }
        check_cells(&table, text);
        spec_table_free(&table);
    }
}
