/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/validate_args.h"
#include "cli/validate_calibrate.h"
#include "cli/validate_list.h"
#include "cli/validate_self_test.h"
#include "cli/verb.h"

#include "base/memory_text.h"
#include "base/progress.h"
#include "cli/figures/figure.h"
#include "cli/page.h"
#include "speclab/no_memory.h"
#include "tools/validate/fixtures/fixtures_rows.h"
#include "tools/validate/power_check.h"
#include "tools/validate/samplers/child_environment.h"
#include "tools/validate/traces/trace.h"
#include "tools/validate/validate_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- while it runs --------------------------------------------------------------------------- */

static const char *best_fixture(const spec_validation *v)
{
    const spec_validate_result *best = NULL;
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].skipped == NULL && (best == NULL || v->result[i].log_e > best->log_e))
            best = &v->result[i];
    return best != NULL ? best->kind->name : "none";
}

/* A calibration and a power check count runs, whatever the budget of each run. */
static void show_progress(void *context, const char *fixture, uint64_t done, uint64_t budget,
                          double log_e)
{
    const spec_validate_args *args = context;
    const spec_validate_plan *plan = &args->plan;
    char e[SPEC_VALIDATE_NUMBER], note[SPEC_PROGRESS_NOTE], draws[SPEC_PROGRESS_COUNT];
    if (args->calibrate > 0 || args->check_power > 0) {
        spec_progress_report((double)done, plan->endless ? 0.0 : (double)budget, "runs", NULL);
        return;
    }
    spec_validate_report_e(e, log_e);
    if (plan->seconds > 0.0) {
        snprintf(note, sizeof note, "%s draws, e = %s, %s",
                 spec_progress_count(draws, (double)done), e, fixture);
        spec_progress_report(spec_progress_elapsed(), plan->endless ? 0.0 : plan->seconds, NULL,
                             note);
    } else {
        snprintf(note, sizeof note, "e = %s, %s", e, fixture);
        spec_progress_report((double)done, plan->endless ? 0.0 : (double)budget, "draws", note);
    }
}

static void show_phase(void *self, const char *what)
{
    (void)self;
    spec_progress_phase(what);
}

/* Prints to standard output if the report is text, otherwise to standard error. */
static void show_stage(void *self, const spec_validation *so_far, int stage)
{
    const spec_validate_args *args = self;
    const bool text =
        spec_validate_args_format(args) == SPEC_FORMAT_TABLE && args->common.output == NULL;
    FILE *out = text ? spec_output_standard() : stderr;
    char e[SPEC_VALIDATE_NUMBER];
    int n = 0;
    spec_progress_clear();
    fprintf(out, "stage %d: %llu draws, e = %s, p = %.2g", stage + 1,
            (unsigned long long)so_far->draws, spec_validate_report_e(e, so_far->log_e), so_far->p);
    for (spec_place place = 0; place < SPEC_PLACES; place++)
        if (so_far->power[place].median < 1.0)
            fprintf(out, "%s %s %.2g", n++ == 0 ? "; detectable TV, median:" : ",",
                    spec_place_names[place], so_far->power[place].median);
    fprintf(out, "; most suspicious: %s\n", best_fixture(so_far));
    fflush(out);
}

/* Says which variables a sampler's process does not get. */
static void say_withheld(const spec_validate_args *args, const char *verb)
{
    char names[1024];
    if (args->sampler == NULL || args->trace || !spec_subject_is_foreign(args->sampler)) return;
    const size_t n =
        spec_child_environment_withheld(names, sizeof names, args->plan.limits.opt_env);
    if (n > 0)
        spec_usage_tell(verb, "%zu variable%s not passed: %s; --env NAME passes one", n,
                        n == 1 ? " that looks like a secret was" : "s that look like secrets were",
                        names);
}

/* ---- the main report ------------------------------------------------------------------------- */

static int write_table(const spec_validation *v, spec_format format, FILE *out, spec_error *error)
{
    spec_table table;
    int status = spec_validate_report_table(&table, v, error);
    if (status != GSL_SUCCESS) return status;
    status = spec_table_write(&table, format, out, error);
    spec_table_free(&table);
    return status;
}

/* Writes the report as text, wrapped on a terminal. */
static int write_text(const spec_validate_args *args, const spec_validation *v, FILE *out,
                      spec_error *error)
{
    spec_memory_text page;
    if (!spec_memory_text_open(&page)) return spec_no_memory(error);
    int status = spec_validate_report_page(v, spec_options_columns(&args->common), page.out, error);
    char *text = spec_memory_text_take(&page, NULL);
    if (text == NULL) status = spec_no_memory(error);
    if (status == GSL_SUCCESS) {
        spec_page_write(text, spec_options_columns(&args->common), out);
        if (fflush(out) != 0)
            status = spec_fail(error, GSL_EFAILED, "cannot write the report: %s", strerror(errno));
    }
    free(text);
    return status;
}

/* ---- reports and figure: each is written even if another one cannot be ---------------------- */

typedef int report_writer(const spec_validate_args *args, const spec_validation *v, FILE *out,
                          spec_error *error);

static int write_json(const spec_validate_args *args, const spec_validation *v, FILE *out,
                      spec_error *error)
{
    (void)args;
    return spec_validate_report_json(v, out, error);
}

static int write_junit(const spec_validate_args *args, const spec_validation *v, FILE *out,
                       spec_error *error)
{
    (void)args;
    return spec_validate_report_junit(v, out, error);
}

static int write_main(const spec_validate_args *args, const spec_validation *v, FILE *out,
                      spec_error *error)
{
    const spec_format format = spec_validate_args_format(args);
    return format == SPEC_FORMAT_TABLE  ? write_text(args, v, out, error)
           : format == SPEC_FORMAT_JSON ? spec_validate_report_json(v, out, error)
                                        : write_table(v, format, out, error);
}

/* Prints an error only once: if memory runs out, every report fails with the same message. */
static void say(const spec_error *error, spec_error *said, const char *verb)
{
    if (strcmp(error->text, said->text) != 0) spec_usage_say(verb, "%s", error->text);
    *said = *error;
}

/* Returns false after printing an error. */
static bool write_report(spec_output *output, report_writer *writer, const spec_validate_args *args,
                         const spec_validation *v, const char *verb, spec_error *said)
{
    spec_error error = {{0}};
    if (output->out == NULL) return true;
    if (spec_output_check(output, writer(args, v, output->out, &error), &error) == GSL_SUCCESS &&
        spec_output_close(output, args->common.force, verb, &error) == GSL_SUCCESS)
        return true;
    say(&error, said, verb);
    spec_output_retire(output, args->common.force, verb);
    return false;
}

/* Draws the figure, and writes its data next to it as CSV. Returns false after printing an
 * error. */
static bool write_figure(const spec_validate_args *args, const spec_validation *v, const char *verb,
                         spec_error *said)
{
    spec_table table = {0};
    spec_error error = {{0}};
    int status = GSL_SUCCESS;
    if (args->figure == NULL) return true;
    if (v->reproducer.kind == NULL) {
        spec_usage_say(verb, "no %s, so %s was not drawn",
                       spec_validate_report_is_together(v) ? "fixture alone shows the difference"
                                                           : "difference was found",
                       args->figure);
        return true;
    }
    SPEC_TRY(spec_validate_report_seen(&table, v, &error));
    SPEC_TRY(spec_validate_args_draw(args, &table, "conformance", verb, &error));
done:
    spec_table_free(&table);
    if (status != GSL_SUCCESS) say(&error, said, verb);
    return status == GSL_SUCCESS;
}

static bool write_all(const spec_validate_args *args, const spec_validation *v,
                      spec_validate_files *files, const char *verb)
{
    spec_error said = {{0}};
    bool good = write_report(&files->main, write_main, args, v, verb, &said);
    good = write_report(&files->report, write_json, args, v, verb, &said) && good;
    good = write_report(&files->junit, write_junit, args, v, verb, &said) && good;
    return write_figure(args, v, verb, &said) && good;
}

static int code_of(const spec_validation *v)
{
    static const int codes[SPEC_VERDICTS] = {[SPEC_VERDICT_PASS] = SPEC_EXIT_HOLDS,
                                             [SPEC_VERDICT_FAIL] = SPEC_EXIT_FAILS,
                                             [SPEC_VERDICT_LOSSY] = SPEC_EXIT_HOLDS,
                                             [SPEC_VERDICT_INCONCLUSIVE] = SPEC_EXIT_UNDECIDED,
                                             [SPEC_VERDICT_DEPENDENT] = SPEC_EXIT_FAILS};
    return codes[v->verdict];
}

static int validate(spec_validate_args *args, const char *verb)
{
    spec_error error = {{0}};
    spec_validation v;
    spec_validate_files files;
    int code = SPEC_EXIT_USAGE;
    spec_validate_args_open(&files, args, verb);
    args->plan.asks_each = true;
    int status = args->trace ? spec_trace_validate(&v, args->sampler, &args->plan, &error)
                             : spec_validate(&v, args->sampler, &args->plan, &error);
    spec_progress_clear();
    if (status == GSL_SUCCESS) {
        const bool is_shown = args->common.output == NULL &&
                              spec_validate_args_format(args) == SPEC_FORMAT_TABLE;
        if (!is_shown) spec_validate_report_verdict(&v, stderr);
        if (write_all(args, &v, &files, verb)) code = code_of(&v);
        spec_validation_free(&v);
        return code;
    }
    /* Errors about a trace already name its file. */
    const bool told = args->trace || spec_stop != 0;
    spec_usage_say(verb, "%s%s%s", told ? "" : args->sampler, told ? "" : ": ",
                   spec_stop != 0 ? "interrupted" : error.text);
    spec_validate_args_retire(&files, args->common.force, verb);
    return code;
}

/* ---- --write-trace --------------------------------------------------------------------------- */

#define DEFAULT_FIXTURE "plain-4"
#define DEFAULT_TOKENS 100000ull

/* Writes an example trace. We know whether the sampler is right, so it can test other tools. */
static int write_trace(const spec_validate_args *args, const char *verb)
{
    const spec_fixture_kind *kind;
    spec_error error = {{0}};
    if (spec_fixture_find(&kind, args->only != NULL ? args->only[0] : DEFAULT_FIXTURE, &error) !=
        GSL_SUCCESS)
        spec_usage_fail(verb, "--only: %s", error.text);
    spec_output output;
    if (spec_output_open(&output, args->write_trace, verb, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--write-trace: %s", error.text);
    int status = spec_trace_write(output.out, args->sampler, kind, args->holds,
                                  args->budget_given ? args->plan.draws : DEFAULT_TOKENS,
                                  args->plan.seed, &spec_stop, &error);
    SPEC_TRY(spec_output_check(&output, status, &error));
    SPEC_TRY(spec_output_close(&output, args->common.force, verb, &error));
done:
    spec_output_discard(&output);
    if (status == GSL_SUCCESS) return SPEC_EXIT_HOLDS;
    spec_usage_say(verb, spec_stop ? "interrupted" : "%s: %s", args->sampler, error.text);
    return SPEC_EXIT_USAGE;
}

/* ---- --check-power --------------------------------------------------------------------------- */

static int fill_power(spec_table *table, const spec_power_check_result *result)
{
    static const char *const columns[] = {"fixture", "scope", "place", "state", "direction",
                                          "tv",      "found", "runs",  "low",   "high"};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_table_init(table, columns, (int)(sizeof columns / sizeof columns[0])));
    for (int i = 0; i < result->n; i++) {
        const spec_power_check_line *line = &result->line[i];
        spec_table_text(table, "fixture", line->kind->name);
        spec_table_text(table, "scope", spec_validate_report_scope(line->scope));
        spec_table_text(table, "place", spec_place_names[line->bias.place]);
        spec_table_integer(table, "state", line->bias.state);
        spec_table_text(table, "direction", spec_bias_directions[line->bias.direction]);
        spec_table_number(table, "tv", line->bias.tv);
        spec_table_integer(table, "runs", line->runs);
        if (line->runs > 0) {
            spec_table_integer(table, "found", line->found);
            spec_table_number(table, "low", line->low);
            spec_table_number(table, "high", line->high);
        }
        SPEC_TRY(spec_table_append(table));
    }
done:
    return status;
}

/* Shows how often a bias of exactly the reported detectable TV is found. */
static int check_power(const spec_validate_args *args, const char *verb)
{
    spec_power_check_result result;
    spec_validate_plan plan = args->plan;
    spec_table table = {0};
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE;
    plan.endless = args->watch;
    if (!args->budget_given) plan.draws = SPEC_POWER_CHECK_DRAWS;
    if (spec_power_check(&result, args->check_power, &plan, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, spec_stop ? "interrupted" : "--check-power: %s", error.text);
        return SPEC_EXIT_USAGE;
    }
    if (fill_power(&table, &result) != GSL_SUCCESS)
        spec_usage_say(verb, "out of memory");
    else
        code = spec_options_show(&table, &args->common, verb);
    if (code == SPEC_EXIT_HOLDS && result.done < result.all) {
        spec_usage_say(verb, "interrupted after %d of %d runs", result.done, result.all);
        code = SPEC_EXIT_USAGE;
    }
    if (code == SPEC_EXIT_HOLDS && result.n_short > 0) {
        spec_usage_say(verb, "%d of %d differences are found less often than the reported power %g",
                       result.n_short, result.n, plan.power);
        code = SPEC_EXIT_FAILS;
    }
    spec_table_free(&table);
    spec_power_check_free(&result);
    return code;
}

/* ---- the verb -------------------------------------------------------------------------------- */

int spec_verb_validate(spec_context *context, int argc, char **argv)
{
    spec_validate_args args;
    spec_fixtures_rows rows = {0};
    spec_error error = {{0}};
    spec_validate_args_parse(&args, context, argc, argv);
    if (args.plan.opt_rows != NULL &&
        spec_fixtures_rows_init(&rows, args.plan.opt_rows, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "--rows: %s", error.text);
    if (args.plan.opt_rows != NULL) args.plan.opt_more = rows.kind;
    int code;
    args.plan.self = &args;
    args.plan.progress = show_progress;
    args.plan.phase = show_phase;
    if (args.watch) args.plan.stage = show_stage;
    if (args.plan.endless) spec_stop_awaited(); /* the verdict so far takes seconds */
    say_withheld(&args, argv[0]);
    if (args.self_test) {
        code = spec_validate_self_test(&args, argv[0]);
    } else if (!args.list && !args.trace &&
               spec_validate_check_only(&args.plan, &error) != GSL_SUCCESS) {
        spec_usage_say(argv[0], "--only: %s", error.text);
        code = SPEC_EXIT_USAGE;
    } else if (args.list) {
        code = spec_validate_list(&args, argv[0]);
    } else if (args.write_trace != NULL) {
        code = write_trace(&args, argv[0]);
    } else if (args.check_power > 0) {
        code = check_power(&args, argv[0]);
    } else if (args.calibrate > 0) {
        code = spec_validate_calibrate(&args, argv[0]);
    } else {
        code = validate(&args, argv[0]);
    }
    spec_validate_args_free(&args);
    spec_fixtures_rows_free(&rows);
    return code;
}
