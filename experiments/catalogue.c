/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/catalogue.h"

#include "experiments/measures/measure.h"
#include "models/model.h"
#include "sim/acceptance.h"
#include "sim/draft/drafter.h"
#include "sim/draft/policy.h"
#include "sim/serving/length_choice.h"
#include "sim/verify/verify.h"

#include <string.h>

/* Fills one row except for its claim. */
static void fill(spec_table *table, const char *kind, const char *name, const char *summary,
                 const char *reference)
{
    spec_table_text(table, "kind", kind);
    spec_table_text(table, "name", name);
    spec_table_text(table, "summary", summary);
    spec_table_text(table, "reference", reference);
}

static void add(spec_table *table, const char *kind, const char *name, const char *summary,
                const char *reference)
{
    fill(table, kind, name, summary, reference);
    spec_table_append(table);
}

static void add_models(spec_table *table, const char *kind)
{
    for (int i = 0; spec_model_kinds[i] != NULL; i++)
        add(table, kind, spec_model_kinds[i]->usage, spec_model_kinds[i]->summary,
            spec_model_kinds[i]->reference);
}

static void add_drafts(spec_table *table, const char *kind)
{
    for (int i = 0; spec_drafter_kinds[i] != NULL; i++)
        add(table, kind, spec_drafter_kinds[i]->usage, spec_drafter_kinds[i]->summary,
            spec_drafter_kinds[i]->reference);
}

static void add_rules(spec_table *table, const char *kind)
{
    static const char *const claim[] = {[SPEC_LOSSLESS] = "lossless",
                                        [SPEC_LOSSLESS_ARGMAX] = "lossless at temperature 0",
                                        [SPEC_LOSSY] = "lossy",
                                        [SPEC_WRONG] = "wrong"};
    for (int i = 0; spec_rules[i] != NULL; i++) {
        const spec_rule *rule = spec_rules[i];
        fill(table, kind, rule->usage != NULL ? rule->usage : rule->name, rule->summary,
             rule->reference);
        if (spec_table_column(table, "claim") >= 0)
            spec_table_text(table, "claim", claim[rule->claim]);
        spec_table_append(table);
    }
}

static void add_policies(spec_table *table, const char *kind)
{
    for (int i = 0; spec_policy_kinds[i] != NULL; i++)
        add(table, kind, spec_policy_kinds[i]->usage, spec_policy_kinds[i]->summary,
            spec_policy_kinds[i]->reference);
}

static void add_processes(spec_table *table, const char *kind)
{
    for (int i = 0; spec_process_usages[i] != NULL; i++) {
        char usage[128];
        const char *tab = strchr(spec_process_usages[i], '\t');
        snprintf(usage, sizeof usage, "%.*s", (int)(tab - spec_process_usages[i]),
                 spec_process_usages[i]);
        add(table, kind, usage, tab + 1, "");
    }
}

static void add_lengths(spec_table *table, const char *kind)
{
    const char *usage, *summary, *reference;
    for (int i = 0; spec_length_choice_line(i, &usage, &summary, &reference); i++)
        add(table, kind, usage, summary, reference);
}

static void add_measures(spec_table *table, const char *kind)
{
    for (int i = 0; spec_measures[i] != NULL; i++)
        add(table, kind, spec_measures[i]->name, spec_measures[i]->summary, "");
}

const char *const spec_catalogue_kinds[] = {"model",   "draft",   "rule",    "policy",
                                            "process", "lengths", "measure", NULL};
static void (*const lists[])(spec_table *table, const char *kind) = {
    add_models, add_drafts, add_rules, add_policies, add_processes, add_lengths, add_measures};

bool spec_catalogue_add(spec_table *table, const char *kind)
{
    for (int i = 0; spec_catalogue_kinds[i] != NULL; i++) {
        if (strcmp(spec_catalogue_kinds[i], kind) != 0) continue;
        lists[i](table, kind);
        return true;
    }
    return false;
}
