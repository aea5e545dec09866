/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spechub: pairs drawn around a hub, the row's argmax a [SunR24]. A pair is (i, a), with
 * probability row_i, or (a, i), with probability row_a rest_i, where rest is the row without a,
 * renormalised. Each pair first offers its i: (i, a) is accepted with min(1, target_i/row_i), and
 * (a, i) takes what remains of target_i. The remaining mass of the pairs goes to a, first from (a,
 * i), then from (i, a). The residual is then (target - rest)+ at all tokens but the hub.
 * Acceptance: target_a + sum_{i != a} min(target_i, rest_i).
 *
 * Cost, in passes: one over the draft's row for its rest, unless the first test of (i, a) accepts;
 * one over the two rows for the remaining mass of the pairs; one for the correction. So at most
 * 3. */
#include "sim/verify/verify.h"

#include "models/row.h"

#include <assert.h>

static double positive(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* Draws from (target - rest)+ at all tokens but the hub. */
static int correct(const double *target, const double *row, int hub, double others, double *weight,
                   const spec_draft *draft, spec_chance *chance)
{
    const int vocab = draft->vocab;
    if (others > 0.0) {
        const spec_residual residual = {
            .target = target, .row = row, .taken = 1.0 / others, .but = hub, .vocab = vocab};
        return spec_verify_sample_residual(&residual, weight, spec_residual_sum(weight, &residual),
                                           chance);
    }
    double mass = 0.0;
    for (int i = 0; i < vocab; i++) {
        weight[i] = i == hub ? 0.0 : positive(target[i] - 1.0 / (vocab - 1));
        mass += weight[i];
    }
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    if (spec_verify_children(draft, node) < 2)
        return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_HUB && spec_verify_children(draft, node) == 2);
    const int first = spec_verify_child(draft, node, node + 1), vocab = draft->vocab;
    const int x = draft->token[first], y = draft->token[spec_verify_child(draft, node, first + 1)];
    const double *row = draft->row[first];
    /* The hub is one of the two children, and their argmax is the row's argmax, ties included. */
    const bool hub_first = row[x] > row[y] || (row[x] == row[y] && x < y);
    const int hub = hub_first ? x : y, after = hub + 1;
    if (!hub_first && spec_chance_accept(chance, target[x], row[x])) return x;

    /* rest_i = row_i / others, or uniform if others is 0; row_a rest_i = rise row_i + flat. */
    const double others = spec_row_sum(row, hub) + spec_row_sum(row + after, vocab - after);
    const double rise = others > 0.0 ? row[hub] / others : 0.0,
                 flat = others > 0.0 ? 0.0 : row[hub] / (vocab - 1);
    if (hub_first && spec_chance_accept(chance, positive(target[y] - row[y]), rise * row[y] + flat))
        return y;

    /* Remaining mass of the pairs (i, a) and of the pairs (a, i) after every i has been offered:
     * before the hub takes its part, and after it. */
    double spokes[2], hubs[2];
    spec_residual_pair(&spokes[0], &hubs[0], target, row, rise, flat, hub);
    spec_residual_pair(&spokes[1], &hubs[1], target + after, row + after, rise, flat,
                       vocab - after);
    const double spoke_remains = spokes[0] + spokes[1], hub_remains = hubs[0] + hubs[1];
    const double has = hub_first ? target[hub] : positive(target[hub] - hub_remains);
    if (spec_chance_accept(chance, has, hub_first ? hub_remains : spoke_remains)) return hub;
    return correct(target, row, hub, others, weight, draft, chance);
}

const spec_rule spec_verify_spechub = {
    .name = "spechub",
    .summary = "pairs around the draft's argmax: give probability to the other token first, and "
               "what remains to the argmax",
    .reference = "SunR24",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_HUB,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_HUB),
    .verify = spec_verify_walk,
    .decide = decide,
};
