#include "experiments/experiment.h"

#include "models/settings.h"
#include "sim/rng.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifndef SPEC_GIT
#define SPEC_GIT SPEC_VERSION
#endif

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
    int file;             /* of csv_path, or -1 */
    bool made, fresh;     /* there was no such file before; nothing has been written yet */
    off_t good;           /* bytes of whole points in it */
    time_t synced;
    spec_error *error;
} runner;

static int no_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory");
}

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
        for (int c = 0; e->measure->columns[c] != NULL; c++)
            if (strcmp(axis->name, e->measure->columns[c]) == 0)
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
    fprintf(out, "speclab %s (%s)\nexperiment: %s\nmeasure: %s\n", SPEC_VERSION, SPEC_GIT, e->name, e->measure->name);
    if (e->figure[0] != '\0') fprintf(out, "figure: %s\n", e->figure);
    fprintf(out, "seed: %llu\n", (unsigned long long)e->seed);
    if (e->measure->simulates && e->rounds > 0) fprintf(out, "rounds: %llu\n", (unsigned long long)e->rounds);
    if (e->measure->simulates && e->standard_error > 0.0) fprintf(out, "standard_error: %.17g\n", e->standard_error);
    fprintf(out, "compiler: %s\n", COMPILER);
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
    while (e->measure->columns[n - e->grid.n_axes] != NULL) n++;
    const char **column = calloc((size_t)n, sizeof *column);
    if (column == NULL) return no_memory(run->error);
    for (int i = 0; i < n; i++)
        column[i] = i < e->grid.n_axes ? e->grid.axis[i].name : e->measure->columns[i - e->grid.n_axes];
    if (spec_table_init(&run->work, column, n) != GSL_SUCCESS) SPEC_TRY(no_memory(run->error));

    bool all = e->n_show == 0;
    int n_shown = all ? n : e->n_show;
    spec_table *table = &run->result->table;
    run->shown = calloc((size_t)n_shown, sizeof *run->shown);
    status = spec_table_init(table, all ? column : (const char *const *)e->show, n_shown);
    if (run->shown == NULL || status != GSL_SUCCESS) SPEC_TRY(no_memory(run->error));
    for (int i = 0; i < n_shown; i++) {
        run->shown[i] = all ? i : spec_table_column(&run->work, e->show[i]);
        if (run->shown[i] < 0)
            SPEC_TRY(spec_fail(run->error, GSL_EINVAL, "no column '%s' to show", e->show[i]));
    }
    free(table->provenance);
    if ((table->provenance = provenance(e)) == NULL) SPEC_TRY(no_memory(run->error));
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

static int rows_of(uint64_t *ret_rows, runner *run, uint64_t index)
{
    const spec_measure *measure = run->experiment->measure;
    spec_point point = point_at(run, index);
    *ret_rows = 1;
    return measure->rows == NULL ? GSL_SUCCESS : measure->rows(ret_rows, &point, measure, run->error);
}

static void count_check(runner *run, const spec_table *table, size_t row)
{
    spec_check check = spec_measure_check(run->experiment->measure, table, row);
    run->result->holds += check == SPEC_CHECK_HOLDS;
    run->result->fails += check == SPEC_CHECK_FAILS;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The head and the first `rows` rows of the result, as bytes. */
static char *result_bytes(const spec_table *table, size_t from, size_t rows, bool head, size_t *ret_size)
{
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, ret_size);
    if (out == NULL) return NULL;
    if (head) spec_table_write_head(table, out, NULL);
    for (size_t r = from; r < rows; r++) spec_table_write_row(table, r, out, NULL);
    if (fclose(out) == 0) return bytes;
    free(bytes);
    return NULL;
}

static int write_failed(runner *run)
{
    int why = errno == 0 ? EIO : errno;
    if (run->file >= 0 && ftruncate(run->file, run->good) != 0)
        errno = why; /* leave no part of a row, where that is possible */
    const char *path = run->options->csv_path != NULL ? run->options->csv_path : "standard output";
    return spec_fail(run->error, GSL_EFAILED, "%.200s: %s after %llu of %llu points", path, strerror(why),
                     (unsigned long long)run->next, (unsigned long long)run->size);
}

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Write the bytes of whole rows, then see to it that they reach the disk about once a second. */
static int emit(runner *run, const char *bytes, size_t n)
{
    if (run->file < 0) {
        FILE *out = run->options->opt_csv;
        if (out == NULL || run->options->csv_path != NULL) return GSL_SUCCESS;
        errno = 0;
        if (fwrite(bytes, 1, n, out) == n && fflush(out) == 0) return GSL_SUCCESS;
        return write_failed(run);
    }
    for (size_t at = 0; at < n;) {
        ssize_t wrote = write(run->file, bytes + at, n - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return write_failed(run);
        at += (size_t)wrote;
    }
    run->good += (off_t)n;
    const time_t now = seconds_now();
    if (now == run->synced && run->next + 1 < run->size) return GSL_SUCCESS;
    run->synced = now;
    if (fsync(run->file) == 0 || errno == EINVAL || errno == EROFS) return GSL_SUCCESS; /* EINVAL: a pipe, a device */
    return write_failed(run);
}

/* The head goes out with the first rows. What the file held before is lost only then: a run that gives no row destroys
 * nothing. */
static int emit_rows(runner *run, size_t from, size_t rows)
{
    size_t n = 0;
    int status = GSL_SUCCESS;
    char *bytes = result_bytes(&run->result->table, from, rows, run->fresh, &n);
    if (bytes == NULL) return no_memory(run->error);
    const bool over = run->fresh && run->file >= 0 && !run->made;
    if (over && ftruncate(run->file, 0) != 0 && errno != EINVAL) SPEC_TRY(write_failed(run)); /* EINVAL: a device */
    SPEC_TRY(emit(run, bytes, n));
    run->fresh = false;
done:
    free(bytes);
    return status;
}

/* The first line in which the file's beginning differs from what this run would write; NULL where it does not, or is
 * only shorter. */
static const char *head_difference(const char *file, const char *head, int *ret_line)
{
    *ret_line = 1;
    for (;;) {
        size_t n = strcspn(head, "\n");
        if (*head == '\0' || *file == '\0') return NULL;
        size_t m = strcspn(file, "\n");
        bool cut = file[m] == '\0' && m <= n; /* killed while the head was written */
        if (strncmp(file, head, cut ? m : n + 1) != 0) return file;
        if (cut) return NULL;
        head += n + 1;
        file += n + 1;
        ++*ret_line;
    }
}

/* Copy the finished rows of an earlier run into the result; the file is cut after them. */
static int keep_rows(runner *run, const spec_table *old)
{
    const char *path = run->options->csv_path;
    const spec_grid *grid = &run->experiment->grid;
    spec_table *table = &run->result->table;
    for (uint64_t rows; run->next < run->size; run->next++) {
        int status = rows_of(&rows, run, run->next);
        if (status != GSL_SUCCESS) return status;
        if (table->n_rows + rows > old->n_rows) break;
        for (uint64_t i = 0; i < rows; i++) {
            for (int c = 0; c < table->n_columns; c++) {
                const spec_cell *cell = spec_table_cell(old, table->n_rows, c);
                const char *value = spec_grid_value(grid, run->next, table->column[c]);
                char buffer[40], expected[40];
                spec_cell wanted = value == NULL ? *cell : cell_of(value);
                if (strcmp(spec_cell_format(cell, SPEC_FORMAT_CSV, buffer, sizeof buffer),
                           spec_cell_format(&wanted, SPEC_FORMAT_CSV, expected, sizeof expected)) != 0)
                    return spec_fail(run->error, GSL_EINVAL,
                                     "%.200s: row %zu has another %.40s than this run would write", path,
                                     table->n_rows + 1, table->column[c]);
                if (spec_cell_copy(&table->row[c], cell) != GSL_SUCCESS) return no_memory(run->error);
            }
            if (spec_table_append(table) != GSL_SUCCESS) return no_memory(run->error);
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

/* Rows that read the same may have been written otherwise (1e3 for 1000): then there is no telling where to cut. */
static bool begins_with(FILE *file, const char *bytes, size_t n)
{
    rewind(file);
    for (size_t i = 0; i < n; i++)
        if (getc(file) != (unsigned char)bytes[i]) return false;
    return true;
}

/* Take up the file of an earlier run. *ret_fresh: there was nothing worth keeping. */
static int resume(runner *run, bool *ret_fresh)
{
    const char *path = run->options->csv_path, *differs = NULL;
    spec_table old = {0};
    char *head = NULL, *start = NULL, *kept = NULL;
    size_t n_head = 0, n_start = 0, n_kept = 0;
    int status = GSL_SUCCESS, line = 0;
    *ret_fresh = true;
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT) return GSL_SUCCESS;
    if (file == NULL) return spec_fail(run->error, GSL_EFAILED, "%.200s: %s", path, strerror(errno));
    head = result_bytes(&run->result->table, 0, 0, true, &n_head);
    start = calloc(n_head + 1, 1);
    if (head == NULL || start == NULL) SPEC_TRY(no_memory(run->error));
    n_start = fread(start, 1, n_head, file);
    if ((differs = head_difference(start, head, &line)) != NULL) {
        status = spec_fail(run->error, GSL_EINVAL,
                           "%.100s:%d: cannot resume: another experiment, seed, version or setting wrote '%.*s'", path,
                           line, (int)strcspn(differs, "\n"), differs);
        goto done;
    }
    if (n_start < n_head) goto done;
    SPEC_TRY(check_shown(run));
    SPEC_TRY(spec_table_read_csv(&old, path, NULL, run->error));
    SPEC_TRY(keep_rows(run, &old));
    kept = result_bytes(&run->result->table, 0, run->result->table.n_rows, true, &n_kept);
    if (kept == NULL) SPEC_TRY(no_memory(run->error));
    if (!begins_with(file, kept, n_kept)) {
        status = spec_fail(run->error, GSL_EINVAL, "%.200s: cannot resume: its rows were edited", path);
        goto done;
    }
    run->good = (off_t)n_kept;
    *ret_fresh = false;
done:
    if (file != NULL) fclose(file);
    spec_table_free(&old);
    free(head);
    free(start);
    free(kept);
    return status;
}

static int open_csv(runner *run)
{
    const char *path = run->options->csv_path;
    int status = GSL_SUCCESS;
    run->fresh = true;
    if (path == NULL) return status;
    if (run->options->resume) SPEC_TRY(resume(run, &run->fresh));
    run->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    run->made = run->file >= 0;
    if (!run->made) run->file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (run->file < 0) return spec_fail(run->error, GSL_EFAILED, "%.200s: %s", path, strerror(errno));
    if (!run->fresh && (ftruncate(run->file, run->good) != 0 || lseek(run->file, 0, SEEK_END) != run->good))
        return spec_fail(run->error, GSL_EFAILED, "%.200s: cannot resume: %s", path, strerror(errno));
done:
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
                     run->options->csv_path != NULL ? "--resume goes on from there" : "their rows are kept");
}

/* Move the rows of the finished point into the result, and write them. */
static int keep_point(runner *run)
{
    const spec_grid *grid = &run->experiment->grid;
    spec_table *table = &run->result->table;
    size_t before = table->n_rows;
    for (size_t r = 0; r < run->work.n_rows; r++) {
        for (int a = 0; a < grid->n_axes; a++) {
            spec_cell cell = cell_of(spec_grid_value(grid, run->next, grid->axis[a].name));
            if (spec_cell_copy(&run->work.cell[r * (size_t)run->work.n_columns + (size_t)a], &cell) != GSL_SUCCESS)
                return no_memory(run->error);
        }
        for (int c = 0; c < table->n_columns; c++)
            if (spec_cell_copy(&table->row[c], spec_table_cell(&run->work, r, run->shown[c])) != GSL_SUCCESS)
                return no_memory(run->error);
        if (spec_table_append(table) != GSL_SUCCESS) return no_memory(run->error);
        count_check(run, &run->work, r);
    }
    return emit_rows(run, before, table->n_rows);
}

static int run_point(runner *run)
{
    const spec_measure *measure = run->experiment->measure;
    spec_point point = point_at(run, run->next);
    spec_error inner = {.text = ""};
    uint64_t rows = 1;
    int status = GSL_SUCCESS;
    char *identity = spec_grid_identity(&run->experiment->grid, run->next);
    if (identity == NULL) return no_memory(run->error);
    point.seed = spec_rng_named_seed(run->experiment->seed, identity);
    SPEC_TRY(rows_of(&rows, run, run->next));
    spec_table_clear(&run->work);
    spec_model_cache_trim(&run->models, MODELS_MAX);
    if ((status = measure->run(&run->work, &point, measure, &inner)) != GSL_SUCCESS) {
        const bool no_point = run->options->no_point;
        const char *what = inner.text[0] != '\0' ? inner.text : gsl_strerror(status);
        if (stopped(run)) interrupted(run);
        else spec_fail(run->error, status, "%.150s%s%s", no_point ? "" : identity, no_point ? "" : ": ", what);
        goto done;
    }
    if (spec_table_append(&run->work) != GSL_SUCCESS) SPEC_TRY(no_memory(run->error));
    assert(run->work.n_rows == rows);
    SPEC_TRY(keep_point(run));
done:
    free(identity);
    return status;
}

int spec_experiment_run(spec_result *result, const spec_experiment *experiment, const spec_run_options *options,
                        spec_error *error)
{
    runner run = {.experiment = experiment, .options = options, .result = result, .file = -1, .error = error};
    int status = GSL_SUCCESS;
    *result = (spec_result){0};
    SPEC_TRY(check_runnable(experiment, error));
    run.size = spec_grid_size(&experiment->grid);
    run.synced = seconds_now();
    SPEC_TRY(make_tables(&run));
    SPEC_TRY(open_csv(&run));
    for (; run.next < run.size; run.next++) {
        if (options->progress != NULL) options->progress(options->context, run.next, run.size);
        if (stopped(&run)) SPEC_TRY(interrupted(&run));
        SPEC_TRY(run_point(&run));
    }
    if (options->progress != NULL) options->progress(options->context, run.size, run.size);
done:
    if (run.file >= 0 && close(run.file) != 0 && status == GSL_SUCCESS)
        status = spec_fail(error, GSL_EFAILED, "%.200s: %s", options->csv_path, strerror(errno));
    if (run.made && run.good == 0) unlink(options->csv_path); /* no row came: as if never tried */
    spec_model_cache_free(&run.models);
    spec_table_free(&run.work);
    free(run.shown);
    return status;
}
