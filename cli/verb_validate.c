#include "cli/validate_args.h"
#include "cli/validate_calibrate.h"
#include "cli/validate_list.h"
#include "cli/validate_self_test.h"
#include "cli/validate_trace.h"
#include "cli/verb.h"

#include "cli/figures/figure.h"
#include "conformance/fixtures/fixtures_rows.h"
#include "conformance/traces/trace.h"
#include "conformance/validate_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char what_it_does[] =
    "is this sampler lossless? for any implementation of speculative sampling\v"
    "Speculative decoding is lossless when its text has the target model's law. SAMPLER is asked to verify drafts "
    "(scope V), to draft and verify (DV), or to write texts (S) over small invented models, the fixtures, and what it "
    "emits is compared with the law that was promised. The report says what was found, how often a lossless sampler "
    "would be called wrong, and how small a difference would have been found; for a FAIL it shows the smallest case, "
    "to debug.\n\n"
    "SAMPLER is one of\n"
    "  ./FILE.so         a shared library, with the functions of speclab/sampler.h\n"
    "  exec:'python3 F'  a program that speaks frames or JSON lines, as --exec\n"
    "  rule:NAME         a verification rule of 'speclab list rules'\n"
    "docs/conformance.md has complete examples.\n\n"
    "  $ speclab validate rule:block\n"
    "  $ speclab validate ./my_sampler.so --eps 0.01 --junit conformance.xml\n"
    "  $ speclab validate --exec 'python3 my_sampler.py' --budget 20s\n"
    "  $ speclab validate --trace engine.jsonl\n"
    "  $ speclab validate rule:resample-target --budget 1M --figure seen.svg\n\n"
    "Exit status: 0 PASS, or LOSSY where the sampler says so itself; 1 FAIL; 3 INCONCLUSIVE, not enough evidence "
    "either way; 2 no verdict: the sampler is broken or the command is wrong; 130 interrupted.";

/* ---- while it runs ----------------------------------------------------------------------------------------------- */

typedef struct {
    const spec_validate_args *args;
    struct timespec begun;
    bool drawn;
} watcher;

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

static void clear_line(watcher *w)
{
    if (w->drawn) fputs("\r\033[K", stderr);
    w->drawn = false;
}

static void show_progress(void *self, const char *fixture, uint64_t done, uint64_t budget, double log_e)
{
    watcher *w = self;
    const spec_validate_plan *plan = &w->args->plan;
    const double elapsed = seconds_since(&w->begun);
    char bar[31], e[SPEC_VALIDATE_NUMBER];
    if (!isatty(STDERR_FILENO) || (elapsed < 1.0 && !w->drawn)) return;
    const double share = plan->endless         ? 0.0
                         : plan->seconds > 0.0 ? fmin(elapsed / plan->seconds, 1.0)
                                               : fmin((double)done / (double)budget, 1.0);
    for (int i = 0; i < 30; i++) bar[i] = i < (int)(30.0 * share) ? '#' : '.';
    bar[30] = '\0';
    fputs("\r\033[K", stderr);
    if (!plan->endless) fprintf(stderr, "[%s] ", bar);
    if (w->args->calibrate > 0)
        fprintf(stderr, "%llu of %llu runs", (unsigned long long)done, (unsigned long long)budget);
    else
        fprintf(stderr, "%.3g draws, e = %s, %s", (double)done, spec_validate_report_e(e, log_e), fixture);
    if (share > 0.0) fprintf(stderr, ", %.0f s left", elapsed * (1.0 - share) / share);
    fflush(stderr);
    w->drawn = true;
}

static const char *best_fixture(const spec_validation *v)
{
    const spec_validate_result *best = NULL;
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].skipped == NULL && (best == NULL || v->result[i].log_e > best->log_e)) best = &v->result[i];
    return best != NULL ? best->kind->name : "none";
}

/* On standard output where the report is text, too. */
static void show_stage(void *self, const spec_validation *so_far, int stage)
{
    watcher *w = self;
    const bool text = spec_validate_args_format(w->args) == SPEC_FORMAT_TABLE && w->args->common.output == NULL;
    FILE *out = text ? stdout : stderr;
    char e[SPEC_VALIDATE_NUMBER];
    clear_line(w);
    fprintf(out, "stage %d: %llu draws, e = %s, p = %.2g, detectable TV %.2g; most suspicious: %s\n", stage + 1,
            (unsigned long long)so_far->draws, spec_validate_report_e(e, so_far->log_e), so_far->p, so_far->detectable,
            best_fixture(so_far));
    fflush(out);
}

/* ---- what it writes ---------------------------------------------------------------------------------------------- */

static int write_table(const spec_validation *v, spec_format format, FILE *out, spec_error *error)
{
    spec_table table;
    int status = spec_validate_report_table(&table, v, error);
    if (status != GSL_SUCCESS) return status;
    status = spec_table_write(&table, format, out, error);
    spec_table_free(&table);
    return status;
}

static int write_main(const spec_validate_args *args, const spec_validation *v, FILE *out, spec_error *error)
{
    const spec_format format = spec_validate_args_format(args);
    return format == SPEC_FORMAT_TABLE  ? spec_validate_report_text(v, out, error)
           : format == SPEC_FORMAT_JSON ? spec_validate_report_json(v, out, error)
                                        : write_table(v, format, out, error);
}

/* The numbers go beside the figure, under its name. */
static int write_figure(const spec_validate_args *args, const spec_validation *v, spec_error *error)
{
    spec_table table = {0};
    int status = GSL_SUCCESS;
    if (v->reproducer.kind == NULL) {
        fprintf(stderr, "no difference was found, so %s was not drawn\n", args->figure);
        return status;
    }
    SPEC_TRY(spec_validate_report_seen(&table, v, error));
    SPEC_TRY(spec_validate_args_draw(args, &table, "conformance", error));
done:
    spec_table_free(&table);
    return status;
}

static int write_all(const spec_validate_args *args, const spec_validation *v, const spec_validate_files *files,
                     spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(write_main(args, v, files->main, error));
    if (files->report != NULL) SPEC_TRY(spec_validate_report_json(v, files->report, error));
    if (files->junit != NULL) SPEC_TRY(spec_validate_report_junit(v, files->junit, error));
    if (args->figure != NULL) SPEC_TRY(write_figure(args, v, error));
done:
    return status;
}

static int code_of(const spec_validation *v)
{
    static const int codes[SPEC_VERDICTS] = {[SPEC_VERDICT_PASS] = SPEC_EXIT_HOLDS,
                                             [SPEC_VERDICT_FAIL] = SPEC_EXIT_FAILS,
                                             [SPEC_VERDICT_LOSSY] = SPEC_EXIT_HOLDS,
                                             [SPEC_VERDICT_INCONCLUSIVE] = SPEC_EXIT_UNDECIDED};
    return codes[v->verdict];
}

static int validate(spec_validate_args *args, watcher *w, const char *verb)
{
    spec_error error = {{0}};
    spec_validation v;
    spec_validate_files files = {0};
    int code = SPEC_EXIT_USAGE;
    spec_validate_args_open(&files, args, verb);
    int status = args->trace ? spec_trace_validate(&v, args->sampler, &args->plan, &error)
                             : spec_validate(&v, args->sampler, &args->plan, &error);
    clear_line(w);
    if (status == GSL_SUCCESS) {
        code = code_of(&v);
        if ((status = write_all(args, &v, &files, &error)) != GSL_SUCCESS) {
            spec_usage_say(verb, "%s", error.text);
            code = SPEC_EXIT_USAGE;
        }
        spec_validation_free(&v);
    } else if (spec_options_stop) {
        spec_usage_say(verb, "interrupted");
        code = SPEC_EXIT_INTERRUPTED;
    } else {
        /* What is wrong with a trace is said with its file already. */
        spec_usage_say(verb, "%s%s%s", args->trace ? "" : args->sampler, args->trace ? "" : ": ", error.text);
    }
    return spec_validate_args_close(&files, args, status == GSL_SUCCESS, verb) ? code : SPEC_EXIT_USAGE;
}

int spec_verb_validate(int argc, char **argv)
{
    spec_validate_args args;
    spec_fixtures_rows rows = {0};
    spec_error error = {{0}};
    spec_validate_args_parse(&args, argc, argv, what_it_does);
    if (args.plan.opt_rows != NULL && spec_fixtures_rows_init(&rows, args.plan.opt_rows, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "--rows: %s", error.text);
    if (args.plan.opt_rows != NULL) args.plan.opt_more = rows.kind;
    watcher w = {.args = &args};
    int code;
    clock_gettime(CLOCK_MONOTONIC, &w.begun);
    args.plan.self = &w;
    args.plan.progress = show_progress;
    if (args.watch) args.plan.stage = show_stage;
    spec_options_catch_interrupts();
    if (args.self_test) {
        code = spec_validate_self_test(&args, argv[0]);
    } else if (!args.list && !args.trace && spec_validate_check_only(&args.plan, &error) != GSL_SUCCESS) {
        spec_usage_say(argv[0], "--only: %s", error.text);
        code = SPEC_EXIT_USAGE;
    } else if (args.list) {
        code = spec_validate_list(&args, argv[0]);
    } else if (args.write_trace != NULL) {
        code = spec_validate_write_trace(&args, argv[0]);
    } else if (args.calibrate > 0) {
        code = spec_validate_calibrate(&args, argv[0]);
        clear_line(&w);
    } else {
        code = validate(&args, &w, argv[0]);
    }
    spec_validate_args_free(&args);
    spec_fixtures_rows_free(&rows);
    return code;
}
