#include "cli/grid_verb.h"
#include "cli/verb.h"

#include "models/settings.h"
#include "sim/drafter.h"
#include "sim/verify.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_TARGET = 0x3001, KEY_DRAFT, KEY_DRAFTING, KEY_POLICY, KEY_TOKENS, KEY_LIMIT };

static const struct argp_option options_table[] = {
    {"rule", 'r', "LIST", 0, "verification rules (all of them)", 1},
    {"target", KEY_TARGET, "SPEC", 0, "the target model (dirichlet?V=3&concentration=1&seed=1)", 1},
    {"draft", KEY_DRAFT, "SPEC", 0, "the draft model (dirichlet?V=3&concentration=1&seed=2)", 1},
    {"alpha", 'a', "LIST", 0, "instead of --draft: drafts that overlap with the target to these acceptance rates", 1},
    {"drafting", KEY_DRAFTING, "LIST", 0, "draft strategies (chain,greedy)", 1},
    {"policy", KEY_POLICY, "LIST", 0, "length policies (fixed)", 1},
    {"K", 'K', "LIST", 0, "draft lengths (2)", 1},
    {"c", 'c', "LIST", 0, "draft call over target call, in time: adds the exact speed-up of the first round (no)", 1},
    {"tokens", KEY_TOKENS, "LIST", 0, "how many tokens the law is of (3)", 1},
    {"limit", KEY_LIMIT, "N", 0, "most branches to walk (50000000)", 1},
    {0},
};

typedef struct {
    spec_options common;
    const char *rule, *target, *draft, *alpha, *drafting, *policy, *K, *c, *tokens;
    uint64_t limit;
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
    case KEY_POLICY: args->policy = arg; return 0;
    case 'K': args->K = arg; return 0;
    case 'c': args->c = arg; return 0;
    case KEY_TOKENS: args->tokens = arg; return 0;
    case KEY_LIMIT:
        if (!spec_settings_parse_u64(&args->limit, arg) || args->limit == 0)
            spec_usage_fail(state->name, "--limit: '%s' is not a whole number above 0", arg);
        return 0;
    case ARGP_KEY_ARG: spec_usage_fail(state->name, "what is '%s'? every argument is an option; see --help", arg);
    case ARGP_KEY_END:
        if (args->alpha != NULL && args->draft != NULL)
            spec_usage_fail(state->name, "--alpha and --draft exclude each other");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* "token,match,...": every rule there is. The caller frees. */
static char *all_rules(const char *verb)
{
    char *list = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    if (out == NULL) spec_usage_fail(verb, "out of memory");
    for (int i = 0; spec_rules[i] != NULL; i++) fprintf(out, "%s%s", i > 0 ? "," : "", spec_rules[i]->name);
    if (fclose(out) != 0) spec_usage_fail(verb, "out of memory");
    return list;
}

/* Does the strategy of that name draft from a model? Unknown ones are left to the measure to refuse. */
static bool needs_model(const char *strategy)
{
    size_t length = strcspn(strategy, "?");
    for (int i = 0; spec_drafter_kinds[i] != NULL; i++) {
        const spec_drafter_kind *kind = spec_drafter_kinds[i];
        if (strlen(kind->name) == length && strncmp(kind->name, strategy, length) == 0) return kind->needs_model;
    }
    return true;
}

/* "chain:MODEL", "greedy:MODEL", "lookup": the draft axis names strategy and model together, one a line. The caller
 * frees. */
static char *all_drafts(const arguments *args, const char *verb)
{
    char *lines = NULL, *copy = strdup(args->drafting);
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (out == NULL || copy == NULL) spec_usage_fail(verb, "out of memory");
    const char *separator = "";
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL; separator = "\n") {
        if (*word == '\0') spec_usage_fail(verb, "--drafting: '%s' has an empty name", args->drafting);
        fprintf(out, "%s%s", separator, word);
        if (needs_model(word))
            fprintf(out, ":%s", args->alpha != NULL ? "perturb?of=target&alpha={alpha}" : args->draft);
    }
    if (fclose(out) != 0) spec_usage_fail(verb, "out of memory");
    free(copy);
    return lines;
}

int spec_verb_prove(int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table, parse, NULL,
        "the exact output law of a rule, by enumeration of every decision\v"
        "Walks every branch of the decoding loop with its exact probability, and compares "
        "the law of the first tokens with the target's. tv is the "
        "total variation distance, max_error the largest difference; accepted is the "
        "expected n_accepted of the first round. A rule that "
        "is said to be lossless and has tv >= 1e-12 makes the exit status 1; those kept "
        "as known mistakes are marked so.",
        children, NULL, NULL};
    arguments args = {
        .common = SPEC_OPTIONS_DEFAULT,
        .target = "dirichlet?V=3&concentration=1&seed=1",
        .drafting = "chain,greedy",
        .K = "2",
        .tokens = "3",
    };
    spec_usage_parse(&argp, argc, argv, &args);
    if (args.draft == NULL) args.draft = "dirichlet?V=3&concentration=1&seed=2";

    char *rules = args.rule != NULL ? NULL : all_rules(argv[0]), *drafts = all_drafts(&args, argv[0]);
    const spec_verb_axis axis[] = {
        {"rule", SPEC_AXIS_NAMES, args.rule != NULL ? args.rule : rules},
        {"target", SPEC_AXIS_LINES, args.target},
        {"draft", SPEC_AXIS_MADE, drafts},
        {"draft", SPEC_AXIS_ASKED, args.alpha != NULL ? NULL : args.draft},
        {"drafting", SPEC_AXIS_ASKED, args.drafting},
        {"alpha", SPEC_AXIS_NUMBERS, args.alpha},
        {"policy", SPEC_AXIS_NAMES, args.policy},
        {"K", SPEC_AXIS_NUMBERS, args.K},
        {"c", SPEC_AXIS_NUMBERS, args.c},
        {"tokens", SPEC_AXIS_NUMBERS, args.tokens},
    };
    char show[128];
    snprintf(show, sizeof show, "rule,draft,%sK,%stokens,branches,tv,max_error,accepted,%sverdict",
             args.policy != NULL ? "policy," : "", args.c != NULL ? "c," : "", args.c != NULL ? "speedup," : "");
    static const char *const by_alpha[] = {"draft", "alpha", NULL};
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "prove",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
        .option = args.alpha != NULL ? by_alpha : NULL,
        .show = show,
        .limit = args.limit,
    };
    int code = spec_grid_verb_run(&verb, &args.common);
    free(rules);
    free(drafts);
    return code;
}
