/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_args.h"

#include "base/settings.h"
#include "cli/fields.h"
#include "cli/figures/figure.h"
#include "cli/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static void read_budget(void *arguments, const char *arg, const char *verb)
{
    spec_validate_args *args = arguments;
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
    args->plan.seconds = time ? value : 0.0;
    args->plan.draws = time ? SPEC_VALIDATE_DRAWS : (uint64_t)value;
}

static void read_memory(void *arguments, const char *arg, const char *verb)
{
    static const suffix suffixes[] = {
        {"k", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}, {"", 1.0}, {NULL, 0}};
    double value;
    int which;
    if (!parse_amount(&value, &which, arg, suffixes) || !(value >= 0.0 && value <= 1e15))
        spec_usage_fail(verb, "--memory: '%s' is not a number of bytes (512M, 4G; 0: no limit)",
                        arg);
    ((spec_validate_args *)arguments)->plan.limits.memory = (uint64_t)value;
}

static void read_scopes(void *arguments, const char *arg, const char *verb)
{
    spec_validate_args *args = arguments;
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

static void read_only(void *arguments, const char *arg, const char *verb)
{
    spec_validate_args *args = arguments;
    args->only = add_names(args->only, "only", arg, verb);
}

/* Reads names separated by commas, or NAME=VALUE, whose value may have commas. */
static void read_env(void *arguments, const char *arg, const char *verb)
{
    spec_validate_args *args = arguments;
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

static void take_sampler(spec_validate_args *args, const char *prefix, const char *arg,
                         const char *verb)
{
    if (args->sampler != NULL)
        spec_usage_fail(verb, "'%s' is a second sampler; give only one", arg);
    if (asprintf(&args->sampler, "%s%s", prefix, arg) < 0) spec_usage_no_memory(verb);
}

static void read_sampler(void *arguments, const char *arg, const char *verb)
{
    take_sampler(arguments, "", arg, verb);
}

static void read_exec(void *arguments, const char *arg, const char *verb)
{
    if (*arg == '\0') spec_usage_fail(verb, "--exec: the command is empty");
    take_sampler(arguments, "exec:", arg, verb);
}

static void read_trace(void *arguments, const char *arg, const char *verb)
{
    take_sampler(arguments, "", arg, verb);
    ((spec_validate_args *)arguments)->trace = true;
}

static void read_shard(void *arguments, const char *arg, const char *verb)
{
    spec_error error;
    if (spec_shard_parse(&((spec_validate_args *)arguments)->common.shard, arg, &error) !=
        GSL_SUCCESS)
        spec_usage_fail(verb, "--shard: %s", error.text);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define FIELD(member) SPEC_FIELD(spec_validate_args, member)
static const spec_field fields[] = {
    {.help = "What is tested:"},
    {"exec", 0, "CMD", "the sampler is a program, started by this command", .read = read_exec},
    {"trace", 0, "FILE",
     "test the log of an engine, as JSON lines, or the responses of an OpenAI-compatible server, "
     "one per line (-: standard input)",
     .read = read_trace},
    {"temperature", 0, "T",
     "with --trace: the temperature at which a server drew its tokens, if the log-probabilities "
     "in its responses are from before temperature (1)",
     FIELD(plan.temperature), .low = 0, .high = 1e3, .above = true, .below = true},
    {"options", 0, "TEXT",
     "options for the library's open function; with --exec, more arguments of the command",
     FIELD(plan.limits.opt_options)},
    {"env", 0, "NAME,...|NAME=VALUE",
     "pass these environment variables to the sampler's process even if they look like secrets "
     "(KEY, TOKEN, PASSWORD and others; all other variables are passed), or set one; may be "
     "repeated",
     .read = read_env, .repeats = true},
    {"dependent-requests", 0, NULL,
     "the requests of a call depend on each other on purpose (antithetic or stratified numbers): "
     "test each request by itself",
     FIELD(plan.dependent)},
    {"scopes", 0, "LIST", "V, DV, S (all that the sampler supports)", .read = read_scopes},
    {"rows", 0, "FILE",
     "also test on the rows of a file of 'speclab rows'; with --only "
     "rows-low,rows-middle,rows-high,rows-blind: test only on these",
     FIELD(plan.opt_rows)},
    {"only", 0, "LIST", "only these fixtures and tests, see --list; may be repeated (all)",
     .read = read_only, .repeats = true},
    {.help = "Budget and confidence:", .group = 2},
    {"budget", 0, "N", "tokens to draw (20M; k, M, G), or time (20s, 5min, 1h)",
     .read = read_budget, .group = 2},
    {"false-alarm-rate", 0, "CHANCE",
     "probability that a lossless sampler gets FAIL, over all tests together",
     FIELD(plan.false_alarm_rate), .fallback = "1e-6", .low = 0, .high = 0.5, .above = true,
     .below = true, .group = 2},
    {"eps", 0, "TV",
     "PASS only if a total variation of TV in a round's first token would have been found, on "
     "every vocabulary of at most 64 tokens (0.1); 0.05 takes --budget 5M",
     FIELD(plan.eps), .low = 0, .high = 1, .above = true, .below = true, .group = 2},
    {"power", 0, "B", "probability that a detectable difference is found", FIELD(plan.power),
     .fallback = "0.9", .low = 0, .high = 1, .above = true, .below = true, .group = 2},
    {"timeout", 0, "SECONDS",
     "time limit of one call of the sampler (10); a fixture with a slower call is left out",
     FIELD(plan.limits.timeout), .low = 0, .high = 1e6, .above = true, .below = true, .group = 2},
    {"memory", 0, "BYTES", "memory limit of the sampler's process (4G; k, M, G; 0: no limit)",
     .read = read_memory, .group = 2},
    {"watch", 0, NULL,
     "test until a FAIL, with one line per stage; ctrl-C prints the verdict so far. Only a broken "
     "hard rule or the e-value makes a FAIL, not p-values, so the verdict is valid at any time. "
     "With --budget: an ordinary run that also prints these lines",
     FIELD(watch), .group = 2},
    {.help = "Further reports:", .group = 3},
    {"report", 0, "FILE", "the report as JSON", FIELD(report), .group = 3},
    {"junit", 0, "FILE", "the report as JUnit XML, for CI systems", FIELD(junit), .group = 3},
    {"figure", 0, "FILE",
     "draw the failing case or the calibration: .svg, .png, .pdf or .tex; FILE.csv holds its data",
     FIELD(figure), .group = 3},
    {.help = "Instead of a verdict:", .group = 4},
    {"list", 0, NULL, "list fixtures, tests, kinds of samplers and known mistakes", FIELD(list),
     .group = 4},
    {"self-test", 0, NULL,
     "check that each known mistake of real samplers is found; --only names the mistakes",
     FIELD(self_test), .group = 4},
    {"calibrate", 0, "N", "test an exact sampler N times with fresh seeds, and count false alarms",
     FIELD(calibrate), .low = 1, .high = 1e6, .group = 4},
    {"shard", 0, "I/N",
     "with --calibrate: run only tests I, I + N, I + 2N ...; 'speclab merge' joins the parts",
     .read = read_shard, .group = 4},
    {"resume", 0, NULL, "with --shard: keep the finished runs of the output", FIELD(common.resume),
     .group = 4},
    {"check-power", 0, "N",
     "check that a bias of the reported detectable TV is found with the reported power: N runs for "
     "each position and direction; --only names the fixtures; --watch checks endless runs",
     FIELD(check_power), .low = 1, .high = 1e6, .group = 4},
    {"write-trace", 0, "FILE",
     "write a trace of the sampler: --budget tokens (100k) on the fixture of --only (plain-4)",
     FIELD(write_trace), .group = 4},
    {"holds", 0, "WHAT", "with --write-trace: rows, top (3) or logprobs for each token",
     FIELD(holds), .choice = spec_trace_contents_names, .fallback = "rows", .group = 4},
    {0},
};
static const spec_field_relation relations[] = {
    {"list", false, "self-test calibrate check-power write-trace watch", NULL},
    {"self-test", false, "calibrate check-power write-trace watch", NULL},
    {"calibrate", false, "check-power write-trace watch report junit eps", NULL},
    {"write-trace", false, "check-power watch", NULL},
    {"check-power", false, "rows", NULL},
    {"trace", false, "watch calibrate write-trace budget rows dependent-requests", NULL},
    {"rows dependent-requests", false, "self-test write-trace", NULL},
    {"report junit figure", false, "list self-test check-power write-trace",
     ": there is no verdict to report"},
    {"temperature", true, "trace", NULL},
    {"holds", true, "write-trace", NULL},
    {"resume", true, "shard", NULL},
    {"shard", true, "calibrate", NULL},
    {0},
};

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
    if (of == 0) return;
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
    if (args->check_power > 0 && args->plan.seconds > 0.0)
        spec_usage_fail(verb, "--check-power takes no --budget of time");
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

const spec_fields spec_verb_validate_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "test whether a speculative sampler, in any language, is lossless\vSpeculative decoding is "
    "lossless if its text has the same distribution as text of the target model. SAMPLER "
    "verifies drafts (scope V), drafts and verifies (DV), or generates texts (S) with small "
    "synthetic models, the fixtures. validate compares the emitted tokens with the target's "
    "distribution. The report gives the verdict, the false-alarm rate and the smallest "
    "difference that the test detects; for a FAIL it shows the smallest failing case.\n"
    "\n"
    "SAMPLER is one of\n"
    "  ./FILE.so         a shared library, with the functions of speclab/sampler.h\n"
    "  exec:'python3 F'  a program that speaks the protocol, as with --exec\n"
    "  rule:NAME         a verification rule of 'speclab list rules'\n"
    "docs/conformance.md has complete examples.\n"
    "\n"
    "  $ speclab validate rule:block\n"
    "  $ speclab validate ./my_sampler.so --budget 5M --eps 0.05 --junit lossless.xml\n"
    "  $ speclab validate --exec 'python3 my_sampler.py' --budget 20s\n"
    "  $ speclab validate --trace engine.jsonl\n"
    "  $ speclab validate rule:resample-target --budget 1M --figure seen.svg\n"
    "\n"
    "Exit status: 0 PASS, or LOSSY if the sampler declares that; 1 FAIL, or DEPENDENT if each "
    "request is right and requests depend on each other; 2 no verdict: the sampler or the "
    "command fails; 3 INCONCLUSIVE: not enough evidence either way; 130 after ctrl-C.",
    .words = "SAMPLER",
    .word = read_sampler,
    .formats = "table: the report as text; json; csv, markdown or latex: a table of statistics "
               "(table)",
    .output = "write the report to FILE and only the verdict to standard error (FILE.json: "
              "json; FILE.csv: a table of statistics; else text)",
};

void spec_validate_args_parse(spec_validate_args *args, spec_context *context, int argc,
                              char **argv)
{
    *args = (spec_validate_args){.common = SPEC_OPTIONS_DEFAULT(context),
                                 .plan = SPEC_VALIDATE_PLAN_DEFAULT};
    spec_fields_parse(args, &args->common, &spec_verb_validate_options, argc, argv);
    args->budget_given = spec_fields_gave("budget");
    check(args, argv[0]);
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
