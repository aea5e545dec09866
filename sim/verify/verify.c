/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/verify.h"

#include "base/names.h"
#include "models/row.h"

#include <assert.h>
#include <string.h>

#define LINE(name) &spec_verify_##name,
const spec_rule *const spec_rules[] = {SPEC_RULES(LINE) NULL};

static const char *name_of(int i)
{
    return spec_rules[i] != NULL ? spec_rules[i]->name : NULL;
}

int spec_rule_find(const spec_rule **ret_rule, const char *name, spec_error *error)
{
    const int i = spec_names_find(name_of, name, "rule", error);
    *ret_rule = i >= 0 ? spec_rules[i] : NULL;
    return i >= 0 ? GSL_SUCCESS : GSL_EINVAL;
}

int spec_rule_init(spec_rule *rule, const char *spec, spec_error *error)
{
    spec_settings settings = {0};
    const spec_rule *line;
    int status = GSL_SUCCESS;
    *rule = (spec_rule){.name = NULL};
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    SPEC_TRY(spec_rule_find(&line, settings.name, error));
    *rule = *line;
    SPEC_TRY(spec_settings_check(&settings, rule->usage != NULL ? rule->usage : rule->name, NULL,
                                 error));
    if (rule->init != NULL) SPEC_TRY(rule->init(rule, &settings, error));
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) *rule = (spec_rule){.name = NULL};
    return status;
}

int spec_rule_open(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    return rule->open != NULL ? rule->open(rule, vocab, n_nodes, error) : GSL_SUCCESS;
}

void spec_rule_reset(const spec_rule *rule)
{
    if (rule->reset != NULL && rule->state != NULL) rule->reset(rule->state);
}

void spec_rule_free(spec_rule *rule)
{
    if (rule->close != NULL && rule->state != NULL) rule->close(rule->state);
    *rule = (spec_rule){.name = NULL};
}

/* Returns the number of positions that are tested: the accepted ones, and one more if the last
 * accepted node has children, whichever of these the rule reads. */
static int tested(const spec_round *round, const spec_draft *draft, int last)
{
    return round->n_accepted + (spec_verify_child(draft, last, last + 1) >= 0 ? 1 : 0);
}

void spec_verify_begin(spec_round *round, const spec_draft *draft)
{
    round->n_drafted = draft->n_nodes;
    round->n_accepted = 0;
    round->n_tested = tested(round, draft, -1);
    round->n_emitted = 0;
}

void spec_verify_accept(spec_round *round, const spec_draft *draft, int node)
{
    round->node[round->n_accepted++] = node;
    round->n_tested = tested(round, draft, node);
    round->token[round->n_emitted++] = draft->token[node];
}

void spec_verify_end(spec_round *round, int token)
{
    round->token[round->n_emitted++] = token;
}

int spec_verify_child(const spec_draft *draft, int node, int from)
{
    assert(from >= 0);
    for (int i = from; i < draft->n_nodes; i++)
        if (draft->parent[i] == node) return i;
    return -1;
}

int spec_verify_sample(const double *row, int vocab, spec_chance *chance)
{
    return spec_chance_pick(chance, row, vocab);
}

int spec_verify_sample_residual(const spec_residual *residual, const double *block, double mass,
                                spec_chance *chance)
{
    if (!(mass > 0.0)) return spec_chance_pick(chance, residual->target, residual->vocab);
    return spec_residual_sample(block, residual, chance);
}

int spec_verify_correct(const double *target, const double *opt_draft, int token, int vocab,
                        double *weight, spec_chance *chance)
{
    const bool one_hot = opt_draft == NULL;
    const spec_residual residual = {.target = target,
                                    .row = one_hot ? target : opt_draft,
                                    .taken = one_hot ? 0.0 : 1.0,
                                    .but = one_hot ? token : -1,
                                    .vocab = vocab};
    return spec_verify_sample_residual(&residual, weight, spec_residual_sum(weight, &residual),
                                       chance);
}

/* ---- top-down -------------------------------------------------------------------------------- */

int spec_verify_children(const spec_draft *draft, int node)
{
    int n = 0;
    for (int i = node + 1; (i = spec_verify_child(draft, node, i)) >= 0; i++) n++;
    return n;
}

/* Returns the first child of `node` with this token, or -1. */
static int child_with(const spec_draft *draft, int node, int token)
{
    int child = spec_verify_child(draft, node, node + 1);
    while (child >= 0 && draft->token[child] != token)
        child = spec_verify_child(draft, node, child + 1);
    return child;
}

void spec_verify_walk(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                      const double *const *target, double *weight, spec_chance *chance)
{
    int node = -1, token;
    spec_verify_begin(ret_round, draft);
    for (;;) {
        token = rule->decide(rule, draft, node, target[node + 1], weight, chance);
        node = child_with(draft, node, token);
        if (node < 0) break;
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, token);
}

int spec_verify_first(const spec_draft *draft, int node, const double *target, double *weight,
                      spec_chance *chance)
{
    const int child = spec_verify_child(draft, node, node + 1);
    if (child < 0) return spec_verify_sample(target, draft->vocab, chance);
    const double *law = spec_draft_law(draft, child);
    const int token = draft->token[child];
    assert(law == NULL || law[token] > 0.0); /* else it was not drawn from that law */
    if (spec_chance_accept(chance, target[token], law != NULL ? law[token] : 1.0)) return token;
    return spec_verify_correct(target, law, token, draft->vocab, weight, chance);
}

double spec_verify_residual(double *weight, const double *target, const double *row, double taken,
                            int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) {
        const double residual = target[i] - taken * row[i];
        weight[i] = residual > 0.0 ? residual : 0.0;
        sum += weight[i];
    }
    return sum;
}

double spec_verify_rest_sum(const spec_draft *draft, int node, const double *row)
{
    double sum = 0.0;
    for (int from = 0, until; from < draft->vocab; from = until + 1) {
        until = draft->vocab; /* up to the next token of a child */
        for (int i = node + 1; (i = spec_verify_child(draft, node, i)) >= 0; i++)
            if (draft->token[i] >= from && draft->token[i] < until) until = draft->token[i];
        sum += spec_row_sum(row + from, until - from);
    }
    return sum;
}

double spec_verify_rest(double *weight, const spec_draft *draft, int node, const double *row)
{
    memcpy(weight, row, (size_t)draft->vocab * sizeof *weight);
    for (int i = node + 1; (i = spec_verify_child(draft, node, i)) >= 0; i++)
        weight[draft->token[i]] = 0.0;
    return spec_row_sum(weight, draft->vocab);
}
