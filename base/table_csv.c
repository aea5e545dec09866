#include "base/table.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_COLUMNS_MAX = 1000, NUMBER_SIZE = 40 };
#define CSV_BYTES_MAX (1ll << 30)

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The number that an unquoted field stands for: an integer, a double, or none. */
static spec_cell field_number(const char *text)
{
    spec_cell none = {.kind = SPEC_CELL_EMPTY};
    char *end = NULL;
    if (*text == '\0' || strspn(text, "+-.0123456789eEinf") != strlen(text)) return none;
    errno = 0;
    long long integer = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0) return (spec_cell){.kind = SPEC_CELL_INTEGER, .integer = integer};
    double number = strtod(text, &end);
    if (*end != '\0' || isnan(number)) return none;
    return (spec_cell){.kind = SPEC_CELL_NUMBER, .number = number};
}

/* A text is quoted where RFC 4180 says so, and where it would otherwise be read as a number, as nothing or as a
 * comment. */
static void write_text(const char *text, FILE *out)
{
    bool plain = text[0] != '\0' && text[0] != '#' && strpbrk(text, ",\"\r\n") == NULL &&
                 field_number(text).kind == SPEC_CELL_EMPTY;
    if (plain) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static int no_error(FILE *out, spec_error *error)
{
    if (!ferror(out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "cannot write the result: %s", strerror(errno == 0 ? EIO : errno));
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

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    char *text, *end; /* NUL-terminated */
    char *at;
    int line;
    spec_error *error;
} reader;

static int read_whole_file(reader *in)
{
    int status = GSL_SUCCESS;
    FILE *file = fopen(in->path, "rb");
    if (file == NULL) return spec_fail(in->error, GSL_EFAILED, "%s: %s", in->path, strerror(errno));
    size_t n = 0, capacity = 1 << 16;
    in->text = malloc(capacity);
    while (in->text != NULL) {
        size_t got = fread(in->text + n, 1, capacity - n - 1, file);
        n += got;
        if (got == 0) break;
        if (n < capacity - 1) continue;
        if ((long long)capacity >= CSV_BYTES_MAX) {
            status = spec_fail(in->error, GSL_EINVAL, "%s: larger than 1 GiB: not a result", in->path);
            goto done;
        }
        capacity *= 2;
        char *grown = realloc(in->text, capacity);
        if (grown == NULL) free(in->text);
        in->text = grown;
    }
    if (in->text == NULL) {
        status = spec_fail(in->error, GSL_ENOMEM, "%s: out of memory", in->path);
    } else if (ferror(file)) {
        status = spec_fail(in->error, GSL_EFAILED, "%s: %s", in->path, strerror(errno == 0 ? EIO : errno));
    } else if (memchr(in->text, '\0', n) != NULL) {
        status = spec_fail(in->error, GSL_EINVAL, "%s: contains a zero byte: not a result", in->path);
    } else {
        in->text[n] = '\0';
        in->end = in->text + n;
    }
done:
    fclose(file);
    return status;
}

/* The end of the record that starts at `at`: just after its newline, or NULL where it is cut off. Quoted newlines
 * belong to it. */
static char *record_end(char *at)
{
    bool quoted = false;
    for (; *at != '\0'; at++) {
        if (*at == '"') quoted = !quoted;
        if (*at == '\n' && !quoted) return at + 1;
    }
    return NULL;
}

/* Cut the next field out of the record in place; the comma or newline after it is skipped and *ret_last tells which it
 * was. */
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
        if (*from != ',' && *from != '\n')
            return spec_fail(in->error, GSL_EINVAL, "%s:%d: characters after a closing quote", in->path, line);
    } else {
        while (*from != ',' && *from != '\n' && *from != '"') from++;
        if (*from == '"') return spec_fail(in->error, GSL_EINVAL, "%s:%d: a quote within a field", in->path, line);
        to = from;
        if (*from == '\n' && to > in->at && to[-1] == '\r') to--;
    }
    *ret_last = *from == '\n';
    if (*ret_last) in->line++;
    in->at = from + 1;
    *to = '\0';
    return GSL_SUCCESS;
}

static int read_provenance(reader *in, spec_table *table)
{
    char *to = in->text; /* shrinks in place: "# " goes */
    bool first = true;
    for (char *next; *in->at == '#' && (next = strchr(in->at, '\n')) != NULL; in->at = next + 1, in->line++) {
        const char *from = in->at + (in->at[1] == ' ' ? 2 : 1);
        if (!first) *to++ = '\n';
        first = false;
        memmove(to, from, (size_t)(next - from));
        to += next - from;
    }
    char *lines = strndup(in->text, (size_t)(to - in->text));
    if (lines == NULL) return spec_fail(in->error, GSL_ENOMEM, "%s: out of memory", in->path);
    free(table->provenance);
    table->provenance = lines;
    return GSL_SUCCESS;
}

static int read_columns(reader *in, spec_table *table)
{
    char **column = calloc(CSV_COLUMNS_MAX, sizeof *column), *provenance = table->provenance;
    int n = 0, status = GSL_SUCCESS;
    if (column == NULL) return spec_fail(in->error, GSL_ENOMEM, "%s: out of memory", in->path);
    for (bool quoted, last = false; !last; n++) {
        if (n == CSV_COLUMNS_MAX) {
            status = spec_fail(in->error, GSL_EINVAL, "%s:%d: over %d columns", in->path, in->line, CSV_COLUMNS_MAX);
            goto done;
        }
        SPEC_TRY(next_field(in, &column[n], &quoted, &last));
        for (int i = 0; i < n; i++) {
            if (strcmp(column[i], column[n]) != 0) continue;
            status = spec_fail(in->error, GSL_EINVAL, "%s:%d: two columns are named '%.60s'", in->path, in->line - last,
                               column[n]);
            goto done;
        }
    }
    table->provenance = NULL;
    status = spec_table_init(table, (const char *const *)column, n);
    if (status == GSL_SUCCESS) free(table->provenance);
    else spec_fail(in->error, status, "%s: out of memory", in->path);
    table->provenance = provenance;
done:
    free(column);
    return status;
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
        *cell = quoted ? (spec_cell){.kind = SPEC_CELL_EMPTY} : field_number(field);
        if (cell->kind == SPEC_CELL_EMPTY && (quoted || *field != '\0')) {
            cell->kind = SPEC_CELL_TEXT;
            cell->text = strdup(field);
        }
    }
    if (n != table->n_columns)
        return spec_fail(in->error, GSL_EINVAL, "%s:%d: %s than the %d fields of the head", in->path, line,
                         n < table->n_columns ? "fewer" : "more", table->n_columns);
    if (spec_table_append(table) == GSL_SUCCESS) return GSL_SUCCESS;
    return spec_fail(in->error, GSL_ENOMEM, "%s: out of memory", in->path);
}

int spec_table_read_csv(spec_table *table, const char *path, long *opt_good_bytes, spec_error *error)
{
    reader in = {.path = path, .line = 1, .error = error};
    int status = GSL_SUCCESS;
    *table = (spec_table){0};
    SPEC_TRY(read_whole_file(&in));
    in.at = in.text;
    SPEC_TRY(read_provenance(&in, table));
    if (record_end(in.at) == NULL) {
        status = spec_fail(error, GSL_EINVAL, "%s:%d: no line of column names: not a result of speclab", path, in.line);
        goto done;
    }
    SPEC_TRY(read_columns(&in, table));
    while (record_end(in.at) != NULL) SPEC_TRY(read_row(&in, table));
    if (opt_good_bytes != NULL) *opt_good_bytes = (long)(in.at - in.text);
done:
    if (status != GSL_SUCCESS) spec_table_free(table);
    free(in.text);
    return status;
}
