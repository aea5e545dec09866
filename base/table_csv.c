/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/escape.h"
#include "base/table.h"
#include "speclab/no_memory.h"

#include "base/input_file.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_COLUMNS_MAX = 1000, NUMBER_SIZE = 40 };
static const spec_input_limit limit = {"a result", 1 << 30}, foreign_limit = {"a CSV", 1 << 30};

/* ---- writing --------------------------------------------------------------------------------- */

/* Reads an unquoted field: it may be an integer, a double, or no number. */
static spec_cell field_number(const char *text)
{
    spec_cell none = {.kind = SPEC_CELL_EMPTY};
    char *end = NULL;
    if (*text == '\0' || strspn(text, "+-.0123456789eEinf") != strlen(text)) return none;
    errno = 0;
    long long integer = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0)
        return (spec_cell){.kind = SPEC_CELL_INTEGER, .integer = integer};
    double number = strtod(text, &end);
    if (*end != '\0' || isnan(number)) return none;
    return (spec_cell){.kind = SPEC_CELL_NUMBER, .number = number};
}

/* Writes a text, quoted if RFC 4180 requires it or if it would be read as a number, an empty field
 * or a comment. */
static void write_text(const char *text, FILE *out)
{
    bool plain = text[0] != '\0' && text[0] != '#' && strpbrk(text, ",\"\r\n") == NULL &&
                 field_number(text).kind == SPEC_CELL_EMPTY;
    if (plain)
        fputs(text, out);
    else
        spec_escape_csv(out, text);
}

static int no_error(FILE *out, spec_error *error)
{
    if (!ferror(out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "cannot write the result: %s",
                     strerror(errno == 0 ? EIO : errno));
}

int spec_table_write_head(const spec_table *table, FILE *out, spec_error *error)
{
    for (const char *line = table->provenance; *line != '\0';) {
        int n = (int)strcspn(line, "\n");
        fprintf(out, n == 0 ? "#%.*s\n" : "# %.*s\n", n, line);
        line += n;
        if (*line == '\n') line++;
    }
    for (int c = 0; c < table->n_columns; c++) {
        if (c > 0) fputc(',', out);
        write_text(table->column[c], out);
    }
    fputc('\n', out);
    return no_error(out, error);
}

int spec_table_write_row(const spec_table *table, size_t row, FILE *out, spec_error *error)
{
    for (int c = 0; c < table->n_columns; c++) {
        const spec_cell *cell = spec_table_cell(table, row, c);
        char buffer[NUMBER_SIZE];
        if (c > 0) fputc(',', out);
        if (cell->kind == SPEC_CELL_TEXT) write_text(cell->text, out);
        else fputs(spec_cell_format(cell, SPEC_FORMAT_CSV, buffer, sizeof buffer), out);
    }
    fputc('\n', out);
    return no_error(out, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    char *text, *end; /* NUL-terminated */
    char *at;
    int line;
    bool foreign; /* any program may have written it: see spec_table_read_foreign_csv */
    char between; /* the field separator; a foreign file may have ; or a tab */
    spec_error *error;
} reader;

/* Takes over the text. A foreign file may lack its last newline. */
static int take_text(reader *in, char *text, size_t n)
{
    static const char own[] = "# speclab ";
    in->text = text;
    in->foreign = in->foreign && strncmp(in->text, own, sizeof own - 1) != 0;
    if (in->foreign && n > 0 && in->text[n - 1] != '\n') {
        char *ended = realloc(in->text, n + 2);
        if (ended == NULL) return spec_no_memory_for(in->error, in->path);
        in->text = ended;
        memcpy(in->text + n++, "\n", 2);
    }
    in->end = in->text + n;
    return GSL_SUCCESS;
}

/* Returns the end of the record at `at`, just after its newline, or NULL if it is cut off. Quoted
 * newlines belong to the record. */
static char *record_end(char *at)
{
    bool quoted = false;
    for (; *at != '\0'; at++) {
        if (*at == '"') quoted = !quoted;
        if (*at == '\n' && !quoted) return at + 1;
    }
    return NULL;
}

/* Cuts the next field out of the record in place and skips the comma or newline after it; *ret_last
 * is true for a newline. */
static int next_field(reader *in, char **ret_field, bool *ret_quoted, bool *ret_last)
{
    char *from = in->at, *to = in->at;
    int line = in->line;
    *ret_field = to;
    *ret_quoted = *from == '"';
    if (*ret_quoted) {
        for (from++; *from != '"' || from[1] == '"'; from++) {
            if (*from == '"') from++;
            if (*from == '\n') in->line++;
            *to++ = *from;
        }
        from++;
        if (*from == '\r' && from[1] == '\n') from++;
        if (*from != in->between && *from != '\n')
            return spec_fail(in->error, GSL_EINVAL, "%s:%d: characters after a closing quote",
                             in->path, line);
    } else {
        while (*from != in->between && *from != '\n' && *from != '"') from++;
        if (*from == '"')
            return spec_fail(in->error, GSL_EINVAL, "%s:%d: a quote within a field", in->path,
                             line);
        to = from;
        if (*from == '\n' && to > in->at && to[-1] == '\r') to--;
        if (in->foreign) {
            while (to > *ret_field && to[-1] == ' ') to--;
            *ret_field += strspn(*ret_field, " ");
            if (to < *ret_field) to = *ret_field;
        }
    }
    *ret_last = *from == '\n';
    if (*ret_last) in->line++;
    in->at = from + 1;
    *to = '\0';
    return GSL_SUCCESS;
}

static int read_provenance(reader *in, spec_table *table)
{
    char *to = in->text; /* shrinks in place as "# " is removed */
    bool first = true;
    for (char *next; *in->at == '#' && (next = strchr(in->at, '\n')) != NULL;
         in->at = next + 1, in->line++) {
        const char *from = in->at + (in->at[1] == ' ' ? 2 : 1);
        if (!first) *to++ = '\n';
        first = false;
        memmove(to, from, (size_t)(next - from));
        to += next - from;
    }
    char *lines = strndup(in->text, (size_t)(to - in->text));
    if (lines == NULL) return spec_no_memory_for(in->error, in->path);
    free(table->provenance);
    table->provenance = lines;
    return GSL_SUCCESS;
}

static int read_columns(reader *in, spec_table *table)
{
    char **column = calloc(CSV_COLUMNS_MAX, sizeof *column), *provenance = table->provenance;
    int n = 0, status = GSL_SUCCESS;
    if (column == NULL) return spec_no_memory_for(in->error, in->path);
    for (bool quoted, last = false; !last; n++) {
        if (n == CSV_COLUMNS_MAX) {
            status = spec_fail(in->error, GSL_EINVAL, "%s:%d: over %d columns", in->path, in->line,
                               CSV_COLUMNS_MAX);
            goto done;
        }
        SPEC_TRY(next_field(in, &column[n], &quoted, &last));
        for (int i = 0; i < n; i++) {
            if (strcmp(column[i], column[n]) != 0) continue;
            status = spec_fail(in->error, GSL_EINVAL, "%s:%d: two columns are named '%.60s'",
                               in->path, in->line - last, column[n]);
            goto done;
        }
    }
    table->provenance = NULL;
    status = spec_table_init(table, (const char *const *)column, n);
    if (status == GSL_SUCCESS) free(table->provenance);
    table->provenance = provenance;
    if (status != GSL_SUCCESS) spec_no_memory_for(in->error, in->path);
done:
    free(column);
    return status;
}

/* Returns the field separator of a foreign file: the most frequent of , ; and tab in its header
 * line, outside quotes. */
static char separator_of(const char *line)
{
    static const char known[] = ",;\t";
    int count[sizeof known] = {0}, most = 0;
    bool quoted = false;
    for (; *line != '\0' && (quoted || *line != '\n'); line++) {
        if (*line == '"') quoted = !quoted;
        const char *at = strchr(known, *line);
        if (!quoted && at != NULL) count[at - known]++;
    }
    for (int i = 1; i < (int)sizeof known - 1; i++)
        if (count[i] > count[most]) most = i;
    return known[most];
}

/* Parses a number of a foreign file. If semicolons separate fields, 0,5 has a decimal comma. */
static spec_cell foreign_number(const reader *in, const char *field)
{
    const char *comma = in->between == ';' ? strchr(field, ',') : NULL;
    char text[NUMBER_SIZE];
    if (comma == NULL || strlen(field) >= sizeof text) return field_number(field);
    memcpy(text, field, strlen(field) + 1);
    text[comma - field] = '.';
    return field_number(text);
}

static int read_row(reader *in, spec_table *table)
{
    int n = 0, line = in->line;
    for (bool quoted, last = false; !last;) {
        char *field;
        int status = next_field(in, &field, &quoted, &last);
        if (status != GSL_SUCCESS) return status;
        if (n++ >= table->n_columns) break;
        spec_cell *cell = &table->row[n - 1];
        *cell = in->foreign ? foreign_number(in, field)
                : quoted    ? (spec_cell){.kind = SPEC_CELL_EMPTY}
                            : field_number(field);
        if (cell->kind == SPEC_CELL_EMPTY && (quoted || *field != '\0')) {
            cell->kind = SPEC_CELL_TEXT;
            cell->text = strdup(field);
        }
    }
    if (n != table->n_columns)
        return spec_fail(in->error, GSL_EINVAL, "%s:%d: %s than the %d fields of the header",
                         in->path, line, n < table->n_columns ? "fewer" : "more", table->n_columns);
    if (spec_table_append(table) == GSL_SUCCESS) return GSL_SUCCESS;
    return spec_no_memory_for(in->error, in->path);
}

/* Skips the comments and empty lines of a foreign file. */
static void skip_lines(reader *in)
{
    while (in->foreign && *in->at != '\0') {
        const size_t blank = strspn(in->at, " \r");
        if (in->at[0] != '#' && in->at[blank] != '\n') return;
        in->at = strchr(in->at, '\n') + 1; /* every line ends with one */
        in->line++;
    }
}

/* Returns whether a whole row follows, rather than the end, a partial row, or the mark of an
 * interrupted run. */
static bool at_row(const reader *in)
{
    return (in->foreign || *in->at != '#') && record_end(in->at) != NULL;
}

/* Finds out from the end of a result whether its run was interrupted. */
static int read_end(reader *in, spec_table *table)
{
    if (in->foreign || in->at == in->end) return GSL_SUCCESS;
    const bool marked = *in->at == '#' && in->at[1] == ' ';
    table->unfinished = marked ? strndup(in->at + 2, strcspn(in->at + 2, "\n"))
                               : strdup("interrupted within a row");
    return table->unfinished != NULL ? GSL_SUCCESS : spec_no_memory_for(in->error, in->path);
}

static int read_csv(spec_table *table, reader *in)
{
    int status = GSL_SUCCESS;
    in->at = in->text;
    in->between = ',';
    if (in->foreign && strncmp(in->at, "\xef\xbb\xbf", 3) == 0)
        in->at += 3; /* the UTF-8 byte order mark */
    SPEC_TRY(read_provenance(in, table));
    skip_lines(in);
    if (record_end(in->at) == NULL) {
        status = spec_fail(in->error, GSL_EINVAL, "%s:%d: no line of column names: not a %s",
                           in->path, in->line, in->foreign ? "CSV" : "result of speclab");
        goto done;
    }
    if (in->foreign) in->between = separator_of(in->at);
    SPEC_TRY(read_columns(in, table));
    for (skip_lines(in); at_row(in); skip_lines(in)) SPEC_TRY(read_row(in, table));
    SPEC_TRY(read_end(in, table));
done:
    if (status != GSL_SUCCESS) spec_table_free(table);
    return status;
}

int spec_table_read_csv(spec_table *table, const char *path, long *opt_good_bytes,
                        spec_error *error)
{
    reader in = {.path = path, .line = 1, .error = error};
    char *text = NULL;
    size_t n;
    int status = GSL_SUCCESS;
    *table = (spec_table){0};
    SPEC_TRY(spec_input_file_read_text(&text, &n, path, &limit, error));
    SPEC_TRY(take_text(&in, text, n));
    SPEC_TRY(read_csv(table, &in));
    if (opt_good_bytes != NULL) *opt_good_bytes = (long)(in.at - in.text);
done:
    free(in.text);
    return status;
}

int spec_table_parse_foreign_csv(spec_table *table, char *text, size_t n, const char *path,
                                 spec_error *error)
{
    reader in = {.path = path, .line = 1, .foreign = true, .error = error};
    int status = GSL_SUCCESS;
    *table = (spec_table){0};
    SPEC_TRY(take_text(&in, text, n));
    SPEC_TRY(read_csv(table, &in));
    if (in.foreign && in.at != in.end) {
        status = spec_fail(error, GSL_EINVAL, "%s:%d: a quoted field has no end", path, in.line);
        spec_table_free(table);
    }
done:
    free(in.text);
    return status;
}

int spec_table_read_foreign_csv(spec_table *table, const char *path, spec_error *error)
{
    char *text;
    size_t n;
    const int status = spec_input_file_read_text(&text, &n, path, &foreign_limit, error);
    *table = (spec_table){0};
    return status == GSL_SUCCESS ? spec_table_parse_foreign_csv(table, text, n, path, error)
                                 : status;
}
