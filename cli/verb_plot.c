#include "cli/figures/figure.h"
#include "cli/options.h"
#include "cli/verb.h"

#include <limits.h>
#include <string.h>

static const struct argp_option options_table[] = {
    {"output", 'o', "FILE", 0, "the figure: .svg, .png or .pdf (the result's name with .svg)", 1},
    {"figure", 'F', "NAME", 0, "the script plots/NAME.gp, instead of the one the result asks for", 1},
    {0},
};

typedef struct {
    const char *csv, *output, *figure;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case 'o': args->output = arg; return 0;
    case 'F': args->figure = arg; return 0;
    case ARGP_KEY_ARG:
        if (args->csv != NULL) spec_usage_fail(state->name, "one result at a time; '%s' is a second", arg);
        args->csv = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        spec_usage_fail(state->name, "which result? give a CSV file that 'speclab run -o FILE' wrote");
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* "dir/result.csv" -> "dir/result.svg" */
static void default_output(char *path, size_t size, const char *csv)
{
    size_t length = strlen(csv);
    if (length > 4 && strcmp(csv + length - 4, ".csv") == 0) length -= 4;
    snprintf(path, size, "%.*s.svg", (int)length, csv);
}

int spec_verb_plot(int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_usage_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table, parse, "FILE.csv",
        "draw the figure of a result\v"
        "The result names its script in its provenance; scripts are plots/*.gp, and read CSV and nothing else.",
        children, NULL, NULL};
    arguments args = {0};
    spec_usage_parse(&argp, argc, argv, &args);

    spec_error error = {{0}};
    char output[PATH_MAX], name[NAME_MAX];
    default_output(output, sizeof output, args.csv);
    if (args.output != NULL) snprintf(output, sizeof output, "%s", args.output);
    if (spec_figure_check_ending(output, &error) != GSL_SUCCESS) spec_usage_fail(argv[0], "-o %s", error.text);
    if (spec_figure_name(name, sizeof name, args.csv, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    if (args.figure != NULL) snprintf(name, sizeof name, "%s", args.figure);
    if (name[0] == '\0')
        spec_usage_fail(argv[0], "%s names no figure in its '# figure:' line; choose one with --figure", args.csv);
    if (strchr(name, '/') != NULL) spec_usage_fail(argv[0], "--figure %s: a name, not a path", name);
    if (spec_figure_draw(name, args.csv, output, &error) != GSL_SUCCESS) spec_usage_fail(argv[0], "%s", error.text);
    printf("%s\n", output);
    return SPEC_EXIT_HOLDS;
}
