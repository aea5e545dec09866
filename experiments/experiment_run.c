/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/experiment.h"

#include "base/settings.h"
#include "experiments/group_run.h"
#include "experiments/point_message.h"
#include "experiments/result_file.h"
#include "experiments/result_head.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS_MAX = 32 /* models kept open between points */, CHECKED_POINTS = 100000 };

/* A team deals out groups instead of points if it has fewer points per member than FEW_POINTS, and
 * at least MANY_GROUPS groups per member. */
enum { FEW_POINTS = 8, MANY_GROUPS = 2 };

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct {
    const spec_experiment *experiment;
    const spec_run_options *options;
    spec_result *result;
    spec_table work;     /* all columns, for the rows of one point */
    int *shown, n_shown; /* (n_shown) for each column of the result, its column in `work` */
    uint64_t size, next; /* number of points in this shard; index of the next one */
    spec_model_cache models;
    spec_result_file file;
    spec_listener listener; /* listener of the current point */
    spec_group_run group;
    spec_point_groups groups; /* zeroed: points run their groups themselves */
    spec_error *error;
    bool begun; /* the rows of some point have been written */
} runner;

static int check_runnable(const spec_experiment *e, const spec_shard *shard, spec_error *error)
{
    uint64_t size = spec_grid_size(&e->grid);
    if (e->missing[0] != '\0')
        return spec_fail(error, GSL_EINVAL, "%.60s needs %.400s", e->name, e->missing);
    if (size == 0) return spec_fail(error, GSL_EINVAL, "the grid has no points");
    if (size > SPEC_GRID_POINTS_MAX)
        return spec_fail(error, GSL_EINVAL, "the grid has over %d million points",
                         (int)(SPEC_GRID_POINTS_MAX / 1000000));
    if (shard->of > size)
        return spec_fail(error, GSL_EINVAL,
                         "--shard %llu/%llu: the grid has %llu point%s; use at most as many shards",
                         (unsigned long long)shard->number, (unsigned long long)shard->of,
                         (unsigned long long)size, size == 1 ? "" : "s");
    for (int i = 0; i < e->grid.n_axes; i++) {
        const spec_axis *axis = &e->grid.axis[i];
        bool known;
        spec_measure_default(e->measure, axis->name, &known);
        if (!known && !axis->label)
            return spec_fail(error, GSL_EINVAL, "%s has no parameter '%s'", e->measure->name,
                             axis->name);
        if (spec_grid_axis(&e->grid, axis->name) != axis)
            return spec_fail(error, GSL_EINVAL, "'%s' is given twice", axis->name);
        if (!known && spec_measure_tells(e->measure, axis->name))
            return spec_fail(error, GSL_EINVAL, "'%s' is a column of %s: another name is needed",
                             axis->name, e->measure->name);
    }
    for (int i = 0; e->measure->parameters[i] != NULL; i++) {
        const char *parameter = e->measure->parameters[i];
        if (strchr(parameter, '=') != NULL || spec_grid_axis(&e->grid, parameter) != NULL) continue;
        return spec_fail(error, GSL_EINVAL, "%s needs '%s'", e->measure->name, parameter);
    }
    return GSL_SUCCESS;
}

/* Returns a cell with the text of a parameter; it is a number if the number prints as the same
 * text. */
static spec_cell cell_of(const char *text)
{
    spec_cell cell = {.kind = SPEC_CELL_NUMBER};
    char buffer[40];
    int integer;
    if (spec_settings_parse_int(&integer, text)) {
        cell = (spec_cell){.kind = SPEC_CELL_INTEGER, .integer = integer};
        if (strcmp(spec_cell_format(&cell, SPEC_FORMAT_CSV, buffer, sizeof buffer), text) == 0)
            return cell;
    }
    if (spec_settings_parse_double(&cell.number, text)) {
        cell.kind = SPEC_CELL_NUMBER;
        if (strcmp(spec_cell_format(&cell, SPEC_FORMAT_CSV, buffer, sizeof buffer), text) == 0)
            return cell;
    }
    return (spec_cell){.kind = SPEC_CELL_TEXT, .text = (char *)(uintptr_t)text};
}

/* Reports how much of the current point is done. */
static void hear_share(void *self, double share)
{
    const runner *run = self;
    run->options->progress(run->options->self, (double)run->next + share, run->size);
}

/* Returns the grid index of the current point. */
static uint64_t index_of(const runner *run)
{
    return spec_shard_index(&run->options->shard, run->next);
}

/* Writes the position of row i of the current point, for the last column of a part. */
static const char *place_of(char text[SPEC_SHARD_ROW_SIZE], const runner *run, uint64_t i,
                            uint64_t rows)
{
    const spec_shard_row place = {index_of(run) + 1, spec_grid_size(&run->experiment->grid), i + 1,
                                  rows};
    return spec_shard_row_text(text, &place);
}

static spec_point point_at(runner *run, uint64_t index)
{
    return (spec_point){.grid = &run->experiment->grid,
                        .index = index,
                        .rounds = run->experiment->rounds,
                        .standard_error = run->experiment->standard_error,
                        .opt_context = run->options->opt_context,
                        .limit = run->options->limit,
                        .stop = run->options->stop,
                        .opt_listener = run->options->progress != NULL ? &run->listener : NULL,
                        .models = &run->models,
                        .opt_groups = run->groups.self != NULL ? &run->groups : NULL};
}

/* Reports that a point failed, beginning with the name of the point. */
static int point_failed(runner *run, uint64_t index, int status, const spec_error *inner)
{
    const char *what = inner->text[0] != '\0' ? inner->text
                       : status == GSL_ENOMEM ? "out of memory"
                                              : gsl_strerror(status);
    const bool leader_names_it = run->group.more && run->group.task.list > 0;
    char *identity = run->options->no_point || leader_names_it
                         ? NULL
                         : spec_grid_identity(&run->experiment->grid, index, NULL);
    spec_fail(run->error, status, "%.150s%s%s", identity != NULL ? identity : "",
              identity != NULL ? ": " : "", what);
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

/* ---- the rows of an earlier run -------------------------------------------------------------- */

/* Copies the finished rows of an earlier run into the result. We take their checks (n_rows of old)
 * from the file, because `show` may hide the columns that decide them. */
static int keep_rows(runner *run, spec_check *ret_check, const spec_table *old)
{
    const char *path = run->file.path;
    const spec_grid *grid = &run->experiment->grid;
    spec_table *table = &run->result->table;
    for (uint64_t rows; run->next < run->size; run->next++) {
        int status = rows_of(&rows, run, index_of(run));
        if (status != GSL_SUCCESS) return status;
        if (table->n_rows + rows > old->n_rows) break;
        for (uint64_t i = 0; i < rows; i++) {
            for (int c = 0; c < table->n_columns; c++) {
                const spec_cell *cell = spec_table_cell(old, table->n_rows, c);
                const char *name = table->column[c], *value = NULL;
                char buffer[40], expected[40], place[SPEC_SHARD_ROW_SIZE];
                if (c == run->n_shown) value = place_of(place, run, i, rows);
                else if (!spec_measure_tells(run->experiment->measure, name))
                    value = spec_grid_value(grid, index_of(run), name);
                spec_cell wanted = value == NULL ? *cell : cell_of(value);
                if (strcmp(spec_cell_format(cell, SPEC_FORMAT_CSV, buffer, sizeof buffer),
                           spec_cell_format(&wanted, SPEC_FORMAT_CSV, expected, sizeof expected)) !=
                    0)
                    return spec_fail(run->error, GSL_EINVAL,
                                     "%.200s: row %zu has a different %.40s from what this run "
                                     "would write",
                                     path, table->n_rows + 1, name);
                if (spec_cell_copy(&table->row[c], cell) != GSL_SUCCESS)
                    return spec_no_memory(run->error);
            }
            const size_t row = table->n_rows;
            if (!spec_result_file_check(&ret_check[row], old, row))
                return spec_fail(run->error, GSL_EINVAL,
                                 "%.200s: cannot resume: row %zu was edited", path, row + 1);
            if (spec_table_append(table) != GSL_SUCCESS) return spec_no_memory(run->error);
            spec_result_count(run->result, ret_check[row], row);
        }
    }
    if (run->next == run->size && old->n_rows > table->n_rows)
        return spec_fail(run->error, GSL_EINVAL, "%.200s: more rows than this run would write",
                         path);
    run->result->resumed = run->next;
    return GSL_SUCCESS;
}

static int resume(runner *run)
{
    spec_table old;
    spec_check *check = NULL;
    int status;
    if (run->options->batches.of > 0)
        return spec_group_writer_resume(&run->group.writer, run->error);
    SPEC_TRY(spec_result_file_read(&old, &run->file, &run->result->table, run->error));
    if (old.n_columns == 0) goto done;
    if ((check = calloc(old.n_rows + 1, sizeof *check)) == NULL)
        SPEC_TRY(spec_no_memory(run->error));
    SPEC_TRY(keep_rows(run, check, &old));
    status = spec_result_file_keep(&run->file, &run->result->table, check, run->error);
done:
    free(check);
    spec_table_free(&old);
    return status;
}

/* ---- points ---------------------------------------------------------------------------------- */

static bool stopped(const runner *run)
{
    return spec_stop_is_set(run->options->stop);
}

static int interrupted(runner *run)
{
    char words[80];
    if (run->next == 0)
        return spec_fail(run->error, GSL_EFAILED, "interrupted before the first row");
    snprintf(words, sizeof words, "interrupted after %llu of %llu points",
             (unsigned long long)run->next, (unsigned long long)run->size);
    spec_result_file_mark(&run->file, words);
    return spec_fail(run->error, GSL_EFAILED, "%s; %s", words,
                     run->file.path != NULL ? "--resume continues from there"
                                            : "their rows are kept");
}

/* Moves the rows of the finished point into the result, and writes them. */
static int keep_point(runner *run)
{
    const spec_grid *grid = &run->experiment->grid;
    spec_table *table = &run->result->table;
    size_t before = table->n_rows;
    int status = GSL_SUCCESS;
    spec_check *check = calloc(run->work.n_rows, sizeof *check);
    if (check == NULL) return spec_no_memory(run->error);
    for (size_t r = 0; r < run->work.n_rows; r++) {
        for (int a = 0; a < grid->n_axes; a++) {
            const char *name = grid->axis[a].name;
            if (spec_measure_tells(run->experiment->measure, name)) continue;
            const spec_cell cell = cell_of(spec_grid_value(grid, index_of(run), name));
            const size_t at =
                r * (size_t)run->work.n_columns + (size_t)spec_table_column(&run->work, name);
            if (spec_cell_copy(&run->work.cell[at], &cell) != GSL_SUCCESS)
                SPEC_TRY(spec_no_memory(run->error));
        }
        for (int c = 0; c < run->n_shown; c++)
            if (spec_cell_copy(&table->row[c], spec_table_cell(&run->work, r, run->shown[c])) !=
                GSL_SUCCESS)
                SPEC_TRY(spec_no_memory(run->error));
        char place[SPEC_SHARD_ROW_SIZE];
        if (run->options->shard.of > 0)
            spec_table_text(table, SPEC_SHARD_COLUMN, place_of(place, run, r, run->work.n_rows));
        if (spec_table_append(table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(run->error));
        check[r] = spec_measure_check(run->experiment->measure, &run->work, r);
        spec_result_count(run->result, check[r], before + r);
    }
    SPEC_TRY(spec_result_file_write(&run->file, table, before, check, run->error));
done:
    free(check);
    return status;
}

/* Returns whether a point that is too large can get a row that says so. This is not possible if
 * several processes share the groups of a point. */
static bool may_be_left_out(const runner *run)
{
    const spec_measure *measure = run->experiment->measure;
    return measure->rows == NULL && run->groups.self == NULL &&
           spec_measure_tells(measure, "verdict");
}

/* Computes the rows of the point into `work`. Returns GSL_CONTINUE if the point gets no row
 * here. */
static int compute_point(runner *run)
{
    const spec_measure *measure = run->experiment->measure;
    const uint64_t index = index_of(run);
    spec_point point = point_at(run, index);
    spec_error inner = {.text = ""};
    uint64_t rows = 1;
    int status = GSL_SUCCESS;
    char *identity = spec_grid_identity(&run->experiment->grid, index, measure->columns);
    if (identity == NULL) return spec_no_memory(run->error);
    point.seed = spec_rng_named_seed(run->experiment->seed, identity);
    SPEC_TRY(rows_of(&rows, run, index));
    spec_table_clear(&run->work);
    spec_model_cache_trim(&run->models, MODELS_MAX);
    status = measure->run(&run->work, &point, measure, &inner);
    if (status == GSL_EMAXITER && may_be_left_out(run)) {
        status = GSL_SUCCESS;
        spec_table_clear(&run->work);
        spec_table_text(&run->work, "verdict", SPEC_TOO_LARGE);
        if (run->result->why.text[0] == '\0') run->result->why = inner;
    }
    if (status != GSL_SUCCESS) {
        if (status == GSL_CONTINUE) goto done;
        if (stopped(run)) interrupted(run);
        else point_failed(run, index, status, &inner);
        goto done;
    }
    if (spec_table_append(&run->work) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(run->error));
    assert(run->work.n_rows == rows);
done:
    free(identity);
    return status;
}

/* Returns the other processes of this run; NULL if there are none. */
static const spec_team *team_of(const runner *run)
{
    return run->options->opt_context != NULL ? run->options->opt_context->opt_team : NULL;
}

/* Lets a member of the team compute the point. */
static int take_point(runner *run, const spec_team *team)
{
    const spec_task task = {0, run->next};
    char *bytes = NULL;
    size_t size;
    spec_table_clear(&run->work);
    int status =
        team->take(team->self, &bytes, &size, &task, run->size, run->options->stop, run->error);
    if (status == GSL_SUCCESS)
        status = spec_point_message_unpack(&run->work, bytes, size, run->error);
    if (status != GSL_SUCCESS && stopped(run)) interrupted(run);
    free(bytes);
    return status;
}

/* Computes points, or groups of points, for the leader of the team until there are no more. */
static int serve_team(runner *run, const spec_team *team)
{
    spec_group_run *group = &run->group;
    group->more = team->next(team->self, &group->task);
    while (group->more) {
        const bool whole = group->task.list == 0;
        run->next = spec_group_run_task_point(&group->task);
        run->groups.self = whole ? NULL : group;
        const int status = compute_point(run);
        if (!whole && status != GSL_CONTINUE) return status;
        if (!whole) continue;
        size_t size;
        char *bytes = spec_point_message_pack(&size, status, &run->work, run->error);
        if (bytes == NULL) return spec_no_memory(run->error);
        team->give(team->self, bytes, size);
        free(bytes);
        group->more = team->next(team->self, &group->task);
    }
    return GSL_SUCCESS;
}

/* Chooses whether to deal out groups of each point, or whole points. If there are few points with
 * many groups each, groups keep all members busy, but the leader then has to open the models of
 * every point. */
static int choose_tasks(runner *run, const spec_team *team)
{
    const uint64_t members = (uint64_t)team->members;
    if (run->options->batches.of > 0 || !run->experiment->measure->divides ||
        run->experiment->standard_error > 0.0 || run->next == run->size ||
        run->size - run->next >= FEW_POINTS * members)
        return GSL_SUCCESS;
    run->groups.self = &run->group;
    run->group.counts = true;
    const int status = compute_point(run);
    run->group.counts = false;
    if (run->group.counted < MANY_GROUPS * members) run->groups.self = NULL;
    return status == GSL_CONTINUE ? GSL_SUCCESS : status;
}

static int run_points(runner *run)
{
    const spec_team *team = team_of(run);
    int status = GSL_SUCCESS;
    if (team != NULL && !team->leads) return serve_team(run, team);
    if (team != NULL) SPEC_TRY(choose_tasks(run, team));
    const bool takes_points = team != NULL && run->groups.self == NULL;
    for (; run->next < run->size; run->next++) {
        if (run->options->progress != NULL)
            run->options->progress(run->options->self, (double)run->next, run->size);
        if (stopped(run)) return interrupted(run);
        run->file.done = run->next;
        status = takes_points ? take_point(run, team) : compute_point(run);
        if (status == GSL_CONTINUE) continue;
        if (status == GSL_SUCCESS && !run->begun && run->options->first_row != NULL)
            run->options->first_row(run->options->self);
        run->begun = true;
        if (status == GSL_SUCCESS) status = keep_point(run);
        if (status != GSL_SUCCESS) return status;
    }
    status = GSL_SUCCESS;
    if (run->options->progress != NULL)
        run->options->progress(run->options->self, (double)run->size, run->size);
done:
    return status;
}

static int check_point(runner *run, uint64_t index, spec_point_stage until)
{
    const spec_measure *measure = run->experiment->measure;
    spec_point point = point_at(run, index);
    spec_error inner = {.text = ""};
    point.until = until;
    const int status = measure->run(&run->work, &point, measure, &inner);
    spec_table_clear(&run->work);
    assert(status != GSL_SUCCESS); /* if it returns before it computes, it has failed */
    return status == GSL_CONTINUE ? GSL_SUCCESS : point_failed(run, index, status, &inner);
}

/* Refuses wrong parameters before any point runs, even those of other shards. In a very large grid
 * we check only the first points. */
static int check_parameters(runner *run)
{
    const uint64_t size = spec_grid_size(&run->experiment->grid);
    int status = GSL_SUCCESS;
    for (uint64_t i = 0; i < size && i < CHECKED_POINTS; i++) {
        uint64_t rows;
        if (stopped(run)) SPEC_TRY(interrupted(run));
        SPEC_TRY(rows_of(&rows, run, i));
        SPEC_TRY(check_point(run, i, SPEC_POINT_READ));
    }
done:
    return status;
}

/* Opens the models of the coming points, so that missing or unsuitable ones are refused before any
 * point runs. Stops when the cache is full. In a team each member opens its own. */
static int check_models(runner *run)
{
    const uint64_t begin = run->next;
    bool opens;
    int status = GSL_SUCCESS;
    spec_measure_default(run->experiment->measure, "target", &opens);
    if (!opens || team_of(run) != NULL) return GSL_SUCCESS;
    for (; run->next < run->size && run->next - begin < CHECKED_POINTS; run->next++) {
        if (run->models.n >= MODELS_MAX || stopped(run)) break;
        SPEC_TRY(check_point(run, index_of(run), SPEC_POINT_OPENED));
    }
done:
    run->next = begin;
    return status;
}

/* Makes points write the results of their groups, or read them from a file. */
static int open_groups(runner *run)
{
    const spec_run_options *options = run->options;
    const spec_experiment *e = run->experiment;
    const spec_shard none = {0}, whole = {1, 1};
    run->group.opt_team = team_of(run);
    run->group.shard = options->shard;
    run->group.writer = (spec_group_writer){
        .part = options->batches, .table = &run->result->table, .file = &run->file};
    run->groups.run = spec_group_run_point;
    if (options->batches.of == 0 && options->opt_sums == NULL) return GSL_SUCCESS;
    if (!e->measure->divides)
        return spec_fail(run->error, GSL_EINVAL,
                         "--batches: the points of %s are not simulated in batches; divide the "
                         "grid with --shard",
                         e->measure->name);
    if (e->measure->simulates && e->standard_error > 0.0)
        return spec_fail(run->error, GSL_EINVAL,
                         "--batches needs a number of rounds, without a standard error");
    run->groups.self = &run->group;
    if (options->opt_sums == NULL) return GSL_SUCCESS;
    char *head = spec_result_head_provenance(e, options->limit, &none, &whole);
    if (head == NULL) return spec_no_memory(run->error);
    const int status =
        spec_group_reader_open(&run->group.reader, options->opt_sums, head, run->error);
    free(head);
    return status;
}

int spec_experiment_run(spec_result *result, const spec_experiment *experiment,
                        const spec_run_options *options, spec_error *error)
{
    runner run = {.experiment = experiment,
                  .options = options,
                  .result = result,
                  .models = {.opt_context = options->opt_context},
                  .error = error};
    int status = GSL_SUCCESS, closed;
    *result = (spec_result){0};
    run.listener = (spec_listener){.hear = hear_share, .self = &run};
    spec_result_file_init(&run.file, options->csv_path, options->opt_csv);
    SPEC_TRY(check_runnable(experiment, &options->shard, error));
    run.size = run.file.total = spec_shard_size(&options->shard, spec_grid_size(&experiment->grid));
    SPEC_TRY(spec_result_head_make(&run.work, &result->table, &run.shown, &run.n_shown, experiment,
                                   options, error));
    SPEC_TRY(check_parameters(&run));
    SPEC_TRY(open_groups(&run));
    if (options->resume && options->csv_path != NULL) SPEC_TRY(resume(&run));
    SPEC_TRY(check_models(&run));
    SPEC_TRY(spec_result_file_open(&run.file, error));
    SPEC_TRY(run_points(&run));
done:
    closed = spec_result_file_close(&run.file, &result->kept, status == GSL_SUCCESS ? error : NULL);
    if (status == GSL_SUCCESS) status = closed;
    spec_model_cache_free(&run.models);
    spec_group_reader_free(&run.group.reader);
    spec_table_free(&run.work);
    free(run.shown);
    return status;
}
