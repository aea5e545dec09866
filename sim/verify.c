#include "sim/verify.h"

#include "models/names.h"

#include <assert.h>

extern const spec_rule spec_verify_token, spec_verify_match, spec_verify_greedy;
extern const spec_rule spec_verify_resample_target, spec_verify_greedy_softmax;

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

int spec_verify_argmax(const double *row, int vocab)
{
    int best = 0;
    for (int i = 1; i < vocab; i++)
        if (row[i] > row[best]) best = i;
    return best;
}
