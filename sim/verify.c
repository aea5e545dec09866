#include "sim/verify.h"

#include "models/names.h"
#include "models/row.h"

#include <assert.h>

const spec_rule *const spec_rules[] = {
    &spec_verify_token,
    &spec_verify_match,
    &spec_verify_greedy,
    &spec_verify_resample_target,
    &spec_verify_greedy_softmax,
    NULL,
};

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

void spec_verify_begin(spec_round *round, const spec_draft *draft)
{
    round->n_drafted = draft->n_nodes;
    round->n_accepted = 0;
    round->n_emitted = 0;
}

void spec_verify_accept(spec_round *round, const spec_draft *draft, int node)
{
    round->node[round->n_accepted++] = node;
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

int spec_verify_correct(const double *target, const double *opt_draft, int token, int vocab, double *weight,
                        spec_chance *chance)
{
    double mass = 0.0;
    for (int i = 0; i < vocab; i++) {
        const double draft = opt_draft != NULL ? opt_draft[i] : i == token ? 1.0 : 0.0;
        weight[i] = target[i] > draft ? target[i] - draft : 0.0;
        mass += weight[i];
    }
    return spec_chance_pick(chance, mass > 0.0 ? weight : target, vocab);
}

/* The child of `node` that has this token, or -1. */
static int child_with(const spec_draft *draft, int node, int token)
{
    int child = spec_verify_child(draft, node, node + 1);
    while (child >= 0 && draft->token[child] != token) child = spec_verify_child(draft, node, child + 1);
    return child;
}

void spec_verify_follow(spec_round *round, const spec_draft *draft, const double *const *target,
                        spec_chance *opt_chance)
{
    int node = -1, token;
    spec_verify_begin(round, draft);
    for (;;) {
        const double *row = target[node + 1];
        token = opt_chance != NULL ? spec_verify_sample(row, draft->vocab, opt_chance)
                                   : spec_row_argmax(row, draft->vocab);
        node = child_with(draft, node, token);
        if (node < 0) break;
        spec_verify_accept(round, draft, node);
    }
    spec_verify_end(round, token);
}
