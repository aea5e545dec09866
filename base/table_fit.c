/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/table.h"

#include "base/memory_text.h"
#include "base/text_width.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The smallest width of a text column; the smallest terminal on which columns are left out; blanks
 * between columns; the largest share of a line for names in the vertical format. */
enum { TEXT_LEAST = 12, WIDE = 80, GAP = 2, NAME_PART = 3, NUMBER_SIZE = 40 };

typedef enum { COLUMN_SHOWN, COLUMN_CONSTANT, COLUMN_EMPTY, COLUMN_LEFT_OUT } column_place;

typedef struct {
    const spec_table *table;
    int columns; /* of the terminal */
    struct fit_column {
        column_place place;
        bool is_text;
        int natural, least, width; /* name on one line; name with all breaks; as written */
    } *column;
} fit;

static const char *cell_text(const fit *f, size_t row, int c, char buffer[NUMBER_SIZE])
{
    return spec_cell_format(spec_table_cell(f->table, row, c), SPEC_FORMAT_TABLE, buffer,
                            NUMBER_SIZE);
}

/* ---- measures -------------------------------------------------------------------------------- */

/* The widest part of a name that breaks after underscores. */
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

static void measure(fit *f)
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
        const int name = spec_text_width(table->column[c]), part = name_least(table->column[c]);
        const int text_least = column->is_text && cells > TEXT_LEAST ? TEXT_LEAST : cells;
        column->natural = name > cells ? name : cells;
        column->least = part > text_least ? part : text_least;
        if (same) column->place = cells > 0 ? COLUMN_CONSTANT : COLUMN_EMPTY;
        any_differs = any_differs || !same;
    }
    if (!any_differs)
        f->column[0].place =
            COLUMN_SHOWN; /* shown even if all rows are equal, to show how many there are */
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

/* Whether a column qualifies another, as speedup_se qualifies speedup. */
static bool qualifies(const spec_table *table, int c)
{
    for (int other = 0; other < table->n_columns; other++) {
        const size_t n = strlen(table->column[other]);
        if (strncmp(table->column[c], table->column[other], n) == 0 && table->column[c][n] == '_')
            return true;
    }
    return false;
}

/* Leave out columns from the right, those that qualify others first, until the rest fits. False if
 * fewer than half would remain or the terminal is narrow. */
static bool leave_out(fit *f)
{
    const spec_table *table = f->table;
    int shown = 0, left = 0;
    for (int c = 0; c < table->n_columns; c++) shown += f->column[c].place == COLUMN_SHOWN;
    for (int qualifying = 1; qualifying >= 0; qualifying--) {
        for (int c = table->n_columns - 1; c > 0 && total_width(f, false) > f->columns; c--) {
            if (f->column[c].place != COLUMN_SHOWN || strcmp(table->column[c], "verdict") == 0)
                continue;
            if (qualifying && !qualifies(table, c)) continue;
            f->column[c].place = COLUMN_LEFT_OUT;
            left++;
        }
    }
    return total_width(f, false) <= f->columns &&
           (left == 0 || (f->columns >= WIDE && 2 * left <= shown));
}

/* Give free width to text columns in turns, then to numeric columns whose names it completes. */
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

/* These two return GSL_SUCCESS or GSL_ENOMEM. */
static int write_constants(const fit *f, FILE *out)
{
    char buffer[NUMBER_SIZE];
    size_t size;
    int constants = 0, empty = 0;
    spec_memory_text line;
    if (!spec_memory_text_open(&line)) return GSL_ENOMEM;
    for (int c = 0; c < f->table->n_columns; c++) {
        if (f->column[c].place != COLUMN_CONSTANT) continue;
        fprintf(line.out, "%s%s = %s", constants++ == 0 ? "In every row: " : ", ",
                f->table->column[c], cell_text(f, 0, c, buffer));
    }
    for (int c = 0; c < f->table->n_columns; c++) {
        if (f->column[c].place != COLUMN_EMPTY) continue;
        fprintf(line.out, "%s%s",
                empty++ > 0     ? ", "
                : constants > 0 ? "; empty: "
                                : "Empty in every row: ",
                f->table->column[c]);
    }
    char *text = spec_memory_text_take(&line, &size);
    if (text == NULL) return GSL_ENOMEM;
    if (size > 0) {
        spec_text_wrap(text, f->columns, 0, out);
        fputs("\n\n", out);
    }
    free(text);
    return GSL_SUCCESS;
}

static int write_left_out(const fit *f, FILE *out)
{
    int n = 0;
    spec_memory_text line;
    if (!spec_memory_text_open(&line)) return GSL_ENOMEM;
    for (int c = 0; c < f->table->n_columns; c++)
        if (f->column[c].place == COLUMN_LEFT_OUT)
            fprintf(line.out, "%s%s", n++ == 0 ? "Not shown: " : ", ", f->table->column[c]);
    if (n > 0) fputs(" (--wide shows all)", line.out);
    char *text = spec_memory_text_take(&line, NULL);
    if (text == NULL) return GSL_ENOMEM;
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

/* Write the cells of a row, whose remaining text is in `text`, line by line until all are empty.
 * Numbers are right-aligned and take one line. Column names are bottom-aligned: `skip` lines of a
 * column stay empty first. */
static void write_lines(const fit *f, const char **text, int *opt_skip, FILE *out)
{
    for (bool more = true; more;) {
        int pending =
            0; /* blanks are written before the next text only, so that no line ends with any */
        bool first = true;
        more = false;
        for (int c = 0; c < f->table->n_columns; c++) {
            const struct fit_column *column = &f->column[c];
            if (column->place != COLUMN_SHOWN) continue;
            int width = 0;
            size_t n = 0;
            if (opt_skip != NULL && opt_skip[c] > 0) opt_skip[c]--;
            else n = spec_text_line(text[c], column->width, &width);
            size_t shown = n;
            while (shown > 0 && text[c][shown - 1] == ' ') shown--;
            if (!first) pending += GAP;
            if (!column->is_text) pending += column->width - width;
            if (shown > 0) {
                pad(pending, out);
                pending = 0;
                spec_text_write(text[c], shown, out);
            }
            if (column->is_text) pending += column->width - width;
            text[c] += n;
            more = more || *text[c] != '\0';
            first = false;
        }
        fputc('\n', out);
    }
}

/* Lines that a name takes at a column's width; spec_text_line breaks it after underscores. */
static int name_lines(const char *name, int width)
{
    int lines = 0, shown;
    for (; *name != '\0'; lines++) name += spec_text_line(name, width, &shown);
    return lines;
}

static int write_rows(const fit *f, FILE *out)
{
    const int n = f->table->n_columns;
    const char **text = calloc((size_t)n, sizeof *text);
    char(*buffer)[NUMBER_SIZE] = calloc((size_t)n, sizeof *buffer);
    int *skip = calloc((size_t)n, sizeof *skip), most = 1, status = GSL_ENOMEM;
    if (text == NULL || buffer == NULL || skip == NULL) goto done;
    for (int c = 0; c < n; c++) {
        text[c] = f->table->column[c];
        if (f->column[c].place == COLUMN_SHOWN) skip[c] = name_lines(text[c], f->column[c].width);
        if (skip[c] > most) most = skip[c];
    }
    for (int c = 0; c < n; c++) skip[c] = most - skip[c];
    write_lines(f, text, skip, out);
    for (size_t r = 0; r < f->table->n_rows; r++) {
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

static int fit_init(fit *f, const spec_table *table, int columns)
{
    *f = (fit){.table = table, .columns = columns};
    if (table->lost) return GSL_ENOMEM;
    f->column =
        calloc((size_t)table->n_columns, sizeof *f->column); /* zero: every column is shown */
    return f->column != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

int spec_table_write_fitting(const spec_table *table, int columns, FILE *out, spec_error *error)
{
    fit f;
    int status;
    SPEC_TRY(fit_init(&f, table, columns));
    measure(&f);
    if (total_width(&f, true) <= columns) {
        SPEC_TRY(spec_table_write(table, SPEC_FORMAT_TABLE, out, error));
        goto done;
    }
    SPEC_TRY(write_constants(&f, out));
    if (leave_out(&f)) {
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
    const int status = fit_init(&f, table, columns);
    if (status == GSL_SUCCESS) write_blocks(&f, out);
    free(f.column);
    return status;
}
