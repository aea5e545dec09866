#include "cli/validate_args.h"

#include "cli/figures/figure.h"
#include "cli/usage.h"
#include "base/settings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_ALPHA = 0x7001, KEY_EPS, KEY_POWER, KEY_BUDGET, KEY_ONLY, KEY_SCOPES, KEY_OPTIONS, KEY_EXEC, KEY_TIMEOUT,
    KEY_MEMORY, KEY_LIST, KEY_WATCH, KEY_CALIBRATE, KEY_SELF_TEST, KEY_REPORT, KEY_JUNIT, KEY_FIGURE,
    KEY_TRACE, KEY_WRITE_TRACE, KEY_HOLDS, KEY_ROWS
};

static const struct argp_option options_table[] = {
    {0, 0, 0, 0, "What is tested:", 1},
    {"exec", KEY_EXEC, "CMD", 0, "the sampler is the program that this command starts", 1},
    {"trace", KEY_TRACE, "FILE", 0, "the tokens that an engine wrote down, as JSON lines (-: standard input)", 1},
    {"options", KEY_OPTIONS, "TEXT", 0, "given to the sampler as it is opened", 1},
    {"scopes", KEY_SCOPES, "LIST", 0, "V, DV, S (all that the sampler has)", 1},
    {"rows", KEY_ROWS, "FILE", 0, "on real rows too, those of a file of 'speclab rows'; --only rows-low, rows-middle, "
     "rows-high, rows-blind: on these alone", 1},
    {"only", KEY_ONLY, "LIST", 0, "these fixtures and tests, by the names of --list (all)", 1},
    {0, 0, 0, 0, "How much and how sure:", 2},
    {"budget", KEY_BUDGET, "N", 0, "tokens to draw (20M; k, M, G) or time (20s, 5min, 1h)", 2},
    {"alpha", KEY_ALPHA, "A", 0, "chance of a FAIL for a lossless sampler, everything together (1e-6)", 2},
    {"eps", KEY_EPS, "TV", 0, "certify that no total variation is above this (say what the budget gives)", 2},
    {"power", KEY_POWER, "B", 0, "chance with which what is said to be detectable is found (0.9)", 2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "that one call of the sampler may take (10)", 2},
    {"memory", KEY_MEMORY, "BYTES", 0, "of the sampler's process (4G; k, M, G; 0: no limit)", 2},
    {"watch", KEY_WATCH, NULL, 0, "go on and on, a line a stage; ctrl-C gives the verdict so far", 2},
    {0, 0, 0, 0, "Reports, beside the one on standard output (table: text; json; csv: every statistic):", 3},
    {"report", KEY_REPORT, "FILE", 0, "all of it as JSON", 3},
    {"junit", KEY_JUNIT, "FILE", 0, "as JUnit XML, for CI systems", 3},
    {"figure", KEY_FIGURE, "FILE", 0, "draw the failing case or the calibration (.svg, .png, .pdf), with a .csv", 3},
    {0, 0, 0, 0, "Instead of a verdict:", 4},
    {"list", KEY_LIST, NULL, 0, "fixtures, tests, kinds of samplers and known mistakes", 4},
    {"self-test", KEY_SELF_TEST, NULL, 0, "is every mistake found that is known of real samplers? --only: these", 4},
    {"calibrate", KEY_CALIBRATE, "N", 0, "test an exact sampler N times with fresh seeds: are there false alarms?", 4},
    {"write-trace", KEY_WRITE_TRACE, "FILE", 0,
     "a trace of the sampler: --budget tokens (100k) over the fixture of --only (plain-4)", 4},
    {"holds", KEY_HOLDS, "WHAT", 0, "with --write-trace: rows, top (3) or logprobs of each token (rows)", 4},
    {0},
};

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const char *text;
    double factor;
} suffix;

/* A number and what comes after it, one of the suffixes; its place in *ret_which. */
static bool parse_amount(double *ret, int *ret_which, const char *text, const suffix *suffixes)
{
    for (int i = 0; suffixes[i].text != NULL; i++) {
        const size_t n = strlen(text), m = strlen(suffixes[i].text);
        char number[64];
        if (n <= m || n - m >= sizeof number || strcmp(text + n - m, suffixes[i].text) != 0) continue;
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
    static const suffix suffixes[] = {{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"min", 60}, {"s", 1}, {"h", 3600}, {"", 1},
                                      {NULL, 0}};
    enum { FIRST_TIME = 3, LAST_TIME = 5 };
    double value;
    int which;
    const bool good = parse_amount(&value, &which, arg, suffixes);
    const bool time = good && which >= FIRST_TIME && which <= LAST_TIME;
    if (!good || !(value > 0.0) || (!time && !(value >= 1.0 && value <= 1e15)) || (time && value > 1e7))
        spec_usage_fail(verb, "--budget: '%s' is neither a number of draws (1000000, 500k, 20M) nor a time (20s, 5min)",
                        arg);
    args->budget_given = true;
    args->plan.seconds = time ? value : 0.0;
    args->plan.draws = time ? SPEC_VALIDATE_DRAWS : (uint64_t)value;
}

static double parse_between(const char *option, const char *arg, double low, double high, const char *verb)
{
    double value;
    if (!spec_settings_parse_double(&value, arg) || !(value > low && value < high))
        spec_usage_fail(verb, "--%s: '%s' is not a number between %g and %g", option, arg, low, high);
    return value;
}

static void parse_memory(spec_validate_args *args, const char *arg, const char *verb)
{
    static const suffix suffixes[] = {{"k", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}, {"", 1.0}, {NULL, 0}};
    double value;
    int which;
    if (!parse_amount(&value, &which, arg, suffixes) || !(value >= 0.0 && value <= 1e15))
        spec_usage_fail(verb, "--memory: '%s' is not a number of bytes (512M, 4G; 0: no limit)", arg);
    args->plan.limits.memory = (uint64_t)value;
}

static void parse_scopes(spec_validate_args *args, const char *arg, const char *verb)
{
    static const char *const names[] = {"V", "DV", "S"};
    char *copy = strdup(arg);
    if (copy == NULL) spec_usage_fail(verb, "out of memory");
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;) {
        uint32_t scope = 0;
        for (int i = 0; i < 3; i++)
            if (strcmp(word, names[i]) == 0) scope = 1u << i;
        if (scope == 0) spec_usage_fail(verb, "--scopes: '%s' is not V, DV or S", word);
        args->plan.scopes |= scope;
    }
    free(copy);
}

static void parse_only(spec_validate_args *args, const char *arg, const char *verb)
{
    size_t n = 0;
    for (const char *c = arg; *c != '\0'; c++) n += *c == ',';
    if (args->only != NULL) spec_usage_fail(verb, "--only is given twice; names are separated by commas");
    args->only = calloc(n + 2, sizeof *args->only);
    char *rest = strdup(arg), *word;
    if (args->only == NULL || rest == NULL) spec_usage_fail(verb, "out of memory");
    n = 0;
    while ((word = strsep(&rest, ",")) != NULL) {
        if (*word == '\0') spec_usage_fail(verb, "--only: '%s' has an empty name", arg);
        args->only[n++] = word;
    }
    args->plan.opt_only = (const char *const *)args->only;
}

static const char *file_name(const char *option, const char *arg, const char *verb)
{
    if (*arg == '\0') spec_usage_fail(verb, "--%s: the file has no name", option);
    return arg;
}

static void take_sampler(spec_validate_args *args, const char *prefix, const char *arg, const char *verb)
{
    if (args->sampler != NULL) spec_usage_fail(verb, "one sampler at a time: '%s' is a second one", arg);
    if (asprintf(&args->sampler, "%s%s", prefix, arg) < 0) spec_usage_fail(verb, "out of memory");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool same(const char *opt_a, const char *opt_b)
{
    return opt_a != NULL && opt_b != NULL && strcmp(opt_a, opt_b) == 0;
}

static void check(spec_validate_args *args, const char *verb)
{
    spec_error error = {{0}};
    const bool alone = args->list || args->self_test;
    if (alone && args->sampler != NULL)
        spec_usage_fail(verb, "--%s takes no sampler: what is '%s'?", args->list ? "list" : "self-test", args->sampler);
    if (!alone && args->sampler == NULL)
        spec_usage_fail(verb, "which sampler? rule:NAME, ./FILE.so, --exec CMD or --trace FILE; see --help");
    if (args->list + args->self_test + args->watch + (args->write_trace != NULL) + (args->calibrate > 0) > 1)
        spec_usage_fail(verb, "--list, --self-test, --calibrate, --write-trace and --watch exclude each other");
    if (args->trace && (args->watch || args->calibrate > 0 || args->write_trace != NULL || args->budget_given))
        spec_usage_fail(verb, "--trace goes without --watch, --calibrate, --write-trace and --budget");
    if (args->plan.opt_rows != NULL && (args->trace || args->self_test || args->write_trace != NULL))
        spec_usage_fail(verb, "--rows goes without --trace, --self-test and --write-trace");
    if (args->holds != NULL && args->write_trace == NULL) spec_usage_fail(verb, "--holds is for --write-trace");
    if (args->calibrate > 0 && (args->watch || args->report != NULL || args->junit != NULL || args->plan.eps > 0.0))
        spec_usage_fail(verb, "--calibrate goes without --watch, --report, --junit and --eps");
    if (args->plan.power <= args->plan.alpha) spec_usage_fail(verb, "--power: it is above alpha, %g", args->plan.alpha);
    if (args->figure != NULL && spec_figure_check_ending(args->figure, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--figure %s", error.text);
    const char *const files[] = {args->common.output, args->report, args->junit, args->figure};
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++)
            if (same(files[i], files[k])) spec_usage_fail(verb, "'%s' is to be two files", files[i]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    spec_validate_args *args = state->input;
    spec_validate_plan *plan = &args->plan;
    const char *verb = state->name;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_ALPHA: plan->alpha = parse_between("alpha", arg, 0.0, 0.5, verb); return 0;
    case KEY_EPS: plan->eps = parse_between("eps", arg, 0.0, 1.0, verb); return 0;
    case KEY_POWER: plan->power = parse_between("power", arg, 0.0, 1.0, verb); return 0;
    case KEY_TIMEOUT: plan->limits.timeout = parse_between("timeout", arg, 0.0, 1e6, verb); return 0;
    case KEY_BUDGET: parse_budget(args, arg, verb); return 0;
    case KEY_MEMORY: parse_memory(args, arg, verb); return 0;
    case KEY_SCOPES: parse_scopes(args, arg, verb); return 0;
    case KEY_ONLY: parse_only(args, arg, verb); return 0;
    case KEY_OPTIONS: plan->limits.opt_options = arg; return 0;
    case KEY_EXEC: take_sampler(args, "exec:", arg, verb); return 0;
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
    case ARGP_KEY_ARG: take_sampler(args, "", arg, verb); return 0;
    case ARGP_KEY_END: check(args, verb); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void spec_validate_args_parse(spec_validate_args *args, int argc, char **argv, const char *doc)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options_table, parse, "SAMPLER", doc, children, NULL, NULL};
    *args = (spec_validate_args){.common = SPEC_OPTIONS_DEFAULT, .plan = SPEC_VALIDATE_PLAN_DEFAULT};
    spec_usage_parse(&argp, argc, argv, args);
    args->plan.seed = args->common.seed;
    args->plan.threads = args->common.threads;
    args->plan.limits.opt_stop = &spec_options_stop;
    args->plan.endless = args->watch && !args->budget_given;
}

void spec_validate_args_free(spec_validate_args *args)
{
    free(args->sampler);
    if (args->only != NULL) free(args->only[0]);
    free(args->only);
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

/* ---- files ------------------------------------------------------------------------------------------------------- */

static FILE *open_file(const char *opt_path, const char *option, const char *verb)
{
    FILE *out = opt_path != NULL ? fopen(opt_path, "w") : NULL;
    if (opt_path != NULL && out == NULL) spec_usage_fail(verb, "--%s: %s: %s", option, opt_path, strerror(errno));
    return out;
}

void spec_validate_args_open(spec_validate_files *files, const spec_validate_args *args, const char *verb)
{
    files->main = args->common.output != NULL ? open_file(args->common.output, "output", verb) : stdout;
    files->report = open_file(args->report, "report", verb);
    files->junit = open_file(args->junit, "junit", verb);
}

static bool close_file(FILE *file, const char *path, bool keep, const char *verb)
{
    if (file == NULL || file == stdout) return true;
    const bool closed = fclose(file) == 0;
    if (!closed) spec_usage_say(verb, "%s: %s", path, strerror(errno));
    if (!keep) remove(path);
    return closed;
}

bool spec_validate_args_close(spec_validate_files *files, const spec_validate_args *args, bool keep, const char *verb)
{
    bool good = close_file(files->main, args->common.output, keep, verb);
    good = close_file(files->report, args->report, keep, verb) && good;
    return close_file(files->junit, args->junit, keep, verb) && good;
}

int spec_validate_args_draw(const spec_validate_args *args, const spec_table *table, const char *name,
                            spec_error *error)
{
    char *path = NULL;
    FILE *out = NULL;
    int status = GSL_SUCCESS;
    const int stem = (int)(strrchr(args->figure, '.') - args->figure);
    if (asprintf(&path, "%.*s.csv", stem, args->figure) < 0) return spec_fail(error, GSL_ENOMEM, "out of memory");
    if ((out = fopen(path, "w")) == NULL) SPEC_TRY(spec_fail(error, GSL_EFAILED, "%s: %s", path, strerror(errno)));
    status = spec_table_write(table, SPEC_FORMAT_CSV, out, error);
    if (fclose(out) != 0 && status == GSL_SUCCESS)
        status = spec_fail(error, GSL_EFAILED, "%s: %s", path, strerror(errno));
    SPEC_TRY(status);
    SPEC_TRY(spec_figure_draw(name, path, args->figure, error));
done:
    free(path);
    return status;
}
