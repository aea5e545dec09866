#include "cli/figures/figure.h"
#include "cli/grid_verb.h"
#include "cli/verb.h"

#include "base/settings.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_ACCEPT = 0x6001, KEY_ACCURACIES, KEY_TARGET, KEY_DRAFT, KEY_SIBLINGS, KEY_DEPTH, KEY_VERIFY, KEY_METHODS,
    KEY_WIDTH, KEY_POSITIONS, KEY_ROUNDS, KEY_FIGURE
};

static const struct argp_option options_table[] = {
    {0, 0, 0, 0, "What is known of the draft, one of the three:", 1},
    {"accept", KEY_ACCEPT, "LIST", 0,
     "the chance that a node's first child is accepted, that its second one is, and so on (0.7,0.12,0.05,0.03)", 1},
    {"accuracies", KEY_ACCURACIES, "FILE", 0,
     "a CSV of Medusa's heads: a row for each head, a column for the accuracy of each rank", 1},
    {"target", KEY_TARGET, "SPEC", 0, "a target model; with --draft, the chances are computed or measured", 1},
    {"draft", KEY_DRAFT, "SPEC", 0, "its draft model", 1},
    {0, 0, 0, 0, "What is planned:", 2},
    {"nodes", 'n', "LIST", 0, "budgets: the most draft tokens of a tree (1,2,4,8,16,32,64)", 2},
    {"depth", KEY_DEPTH, "N", 0, "the most levels of a tree (16)", 2},
    {"c", 'c', "C", 0, "draft call over target call, in time; 0: the most tokens a round, whatever the depth (0.1)", 2},
    {"verify", KEY_VERIFY, "FILE", 0,
     "a CSV of columns nodes and time: what verification costs, in target calls (always 1)", 2},
    {"methods", KEY_METHODS, "LIST", 0,
     "chain, k-ary, branches, delayed, sequoia, medusa, dynamic (all that apply)", 2},
    {0, 0, 0, 0, "With a target and a draft:", 3},
    {"siblings", KEY_SIBLINGS, "NAME", 0, "how the children of a node are drawn: without, iid or top (without)", 3},
    {"rule", 'r', "NAME", 0, "how they are verified (rrsw, rrs or match, by the siblings)", 3},
    {"width", KEY_WIDTH, "N", 0, "children of a node that are looked at (8)", 3},
    {"positions", KEY_POSITIONS, "N", 0, "places of the target's text at which the chances are measured (20000)", 3},
    {"rounds", KEY_ROUNDS, "N", 0, "simulate every tree for so many rounds (0: do not)", 3},
    {0, 0, 0, 0, "", 4},
    {"figure", KEY_FIGURE, "FILE", 0, "draw it: .svg, .png or .pdf; needs -o FILE.csv", 4},
    {0},
};

typedef struct {
    spec_options common;
    const char *accept, *accuracies, *target, *draft, *siblings, *rule, *width, *positions;
    const char *nodes, *depth, *c, *verify, *methods, *figure;
    uint64_t rounds;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_ACCEPT: args->accept = arg; return 0;
    case KEY_ACCURACIES: args->accuracies = arg; return 0;
    case KEY_TARGET: args->target = arg; return 0;
    case KEY_DRAFT: args->draft = arg; return 0;
    case 'n': args->nodes = arg; return 0;
    case KEY_DEPTH: args->depth = arg; return 0;
    case 'c': args->c = arg; return 0;
    case KEY_VERIFY: args->verify = arg; return 0;
    case KEY_METHODS: args->methods = arg; return 0;
    case KEY_SIBLINGS: args->siblings = arg; return 0;
    case 'r': args->rule = arg; return 0;
    case KEY_WIDTH: args->width = arg; return 0;
    case KEY_POSITIONS: args->positions = arg; return 0;
    case KEY_FIGURE: args->figure = arg; return 0;
    case KEY_ROUNDS:
        if (!spec_settings_parse_u64(&args->rounds, arg))
            spec_usage_fail(state->name, "--rounds: '%s' is not a whole number", arg);
        return 0;
    case ARGP_KEY_ARG: spec_usage_fail(state->name, "what is '%s'? every argument is an option; see --help", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool is(const char *opt_name, const char *name)
{
    return opt_name != NULL && strcmp(opt_name, name) == 0;
}

/* Siblings and rule go together: each stands for the other where it is alone. */
static void complete(arguments *args)
{
    if (args->siblings == NULL) {
        if (args->rule == NULL) args->siblings = args->accuracies != NULL ? "top" : "without";
        else if (is(args->rule, "rrs") || is(args->rule, "naive-tree")) args->siblings = "iid";
        else args->siblings = is(args->rule, "rrsw") ? "without" : "top";
    }
    if (args->rule == NULL)
        args->rule = is(args->siblings, "iid") ? "rrs" : is(args->siblings, "without") ? "rrsw" : "match";
    if (args->methods != NULL) return;
    if (args->accuracies != NULL) args->methods = "chain,k-ary,branches,delayed,medusa";
    else if (args->target != NULL && args->rounds > 0 && is(args->siblings, "top"))
        args->methods = "chain,k-ary,branches,delayed,sequoia,dynamic";
    else args->methods = "chain,k-ary,branches,delayed,sequoia";
}

/* "1,2,3" for "1:3:1": budgets are one value of the grid. The caller frees. */
static char *budgets(const char *list, const char *verb)
{
    spec_grid grid = {0};
    char *text = NULL;
    size_t size = 0;
    spec_options_numbers(&grid, verb, "nodes", list);
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) spec_usage_fail(verb, "out of memory");
    for (int i = 0; i < grid.axis[0].n; i++) fprintf(out, "%s%s", i > 0 ? "," : "", grid.axis[0].value[i]);
    if (fclose(out) != 0) spec_usage_fail(verb, "out of memory");
    spec_grid_free(&grid);
    return text;
}

static void check(const arguments *args, const char *verb)
{
    if ((args->accept != NULL) + (args->accuracies != NULL) + (args->target != NULL) > 1)
        spec_usage_fail(verb, "--accept, --accuracies and --target exclude each other: one tells the chances");
    if ((args->target != NULL) != (args->draft != NULL)) spec_usage_fail(verb, "--target and --draft go together");
    if (args->target == NULL && (args->rounds > 0 || args->positions != NULL || args->width != NULL))
        spec_usage_fail(verb, "--rounds, --positions and --width need a --target and a --draft");
    spec_error error = {{0}};
    if (args->figure != NULL && spec_figure_check_ending(args->figure, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--figure %s", error.text);
    const char *ending = args->common.output != NULL ? strrchr(args->common.output, '.') : NULL;
    if (args->figure != NULL && !is(ending, ".csv"))
        spec_usage_fail(verb, "--figure is drawn from the result: give -o FILE.csv as well");
    if (args->figure != NULL && args->common.format_given && args->common.format != SPEC_FORMAT_CSV)
        spec_usage_fail(verb, "--figure is drawn from a result in csv: leave --format out");
}

int spec_verb_plan(int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table, parse, NULL,
        "the best draft tree for a budget of nodes, beside chains and k-ary trees\v"
        "A tree of draft tokens is verified in one target call. Each row is the fastest tree that a method finds: "
        "emitted is the expected number of tokens a round, speedup that number over the time of a round, depth times c "
        "plus the cost of verification. sequoia and medusa plan the tree; chain, k-ary (k children a node), branches "
        "(chains from the root) and delayed (a trunk, then branches) are the fastest of their form, and dynamic, "
        "EAGLE-2's tree, is simulated. The column drafting is ready for --drafting of other verbs. "
        "The plan assumes that the chances do not depend on the place in the text; --rounds simulates what comes of "
        "it.\n\n"
        "  $ speclab plan --accept 0.7,0.12,0.05 --nodes 16 --c 0.05\n"
        "  $ speclab plan --accept 0.7,0.12 -o plan.csv --figure plan.svg",
        children, NULL, NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT, .nodes = "1,2,4,8,16,32,64"};
    spec_usage_parse(&argp, argc, argv, &args);
    check(&args, argv[0]);
    complete(&args);
    if (args.accept == NULL && args.accuracies == NULL && args.target == NULL) args.accept = "0.7,0.12,0.05,0.03";

    char *nodes = budgets(args.nodes, argv[0]);
    /* Lists of one point: the measure gives a row for each method and budget, from one measurement of the chances. */
    const spec_verb_axis axis[] = {
        {"accept", SPEC_AXIS_LINES, args.accept},
        {"accuracies", SPEC_AXIS_LINES, args.accuracies},
        {"target", SPEC_AXIS_LINES, args.target},
        {"draft", SPEC_AXIS_LINES, args.draft},
        {"siblings", SPEC_AXIS_LINES, args.siblings},
        {"rule", SPEC_AXIS_LINES, args.rule},
        {"width", SPEC_AXIS_LINES, args.width},
        {"positions", SPEC_AXIS_LINES, args.positions},
        {"methods", SPEC_AXIS_LINES, args.methods},
        {"nodes", SPEC_AXIS_LINES, nodes},
        {"depth", SPEC_AXIS_LINES, args.depth},
        {"c", SPEC_AXIS_LINES, args.c},
        {"verify", SPEC_AXIS_LINES, args.verify},
    };
    char show[160];
    snprintf(show, sizeof show, "method,budget,tree_nodes,tree_depth,emitted,speedup,%s%sdrafting",
             args.rounds > 0 ? "simulated,simulated_se,simulated_z," : "", args.target != NULL ? "by_rank," : "");
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "plan",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
        .show = show,
        .figure = strchr(nodes, ',') != NULL ? "plan" : "tree",
        .rounds = args.rounds,
    };
    const int code = spec_grid_verb_run(&verb, &args.common);
    free(nodes);
    if (args.figure == NULL || (code != SPEC_EXIT_HOLDS && code != SPEC_EXIT_FAILS)) return code;
    spec_error error = {{0}};
    if (spec_figure_draw(verb.figure, args.common.output, args.figure, &error) == GSL_SUCCESS) return code;
    spec_usage_fail(argv[0], "%s", error.text);
}
