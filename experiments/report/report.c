#include "experiments/report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 24, VERDICTS = 8 };

/* What the checked columns of one result say together. */
typedef struct {
    double z, p;      /* largest |z|, smallest p; NaN: no such column */
    size_t z_row;
    int n_verdicts;
    const char *verdict[VERDICTS];
    size_t count[VERDICTS];
} findings;

static bool is_z(const char *column)
{
    size_t n = strlen(column);
    return strcmp(column, "z") == 0 || (n > 2 && strcmp(column + n - 2, "_z") == 0);
}

static void count_verdict(findings *found, const char *verdict)
{
    for (int i = 0; i < found->n_verdicts; i++) {
        if (strcmp(found->verdict[i], verdict) != 0) continue;
        found->count[i]++;
        return;
    }
    if (found->n_verdicts == VERDICTS) return;
    found->verdict[found->n_verdicts] = verdict;
    found->count[found->n_verdicts++] = 1;
}

static findings look(const spec_measure *measure, const spec_table *table)
{
    findings found = {.z = NAN, .p = NAN};
    for (int i = 0; measure->checked != NULL && measure->checked[i] != NULL; i++) {
        int column = spec_table_column(table, measure->checked[i]);
        for (size_t r = 0; column >= 0 && r < table->n_rows; r++) {
            const spec_cell *cell = spec_table_cell(table, r, column);
            double value = spec_cell_number(cell);
            if (cell->kind == SPEC_CELL_TEXT) {
                count_verdict(&found, cell->text);
            } else if (is_z(measure->checked[i])) {
                if (isnan(value) || !(isnan(found.z) || fabs(value) > found.z)) continue;
                found.z = fabs(value);
                found.z_row = r;
            } else if (!isnan(value) && !(value >= found.p)) {
                found.p = value;
            }
        }
    }
    return found;
}

/* Prose is one paragraph of Markdown, whatever its line breaks. */
static void paragraph(FILE *out, const char *label, const char *text)
{
    if (text[0] == '\0') return;
    fprintf(out, "**%s** ", label);
    for (; *text != '\0'; text++) fputc(*text == '\n' ? ' ' : *text, out);
    fputs("\n\n", out);
}

static const char *title_of(const spec_experiment *experiment)
{
    return experiment->title[0] != '\0' ? experiment->title : experiment->name;
}

static void write_evidence(FILE *out, const spec_result *result, const findings *found)
{
    unsigned long long checked = (unsigned long long)(result->holds + result->fails);
    if (checked == 0) fputs("measured; no exact theory to check against", out);
    else if (result->fails == 0) fprintf(out, "all %llu checked rows hold", checked);
    else fprintf(out, "**%llu of %llu checked rows FAIL**", (unsigned long long)result->fails, checked);
    if (!isnan(found->z)) fprintf(out, ", largest \\|z\\| %.2f", found->z);
    if (!isnan(found->p)) fprintf(out, ", smallest p %.3g", found->p);
    for (int i = 0; i < found->n_verdicts; i++)
        fprintf(out, "%s%zu x %s", i == 0 ? ", " : "; ", found->count[i], found->verdict[i]);
}

static void write_summary(FILE *out, const spec_experiment *const *experiments, const spec_result *const *results,
                          int n)
{
    unsigned long long rows = 0, checked = 0, fails = 0;
    fputs("## Summary\n\n| experiment | rows | evidence |\n| :-- | --: | :-- |\n", out);
    for (int i = 0; i < n; i++) {
        findings found = look(experiments[i]->measure, &results[i]->table);
        fprintf(out, "| [%s](#%s) | %zu | ", title_of(experiments[i]), experiments[i]->name, results[i]->table.n_rows);
        write_evidence(out, results[i], &found);
        fputs(" |\n", out);
        rows += results[i]->table.n_rows;
        checked += results[i]->holds + results[i]->fails;
        fails += results[i]->fails;
    }
    fprintf(out, "\n%llu rows, of which %llu were checked against exact theory or a promise: ", rows, checked);
    if (fails > 0) fprintf(out, "**%llu fail.**\n\n", fails);
    else fputs(checked > 0 ? "all hold.\n\n" : "none could be.\n\n", out);
    fprintf(out,
            "A row holds within %g standard errors of theory; its p-value is above %g; or the exact law is the "
            "promised one.\n\n",
            SPEC_CHECK_Z, SPEC_CHECK_P);
}

static void write_figure(FILE *out, const spec_experiment *experiment, const char *folder, const char *link)
{
    static const char *const endings[] = {"svg", "png"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s.%s", folder, experiment->name, endings[i]);
        if (n < 0 || n >= (int)sizeof path || access(path, R_OK) != 0) continue;
        fprintf(out, "![%s](%s/%s.%s)\n\n", title_of(experiment), link, experiment->name, endings[i]);
        return;
    }
}

/* Does a column say the same in every row (of several)? */
static bool says_the_same(const spec_table *table, int column)
{
    char first[40], other[40];
    for (size_t r = 1; r < table->n_rows; r++) {
        const spec_cell *a = spec_table_cell(table, 0, column), *b = spec_table_cell(table, r, column);
        if (a->kind != b->kind || strcmp(spec_cell_format(a, SPEC_FORMAT_CSV, first, sizeof first),
                                         spec_cell_format(b, SPEC_FORMAT_CSV, other, sizeof other)) != 0)
            return false;
    }
    return table->n_rows > 1;
}

/* Is a column left to the line above the table? A table of equal rows keeps all it has. */
static bool is_constant(const spec_table *table, int column)
{
    bool differ = false;
    for (int c = 0; c < table->n_columns; c++) differ = differ || !says_the_same(table, c);
    return differ && says_the_same(table, column);
}

/* The table's first rows without the columns that say the same everywhere. */
static int narrow(spec_table *ret_narrow, const spec_table *table, size_t rows)
{
    int status = GSL_SUCCESS, n = 0;
    const char **name = calloc((size_t)table->n_columns + 1, sizeof *name);
    int *from = calloc((size_t)table->n_columns + 1, sizeof *from);
    if (name == NULL || from == NULL) SPEC_TRY(GSL_ENOMEM);
    for (int c = 0; c < table->n_columns; c++) {
        if (is_constant(table, c)) continue;
        name[n] = table->column[c];
        from[n++] = c;
    }
    SPEC_TRY(spec_table_init(ret_narrow, name, n));
    for (size_t r = 0; r < rows && r < table->n_rows; r++) {
        for (int i = 0; i < n; i++) SPEC_TRY(spec_cell_copy(&ret_narrow->row[i], spec_table_cell(table, r, from[i])));
        SPEC_TRY(spec_table_append(ret_narrow));
    }
done:
    free(name);
    free(from);
    return status;
}

/* "In every row: K = 3, c = 0.1." for the columns that the table leaves out; empty ones are not worth a word. */
static void write_constants(FILE *out, const spec_table *table)
{
    const char *separator = "In every row: ";
    char buffer[40];
    for (int c = 0; c < table->n_columns; c++) {
        if (!is_constant(table, c) || spec_table_cell(table, 0, c)->kind == SPEC_CELL_EMPTY) continue;
        fprintf(out, "%s%s = `%s`", separator, table->column[c],
                spec_cell_format(spec_table_cell(table, 0, c), SPEC_FORMAT_TABLE, buffer, sizeof buffer));
        separator = ", ";
    }
    if (separator[0] == ',') fputs(".\n\n", out);
}

static int write_rows(FILE *out, const spec_experiment *experiment, const spec_table *table, const char *link,
                      size_t most, spec_error *error)
{
    spec_table shown = {0};
    int status = GSL_SUCCESS;
    write_constants(out, table);
    if (narrow(&shown, table, most) != GSL_SUCCESS) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(spec_table_write(&shown, SPEC_FORMAT_MARKDOWN, out, error));
    if (shown.n_rows < table->n_rows)
        fprintf(out, "\nThe first %zu of %zu rows; all are in [%s.csv](%s/%s.csv).\n\n", shown.n_rows, table->n_rows,
                experiment->name, link, experiment->name);
    else fprintf(out, "\nThe same as a file: [%s.csv](%s/%s.csv).\n\n", experiment->name, link, experiment->name);
done:
    spec_table_free(&shown);
    return status;
}

/* The row of the largest |z|, by its parameters. */
static void write_where(FILE *out, const spec_experiment *experiment, const spec_table *table, const findings *found)
{
    const char *separator = " (";
    char buffer[40];
    for (int c = 0; c < table->n_columns; c++) {
        if (spec_grid_axis(&experiment->grid, table->column[c]) == NULL) continue;
        const spec_cell *cell = spec_table_cell(table, found->z_row, c);
        fprintf(out, "%s%s = %s", separator, table->column[c],
                spec_cell_format(cell, SPEC_FORMAT_MARKDOWN, buffer, sizeof buffer));
        separator = ", ";
    }
    if (separator[0] == ',') fputc(')', out);
}

static int write_section(FILE *out, const spec_experiment *experiment, const spec_result *result,
                         const spec_report_options *options, spec_error *error)
{
    const char *folder = options->folder != NULL ? options->folder : ".";
    const char *link = options->link != NULL ? options->link : ".";
    findings found = look(experiment->measure, &result->table);
    fprintf(out, "<a id=\"%s\"></a>\n\n## %s\n\n", experiment->name, title_of(experiment));
    paragraph(out, "Question.", experiment->question);
    paragraph(out, "Theory.", experiment->theory);
    write_figure(out, experiment, folder, link);
    int status =
        write_rows(out, experiment, &result->table, link, (size_t)(options->rows > 0 ? options->rows : ROWS), error);
    if (status != GSL_SUCCESS) return status;
    paragraph(out, "Finding.", experiment->finding);
    fprintf(out, "**Evidence.** %zu rows of `%s`: ", result->table.n_rows, experiment->measure->name);
    write_evidence(out, result, &found);
    if (!isnan(found.z) && found.z > 0.0) write_where(out, experiment, &result->table, &found);
    fputs(".\n\n**Again.** `", out);
    const char *command = options->command != NULL ? options->command : "speclab run experiments/%s.cfg";
    const char *place = strstr(command, "%s"); /* not a format of ours, so not given to printf */
    if (place == NULL) fputs(command, out);
    else fprintf(out, "%.*s%s%s", (int)(place - command), command, experiment->name, place + 2);
    fprintf(out, "`%s%s\n\n", experiment->time[0] != '\0' ? ": " : "", experiment->time);
    return GSL_SUCCESS;
}

int spec_report_write(FILE *out, const spec_experiment *const *experiments, const spec_result *const *results, int n,
                      const spec_report_options *opt_options, spec_error *error)
{
    const spec_report_options defaults = SPEC_REPORT_DEFAULT;
    const spec_report_options *options = opt_options != NULL ? opt_options : &defaults;
    int status = GSL_SUCCESS;
    errno = 0;
    fprintf(out, "# %s\n\nTheory beside simulation, by speclab %s.\n\n",
            options->title != NULL ? options->title : "speclab report", SPEC_VERSION);
    write_summary(out, experiments, results, n);
    for (int i = 0; i < n; i++) SPEC_TRY(write_section(out, experiments[i], results[i], options, error));
    if (fflush(out) != 0 || ferror(out))
        status = spec_fail(error, GSL_EFAILED, "cannot write the report: %s", strerror(errno == 0 ? EIO : errno));
done:
    return status;
}
