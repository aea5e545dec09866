/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"
#include "cli/verb.h"

#include "base/memory_text.h"
#include "base/names.h"
#include "models/model_open.h"
#include "sim/decode_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_options common;
    const char *rule, *target, *draft, *alpha, *drafting, *n, *tree, *siblings, *policy, *K, *c,
        *c_token, *tokens;
    const char *cases, *V, *family, *inner_draft, *inner_c;
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
    {"inner-draft", 0, "SPEC",
     "a smaller model that drafts for the draft model, for the strategy cascade",
     FIELD(inner_draft), .axis = SPEC_AXIS_LINES},
    {"drafting", 0, "LIST", "draft strategies (chain,greedy; cascade?K=1 with --inner-draft)",
     FIELD(drafting), .axis = SPEC_AXIS_ASKED},
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
    {"K", 'K', "LIST",
     "draft lengths (2; 1 with --n or --ahead; with --tree or a cascade its longest draft)",
     FIELD(K), .axis = SPEC_AXIS_NUMBERS},
    {"c", 'c', "LIST",
     "time of a draft call, in target calls: adds the exact speed-up of the first round (none)",
     FIELD(c), .axis = SPEC_AXIS_NUMBERS},
    {"c-token", 0, "LIST",
     "with --c: extra time per row that the draft reads, for example for a Markov head (0)",
     FIELD(c_token), .axis = SPEC_AXIS_NUMBERS},
    {"inner-c", 0, "LIST", "with --c: time of a call of the inner draft (0)", FIELD(inner_c),
     .axis = SPEC_AXIS_NUMBERS},
    {"ahead", 0, NULL, "draft the next chain while the target verifies this one", FIELD(ahead),
     .axis = SPEC_AXIS_FLAG},
    {"tokens", 0, "LIST",
     "number of tokens whose joint distribution is compared (3; 2 with trees; --ahead needs K + 2)",
     FIELD(tokens), .axis = SPEC_AXIS_NUMBERS},
    {"limit", 0, "N", "maximum number of branches to enumerate (50000000)", FIELD(limit), .low = 1},
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
    {"cases", false, "target draft inner-draft alpha c", NULL},
    {"ahead", false, "n tree", ": only chains are drafted ahead"},
    {"ahead", false, "c", ": the first round of a text has no chain drafted ahead"},
    {"c-token inner-c", true, "c", NULL},
    {"inner-c", true, "inner-draft", NULL},
    {"inner-draft", false, "n tree ahead", NULL},
    {"V family", true, "cases", NULL},
    {0},
};

/* ---- lists ----------------------------------------------------------------------------------- */

/* A growing text; out of memory exits 2. */
typedef struct {
    const char *verb, *separator;
    bool any;
    spec_memory_text text;
} list;

static void list_begin(list *l, const char *verb, const char *separator)
{
    *l = (list){.verb = verb, .separator = separator};
    if (!spec_memory_text_open(&l->text)) spec_usage_no_memory(verb);
}

static void list_add(list *l, const char *item)
{
    fprintf(l->text.out, "%s%s", l->any ? l->separator : "", item);
    l->any = true;
}

static char *list_end(list *l)
{
    char *text = spec_memory_text_take(&l->text, NULL);
    if (text == NULL) spec_usage_no_memory(l->verb);
    return text;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the next name of a comma-separated list, which is cut in place; NULL after the last. */
static const char *next_name(char **rest, const char *verb, const char *option, const char *whole)
{
    const char *name = strsep(rest, ",");
    if (name != NULL && *name == '\0')
        spec_usage_fail(verb, "--%s: '%s' has an empty name", option, whole);
    return name;
}

static char *copy_of(const char *verb, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) spec_usage_no_memory(verb);
    return copy;
}

/* Opens the strategy on an arbitrary model, to inspect its form. */
static void open_drafter(spec_drafter *drafter, const char *verb, const char *option,
                         const char *drafting)
{
    spec_error error = {{0}};
    spec_model *any = NULL;
    if (spec_model_open(&any, "uniform?V=2", NULL, NULL, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
    if (spec_drafter_init(drafter, drafting, any, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--%s: %s", option, error.text);
    spec_session_free(&drafter->session);
    spec_model_close(any);
}

static bool needs_model(const char *drafting)
{
    const size_t length = strcspn(drafting, ":?");
    for (int i = 0; spec_drafter_kinds[i] != NULL; i++) {
        const spec_drafter_kind *kind = spec_drafter_kinds[i];
        if (strlen(kind->name) == length && strncmp(kind->name, drafting, length) == 0)
            return kind->needs_model;
    }
    return true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* If the user names rules, each is paired with every strategy, even with those that it does not
 * support. Otherwise every rule is paired with the strategies that its claim covers. */
typedef struct {
    char *rule, *drafting; /* one pair per line: line i of both is pair i */
    char *left_out;        /* lines about rules that are left out */
    int levels;            /* depth of the deepest tree with a fixed depth; 0: none */
} pairs_of_rules;

typedef struct {
    const char *name;
    spec_drafter drafter;
    list left_out; /* rules that do not support it */
} strategy;

static bool holds(const spec_rule *rule, const spec_drafter *drafter, const char *verb,
                  const char *policies)
{
    spec_error error = {{0}};
    char *copy = copy_of(verb, policies), *rest = copy;
    bool all = true;
    for (const char *name; (name = next_name(&rest, verb, "policy", policies)) != NULL;) {
        spec_policy policy;
        if (spec_policy_init(&policy, name, 1, &error) != GSL_SUCCESS)
            spec_usage_fail(verb, "--policy: %s", error.text);
        all = all && spec_decode_fit_allows(rule, drafter, &policy);
        spec_policy_free(&policy);
    }
    free(copy);
    return all;
}

/* Pairs a rule with the strategies; with opt_policies, only with those that it supports. */
static void pair(list *rules, list *draftings, const char *rule, const spec_rule *of,
                 strategy *with, int n, const char *opt_policies)
{
    for (int i = 0; i < n; i++) {
        if (opt_policies != NULL && !holds(of, &with[i].drafter, rules->verb, opt_policies)) {
            list_add(&with[i].left_out, rule);
            continue;
        }
        list_add(rules, rule);
        list_add(draftings, with[i].name);
    }
}

static void note_left_out(list *lines, strategy *of)
{
    char *rules = list_end(&of->left_out), *line;
    if (rules[0] != '\0') {
        if (asprintf(&line, "left out, because they do not support '%s': %s", of->name, rules) < 0)
            spec_usage_no_memory(lines->verb);
        list_add(lines, line);
        free(line);
    }
    free(rules);
}

/* Pairs rules with strategies. All lists are names separated by commas; `option` is the option that
 * gave the strategies. A rule is left out if it does not support one of the policies, or the
 * draft's kind of model. */
static void pairs_init(pairs_of_rules *pairs, const char *verb, const char *opt_rules,
                       const char *option, const char *strategies, const char *policies,
                       const spec_model_kind *opt_draft)
{
    char *copy = copy_of(verb, strategies),
         *rule_copy = opt_rules != NULL ? copy_of(verb, opt_rules) : NULL;
    char *rest = copy, *rule_rest = rule_copy;
    strategy *with = calloc(strlen(strategies) / 2 + 1, sizeof *with);
    list rules, draftings;
    int n = 0;
    if (with == NULL) spec_usage_no_memory(verb);
    *pairs = (pairs_of_rules){0};
    for (const char *name; (name = next_name(&rest, verb, option, strategies)) != NULL; n++) {
        with[n].name = name;
        open_drafter(&with[n].drafter, verb, option, name);
        with[n].drafter.rows_by_round = opt_draft != NULL && opt_draft->rows_by_round;
        list_begin(&with[n].left_out, verb, ", ");
        if (with[n].drafter.n_levels > pairs->levels) pairs->levels = with[n].drafter.n_levels;
    }
    list_begin(&rules, verb, "\n");
    list_begin(&draftings, verb, "\n");
    if (opt_rules != NULL)
        for (const char *rule; (rule = next_name(&rule_rest, verb, "rule", opt_rules)) != NULL;)
            pair(&rules, &draftings, rule, NULL, with, n, NULL);
    else
        for (int i = 0; spec_rules[i] != NULL; i++)
            pair(&rules, &draftings, spec_rules[i]->name, spec_rules[i], with, n, policies);
    pairs->rule = list_end(&rules);
    pairs->drafting = list_end(&draftings);
    if (pairs->rule[0] == '\0') {
        free(pairs->rule);
        free(pairs->drafting);
        spec_usage_fail(verb, "no rule supports '%s'; name one with --rule", strategies);
    }
    list left_out;
    list_begin(&left_out, verb, "\n");
    for (int i = 0; i < n; i++) {
        note_left_out(&left_out, &with[i]);
        spec_drafter_free(&with[i].drafter);
    }
    pairs->left_out = list_end(&left_out);
    free(with);
    free(copy);
    free(rule_copy);
}

/* Says which rules were left out, if any. Call it after the proof, so that an error remains a
 * single line. */
static void say_left_out(const pairs_of_rules *pairs, const char *verb)
{
    for (const char *line = pairs->left_out; *line != '\0'; line += *line == '\n') {
        const int n = (int)strcspn(line, "\n");
        spec_usage_say(verb, "%.*s", n, line);
        line += n;
    }
}

static void pairs_free(pairs_of_rules *pairs)
{
    free(pairs->rule);
    free(pairs->drafting);
    free(pairs->left_out);
    *pairs = (pairs_of_rules){0};
}

static const char *siblings_name(int i)
{
    return spec_siblings_names[i];
}

/* Returns the tree strategies: each kind of siblings with every number of drafts per position in
 * opt_n ("2:4"), or every shape in opt_shapes ("3.2.1,children=2.1.0"). They are separated by
 * commas; the caller frees them. */
static char *list_trees(const char *verb, const char *opt_n, const char *opt_shapes,
                        const char *siblings)
{
    spec_grid forms = {0};
    spec_error error = {{0}};
    list trees;
    const char *key = opt_n != NULL ? "n=" : "";
    char *kinds = copy_of(verb, siblings);
    if (opt_n != NULL)
        spec_options_numbers(&forms, verb, "n", opt_n);
    else
        spec_options_texts(&forms, verb, "tree", opt_shapes, ",");
    list_begin(&trees, verb, ",");
    char *rest = kinds;
    for (const char *kind; (kind = next_name(&rest, verb, "siblings", siblings)) != NULL;) {
        if (spec_names_find(siblings_name, kind, "kind of siblings", &error) < 0)
            spec_usage_fail(verb, "--siblings: %s", error.text);
        for (int i = 0; i < forms.axis[0].n; i++) {
            char tree[512];
            const char *form = forms.axis[0].value[i];
            if (opt_n == NULL) key = strchr(form, '=') != NULL ? "" : "widths=";
            if (snprintf(tree, sizeof tree, "tree?%s%s&siblings=%s", key, form, kind) >=
                (int)sizeof tree)
                spec_usage_fail(verb, "--tree: '%.40s...' is too long", form);
            list_add(&trees, tree);
        }
    }
    spec_grid_free(&forms);
    free(kinds);
    return list_end(&trees);
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
        fprintf(text.out, needs_model(word) ? "%s%s:%s" : "%s%s", separator, word, model);
    char *lines = spec_memory_text_take(&text, NULL);
    if (lines == NULL) spec_usage_no_memory(verb);
    free(copy);
    return lines;
}

const spec_fields spec_verb_prove_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "compute the exact output distribution of a rule, by enumerating every decision\vEnumerates "
    "every branch of the decoding loop with its exact probability, and compares the distribution "
    "of the first tokens with the target's. tv is the total variation distance, max_error the "
    "largest difference in probability; mean_n_accepted is the expected n_accepted of the first "
    "round. The exit status is 1 if a rule that claims to be lossless has tv >= 1e-12; known "
    "mistakes are marked in the column verdict. If there are more branches than --limit, the "
    "verdict of the row is 'too large' and the exit status is 3. With --cases: the largest and "
    "the smallest tv, and, in the column 'shown', the share of pairs with tv >= 1e-6.\n"
    "\n"
    "  $ speclab prove --rule token,block --K 3 --tokens 3\n"
    "  $ speclab prove --rule rrs --n 2:3 --siblings iid --tokens 2\n"
    "  $ speclab prove --rule block --cases 100 --family zeros",
    .grid = true,
};

int spec_verb_prove(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_prove_options, argc, argv);
    const bool trees = args.n != NULL || args.tree != NULL, cases = args.cases != NULL;
    const char *tokens = trees ? "2" : "3";

    pairs_of_rules pairs;
    char *made = !trees ? NULL
                        : list_trees(argv[0], args.n, args.tree,
                                     args.siblings != NULL ? args.siblings : "iid");
    const char *draftings = trees                      ? made
                            : args.drafting != NULL    ? args.drafting
                            : args.inner_draft != NULL ? "cascade?K=1"
                                                       : "chain,greedy";
    if (args.inner_draft != NULL && strstr(draftings, "cascade") == NULL)
        spec_usage_fail(argv[0], "--inner-draft is for --drafting cascade");
    pairs_init(&pairs, argv[0], args.rule,
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
    if (args.c != NULL && args.inner_draft != NULL && args.inner_c == NULL)
        spec_assumed_add(&assumed, "--inner-c ", "0", NULL);
    if (args.tokens == NULL) spec_assumed_add(&assumed, "--tokens ", tokens, NULL);
    if (args.tokens == NULL) args.tokens = tokens;
    if (args.K == NULL) args.K = levels;
    args.drafting = trees ? NULL : draftings;
    const spec_verb_axis made_axes[] = {
        {"rule", SPEC_AXIS_MADE, pairs.rule},
        {"draft", SPEC_AXIS_MADE, cases ? NULL : drafts},
        {"drafting", SPEC_AXIS_MADE, cases ? pairs.drafting : NULL},
    };
    char show[200];
    const char *policy = args.policy != NULL ? "policy," : "", *ahead = args.ahead ? "ahead," : "";
    if (cases)
        snprintf(show, sizeof show,
                 "rule,drafting,%sK,%stokens,%s%scases,worst_tv,worst_seed,least_tv,shown,"
                 "mean_n_accepted,verdict",
                 policy, ahead, args.V != NULL ? "V," : "", args.family != NULL ? "family," : "");
    else
        snprintf(show, sizeof show,
                 "rule,draft,%s%sK,%s%s%s%stokens,branches,tv,max_error,mean_n_accepted,%sverdict",
                 args.inner_draft != NULL ? "inner_draft," : "", policy, ahead,
                 args.c != NULL ? "c," : "", args.c_token != NULL ? "c_token," : "",
                 args.inner_c != NULL ? "inner_c," : "", args.c != NULL ? "speedup," : "");
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
    if (code != SPEC_EXIT_USAGE) say_left_out(&pairs, argv[0]);
    pairs_free(&pairs);
    free(drafts);
    free(made);
    return code;
}
