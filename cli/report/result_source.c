/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report/result_source.h"

#include "base/input_file.h"
#include "base/memory_text.h"
#include "cli/report/json_rows.h"
#include "experiments/report/checked_rows.h"
#include "experiments/result_file.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* The first byte that is no blank, after a byte-order mark; '\0' if there is none. */
static char first_byte(const char *text)
{
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
    return text[strspn(text, " \t\r\n")];
}

static int read_table(spec_result_source *source, spec_error *error)
{
    static const spec_input_limit limit = {"a result for a report", SPEC_RESULT_SOURCE_BYTES};
    struct stat info;
    char *text = NULL;
    size_t n;
    int status = GSL_SUCCESS;
    if (stat(source->path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return spec_fail(error, GSL_EINVAL, "%s: a report needs a file, not a pipe or a device",
                         source->path);
    SPEC_TRY(spec_input_file_read_text(&text, &n, source->path, &limit, error));
    const char first = first_byte(text);
    source->json = first == '{' || first == '[';
    if (source->json) {
        const size_t mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        SPEC_TRY(spec_json_rows_read(&source->table, text + mark, n - mark, source->path, error));
    } else {
        SPEC_TRY(spec_table_read_foreign_csv(&source->table, source->path, error));
    }
    if (source->table.n_rows == 0)
        status = spec_fail(error, GSL_EINVAL, "%s has no rows", source->path);
done:
    free(text);
    return status;
}

/* "dir/sweep.csv" -> "sweep" */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path,
               *ending = strrchr(base, '.');
    return strndup(base, ending != NULL && ending > base ? (size_t)(ending - base) : strlen(base));
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int count_checks(spec_result_source *source, const spec_measure *opt_measure)
{
    const spec_table *table = &source->table;
    spec_check *check = calloc(table->n_rows, sizeof *check);
    spec_error ignored;
    if (check == NULL) return GSL_ENOMEM;
    const bool hashed =
        !source->json && strcmp(table->column[table->n_columns - 1], "row_check") == 0;
    if (hashed) {
        source->n_columns--;
        source->edited = spec_result_file_verify(check, source->path, table, &ignored) != 0;
    }
    for (size_t r = 0; r < table->n_rows; r++) {
        if (!hashed || source->edited)
            check[r] =
                opt_measure != NULL ? spec_measure_check(opt_measure, table, r) : SPEC_CHECK_NONE;
        source->holds += check[r] == SPEC_CHECK_HOLDS;
        source->fails += check[r] == SPEC_CHECK_FAILS;
    }
    free(check);
    return GSL_SUCCESS;
}

static int write_evidence(spec_result_source *source, const spec_measure *opt_measure, FILE *out)
{
    char verdict[64], reason[512];
    int status = GSL_SUCCESS;
    if (source->json &&
        spec_table_provenance(&source->table, "verdict", verdict, sizeof verdict) != NULL) {
        const bool fails = strcmp(verdict, "FAIL") == 0;
        source->fails += fails;
        source->holds += strcmp(verdict, "PASS") == 0;
        fprintf(out, fails ? "**Verdict %s**" : "Verdict %s", verdict);
        if (spec_table_provenance(&source->table, "reason", reason, sizeof reason) != NULL)
            fprintf(out, ": %s", reason);
    } else if (opt_measure != NULL) {
        const spec_experiment experiment = {.measure = opt_measure};
        const spec_result result = {
            .table = source->table, .holds = source->holds, .fails = source->fails};
        status = spec_checked_rows_write(out, &experiment, &result, false);
    } else {
        fputs("No check: the file names no measure of speclab", out);
    }
    if (source->edited) fputs("; **a row was edited after the run**", out);
    return status;
}

int spec_result_source_load(spec_result_source *source, const char *path, spec_error *error)
{
    char name[64];
    const spec_measure *measure = NULL;
    spec_error ignored;
    spec_memory_text text = {.out = NULL};
    int status = GSL_SUCCESS;
    *source = (spec_result_source){.path = strdup(path), .name = name_of(path)};
    if (source->path == NULL || source->name == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(read_table(source, error));
    source->n_columns = source->table.n_columns;
    if (!source->json &&
        spec_table_provenance(&source->table, "measure", name, sizeof name) != NULL &&
        spec_measure_find(&measure, name, &ignored) != GSL_SUCCESS)
        measure = NULL;
    if (count_checks(source, measure) != GSL_SUCCESS || !spec_memory_text_open(&text))
        SPEC_TRY(spec_no_memory(error));
    status = write_evidence(source, measure, text.out);
    source->evidence = spec_memory_text_take(&text, NULL);
    if (status != GSL_SUCCESS || source->evidence == NULL) status = spec_no_memory(error);
done:
    if (status != GSL_SUCCESS) spec_result_source_free(source);
    return status;
}

void spec_result_source_free(spec_result_source *source)
{
    spec_table_free(&source->table);
    free(source->path);
    free(source->name);
    free(source->evidence);
    *source = (spec_result_source){.path = NULL};
}
