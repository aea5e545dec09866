/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"
#include "cli/verb.h"

#include <string.h>

enum { KEY_TARGET = 0x4001, KEY_DRAFT, KEY_DRAFTING, KEY_CONTEXTS };

static const struct argp_option options_table[] = {
    {"target", KEY_TARGET, "SPEC", 0, "the target distribution or model (probs:0.5,0.3,0.2)", 1},
    {"draft", KEY_DRAFT, "SPEC", 0, "the draft distribution or model (probs:0.2,0.5,0.3)", 1},
    {"rule", 'r', "LIST", 0, "verification rules, see 'speclab list rules' (all of them)", 1},
    {"drafting", KEY_DRAFTING, "LIST", 0,
     "how the drafts are drawn: iid, without (replacement), top, hub, greedy; lookup for one chain "
     "(all that the rule supports)",
     1},
    {"n", 'n', "LIST", 0, "draft tokens per position (1)", 1},
    {"contexts", KEY_CONTEXTS, "N", 0,
     "average over N contexts of text that the target generates, or over all positions of "
     "rows:FILE (1: the empty context)",
     1},
    {0},
};

typedef struct {
    spec_options common;
    const char *target, *draft, *rule, *drafting, *n, *contexts;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_TARGET: args->target = arg; return 0;
    case KEY_DRAFT: args->draft = arg; return 0;
    case 'r': args->rule = arg; return 0;
    case KEY_DRAFTING: args->drafting = arg; return 0;
    case 'n': args->n = arg; return 0;
    case KEY_CONTEXTS: args->contexts = arg; return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(state->name,
                        "'%s' is not an option; 'speclab accept --help' lists the options", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

int spec_verb_accept(spec_context *context, int argc, char **argv)
{
    static const char default_target[] = "probs:0.5,0.3,0.2", default_draft[] = "probs:0.2,0.5,0.3";
    static const struct argp_child children[] = {{&spec_options_grid_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "how often each rule accepts one of n draft tokens, beside the optimum\vacceptance is the "
        "probability that the emitted token is one of the drafted tokens, in closed form; "
        "enumerated is the same number by enumeration of the rule's code, where that is short "
        "enough; optimal is the largest acceptance of any lossless rule for these drafts. n = 1 is "
        "one sampled token (chain), or, for greedy and top, the draft's most probable token. "
        "--contexts sets how many contexts the average is over.\n"
        "\n"
        "  $ speclab accept --target probs:0.5,0.3,0.2 --draft probs:0.2,0.5,0.3 --n 1:3\n"
        "  $ speclab accept --target 'zipf?V=50' --draft 'zipf?V=50&s=2' --rule token,kseq,ot --n "
        "2",
        children,
        NULL,
        NULL};
    arguments args = {
        .common = SPEC_OPTIONS_DEFAULT(context),
        .target = default_target,
        .draft = default_draft,
        .n = "1",
    };
    spec_usage_parse(&argp, argc, argv, &args);

    const bool all = args.contexts != NULL && strcmp(args.contexts, "all") == 0;
    spec_assumed assumed = {""};
    spec_assumed_add_default(&assumed, "--target ", args.target, default_target);
    spec_assumed_add_default(&assumed, "--draft ", args.draft, default_draft);
    const spec_verb_axis axis[] = {
        {"rule", SPEC_AXIS_LINES, args.rule},
        {"target", SPEC_AXIS_LINES, args.target},
        {"draft", SPEC_AXIS_LINES, args.draft},
        {"drafting", SPEC_AXIS_LINES, args.drafting},
        {"n", SPEC_AXIS_LINES, args.n},
        {"contexts", all ? SPEC_AXIS_NAMES : SPEC_AXIS_NUMBERS, args.contexts},
    };
    char show[192];
    const bool several = strchr(args.target, '\n') != NULL || strchr(args.draft, '\n') != NULL;
    snprintf(show, sizeof show,
             "%s%srule,drafting,n,acceptance,acceptance_se,%senumerated,optimal,ratio,verdict",
             several ? "target,draft," : "", args.contexts != NULL ? "contexts," : "",
             all ? "acceptance_q10,acceptance_median,acceptance_q90," : "");
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "accept",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
        .assumed = assumed,
        .show = show,
    };
    return spec_grid_verb_run(&verb, &args.common);
}
