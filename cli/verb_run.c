#include "cli/figures/figure.h"
#include "cli/options.h"
#include "cli/share.h"
#include "cli/verb.h"

#include "experiments/report/report.h"
#include "base/names.h"
#include "base/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_SET = 0x5001, KEY_RESUME, KEY_ROUNDS, KEY_LIMIT, MOST_FILES = 64, MOST_SETS = 64 };

static const struct argp_option options_table[] = {
    {"set", KEY_SET, "KEY=VALUE", 0,
     "override a number, a grid list or a default of the file, e.g. TEXT=my.txt; of one among several: NAME:KEY=VALUE",
     1},
    {"rounds", KEY_ROUNDS, "N", 0, "the same as --set rounds=N", 1},
    {"resume", KEY_RESUME, NULL, 0, "keep the finished rows of the output, and go on", 1},
    {"limit", KEY_LIMIT, "N", 0, "most branches of an enumeration (50000000)", 1},
    {"directory", 'd', "DIR", 0, "write NAME.csv and NAME.svg of each experiment, and one report.md, into DIR", 1},
    {0},
};

typedef struct {
    spec_options common;
    const char *file[MOST_FILES];
    int n_files;
    const char *set[MOST_SETS + 1];
    int n_sets;
    char rounds[64];
    bool resume;
    uint64_t limit;
    const char *directory;
} arguments;

static void add_set(arguments *args, const char *text, const char *verb)
{
    if (strchr(text, '=') == NULL || text[0] == '=') spec_usage_fail(verb, "--set: '%s' is not KEY=VALUE", text);
    if (args->n_sets == MOST_SETS) spec_usage_fail(verb, "--set: more than %d of them", MOST_SETS);
    args->set[args->n_sets++] = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    uint64_t number = 0;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_SET: add_set(args, arg, state->name); return 0;
    case KEY_ROUNDS:
        if (!spec_settings_parse_u64(&number, arg) || number == 0)
            spec_usage_fail(state->name, "--rounds: '%s' is not a whole number above 0", arg);
        snprintf(args->rounds, sizeof args->rounds, "rounds=%s", arg);
        add_set(args, args->rounds, state->name);
        return 0;
    case KEY_RESUME: args->resume = true; return 0;
    case KEY_LIMIT:
        if (!spec_settings_parse_u64(&args->limit, arg) || args->limit == 0)
            spec_usage_fail(state->name, "--limit: '%s' is not a whole number above 0", arg);
        return 0;
    case 'd': args->directory = arg; return 0;
    case ARGP_KEY_ARG:
        if (args->n_files == MOST_FILES) spec_usage_fail(state->name, "more than %d experiments", MOST_FILES);
        args->file[args->n_files++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: spec_usage_fail(state->name, "which experiment? 'speclab list experiments' names them");
    case ARGP_KEY_END:
        if (args->directory != NULL && args->common.output != NULL)
            spec_usage_fail(state->name, "--directory and --output exclude each other");
        if (args->n_files > 1 && args->directory == NULL)
            spec_usage_fail(state->name, "several experiments need --directory DIR");
        if (args->resume && args->common.output == NULL && args->directory == NULL)
            spec_usage_fail(state->name, "--resume needs the output to go on with: -o FILE or -d DIR");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* A path as given, or the name of one of speclab's own experiments. */
static void find(char *path, size_t size, const char *name, const char *verb)
{
    char relative[PATH_MAX + 32], near[NAME_MAX + 1];
    snprintf(path, size, "%s", name);
    if (strpbrk(name, "/.") != NULL || access(name, F_OK) == 0) return;
    snprintf(relative, sizeof relative, "experiments/%s.cfg", name);
    if (spec_share_find(path, size, relative) == 0) return;
    if (spec_share_folder(path, size) != 0)
        spec_usage_fail(verb,
                        "'%s' is no file, and there is no folder of experiments: SPECLAB_SHARE is to name the one with "
                        "experiments/ in it",
                        name);
    if (spec_share_nearest(near, sizeof near, "experiments", ".cfg", name) == 0)
        spec_usage_fail(verb, "'%s' is neither a file nor an experiment; did you mean '%s'?", name, near);
    spec_usage_fail(verb, "'%s' is neither a file nor an experiment; 'speclab list experiments' names them", name);
}

/* The overrides that are meant for this experiment, without their "NAME:"; NULL-terminated. */
static void sets_for(const char **ret_set, const char *name, size_t length, const arguments *args)
{
    int n = 0;
    for (int i = 0; i < args->n_sets; i++) {
        const char *text = args->set[i], *colon = strchr(text, ':');
        bool named = colon != NULL && colon < strchr(text, '=');
        if (!named)
            ret_set[n++] = text;
        else if ((size_t)(colon - text) == length && strncmp(text, name, length) == 0)
            ret_set[n++] = colon + 1;
    }
    ret_set[n] = NULL;
}

static void load(spec_experiment *experiment, const char *name, const arguments *args, const char *verb)
{
    char path[PATH_MAX];
    spec_error error = {{0}};
    find(path, sizeof path, name, verb);
    const char *set[MOST_SETS + 1], *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".cfg") == 0) length -= 4;
    sets_for(set, base, length, args);
    if (spec_experiment_load(experiment, path, set, &error) != GSL_SUCCESS) spec_usage_fail(verb, "%s", error.text);
    if (args->common.seed_given) experiment->seed = args->common.seed;
}

/* Run one experiment into DIR/NAME.csv and DIR/NAME.svg. Returns the exit code; says what it made. */
static int run_into(const char *directory, const spec_experiment *experiment, spec_result *result,
                    const arguments *args, const char *verb)
{
    char csv[PATH_MAX], svg[PATH_MAX];
    spec_error error = {{0}};
    if (snprintf(csv, sizeof csv, "%s/%s.csv", directory, experiment->name) >= (int)sizeof csv)
        spec_usage_fail(verb, "--directory: the path is too long");
    snprintf(svg, sizeof svg, "%.*ssvg", (int)strlen(csv) - 3, csv);
    spec_run_options run = {.csv_path = csv,
                            .resume = args->resume,
                            .threads = args->common.threads,
                            .limit = args->limit,
                            .stop = &spec_options_stop};
    if (spec_experiment_run(result, experiment, &run, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "%s: %s", experiment->name, error.text);
        return spec_options_stop ? SPEC_EXIT_INTERRUPTED : SPEC_EXIT_USAGE;
    }
    bool drawn = experiment->figure[0] != '\0';
    if (drawn && spec_figure_draw(experiment->figure, csv, svg, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "%s: %s", experiment->name,
                       spec_options_stop ? "interrupted before its figure was drawn" : error.text);
        return spec_options_stop ? SPEC_EXIT_INTERRUPTED : SPEC_EXIT_USAGE;
    }
    char checks[64] = "no checks";
    const uint64_t checked = result->holds + result->fails;
    if (checked > 0)
        snprintf(checks, sizeof checks, "%llu of %llu checks hold", (unsigned long long)result->holds,
                 (unsigned long long)checked);
    printf("%-24s %3zu rows, %s: %s%s%s\n", experiment->name, result->table.n_rows, checks, csv, drawn ? ", " : "",
           drawn ? svg : "");
    fflush(stdout);
    return result->fails > 0 ? SPEC_EXIT_FAILS : SPEC_EXIT_HOLDS;
}

static int write_report(const char *directory, const spec_experiment *experiment, const spec_result *result, int n,
                        const char *verb)
{
    char path[PATH_MAX];
    spec_error error = {{0}};
    const spec_experiment *experiments[MOST_FILES];
    const spec_result *results[MOST_FILES];
    for (int i = 0; i < n; i++) {
        experiments[i] = &experiment[i];
        results[i] = &result[i];
    }
    spec_report_options options = SPEC_REPORT_DEFAULT;
    options.folder = directory;
    snprintf(path, sizeof path, "%s/report.md", directory);
    FILE *out = fopen(path, "w");
    int status = out == NULL ? spec_fail(&error, GSL_EFAILED, "%s", strerror(errno))
                             : spec_report_write(out, experiments, results, n, &options, &error);
    if (out != NULL && fclose(out) != 0 && status == GSL_SUCCESS)
        status = spec_fail(&error, GSL_EFAILED, "%s", strerror(errno));
    if (status != GSL_SUCCESS) {
        spec_usage_say(verb, "%s: %s", path, error.text);
        return SPEC_EXIT_USAGE;
    }
    printf("%-24s %s\n", "report", path);
    return SPEC_EXIT_HOLDS;
}

/* Every --set NAME:KEY=VALUE names an experiment of this run, and no two experiments would write the same file. */
static void check_names(const spec_experiment *experiment, const arguments *args, const char *verb)
{
    const char *names[MOST_FILES + 1] = {NULL};
    for (int i = 0; i < args->n_files; i++) {
        names[i] = experiment[i].name;
        for (int j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0) spec_usage_fail(verb, "two experiments are named '%s'", names[i]);
    }
    for (int i = 0; i < args->n_sets; i++) {
        const char *colon = strchr(args->set[i], ':'), *equals = strchr(args->set[i], '=');
        if (colon == NULL || colon > equals) continue;
        bool known = false;
        char name[NAME_MAX + 1], near[SPEC_NAMES_MEANT_SIZE];
        snprintf(name, sizeof name, "%.*s", (int)(colon - args->set[i]), args->set[i]);
        for (int j = 0; names[j] != NULL; j++) known = known || strcmp(name, names[j]) == 0;
        if (known) continue;
        spec_usage_fail(verb, "--set %s: no experiment here is named '%s'%s", args->set[i], name,
                        spec_names_meant(near, name, names, ""));
    }
}

static int run_directory(const arguments *args, const char *verb)
{
    static spec_experiment experiment[MOST_FILES]; /* too large for a stack */
    static spec_result result[MOST_FILES];
    for (int i = 0; i < args->n_files; i++) load(&experiment[i], args->file[i], args, verb);
    check_names(experiment, args, verb);
    struct stat info;
    if (mkdir(args->directory, 0777) != 0 && (errno != EEXIST || stat(args->directory, &info) != 0))
        spec_usage_fail(verb, "--directory: %s: %s", args->directory, strerror(errno));
    if (stat(args->directory, &info) == 0 && !S_ISDIR(info.st_mode))
        spec_usage_fail(verb, "--directory: %s: %s", args->directory, strerror(ENOTDIR));
    spec_options_catch_interrupts();

    int worst = SPEC_EXIT_HOLDS, done = 0;
    while (done < args->n_files && worst <= SPEC_EXIT_FAILS) {
        int code = run_into(args->directory, &experiment[done], &result[done], args, verb);
        if (code > worst) worst = code;
        done += code <= SPEC_EXIT_FAILS; /* rows that were cut short are in their file, not in the report */
    }
    int code = write_report(args->directory, experiment, result, done, verb);
    for (int i = 0; i < args->n_files; i++) {
        spec_result_free(&result[i]);
        spec_experiment_free(&experiment[i]);
    }
    return code > worst ? code : worst;
}

int spec_verb_run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table, parse, "FILE.cfg|NAME...",
        "run an experiment file\v"
        "NAME is one of speclab's own experiments ('speclab list experiments'). With -o FILE.csv rows are written as "
        "they come: after a kill, "
        "--resume goes on to the same bytes as an uninterrupted run. docs/formats.md describes the file.",
        children, NULL, NULL};
    static arguments args = {.common = {.seed = 42}};
    spec_usage_parse(&argp, argc, argv, &args);

    if (args.directory != NULL) return run_directory(&args, argv[0]);
    spec_experiment experiment = {0};
    load(&experiment, args.file[0], &args, argv[0]);
    check_names(&experiment, &args, argv[0]);
    spec_options options = args.common;
    options.seed = experiment.seed;
    const spec_options_plan plan = {.resume = args.resume, .limit = args.limit};
    spec_error error;
    const int code = spec_options_run(&experiment, &options, &plan, argv[0], &error);
    if (error.text[0] != '\0') spec_usage_say(argv[0], "%s: %s", args.file[0], error.text);
    spec_experiment_free(&experiment);
    return code;
}
