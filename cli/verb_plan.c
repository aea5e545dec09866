/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/costs_option.h"
#include "cli/figure_option.h"
#include "cli/grid_verb.h"
#include "cli/pair_size.h"
#include "cli/verb.h"

#include "base/memory_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_options common;
    const char *accept, *accuracies, *target, *draft, *siblings, *rule, *width, *positions;
    const char *nodes, *depth, *c, *costs, *methods, *figure;
    uint64_t rounds;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const char default_accept[] = "0.7,0.12,0.05,0.03";
static const spec_field fields[] = {
    {.help = "The draft, given in one of three ways:"},
    {"accept", 0, "LIST",
     "acceptance probability of a node's first child, of its second child, and so on "
     "(0.7,0.12,0.05,0.03)",
     FIELD(accept), .axis = SPEC_AXIS_LINES},
    {"accuracies", 0, "FILE",
     "a CSV of Medusa head accuracies: one row per head, one column per rank", FIELD(accuracies),
     .axis = SPEC_AXIS_LINES},
    {"target", 0, "SPEC",
     "the target model; with --draft, speclab computes or measures the acceptance probabilities",
     FIELD(target), .axis = SPEC_AXIS_LINES},
    {"draft", 0, "SPEC", "the draft model", FIELD(draft), .axis = SPEC_AXIS_LINES},
    {.help = "With a target and a draft:", .group = 3},
    {"siblings", 0, "NAME",
     "how the children of a node are drawn: without (replacement), iid or top (without)",
     FIELD(siblings), .axis = SPEC_AXIS_LINES, .group = 3},
    {"rule", 'r', "NAME",
     "verification rule, see 'speclab list rules' (rrsw, rrs or match, to suit --siblings)",
     FIELD(rule), .axis = SPEC_AXIS_LINES, .group = 3},
    {"width", 0, "N", "largest number of children per node (8)", FIELD(width),
     .axis = SPEC_AXIS_LINES, .group = 3},
    {"positions", 0, "N",
     "positions of the target's text at which acceptance is measured (20000; fewer for large "
     "transformers)",
     FIELD(positions), .axis = SPEC_AXIS_LINES, .group = 3},
    {"rounds", 0, "N", "simulate every tree for N rounds (0: no simulation)", FIELD(rounds),
     .group = 3},
    {.help = "The trees:", .group = 2},
    {"methods", 0, "LIST",
     "chain, k-ary, branches, delayed, sequoia, medusa, dynamic (all that apply)", FIELD(methods),
     .axis = SPEC_AXIS_LINES, .group = 2},
    {"nodes", 'n', "LIST",
     "largest number of draft tokens in a tree (1,2,4,8,16,32,64, up to the largest pass of "
     "--costs)",
     FIELD(nodes), .axis = SPEC_AXIS_LINES, .group = 2},
    {"depth", 0, "N", "largest depth of a tree (16)", FIELD(depth), .axis = SPEC_AXIS_LINES,
     .group = 2},
    {"c", 'c', "C",
     "time of a draft call, in target calls; 0 maximizes tokens per round at any depth (measured "
     "by --costs; for two transformers the ratio of their weights; else 0.1)",
     FIELD(c), .axis = SPEC_AXIS_LINES, .group = 2},
    {"costs", 0, "FILE", SPEC_COSTS_OPTION_HELP ": every pass takes 1 (none)", FIELD(costs),
     .axis = SPEC_AXIS_LINES, .group = 2},
    {.help = "", .group = 4},
    {.help = "The result:", .group = 4},
    {"figure", 0, "FILE", SPEC_FIGURE_OPTION_HELP, FIELD(figure), .group = 4},
    {0},
};
#define ONE_IS_GIVEN ": each of them gives the acceptance probabilities"
static const spec_field_relation relations[] = {
    {"accept", false, "accuracies target", ONE_IS_GIVEN},
    {"accuracies", false, "target", ONE_IS_GIVEN},
    {"target", true, "draft", NULL},
    {"draft rounds positions width", true, "target", NULL},
    {0},
};

static bool is(const char *opt_name, const char *name)
{
    return opt_name != NULL && strcmp(opt_name, name) == 0;
}

/* Chooses siblings to suit the rule, or a rule to suit the siblings, if one is missing. */
static void complete(arguments *args)
{
    if (args->siblings == NULL) {
        if (args->rule == NULL) args->siblings = args->accuracies != NULL ? "top" : "without";
        else if (is(args->rule, "rrs") || is(args->rule, "naive-tree")) args->siblings = "iid";
        else args->siblings = is(args->rule, "rrsw") ? "without" : "top";
    }
    if (args->rule == NULL)
        args->rule = is(args->siblings, "iid")       ? "rrs"
                     : is(args->siblings, "without") ? "rrsw"
                                                     : "match";
    if (args->methods != NULL) return;
    if (args->accuracies != NULL) args->methods = "chain,k-ary,branches,delayed,medusa";
    else if (args->target != NULL && args->rounds > 0 && is(args->siblings, "top"))
        args->methods = "chain,k-ary,branches,delayed,sequoia,dynamic";
    else args->methods = "chain,k-ary,branches,delayed,sequoia";
}

/* Writes "1:3:1" as "1,2,3", because all budgets are one grid value. Without a list, takes the
 * default budgets whose passes are measured. The caller frees it. */
static char *budgets(const char *opt_list, const spec_pass_costs *costs, const char *verb)
{
    spec_grid grid = {0};
    spec_memory_text made;
    int n = 0;
    spec_options_numbers(&grid, verb, "nodes", opt_list != NULL ? opt_list : "1,2,4,8,16,32,64");
    if (!spec_memory_text_open(&made)) spec_usage_no_memory(verb);
    for (int i = 0; i < grid.axis[0].n; i++) {
        const char *value = grid.axis[0].value[i];
        const bool known = costs->n == 0 || atoi(value) < costs->width[costs->n - 1];
        if (opt_list == NULL && i > 0 && !known) continue;
        fprintf(made.out, "%s%s", n++ > 0 ? "," : "", value);
    }
    char *text = spec_memory_text_take(&made, NULL);
    if (text == NULL) spec_usage_no_memory(verb);
    spec_grid_free(&grid);
    return text;
}

/* Values that the user did not give, from a measurement or the sizes of the models. */
typedef struct {
    char c[32], positions[32]; /* for the command line; "": given or not needed */
    bool c_is_axis;            /* otherwise the measure chooses this c by itself */
} assumption;

static assumption assume(spec_assumed *ret_said, const arguments *args,
                         const spec_pass_costs *costs, const char *verb)
{
    assumption ret = {.c_is_axis = false};
    spec_pair_size size = {.target = 0.0};
    if (args->target != NULL)
        size = spec_pair_size_of(args->target, args->draft, args->common.context);
    if (args->positions == NULL && size.target > 0.0) {
        snprintf(ret.positions, sizeof ret.positions, "%d", spec_pair_size_positions(&size));
        spec_usage_note(verb,
                        "the acceptance probabilities are measured at %s positions "
                        "(--positions N)",
                        ret.positions);
    }
    if (args->c == NULL && costs->of_bench) {
        snprintf(ret.c, sizeof ret.c, "%.4g", costs->c);
        spec_usage_note(verb, "c = %s and passes of up to %d tokens are measured: %s", ret.c,
                        costs->width[costs->n - 1], args->costs);
    } else if (args->c == NULL) {
        ret.c_is_axis = size.on_one_device;
        snprintf(ret.c, sizeof ret.c, "%.3g", size.on_one_device ? size.draft / size.target : 0.1);
        spec_assumed_add(ret_said, "--c ", ret.c,
                         size.on_one_device ? "the draft's weights over the target's" : NULL);
    }
    return ret;
}

const spec_fields spec_verb_plan_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "find the best draft tree for a budget of nodes, and compare it with chains and k-ary "
    "trees\vThe target verifies a tree of draft tokens in one call. Each row is the fastest tree "
    "that a method finds: emitted is the expected number of tokens per round, speedup is that "
    "number divided by the time of a round, which is depth times c plus the time of verification. "
    "--costs takes both from a result of bench. sequoia and medusa optimize the tree; chain, "
    "k-ary (k children per node), branches (chains from the root) and delayed (a chain, then "
    "branches) are the fastest trees of their form; dynamic, the tree of EAGLE-2, is simulated. "
    "The column drafting can be passed to --drafting of other verbs. The plan assumes the same "
    "acceptance probabilities at every node; --rounds simulates the trees without that "
    "assumption.\n"
    "\n"
    "  $ speclab plan --accept 0.7,0.12,0.05 --nodes 16 --c 0.05\n"
    "  $ speclab plan --accept 0.7,0.12 -o plan.csv --figure plan.svg\n"
    "  $ speclab plan --target big.gguf --draft small.gguf --costs bench.csv",
    .grid = true,
};

int spec_verb_plan(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_pass_costs costs;
    spec_fields_parse(&args, &args.common, &spec_verb_plan_options, argc, argv);
    spec_figure_option_check(args.figure, &args.common, argv[0]);
    const bool siblings_assumed = args.target != NULL && args.siblings == NULL;
    complete(&args);
    if (args.accept == NULL && args.accuracies == NULL && args.target == NULL)
        args.accept = default_accept;

    spec_assumed assumed = {""};
    spec_assumed_add_default(&assumed, "--accept ", args.accept, default_accept);
    if (siblings_assumed) spec_assumed_add(&assumed, "--siblings ", args.siblings, NULL);
    spec_costs_option_read(&costs, args.costs, args.c != NULL, argv[0]);
    const assumption made = assume(&assumed, &args, &costs, argv[0]);
    if (made.positions[0] != '\0') args.positions = made.positions;
    if (made.c_is_axis) args.c = made.c;
    char *nodes = budgets(args.nodes, &costs, argv[0]);
    args.nodes = nodes;
    spec_pass_costs_free(&costs);
    /* All lists are one grid point: the measure returns a row per method and budget from one
     * measurement. */
    const spec_verb_axis chosen_c = {"c", SPEC_AXIS_ASKED,
                                     args.c == NULL && made.c[0] != '\0' ? made.c : NULL};
    char show[160];
    const bool chosen = args.target != NULL && strcmp(args.siblings, "top") == 0;
    snprintf(show, sizeof show,
             "method,budget,tree_nodes,tree_depth,emitted,speedup,%s%s%sdrafting",
             args.rounds > 0 ? "simulated,simulated_se,simulated_z," : "", chosen ? "limit," : "",
             args.target != NULL ? "by_rank," : "");
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "plan",
        .fields = fields,
        .arguments = &args,
        .axis = &chosen_c,
        .n_axes = 1,
        .assumed = assumed,
        .show = show,
        .figure = strchr(nodes, ',') != NULL ? "plan" : "tree",
        .rounds = args.rounds,
        .what = args.target != NULL ? "loading the models" : NULL,
    };
    const int code = spec_grid_verb_run(&verb, &args.common);
    free(nodes);
    return spec_figure_option_draw(args.figure, verb.figure, &args.common, argv[0], code);
}
