/* ot: optimal transport. No rule accepts more of siblings drawn iid: select one of them by the best law there is, and
 * judge it by the token rule against that law. See sim/transport.h. */
#include "sim/verify.h"

#include "sim/transport.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    spec_transport transport;
    int *token;     /* (n_nodes) of siblings */
    double *weight; /* (n_nodes) */
} workspace;

static void close(void *state)
{
    workspace *const work = state;
    spec_transport_free(&work->transport);
    free(work->token);
    free(work->weight);
    free(work);
}

static int open(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    const size_t nodes = n_nodes > 0 ? (size_t)n_nodes : 1;
    workspace *work = calloc(1, sizeof *work);
    int status = GSL_SUCCESS;
    if (work == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    work->token = malloc(nodes * sizeof *work->token);
    work->weight = malloc(nodes * sizeof *work->weight);
    if (work->token == NULL || work->weight == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(spec_transport_init(&work->transport, vocab, error));
    rule->state = work;
done:
    if (status != GSL_SUCCESS) close(work);
    return status;
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
{
    const int n = spec_verify_children(draft, node), vocab = draft->vocab;
    if (n < 2) return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_IID);
    workspace *const work = rule->state;
    spec_transport *const transport = &work->transport;
    int child = node;
    for (int i = 0; i < n; i++) {
        child = spec_verify_child(draft, node, child + 1);
        work->token[i] = draft->token[child];
    }
    spec_transport_sort(transport, target, draft->row[child]);
    spec_transport_solve(transport, n);
    const int token = spec_transport_select(transport, work->token, n, work->weight, chance);
    if (spec_chance_accept(chance, target[token], spec_transport_law(transport, token))) return token;
    for (int i = 0; i < vocab; i++) weight[i] = spec_transport_law(transport, i);
    return spec_verify_sample(spec_verify_excess(weight, target, weight, 1.0, vocab) > 0.0 ? weight : target, vocab,
                              chance);
}

const spec_rule spec_verify_ot = {
    .name = "ot",
    .summary = "iid siblings: select one by the best law there is, and judge it by the token rule against that",
    .reference = "SunZ23",
    .claim = SPEC_LOSSLESS,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .open = open,
    .close = close,
    .verify = spec_verify_walk,
    .decide = decide,
};
