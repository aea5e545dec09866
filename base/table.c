/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/table.h"

#include "base/escape.h"
#include "base/json_memory.h"
#include "base/memory_text.h"
#include "base/text_width.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 40 };

/* ---- cells and rows -------------------------------------------------------------------------- */

int spec_table_init(spec_table *table, const char *const *columns, int n_columns)
{
    assert(n_columns > 0);
    *table = (spec_table){.n_columns = n_columns};
    table->column = calloc((size_t)n_columns, sizeof *table->column);
    table->row = calloc((size_t)n_columns, sizeof *table->row);
    table->provenance = strdup("");
    bool whole = table->column != NULL && table->row != NULL && table->provenance != NULL;
    for (int i = 0; whole && i < n_columns; i++)
        whole = (table->column[i] = strdup(columns[i])) != NULL;
    if (whole) return GSL_SUCCESS;
    spec_table_free(table);
    return GSL_ENOMEM;
}

void spec_table_free(spec_table *table)
{
    for (int i = 0; i < table->n_columns; i++) {
        if (table->column != NULL) free(table->column[i]);
        if (table->row != NULL) free(table->row[i].text);
    }
    for (size_t i = 0; i < table->n_rows * (size_t)table->n_columns; i++) free(table->cell[i].text);
    free(table->column);
    free(table->row);
    free(table->cell);
    free(table->provenance);
    free(table->unfinished);
    *table = (spec_table){0};
}

int spec_table_column(const spec_table *table, const char *name)
{
    for (int i = 0; i < table->n_columns; i++)
        if (strcmp(table->column[i], name) == 0) return i;
    return -1;
}

static spec_cell *row_cell(spec_table *table, const char *column)
{
    int i = spec_table_column(table, column);
    assert(i >= 0);
    spec_cell *cell = &table->row[i];
    free(cell->text);
    *cell = (spec_cell){.kind = SPEC_CELL_EMPTY};
    return cell;
}

void spec_table_number(spec_table *table, const char *column, double value)
{
    spec_cell *cell = row_cell(table, column);
    char printed[NUMBER_SIZE];
    if (isnan(value)) return;
    /* Stored as it prints, so that a row read back from CSV equals the row written. */
    snprintf(printed, sizeof printed, "%.10g",
             value + 0.0); /* avoids -0, which would be read back as the integer 0 */
    *cell = (spec_cell){.kind = SPEC_CELL_NUMBER, .number = strtod(printed, NULL)};
    /* The difference is exact, because the two are so close. */
    if (isfinite(cell->number)) cell->rest = value - cell->number;
}

void spec_table_integer(spec_table *table, const char *column, long long value)
{
    *row_cell(table, column) = (spec_cell){.kind = SPEC_CELL_INTEGER, .integer = value};
}

void spec_table_whole(spec_table *table, const char *column, double value)
{
    if (fabs(value) < 0x1p53)
        spec_table_integer(table, column, (long long)value);
    else
        spec_table_number(table, column, value);
}

void spec_table_text(spec_table *table, const char *column, const char *value)
{
    spec_cell *cell = row_cell(table, column);
    cell->text = strdup(value);
    cell->kind = SPEC_CELL_TEXT; /* _append detects a NULL text (out of memory) */
}

void spec_table_interval(spec_table *table, const char *name, double value, double low, double high)
{
    char column[64];
    spec_table_number(table, name, value);
    snprintf(column, sizeof column, "%s_low", name);
    spec_table_number(table, column, low);
    snprintf(column, sizeof column, "%s_high", name);
    spec_table_number(table, column, high);
}

int spec_table_append(spec_table *table)
{
    size_t width = (size_t)table->n_columns;
    for (size_t i = 0; i < width; i++)
        if (table->row[i].kind == SPEC_CELL_TEXT && table->row[i].text == NULL) table->lost = true;
    if (table->lost) return GSL_ENOMEM;
    if (table->n_rows == table->capacity) {
        size_t capacity = table->capacity == 0 ? 16 : 2 * table->capacity;
        spec_cell *cell = realloc(table->cell, capacity * width * sizeof *cell);
        table->lost = cell == NULL;
        if (table->lost) return GSL_ENOMEM;
        table->cell = cell;
        table->capacity = capacity;
    }
    memcpy(&table->cell[table->n_rows * width], table->row, width * sizeof *table->row);
    memset(table->row, 0, width * sizeof *table->row); /* the texts now belong to the table */
    table->n_rows++;
    return GSL_SUCCESS;
}

void spec_table_clear(spec_table *table)
{
    for (size_t i = 0; i < table->n_rows * (size_t)table->n_columns; i++) free(table->cell[i].text);
    for (int i = 0; i < table->n_columns; i++) {
        free(table->row[i].text);
        table->row[i] = (spec_cell){.kind = SPEC_CELL_EMPTY};
    }
    table->n_rows = 0;
}

const spec_cell *spec_table_cell(const spec_table *table, size_t row, int column)
{
    assert(row < table->n_rows && column >= 0 && column < table->n_columns);
    return &table->cell[row * (size_t)table->n_columns + (size_t)column];
}

double spec_cell_number(const spec_cell *cell)
{
    if (cell->kind == SPEC_CELL_NUMBER) return cell->number;
    return cell->kind == SPEC_CELL_INTEGER ? (double)cell->integer : NAN;
}

double spec_cell_exact(const spec_cell *cell)
{
    return cell->kind == SPEC_CELL_NUMBER ? cell->number + cell->rest : spec_cell_number(cell);
}

int spec_cell_copy(spec_cell *into, const spec_cell *from)
{
    char *text = NULL;
    if (from->kind == SPEC_CELL_TEXT && (text = strdup(from->text)) == NULL) return GSL_ENOMEM;
    free(into->text);
    *into = *from;
    into->text = text;
    return GSL_SUCCESS;
}

int spec_table_select(spec_table *ret, const spec_table *table, const int *columns, int n_columns,
                      const size_t *opt_rows, size_t n_rows)
{
    int status = GSL_SUCCESS;
    const char **name = calloc((size_t)n_columns, sizeof *name);
    *ret = (spec_table){0};
    if (name == NULL) return GSL_ENOMEM;
    for (int c = 0; c < n_columns; c++) name[c] = table->column[columns[c]];
    SPEC_TRY(spec_table_init(ret, name, n_columns));
    for (size_t i = 0; i < n_rows; i++) {
        const size_t r = opt_rows != NULL ? opt_rows[i] : i;
        for (int c = 0; c < n_columns; c++)
            SPEC_TRY(spec_cell_copy(&ret->row[c], spec_table_cell(table, r, columns[c])));
        SPEC_TRY(spec_table_append(ret));
    }
done:
    free(name);
    if (status != GSL_SUCCESS) spec_table_free(ret);
    return status;
}

const char *spec_cell_format(const spec_cell *cell, spec_format format, char *buffer, size_t size)
{
    bool exact = format == SPEC_FORMAT_CSV || format == SPEC_FORMAT_JSON;
    buffer[0] = '\0';
    switch (cell->kind) {
    case SPEC_CELL_EMPTY: break;
    case SPEC_CELL_NUMBER: snprintf(buffer, size, exact ? "%.10g" : "%.6g", cell->number); break;
    case SPEC_CELL_INTEGER: snprintf(buffer, size, "%lld", cell->integer); break;
    case SPEC_CELL_TEXT: return cell->text;
    }
    return buffer;
}

static bool is_distance(const char *column)
{
    static const char *const distances[] = {"tv", "worst_tv", "least_tv", "max_error"};
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++)
        if (strcmp(column, distances[i]) == 0) return true;
    return false;
}

const char *spec_table_shown(const spec_table *table, size_t row, int column, spec_format format,
                             char *buffer, size_t size)
{
    const spec_cell *cell = spec_table_cell(table, row, column);
    const bool rounding = cell->kind == SPEC_CELL_NUMBER && fabs(cell->number) < 1e-12;
    if (rounding && is_distance(table->column[column])) return "0";
    return spec_cell_format(cell, format, buffer, size);
}

/* ---- the formats ----------------------------------------------------------------------------- */

static int written(FILE *out, spec_error *error)
{
    if (fflush(out) == 0 && !ferror(out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "cannot write the result: %s",
                     strerror(errno == 0 ? EIO : errno));
}

static void write_json_string(const char *text, FILE *out)
{
    json_t *value = json_string(text);
    if (value != NULL) {
        json_dumpf(value, out, JSON_ENCODE_ANY);
        json_decref(value);
        return;
    }
    /* If a text is not UTF-8, each invalid byte becomes the character with that number, so that it
     * stays readable. */
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c < ' ' || *c >= 127 || *c == '"' || *c == '\\') fprintf(out, "\\u%04x", *c);
        else fputc(*c, out);
    }
    fputc('"', out);
}

static int write_json(const spec_table *table, FILE *out)
{
    spec_json_begin();
    fputs("[", out);
    for (size_t r = 0; r < table->n_rows; r++) {
        fputs(r == 0 ? "\n{" : ",\n{", out);
        for (int c = 0; c < table->n_columns; c++) {
            const spec_cell *cell = spec_table_cell(table, r, c);
            char buffer[NUMBER_SIZE];
            if (c > 0) fputs(", ", out);
            write_json_string(table->column[c], out);
            fputs(": ", out);
            bool none = cell->kind == SPEC_CELL_EMPTY ||
                        (cell->kind == SPEC_CELL_NUMBER && !isfinite(cell->number));
            if (none) fputs("null", out);
            else if (cell->kind == SPEC_CELL_TEXT) write_json_string(cell->text, out);
            else fputs(spec_cell_format(cell, SPEC_FORMAT_JSON, buffer, sizeof buffer), out);
        }
        fputs("}", out);
    }
    fputs(table->n_rows > 0 ? "\n]\n" : "]\n", out);
    return spec_json_lost() ? GSL_ENOMEM : GSL_SUCCESS;
}

static void pad(FILE *out, int n)
{
    for (; n > 0; n--) fputc(' ', out);
}

/* Returns a text as this format shows it; the caller frees it. NULL if out of memory. */
static char *shown_text(const char *text, spec_format format)
{
    spec_memory_text shown;
    if (!spec_memory_text_open(&shown)) return NULL;
    if (format == SPEC_FORMAT_MARKDOWN)
        spec_escape_markdown(shown.out, text);
    else
        spec_escape_line(shown.out, text, strlen(text));
    return spec_memory_text_take(&shown, NULL);
}

/* Returns what is shown for the column names and then for all rows (1 + n_rows, n_columns). NULL if
 * out of memory. */
static char **shown_texts(const spec_table *table, spec_format format)
{
    const size_t width = (size_t)table->n_columns, n = (table->n_rows + 1) * width;
    char **shown = calloc(n, sizeof *shown), buffer[NUMBER_SIZE];
    for (size_t i = 0; shown != NULL && i < n; i++) {
        const char *text = i < width ? table->column[i]
                                     : spec_table_shown(table, i / width - 1, (int)(i % width),
                                                        format, buffer, sizeof buffer);
        if ((shown[i] = shown_text(text, format)) != NULL) continue;
        while (i > 0) free(shown[--i]);
        free(shown);
        return NULL;
    }
    return shown;
}

static int write_aligned(const spec_table *table, spec_format format, FILE *out)
{
    const bool markdown = format == SPEC_FORMAT_MARKDOWN;
    const size_t n = (size_t)table->n_columns;
    char **shown = shown_texts(table, format);
    int *width = calloc(n, sizeof *width);
    bool *left = calloc(n, sizeof *left);
    int status = GSL_ENOMEM;
    if (shown == NULL || width == NULL || left == NULL) goto done;
    for (size_t i = 0; i < (table->n_rows + 1) * n; i++) {
        const int least = markdown && i < n ? 3 : 0, w = spec_text_width(shown[i]);
        if (w > width[i % n]) width[i % n] = w;
        if (least > width[i % n]) width[i % n] = least;
        if (i >= n && table->cell[i - n].kind == SPEC_CELL_TEXT) left[i % n] = true;
    }
    for (size_t r = 0; r <= table->n_rows; r++) {
        for (size_t c = 0; c < n; c++) {
            const char *text = shown[r * n + c];
            const int room = width[c] - spec_text_width(text);
            fputs(markdown ? "| " : c > 0 ? "  " : "", out);
            if (!left[c]) pad(out, room);
            fputs(text, out);
            if (left[c] && (markdown || c + 1 < n)) pad(out, room); /* no trailing blanks */
            if (markdown) fputc(' ', out);
        }
        fputs(markdown ? "|\n" : "\n", out);
        if (!markdown || r > 0) continue;
        for (size_t c = 0; c < n; c++) {
            fputs(left[c] ? "| :" : "| ", out);
            for (int i = 1; i < width[c]; i++) fputc('-', out);
            fputs(left[c] ? " " : ": ", out);
        }
        fputs("|\n", out);
    }
    status = GSL_SUCCESS;
done:
    for (size_t i = 0; shown != NULL && i < (table->n_rows + 1) * n; i++) free(shown[i]);
    free(shown);
    free(width);
    free(left);
    return status;
}

int spec_table_write(const spec_table *table, spec_format format, FILE *out, spec_error *error)
{
    int status = GSL_SUCCESS;
    errno = 0;
    if (table->lost) return spec_no_memory(error);
    if (format == SPEC_FORMAT_CSV) {
        SPEC_TRY(spec_table_write_head(table, out, error));
        for (size_t r = 0; r < table->n_rows; r++)
            SPEC_TRY(spec_table_write_row(table, r, out, error));
    } else if ((format == SPEC_FORMAT_JSON    ? write_json(table, out)
                : format == SPEC_FORMAT_LATEX ? spec_table_write_latex(table, out)
                : format == SPEC_FORMAT_VERTICAL
                    ? spec_table_write_vertical(table, 0, out)
                    : write_aligned(table, format, out)) != GSL_SUCCESS) {
        return spec_no_memory(error);
    }
    status = written(out, error);
done:
    return status;
}

const char *spec_table_provenance(const spec_table *table, const char *key, char *buffer,
                                  size_t size)
{
    size_t n = strlen(key);
    for (const char *line = table->provenance; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, n) != 0 || strncmp(line + n, ": ", 2) != 0) continue;
        snprintf(buffer, size, "%.*s", (int)strcspn(line + n + 2, "\n"), line + n + 2);
        return buffer;
    }
    return NULL;
}
