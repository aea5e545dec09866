/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"
#include "cli/verb.h"

#include <string.h>

typedef struct {
    spec_options common;
    const char *target, *draft, *rule, *drafting, *n, *contexts;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"rule", 'r', "LIST", "verification rules, see 'speclab list rules' (all of them)", FIELD(rule),
     .axis = SPEC_AXIS_LINES},
    {"target", 0, "SPEC", "the target distribution or model", FIELD(target),
     .axis = SPEC_AXIS_LINES, .fallback = "probs:0.5,0.3,0.2", .assumed = true},
    {"draft", 0, "SPEC", "the draft distribution or model", FIELD(draft), .axis = SPEC_AXIS_LINES,
     .fallback = "probs:0.2,0.5,0.3", .assumed = true},
    {"drafting", 0, "LIST",
     "how the drafts are drawn: iid, without (replacement), top, hub, greedy, tail; lookup for one "
     "chain (all that the rule supports)",
     FIELD(drafting), .axis = SPEC_AXIS_LINES},
    {"n", 'n', "LIST", "draft tokens per position", FIELD(n), .axis = SPEC_AXIS_LINES,
     .fallback = "1"},
    {"contexts", 0, "N",
     "average over N contexts of text that the target generates, or over all positions of "
     "rows:FILE (1: the empty context)",
     FIELD(contexts)},
    {0},
};

const spec_fields spec_verb_accept_options = {
    .fields = fields,
    .doc =
    "compute how often each rule accepts one of n draft tokens, and the optimum\vacceptance "
    "is the probability that the emitted token is one of the drafted tokens, in closed form; "
    "enumerated is the same number, computed by enumerating the rule's code if that is short "
    "enough; optimal is the largest acceptance of any lossless rule for these drafts. n = 1 "
    "is one sampled token (chain), or, for greedy and top, the draft's most probable token. "
    "--contexts sets how many contexts the average is over.\n"
    "\n"
    "  $ speclab accept --target probs:0.5,0.3,0.2 --draft probs:0.2,0.5,0.3 --n 1:3\n"
    "  $ speclab accept --target 'zipf?V=50' --draft 'zipf?V=50&s=2' --rule token,kseq,ot --n "
    "2",
    .grid = true,
};

int spec_verb_accept(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_accept_options, argc, argv);

    const bool all = args.contexts != NULL && strcmp(args.contexts, "all") == 0;
    spec_assumed assumed = {""};
    spec_fields_assume(&assumed, fields, &args);
    const spec_verb_axis contexts = {"contexts", all ? SPEC_AXIS_NAMES : SPEC_AXIS_NUMBERS,
                                     args.contexts};
    char show[192];
    const bool several = strchr(args.target, '\n') != NULL || strchr(args.draft, '\n') != NULL;
    snprintf(show, sizeof show,
             "%s%srule,drafting,n,acceptance,acceptance_se,%senumerated,optimal,ratio,verdict",
             several ? "target,draft," : "", args.contexts != NULL ? "contexts," : "",
             all ? "acceptance_q10,acceptance_median,acceptance_q90," : "");
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "accept",
        .fields = fields,
        .arguments = &args,
        .axis = &contexts,
        .n_axes = 1,
        .assumed = assumed,
        .show = show,
    };
    return spec_grid_verb_run(&verb, &args.common);
}
