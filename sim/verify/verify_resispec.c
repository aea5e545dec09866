/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resispec: rrs with a residual that is shaped like the draft [ChenZK26];
 * docs/formulas/newer-rules.md#resispec. After the rejection of x, whose deficit is Z = row(x) -
 * left(x), the residual is min(level row, left) at all tokens but x, with the level at which its
 * sum is Z. The paper calls this lossless, because it is the residual of a proxy that agrees with
 * the row at x. But each x has its own proxy, so the corrections do not add up to the missing mass.
 * If V > 2, the rule is biased even for a single draft token. */
#include "sim/verify/verify.h"

#include <math.h>
#include <string.h>

/* Returns the level at which min(level row, left), summed over all tokens but x, equals `lacked`,
 * or infinity if `left` sums to less than `lacked` over the tokens with a positive row. Each step
 * finds more tokens whose whole `left` is taken. */
static double level_of(const double *left, const double *row, int x, double lacked, int vocab)
{
    for (double level = 0.0;;) {
        double taken = 0.0, open = 0.0;
        for (int i = 0; i < vocab; i++) {
            if (i == x || !(row[i] > 0.0)) continue;
            if (left[i] <= level * row[i])
                taken += left[i];
            else
                open += row[i];
        }
        const double next = open > 0.0 ? (lacked - taken) / open : INFINITY;
        if (!(next > level)) return level;
        level = next;
    }
}

/* Replaces left (V), of sum 1, by the shaped residual, of sum 1. Mass that tokens with a positive
 * row cannot supply comes from the others. */
static void shape(double *left, const double *row, int x, int vocab)
{
    const double lacked = row[x] - left[x], level = level_of(left, row, x, lacked, vocab);
    double given = 0.0, others = 0.0;
    left[x] = 0.0;
    for (int i = 0; i < vocab; i++) {
        if (!(row[i] > 0.0)) {
            others += left[i];
        } else if (i != x) {
            left[i] = fmin(left[i], level * row[i]);
            given += left[i];
        }
    }
    const double share = isinf(level) && others > 0.0 ? (lacked - given) / others : 0.0;
    for (int i = 0; i < vocab; i++) left[i] *= (row[i] > 0.0 ? 1.0 : share) / lacked;
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    const int first = spec_verify_child(draft, node, node + 1), vocab = draft->vocab;
    const double *row = first >= 0 ? spec_draft_law(draft, first) : NULL;
    if (row == NULL) return spec_verify_first(draft, node, target, weight, chance);
    memcpy(weight, target, (size_t)vocab * sizeof *weight);
    for (int child = first; child >= 0; child = spec_verify_child(draft, node, child + 1)) {
        const int token = draft->token[child];
        if (spec_chance_accept(chance, weight[token], row[token])) return token;
        shape(weight, row, token, vocab);
    }
    return spec_verify_sample(weight, vocab, chance);
}

const spec_rule spec_verify_resispec = {
    .name = "resispec",
    .summary = "LOSSY, though described as lossless: rrs with a residual shaped like the draft",
    .reference = "ChenZK26",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .verify = spec_verify_walk,
    .decide = decide,
};
