/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/report.h"

#include "analysis/statistics/moments.h"
#include "base/escape.h"
#include "base/memory_text.h"
#include "experiments/report/checked_rows.h"
#include "experiments/report/failed_rows.h"
#include "experiments/report/input_digest.h"
#include "experiments/report/naming.h"
#include "experiments/report/summary.h"
#include "experiments/report/trend.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 24 };

/* Writes prose as one paragraph. */
static void paragraph(FILE *out, const char *label, const char *text)
{
    if (text[0] == '\0') return;
    fprintf(out, "**%s** ", label);
    spec_escape_prose(out, text);
    fputs("\n\n", out);
}

static const char *title_of(const spec_experiment *experiment)
{
    return experiment->title[0] != '\0' ? experiment->title : experiment->name;
}

/* Writes "FOLDER/NAME.ending)", the end of a link. */
static void write_link(FILE *out, const char *folder, const spec_experiment *experiment,
                       const char *ending)
{
    spec_escape_link(out, folder);
    fputc('/', out);
    spec_escape_link(out, experiment->name);
    fprintf(out, ".%s)", ending);
}

static int write_summary(FILE *out, const spec_experiment *const *experiments,
                         const spec_result *const *results, int n)
{
    unsigned long long rows = 0, checked = 0, fails = 0;
    int status = GSL_SUCCESS;
    fputs("## Summary\n\n| experiment | rows | evidence |\n| :-- | --: | :-- |\n", out);
    for (int i = 0; i < n; i++) {
        fputs("| [", out);
        spec_escape_markdown(out, title_of(experiments[i]));
        fputs("](#", out);
        spec_escape_link(out, experiments[i]->name);
        fprintf(out, ") | %zu | ", results[i]->table.n_rows);
        SPEC_TRY(spec_checked_rows_write(out, experiments[i], results[i], false));
        fputs(" |\n", out);
        rows += results[i]->table.n_rows;
        checked += results[i]->holds + results[i]->fails;
        fails += results[i]->fails;
    }
    fprintf(out, "\n%llu rows, %llu of them checked against exact theory or a claim", rows,
            checked);
    if (fails > 0)
        fprintf(out, ": **%llu fail.**\n\n", fails);
    else fputs(checked > 0 ? ": all hold.\n\n" : ".\n\n", out);
    fprintf(
        out,
        "## How to read this page\n"
        "\n* A row *holds* if its z is within %g of 0 (docs/notation.md#z), if its p-value is "
        "above %g, or if its exact distribution is the claimed one.\n"
        "* *a ± b* is an estimate and its standard error. Two values *differ* if their difference "
        "exceeds %g times the root of the sum of their squared standard errors; by chance alone "
        "about one pair in twenty does.\n"
        "* A *series* is a set of rows that differ in one column only. It *rises* if its last "
        "value is above its first and no value is below an earlier one. It *rises and then falls* "
        "if its largest value is above both ends, no value falls before it and no value rises "
        "after it. *Falls* and *falls and then rises* are the reverse. It is *flat* if no two "
        "values differ. Only values that differ count as above or below.\n"
        "* A *finding* was written for one set of inputs, and is printed with these inputs only. "
        "Question and theory hold for any inputs; everything else is computed from the numbers.\n"
        "\n",
        SPEC_CHECK_Z, SPEC_CHECK_P, SPEC_TREND_SE);
done:
    return status;
}

/* Writes the failing rows, at the top of the page. */
static int write_failures(FILE *out, const spec_experiment *const *experiments,
                          const spec_result *const *results, int n)
{
    bool any = false, *fails = NULL;
    int status = GSL_SUCCESS;
    for (int i = 0; i < n; i++) {
        const spec_table *table = &results[i]->table;
        if (results[i]->fails == 0) continue;
        fputs(any ? "" : "## What fails\n\n", out);
        any = true;
        free(fails);
        if ((fails = calloc(table->n_rows + 1, sizeof *fails)) == NULL) SPEC_TRY(GSL_ENOMEM);
        for (size_t r = 0; r < table->n_rows; r++)
            fails[r] = spec_measure_failed(experiments[i]->measure, table, r) != NULL;
        SPEC_TRY(spec_failed_rows_write(out, experiments[i]->name, experiments[i]->measure, table,
                                        fails));
    }
    if (any) fputc('\n', out);
done:
    free(fails);
    return status;
}

static void write_figure(FILE *out, const spec_experiment *experiment, const char *folder,
                         const char *link)
{
    static const char *const endings[] = {"svg", "png"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s.%s", folder, experiment->name, endings[i]);
        if (n < 0 || n >= (int)sizeof path || access(path, R_OK) != 0) continue;
        fputs("![", out);
        spec_escape_markdown(out, title_of(experiment));
        fputs("](", out);
        write_link(out, link, experiment, endings[i]);
        fputs("\n\n", out);
        return;
    }
}

/* Returns whether a column has the same value in every one of several rows. */
static bool says_the_same(const spec_table *table, int column)
{
    char first[40], other[40];
    for (size_t r = 1; r < table->n_rows; r++) {
        const spec_cell *a = spec_table_cell(table, 0, column),
                        *b = spec_table_cell(table, r, column);
        if (a->kind != b->kind ||
            strcmp(spec_cell_format(a, SPEC_FORMAT_CSV, first, sizeof first),
                   spec_cell_format(b, SPEC_FORMAT_CSV, other, sizeof other)) != 0)
            return false;
    }
    return table->n_rows > 1;
}

/* Returns whether a column is constant and so goes above the table instead. If all rows are equal,
 * no column does. */
static bool is_constant(const spec_table *table, int column)
{
    bool differ = false;
    for (int c = 0; c < table->n_columns; c++) differ = differ || !says_the_same(table, c);
    return differ && says_the_same(table, column);
}

/* Copies the first rows of the table, without columns that never change. */
static int narrow(spec_table *ret_narrow, const spec_table *table, size_t rows)
{
    int n = 0, *column = calloc((size_t)table->n_columns + 1, sizeof *column);
    if (column == NULL) return GSL_ENOMEM;
    for (int c = 0; c < table->n_columns; c++)
        if (!is_constant(table, c)) column[n++] = c;
    const int status = spec_table_select(ret_narrow, table, column, n, NULL,
                                         rows < table->n_rows ? rows : table->n_rows);
    free(column);
    return status;
}

/* Writes "In every row: K = 3, c = 0.1." for the columns left out of the table, except empty
 * ones. */
static void write_constants(FILE *out, const spec_table *table)
{
    const char *separator = "In every row: ";
    char buffer[40];
    for (int c = 0; c < table->n_columns; c++) {
        if (!is_constant(table, c) || spec_table_cell(table, 0, c)->kind == SPEC_CELL_EMPTY)
            continue;
        fputs(separator, out);
        spec_escape_markdown(out, table->column[c]);
        fputs(" = ", out);
        spec_escape_code(out, spec_cell_format(spec_table_cell(table, 0, c), SPEC_FORMAT_TABLE,
                                               buffer, sizeof buffer));
        separator = ", ";
    }
    if (separator[0] == ',') fputs(".\n\n", out);
}

static int write_rows(FILE *out, const spec_experiment *experiment, const spec_table *table,
                      const char *link, size_t most, spec_error *error)
{
    spec_table shown = {0};
    int status = GSL_SUCCESS;
    write_constants(out, table);
    SPEC_TRY(narrow(&shown, table, most));
    SPEC_TRY(spec_table_write(&shown, SPEC_FORMAT_MARKDOWN, out, error));
    if (shown.n_rows < table->n_rows)
        fprintf(out, "\nThe first %zu of %zu rows; all are in [", shown.n_rows, table->n_rows);
    else
        fputs("\nAs a file: [", out);
    spec_escape_markdown(out, experiment->name);
    fputs(".csv](", out);
    write_link(out, link, experiment, "csv");
    fputs(".\n\n", out);
done:
    spec_table_free(&shown);
    return status;
}

/* Writes, e.g., "`target` = `zipf?V=20`; `K` = 1, 2 and 4; 1000 rounds; seed 42." */
static int write_inputs(FILE *out, const spec_experiment *experiment)
{
    int status = GSL_SUCCESS;
    fputs("**Inputs.** ", out);
    for (int a = 0; a < experiment->grid.n_axes; a++) {
        const spec_axis *axis = &experiment->grid.axis[a];
        char *values = spec_naming_list(axis->origin != NULL ? axis->origin : axis->value, axis->n,
                                        SPEC_NAMING_LIST_MAX, true);
        if (values == NULL) SPEC_TRY(GSL_ENOMEM);
        spec_escape_markdown(out, axis->name);
        fprintf(out, " = %s; ", values);
        free(values);
    }
    if (experiment->measure->simulates && experiment->rounds > 0)
        fprintf(out, "%llu rounds per row; ", (unsigned long long)experiment->rounds);
    if (experiment->measure->simulates && experiment->standard_error > 0.0)
        fprintf(out, "rounds up to a standard error of %g; ", experiment->standard_error);
    fprintf(out, "seed %llu.\n\n", (unsigned long long)experiment->seed);
done:
    return status;
}

static int write_command(FILE *out, const spec_experiment *experiment, const char *opt_command)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return GSL_ENOMEM;
    fputs(opt_command != NULL ? opt_command : "speclab run ", made.out);
    if (opt_command == NULL) spec_escape_shell_file(made.out, experiment->name);
    fputs(experiment->overrides, made.out);
    char *command = spec_memory_text_take(&made, NULL);
    if (command == NULL) return GSL_ENOMEM;
    spec_escape_code(out, command);
    free(command);
    return GSL_SUCCESS;
}

static int write_section(FILE *out, const spec_experiment *experiment, const spec_result *result,
                         const char *opt_command, const spec_report_options *options,
                         spec_error *error)
{
    const char *folder = options->folder != NULL ? options->folder : ".";
    const char *link = options->link != NULL ? options->link : ".";
    const bool as_written = experiment->overrides[0] == '\0';
    int status = GSL_SUCCESS;
    fputs("<a id=\"", out);
    spec_escape_html(out, experiment->name);
    fputs("\"></a>\n\n## ", out);
    spec_escape_markdown(out, title_of(experiment));
    fputs("\n\n", out);
    paragraph(out, "Question.", experiment->question);
    paragraph(out, "Theory.", experiment->theory);
    SPEC_TRY(write_inputs(out, experiment));
    write_figure(out, experiment, folder, link);
    SPEC_TRY(write_rows(out, experiment, &result->table, link,
                        (size_t)(options->rows > 0 ? options->rows : ROWS), error));
    fputs("**Measured.**\n\n", out);
    SPEC_TRY(spec_summary_write(out, experiment, result));
    fputs("\n**Evidence.** ", out);
    SPEC_TRY(spec_checked_rows_write(out, experiment, result, true));
    fputs(".\n\n", out);
    if (spec_input_digest_agrees(experiment, options->opt_share))
        paragraph(out, "Finding.", experiment->finding);
    fputs("**Command.** ", out);
    SPEC_TRY(write_command(out, experiment, opt_command));
    if (as_written && experiment->time[0] != '\0') {
        fputs(": ", out);
        spec_escape_prose(out, experiment->time);
    }
    fputs("\n\n", out);
done:
    return status;
}

int spec_report_write(FILE *out, const spec_experiment *const *experiments,
                      const spec_result *const *results, int n,
                      const spec_report_options *opt_options, spec_error *error)
{
    const spec_report_options defaults = SPEC_REPORT_DEFAULT;
    const spec_report_options *options = opt_options != NULL ? opt_options : &defaults;
    int status = GSL_SUCCESS;
    errno = 0;
    fputs("# ", out);
    spec_escape_markdown(out, options->title != NULL ? options->title : "speclab report");
    fprintf(out, "\n\nTheory compared with simulation, by speclab %s.\n\n", SPEC_VERSION);
    SPEC_TRY(write_failures(out, experiments, results, n));
    SPEC_TRY(write_summary(out, experiments, results, n));
    for (int i = 0; i < n; i++)
        SPEC_TRY(write_section(out, experiments[i], results[i],
                               options->command != NULL ? options->command[i] : NULL, options,
                               error));
    if (fflush(out) != 0 || ferror(out))
        status = spec_fail(error, GSL_EFAILED, "cannot write the report: %s",
                           strerror(errno == 0 ? EIO : errno));
done:
    return status == GSL_ENOMEM ? spec_no_memory(error) : status;
}
