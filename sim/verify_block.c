/* block: block verification of one chain [Sun25] Algorithm 2; docs/formulas.md#block. In a tree the first child is
 * followed. Passes over a pair of rows: none where the whole block is accepted, else one for each place that is given
 * up, and the pick. */
#include "sim/verify.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* The chain that is judged. reach[i] = min(1, reach[i-1] target/draft of token i): the chance
 * that the first i tokens are kept. */
typedef struct {
    int n;
    int node[SPEC_K_MAX];
    double reach[SPEC_K_MAX + 1];
    double joint; /* the product of all ratios, capped nowhere */
} block;

static double draft_probability(const double *opt_law, int token, int i)
{
    return opt_law != NULL ? opt_law[i] : i == token ? 1.0 : 0.0;
}

static void read_block(block *b, const spec_draft *draft, const double *const *target)
{
    int n = 0;
    b->reach[0] = b->joint = 1.0;
    for (int at = -1, node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        const int token = draft->token[node];
        const double law = draft_probability(spec_draft_law(draft, node), token, token);
        assert(n < SPEC_K_MAX && law > 0.0); /* else it was not drawn from that law */
        /* Multiplied before it is divided: a ratio alone may be infinite, and what is 0 must stay 0. */
        const double reach = b->reach[n] * target[at + 1][token] / law;
        b->joint = fmin(b->joint * target[at + 1][token] / law, DBL_MAX);
        b->node[n++] = node;
        b->reach[n] = reach < 1.0 ? reach : 1.0;
    }
    b->n = n;
}

/* Fill weight with (reach * target - draft)+ at the place of `node`; the sum. */
static double residual(double *weight, double reach, const double *target, const spec_draft *draft, int node)
{
    const double *law = spec_draft_law(draft, node);
    double mass = 0.0;
    for (int i = 0; i < draft->vocab; i++) {
        const double rest = reach * target[i] - draft_probability(law, draft->token[node], i);
        weight[i] = rest > 0.0 ? rest : 0.0;
        mass += weight[i];
    }
    return mass;
}

void spec_verify_block_by(spec_round *round, const spec_draft *draft, const double *const *target, bool caps_last,
                          double *weight, spec_chance *chance)
{
    block b;
    double mass = 0.0;
    spec_verify_begin(round, draft);
    read_block(&b, draft, target);

    /* From the longest prefix to the shortest, which is kept for certain: at 0 tokens reach is 1. */
    int kept = b.n;
    bool keeps = spec_chance_accept(chance, caps_last ? b.reach[b.n] : b.joint, 1.0);
    while (!keeps) {
        kept--;
        const double *row = target[kept > 0 ? b.node[kept - 1] + 1 : 0];
        mass = residual(weight, b.reach[kept], row, draft, b.node[kept]);
        keeps = spec_chance_accept(chance, mass, mass + (1.0 - b.reach[kept]));
    }

    for (int i = 0; i < kept; i++) spec_verify_accept(round, draft, b.node[i]);
    const double *row = target[kept > 0 ? b.node[kept - 1] + 1 : 0];
    /* No mass: the bonus; or rounding left nothing of two rows that are equal. */
    spec_verify_end(round, spec_verify_sample(mass > 0.0 ? weight : row, draft->vocab, chance));
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft, const double *const *target,
                   double *weight, spec_chance *chance)
{
    (void)rule;
    spec_verify_block_by(ret_round, draft, target, true, weight, chance);
}

const spec_rule spec_verify_block = {
    .name = "block",
    .summary = "judge the drafted chain as one block: keeps at least as much as token does",
    .reference = "Sun25",
    .claim = SPEC_LOSSLESS,
    .verify = verify,
};
