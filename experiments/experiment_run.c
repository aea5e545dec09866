#include "experiments/experiment.h"

#include "experiments/result_file.h"
#include "base/settings.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifndef SPEC_GIT
#define SPEC_GIT SPEC_VERSION
#endif

const char spec_experiment_version[] = SPEC_VERSION " (" SPEC_GIT ")";
const char spec_experiment_compiler[] = COMPILER;

enum { MODELS_MAX = 32 }; /* models kept open from one point to the next */

/* ---- a run ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const spec_experiment *experiment;
    const spec_run_options *options;
    spec_result *result;
    spec_table work;      /* every column, the rows of one point */
    int *shown;           /* (result columns) which column of `work` */
    uint64_t size, next;  /* points, and the next one */
    spec_model_cache models;
    spec_result_file file;
    spec_error *error;
} runner;

/* What can be wrong before anything is computed. */
static int check_runnable(const spec_experiment *e, spec_error *error)
{
    uint64_t size = spec_grid_size(&e->grid);
    if (size == 0) return spec_fail(error, GSL_EINVAL, "the grid has no points");
    if (size > SPEC_GRID_POINTS_MAX)
        return spec_fail(error, GSL_EINVAL, "the grid has over %d million points",
                         (int)(SPEC_GRID_POINTS_MAX / 1000000));
    for (int i = 0; i < e->grid.n_axes; i++) {
        const spec_axis *axis = &e->grid.axis[i];
        bool known;
        spec_measure_default(e->measure, axis->name, &known);
        if (!known && !axis->label)
            return spec_fail(error, GSL_EINVAL, "%s has no parameter '%s'", e->measure->name, axis->name);
        if (spec_grid_axis(&e->grid, axis->name) != axis)
            return spec_fail(error, GSL_EINVAL, "'%s' is given twice", axis->name);
        if (!known && spec_measure_tells(e->measure, axis->name))
            return spec_fail(error, GSL_EINVAL, "'%s' is a column of %s: another name is needed", axis->name,
                                 e->measure->name);
    }
    for (int i = 0; e->measure->parameters[i] != NULL; i++) {
        const char *parameter = e->measure->parameters[i];
        if (strchr(parameter, '=') != NULL || spec_grid_axis(&e->grid, parameter) != NULL) continue;
        return spec_fail(error, GSL_EINVAL, "%s needs '%s'", e->measure->name, parameter);
    }
    return GSL_SUCCESS;
}

static char *provenance(const spec_experiment *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    fprintf(out, "speclab %s\nexperiment: %s\nmeasure: %s\n", spec_experiment_version, e->name, e->measure->name);
    if (e->figure[0] != '\0') fprintf(out, "figure: %s\n", e->figure);
    fprintf(out, "seed: %llu\n", (unsigned long long)e->seed);
    if (e->measure->simulates && e->rounds > 0) fprintf(out, "rounds: %llu\n", (unsigned long long)e->rounds);
    if (e->measure->simulates && e->standard_error > 0.0) fprintf(out, "standard_error: %.17g\n", e->standard_error);
    fprintf(out, "compiler: %s\n", spec_experiment_compiler);
    for (const char *line = e->text; *line != '\0';) {
        int n = (int)strcspn(line, "\n");
        fprintf(out, "| %.*s\n", n, line);
        line += n;
        if (*line == '\n') line++;
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    size_t n = strlen(text);
    if (n > 0 && text[n - 1] == '\n') text[n - 1] = '\0';
    return text;
}

static int make_tables(runner *run)
{
    const spec_experiment *e = run->experiment;
    int n = e->grid.n_axes, status = GSL_SUCCESS;
    for (int c = 0; e->measure->columns[c] != NULL; c++) n++;
    const char **column = calloc((size_t)n, sizeof *column);
    if (column == NULL) return spec_no_memory(run->error);
    n = 0;
    for (int i = 0; i < e->grid.n_axes; i++)
        if (!spec_measure_tells(e->measure, e->grid.axis[i].name)) column[n++] = e->grid.axis[i].name;
    for (int c = 0; e->measure->columns[c] != NULL; c++) column[n++] = e->measure->columns[c];
    if (spec_table_init(&run->work, column, n) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(run->error));

    bool all = e->n_show == 0;
    int n_shown = all ? n : e->n_show;
    spec_table *table = &run->result->table;
    run->shown = calloc((size_t)n_shown, sizeof *run->shown);
    status = spec_table_init(table, all ? column : (const char *const *)e->show, n_shown);
    if (run->shown == NULL || status != GSL_SUCCESS) SPEC_TRY(spec_no_memory(run->error));
    for (int i = 0; i < n_shown; i++) {
        run->shown[i] = all ? i : spec_table_column(&run->work, e->show[i]);
        if (run->shown[i] < 0)
            SPEC_TRY(spec_fail(run->error, GSL_EINVAL, "no column '%s' to show", e->show[i]));
    }
    free(table->provenance);
    if ((table->provenance = provenance(e)) == NULL) SPEC_TRY(spec_no_memory(run->error));
done:
    free(column);
    return status;
}

/* A parameter's text as a cell: a number where it prints back the same. */
static spec_cell cell_of(const char *text)
{
    spec_cell cell = {.kind = SPEC_CELL_NUMBER};
    char buffer[40];
    int integer;
    if (spec_settings_parse_int(&integer, text)) {
        cell = (spec_cell){.kind = SPEC_CELL_INTEGER, .integer = integer};
        if (strcmp(spec_cell_format(&cell, SPEC_FORMAT_CSV, buffer, sizeof buffer), text) == 0) return cell;
    }
    if (spec_settings_parse_double(&cell.number, text)) {
        cell.kind = SPEC_CELL_NUMBER;
        if (strcmp(spec_cell_format(&cell, SPEC_FORMAT_CSV, buffer, sizeof buffer), text) == 0) return cell;
    }
    return (spec_cell){.kind = SPEC_CELL_TEXT, .text = (char *)(uintptr_t)text};
}

static spec_point point_at(runner *run, uint64_t index)
{
    return (spec_point){.grid = &run->experiment->grid,
                        .index = index,
                        .rounds = run->experiment->rounds,
                        .standard_error = run->experiment->standard_error,
                        .threads = run->options->threads,
                        .limit = run->options->limit,
                        .stop = run->options->stop,
                        .models = &run->models};
}

/* A point's failure, with the point before it. */
static int point_failed(runner *run, uint64_t index, int status, const spec_error *inner)
{
    const char *what = inner->text[0] != '\0' ? inner->text : gsl_strerror(status);
    char *identity = run->options->no_point ? NULL : spec_grid_identity(&run->experiment->grid, index, NULL);
    spec_fail(run->error, status, "%.150s%s%s", identity != NULL ? identity : "", identity != NULL ? ": " : "", what);
    free(identity);
    return status;
}

static int rows_of(uint64_t *ret_rows, runner *run, uint64_t index)
{
    const spec_measure *measure = run->experiment->measure;
    const spec_point point = point_at(run, index);
    spec_error inner = {.text = ""};
    *ret_rows = 1;
    if (measure->rows == NULL) return GSL_SUCCESS;
    const int status = measure->rows(ret_rows, &point, measure, &inner);
    return status == GSL_SUCCESS ? status : point_failed(run, index, status, &inner);
}

static void count_check(runner *run, const spec_table *table, size_t row)
{
    spec_check check = spec_measure_check(run->experiment->measure, table, row);
    run->result->holds += check == SPEC_CHECK_HOLDS;
    run->result->fails += check == SPEC_CHECK_FAILS;
}

/* ---- the rows of an earlier run ---------------------------------------------------------------------------------- */

/* Copy the finished rows of an earlier run into the result. */
static int keep_rows(runner *run, const spec_table *old)
{
    const char *path = run->file.path;
    const spec_grid *grid = &run->experiment->grid;
    spec_table *table = &run->result->table;
    for (uint64_t rows; run->next < run->size; run->next++) {
        int status = rows_of(&rows, run, run->next);
        if (status != GSL_SUCCESS) return status;
        if (table->n_rows + rows > old->n_rows) break;
        for (uint64_t i = 0; i < rows; i++) {
            for (int c = 0; c < table->n_columns; c++) {
                const spec_cell *cell = spec_table_cell(old, table->n_rows, c);
                const char *name = table->column[c], *value = NULL;
                if (!spec_measure_tells(run->experiment->measure, name)) value = spec_grid_value(grid, run->next, name);
                char buffer[40], expected[40];
                spec_cell wanted = value == NULL ? *cell : cell_of(value);
                if (strcmp(spec_cell_format(cell, SPEC_FORMAT_CSV, buffer, sizeof buffer),
                           spec_cell_format(&wanted, SPEC_FORMAT_CSV, expected, sizeof expected)) != 0)
                    return spec_fail(run->error, GSL_EINVAL,
                                     "%.200s: row %zu has another %.40s than this run would write", path,
                                     table->n_rows + 1, name);
                if (spec_cell_copy(&table->row[c], cell) != GSL_SUCCESS) return spec_no_memory(run->error);
            }
            if (spec_table_append(table) != GSL_SUCCESS) return spec_no_memory(run->error);
            count_check(run, table, table->n_rows - 1);
        }
    }
    if (run->next == run->size && old->n_rows > table->n_rows)
        return spec_fail(run->error, GSL_EINVAL, "%.200s: more rows than this run would write", path);
    run->result->resumed = run->next;
    return GSL_SUCCESS;
}

/* Does `show` hide a column by which rows are judged? Then the rows of an earlier run cannot be. */
static int check_shown(const runner *run)
{
    const spec_measure *measure = run->experiment->measure;
    for (int i = 0; measure->checked != NULL && measure->checked[i] != NULL; i++)
        if (spec_table_column(&run->result->table, measure->checked[i]) < 0)
            return spec_fail(run->error, GSL_EINVAL,
                             "%s: cannot resume, for 'show' hides %s, by which rows are checked", run->experiment->name,
                             measure->checked[i]);
    return GSL_SUCCESS;
}

static int resume(runner *run)
{
    spec_table old;
    int status;
    SPEC_TRY(spec_result_file_read(&old, &run->file, &run->result->table, run->error));
    if (old.n_columns == 0) goto done;
    SPEC_TRY(check_shown(run));
    SPEC_TRY(keep_rows(run, &old));
    status = spec_result_file_keep(&run->file, &run->result->table, run->error);
done:
    spec_table_free(&old);
    return status;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

static bool stopped(const runner *run)
{
    return run->options->stop != NULL && *run->options->stop != 0;
}

static int interrupted(runner *run)
{
    return spec_fail(run->error, GSL_EFAILED, "interrupted after %llu of %llu points; %s",
                     (unsigned long long)run->next, (unsigned long long)run->size,
                     run->file.path != NULL ? "--resume goes on from there" : "their rows are kept");
}

/* Move the rows of the finished point into the result, and write them. */
static int keep_point(runner *run)
{
    const spec_grid *grid = &run->experiment->grid;
    spec_table *table = &run->result->table;
    size_t before = table->n_rows;
    for (size_t r = 0; r < run->work.n_rows; r++) {
        for (int a = 0; a < grid->n_axes; a++) {
            const char *name = grid->axis[a].name;
            if (spec_measure_tells(run->experiment->measure, name)) continue;
            const spec_cell cell = cell_of(spec_grid_value(grid, run->next, name));
            const size_t at = r * (size_t)run->work.n_columns + (size_t)spec_table_column(&run->work, name);
            if (spec_cell_copy(&run->work.cell[at], &cell) != GSL_SUCCESS) return spec_no_memory(run->error);
        }
        for (int c = 0; c < table->n_columns; c++)
            if (spec_cell_copy(&table->row[c], spec_table_cell(&run->work, r, run->shown[c])) != GSL_SUCCESS)
                return spec_no_memory(run->error);
        if (spec_table_append(table) != GSL_SUCCESS) return spec_no_memory(run->error);
        count_check(run, &run->work, r);
    }
    run->file.done = run->next;
    return spec_result_file_write(&run->file, table, before, run->error);
}

static int run_point(runner *run)
{
    const spec_measure *measure = run->experiment->measure;
    spec_point point = point_at(run, run->next);
    spec_error inner = {.text = ""};
    uint64_t rows = 1;
    int status = GSL_SUCCESS;
    char *identity = spec_grid_identity(&run->experiment->grid, run->next, measure->columns);
    if (identity == NULL) return spec_no_memory(run->error);
    point.seed = spec_rng_named_seed(run->experiment->seed, identity);
    SPEC_TRY(rows_of(&rows, run, run->next));
    spec_table_clear(&run->work);
    spec_model_cache_trim(&run->models, MODELS_MAX);
    if ((status = measure->run(&run->work, &point, measure, &inner)) != GSL_SUCCESS) {
        if (stopped(run)) interrupted(run);
        else point_failed(run, run->next, status, &inner);
        goto done;
    }
    if (spec_table_append(&run->work) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(run->error));
    assert(run->work.n_rows == rows);
    SPEC_TRY(keep_point(run));
done:
    free(identity);
    return status;
}

int spec_experiment_run(spec_result *result, const spec_experiment *experiment, const spec_run_options *options,
                        spec_error *error)
{
    runner run = {.experiment = experiment, .options = options, .result = result, .error = error};
    int status = GSL_SUCCESS;
    *result = (spec_result){0};
    spec_result_file_init(&run.file, options->csv_path, options->opt_csv);
    SPEC_TRY(check_runnable(experiment, error));
    run.size = run.file.total = spec_grid_size(&experiment->grid);
    SPEC_TRY(make_tables(&run));
    if (options->resume && options->csv_path != NULL) SPEC_TRY(resume(&run));
    SPEC_TRY(spec_result_file_open(&run.file, error));
    for (; run.next < run.size; run.next++) {
        if (options->progress != NULL) options->progress(options->context, run.next, run.size);
        if (stopped(&run)) SPEC_TRY(interrupted(&run));
        SPEC_TRY(run_point(&run));
    }
    if (options->progress != NULL) options->progress(options->context, run.size, run.size);
done:
    if (spec_result_file_close(&run.file) != 0 && status == GSL_SUCCESS)
        status = spec_fail(error, GSL_EFAILED, "%.200s: %s", options->csv_path, strerror(errno));
    spec_model_cache_free(&run.models);
    spec_table_free(&run.work);
    free(run.shown);
    return status;
}
