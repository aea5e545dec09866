/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode_fit.h"

#include <stdio.h>

/* Lists the rules whose claim holds for such siblings: "token, match, ...". */
static void list_rules(char *list, size_t size, unsigned siblings)
{
    size_t used = 0;
    for (int i = 0; spec_rules[i] != NULL && used < size; i++)
        if (spec_rules[i]->siblings & siblings)
            used += (size_t)snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     spec_rules[i]->name);
}

static bool misses_schedule(const spec_rule *rule, const spec_drafter *drafter,
                            const spec_policy *policy)
{
    return rule->needs_schedule &&
           (drafter->kind->nodes != NULL || spec_policy_reads(policy) || policy->kind->drops);
}

/* Returns whether the rule judges later rounds by rows of this round, although the draft model will
 * give other rows then. */
static bool misses_rows(const spec_rule *rule, const spec_drafter *drafter)
{
    return rule->needs_schedule && drafter->rows_by_round;
}

/* Returns whether the drafter shares noise and the rule does not: such rules assume that drafts are
 * drawn at random. */
static bool misses_noise(const spec_rule *rule, const spec_drafter *drafter)
{
    return drafter->noise.kind != SPEC_NOISE_NONE && rule->noise.kind == SPEC_NOISE_NONE;
}

static bool misses_siblings(const spec_rule *rule, const spec_drafter *drafter)
{
    return drafter->widest >= 2 && !(rule->siblings & SPEC_SIBLINGS_BIT(drafter->siblings));
}

bool spec_decode_fit_allows(const spec_rule *rule, const spec_drafter *drafter,
                            const spec_policy *policy)
{
    return !misses_schedule(rule, drafter, policy) && !misses_rows(rule, drafter) &&
           !misses_noise(rule, drafter) && !misses_siblings(rule, drafter);
}

int spec_decode_fit_check(const spec_rule *rule, const char *rule_spec, const spec_drafter *drafter,
                          const char *drafting, const spec_policy *policy, spec_error *error)
{
    char rules[128] = "";
    if (spec_drafter_nodes(drafter, policy->K) > SPEC_NODES_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "draft strategy '%s' to depth %d has more than %d nodes", drafting,
                         policy->K, SPEC_NODES_MAX);
    if (misses_schedule(rule, drafter, policy))
        return spec_fail(error, GSL_EINVAL,
                         "rule '%s' must know the length of a draft before it is drawn, and from "
                         "one round to the next this length may fall by at most 1: use a chain "
                         "with a length policy like fixed or heuristic",
                         rule->name);
    if (misses_rows(rule, drafter))
        return spec_fail(error, GSL_EINVAL,
                         "rule '%s' needs a draft whose rows do not change between rounds, but "
                         "those of draft heads and block drafts do: use rule block",
                         rule->name);
    if (drafter->kind->nodes != NULL && spec_policy_reads(policy))
        return spec_fail(
            error, GSL_EINVAL,
            "length policy '%s' reads the tokens of a chain; with a tree or a cascade use one "
            "that does not, like fixed or heuristic",
            policy->kind->name);
    if (misses_siblings(rule, drafter)) {
        list_rules(rules, sizeof rules, SPEC_SIBLINGS_BIT(drafter->siblings));
        return spec_fail(
            error, GSL_EINVAL,
            "rule '%s' does not support the %s siblings of draft strategy '%s'; these do: %s",
            rule->name, spec_siblings_names[drafter->siblings], drafting, rules);
    }
    if (misses_noise(rule, drafter))
        return spec_fail(error, GSL_EINVAL,
                         "draft strategy '%s' shares its noise with the rule, and rule '%s' has no "
                         "seed",
                         drafting, rule_spec);
    return GSL_SUCCESS;
}
