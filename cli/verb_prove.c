/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"
#include "cli/prove_pairs.h"
#include "cli/verb.h"

#include "base/memory_text.h"
#include "models/model_open.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_options common;
    const char *rule, *target, *draft, *alpha, *drafting, *n, *tree, *siblings, *policy, *K, *c,
        *c_token, *tokens;
    const char *cases, *V, *family;
    uint64_t limit;
    bool ahead;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"rule", 'r', "LIST",
     "verification rules, see 'speclab list rules' (all that support the drafts)", FIELD(rule),
     .axis = SPEC_AXIS_ASKED},
    {"target", 0, "SPEC", "the target model", FIELD(target), .axis = SPEC_AXIS_LINES,
     .fallback = "dirichlet?V=3&concentration=1&seed=1", .assumed = true},
    {"draft", 0, "SPEC", "the draft model", FIELD(draft), .axis = SPEC_AXIS_ASKED,
     .fallback = "dirichlet?V=3&concentration=1&seed=2", .assumed = true},
    {"drafting", 0, "LIST", "draft strategies (chain,greedy)", FIELD(drafting),
     .axis = SPEC_AXIS_ASKED},
    {.help = "Several drafts per position, instead of --drafting:", .group = 2},
    {"n", 'n', "LIST", "siblings on every level", FIELD(n), .axis = SPEC_AXIS_ASKED, .group = 2},
    {"tree", 0, "LIST", "trees: widths by level (3.2.1), or children by node (children=2.1.0)",
     FIELD(tree), .axis = SPEC_AXIS_ASKED, .group = 2},
    {"siblings", 0, "LIST",
     "how siblings are drawn: iid, without (replacement), top, hub, greedy, tail (iid)",
     FIELD(siblings), .axis = SPEC_AXIS_ASKED, .group = 2},
    {"alpha", 'a', "LIST", "instead of --draft: perturb the target to these acceptance rates",
     FIELD(alpha), .axis = SPEC_AXIS_NUMBERS},
    {"policy", 0, "LIST", "length policies (fixed)", FIELD(policy), .axis = SPEC_AXIS_NAMES},
    {"K", 'K', "LIST", "draft lengths (2; 1 with --n or --ahead; with --tree its depth)", FIELD(K),
     .axis = SPEC_AXIS_NUMBERS},
    {"c", 'c', "LIST",
     "time of a draft call over that of a target call: adds the exact speed-up of the first round "
     "(none)",
     FIELD(c), .axis = SPEC_AXIS_NUMBERS},
    {"c-token", 0, "LIST",
     "with --c: extra time per row that the draft reads, for example for a Markov head (0)",
     FIELD(c_token), .axis = SPEC_AXIS_NUMBERS},
    {"ahead", 0, NULL, "draft the next chain while the target verifies this one", FIELD(ahead),
     .axis = SPEC_AXIS_FLAG},
    {"tokens", 0, "LIST",
     "number of tokens whose joint distribution is compared (3; 2 with trees; --ahead needs K + 2)",
     FIELD(tokens), .axis = SPEC_AXIS_NUMBERS},
    {"limit", 0, "N", "most branches to enumerate (50000000)", FIELD(limit), .low = 1},
    {.help = "Many random pairs of models, instead of --target and --draft:", .group = 3},
    {"cases", 0, "N", "number of pairs", FIELD(cases), .axis = SPEC_AXIS_NUMBERS, .group = 3},
    {"V", 0, "LIST", "vocabulary size (3)", FIELD(V), .axis = SPEC_AXIS_NUMBERS, .group = 3},
    {"family", 0, "LIST", "how the rows of a pair are related, see 'speclab list models' (mixed)",
     FIELD(family), .axis = SPEC_AXIS_NAMES, .group = 3},
    {0},
};
static const spec_field_relation relations[] = {
    {"alpha", false, "draft", NULL},
    {"drafting", false, "n tree", NULL},
    {"n", false, "tree", NULL},
    {"siblings", true, "n tree", NULL},
    {"cases", false, "target draft alpha c", NULL},
    {"ahead", false, "n tree", ": only chains are drafted ahead"},
    {"ahead", false, "c", ": the first round of a text has no chain drafted ahead"},
    {"c-token", true, "c", NULL},
    {"V family", true, "cases", NULL},
    {0},
};

/* Joins strategies and model, one per line: "chain:MODEL", "greedy:MODEL", "lookup". The caller
 * frees. */
static char *with_models(const char *draftings, const char *model, const char *verb)
{
    spec_memory_text text;
    char *copy = strdup(draftings);
    if (!spec_memory_text_open(&text) || copy == NULL) spec_usage_no_memory(verb);
    const char *separator = "";
    for (char *rest = copy, *word; (word = strsep(&rest, "\n")) != NULL; separator = "\n")
        fprintf(text.out, spec_prove_needs_model(word) ? "%s%s:%s" : "%s%s", separator, word,
                model);
    char *lines = spec_memory_text_take(&text, NULL);
    if (lines == NULL) spec_usage_no_memory(verb);
    free(copy);
    return lines;
}

int spec_verb_prove(spec_context *context, int argc, char **argv)
{
    static const spec_fields options = {
        .fields = fields,
        .relations = relations,
        .doc =
        "compute the exact output distribution of a rule, by enumerating every "
        "decision\vEnumerates every branch of the decoding loop with its exact probability, and "
        "compares the distribution of the first tokens with the target's. tv is the total "
        "variation distance, max_error the largest difference in probability; mean_n_accepted is "
        "the expected n_accepted of the first round. The exit status is 1 if a rule that claims "
        "to be lossless has tv >= 1e-12; known mistakes are marked in the column verdict. If "
        "there are more branches than --limit, the verdict of the row is 'too large' and the exit "
        "status is 3. With --cases: the largest and the smallest tv, and the share of pairs with "
        "tv >= 1e-6 (shown).\n"
        "\n"
        "  $ speclab prove --rule token,block --K 3 --tokens 3\n"
        "  $ speclab prove --rule rrs --n 2:3 --siblings iid --tokens 2\n"
        "  $ speclab prove --rule block --cases 100 --family zeros",
        .grid = true,
    };
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &options, argc, argv);
    const bool trees = args.n != NULL || args.tree != NULL, cases = args.cases != NULL;
    const char *tokens = trees ? "2" : "3";

    spec_prove_pairs pairs;
    char *made = !trees ? NULL
                        : spec_prove_trees(argv[0], args.n, args.tree,
                                           args.siblings != NULL ? args.siblings : "iid");
    const char *draftings = trees ? made : args.drafting != NULL ? args.drafting : "chain,greedy";
    spec_prove_pairs_init(&pairs, argv[0], args.rule,
                          args.n != NULL ? "n"
                          : trees        ? "tree"
                                         : "drafting",
                          draftings, args.policy != NULL ? args.policy : "fixed",
                          spec_model_open_kind(args.draft));
    const char *model = args.alpha != NULL ? "perturb?of=target&alpha={alpha}" : args.draft;
    char *drafts = with_models(pairs.drafting, model, argv[0]), levels[16];
    snprintf(levels, sizeof levels, "%d",
             pairs.levels > 0               ? pairs.levels
             : args.n != NULL || args.ahead ? 1
                                            : 2);
    if (cases) args.target = NULL;
    if (cases || args.alpha != NULL) args.draft = NULL;
    spec_assumed assumed = {""};
    spec_fields_assume(&assumed, fields, &args);
    if (trees && args.siblings == NULL) spec_assumed_add(&assumed, "--siblings ", "iid", NULL);
    if (args.K == NULL && pairs.levels == 0) spec_assumed_add(&assumed, "--K ", levels, NULL);
    if (args.tokens == NULL) spec_assumed_add(&assumed, "--tokens ", tokens, NULL);
    if (args.tokens == NULL) args.tokens = tokens;
    if (args.K == NULL) args.K = levels;
    args.drafting = trees ? NULL : draftings;
    const spec_verb_axis made_axes[] = {
        {"rule", SPEC_AXIS_MADE, pairs.rule},
        {"draft", SPEC_AXIS_MADE, cases ? NULL : drafts},
        {"drafting", SPEC_AXIS_MADE, cases ? pairs.drafting : NULL},
    };
    char show[160];
    const char *policy = args.policy != NULL ? "policy," : "", *ahead = args.ahead ? "ahead," : "";
    if (cases)
        snprintf(show, sizeof show,
                 "rule,drafting,%sK,%stokens,%s%scases,worst_tv,worst_seed,least_tv,shown,"
                 "mean_n_accepted,verdict",
                 policy, ahead, args.V != NULL ? "V," : "", args.family != NULL ? "family," : "");
    else
        snprintf(show, sizeof show,
                 "rule,draft,%sK,%s%s%stokens,branches,tv,max_error,mean_n_accepted,%sverdict",
                 policy, ahead, args.c != NULL ? "c," : "", args.c_token != NULL ? "c_token," : "",
                 args.c != NULL ? "speedup," : "");
    static const char *const by_alpha[] = {"draft", "alpha", NULL};
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = cases ? "prove_cases" : "prove",
        .fields = fields,
        .arguments = &args,
        .axis = made_axes,
        .n_axes = (int)(sizeof made_axes / sizeof made_axes[0]),
        .assumed = assumed,
        .option = args.alpha != NULL ? by_alpha : NULL,
        .show = show,
        .limit = args.limit,
    };
    const int code = spec_grid_verb_run(&verb, &args.common);
    if (code != SPEC_EXIT_USAGE) spec_prove_pairs_say_left_out(&pairs, argv[0]);
    spec_prove_pairs_free(&pairs);
    free(drafts);
    free(made);
    return code;
}
