/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/table.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "base/text_width.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_LEAST = 12, /* the smallest width of a text column */
    NAME = 24,       /* texts up to this width are never cut */
    WIDE = 80,       /* without a list, no column is left out on narrower screens */
    FEWEST = 3,      /* columns that still make a useful table */
    GAP = 2,         /* blanks between columns */
    NAME_PART = 3,   /* vertical: names take at most 1 / NAME_PART of a line */
    BELOW = 4,       /* lines below a table: a note, a sentence and the prompt */
    NOTE = 30,       /* width of the note about missing columns, without their names */
    VERDICT = -INT_MAX, /* rank of `verdict`, before the listed columns */
    NUMBER_SIZE = 40
};

typedef enum { COLUMN_SHOWN, COLUMN_CONSTANT, COLUMN_EMPTY, COLUMN_LEFT_OUT } column_place;

typedef struct {
    const spec_table *table;
    int columns; /* width of the terminal */
    int lines;   /* height of the terminal; 0: headings are not repeated */
    struct fit_column {
        column_place place;
        bool is_text;
        bool whole; /* its texts are neither wrapped nor cut */
        bool cuts;  /* its long texts are cut, and end with ".." */
        int rank;                  /* the most important is the lowest */
        int natural, least, width; /* width if the name is on one line, if it breaks everywhere, and
                                      as it is written */
    } *column;
} fit;

static const char *cell_text(const fit *f, size_t row, int c, char buffer[NUMBER_SIZE])
{
    return spec_table_shown(f->table, row, c, SPEC_FORMAT_TABLE, buffer, NUMBER_SIZE);
}

/* ---- measures -------------------------------------------------------------------------------- */

/* Returns the widest part of a name that breaks after underscores. */
static int name_least(const char *name)
{
    int least = 0;
    while (*name != '\0') {
        int n = (int)strcspn(name, "_ ");
        n += name[n] == '_';
        if (n > least) least = n;
        name += n + (name[n] == ' ');
    }
    return least;
}

/* If there is a single row, its keys need no column, just like a value that all rows share. */
static void measure(fit *f, int n_keys)
{
    char buffer[NUMBER_SIZE], other[NUMBER_SIZE];
    const spec_table *table = f->table;
    bool any_differs = false;
    for (int c = 0; c < table->n_columns; c++) {
        struct fit_column *column = &f->column[c];
        int cells = 0;
        bool same = table->n_rows > 1;
        for (size_t r = 0; r < table->n_rows; r++) {
            const char *text = cell_text(f, r, c, buffer);
            const int width = spec_text_width(text);
            if (width > cells) cells = width;
            if (spec_table_cell(table, r, c)->kind == SPEC_CELL_TEXT) column->is_text = true;
            same = same && strcmp(text, cell_text(f, 0, c, other)) == 0;
        }
        const bool is_key = column->rank > VERDICT && column->rank <= VERDICT + n_keys;
        if (table->n_rows == 1) same = cells == 0 || is_key;
        const int name = spec_text_width(table->column[c]), part = name_least(table->column[c]);
        const bool shrinks =
            column->is_text && !column->whole && cells > (column->cuts ? NAME : TEXT_LEAST);
        const int text_least = shrinks ? TEXT_LEAST : cells;
        column->natural = name > cells ? name : cells;
        column->least = part > text_least ? part : text_least;
        if (same) column->place = cells > 0 ? COLUMN_CONSTANT : COLUMN_EMPTY;
        any_differs = any_differs || !same;
    }
    if (!any_differs)
        f->column[0].place =
            COLUMN_SHOWN; /* shown even if all rows are equal, so that one can count them */
}

static int total_width(const fit *f, bool natural)
{
    int total = 0;
    for (int c = 0; c < f->table->n_columns; c++) {
        const struct fit_column *column = &f->column[c];
        if (natural || column->place == COLUMN_SHOWN)
            total += GAP + (natural ? column->natural : column->least);
    }
    return total - GAP;
}

/* Returns whether a column qualifies another, as speedup_se qualifies speedup. */
static bool qualifies(const spec_table *table, int c)
{
    for (int other = 0; other < table->n_columns; other++) {
        const size_t n = strlen(table->column[other]);
        if (strncmp(table->column[c], table->column[other], n) == 0 && table->column[c][n] == '_')
            return true;
    }
    return false;
}

/* Ranks the columns: `verdict`, then the listed ones, then the others from left to right, and last
 * those that qualify others. If there is no list, the first column is treated as listed. */
static void rank(fit *f, const char *const *opt_first)
{
    const spec_table *table = f->table;
    const int n = table->n_columns;
    for (int c = 0; c < n; c++) {
        const char *name = table->column[c];
        int at = 0;
        while (opt_first != NULL && opt_first[at] != NULL && strcmp(opt_first[at], name) != 0) at++;
        const bool listed = opt_first != NULL ? opt_first[at] != NULL : c == 0;
        const bool verdict = strcmp(name, "verdict") == 0;
        f->column[c].rank = verdict               ? VERDICT
                            : listed              ? VERDICT + 1 + at
                            : qualifies(table, c) ? n + c
                                                  : c;
        f->column[c].cuts = opt_first != NULL && listed;
        f->column[c].whole = opt_first != NULL && !listed;
    }
}

/* Returns the most important left-out column that ranks after `rank`, or -1. */
static int next_in_rank(const fit *f, int rank)
{
    int next = -1;
    for (int c = 0; c < f->table->n_columns; c++)
        if (f->column[c].place == COLUMN_LEFT_OUT && f->column[c].rank > rank &&
            (next < 0 || f->column[c].rank < f->column[next].rank))
            next = c;
    return next;
}

/* Allows long texts of a column to be cut, or wrapped if there is a single row. */
static void shorten(fit *f, int c)
{
    struct fit_column *column = &f->column[c];
    const int part = name_least(f->table->column[c]);
    if (!column->is_text || !column->whole || column->least <= NAME) return;
    column->whole = false;
    column->cuts = f->table->n_rows > 1;
    column->least = part > TEXT_LEAST ? part : TEXT_LEAST;
}

/* Shows columns in order of rank, as long as they fit. Returns false if too few columns fit. */
static bool choose(fit *f, bool by_list)
{
    int candidates = 0, shown = 0;
    for (int c = 0; c < f->table->n_columns; c++) {
        if (f->column[c].place != COLUMN_SHOWN) continue;
        f->column[c].place = COLUMN_LEFT_OUT;
        candidates++;
    }
    for (int c = -1; (c = next_in_rank(f, c < 0 ? INT_MIN : f->column[c].rank)) >= 0;) {
        f->column[c].place = COLUMN_SHOWN;
        if (total_width(f, false) > f->columns) shorten(f, c);
        if (total_width(f, false) <= f->columns)
            shown++;
        else
            f->column[c].place = COLUMN_LEFT_OUT;
    }
    if (shown == candidates) return true;
    return by_list ? shown >= FEWEST : f->columns >= WIDE && 2 * shown >= candidates;
}

/* Gives free width to text columns in turn, then to numeric columns whose names it completes. */
static void share_out(fit *f)
{
    const int n = f->table->n_columns;
    int left = f->columns - total_width(f, false);
    bool any = true;
    for (int c = 0; c < n; c++) f->column[c].width = f->column[c].least;
    while (any && left > 0) {
        any = false;
        for (int c = 0; c < n && left > 0; c++) {
            struct fit_column *column = &f->column[c];
            if (column->place != COLUMN_SHOWN || !column->is_text ||
                column->width >= column->natural)
                continue;
            column->width++;
            left--;
            any = true;
        }
    }
    for (int c = 0; c < n; c++) {
        struct fit_column *column = &f->column[c];
        if (column->place != COLUMN_SHOWN || column->natural - column->width > left) continue;
        left -= column->natural - column->width;
        column->width = column->natural;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_cut_at(const struct fit_column *column, const char *text)
{
    return column->cuts && column->is_text && spec_text_width(text) > column->width;
}

/* Returns how many bytes fit, without trailing blanks. */
static size_t beginning(const char *text, int columns, int *ret_width)
{
    size_t n = 0;
    *ret_width = 0;
    while (*ret_width < columns && text[n] != '\0') {
        int width;
        const size_t more = spec_text_line(text + n, columns - *ret_width, &width);
        if (*ret_width + width > columns) break; /* a wide character */
        n += more;
        *ret_width += width + (text[n - 1] == ' '); /* spec_text_line leaves out a final blank */
    }
    for (; n > 0 && text[n - 1] == ' '; n--) (*ret_width)--;
    return n;
}

static bool has_cut(const fit *f, int c)
{
    char buffer[NUMBER_SIZE];
    bool cut = false;
    for (size_t r = 0; r < f->table->n_rows && f->column[c].place == COLUMN_SHOWN; r++)
        cut = cut || is_cut_at(&f->column[c], cell_text(f, r, c, buffer));
    return cut;
}

/* These two return GSL_SUCCESS or GSL_ENOMEM. */
static int write_constants(const fit *f, FILE *out)
{
    char buffer[NUMBER_SIZE];
    int n = 0;
    spec_memory_text line;
    if (!spec_memory_text_open(&line)) return GSL_ENOMEM;
    for (int c = 0; c < f->table->n_columns; c++)
        if (f->column[c].place == COLUMN_CONSTANT)
            fprintf(line.out, "%s%s = %s", n++ == 0 ? "In every row: " : ", ", f->table->column[c],
                    cell_text(f, 0, c, buffer));
    char *text = spec_memory_text_take(&line, NULL);
    if (text == NULL) return GSL_ENOMEM;
    if (n > 0) {
        spec_text_wrap(text, f->columns, 0, out);
        fputs("\n\n", out);
    }
    free(text);
    return GSL_SUCCESS;
}

/* Names the columns that are not shown, or counts them if the names do not fit on a line. */
static int write_left_out(const fit *f, FILE *out)
{
    int n = 0;
    spec_memory_text line;
    if (!spec_memory_text_open(&line)) return GSL_ENOMEM;
    for (int c = 0; c < f->table->n_columns; c++) {
        const bool cut = has_cut(f, c);
        if (!cut && f->column[c].place != COLUMN_LEFT_OUT && f->column[c].place != COLUMN_EMPTY)
            continue;
        fprintf(line.out, "%s%s%s", n++ == 0 ? "" : ", ", cut ? "part of " : "",
                f->table->column[c]);
    }
    char *names = spec_memory_text_take(&line, NULL), *text = NULL;
    if (names == NULL) return GSL_ENOMEM;
    const bool fits = spec_text_width(names) + NOTE <= f->columns;
    const bool made = (fits ? asprintf(&text, "Not shown: %s (--all shows them)", names)
                            : asprintf(&text, "Not shown: %d of %d columns (--all shows them)", n,
                                       f->table->n_columns)) >= 0;
    free(names);
    if (!made) return GSL_ENOMEM;
    if (n > 0) {
        fputc('\n', out);
        spec_text_wrap(text, f->columns, 0, out);
        fputc('\n', out);
    }
    free(text);
    return GSL_SUCCESS;
}

static void pad(int n, FILE *out)
{
    if (n > 0) fprintf(out, "%*s", n, "");
}

/* Writes the cells of a row, whose remaining text is in `text`, line by line until all are empty.
 * Numbers are right-aligned and take one line. Column names are bottom-aligned: `skip` lines of a
 * column stay empty first. */
static void write_lines(const fit *f, const char **text, int *opt_skip, FILE *out)
{
    for (bool more = true; more;) {
        int pending =
            0; /* blanks are written only before the next text, so that no line ends with one */
        bool first = true;
        more = false;
        for (int c = 0; c < f->table->n_columns; c++) {
            const struct fit_column *column = &f->column[c];
            if (column->place != COLUMN_SHOWN) continue;
            int width = 0;
            size_t n = 0;
            const bool is_cut = opt_skip == NULL && is_cut_at(column, text[c]);
            if (opt_skip != NULL && opt_skip[c] > 0)
                opt_skip[c]--;
            else if (is_cut)
                n = beginning(text[c], column->width - 2, &width);
            else
                n = spec_text_line(text[c], column->width, &width);
            size_t shown = n;
            while (shown > 0 && text[c][shown - 1] == ' ') shown--;
            if (!first) pending += GAP;
            if (!column->is_text) pending += column->width - width;
            if (shown > 0) {
                pad(pending, out);
                pending = 0;
                spec_escape_line(out, text[c], shown);
            }
            if (is_cut) {
                fputs("..", out);
                width += 2;
                n = strlen(text[c]);
            }
            if (column->is_text) pending += column->width - width;
            text[c] += n;
            more = more || *text[c] != '\0';
            first = false;
        }
        fputc('\n', out);
    }
}

/* Returns how many lines a name takes at this width; spec_text_line breaks it after underscores. */
static int name_lines(const char *name, int width)
{
    int lines = 0, shown;
    for (; *name != '\0'; lines++) name += spec_text_line(name, width, &shown);
    return lines;
}

static int heading_lines(const fit *f)
{
    int most = 1;
    for (int c = 0; c < f->table->n_columns; c++) {
        const struct fit_column *column = &f->column[c];
        if (column->place != COLUMN_SHOWN) continue;
        const int lines = name_lines(f->table->column[c], column->width);
        if (lines > most) most = lines;
    }
    return most;
}

static void write_heading(const fit *f, const char **text, int *skip, FILE *out)
{
    const int most = heading_lines(f);
    for (int c = 0; c < f->table->n_columns; c++) {
        text[c] = f->table->column[c];
        skip[c] =
            f->column[c].place != COLUMN_SHOWN ? 0 : most - name_lines(text[c], f->column[c].width);
    }
    write_lines(f, text, skip, out);
}

/* Returns how many rows follow a heading: few enough that every screen shows one. */
static size_t page_of(const fit *f)
{
    const int heading = heading_lines(f), all = f->lines - heading - BELOW, page = all - heading;
    const size_t n = f->table->n_rows;
    return f->lines <= 0 || page <= 0 || n <= (size_t)all ? n + 1 : (size_t)page;
}

static int write_rows(const fit *f, FILE *out)
{
    const int n = f->table->n_columns;
    const char **text = calloc((size_t)n, sizeof *text);
    char(*buffer)[NUMBER_SIZE] = calloc((size_t)n, sizeof *buffer);
    int *skip = calloc((size_t)n, sizeof *skip), status = GSL_ENOMEM;
    if (text == NULL || buffer == NULL || skip == NULL) goto done;
    const size_t page = page_of(f);
    if (f->table->n_rows == 0) write_heading(f, text, skip, out);
    for (size_t r = 0; r < f->table->n_rows; r++) {
        if (r % page == 0) write_heading(f, text, skip, out);
        for (int c = 0; c < n; c++) text[c] = cell_text(f, r, c, buffer[c]);
        write_lines(f, text, NULL, out);
    }
    status = GSL_SUCCESS;
done:
    free(text);
    free(buffer);
    free(skip);
    return status;
}

static void write_blocks(const fit *f, FILE *out)
{
    char buffer[NUMBER_SIZE];
    const spec_table *table = f->table;
    int name = 0;
    for (int c = 0; c < table->n_columns; c++) {
        const int width =
            f->column[c].place == COLUMN_SHOWN ? spec_text_width(table->column[c]) : 0;
        if (width > name) name = width;
    }
    if (f->columns > 0 && name > f->columns / NAME_PART) name = f->columns / NAME_PART;
    for (size_t r = 0; r < table->n_rows; r++) {
        if (r > 0) fputc('\n', out);
        for (int c = 0; c < table->n_columns; c++) {
            const char *text = cell_text(f, r, c, buffer);
            const int width = spec_text_width(table->column[c]);
            if (*text == '\0' || f->column[c].place != COLUMN_SHOWN) continue;
            spec_text_wrap(table->column[c], f->columns, 0, out);
            if (width > name) fprintf(out, "\n%*s", name, "");
            pad(name - width, out);
            pad(GAP, out);
            spec_text_wrap(text, f->columns > 0 ? f->columns - name - GAP : 0, name + GAP, out);
            fputc('\n', out);
        }
    }
}

/* ---- public ---------------------------------------------------------------------------------- */

static int fit_init(fit *f, const spec_table *table, int columns, int lines)
{
    *f = (fit){.table = table, .columns = columns, .lines = lines};
    if (table->lost) return GSL_ENOMEM;
    f->column =
        calloc((size_t)table->n_columns, sizeof *f->column); /* zero: every column is shown */
    return f->column != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

int spec_table_write_fitting(const spec_table *table, const spec_table_screen *screen, FILE *out,
                             spec_error *error)
{
    fit f;
    int status;
    SPEC_TRY(fit_init(&f, table, screen->columns, screen->lines));
    rank(&f, screen->opt_first);
    measure(&f, screen->n_keys);
    const bool fits = total_width(&f, true) <= f.columns;
    for (int c = 0; fits && c < table->n_columns; c++) f.column[c].place = COLUMN_SHOWN;
    if (!fits) SPEC_TRY(write_constants(&f, out));
    if (fits || choose(&f, screen->opt_first != NULL)) {
        share_out(&f);
        SPEC_TRY(write_rows(&f, out));
        SPEC_TRY(write_left_out(&f, out));
    } else {
        for (int c = 0; c < table->n_columns; c++)
            if (f.column[c].place == COLUMN_LEFT_OUT) f.column[c].place = COLUMN_SHOWN;
        write_blocks(&f, out);
    }
done:
    free(f.column);
    if (status == GSL_ENOMEM) spec_fail(error, status, "out of memory while a table was written");
    return status;
}

int spec_table_write_vertical(const spec_table *table, int columns, FILE *out)
{
    fit f;
    const int status = fit_init(&f, table, columns, 0);
    if (status == GSL_SUCCESS) write_blocks(&f, out);
    free(f.column);
    return status;
}
