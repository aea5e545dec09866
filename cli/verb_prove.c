/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"
#include "cli/prove_pairs.h"
#include "cli/verb.h"

#include "base/memory_text.h"
#include "base/settings.h"
#include "models/model_open.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_TARGET = 0x3001,
    KEY_DRAFT,
    KEY_DRAFTING,
    KEY_POLICY,
    KEY_TREE,
    KEY_SIBLINGS,
    KEY_TOKENS,
    KEY_CASES,
    KEY_VOCAB,
    KEY_FAMILY,
    KEY_LIMIT,
    KEY_AHEAD,
    KEY_TOKEN
};

static const struct argp_option options_table[] = {
    {"rule", 'r', "LIST", 0,
     "verification rules, see 'speclab list rules' (all that support the drafts)", 1},
    {"target", KEY_TARGET, "SPEC", 0, "the target model (dirichlet?V=3&concentration=1&seed=1)", 1},
    {"draft", KEY_DRAFT, "SPEC", 0, "the draft model (dirichlet?V=3&concentration=1&seed=2)", 1},
    {"alpha", 'a', "LIST", 0, "instead of --draft: the target perturbed to these acceptance rates",
     1},
    {"drafting", KEY_DRAFTING, "LIST", 0, "draft strategies (chain,greedy)", 1},
    {"policy", KEY_POLICY, "LIST", 0, "length policies (fixed)", 1},
    {"K", 'K', "LIST", 0, "draft lengths (2; 1 with --n or --ahead; with --tree its depth)", 1},
    {"c", 'c', "LIST", 0,
     "time of a draft call over that of a target call: adds the exact speed-up of the first round "
     "(none)",
     1},
    {"c-token", KEY_TOKEN, "LIST", 0,
     "with --c: further time per row that the draft reads, such as a Markov head takes (0)", 1},
    {"tokens", KEY_TOKENS, "LIST", 0,
     "length of the texts whose distribution is compared (3; 2 with trees; --ahead needs K + 2)",
     1},
    {"ahead", KEY_AHEAD, 0, 0, "draft the next chain while the target verifies this one", 1},
    {"limit", KEY_LIMIT, "N", 0, "most branches to enumerate (50000000)", 1},
    {0, 0, 0, 0, "Several drafts per position, instead of --drafting:", 2},
    {"n", 'n', "LIST", 0, "siblings on every level", 2},
    {"tree", KEY_TREE, "LIST", 0,
     "trees: widths by level (3.2.1), or children by node (children=2.1.0)", 2},
    {"siblings", KEY_SIBLINGS, "LIST", 0,
     "how siblings are drawn: iid, without (replacement), top, hub, greedy (iid)", 2},
    {0, 0, 0, 0, "Many random pairs of models, instead of --target and --draft:", 3},
    {"cases", KEY_CASES, "N", 0, "number of pairs", 3},
    {"V", KEY_VOCAB, "LIST", 0, "vocabulary size (3)", 3},
    {"family", KEY_FAMILY, "LIST", 0,
     "how the rows of a pair are related, see 'speclab list models' (mixed)", 3},
    {0},
};

typedef struct {
    spec_options common;
    const char *rule, *target, *draft, *alpha, *drafting, *n, *tree, *siblings, *policy, *K, *c,
        *c_token, *tokens;
    const char *cases, *V, *family;
    uint64_t limit;
    bool ahead;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case 'r': args->rule = arg; return 0;
    case KEY_TARGET: args->target = arg; return 0;
    case KEY_DRAFT: args->draft = arg; return 0;
    case 'a': args->alpha = arg; return 0;
    case KEY_DRAFTING: args->drafting = arg; return 0;
    case 'n': args->n = arg; return 0;
    case KEY_TREE: args->tree = arg; return 0;
    case KEY_SIBLINGS: args->siblings = arg; return 0;
    case KEY_CASES: args->cases = arg; return 0;
    case KEY_VOCAB: args->V = arg; return 0;
    case KEY_FAMILY: args->family = arg; return 0;
    case KEY_POLICY: args->policy = arg; return 0;
    case 'K': args->K = arg; return 0;
    case 'c': args->c = arg; return 0;
    case KEY_TOKEN: args->c_token = arg; return 0;
    case KEY_AHEAD: args->ahead = true; return 0;
    case KEY_TOKENS: args->tokens = arg; return 0;
    case KEY_LIMIT:
        args->limit = spec_options_count(state->name, "limit", arg, 1, UINT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(state->name,
                        "'%s' is not an option; 'speclab prove --help' lists the options", arg);
    case ARGP_KEY_END:
        if (args->alpha != NULL && args->draft != NULL)
            spec_usage_fail(state->name, "--alpha and --draft exclude each other");
        if ((args->drafting != NULL) + (args->n != NULL) + (args->tree != NULL) > 1)
            spec_usage_fail(state->name, "--drafting, --n and --tree exclude each other");
        if (args->siblings != NULL && args->n == NULL && args->tree == NULL)
            spec_usage_fail(state->name, "--siblings needs --n or --tree");
        if (args->cases != NULL && (args->target || args->draft || args->alpha || args->c))
            spec_usage_fail(state->name, "--cases excludes --target, --draft, --alpha and --c");
        if (args->ahead && (args->n != NULL || args->tree != NULL))
            spec_usage_fail(state->name, "--ahead supports chains alone: leave out --n and --tree");
        if (args->ahead && args->c != NULL)
            spec_usage_fail(state->name, "--ahead and --c exclude each other: the first round of a "
                                         "text has no chain drafted ahead");
        if (args->c_token != NULL && args->c == NULL)
            spec_usage_fail(state->name, "--c-token needs --c");
        if (args->cases == NULL && (args->V || args->family))
            spec_usage_fail(state->name, "--V and --family need --cases");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

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
    static const char default_target[] = "dirichlet?V=3&concentration=1&seed=1",
                      default_draft[] = "dirichlet?V=3&concentration=1&seed=2";
    static const struct argp_child children[] = {{&spec_options_grid_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "the exact output law of a rule, by enumeration of every decision\vEnumerates every branch "
        "of the decoding loop with its exact probability, and compares the distribution of the "
        "first tokens with the target's. tv is the total variation distance, max_error the largest "
        "difference in probability; mean_n_accepted is the expected n_accepted of the first round. "
        "The exit status is 1 if a rule that claims to be lossless has tv >= 1e-12; known mistakes "
        "are marked in the column verdict. What has more branches than --limit is a row whose "
        "verdict is 'too large'; the exit status is then 3. With --cases: the largest and the "
        "smallest tv, and the "
        "share of pairs with tv >= 1e-6 (shown).\n"
        "\n"
        "  $ speclab prove --rule token,block --K 3 --tokens 3\n"
        "  $ speclab prove --rule rrs --n 2:3 --siblings iid --tokens 2\n"
        "  $ speclab prove --rule block --cases 100 --family zeros",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_usage_parse(&argp, argc, argv, &args);
    const bool trees = args.n != NULL || args.tree != NULL, cases = args.cases != NULL;
    const char *tokens = trees ? "2" : "3";
    if (args.tokens == NULL) args.tokens = tokens;
    if (args.target == NULL) args.target = default_target;
    if (args.draft == NULL) args.draft = default_draft;

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
                          args.draft != NULL ? spec_model_open_kind(args.draft) : NULL);
    const char *model = args.alpha != NULL ? "perturb?of=target&alpha={alpha}" : args.draft;
    char *drafts = with_models(pairs.drafting, model, argv[0]), levels[16];
    snprintf(levels, sizeof levels, "%d",
             pairs.levels > 0               ? pairs.levels
             : args.n != NULL || args.ahead ? 1
                                            : 2);
    spec_assumed assumed = {""};
    if (!cases) spec_assumed_add_default(&assumed, "--target ", args.target, default_target);
    if (!cases && args.alpha == NULL)
        spec_assumed_add_default(&assumed, "--draft ", args.draft, default_draft);
    if (trees && args.siblings == NULL) spec_assumed_add(&assumed, "--siblings ", "iid", NULL);
    if (args.K == NULL && pairs.levels == 0) spec_assumed_add(&assumed, "--K ", levels, NULL);
    spec_assumed_add_default(&assumed, "--tokens ", args.tokens, tokens);
    const spec_verb_axis axis[] = {
        {"rule", SPEC_AXIS_MADE, pairs.rule},
        {"rule", SPEC_AXIS_ASKED, args.rule},
        {"target", SPEC_AXIS_LINES, cases ? NULL : args.target},
        {"draft", SPEC_AXIS_MADE, cases ? NULL : drafts},
        {"draft", SPEC_AXIS_ASKED, cases || args.alpha != NULL ? NULL : args.draft},
        {"drafting", SPEC_AXIS_MADE, cases ? pairs.drafting : NULL},
        {"drafting", SPEC_AXIS_ASKED, trees ? NULL : draftings},
        {"n", SPEC_AXIS_ASKED, args.n},
        {"tree", SPEC_AXIS_ASKED, args.tree},
        {"siblings", SPEC_AXIS_ASKED, args.siblings},
        {"alpha", SPEC_AXIS_NUMBERS, args.alpha},
        {"policy", SPEC_AXIS_NAMES, args.policy},
        {"K", SPEC_AXIS_NUMBERS, args.K != NULL ? args.K : levels},
        {"c", SPEC_AXIS_NUMBERS, args.c},
        {"c_token", SPEC_AXIS_NUMBERS, args.c_token},
        {"ahead", SPEC_AXIS_NUMBERS, args.ahead ? "1" : NULL},
        {"tokens", SPEC_AXIS_NUMBERS, args.tokens},
        {"cases", SPEC_AXIS_NUMBERS, args.cases},
        {"V", SPEC_AXIS_NUMBERS, args.V},
        {"family", SPEC_AXIS_NAMES, args.family},
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
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
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
