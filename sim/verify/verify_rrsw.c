/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rrsw: recursive rejection sampling without replacement [Jeon24] [Chen24]. As rrs, but each
 * sibling is judged by the law it was drawn from: the rest of the row without the earlier siblings,
 * renormalised.
 *
 * A rejected token has residual 0 from then on. So the residual is (target - taken row)+ here too.
 * `taken` grows by mass/rest, where rest is the row's sum over tokens not yet tested. Once the rest
 * is 0, the siblings are uniform over the tokens not yet tested. The row of these is 0, so nothing
 * was subtracted from their target: the residual is their target less `taken`, which then grows
 * from 0 by mass/(number of them). With V siblings one is always accepted.
 *
 * Each rejection takes one pass over the two rows, so n siblings take at most n passes. If the
 * rejected tokens hold more than half of the draft's row, one pass over this row alone is added. */
#include "sim/verify/verify.h"

#include <assert.h>

/* Returns the row's sum over all tokens but the rejected siblings before `child`: 1 minus the sum
 * over these, or a direct sum if that is more accurate. others: the sum over the tokens that no
 * sibling has, negative while unknown. */
static double rest_from(double *others, const spec_draft *draft, int node, int child,
                        const double *row, double gone)
{
    if (gone <= 0.5) return 1.0 - gone;
    if (*others < 0.0) *others = spec_verify_rest_sum(draft, node, row);
    double rest = *others;
    for (; child >= 0; child = spec_verify_child(draft, node, child + 1))
        rest += row[draft->token[child]];
    return rest;
}

/* Computes the residual if the rest is 0: fills weight with (target - taken)+ where the row is 0,
 * and returns its sum. */
static double uniform_residual(double *weight, const double *target, const double *row,
                               double taken, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) {
        weight[i] = row[i] > 0.0 || target[i] <= taken ? 0.0 : target[i] - taken;
        sum += weight[i];
    }
    return sum;
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    if (spec_verify_children(draft, node) < 2)
        return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_WITHOUT);
    const int vocab = draft->vocab;
    const double *row = draft->row[spec_verify_child(draft, node, node + 1)];
    spec_residual residual = {.target = target, .row = row, .but = -1, .vocab = vocab};
    double mass = 1.0, rest = 1.0, gone = 0.0, others = -1.0;
    bool uniform = false;
    int tried = 0;
    for (int child = node + 1; mass > 0.0 && (child = spec_verify_child(draft, node, child)) >= 0;
         child++, tried++) {
        const int token = draft->token[child];
        if (!uniform) {
            rest = rest_from(&others, draft, node, child, row, gone);
            uniform = !(rest > 0.0);
            if (uniform) residual.taken = 0.0;
        }
        if (uniform) rest = vocab - tried;
        const double law = uniform ? 1.0 : row[token], has = target[token] - residual.taken * law;
        if (spec_chance_accept(chance, (has > 0.0 ? has : 0.0) * rest, mass * law)) return token;

        gone += row[token];
        residual.taken += mass / rest;
        mass = uniform ? uniform_residual(weight, target, row, residual.taken, vocab)
                       : spec_residual_sum(weight, &residual);
    }
    if (!uniform) return spec_verify_sample_residual(&residual, weight, mass, chance);
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

const spec_rule spec_verify_rrsw = {
    .name = "rrsw",
    .summary = "rrs for siblings without replacement: each is verified against the draft without "
               "the ones before it",
    .reference = "Chen24",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_WITHOUT),
    .verify = spec_verify_walk,
    .decide = decide,
};
