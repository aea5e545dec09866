/* spechub: pairs drawn around a hub, the row's argmax a [SunR24]. A pair is (i, a), with probability row_i, or (a,
 * i), with row_a rest_i, where rest is what a left of the row. Each pair gives its i first: in (i, a) with min(1,
 * target_i/row_i), in (a, i) with what that leaves of target_i; and what remains of the pairs gives a, first (a, i),
 * then (i, a). Then of the target nothing is left but (target - rest)+ off the hub. Acceptance: target_a + sum_{i !=
 * a} min(target_i, rest_i).
 *
 * Passes: one over the draft's row for its rest, unless the first test of (i, a) accepts; one over the two rows for
 * what remains of the pairs; one for the correction. So at most 3. */
#include "sim/verify.h"

#include "models/row.h"

#include <assert.h>

/* The row off the hub: rest_i = row_i / sum, or uniform where sum is 0. */
typedef struct {
    const double *target, *row;
    int hub, vocab;
    double sum;
} spokes;

static double rest_of(const spokes *s, int i)
{
    return s->sum > 0.0 ? s->row[i] / s->sum : 1.0 / (s->vocab - 1);
}

static double positive(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* What (i, a) leaves of target_i. */
static double second_share(const spokes *s, int i)
{
    return positive(s->target[i] - s->row[i]);
}

/* What remains of the pairs (i, a) and (a, i) when all i have been served. */
static void remains(double *ret_spoke_first, double *ret_hub_first, const spokes *s)
{
    *ret_spoke_first = *ret_hub_first = 0.0;
    for (int i = 0; i < s->vocab; i++) {
        if (i == s->hub) continue;
        *ret_spoke_first += positive(s->row[i] - s->target[i]);
        *ret_hub_first += positive(s->row[s->hub] * rest_of(s, i) - second_share(s, i));
    }
}

static int correct(const spokes *s, double *weight, spec_chance *chance)
{
    double mass = 0.0;
    for (int i = 0; i < s->vocab; i++) {
        weight[i] = i == s->hub ? 0.0 : positive(s->target[i] - rest_of(s, i));
        mass += weight[i];
    }
    return spec_verify_sample(mass > 0.0 ? weight : s->target, s->vocab, chance);
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
{
    (void)rule;
    if (spec_verify_children(draft, node) < 2) return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_HUB && spec_verify_children(draft, node) == 2);
    const int first = spec_verify_child(draft, node, node + 1);
    const int x = draft->token[first], y = draft->token[spec_verify_child(draft, node, first + 1)];
    const double *row = draft->row[first];
    /* The hub is one of the two, and the argmax of all is that of the two, ties included. */
    const bool hub_first = row[x] > row[y] || (row[x] == row[y] && x < y);
    spokes s = {.target = target, .row = row, .hub = hub_first ? x : y, .vocab = draft->vocab};
    double spoke_remains, hub_remains;
    if (!hub_first && spec_chance_accept(chance, target[x], row[x])) return x;

    s.sum = spec_row_sum(row, s.hub) + spec_row_sum(row + s.hub + 1, s.vocab - s.hub - 1);
    if (hub_first && spec_chance_accept(chance, second_share(&s, y), row[s.hub] * rest_of(&s, y))) return y;

    remains(&spoke_remains, &hub_remains, &s);
    const double left = hub_first ? target[s.hub] : positive(target[s.hub] - hub_remains);
    if (spec_chance_accept(chance, left, hub_first ? hub_remains : spoke_remains)) return s.hub;
    return correct(&s, weight, chance);
}

const spec_rule spec_verify_spechub = {
    .name = "spechub",
    .summary = "pairs around the draft's argmax: serve the other token first, the argmax with what remains",
    .reference = "SunR24",
    .claim = SPEC_LOSSLESS,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_HUB),
    .verify = spec_verify_walk,
    .decide = decide,
};
