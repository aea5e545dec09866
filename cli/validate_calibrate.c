/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_calibrate.h"

#include "base/build_info.h"
#include "base/memory_text.h"
#include "base/progress.h"
#include "base/settings.h"
#include "cli/stop.h"
#include "cli/usage.h"
#include "cli/verb.h"
#include "experiments/group_file.h"
#include "speclab/no_memory.h"
#include "tools/validate/calibrate.h"
#include "tools/validate/validate_report.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The p-value below which the number of false alarms is too large; the number of points of the
 * figure's curves. */
#define UNLIKELY 0.01
enum { PLACES = 100, PER_DECADE = 4, DECADES = 8 };

static void add_row(spec_table *table, const char *name, const double *p, size_t n,
                    double largest_log_e)
{
    spec_table_text(table, "test", name);
    spec_table_integer(table, "n", (long long)n);
    spec_table_number(table, "below_0.1", spec_calibration_p_share(p, n, 0.1));
    spec_table_number(table, "below_0.01", spec_calibration_p_share(p, n, 0.01));
    spec_table_number(table, "below_0.001", spec_calibration_p_share(p, n, 0.001));
    spec_table_number(table, "least_p", p[0]);
    spec_table_number(table, "largest_e", exp(largest_log_e));
}

/* Fills the table with the shares of runs below each bound. The first row is for whole runs, with
 * p-values after Holm's correction. */
static int fill_table(spec_table *table, const spec_calibration *c)
{
    static const char *const columns[] = {"test",      "n",          "false_alarms", "inconclusive",
                                          "below_0.1", "below_0.01", "below_0.001",  "least_p",
                                          "largest_e", "ks",         "ks_p"};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_table_init(table, columns, (int)(sizeof columns / sizeof columns[0])));
    add_row(table, "all together", c->p, (size_t)c->n, c->log_e[c->n - 1]);
    spec_table_integer(table, "false_alarms", c->failed);
    spec_table_integer(table, "inconclusive", c->inconclusive);
    SPEC_TRY(spec_table_append(table));
    for (int k = 0; k < c->n_tests; k++) {
        const spec_calibration_test *test = &c->test[k];
        add_row(table, test->name, test->p, test->n, test->largest_e);
        spec_table_number(table, "ks", test->ks);
        spec_table_number(table, "ks_p", test->ks_p);
        SPEC_TRY(spec_table_append(table));
    }
done:
    return status;
}

static int add_point(spec_table *table, const char *curve, double at, double share, double n)
{
    spec_table_text(table, "curve", curve);
    spec_table_number(table, "at", at);
    spec_table_number(table, "share", share);
    spec_table_number(table, "n", n);
    return spec_table_append(table);
}

static int fill_curves(spec_table *table, const spec_calibration *c, const spec_validate_args *args)
{
    static const char *const columns[] = {"curve", "at", "share", "n"};
    char name[SPEC_VALIDATE_NAME];
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_table_init(table, columns, 4));
    free(table->provenance);
    if (asprintf(&table->provenance,
                 "figure: calibration\nsampler: %s\nruns: %d\nfalse alarms: %d\n"
                 "false alarm rate: %g",
                 spec_validate_report_clean(name, args->sampler), c->n, c->failed,
                 args->plan.false_alarm_rate) < 0) {
        table->provenance = NULL;
        SPEC_TRY(GSL_ENOMEM);
    }
    for (int k = 0; k < c->n_tests; k++)
        for (int i = 0; i <= PLACES; i++) {
            const double at = (double)i / PLACES;
            SPEC_TRY(add_point(table, c->test[k].name, at,
                               spec_calibration_p_share(c->test[k].p, c->test[k].n, at),
                               (double)c->test[k].n));
        }
    for (int i = 0; i <= PER_DECADE * DECADES; i++) {
        const double at = pow(10.0, -(double)i / PER_DECADE);
        SPEC_TRY(add_point(table, "run e", at, spec_calibration_e_share(c, at), c->n));
        SPEC_TRY(
            add_point(table, "run p", at, spec_calibration_p_share(c->p, (size_t)c->n, at), c->n));
    }
done:
    return status;
}

static int show(const spec_calibration *c, const spec_validate_args *args, const char *verb)
{
    spec_table table = {0}, curves = {0};
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE;
    if (fill_table(&table, c) != GSL_SUCCESS ||
        (args->figure != NULL && fill_curves(&curves, c, args) != GSL_SUCCESS)) {
        spec_usage_say(verb, "out of memory");
    } else {
        code = spec_options_show(&table, &args->common, verb);
        if (args->figure != NULL &&
            spec_validate_args_draw(args, &curves, "calibration", verb, &error) != GSL_SUCCESS) {
            spec_usage_say(verb, "%s", error.text);
            code = SPEC_EXIT_USAGE;
        }
    }
    spec_table_free(&table);
    spec_table_free(&curves);
    return code;
}

static int report(spec_calibration *c, const spec_validate_args *args, const char *verb)
{
    const double rate = args->plan.false_alarm_rate;
    int code = show(c, args, verb);
    /* The probability of this many false alarms or more, at the plan's false-alarm rate. */
    const double chance =
        c->failed > 0 ? gsl_cdf_binomial_Q((unsigned)c->failed - 1, rate, (unsigned)c->n) : 1.0;
    if (chance < UNLIKELY && code == SPEC_EXIT_HOLDS) {
        spec_usage_say(verb,
                       "%d false alarms in %d runs, each of which has a probability of at most %g",
                       c->failed, c->n, rate);
        code = SPEC_EXIT_FAILS;
    }
    spec_calibration_free(c);
    return code;
}

/* ---- parts of several machines --------------------------------------------------------------- */

#define MEASURE "calibration"

/* Writes a word of the command on its own line, because it may contain blanks. */
__attribute__((format(printf, 2, 3))) static void put_word(FILE *out, const char *format, ...)
{
    char *word = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0) word = NULL;
    va_end(args);
    for (char *c = word; c != NULL && *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    fprintf(out, "\n| # word %s", word != NULL ? word : "");
    free(word);
}

/* Returns everything that the runs depend on. */
static char *head_of(const spec_calibration *runs, const spec_validate_args *args)
{
    const spec_validate_plan *plan = runs->plan;
    const spec_shard *shard = &args->common.shard;
    static const char *const scopes[] = {"V", "DV", "S"};
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    FILE *out = made.out;
    fprintf(out,
            "speclab %s\nmeasure: " MEASURE "\nseed: %llu\nfalse_alarm_rate: %.15g\n"
            "shard: %llu/%llu\ncompiler: %s\n| speclab validate",
            spec_build_info_version, (unsigned long long)plan->seed, plan->false_alarm_rate,
            (unsigned long long)shard->number, (unsigned long long)shard->of,
            spec_build_info_compiler);
    put_word(out, "%s", args->sampler);
    put_word(out, "--calibrate=%d", runs->n);
    put_word(out, "--budget=%llu", (unsigned long long)plan->draws);
    put_word(out, "--false-alarm-rate=%.15g", plan->false_alarm_rate);
    put_word(out, "--power=%.15g", plan->power);
    for (int i = 0; i < 3; i++)
        if (plan->scopes >> i & 1u) put_word(out, "--scopes=%s", scopes[i]);
    for (char **name = args->only; name != NULL && *name != NULL; name++)
        put_word(out, "--only=%s", *name);
    for (char **name = args->env; name != NULL && *name != NULL; name++)
        put_word(out, "--env=%.*s", (int)strcspn(*name, "="), *name); /* a value may be secret */
    if (plan->dependent) put_word(out, "--dependent-requests");
    if (plan->limits.opt_options != NULL) put_word(out, "--options=%s", plan->limits.opt_options);
    if (plan->opt_rows != NULL) put_word(out, "--rows=%s", plan->opt_rows);
    return spec_memory_text_take(&made, NULL);
}

/* Computes the runs of args->common.shard into the file of -o: a part, with a row for each of its
 * runs (experiments/group_file.h). */
static int write_runs(const spec_calibration *runs, const spec_groups *groups,
                      const spec_validate_args *args, const char *verb, spec_error *error)
{
    static const char *const columns[] = {SPEC_GROUP_COLUMN, SPEC_SHARD_COLUMN};
    const char *path = args->common.output;
    spec_table table = {0};
    spec_result_file file;
    spec_group_writer writer = {
        .part = args->common.shard, .are_points = true, .table = &table, .file = &file};
    int kept = 0, status = GSL_SUCCESS, closed;
    spec_output_say_left_over(path, verb);
    spec_result_file_init(&file, path, NULL);
    if (spec_table_init(&table, columns, 2) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    free(table.provenance);
    if ((table.provenance = head_of(runs, args)) == NULL) SPEC_TRY(spec_no_memory(error));
    if (args->common.resume) SPEC_TRY(spec_group_writer_resume(&writer, error));
    SPEC_TRY(spec_result_file_open(&file, error));
    SPEC_TRY(spec_group_writer_run(&writer, groups, 0, 1, error));
done:
    closed = spec_result_file_close(&file, &kept, status == GSL_SUCCESS ? error : NULL);
    spec_output_say_kept(path, kept, args->common.force, verb);
    spec_table_free(&table);
    return status == GSL_SUCCESS ? closed : status;
}

bool spec_validate_calibrate_is(const spec_table *merged)
{
    char measure[32];
    return spec_table_provenance(merged, "measure", measure, sizeof measure) != NULL &&
           strcmp(measure, MEASURE) == 0;
}

/* Makes a calibration, and its false-alarm rate, from merged rows. The caller frees it. Returns
 * GSL_EINVAL for a row that is not a run. */
static int add_part(spec_calibration *ret, double *ret_rate, const spec_table *merged,
                    spec_error *error)
{
    char rate[40];
    const int column = spec_table_column(merged, SPEC_GROUP_COLUMN);
    if (column < 0 || merged->n_rows > INT32_MAX ||
        spec_table_provenance(merged, "false_alarm_rate", rate, sizeof rate) == NULL ||
        !spec_settings_parse_double(ret_rate, rate) || !(*ret_rate > 0.0 && *ret_rate < 1.0))
        return spec_fail(error, GSL_EINVAL, "the parts have no false_alarm_rate or no runs");
    int status = spec_calibration_init(ret, NULL, (int)merged->n_rows, NULL, error);
    if (status != GSL_SUCCESS) return status;
    const spec_groups runs = spec_calibration_runs(ret);
    for (size_t r = 0; r < merged->n_rows && status == GSL_SUCCESS; r++) {
        const spec_cell *cell = spec_table_cell(merged, r, column);
        spec_error inner;
        if (cell->kind != SPEC_CELL_TEXT)
            status = spec_fail(&inner, GSL_EINVAL, "not a run of a calibration");
        else
            status = runs.add(runs.self, cell->text, &inner);
        if (status != GSL_SUCCESS) spec_fail(error, status, "run %zu: %s", r + 1, inner.text);
    }
    if (status == GSL_SUCCESS)
        spec_calibration_finish(ret);
    else
        spec_calibration_free(ret);
    return status;
}

static int write_part(const spec_validate_args *args, const spec_validate_plan *plan,
                      const char *verb, spec_error *error)
{
    spec_calibration c;
    int status = spec_calibration_init(&c, args->sampler, args->calibrate, plan, error);
    if (status != GSL_SUCCESS) return status;
    const spec_groups runs = spec_calibration_runs(&c);
    status = write_runs(&c, &runs, args, verb, error);
    spec_calibration_free(&c);
    return status;
}

int spec_validate_calibrate(const spec_validate_args *args, const char *verb)
{
    spec_calibration c;
    spec_error error = {{0}};
    spec_validate_plan plan = args->plan;
    const bool part = args->common.shard.of > 0;
    if (!args->budget_given) plan.draws = SPEC_VALIDATE_CALIBRATE_DRAWS;
    const int status = part ? write_part(args, &plan, verb, &error)
                            : spec_calibrate(&c, args->sampler, args->calibrate, &plan, &error);
    spec_progress_clear();
    if (status == GSL_SUCCESS && part) return SPEC_EXIT_HOLDS;
    if (status == GSL_SUCCESS) {
        const int n = c.n, code = report(&c, args, verb);
        if (n == args->calibrate) return code;
        spec_usage_say(verb, "interrupted after %d of %d runs", n, args->calibrate);
        return SPEC_EXIT_USAGE;
    }
    spec_usage_say(verb, spec_stop ? "interrupted" : "%s: %s", args->sampler, error.text);
    return SPEC_EXIT_USAGE;
}

int spec_validate_calibrate_merge(const spec_table *merged, const spec_options *options,
                                  const char *verb)
{
    spec_calibration c;
    spec_error error = {{0}};
    spec_validate_args args = {.common = *options};
    if (add_part(&c, &args.plan.false_alarm_rate, merged, &error) == GSL_SUCCESS)
        return report(&c, &args, verb);
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}
