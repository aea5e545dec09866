/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report/result_source.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "base/table_file.h"
#include "experiments/report/checked_rows.h"
#include "experiments/report/failed_rows.h"
#include "experiments/result_file.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the table. The page reads a file twice, for its table and its figure. */
static int read_table(spec_result_source *source, spec_error *error)
{
    static const spec_input_limit limit = {"a result for a report", SPEC_RESULT_SOURCE_BYTES};
    struct stat info;
    if (stat(source->path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return spec_fail(error, GSL_EINVAL, "%s: a report needs a file, not a pipe or a device",
                         source->path);
    return spec_table_file_read(&source->table, &source->json, source->path, &limit, error);
}

/* Turns "dir/sweep.csv" into "sweep". */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path,
               *ending = strrchr(base, '.');
    return strndup(base, ending != NULL && ending > base ? (size_t)(ending - base) : strlen(base));
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Returns whether a row without a measure, such as a fixture of validate, says that it failed. */
static bool says_failed(const spec_table *table, size_t row)
{
    const int column = spec_table_column(table, "failed");
    const spec_cell *cell = column >= 0 ? spec_table_cell(table, row, column) : NULL;
    return cell != NULL && cell->kind == SPEC_CELL_TEXT && strcmp(cell->text, "true") == 0;
}

static int check_rows(spec_result_source *source)
{
    const spec_table *table = &source->table;
    spec_check *check = calloc(table->n_rows, sizeof *check);
    spec_error ignored;
    source->row_fails = calloc(table->n_rows, sizeof *source->row_fails);
    source->order = calloc(table->n_rows, sizeof *source->order);
    if (check == NULL || source->row_fails == NULL || source->order == NULL) {
        free(check);
        return GSL_ENOMEM;
    }
    const bool hashed =
        !source->json && strcmp(table->column[table->n_columns - 1], "row_check") == 0;
    if (hashed) {
        size_t row = 0;
        source->n_columns--;
        const int status = spec_result_file_verify(check, &row, source->path, table, &ignored);
        if (status == GSL_ENOMEM) {
            free(check);
            return status;
        }
        if (status != GSL_SUCCESS) source->edited = row + 1;
    }
    for (size_t r = 0; r < table->n_rows; r++) {
        if ((!hashed || source->edited > 0) && source->measure != NULL)
            check[r] = spec_measure_check(source->measure, table, r);
        if (r + 1 == source->edited) check[r] = SPEC_CHECK_FAILS;
        source->holds += check[r] == SPEC_CHECK_HOLDS;
        source->fails += check[r] == SPEC_CHECK_FAILS;
        source->row_fails[r] =
            check[r] == SPEC_CHECK_FAILS || (source->measure == NULL && says_failed(table, r));
    }
    size_t n = 0;
    for (int failing = 1; failing >= 0; failing--)
        for (size_t r = 0; r < table->n_rows; r++)
            if (source->row_fails[r] == (failing == 1)) source->order[n++] = r;
    free(check);
    return GSL_SUCCESS;
}

/* Writes which row was edited; a row also differs if a row above it was removed. */
static void write_edited(FILE *out, size_t row)
{
    fprintf(out,
            row == 1 ? "row %zu, or a line above it, was edited after the run"
                     : "row %zu was edited after the run, or a row above it was removed",
            row);
}

static int write_evidence(spec_result_source *source, FILE *out)
{
    char verdict[64], reason[1024];
    int status = GSL_SUCCESS;
    if (source->json &&
        spec_table_provenance(&source->table, "verdict", verdict, sizeof verdict) != NULL) {
        const bool fails = strcmp(verdict, "FAIL") == 0 || strcmp(verdict, "DEPENDENT") == 0;
        source->fails += fails;
        source->holds += strcmp(verdict, "PASS") == 0;
        fputs(fails ? "**Verdict " : "Verdict ", out);
        spec_escape_markdown(out, verdict);
        fputs(fails ? "**" : "", out);
        if (spec_table_provenance(&source->table, "reason", reason, sizeof reason) != NULL) {
            fputs(": ", out);
            spec_escape_markdown(out, reason);
        }
    } else if (source->measure != NULL) {
        const spec_experiment experiment = {.measure = source->measure};
        const spec_result result = {
            .table = source->table, .holds = source->holds, .fails = source->fails};
        status = spec_checked_rows_write(out, &experiment, &result, false);
    } else {
        fputs("No row has a check", out);
    }
    if (source->edited > 0) {
        fputs("; **", out);
        write_edited(out, source->edited);
        fputs("**", out);
    }
    if (source->table.unfinished != NULL) {
        fputs("; **unfinished: ", out);
        spec_escape_markdown(out, source->table.unfinished);
        fputs("**", out);
    }
    return status;
}

/* Lists what fails: the file as a whole, then each failing row. */
static int write_failures(spec_result_source *source, FILE *out)
{
    const char *file = strrchr(source->path, '/');
    file = file != NULL ? file + 1 : source->path;
    if (source->edited > 0 || (source->fails > 0 && source->measure == NULL)) {
        fputs("- **", out);
        spec_escape_markdown(out, file);
        fprintf(out, "**: %s.\n", source->evidence);
    }
    if (source->edited > 0) source->row_fails[source->edited - 1] = false; /* it already has a
                                                                            * line */
    const int status =
        spec_failed_rows_write(out, file, source->measure, &source->table, source->row_fails);
    if (source->edited > 0) source->row_fails[source->edited - 1] = true;
    return status;
}

/* Makes a text with `write`. Returns GSL_ENOMEM. */
static int make_text(char **ret_text, spec_result_source *source,
                     int (*write)(spec_result_source *source, FILE *out))
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return GSL_ENOMEM;
    const int status = write(source, text.out);
    *ret_text = spec_memory_text_take(&text, NULL);
    return status == GSL_SUCCESS && *ret_text != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

int spec_result_source_load(spec_result_source *source, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    *source = (spec_result_source){.path = strdup(path), .name = name_of(path)};
    if (source->path == NULL || source->name == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(read_table(source, error));
    source->n_columns = source->table.n_columns;
    source->measure = spec_measure_of_table(&source->table);
    if (check_rows(source) != GSL_SUCCESS ||
        make_text(&source->evidence, source, write_evidence) != GSL_SUCCESS ||
        make_text(&source->failures, source, write_failures) != GSL_SUCCESS)
        status = spec_no_memory(error);
done:
    if (status != GSL_SUCCESS) spec_result_source_free(source);
    return status;
}

void spec_result_source_free(spec_result_source *source)
{
    spec_table_free(&source->table);
    free(source->path);
    free(source->name);
    free(source->row_fails);
    free(source->order);
    free(source->evidence);
    free(source->failures);
    *source = (spec_result_source){.path = NULL};
}
