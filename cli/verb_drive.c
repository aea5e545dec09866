/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_text.h"
#include "base/progress.h"
#include "cli/fields.h"
#include "cli/figure_option.h"
#include "cli/key_option.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "speclab/no_memory.h"
#include "tools/live/drive_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    spec_options common;
    spec_drive_plan plan;
    const char *K, *levels, *figure, *logs;
    char *key, made[64]; /* made: the folder for logs, if we made it */
} arguments;

static void read_key(void *arguments_, const char *word, const char *verb)
{
    ((arguments *)arguments_)->key = spec_key_option_read(verb, "key", word);
}

static const spec_field fields[] = {
    {"url", 0, "URL", "the server, such as http://localhost:8080", SPEC_FIELD(arguments, plan.url)},
    {"prompts", 0, "FILE",
     "prompts, lines like {\"prompt\": \"Once upon\", \"category\": \"tale\"}; the category is "
     "optional",
     SPEC_FIELD(arguments, plan.prompts)},
    {"K", 'K', "LIST",
     "draft lengths: up to 32 values from 0 to 64, such as 0,1,2,4 or 0:8; 0 is always measured",
     SPEC_FIELD(arguments, K), .fallback = "0,1,2,4"},
    {"concurrency", 0, "LIST", "requests at a time, 1 to 256; at most 16 values",
     SPEC_FIELD(arguments, levels), .fallback = "1,4"},
    {"launch", 0, "COMMAND",
     "start the server for each draft length, as in './start.sh {K}'; without it each request "
     "carries the draft length, if the server accepts that",
     SPEC_FIELD(arguments, plan.opt_launch)},
    {"repeat", 0, "N", "passes over all draft lengths, back and forth",
     SPEC_FIELD(arguments, plan.passes), .fallback = "4", .low = 1, .high = SPEC_DRIVE_PASSES,
     .group = 2},
    {"requests", 0, "N",
     "requests per draft length, concurrency and pass; 0: each prompt once, but at least twice the "
     "concurrency",
     SPEC_FIELD(arguments, plan.requests), .fallback = "0", .low = 0, .high = SPEC_DRIVE_REQUESTS,
     .group = 2},
    {"warm-up", 0, "N",
     "uncounted warm-up requests before each measurement, per concurrent request",
     SPEC_FIELD(arguments, plan.warm_up), .fallback = "1", .low = 0, .high = 100, .group = 2},
    {"max-tokens", 0, "N", "maximum number of tokens in a text",
     SPEC_FIELD(arguments, plan.sampling.tokens), .fallback = "128", .low = 2, .high = 1e5,
     .group = 2},
    {"temperature", 0, "T", "sampling temperature; 0: greedy",
     SPEC_FIELD(arguments, plan.sampling.transform.temperature), .fallback = "0", .low = 0,
     .high = 100, .group = 2},
    {"top-k", 0, "K", "draw from the K most probable tokens; 0: all",
     SPEC_FIELD(arguments, plan.sampling.transform.top_k), .fallback = "0", .low = 0, .high = 1e6,
     .group = 2},
    {"top-p", 0, "P", "draw from the fewest tokens whose total probability is at least P; 1: all",
     SPEC_FIELD(arguments, plan.sampling.transform.top_p), .fallback = "1", .low = 0, .high = 1,
     .above = true, .group = 2},
    {"min-p", 0, "P", "draw from tokens with at least P times the largest probability; 0: all",
     SPEC_FIELD(arguments, plan.sampling.transform.min_p), .fallback = "0", .low = 0, .high = 1,
     .group = 2},
    {"timeout", 0, "SECONDS", "time limit for the next token",
     SPEC_FIELD(arguments, plan.how.timeout), .fallback = "120", .low = 0.1, .high = 1e5,
     .group = 3},
    {"startup", 0, "SECONDS", "how long a server started by --launch may take to answer",
     SPEC_FIELD(arguments, plan.startup), .fallback = "600", .low = 0.1, .high = 1e5, .group = 3},
    {"logs", 0, "FOLDER",
     "keep what servers of --launch print, as FOLDER/K2.log and so on; without it the logs are "
     "kept only if a server fails",
     SPEC_FIELD(arguments, logs), .group = 3},
    {"key", 0, "env:NAME|file:FILE",
     "where the API key of the server is: an environment variable, or a file", .read = read_key,
     .group = 3},
    {"capture", 0, "FILE", "keep what was measured, for --resume",
     SPEC_FIELD(arguments, plan.opt_capture), .group = 4},
    {"resume", 0, NULL, "continue from the file of --capture", SPEC_FIELD(arguments, plan.resume),
     .group = 4},
    {"figure", 0, "FILE", SPEC_FIGURE_OPTION_HELP, SPEC_FIELD(arguments, figure), .group = 4},
    {0},
};

static const spec_field_relation relations[] = {{"resume", true, "capture", NULL},
                                                {"startup", true, "launch", NULL},
                                                {"logs", true, "launch", NULL},
                                                {0}};

static int ascending(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Parses a list of whole numbers low..high and adds them to the n numbers of `ret`, which is then
 * sorted and has no duplicates. Returns how many numbers it has. */
static int whole_numbers(int *ret, int n, int most, const char *option, const char *list, int low,
                         int high, const char *verb)
{
    spec_grid grid = {0};
    int kept = 0;
    spec_options_numbers(&grid, verb, option, list);
    if (n + grid.axis[0].n > most) spec_usage_fail(verb, "--%s: more than %d values", option, most);
    for (int i = 0; i < grid.axis[0].n; i++)
        ret[n++] = (int)spec_options_count(verb, option, grid.axis[0].value[i], (uint64_t)low,
                                           (uint64_t)high);
    spec_grid_free(&grid);
    qsort(ret, (size_t)n, sizeof ret[0], ascending);
    for (int i = 0; i < n; i++)
        if (kept == 0 || ret[i] != ret[kept - 1]) ret[kept++] = ret[i];
    return kept;
}

static void make_logs(arguments *args, const char *verb)
{
    const char *folder = getenv("TMPDIR");
    if (args->plan.opt_launch == NULL) return;
    if (args->logs != NULL) {
        if (mkdir(args->logs, 0777) != 0 && errno != EEXIST)
            spec_usage_fail(verb, "--logs: %s: %s", args->logs, strerror(errno));
        args->plan.logs = args->logs;
        return;
    }
    if (folder == NULL || strlen(folder) > 40) folder = "/tmp";
    snprintf(args->made, sizeof args->made, "%s/speclab-XXXXXX", folder);
    if (mkdtemp(args->made) == NULL) spec_usage_fail(verb, "%s: %s", args->made, strerror(errno));
    args->plan.logs = args->made;
}

static void remove_logs(const arguments *args)
{
    char path[96];
    if (*args->made == '\0') return;
    for (int i = 0; i < args->plan.n_K; i++) {
        snprintf(path, sizeof path, "%s/K%d.log", args->made, args->plan.K[i]);
        unlink(path);
    }
}

static void complete(arguments *args, const char *verb)
{
    spec_drive_plan *plan = &args->plan;
    const char *output = args->common.output;
    spec_error error;
    if (plan->url == NULL) spec_usage_fail(verb, "--url: which server is to be measured?");
    if (plan->prompts == NULL) spec_usage_fail(verb, "--prompts: which file has the prompts?");
    plan->n_K = whole_numbers(plan->K, 1, SPEC_DRIVE_K, "K", args->K, 0, SPEC_ADVICE_K - 1, verb);
    if (plan->n_K < 2) spec_usage_fail(verb, "--K: give at least one length above 0");
    if (plan->sampling.tokens < plan->K[plan->n_K - 1] + 2)
        spec_usage_fail(verb,
                        "--max-tokens must be at least %d, the longest draft and two more, got %d",
                        plan->K[plan->n_K - 1] + 2, plan->sampling.tokens);
    plan->n_levels = whole_numbers(plan->level, 0, SPEC_DRIVE_LEVELS, "concurrency", args->levels,
                                   1, SPEC_HTTP_LANES, verb);
    if (plan->opt_launch != NULL && strstr(plan->opt_launch, "{K}") == NULL)
        spec_usage_fail(verb,
                        "--launch: the command has no {K}, which stands for the draft length");
    if (plan->opt_capture != NULL && *plan->opt_capture == '\0')
        spec_usage_fail(verb, "--capture: the file has no name");
    if (plan->opt_capture != NULL && output != NULL && strcmp(plan->opt_capture, output) == 0)
        spec_usage_fail(verb, "--capture and -o name the same file, '%s'", plan->opt_capture);
    if (spec_output_probe(output, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--output: %s", error.text);
    spec_figure_option_check(args->figure, &args->common, verb);
    plan->seed = args->common.seed;
    plan->force = args->common.force;
    plan->opt_key = args->key;
}

static void show_progress(void *self, const char *what, double done, double all)
{
    char *note = self;
    if (what != NULL && done == 0.0 && all == 0.0) {
        spec_progress_phase("asking the server");
        return;
    }
    if (what != NULL) snprintf(note, SPEC_PROGRESS_NOTE, "%s", what);
    spec_progress_report(done, all, "requests", note);
}

/* Returns the report as text; the caller frees it. */
static int write_text(char **ret, const spec_drive_numbers *numbers,
                      const spec_drive_result *result, const arguments *args, spec_error *error)
{
    spec_memory_text page;
    if (!spec_memory_text_open(&page)) return spec_no_memory(error);
    const int status = spec_drive_report(page.out, numbers, result, &args->plan, error);
    *ret = spec_memory_text_take(&page, NULL);
    return *ret == NULL ? spec_no_memory(error) : status;
}

static int write_file(char *text, const spec_options *common, const char *verb, spec_error *error)
{
    spec_output output = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_output_open(&output, common->output, verb, error));
    spec_page_write(text, spec_options_columns(common), output.out);
    SPEC_TRY(spec_output_close(&output, common->force, verb, error));
done:
    spec_output_discard(&output);
    return status;
}

/* Writes the rows to their file or to standard output, and also the text unless standard output has
 * the rows. If a file cannot be written, the text goes to standard output, so that hours of
 * measuring are not lost. Returns an exit code. */
static int show(const spec_drive_numbers *numbers, const spec_drive_result *result,
                const arguments *args, const char *verb)
{
    const spec_options *common = &args->common;
    spec_table table = {0};
    spec_error error = {{0}};
    char *text = NULL;
    int status = GSL_SUCCESS, code = SPEC_EXIT_HOLDS;
    const bool rows = spec_options_wants_table(common), file = common->output != NULL;
    SPEC_TRY(write_text(&text, numbers, result, args, &error));
    if (rows) {
        SPEC_TRY(spec_drive_report_table(&table, numbers, result, &args->plan, &error));
        code = spec_options_show(&table, common, verb);
    } else {
        status = write_file(text, common, verb, &error);
    }
    if (file && (rows || status != GSL_SUCCESS)) {
        spec_page_write(text, spec_options_columns(common), spec_output_standard());
        fflush(spec_output_standard());
    }
done:
    spec_table_free(&table);
    free(text);
    if (status == GSL_SUCCESS) return code;
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}

/* Returns whether every concurrency has a certain answer. */
static bool is_decided(const spec_drive_numbers *numbers)
{
    for (int i = 0; i < numbers->n_levels; i++)
        if (!numbers->level[i].certain) return false;
    return numbers->n_levels > 0;
}

static int drive(arguments *args, const char *verb)
{
    spec_drive_result result;
    spec_drive_numbers numbers = {.row = NULL};
    spec_error error = {{0}}, why = {{0}};
    int code = SPEC_EXIT_USAGE, status;
    spec_stop_awaited();
    const int measured = spec_drive(&result, &args->plan, &error);
    spec_progress_clear();
    if (result.prompts != NULL && measured != GSL_ESANITY && result.blocks.n > 0) {
        status = spec_drive_numbers_init(&numbers, &result, &args->plan, &why);
        if (status == GSL_SUCCESS)
            code = show(&numbers, &result, args, verb);
        else
            spec_usage_say(verb, "%s", why.text);
    }
    if (measured == GSL_SUCCESS && result.stopped && result.blocks.n == 0)
        spec_usage_say(verb, "nothing is finished yet");
    if (measured != GSL_SUCCESS) {
        spec_usage_say(verb, "%s", error.text);
        if (args->plan.opt_capture != NULL && result.blocks.n > 0)
            spec_usage_say(verb, "%s has what was measured; --resume continues it",
                           args->plan.opt_capture);
    } else {
        remove_logs(args);
    }
    if (*args->made != '\0') rmdir(args->made); /* unless it has logs */
    if (measured != GSL_SUCCESS || result.stopped)
        code = SPEC_EXIT_USAGE;
    else if (code == SPEC_EXIT_HOLDS && !is_decided(&numbers))
        code = SPEC_EXIT_UNDECIDED;
    spec_drive_numbers_free(&numbers);
    spec_drive_result_free(&result);
    return code;
}

const spec_fields spec_verb_drive_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "measure what speculation gains at a live server\vdrive asks a server for texts at several "
    "draft lengths, over and over: K = 0 first and last, and the others in between. It reports the "
    "speed-up over K = 0 with intervals, what the acceptance and the time of a round predict, what "
    "a perfect draft would give, and the length to run, as 'speclab advise' would choose it. It "
    "refuses a baseline that speculates although K = 0 was asked for, and a length above 0 at "
    "which the server does not draft.\n"
    "\n"
    "It knows llama-server, vLLM and SGLang. They take a draft length only when they start, so "
    "--launch gives a command that starts it, with {K} in place of the length. The command must "
    "stay in the foreground and stop on SIGTERM. docs/drive.md takes you to a first measurement in "
    "ten minutes.\n"
    "\n"
    "  $ speclab drive --url http://localhost:8080 --launch './start.sh {K}' \\\n"
    "        --prompts prompts.jsonl\n"
    "  $ speclab drive ... --K 0,2,4,8 --concurrency 1,4,16 \\\n"
    "        -o drive.csv --figure drive.svg\n"
    "  $ speclab drive ... --capture blocks.jsonl --resume\n"
    "\n"
    "Exit status: 0 measured; 2 bad usage, a server failed, or the baseline was refused; 3 the "
    "measurement is not precise enough to choose a length; 130 stopped by ctrl-C, after reporting "
    "what is finished.",
    .formats = "table (the text, default), or rows by K as csv, json, markdown, latex or vertical",
    .output = "write the text to FILE; for FILE.csv and FILE.json write the rows, and print the "
              "text",
};

int spec_verb_drive(spec_context *context, int argc, char **argv)
{
    char note[SPEC_PROGRESS_NOTE] = "";
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context),
                      .plan = {.how = SPEC_HTTP_DEFAULT, .progress = show_progress, .self = note}};
    args.common.opt_figure = "drive";
    args.plan.how.opt_stop = &spec_stop;
    spec_fields_parse(&args, &args.common, &spec_verb_drive_options, argc, argv);
    complete(&args, argv[0]);
    make_logs(&args, argv[0]);
    const int code = drive(&args, argv[0]);
    free(args.key);
    return spec_figure_option_draw(args.figure, "drive", &args.common, argv[0], code);
}
