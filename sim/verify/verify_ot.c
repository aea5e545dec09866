/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ot: optimal transport. It selects one sibling and judges it by the token rule against the law of
 * the selection. Siblings drawn iid are selected by the optimal law (sim/verify/transport.h), and
 * so are siblings without replacement if there are at most ten tokens
 * (sim/verify/transport_sets.h). For a larger vocabulary they are treated as the first distinct
 * tokens of an iid draft of n, whose repetitions are drawn here; the siblings that this draft does
 * not reach are then tested one by one. That accepts at least the optimum of iid siblings, but not
 * the optimum without replacement. */
#include "sim/verify/verify.h"

#include "models/row.h"
#include "sim/verify/transport.h"
#include "sim/verify/transport_sets.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    spec_transport transport;
    spec_transport_sets sets;  /* for small vocabularies */
    int *token, *selectable;   /* (n_nodes) tokens of siblings, in order; tokens to select from */
    double *weight;            /* (n_nodes) */
} workspace;

static void close(void *state)
{
    workspace *const work = state;
    spec_transport_free(&work->transport);
    spec_transport_sets_free(&work->sets);
    free(work->token);
    free(work->selectable);
    free(work->weight);
    free(work);
}

static int open(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    const size_t nodes = (size_t)n_nodes + 1; /* at least 1 */
    workspace *const work = calloc(1, sizeof *work);
    int status = GSL_SUCCESS;
    if (work == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    work->token = malloc(nodes * sizeof *work->token);
    work->selectable = malloc(nodes * sizeof *work->selectable);
    work->weight = malloc(nodes * sizeof *work->weight);
    if (work->token == NULL || work->selectable == NULL || work->weight == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(spec_transport_init(&work->transport, vocab, error));
    if (vocab <= SPEC_TRANSPORT_SETS_VOCAB)
        SPEC_TRY(spec_transport_sets_init(&work->sets, vocab, error));
    rule->state = work;
done:
    if (status != GSL_SUCCESS) close(work);
    return status;
}

/* Selects the best of the n iid `selectable` tokens and judges it. Returns it if accepted; else
 * returns -1, and weight is the residual, whose sum is *ret_mass. */
static int judge(workspace *work, double *ret_mass, const double *target, const double *row, int n,
                 double *weight, spec_chance *chance)
{
    spec_transport *const transport = &work->transport;
    spec_transport_sort(transport, target, row);
    spec_transport_solve(transport, n);
    const int token = spec_transport_select(transport, work->selectable, n, work->weight, chance);
    if (spec_chance_accept(chance, target[token], spec_transport_law(transport, token)))
        return token;
    for (int i = 0; i < transport->vocab; i++) weight[i] = spec_transport_law(transport, i);
    *ret_mass = spec_verify_residual(weight, target, weight, 1.0, transport->vocab);
    return -1;
}

/* ---- without replacement --------------------------------------------------------------------- */

static int decide_by_plan(workspace *work, const double *target, const double *row, int n,
                          double *weight, spec_chance *chance)
{
    const int vocab = work->sets.vocab;
    const spec_transport_plan *const plan = spec_transport_sets_plan(&work->sets, target, row, n);
    unsigned set = 0;
    for (int i = 0; i < n; i++) set |= 1u << work->token[i];
    const int token = spec_chance_pick(chance, plan->share + set * (unsigned)vocab, vocab);
    if (spec_chance_accept(chance, target[token], plan->law[token])) return token;
    return spec_verify_correct(target, plan->law, token, vocab, weight, chance);
}

/* Returns the row's sum over the siblings from the i-th on and over all other tokens; `others` is
 * the sum over the latter. */
static double rest_from(const workspace *work, const double *row, int i, int n, double others)
{
    for (int k = n - 1; k >= i; k--) others += row[work->token[k]];
    return others;
}

/* Fills `selectable` with an iid draft of n tokens whose distinct tokens, in order, are the first
 * siblings; returns how many siblings it contains. */
static int repeat(workspace *work, const double *row, int n, double others, spec_chance *chance)
{
    int used = 0;
    double mass = 0.0; /* row's sum over the siblings drawn so far */
    for (int i = 0; i < n; i++) {
        const double rest = used < n ? rest_from(work, row, used, n, others) : others;
        if (spec_chance_accept(chance, rest, rest + mass)) {
            work->weight[used] = row[work->token[used]];
            mass += work->weight[used];
            work->selectable[i] = work->token[used++];
        } else {
            work->selectable[i] = work->token[spec_chance_pick(chance, work->weight, used)];
        }
    }
    return used;
}

/* After a rejection of the i-th sibling, subtracts the law it was drawn from, scaled by `mass`,
 * from `weight`, whose sum is `mass`. Returns the sum of the new residual. */
static double take_off(workspace *work, double *weight, double mass, const double *row, double rest,
                       int i, int vocab)
{
    for (int k = 0; k < i; k++) work->weight[k] = weight[work->token[k]];
    for (int x = 0; x < vocab; x++) {
        const double residual = weight[x] - mass * (rest > 0.0 ? row[x] / rest : 1.0 / (vocab - i));
        weight[x] = residual > 0.0 ? residual : 0.0;
    }
    for (int k = 0; k < i; k++) weight[work->token[k]] = work->weight[k];
    return spec_row_sum(weight, vocab);
}

static int decide_as_iid(workspace *work, const spec_draft *draft, int node, const double *target,
                         const double *row, int n, double *weight, spec_chance *chance)
{
    const int vocab = draft->vocab;
    const double others = spec_verify_rest(weight, draft, node, row);
    const int used = repeat(work, row, n, others, chance);
    double mass;
    const int selected = judge(work, &mass, target, row, n, weight, chance);
    if (selected >= 0) return selected;
    for (int i = used; i < n && mass > 0.0; i++) {
        const int token = work->token[i];
        const double rest = rest_from(work, row, i, n, others);
        const double law = rest > 0.0 ? row[token] / rest : 1.0 / (vocab - i);
        if (spec_chance_accept(chance, weight[token], mass * law)) return token;
        mass = take_off(work, weight, mass, row, rest, i, vocab);
    }
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    const int n = spec_verify_children(draft, node), vocab = draft->vocab;
    if (n < 2) return spec_verify_first(draft, node, target, weight, chance);
    workspace *const work = rule->state;
    int child = node;
    for (int i = 0; i < n; i++) {
        child = spec_verify_child(draft, node, child + 1);
        work->token[i] = work->selectable[i] = draft->token[child];
    }
    const double *const row = draft->row[child];
    if (draft->siblings == SPEC_SIBLINGS_IID) {
        double mass;
        const int token = judge(work, &mass, target, row, n, weight, chance);
        return token >= 0 ? token : spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
    }
    assert(draft->siblings == SPEC_SIBLINGS_WITHOUT);
    if (n == vocab) return spec_verify_sample(target, vocab, chance);
    return vocab <= SPEC_TRANSPORT_SETS_VOCAB
               ? decide_by_plan(work, target, row, n, weight, chance)
               : decide_as_iid(work, draft, node, target, row, n, weight, chance);
}

const spec_rule spec_verify_ot = {
    .name = "ot",
    .summary =
        "select one sibling by the optimal distribution, and verify it by the token rule against "
        "that distribution",
    .reference = "SunZ23",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_SELECTED,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID) | SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_WITHOUT),
    .open = open,
    .close = close,
    .verify = spec_verify_walk,
    .decide = decide,
};
