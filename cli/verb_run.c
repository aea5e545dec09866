/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/progress.h"
#include "cli/fields.h"
#include "cli/figures/figure.h"
#include "cli/figures/gnuplot.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/progress_reports.h"
#include "cli/share.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "base/names.h"
#include "base/settings.h"
#include "experiments/report/input_digest.h"
#include "experiments/report/report.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 64, MOST_SETS = 64 };

typedef struct {
    spec_options common;
    const char *file[MOST_FILES];
    int n_files;
    const char *set[MOST_SETS + 1];
    int n_sets;
    bool digest;
    uint64_t limit;
    const char *directory;
} arguments;

static void add_set(arguments *args, const char *text, const char *verb)
{
    if (strchr(text, '=') == NULL || text[0] == '=')
        spec_usage_fail(verb, "--set: '%s' is not KEY=VALUE", text);
    if (args->n_sets == MOST_SETS) spec_usage_fail(verb, "--set: more than %d of them", MOST_SETS);
    const size_t key = strcspn(text, "=") + 1;
    for (int i = 0; i < args->n_sets; i++)
        if (strncmp(args->set[i], text, key) == 0)
            spec_usage_fail(verb, "'%.*s' is set twice, as '%s' and as '%s'; give it once",
                            (int)key - 1, text, args->set[i] + key, text + key);
    args->set[args->n_sets++] = text;
}

/* Options that abbreviate --set KEY=VALUE. The text lives as long as the program. */
static void add_short(arguments *args, const char *key, const char *value, const char *verb)
{
    char *text;
    if (asprintf(&text, "%s=%s", key, value) < 0) spec_usage_no_memory(verb);
    add_set(args, text, verb);
}

static void read_set(void *args, const char *text, const char *verb)
{
    add_set(args, text, verb);
}

static void read_rounds(void *args, const char *text, const char *verb)
{
    spec_options_count(verb, "rounds", text, 1, UINT64_MAX);
    add_short(args, "rounds", text, verb);
}

static void read_target(void *args, const char *text, const char *verb)
{
    add_short(args, "target", text, verb);
}

static void read_draft(void *args, const char *text, const char *verb)
{
    add_short(args, "draft", text, verb);
}

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->n_files == MOST_FILES) spec_usage_fail(verb, "more than %d experiments", MOST_FILES);
    args->file[args->n_files++] = word;
}

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"set", 0, "KEY=VALUE",
     "override a number, a grid list or a default of the file, e.g. TEXT=my.txt; NAME:KEY=VALUE "
     "overrides in one of several experiments; may be repeated",
     .read = read_set, .repeats = true},
    {"rounds", 0, "N", "the same as --set rounds=N", .read = read_rounds},
    {"target", 0, "MODEL", "use this target model: the same as --set target=MODEL",
     .read = read_target},
    {"draft", 0, "MODEL", "use this draft model: the same as --set draft=MODEL",
     .read = read_draft},
    {"limit", 0, "N", "maximum number of branches to enumerate (50000000)", FIELD(limit), .low = 1},
    {"digest", 0, NULL,
     "run nothing: print the digest of each experiment's inputs, for its key finding_for",
     FIELD(digest)},
    {"directory", 'd', "DIR",
     "write NAME.csv and NAME.svg for each experiment, and one report.md, into DIR",
     FIELD(directory)},
    {0},
};

static void check(const arguments *args, const char *verb)
{
    if (args->n_files == 0)
        spec_usage_fail(verb, "no experiment is given; 'speclab list experiments' names them");
    if (args->directory != NULL && args->common.output != NULL)
        spec_usage_fail(verb, "--directory and --output cannot be combined");
    if (args->n_files > 1 && args->directory == NULL && !args->digest)
        spec_usage_fail(verb, "several experiments need --directory DIR");
    if (args->common.resume && args->common.output == NULL && args->directory == NULL)
        spec_usage_fail(verb, "--resume needs the output to continue: -o FILE or -d DIR");
    if (args->directory != NULL &&
        (args->common.shard.of > 0 || args->common.batches.of > 0 || args->common.sums != NULL))
        spec_usage_fail(verb, "--directory cannot be combined with --shard, --batches and --sums: "
                              "use -o FILE");
    if (args->common.context->opt_team != NULL && args->directory != NULL)
        spec_usage_fail(verb, "--directory needs speclab; give speclab-mpi -o FILE");
}

/* Finds an experiment file: a path, or the name of one of speclab's own experiments. */
static void find(char *path, size_t size, const char *name, const char *verb)
{
    char relative[PATH_MAX + 32], near[NAME_MAX + 1];
    snprintf(path, size, "%s", name);
    if (strpbrk(name, "/.") != NULL || access(name, F_OK) == 0) return;
    snprintf(relative, sizeof relative, "experiments/cfg/%s.cfg", name);
    if (spec_share_find(path, size, relative) == 0) return;
    if (spec_share_folder(path, size) != 0)
        spec_usage_fail(verb,
                        "'%s' is not a file, and the folder of experiments is missing: set "
                        "SPECLAB_SHARE to the folder that contains experiments/",
                        name);
    if (spec_share_nearest(near, sizeof near, "experiments/cfg", ".cfg", name) == 0)
        spec_usage_fail(verb, "'%s' is neither a file nor an experiment; did you mean '%s'?", name,
                        near);
    spec_usage_fail(
        verb, "'%s' is neither a file nor an experiment; 'speclab list experiments' names them",
        name);
}

/* Collects the overrides for this experiment, without their "NAME:"; NULL-terminated. */
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

/* Adds an option that changes the result to the command in the report. */
static void add_override(spec_experiment *experiment, const char *option, uint64_t value,
                         const char *verb)
{
    char *all;
    if (asprintf(&all, "%s %s %llu", experiment->overrides, option, (unsigned long long)value) < 0)
        spec_usage_no_memory(verb);
    free(experiment->overrides);
    experiment->overrides = all;
}

static void load(spec_experiment *experiment, const char *name, const arguments *args,
                 const char *verb)
{
    char path[PATH_MAX];
    spec_error error = {{0}};
    find(path, sizeof path, name, verb);
    const char *set[MOST_SETS + 1], *slash = strrchr(name, '/'),
                                    *base = slash != NULL ? slash + 1 : name;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".cfg") == 0) length -= 4;
    sets_for(set, base, length, args);
    if (spec_experiment_load(experiment, path, set, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
    if (experiment->missing[0] != '\0')
        spec_usage_fail(verb, "%s needs %s", experiment->name, experiment->missing);
    if (spec_fields_gave("seed")) {
        experiment->seed = args->common.seed;
        add_override(experiment, "--seed", experiment->seed, verb);
    }
    if (args->limit > 0) {
        add_override(experiment, "--limit", args->limit, verb);
        experiment->finding[0] = '\0'; /* the finding assumes the default limit */
    }
    if (spec_figure_check_experiment(experiment, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s: %s", path, error.text);
    if (args->directory != NULL && experiment->figure[0] != '\0' &&
        spec_gnuplot_check(&error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s: %s", path, error.text);
    if (experiment->note[0] != '\0')
        spec_usage_say(verb, "%s: %s", experiment->name, experiment->note);
}

/* Runs one experiment into DIR/NAME.csv and DIR/NAME.svg, and prints their names. Returns the exit
 * code. */
static int run_into(const char *directory, const spec_experiment *experiment, spec_result *result,
                    const arguments *args, const char *verb)
{
    char csv[PATH_MAX], svg[PATH_MAX];
    spec_error error = {{0}};
    if (snprintf(csv, sizeof csv, "%s/%s.csv", directory, experiment->name) >= (int)sizeof csv)
        spec_usage_fail(verb, "--directory: the path is too long");
    snprintf(svg, sizeof svg, "%.*ssvg", (int)strlen(csv) - 3, csv);
    spec_run_options run = {.csv_path = csv,
                            .resume = args->common.resume,
                            .opt_context = args->common.context,
                            .limit = args->limit,
                            .stop = &spec_stop,
                            .progress = spec_progress_reports_points};
    spec_output_say_left_over(csv, verb);
    const int status = spec_experiment_run(result, experiment, &run, &error);
    spec_output_say_kept(csv, result->kept, args->common.force, verb);
    if (status != GSL_SUCCESS) {
        spec_usage_say(verb, "%s: %s", experiment->name, error.text);
        return SPEC_EXIT_USAGE;
    }
    bool drawn = experiment->figure[0] != '\0';
    if (drawn && spec_figure_draw_named(experiment->figure, csv, svg, args->common.force, verb,
                                        &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "%s: %s", experiment->name,
                       spec_stop ? "interrupted before its figure was drawn" : error.text);
        return SPEC_EXIT_USAGE;
    }
    char checks[64] = "no checks";
    const uint64_t checked = result->holds + result->fails;
    spec_progress_clear();
    if (checked > 0)
        snprintf(checks, sizeof checks, "%llu of %llu checks hold",
                 (unsigned long long)result->holds, (unsigned long long)checked);
    fprintf(spec_output_standard(), "%-24s %3zu rows, %s: %s%s%s\n", experiment->name,
            result->table.n_rows, checks, csv, drawn ? ", " : "", drawn ? svg : "");
    fflush(spec_output_standard());
    const int code = spec_options_checked(result, experiment->measure, &error);
    if (code == SPEC_EXIT_UNDECIDED) spec_usage_say(verb, "%s: %s", experiment->name, error.text);
    return code;
}

/* Returns "speclab run 'a b.cfg'", which the caller frees; NULL if memory runs out. */
static char *command_of(const char *file)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    fputs("speclab run ", text.out);
    spec_escape_shell_file(text.out, file);
    return spec_memory_text_take(&text, NULL);
}

static const char *typed_in_file(char typed[64], const void *self, const char *parameter)
{
    (void)self;
    snprintf(typed, 64, "%s = ", parameter);
    return typed;
}

/* Lists the relevant parameters that the experiment does not set. */
static void assume(spec_assumed *ret, const spec_experiment *experiment)
{
    *ret = (spec_assumed){""};
    spec_assumed_add_measure(ret, experiment->measure, &experiment->grid, typed_in_file, NULL);
}

static int write_report(const spec_experiment *experiment, const spec_result *result, int n,
                        const arguments *args, const char *verb, spec_error *error)
{
    char path[PATH_MAX], *command[MOST_FILES];
    spec_output output = {.out = NULL};
    int status = GSL_SUCCESS;
    const spec_experiment *experiments[MOST_FILES];
    const spec_result *results[MOST_FILES];
    for (int i = 0; i < n; i++) {
        experiments[i] = &experiment[i];
        results[i] = &result[i];
        if ((command[i] = command_of(args->file[i])) == NULL) status = spec_no_memory(error);
    }
    SPEC_TRY(status);
    spec_report_options options = SPEC_REPORT_DEFAULT;
    options.folder = args->directory;
    options.command = (const char *const *)command;
    options.opt_share = args->common.context->opt_share;
    snprintf(path, sizeof path, "%s/report.md", args->directory);
    SPEC_TRY(spec_output_open(&output, path, verb, error));
    SPEC_TRY(spec_output_check(
        &output, spec_report_write(output.out, experiments, results, n, &options, error), error));
    SPEC_TRY(spec_output_close(&output, args->common.force, verb, error));
    spec_progress_clear();
    fprintf(spec_output_standard(), "%-24s %s\n", "report", path);
done:
    spec_output_discard(&output);
    for (int i = 0; i < n; i++) free(command[i]);
    return status;
}

/* Checks that every --set NAME:KEY=VALUE names an experiment of this run, and that no two
 * experiments write the same file. */
static void check_names(const spec_experiment *experiment, const arguments *args, const char *verb)
{
    const char *names[MOST_FILES + 1] = {NULL};
    for (int i = 0; i < args->n_files; i++) {
        names[i] = experiment[i].name;
        for (int j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                spec_usage_fail(verb, "two experiments are named '%s'", names[i]);
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

/* Ranks an exit code: the larger, the worse. */
static int severity(int code)
{
    static const int rank[] = {[SPEC_EXIT_HOLDS] = 0,
                               [SPEC_EXIT_UNDECIDED] = 1,
                               [SPEC_EXIT_FAILS] = 2,
                               [SPEC_EXIT_USAGE] = 3};
    return rank[code];
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

    int worst = SPEC_EXIT_HOLDS, done = 0;
    while (done < args->n_files) {
        const int code = run_into(args->directory, &experiment[done], &result[done], args, verb);
        if (severity(code) > severity(worst)) worst = code;
        if (severity(code) >= severity(SPEC_EXIT_USAGE))
            break; /* an interrupted result is in its file but not in the report */
        done++;
    }
    spec_error error;
    if (write_report(experiment, result, done, args, verb, &error) != GSL_SUCCESS &&
        worst != SPEC_EXIT_USAGE) { /* only the first failure is reported */
        spec_usage_say(verb, "%s", error.text);
        worst = SPEC_EXIT_USAGE;
    }
    for (int i = 0; i < args->n_files; i++) {
        spec_result_free(&result[i]);
        spec_experiment_free(&experiment[i]);
    }
    return worst;
}

/* Prints "block 9f3c1b2a77e0d4c5+01ab23cd45ef6789" for each experiment. */
static int print_digests(const arguments *args, const char *verb)
{
    for (int i = 0; i < args->n_files; i++) {
        spec_experiment experiment = {0};
        spec_error error = {{0}};
        char digest[SPEC_INPUT_DIGEST_SIZE];
        load(&experiment, args->file[i], args, verb);
        if (spec_input_digest(digest, &experiment, args->common.context->opt_share, &error) !=
            GSL_SUCCESS)
            spec_usage_fail(verb, "%s: %s", experiment.name, error.text);
        fprintf(spec_output_standard(), "%s %s\n", experiment.name, digest);
        spec_experiment_free(&experiment);
    }
    return SPEC_EXIT_HOLDS;
}

/* Prints what an experiment asks and how to change it, and ends the program. */
__attribute__((noreturn)) static void help_on(const char *name, const char *verb)
{
    const int columns = spec_page_columns(STDOUT_FILENO);
    char path[PATH_MAX];
    spec_experiment experiment = {0};
    spec_error error = {{0}};
    FILE *out = spec_output_standard();
    find(path, sizeof path, name, verb);
    if (spec_experiment_load(&experiment, path, NULL, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
    const struct {
        const char *begin, *text;
    } part[] = {{"", experiment.title},          {"Question: ", experiment.question},
                {"Method: ", experiment.theory}, {"Finding: ", experiment.finding},
                {"Time: ", experiment.time},     {"Needs ", experiment.missing},
                {"Figure: ", experiment.figure}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        char *line;
        if (part[i].text[0] == '\0') continue;
        if (asprintf(&line, "%s%s", part[i].begin, part[i].text) < 0) spec_usage_no_memory(verb);
        spec_escape_in_place(line);
        spec_page_write(line, columns, out);
        fputs("\n\n", out);
        free(line);
    }
    fprintf(out,
            "Its measure is %s (docs/formats.md#measures). --set KEY=VALUE replaces what its grid "
            "has:\n\n",
            experiment.measure != NULL ? experiment.measure->name : "open");
    for (int a = 0; a < experiment.grid.n_axes; a++) {
        const spec_axis *axis = &experiment.grid.axis[a];
        char *line;
        if (asprintf(&line, "    %s = %s%s", axis->name, axis->value[0],
                     axis->n > 1 ? ", ..." : "") < 0)
            spec_usage_no_memory(verb);
        spec_escape_in_place(line);
        fprintf(out, "%s\n", line);
        free(line);
    }
    fputs("\n    $ speclab run ", out);
    spec_escape_shell_file(out, name);
    fputs(" -o ", out);
    spec_escape_shell_file(out, experiment.name);
    fputs(".csv\n", out);
    spec_experiment_free(&experiment);
    if (fflush(out) != 0) spec_usage_fail(verb, "standard output: %s", strerror(errno));
    exit(SPEC_EXIT_HOLDS);
}

const spec_fields spec_verb_run_options = {
    .fields = fields,
    .doc =
    "run an experiment file\vNAME is one of speclab's own experiments ('speclab list "
    "experiments'; 'speclab run NAME --help' describes it). With -o FILE.csv each row is written "
    "when it is finished: if the run is killed, --resume continues it, and the file ends up the "
    "same, byte for byte, as after an uninterrupted run. docs/formats.md describes experiment "
    "files.\n"
    "\n"
    "  $ speclab run speedup_table -o speedup.csv\n"
    "  $ speclab run real_text --set TEXT=novel.txt --rounds 20000\n"
    "  $ speclab run -d out prove temperature",
    .grid = true,
    .words = "FILE.cfg|NAME...",
    .word = take,
};

int spec_verb_run(spec_context *context, int argc, char **argv)
{
    static arguments args = {.common = {.seed = 42}};
    args.common.context = context;
    /* `run NAME --help` is about the experiment. */
    if (argc == 3 && argv[1][0] != '-' && strcmp(argv[2], "--help") == 0) help_on(argv[1], argv[0]);
    spec_fields_parse(&args, &args.common, &spec_verb_run_options, argc, argv);
    check(&args, argv[0]);

    if (args.digest) return print_digests(&args, argv[0]);
    if (args.directory != NULL) return run_directory(&args, argv[0]);
    spec_experiment experiment = {0};
    load(&experiment, args.file[0], &args, argv[0]);
    check_names(&experiment, &args, argv[0]);
    spec_options options = args.common;
    options.seed = experiment.seed;
    spec_assumed assumed;
    assume(&assumed, &experiment);
    const spec_options_plan plan = {.limit = args.limit, .opt_assumed = &assumed};
    spec_error error;
    const int code = spec_options_run(&experiment, &options, &plan, argv[0], &error);
    if (error.text[0] != '\0') spec_usage_say(argv[0], "%s: %s", args.file[0], error.text);
    spec_experiment_free(&experiment);
    return code;
}
