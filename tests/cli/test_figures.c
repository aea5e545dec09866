/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every figure of plots/ is drawn from its declared columns alone. SPECLAB names the program. */
#include "cli/verb.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/picture.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FIGURES_MAX = 64, COLUMNS_MAX = 16, NAME_SIZE = 40 };

typedef struct {
    char name[NAME_SIZE], column[COLUMNS_MAX][NAME_SIZE];
    int n;
} figure;

/* The figures as 'speclab list figures' shows them. */
static int all_figures(figure *figures)
{
    spec_child c;
    int n = 0;
    spec_child_run(&c, "list figures -f csv");
    assert_int_equal(c.code, 0);
    for (char *line = strtok(c.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *needs = strstr(line, ",needs "), *name = line + strlen("figure,");
        if (strncmp(line, "figure,", 7) != 0) continue;
        assert_non_null(needs);
        assert_true(n < FIGURES_MAX);
        figure *f = &figures[n++];
        *f = (figure){.n = 0};
        snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(name, ","), name);
        for (char *at = needs + strlen(",needs "); *at != '\0'; f->n++) {
            assert_true(f->n < COLUMNS_MAX);
            const size_t length = strcspn(at, " ");
            snprintf(f->column[f->n], NAME_SIZE, "%.*s", (int)length, at);
            at += length + (at[length] == ' ');
        }
    }
    spec_child_free(&c);
    assert_true(n > 30);
    return n;
}

/* Returns whether the column holds names. `draft` does, except in a file with `seen`, where it is a
 * probability. */
static bool holds_names(const figure *f, const char *column)
{
    static const char *const names[] = {
        "rule",   "drafting", "draft",    "siblings", "widths", "method", "pair", "regime",
        "policy", "family",   "hardware", "curve",    "token",  "kind",   "text", "machine",
        "time",   "half",     "split",    "source",   "phase",  "learns"};
    for (int i = 0; i < f->n; i++)
        if (strcmp(column, "draft") == 0 && strcmp(f->column[i], "seen") == 0) return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(column, names[i]) == 0) return true;
    return false;
}

static bool has(const figure *f, const char *column)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(column, f->column[i]) == 0) return true;
    return false;
}

static const char *rule; /* the rule of the even rows; NULL: one that scripts know */
static bool twice;       /* write each row twice, with 0 and 1 in a column that no figure knows */

/* Returns whether each row has its own name in the column, so that the names tell rows apart. */
static bool is_apart(const char *column)
{
    return strcmp(column, "name") == 0 || strcmp(column, "token") == 0 ||
           strcmp(column, "kind") == 0;
}

/* Writes a row's value of a column: a name that scripts know, a whole number for counts, or a
 * fraction. */
static void write_value(FILE *out, const figure *f, const char *column, int row)
{
    static const char *const known[][3] = {
        {"rule", "token", "traversal"},
        {"drafting", "tree?children=2.1.0.0&siblings=iid", "chain"},
        {"curve", "run p", "counts"}};
    static const char *const counts[] = {"K",      "n",           "n_tokens", "pass",   "budget",
                                         "tokens", "draft_order", "T",        "offset", "nodes",
                                         "step",   "trial",       "batch",    "slots"};
    if (holds_names(f, column)) {
        const char *name = row % 2 == 0 ? "one" : "two words";
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(column, known[i][0]) == 0) name = known[i][1 + row % 2];
        if ((strcmp(column, "rule") == 0 || strcmp(column, "family") == 0) && row % 2 == 0 &&
            rule != NULL)
            name = rule;
        if (strcmp(column, "widths") == 0)
            fprintf(out, "2%.*s", 2 * row, ".1.1.1.1.1.1.1.1");
        else if (is_apart(column) && row > 1)
            fprintf(out, "name %d", row);
        else
            fputs(name, out);
        return;
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(column, counts[i]) != 0) continue;
        fprintf(out, "%d", row + 1);
        return;
    }
    fprintf(out, "%g", 0.3 + 0.05 * row);
}

/* Writes n rows of every column but one; all numeric cells are opt_value. */
static void write_csv(const figure *f, int rows, int without, const char *opt_value)
{
    FILE *out = fopen("data.csv", "w");
    assert_non_null(out);
    for (int line = -1; line < (twice ? 2 * rows : rows); line++) {
        const int row = !twice ? line : line < 0 ? -1 : line / 2;
        bool first = true;
        for (int i = 0; i < f->n; i++) {
            if (i == without) continue;
            if (!first) fputc(',', out);
            first = false;
            if (row < 0)
                fputs(f->column[i], out);
            else if (opt_value != NULL && !holds_names(f, f->column[i]))
                fputs(opt_value, out);
            else
                write_value(out, f, f->column[i], row);
        }
        if (twice && row < 0)
            fputs(",unknown", out);
        else if (twice)
            fprintf(out, ",%d", line % 2);
        fputc('\n', out);
    }
    fclose(out);
    unlink("figure.svg");
}

static void draw_in_size(spec_child *c, const figure *f, const char *size)
{
    char arguments[160];
    snprintf(arguments, sizeof arguments, "plot data.csv -F %.*s -o figure.svg --size %.20s",
             NAME_SIZE, f->name, size);
    spec_child_run(c, arguments);
}

static void draw(spec_child *c, const figure *f)
{
    draw_in_size(c, f, "900x600px");
}

/* The cells of serve_schedule show numbers, which are not labels of axes. */
static void check_axes(const figure *f)
{
    if (strcmp(f->name, "serve_schedule") != 0) spec_picture_axes_labelled("figure.svg", f->name);
}

TEST(every_figure_is_drawn_from_its_columns_with_texts_apart, SLOW)
{
    static figure figures[FIGURES_MAX];
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        for (int rows = 1; rows <= 6; rows += 5) {
            spec_child c;
            write_csv(&figures[i], rows, -1, NULL);
            draw(&c, &figures[i]);
            if (c.code != 0) fail_msg("%s, %d rows: %s", figures[i].name, rows, c.line);
            if (rows > 1) {
                spec_picture_check("figure.svg");
                spec_picture_texts_apart("figure.svg", figures[i].name);
                check_axes(&figures[i]);
            }
            assert_int_equal(access("figure.svg", R_OK), 0);
            spec_child_free(&c);
        }
    }
}

/* If prompts have no categories, the column exists but is empty. */
TEST(an_optional_column_of_names_may_be_empty)
{
    static const figure drive = {.name = "drive"};
    spec_child c;
    spec_needs_program();
    spec_file_write("data.csv", "concurrency,category,K,speedup\n1,,0,1\n1,,2,1.5\n4,,0,1\n");
    draw(&c, &drive);
    if (c.code != 0) fail_msg("%s", c.line);
    spec_child_free(&c);
}

/* At the usual size they are checked above. */
TEST(texts_are_apart_in_a_small_figure, SLOW)
{
    static figure figures[FIGURES_MAX];
    int drawn = 0;
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        spec_child c;
        write_csv(&figures[i], 6, -1, NULL);
        draw_in_size(&c, &figures[i], "8x6cm");
        if (c.code == 0) {
            spec_picture_texts_apart("figure.svg", figures[i].name);
            check_axes(&figures[i]);
            drawn++;
        } else {
            char size[32];
            const char *room = strstr(c.line, "; --size ");
            if (strstr(c.line, "the figure has no room for its ") == NULL || room == NULL ||
                sscanf(room, "; --size %31s has room", size) != 1)
                fail_msg("%s: %s", figures[i].name, c.line);
            spec_child_free(&c);
            draw_in_size(&c, &figures[i], size);
            assert_int_equal(c.code, 0);
        }
        spec_child_free(&c);
    }
    assert_true(drawn > n / 2);
}

/* A legend, a panel and a name beside the axis. */
TEST(a_rule_that_is_not_lossless_is_marked_in_every_figure, SLOW)
{
    static figure figures[FIGURES_MAX];
    static const char *const rules[][2] = {{"hsd", "hsd (lossy)"},
                                           {"lenience?l=0.5", "lenience, l = 0.5 (lossy)"},
                                           {"greedy", "greedy (T = 0 only)"},
                                           {"resample-target", "resample-target (wrong)"},
                                           {"block", "block"}};
    int drawn = 0;
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        for (size_t r = 0; has(&figures[i], "rule") && r < sizeof rules / sizeof rules[0]; r++) {
            spec_child c;
            rule = rules[r][0];
            write_csv(&figures[i], 6, -1, NULL);
            rule = NULL;
            draw(&c, &figures[i]);
            assert_int_equal(c.code, 0);
            spec_child_free(&c);
            char *svg = spec_file_bytes("figure.svg");
            if (strstr(svg, rules[r][1]) == NULL || strstr(svg, "block (") != NULL)
                fail_msg("%s does not show %s", figures[i].name, rules[r][1]);
            free(svg);
            drawn++;
        }
    }
    assert_true(drawn > 10);
}

/* Of settings at the same point one label is shown; a small figure shows none. */
TEST(labels_that_collide_are_left_out)
{
    static const figure lossy = {.name = "lossy"};
    static const char *const sizes[] = {"900x600px", "8x6cm"};
    spec_needs_program();
    spec_file_write("data.csv",
                    "tv,mean_n_accepted,rule,family,K\n0.4,0.9,lenience?l=0.123,lenience,1\n"
                    "0.4,0.9,lenience?l=0.045,lenience,1\n"
                    "0,0.5,block-greedy,block-greedy,1\n");
    for (int s = 0; s < 2; s++) {
        spec_child c;
        draw_in_size(&c, &lossy, sizes[s]);
        assert_int_equal(c.code, 0);
        char *svg = spec_file_bytes("figure.svg");
        assert_int_equal(strstr(svg, ">0.123<") != NULL, s == 0);
        assert_null(strstr(svg, ">0.045<"));
        free(svg);
        spec_picture_texts_apart("figure.svg", sizes[s]);
        spec_child_free(&c);
    }
}

/* The error of a script follows gnuplot's warnings. */
TEST(a_figure_without_room_says_so)
{
    static const figure lossy = {.name = "lossy"};
    spec_child c;
    spec_needs_program();
    spec_file_write("data.csv", "tv,mean_n_accepted,rule,family,K\n0.4,0.9,token,token,1\n");
    draw_in_size(&c, &lossy, "3x3cm");
    spec_child_says(&c, "lossy", SPEC_EXIT_USAGE,
                    "speclab plot: data.csv is not drawn: the figure has no room for its panels");
    spec_child_free(&c);
}

TEST(every_missing_column_is_named)
{
    static figure figures[FIGURES_MAX];
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        for (int missing = 0; missing < figures[i].n; missing++) {
            spec_child c;
            char begin[160];
            write_csv(&figures[i], 3, missing, NULL);
            draw(&c, &figures[i]);
            snprintf(begin, sizeof begin,
                     "speclab plot: data.csv has no column '%s', which the figure '%s' needs",
                     figures[i].column[missing], figures[i].name);
            spec_child_says(&c, figures[i].name, SPEC_EXIT_USAGE, begin);
            assert_int_not_equal(access("figure.svg", F_OK), 0);
            spec_child_free(&c);
        }
    }
}

/* Rows that differ in a column that the figure does not use are not joined by a line. */
TEST(rows_of_one_place_are_never_joined)
{
    static const char *const without_lines[] = {
        "z", "published", "p_values", "tree", "copy_drafts", "rules_real_text", "lengths"};
    static figure figures[FIGURES_MAX];
    int refused = 0;
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        spec_child c;
        bool lines = true;
        for (size_t w = 0; w < sizeof without_lines / sizeof without_lines[0]; w++)
            lines = lines && strcmp(figures[i].name, without_lines[w]) != 0;
        twice = true;
        write_csv(&figures[i], 6, -1, NULL);
        twice = false;
        draw(&c, &figures[i]);
        if (c.code == 0) {
            if (lines && strstr(c.line, "so no line joins them; they differ in unknown") == NULL)
                fail_msg("%s joins rows of one place", figures[i].name);
        } else {
            refused++;
            if (strstr(c.line, "several rows fall on one point of the figure") == NULL ||
                strstr(c.line, "which differ in unknown") == NULL)
                fail_msg("%s: %s", figures[i].name, c.line);
        }
        spec_child_free(&c);
    }
    assert_true(refused > 15);
}

/* The text after "# key: " in the lines of the script, or "". */
static void header(char *value, size_t size, const char *script, const char *key)
{
    char begin[32];
    snprintf(begin, sizeof begin, "\n# %s: ", key);
    value[0] = '\0';
    for (const char *at = script; (at = strstr(at, begin)) != NULL; at++) {
        const char *words = at + strlen(begin);
        const size_t used = strlen(value);
        snprintf(value + used, size - used, "%s%.*s", used > 0 ? " " : "",
                 (int)strcspn(words, "\n"), words);
    }
}

/* Returns whether the text has the words, ignoring case. */
static bool says(const char *text, const char *words)
{
    const size_t n = strlen(words);
    for (; *text != '\0'; text++)
        if (strncasecmp(text, words, n) == 0) return true;
    return false;
}

/* A quantity in the title is on an axis, too. */
TEST(the_title_names_the_quantity_of_an_axis, SLOW)
{
    static const char *const quantities[] = {"tokens per round",
                                             "accepted tokens",
                                             "total variation",
                                             "latency",
                                             "overlap",
                                             "p-value",
                                             "acceptance at one position",
                                             "speed-up",
                                             "accepted draft tokens"};
    static figure figures[FIGURES_MAX];
    int found = 0;
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        spec_child c;
        char path[256], title[256];
        snprintf(path, sizeof path, "%.150s/plots/%.*s.gp", spec_folder_before, NAME_SIZE,
                 figures[i].name);
        char *script = spec_file_bytes(path);
        header(title, sizeof title, script, "title");
        free(script);
        write_csv(&figures[i], 6, -1, NULL);
        draw_in_size(&c, &figures[i], "900x600px --no-title");
        assert_int_equal(c.code, 0);
        spec_child_free(&c);
        char *svg = spec_file_bytes("figure.svg");
        for (size_t q = 0; q < sizeof quantities / sizeof quantities[0]; q++) {
            if (!says(title, quantities[q])) continue;
            found++;
            if (!says(svg, quantities[q]))
                fail_msg("%s has no axis of the '%s' in its title", figures[i].name, quantities[q]);
        }
        free(svg);
    }
    assert_true(found > 8);
}

static bool names_column(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

/* $DATA holds the declared columns: a script must read no other column, and at least one of
 * these. */
TEST(a_script_reads_the_columns_that_it_declares)
{
    static figure figures[FIGURES_MAX];
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        char path[256], needs[512], names[256], may_use[256], may_name[256], all[1400];
        char word[NAME_SIZE];
        snprintf(path, sizeof path, "%.150s/plots/%.*s.gp", spec_folder_before, NAME_SIZE,
                 figures[i].name);
        char *script = spec_file_bytes(path);
        header(needs, sizeof needs, script, "needs");
        header(names, sizeof names, script, "names");
        header(may_use, sizeof may_use, script, "may use");
        header(may_name, sizeof may_name, script, "may name");
        snprintf(all, sizeof all, "%s %s %s %s", needs, names, may_use, may_name);
        for (const char *at = script; (at = strstr(at, "column('")) != NULL; at++) {
            snprintf(word, sizeof word, "%.*s", (int)strcspn(at + 8, "'"), at + 8);
            if (!names_column(all, word))
                fail_msg("%s.gp reads '%s' and does not declare it", figures[i].name, word);
        }
        for (int c = 0; c < figures[i].n && needs[0] != '\0'; c++) {
            char quoted[NAME_SIZE + 2];
            snprintf(quoted, sizeof quoted, "'%s'", figures[i].column[c]);
            if (strstr(script, quoted) == NULL)
                fail_msg("%s.gp declares %s and does not read it", figures[i].name, quoted);
        }
        if (strstr(script, "system(") != NULL || strchr(script, '`') != NULL)
            fail_msg("%s.gp calls a shell", figures[i].name);
        free(script);
    }
}

/* Any numbers give a figure, or one line that is not gnuplot's, and no file. */
TEST(odd_data_give_a_figure_or_one_line, SLOW)
{
    static const char *const values[] = {"", "nan", "0", "-1", "1e300", "oops"};
    static figure figures[FIGURES_MAX];
    spec_needs_program();
    const int n = all_figures(figures);
    for (int i = 0; i < n; i++) {
        for (size_t v = 0; v <= sizeof values / sizeof values[0]; v++) {
            spec_child c;
            write_csv(&figures[i], v == 0 ? 0 : 3, -1, v == 0 ? "" : values[v - 1]);
            draw(&c, &figures[i]);
            if (c.code == 0) {
                assert_int_equal(access("figure.svg", R_OK), 0);
            } else {
                spec_child_says(&c, figures[i].name, SPEC_EXIT_USAGE, "speclab plot: data.csv");
                if (strstr(c.line, "gnuplot") != NULL) fail_msg("%s: %s", figures[i].name, c.line);
                assert_int_not_equal(access("figure.svg", F_OK), 0);
            }
            spec_child_free(&c);
        }
    }
}

static void page_has(const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%.150s/%s", spec_folder_before, file);
    char *bytes = spec_file_bytes(path);
    if (strstr(bytes, text) == NULL) fail_msg("%s does not have %s", file, text);
    free(bytes);
}

/* The colours of the best and the worst cell: those of style.gp, which are those of the page. */
TEST(gain_and_loss_have_the_colours_of_the_page)
{
    static const char *const commands[] = {"plot map.csv -F serve_map -o figure.svg",
                                           "plot map.csv --x K --y batch --heat speedup "
                                           "-o figure.svg"};
    spec_needs_program();
    spec_file_write("map.csv", "K,batch,context,speedup,break_even_context\n3,1,128,2,128\n"
                               "3,8,128,1,128\n3,64,128,0.5,128\n");
    for (int i = 0; i < 2; i++) {
        unlink("figure.svg");
        spec_program_works(commands[i]);
        char *svg = spec_file_bytes("figure.svg");
        const char *gain = strstr(svg, "fill = 'rgb(  0,  88, 142)'");
        if (gain == NULL || strstr(svg, "fill = 'rgb(213,  94,   0)'") == NULL)
            fail_msg("%s: not the colours of gain and loss", commands[i]);
        free(svg);
    }
    page_has("plots/style.gp", "GAIN = 0x00588E; EVEN = 0xF3F1EB; LOSS = 0xD55E00");
    page_has("web/js/heat.js", "[213, 94, 0]");
    page_has("web/js/heat.js", "[0, 88, 142]");
    page_has("plots/style.gp", "TARGET = 0x0072B2; DRAFT = 0xE69F00");
    page_has("web/page.css", "--target: #0072b2;");
    page_has("web/page.css", "--draft: #e69f00;");
    page_has("plots/style.gp", "ACCEPTED = 0x009E73; CORRECTION = 0xD55E00; BONUS = 0xCC79A7");
    page_has("web/page.css", "--accepted: #009e73;");
    page_has("web/page.css", "--rejected: #d55e00;");
    page_has("web/page.css", "--bonus: #cc79a7;");
}

TEST(every_experiment_can_be_drawn)
{
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "list experiments -f csv");
    assert_non_null(strstr(c.text, "experiment,speedup_table,"));
    assert_null(strstr(c.text, "the figure "));
    assert_null(strstr(c.text, "no figure"));
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
