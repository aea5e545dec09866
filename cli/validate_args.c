/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_args.h"

#include "base/settings.h"
#include "cli/figures/figure.h"
#include "cli/stop.h"
#include "cli/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_FALSE_ALARM_RATE = 0x7001,
    KEY_EPS,
    KEY_POWER,
    KEY_BUDGET,
    KEY_ONLY,
    KEY_SCOPES,
    KEY_OPTIONS,
    KEY_EXEC,
    KEY_TIMEOUT,
    KEY_MEMORY,
    KEY_LIST,
    KEY_WATCH,
    KEY_CALIBRATE,
    KEY_SHARD,
    KEY_RESUME,
    KEY_SELF_TEST,
    KEY_CHECK_POWER,
    KEY_REPORT,
    KEY_JUNIT,
    KEY_FIGURE,
    KEY_TRACE,
    KEY_WRITE_TRACE,
    KEY_HOLDS,
    KEY_ROWS,
    KEY_ENV,
    KEY_DEPENDENT,
    KEY_TEMPERATURE
};

static const struct argp_option options_table[] = {
    {0, 0, 0, 0, "What is tested:", 1},
    {"exec", KEY_EXEC, "CMD", 0, "the sampler is a program, started by this command", 1},
    {"trace", KEY_TRACE, "FILE", 0,
     "test the log of an engine, as JSON lines, or the responses of an OpenAI-compatible server, "
     "one per line (-: standard input)",
     1},
    {"temperature", KEY_TEMPERATURE, "T", 0,
     "with --trace: the temperature at which a server drew its tokens, if the log-probabilities of "
     "its responses are those before it (1)",
     1},
    {"options", KEY_OPTIONS, "TEXT", 0,
     "options for the library's open function; with --exec, more arguments of the command", 1},
    {"env", KEY_ENV, "NAME,...|NAME=VALUE", SPEC_OPTION_REPEATS,
     "pass these environment variables to the sampler's process even if they look like secrets "
     "(KEY, TOKEN, PASSWORD and others; all other variables are passed), or set one; may be "
     "repeated",
     1},
    {"dependent-requests", KEY_DEPENDENT, NULL, 0,
     "the requests of a call depend on each other on purpose (antithetic or stratified numbers): "
     "test each request by itself",
     1},
    {"scopes", KEY_SCOPES, "LIST", 0, "V, DV, S (all that the sampler supports)", 1},
    {"rows", KEY_ROWS, "FILE", 0,
     "also test on the rows of a file of 'speclab rows'; with --only "
     "rows-low,rows-middle,rows-high,rows-blind: test only on these",
     1},
    {"only", KEY_ONLY, "LIST", SPEC_OPTION_REPEATS,
     "only these fixtures and tests, see --list; may be repeated (all)", 1},
    {0, 0, 0, 0, "Budget and confidence:", 2},
    {"budget", KEY_BUDGET, "N", 0, "tokens to draw (20M; k, M, G), or time (20s, 5min, 1h)", 2},
    {"false-alarm-rate", KEY_FALSE_ALARM_RATE, "CHANCE", 0,
     "probability that a lossless sampler gets FAIL, over all tests together (1e-6)", 2},
    {"alpha", KEY_FALSE_ALARM_RATE, "CHANCE", OPTION_HIDDEN, "the old name of --false-alarm-rate",
     2},
    {"eps", KEY_EPS, "TV", 0,
     "PASS only if a total variation of TV in a round's first token would have been found, on "
     "every vocabulary of at most 64 tokens (0.1); 0.05 takes --budget 5M",
     2},
    {"power", KEY_POWER, "B", 0, "probability that a detectable difference is found (0.9)", 2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "time limit of one call of the sampler (10); a fixture with a slower call is left out", 2},
    {"memory", KEY_MEMORY, "BYTES", 0,
     "memory limit of the sampler's process (4G; k, M, G; 0: no limit)", 2},
    {"watch", KEY_WATCH, NULL, 0,
     "test until a FAIL, with one line per stage; ctrl-C prints the verdict so far. Only a broken "
     "hard rule or the e-value makes a FAIL, not p-values, so the verdict is valid at any time. "
     "With --budget: an ordinary run that also prints these lines",
     2},
    {0, 0, 0, 0, "Further reports:", 3},
    {"report", KEY_REPORT, "FILE", 0, "the report as JSON", 3},
    {"junit", KEY_JUNIT, "FILE", 0, "the report as JUnit XML, for CI systems", 3},
    {"figure", KEY_FIGURE, "FILE", 0,
     "draw the failing case or the calibration: .svg, .png, .pdf or .tex; FILE.csv holds its data",
     3},
    {0, 0, 0, 0, "Instead of a verdict:", 4},
    {"list", KEY_LIST, NULL, 0, "list fixtures, tests, kinds of samplers and known mistakes", 4},
    {"self-test", KEY_SELF_TEST, NULL, 0,
     "check that each known mistake of real samplers is found; --only names the mistakes", 4},
    {"calibrate", KEY_CALIBRATE, "N", 0,
     "test an exact sampler N times with fresh seeds, and count false alarms", 4},
    {"shard", KEY_SHARD, "I/N", 0,
     "with --calibrate: run only tests I, I + N, I + 2N ...; 'speclab merge' joins the parts", 4},
    {"resume", KEY_RESUME, NULL, 0, "with --shard: keep the finished runs of the output", 4},
    {"check-power", KEY_CHECK_POWER, "N", 0,
     "check that a bias of the reported detectable TV is found with the reported power: N runs for "
     "each position and direction; --only names the fixtures; --watch checks endless runs",
     4},
    {"write-trace", KEY_WRITE_TRACE, "FILE", 0,
     "write a trace of the sampler: --budget tokens (100k) on the fixture of --only (plain-4)", 4},
    {"holds", KEY_HOLDS, "WHAT", 0,
     "with --write-trace: rows, top (3) or logprobs for each token (rows)", 4},
    {0},
};

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    double factor;
} suffix;

/* Parses a number and its suffix, whose index is stored in *ret_which. */
static bool parse_amount(double *ret, int *ret_which, const char *text, const suffix *suffixes)
{
    for (int i = 0; suffixes[i].text != NULL; i++) {
        const size_t n = strlen(text), m = strlen(suffixes[i].text);
        char number[64];
        if (n <= m || n - m >= sizeof number || strcmp(text + n - m, suffixes[i].text) != 0)
            continue;
        snprintf(number, sizeof number, "%.*s", (int)(n - m), text);
        *ret_which = i;
        if (!spec_settings_parse_double(ret, number)) continue;
        *ret *= suffixes[i].factor;
        return true;
    }
    return false;
}

static void parse_budget(spec_validate_args *args, const char *arg, const char *verb)
{
    static const suffix suffixes[] = {{"k", 1e3}, {"M", 1e6},  {"G", 1e9}, {"min", 60},
                                      {"s", 1},   {"h", 3600}, {"", 1},    {NULL, 0}};
    enum { FIRST_TIME = 3, LAST_TIME = 5 };
    double value;
    int which;
    const bool good = parse_amount(&value, &which, arg, suffixes);
    const bool time = good && which >= FIRST_TIME && which <= LAST_TIME;
    if (!good || !(value > 0.0) || (!time && !(value >= 1.0 && value <= 1e15)) ||
        (time && value > 1e7))
        spec_usage_fail(verb,
                        "--budget: '%s' is neither a number of draws (1000000, 500k, 20M) nor a "
                        "time (20s, 5min)",
                        arg);
    args->budget_given = true;
    args->plan.seconds = time ? value : 0.0;
    args->plan.draws = time ? SPEC_VALIDATE_DRAWS : (uint64_t)value;
}

static double parse_between(const char *option, const char *arg, double low, double high,
                            const char *verb)
{
    double value;
    if (!spec_settings_parse_double(&value, arg) || !(value > low && value < high))
        spec_usage_fail(verb, "--%s: '%s' is not a number between %g and %g", option, arg, low,
                        high);
    return value;
}

static void parse_memory(spec_validate_args *args, const char *arg, const char *verb)
{
    static const suffix suffixes[] = {
        {"k", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}, {"", 1.0}, {NULL, 0}};
    double value;
    int which;
    if (!parse_amount(&value, &which, arg, suffixes) || !(value >= 0.0 && value <= 1e15))
        spec_usage_fail(verb, "--memory: '%s' is not a number of bytes (512M, 4G; 0: no limit)",
                        arg);
    args->plan.limits.memory = (uint64_t)value;
}

static void parse_scopes(spec_validate_args *args, const char *arg, const char *verb)
{
    static const char *const names[] = {"V", "DV", "S"};
    char *copy = strdup(arg);
    if (copy == NULL) spec_usage_no_memory(verb);
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;) {
        uint32_t scope = 0;
        for (int i = 0; i < 3; i++)
            if (strcmp(word, names[i]) == 0) scope = 1u << i;
        if (scope == 0) spec_usage_fail(verb, "--scopes: '%s' is not V, DV or S", word);
        args->plan.scopes |= scope;
    }
    free(copy);
}

/* Appends an entry to a NULL-terminated array, or to NULL; returns the array. */
static char **add_name(char **names, const char *entry, const char *verb)
{
    size_t n = 0;
    while (names != NULL && names[n] != NULL) n++;
    names = realloc(names, (n + 2) * sizeof *names);
    if (names == NULL || (names[n] = strdup(entry)) == NULL) spec_usage_no_memory(verb);
    names[n + 1] = NULL;
    return names;
}

static char **add_names(char **names, const char *option, const char *arg, const char *verb)
{
    char *copy = strdup(arg);
    if (copy == NULL) spec_usage_no_memory(verb);
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;) {
        if (*word == '\0') spec_usage_fail(verb, "--%s: '%s' has an empty name", option, arg);
        names = add_name(names, word, verb);
    }
    free(copy);
    return names;
}

/* Parses names separated by commas, or NAME=VALUE, whose value may have commas. */
static void parse_env(spec_validate_args *args, const char *arg, const char *verb)
{
    const size_t n = strcspn(arg, "=");
    const bool sets = arg[n] == '=';
    if (strcspn(arg, "*") < n || (sets && (n == 0 || strcspn(arg, ",") < n)))
        spec_usage_fail(verb, "--env: '%.*s%s' is neither a list of names nor NAME=VALUE", (int)n,
                        arg, sets ? "=..." : ""); /* the value may be a secret */
    args->env = sets ? add_name(args->env, arg, verb) : add_names(args->env, "env", arg, verb);
}

static void free_names(char **names)
{
    for (char **name = names; name != NULL && *name != NULL; name++) free(*name);
    free(names);
}

static const char *file_name(const char *option, const char *arg, const char *verb)
{
    if (*arg == '\0') spec_usage_fail(verb, "--%s: the file has no name", option);
    return arg;
}

static void take_sampler(spec_validate_args *args, const char *prefix, const char *arg,
                         const char *verb)
{
    if (args->sampler != NULL)
        spec_usage_fail(verb,
                        "'%s' is a second sampler; give only "
                        "one",
                        arg);
    if (asprintf(&args->sampler, "%s%s", prefix, arg) < 0) spec_usage_no_memory(verb);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Resolves a path to a file that may not exist yet; the caller frees the result. NULL if the folder
 * does not exist or memory runs out. */
static char *whole_path(const char *path)
{
    char *whole = realpath(path, NULL), *result = NULL;
    if (whole != NULL) return whole;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *folder = strndup(path, (size_t)(name - path));
    whole = folder != NULL ? realpath(*folder != '\0' ? folder : ".", NULL) : NULL;
    if (whole != NULL && asprintf(&result, "%s/%s", whole, name) < 0) result = NULL;
    free(folder);
    free(whole);
    return result;
}

/* Returns whether two paths name the same regular file. */
static bool same(const char *opt_a, const char *opt_b)
{
    struct stat info;
    if (opt_a == NULL || opt_b == NULL) return false;
    if (strcmp(opt_a, opt_b) == 0) return true;
    if (stat(opt_a, &info) == 0 && !S_ISREG(info.st_mode)) return false;
    char *a = whole_path(opt_a), *b = whole_path(opt_b);
    const bool one = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    return one;
}

static void check_shard(const spec_validate_args *args, const char *verb)
{
    const uint64_t of = args->common.shard.of;
    if (of == 0 && args->common.resume) spec_usage_fail(verb, "--resume needs --shard");
    if (of == 0) return;
    if (args->calibrate == 0) spec_usage_fail(verb, "--shard needs --calibrate");
    if (args->common.output == NULL) spec_usage_fail(verb, "--shard needs -o FILE");
    if (args->plan.seconds > 0.0)
        spec_usage_fail(verb, "--shard needs a --budget of tokens: runs of some seconds differ");
    if (args->figure != NULL || spec_validate_args_format(args) == SPEC_FORMAT_JSON ||
        (args->common.format_given && args->common.format != SPEC_FORMAT_CSV))
        spec_usage_fail(verb, "--shard writes only CSV files; leave out --format and --figure");
    if (of > (uint64_t)args->calibrate)
        spec_usage_fail(verb, "--shard %llu/%llu: there are %d runs; use at most as many shards",
                        (unsigned long long)args->common.shard.number, (unsigned long long)of,
                        args->calibrate);
}

static void check(spec_validate_args *args, const char *verb)
{
    spec_error error = {{0}};
    const bool alone = args->list || args->self_test || args->check_power > 0;
    if (alone && args->sampler != NULL)
        spec_usage_fail(verb, "--%s takes no sampler; remove '%s'",
                        args->list        ? "list"
                        : args->self_test ? "self-test"
                                          : "check-power",
                        args->sampler);
    if (!alone && args->sampler == NULL)
        spec_usage_fail(
            verb,
            "no sampler is given: rule:NAME, ./FILE.so, --exec CMD or --trace FILE; see --help");
    const bool watched = args->watch || args->check_power > 0;
    if (args->list + args->self_test + watched + (args->write_trace != NULL) +
            (args->calibrate > 0) >
        1)
        spec_usage_fail(verb, "--list, --self-test, --calibrate, --check-power and --write-trace "
                              "cannot be combined, nor, except --check-power, with --watch");
    if (args->check_power > 0 && (args->plan.seconds > 0.0 || args->plan.opt_rows != NULL))
        spec_usage_fail(verb, "--check-power cannot be combined with --rows or a --budget of "
                              "time");
    if (args->trace &&
        (args->watch || args->calibrate > 0 || args->write_trace != NULL || args->budget_given))
        spec_usage_fail(verb, "--trace cannot be combined with --watch, --calibrate, --write-trace "
                              "or --budget");
    if (args->plan.opt_rows != NULL &&
        (args->trace || args->self_test || args->write_trace != NULL))
        spec_usage_fail(verb, "--rows cannot be combined with --trace, --self-test or "
                              "--write-trace");
    if (args->plan.dependent && (args->trace || args->self_test || args->write_trace != NULL))
        spec_usage_fail(verb,
                        "--dependent-requests cannot be combined with --trace, --self-test or "
                        "--write-trace");
    if (args->plan.temperature > 0.0 && !args->trace)
        spec_usage_fail(verb, "--temperature needs --trace");
    if (args->holds != NULL && args->write_trace == NULL)
        spec_usage_fail(verb, "--holds needs --write-trace");
    if (args->calibrate > 0 &&
        (args->watch || args->report != NULL || args->junit != NULL || args->plan.eps > 0.0))
        spec_usage_fail(verb, "--calibrate cannot be combined with --watch, --report, --junit or "
                              "--eps");
    if ((alone || args->write_trace != NULL) &&
        (args->report != NULL || args->junit != NULL || args->figure != NULL))
        spec_usage_fail(verb, "--report, --junit and --figure are for a verdict: leave out --%s",
                        args->list          ? "list"
                        : args->self_test   ? "self-test"
                        : args->write_trace ? "write-trace"
                                            : "check-power");
    if (args->write_trace != NULL && args->common.output != NULL)
        spec_usage_fail(verb, "--write-trace names its file: leave out -o");
    check_shard(args, verb);
    if (args->plan.power <= args->plan.false_alarm_rate)
        spec_usage_fail(verb, "--power: give a probability above --false-alarm-rate, %g",
                        args->plan.false_alarm_rate);
    if (args->figure != NULL && spec_figure_check_path(args->figure, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--figure %s", error.text);
    if (args->figure != NULL && asprintf(&args->figure_data, "%s.csv", args->figure) < 0)
        spec_usage_no_memory(verb);
    const char *const files[] = {args->common.output != NULL ? args->common.output : "-",
                                 args->report, args->junit, args->figure, args->figure_data};
    enum { FILES = sizeof files / sizeof *files };
    for (int i = 0; i < FILES; i++)
        for (int k = i + 1; k < FILES; k++)
            if (same(files[i], files[k]))
                spec_usage_fail(verb,
                                strcmp(files[k], "-") == 0
                                    ? "two reports cannot both go to standard output; give -o FILE"
                                    : "'%s' is given for two files; give two names",
                                files[k]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    spec_validate_args *args = state->input;
    spec_validate_plan *plan = &args->plan;
    const char *verb = state->name;
    spec_error error;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_FALSE_ALARM_RATE:
        plan->false_alarm_rate = parse_between("false-alarm-rate", arg, 0.0, 0.5, verb);
        return 0;
    case KEY_EPS: plan->eps = parse_between("eps", arg, 0.0, 1.0, verb); return 0;
    case KEY_POWER: plan->power = parse_between("power", arg, 0.0, 1.0, verb); return 0;
    case KEY_TIMEOUT:
        plan->limits.timeout = parse_between("timeout", arg, 0.0, 1e6, verb);
        return 0;
    case KEY_BUDGET: parse_budget(args, arg, verb); return 0;
    case KEY_MEMORY: parse_memory(args, arg, verb); return 0;
    case KEY_SCOPES: parse_scopes(args, arg, verb); return 0;
    case KEY_ONLY: args->only = add_names(args->only, "only", arg, verb); return 0;
    case KEY_ENV: parse_env(args, arg, verb); return 0;
    case KEY_TEMPERATURE:
        plan->temperature = parse_between("temperature", arg, 0.0, 1e3, verb);
        return 0;
    case KEY_DEPENDENT: plan->dependent = true; return 0;
    case KEY_OPTIONS: plan->limits.opt_options = arg; return 0;
    case KEY_EXEC:
        if (*arg == '\0') spec_usage_fail(verb, "--exec: the command is empty");
        take_sampler(args, "exec:", arg, verb);
        return 0;
    case KEY_TRACE:
        take_sampler(args, "", file_name("trace", arg, verb), verb);
        args->trace = true;
        return 0;
    case KEY_WRITE_TRACE: args->write_trace = file_name("write-trace", arg, verb); return 0;
    case KEY_HOLDS: args->holds = arg; return 0;
    case KEY_ROWS: args->plan.opt_rows = file_name("rows", arg, verb); return 0;
    case KEY_LIST: args->list = true; return 0;
    case KEY_SELF_TEST: args->self_test = true; return 0;
    case KEY_WATCH: args->watch = true; return 0;
    case KEY_REPORT: args->report = file_name("report", arg, verb); return 0;
    case KEY_JUNIT: args->junit = file_name("junit", arg, verb); return 0;
    case KEY_FIGURE: args->figure = arg; return 0;
    case KEY_CALIBRATE:
        args->calibrate = (int)spec_options_count(verb, "calibrate", arg, 1, 1000000);
        return 0;
    case KEY_SHARD:
        if (spec_shard_parse(&args->common.shard, arg, &error) != GSL_SUCCESS)
            spec_usage_fail(verb, "--shard: %s", error.text);
        return 0;
    case KEY_RESUME: args->common.resume = true; return 0;
    case KEY_CHECK_POWER:
        args->check_power = (int)spec_options_count(verb, "check-power", arg, 1, 1000000);
        return 0;
    case ARGP_KEY_ARG: take_sampler(args, "", arg, verb); return 0;
    case ARGP_KEY_END: check(args, verb); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void spec_validate_args_parse(spec_validate_args *args, spec_context *context, int argc,
                              char **argv, const char *doc)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options_table, parse, "SAMPLER", doc, children, NULL, NULL};
    *args = (spec_validate_args){.common = SPEC_OPTIONS_DEFAULT(context),
                                 .plan = SPEC_VALIDATE_PLAN_DEFAULT};
    args->common.opt_formats =
        "table: the report as text; json; csv, markdown or latex: a table of statistics (table)";
    args->common.opt_output =
        "write the report to FILE and only the verdict to standard error (FILE.json: json; "
        "FILE.csv: a table of statistics; else text)";
    spec_usage_parse(&argp, argc, argv, args);
    args->plan.seed = args->common.seed;
    args->plan.opt_pool = context->pool;
    args->plan.limits.opt_stop = &spec_stop;
    args->plan.opt_only = (const char *const *)args->only;
    args->plan.limits.opt_env = (const char *const *)args->env;
    args->plan.limits.supervisor = "/proc/self/exe"; /* this program: see main */
    args->plan.endless = args->watch && !args->budget_given;
}

void spec_validate_args_free(spec_validate_args *args)
{
    free(args->sampler);
    free_names(args->only);
    free_names(args->env);
    free(args->figure_data);
}

static bool ends_with(const char *opt_text, const char *end)
{
    const size_t n = opt_text != NULL ? strlen(opt_text) : 0, m = strlen(end);
    return n > m && strcmp(opt_text + n - m, end) == 0;
}

spec_format spec_validate_args_format(const spec_validate_args *args)
{
    if (args->common.format_given) return args->common.format;
    return ends_with(args->common.output, ".json")  ? SPEC_FORMAT_JSON
           : ends_with(args->common.output, ".csv") ? SPEC_FORMAT_CSV
                                                    : SPEC_FORMAT_TABLE;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void open_file(spec_validate_files *files, spec_output *output, const char *path,
                      const char *option, const char *verb)
{
    spec_error error = {{0}};
    if (spec_output_open(output, path, verb, &error) == GSL_SUCCESS) return;
    spec_output_discard(&files->main);
    spec_output_discard(&files->report);
    spec_usage_fail(verb, "--%s: %s", option, error.text);
}

void spec_validate_args_open(spec_validate_files *files, const spec_validate_args *args,
                             const char *verb)
{
    *files = (spec_validate_files){.main.out = NULL};
    open_file(files, &files->main, args->common.output, "output", verb);
    if (args->report != NULL) open_file(files, &files->report, args->report, "report", verb);
    if (args->junit != NULL) open_file(files, &files->junit, args->junit, "junit", verb);
}

void spec_validate_args_retire(spec_validate_files *files, bool force, const char *verb)
{
    spec_output *const all[] = {&files->main, &files->report, &files->junit};
    for (int i = 0; i < 3; i++)
        if (all[i]->out != NULL) spec_output_retire(all[i], force, verb);
}

int spec_validate_args_draw(const spec_validate_args *args, const spec_table *table,
                            const char *name, const char *verb, spec_error *error)
{
    const bool force = args->common.force;
    spec_output output = {.out = NULL};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_output_open(&output, args->figure_data, verb, error));
    SPEC_TRY(spec_output_check(&output, spec_table_write(table, SPEC_FORMAT_CSV, output.out, error),
                               error));
    SPEC_TRY(spec_output_close(&output, force, verb, error));
    SPEC_TRY(spec_figure_draw_named(name, args->figure_data, args->figure, force, verb, error));
done:
    spec_output_discard(&output);
    return status;
}
