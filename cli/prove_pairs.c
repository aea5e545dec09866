/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/prove_pairs.h"

#include "base/memory_text.h"
#include "base/names.h"
#include "cli/options.h"
#include "models/model_open.h"
#include "sim/decode_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool spec_prove_needs_model(const char *drafting)
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

void spec_prove_pairs_init(spec_prove_pairs *pairs, const char *verb, const char *opt_rules,
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
    *pairs = (spec_prove_pairs){0};
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
    if (pairs->rule[0] == '\0')
        spec_usage_fail(verb, "no rule supports '%s'; name one with --rule", strategies);
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

void spec_prove_pairs_say_left_out(const spec_prove_pairs *pairs, const char *verb)
{
    for (const char *line = pairs->left_out; *line != '\0'; line += *line == '\n') {
        const int n = (int)strcspn(line, "\n");
        spec_usage_say(verb, "%.*s", n, line);
        line += n;
    }
}

void spec_prove_pairs_free(spec_prove_pairs *pairs)
{
    free(pairs->rule);
    free(pairs->drafting);
    free(pairs->left_out);
    *pairs = (spec_prove_pairs){0};
}

static const char *siblings_name(int i)
{
    return spec_siblings_names[i];
}

char *spec_prove_trees(const char *verb, const char *opt_n, const char *opt_shapes,
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
