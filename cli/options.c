#include "cli/options.h"

#include "cli/verb.h"
#include "base/settings.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

volatile int spec_options_stop;

enum { KEY_THREADS = 0x1001 };

static const struct argp_option common_options[] = {
    {0, 0, 0, 0, "Common options:", 100},
    {"format", 'f', "FORMAT", 0, "table (the default on a terminal), csv (elsewhere), json or markdown", 0},
    {"seed", 's', "N", 0, "seed of all random streams (42)", 0},
    {"threads", KEY_THREADS, "N", 0, "threads (all); results do not depend on it", 0},
    {"output", 'o', "FILE", 0, "write here instead of standard output (FILE.json: json; else csv)", 0},
    {0},
};

uint64_t spec_options_count(const char *verb, const char *option, const char *arg, uint64_t low, uint64_t high)
{
    uint64_t value;
    if (!spec_settings_parse_u64(&value, arg) || value < low || value > high)
        spec_usage_fail(verb, "--%s: '%s' is not a whole number from %llu to %llu", option, arg,
                        (unsigned long long)low, (unsigned long long)high);
    return value;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    static const char *const formats[] = {"table", "csv", "json", "markdown", NULL};
    spec_options *options = state->input;
    if (options == NULL) return ARGP_ERR_UNKNOWN;
    switch (key) {
    case 'f':
        for (int i = 0; formats[i] != NULL; i++) {
            if (strcmp(arg, formats[i]) != 0) continue;
            options->format = (spec_format)i;
            options->format_given = true;
            return 0;
        }
        spec_usage_fail(state->name, "--format: '%s' is not table, csv, json or markdown", arg);
    case 's':
        if (!spec_settings_parse_u64(&options->seed, arg))
            spec_usage_fail(state->name, "--seed: '%s' is not a whole number from 0 to 2^64-1", arg);
        options->seed_given = true;
        return 0;
    case KEY_THREADS:
        options->threads = (int)spec_options_count(state->name, "threads", arg, 1, 4096);
        return 0;
    case 'o':
        if (*arg == '\0') spec_usage_fail(state->name, "--output: the file has no name");
        options->output = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child usage_child[] = {{&spec_usage_argp, 0, NULL, 0}, {0}};
const struct argp spec_options_argp = {common_options, parse_common, NULL, NULL, usage_child, NULL, NULL};

void spec_options_numbers(spec_grid *grid, const char *verb, const char *axis, const char *list)
{
    spec_error error = {{0}};
    if (spec_grid_add_numbers(grid, axis, list, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--%s", error.text); /* the line begins with the name of the axis */
}

void spec_options_texts(spec_grid *grid, const char *verb, const char *axis, const char *list, const char *separators)
{
    enum { MOST = 4096 };
    const char *value[MOST];
    int n = 0;
    char *copy = strdup(list);
    if (copy == NULL) spec_usage_fail(verb, "out of memory");
    for (char *rest = copy, *word; (word = strsep(&rest, separators)) != NULL;) {
        if (*word == '\0') spec_usage_fail(verb, "--%s: '%s' has an empty value", axis, list);
        if (n == MOST) spec_usage_fail(verb, "--%s: more than %d values", axis, MOST);
        value[n++] = word;
    }
    if (spec_grid_add(grid, axis, value, n, false) != GSL_SUCCESS) spec_usage_fail(verb, "out of memory");
    free(copy);
}

static void on_signal(int number)
{
    (void)number;
    spec_options_stop = 1;
}

void spec_options_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* What the bar needs to know between two calls. */
typedef struct {
    struct timespec begin;
    bool drawn;
} progress_state;

static double seconds_since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

void spec_options_progress(void *context, uint64_t done, uint64_t total)
{
    progress_state *state = context;
    double elapsed = seconds_since(&state->begin);
    if (!isatty(STDERR_FILENO) || (elapsed < 1.0 && !state->drawn)) return;
    if (done >= total) {
        if (state->drawn) fputs("\r\033[K", stderr);
        state->drawn = false;
        return;
    }
    char bar[31];
    int full = (int)(30.0 * (double)done / (double)total);
    for (int i = 0; i < 30; i++) bar[i] = i < full ? '#' : '.';
    bar[30] = '\0';
    double rate = (double)done / elapsed;
    fprintf(stderr, "\r\033[K[%s] %llu of %llu points", bar, (unsigned long long)done, (unsigned long long)total);
    if (done > 0) fprintf(stderr, ", %.3g/s, %.0f s left", rate, (double)(total - done) / rate);
    fflush(stderr);
    state->drawn = true;
}

static spec_format chosen_format(const spec_options *options)
{
    if (options->format_given) return options->format;
    if (options->output != NULL) {
        size_t length = strlen(options->output);
        return length > 5 && strcmp(options->output + length - 5, ".json") == 0 ? SPEC_FORMAT_JSON : SPEC_FORMAT_CSV;
    }
    return isatty(STDOUT_FILENO) ? SPEC_FORMAT_TABLE : SPEC_FORMAT_CSV;
}

int spec_options_show(const spec_table *table, const spec_options *options, const char *verb)
{
    spec_error error = {{0}};
    FILE *out = stdout;
    if (options->output != NULL && (out = fopen(options->output, "w")) == NULL) {
        spec_usage_say(verb, "%s: %s", options->output, strerror(errno));
        return SPEC_EXIT_USAGE;
    }
    int status = spec_table_write(table, chosen_format(options), out, &error);
    if (out != stdout ? fclose(out) != 0 : fflush(out) != 0) {
        if (status == GSL_SUCCESS) status = spec_fail(&error, GSL_EFAILED, "%s", strerror(errno));
    }
    if (status != GSL_SUCCESS) {
        spec_usage_say(verb, "%s: %s", options->output != NULL ? options->output : "standard output", error.text);
        return SPEC_EXIT_USAGE;
    }
    return SPEC_EXIT_HOLDS;
}

int spec_options_run(const spec_experiment *experiment, const spec_options *options, const spec_options_plan *plan,
                     const char *verb, spec_error *ret_error)
{
    spec_result result = {0};
    progress_state progress = {0};
    clock_gettime(CLOCK_MONOTONIC, &progress.begin);
    spec_options_catch_interrupts();

    /* CSV is written row by row, so that a kill loses nothing; every other form when all is there. */
    const bool csv = chosen_format(options) == SPEC_FORMAT_CSV;
    if (plan->resume && !csv) spec_usage_fail(verb, "--resume goes on with CSV alone");
    const spec_run_options run = {
        .csv_path = csv ? options->output : NULL,
        .opt_csv = csv && options->output == NULL ? stdout : NULL,
        .resume = plan->resume,
        .no_point = plan->no_point,
        .threads = options->threads,
        .limit = plan->limit,
        .stop = &spec_options_stop,
        .progress = spec_options_progress,
        .context = &progress,
    };
    ret_error->text[0] = '\0';
    const int status = spec_experiment_run(&result, experiment, &run, ret_error);
    spec_options_progress(&progress, 1, 1);

    int code = SPEC_EXIT_HOLDS;
    if (!csv && (status == GSL_SUCCESS || result.table.n_rows > 0))
        code = spec_options_show(&result.table, options, verb);
    if (status != GSL_SUCCESS) {
        code = spec_options_stop ? SPEC_EXIT_INTERRUPTED : SPEC_EXIT_USAGE;
    } else if (code == SPEC_EXIT_HOLDS && result.fails > 0) {
        spec_fail(ret_error, GSL_EFAILED, "%llu of %llu checks failed", (unsigned long long)result.fails,
                  (unsigned long long)(result.holds + result.fails));
        code = SPEC_EXIT_FAILS;
    }
    spec_result_free(&result);
    return code;
}
