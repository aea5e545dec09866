/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block: block verification of one chain [Sun25] Algorithm 2; docs/formulas/rules.md#block. In a
 * tree it follows the first children. Cost, in passes over a pair of rows: none if the whole block
 * is accepted, else one per rejected position, and one for the draw. */
#include "sim/verify/verify.h"

#include <assert.h>
#include <math.h>

/* The chain being judged. reach[i] is the product of the ratios target/draft of the first i tokens,
 * with the rule's caps: they are kept with chance min(1, reach[i]). If it is capped after each
 * token, a product above 1 is lost, but a deficit remains until later ratios above 1 repay it. */
typedef struct {
    int n;
    int node[SPEC_K_MAX];
    double reach[SPEC_K_MAX + 1];
    double joint; /* the product of all ratios */
} block;

double spec_verify_drafted(const spec_draft *draft, int node, int token)
{
    const double *law = spec_draft_law(draft, node);
    return law != NULL ? law[token] : token == draft->token[node] ? 1.0 : 0.0;
}

/* Multiplies before dividing: a ratio alone may be infinite, and a product with 0 must stay 0. */
double spec_verify_ratio(double ratio, double target, double drafted)
{
    return fmin(ratio * target / drafted, SPEC_VERIFY_RATIO_MAX);
}

static void read_block(block *b, const spec_draft *draft, const double *const *target,
                       spec_block_caps caps)
{
    const double most = caps == SPEC_BLOCK_UNCAPPED ? SPEC_VERIFY_RATIO_MAX : 1.0;
    int n = 0;
    b->reach[0] = b->joint = 1.0;
    for (int at = -1, node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        const int token = draft->token[node];
        const double chance = target[at + 1][token], law = spec_verify_drafted(draft, node, token);
        assert(n < SPEC_K_MAX && law > 0.0); /* else it was not drawn from that law */
        b->joint = spec_verify_ratio(b->joint, chance, law);
        b->node[n] = node;
        b->reach[n + 1] = fmin(spec_verify_ratio(b->reach[n], chance, law), most);
        n++;
    }
    b->n = n;
}

double spec_verify_block_residual(double *weight, double ratio, const double *target,
                                  const spec_draft *draft, int node)
{
    const double *law = spec_draft_law(draft, node);
    double mass = 0.0;
    for (int i = 0; i < draft->vocab; i++) {
        const double drafted = law != NULL ? law[i] : i == draft->token[node] ? 1.0 : 0.0;
        const double residual = ratio * target[i] - drafted;
        weight[i] = residual > 0.0 ? residual : 0.0;
        mass += weight[i];
    }
    return mass;
}

void spec_verify_block_by(spec_round *round, const spec_draft *draft, const double *const *target,
                          spec_block_caps caps, double *weight, spec_chance *chance)
{
    block b;
    double mass = 0.0;
    spec_verify_begin(round, draft);
    read_block(&b, draft, target, caps);

    /* From the longest prefix to the empty one, which is kept for certain: its reach is 1. */
    int kept = b.n;
    bool keeps =
        spec_chance_accept(chance, caps == SPEC_BLOCK_LAST_UNCAPPED ? b.joint : b.reach[b.n], 1.0);
    while (!keeps) {
        kept--;
        const double *row = target[kept > 0 ? b.node[kept - 1] + 1 : 0], reach = b.reach[kept];
        mass = spec_verify_block_residual(weight, reach, row, draft, b.node[kept]);
        keeps = spec_chance_accept(chance, mass, reach < 1.0 ? mass + (1.0 - reach) : mass);
    }

    for (int i = 0; i < kept; i++) spec_verify_accept(round, draft, b.node[i]);
    const double *row = target[kept > 0 ? b.node[kept - 1] + 1 : 0];
    /* The mass is 0 if all tokens are kept, and then this draws the bonus token. It is also 0 if
     * two rows are equal up to rounding. */
    spec_verify_end(round, spec_verify_sample(mass > 0.0 ? weight : row, draft->vocab, chance));
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    (void)rule;
    spec_verify_block_by(ret_round, draft, target, SPEC_BLOCK_CAPPED, weight, chance);
}

const spec_rule spec_verify_block = {
    .name = "block",
    .summary = "verify the drafted chain as one block: accepts at least as much as token",
    .reference = "Sun25",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_BLOCK,
    .verify = verify,
};
