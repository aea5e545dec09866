/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/options.h"

#include "base/progress.h"
#include "base/settings.h"
#include "base/terminal.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "experiments/team.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t spec_options_count(const char *verb, const char *option, const char *arg, uint64_t low,
                            uint64_t high)
{
    uint64_t value;
    double number;
    char domain[64], meant[64] = "";
    if (spec_settings_parse_u64(&value, arg) && value >= low && value <= high) return value;
    snprintf(domain, sizeof domain, "from %llu to %llu", (unsigned long long)low,
             (unsigned long long)high);
    if (high == UINT64_MAX && low > 0)
        snprintf(domain, sizeof domain, "above %llu", (unsigned long long)low - 1);
    else if (high == UINT64_MAX)
        snprintf(domain, sizeof domain, "from 0 to 2^64-1");
    /* Users may write a count as 1e6. */
    if (strpbrk(arg, "eE.") != NULL && spec_settings_parse_double(&number, arg) &&
        number == floor(number) && number >= (double)low && number <= 1e15)
        snprintf(meant, sizeof meant, "; write %.0f", number);
    spec_usage_fail(verb, "--%s must be a whole number %s, got '%s'%s", option, domain, arg, meant);
}

void spec_options_numbers(spec_grid *grid, const char *verb, const char *axis, const char *list)
{
    spec_error error = {{0}};
    if (spec_grid_add_numbers(grid, axis, list, &error) == GSL_SUCCESS) return;
    for (char *at = error.text; *at != '\0' && *at != ':'; at++) /* the name of the axis */
        if (*at == '_') *at = '-';
    spec_usage_fail(verb, "--%s", error.text);
}

void spec_options_texts(spec_grid *grid, const char *verb, const char *axis, const char *list,
                        const char *separators)
{
    enum { MOST = 4096 };
    const char *value[MOST];
    int n = 0;
    char *copy = strdup(list);
    if (copy == NULL) spec_usage_no_memory(verb);
    for (char *rest = copy, *word; (word = strsep(&rest, separators)) != NULL;) {
        if (*word == '\0') spec_usage_fail(verb, "--%s: '%s' has an empty value", axis, list);
        if (n == MOST) spec_usage_fail(verb, "--%s: more than %d values", axis, MOST);
        value[n++] = word;
    }
    if (spec_grid_add(grid, axis, value, n, false) != GSL_SUCCESS) spec_usage_no_memory(verb);
    free(copy);
}

static bool is_json(const spec_options *options)
{
    const char *ending = options->output != NULL ? strrchr(options->output, '.') : NULL;
    return options->format_given ? options->format == SPEC_FORMAT_JSON
                                 : ending != NULL && strcmp(ending, ".json") == 0;
}

bool spec_options_json(const spec_options *options, const char *verb)
{
    if (options->format_given && options->format != SPEC_FORMAT_JSON &&
        options->format != SPEC_FORMAT_TABLE)
        spec_usage_fail(verb,
                        "--format: the only format of the text is json; leave out --format for "
                        "plain text");
    return is_json(options);
}

static spec_format chosen_format(const spec_options *options)
{
    if (options->format_given) return options->format;
    if (is_json(options)) return SPEC_FORMAT_JSON;
    return options->output == NULL && isatty(STDOUT_FILENO) ? SPEC_FORMAT_TABLE : SPEC_FORMAT_CSV;
}

int spec_options_columns(const spec_options *options)
{
    const bool for_eye = options->format_given ? options->format == SPEC_FORMAT_TABLE ||
                                                     options->format == SPEC_FORMAT_VERTICAL
                                               : true;
    return for_eye && options->output == NULL && !options->all ? spec_page_columns(STDOUT_FILENO)
                                                               : 0;
}

enum { MOST_FIRST = 80, NAME_SIZE = 64 };

static bool has_column(const spec_measure *measure, const char *name)
{
    int c = 0;
    while (measure->columns[c] != NULL && strcmp(measure->columns[c], name) != 0) c++;
    return measure->columns[c] != NULL;
}

/* Lists the important columns of a measure, the most important first: those that identify a row,
 * then the headlines. The interval of the first headline comes right after it; without an interval,
 * its standard error comes last. Returns how many columns identify a row. `low` and `high` hold
 * names that the list points to. */
static int list_first(const char *first[MOST_FIRST], char low[NAME_SIZE], char high[NAME_SIZE],
                      const spec_experiment *experiment)
{
    const spec_measure *measure = experiment->measure;
    const spec_headline *headline = measure->headlines;
    const char *name = headline[0].column != NULL ? headline[0].column : "";
    int n = 0;
    snprintf(low, NAME_SIZE, "%s_low", name);
    snprintf(high, NAME_SIZE, "%s_high", name);
    const bool has_interval = has_column(measure, low);
    for (int i = 0; i < experiment->grid.n_axes; i++) first[n++] = experiment->grid.axis[i].name;
    for (const char *const *key = measure->keys; key != NULL && *key != NULL && n < MOST_FIRST - 3;)
        first[n++] = *key++;
    const int n_keys = n;
    for (int i = 0; headline[i].column != NULL && n < MOST_FIRST - 3; i++) {
        first[n++] = headline[i].column;
        if (i > 0 || !has_interval) continue;
        first[n++] = low;
        first[n++] = high;
    }
    if (!has_interval) {
        snprintf(low, NAME_SIZE, "%s_se", name);
        first[n++] = headline[0].se != NULL ? headline[0].se : low;
    }
    first[n] = NULL;
    return n_keys;
}

/* `opt_experiment`: the run that made the table. */
static int write_table(const spec_table *table, const spec_experiment *opt_experiment,
                       const spec_options *options, FILE *out, spec_error *error)
{
    const spec_format format = chosen_format(options);
    const int columns = spec_options_columns(options);
    if (columns == 0) {
        if (format == SPEC_FORMAT_CSV && options->opt_figure != NULL)
            fprintf(out, "# figure: %s\n", options->opt_figure);
        return spec_table_write(table, format, out, error);
    }
    if (format == SPEC_FORMAT_TABLE) {
        const char *first[MOST_FIRST];
        char low[NAME_SIZE], high[NAME_SIZE];
        spec_table_screen screen = {.columns = columns,
                                    .lines = spec_terminal_lines(STDOUT_FILENO)};
        if (opt_experiment != NULL) {
            screen.n_keys = list_first(first, low, high, opt_experiment);
            screen.opt_first = first;
        }
        return spec_table_write_fitting(table, &screen, out, error);
    }
    const int status = spec_table_write_vertical(table, columns, out);
    return status == GSL_SUCCESS
               ? status
               : spec_fail(error, status, "out of memory while a table was written");
}

static int show(const spec_table *table, const spec_experiment *opt_experiment,
                const spec_options *options, const char *verb)
{
    spec_error error = {{0}};
    spec_output output;
    int status;
    spec_progress_clear();
    SPEC_TRY(spec_output_open(&output, options->output, verb, &error));
    SPEC_TRY(spec_output_check(
        &output, write_table(table, opt_experiment, options, output.out, &error), &error));
    SPEC_TRY(spec_output_close(&output, options->force, verb, &error));
done:
    spec_output_discard(&output);
    if (status == GSL_SUCCESS) return SPEC_EXIT_HOLDS;
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}

bool spec_options_wants_table(const spec_options *options)
{
    const char *ending = options->output != NULL ? strrchr(options->output, '.') : NULL;
    if (options->format_given) return options->format != SPEC_FORMAT_TABLE;
    return ending != NULL && (strcmp(ending, ".csv") == 0 || strcmp(ending, ".json") == 0);
}

int spec_options_show(const spec_table *table, const spec_options *options, const char *verb)
{
    return show(table, NULL, options, verb);
}

/* Writes "3 of 26 rows are too large: match (row 9), gumbel (row 15) and minhash (row 17): WHY". It
 * names the first three at most, and none if every row is too large. */
static void say_left_out(const spec_result *result, spec_error *ret_error)
{
    const spec_table *table = &result->table;
    const uint64_t n = result->left_out,
                   named = n < SPEC_RESULT_LEFT_OUT ? n : SPEC_RESULT_LEFT_OUT;
    char names[200] = "", cell[40];
    if (n > 1 && n == table->n_rows && result->why.text[0] != '\0') {
        spec_fail(ret_error, GSL_EMAXITER, "every row is too large: %s", result->why.text);
        return;
    }
    for (uint64_t i = 0, used = 0; i < named && used < sizeof names; i++) {
        const size_t row = result->left_out_row[i];
        used += (uint64_t)snprintf(
            names + used, sizeof names - used, "%s%.40s (row %zu)",
            i == 0       ? ""
            : i + 1 == n ? " and "
                         : ", ",
            spec_cell_format(spec_table_cell(table, row, 0), SPEC_FORMAT_CSV, cell, sizeof cell),
            row + 1);
    }
    spec_fail(ret_error, GSL_EMAXITER, "%llu of %zu rows %s too large: %s%s%s%s",
              (unsigned long long)n, table->n_rows, n == 1 ? "is" : "are", names,
              named < n ? ", ..." : "", result->why.text[0] != '\0' ? "; the first: " : "",
              result->why.text);
}

int spec_options_checked(const spec_result *result, const spec_measure *measure,
                         spec_error *ret_error)
{
    const spec_table *table = &result->table;
    const char *column = NULL;
    char first[160] = "", cell[60];
    size_t row = 0;
    if (result->left_out > 0) say_left_out(result, ret_error);
    if (result->fails == 0) return result->left_out > 0 ? SPEC_EXIT_UNDECIDED : SPEC_EXIT_HOLDS;
    while (measure != NULL && row < table->n_rows &&
           (column = spec_measure_failed(measure, table, row)) == NULL)
        row++;
    if (column != NULL)
        snprintf(first, sizeof first, "%s: %.40s is %.40s in row %zu",
                 result->fails > 1 ? "; the first" : "", column,
                 spec_cell_format(spec_table_cell(table, row, spec_table_column(table, column)),
                                  SPEC_FORMAT_TABLE, cell, sizeof cell),
                 row + 1);
    spec_fail(ret_error, GSL_EFAILED, "%llu of %llu checks failed%s",
              (unsigned long long)result->fails,
              (unsigned long long)(result->holds + result->fails), first);
    return SPEC_EXIT_FAILS;
}

typedef struct {
    const spec_assumed *opt_assumed;
    const char *verb;
} first_words;

static void say_first(void *self)
{
    const first_words *words = self;
    if (words->opt_assumed != NULL) spec_assumed_say(words->opt_assumed, words->verb);
}

/* Runs as a member of a team, which computes but reads and writes no file. */
static int run_as_member(const spec_experiment *experiment, const spec_run_options *run,
                         const spec_team *team)
{
    spec_result result;
    spec_error error = {{0}};
    spec_run_options member = *run;
    member.csv_path = NULL;
    member.opt_csv = NULL;
    member.resume = false;
    member.progress = NULL;
    member.first_row = NULL;
    if (spec_experiment_run(&result, experiment, &member, &error) != GSL_SUCCESS)
        team->leave(team->self, error.text);
    spec_result_free(&result);
    return SPEC_EXIT_UNDECIDED;
}

int spec_options_run(const spec_experiment *experiment, const spec_options *options,
                     const spec_options_plan *plan, const char *verb, spec_error *ret_error)
{
    spec_result result = {0};

    /* CSV is written row by row, so that a kill loses nothing; other formats are written at the
     * end. */
    const bool csv = chosen_format(options) == SPEC_FORMAT_CSV;
    const char *part = options->shard.of > 0 ? "shard" : options->batches.of > 0 ? "batches" : NULL;
    if ((options->resume || part != NULL) && options->output == NULL)
        spec_usage_fail(verb, "--%s needs -o FILE", part != NULL ? part : "resume");
    if (options->resume && !csv)
        spec_usage_fail(verb, "--resume continues only CSV files; leave out --format");
    if (part != NULL && !csv)
        spec_usage_fail(verb, "--%s writes only CSV files; leave out --format", part);
    spec_progress_phase(plan->what);
    const bool rows_appear = csv && options->output == NULL &&
                             isatty(STDOUT_FILENO); /* the rows themselves show the progress */
    if (rows_appear) spec_progress_clear();
    first_words words = {plan->opt_assumed, verb};
    const spec_run_options run = {
        .csv_path = csv ? options->output : NULL,
        .opt_csv = csv && options->output == NULL ? spec_output_standard() : NULL,
        .resume = options->resume,
        .shard = options->shard,
        .batches = options->batches,
        .opt_sums = options->sums,
        .no_point = plan->no_point,
        .opt_context = options->context,
        .limit = plan->limit,
        .stop = &spec_stop,
        .progress = rows_appear ? NULL : spec_progress_reports_points,
        .first_row = say_first,
        .self = &words,
    };
    ret_error->text[0] = '\0';
    const spec_team *team = options->context->opt_team;
    if (team != NULL && !team->leads) return run_as_member(experiment, &run, team);
    if (run.csv_path != NULL) spec_output_say_left_over(run.csv_path, verb);
    const int status = spec_experiment_run(&result, experiment, &run, ret_error);
    spec_progress_clear();
    if (run.csv_path != NULL) spec_output_say_kept(run.csv_path, result.kept, options->force, verb);

    /* If every row is too large, one line says so, and a terminal shows no table. */
    const bool untold = result.left_out > 0 && result.left_out == result.table.n_rows &&
                        spec_options_columns(options) > 0;
    int code = SPEC_EXIT_HOLDS;
    if (!csv && !untold &&
        (status == GSL_SUCCESS || (result.table.n_rows > 0 && status != GSL_ENOMEM)))
        code = show(&result.table, experiment, options, verb);
    if (status != GSL_SUCCESS) code = SPEC_EXIT_USAGE;
    else if (code == SPEC_EXIT_HOLDS)
        code = spec_options_checked(&result, experiment->measure, ret_error);
    if (status == GSL_SUCCESS && plan->after != NULL && part == NULL) {
        const int after = plan->after(&result.table, verb);
        if (code == SPEC_EXIT_HOLDS) code = after;
    }
    spec_result_free(&result);
    return code;
}
