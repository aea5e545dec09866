/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gumbel: draft and target coupled as by Gumbel-max sampling with common noise [Daliri24]. Each
 * takes the token that arrives first in a race, at its exponential clock over its probability, with
 * the same clocks; docs/formulas/acceptance.md#coupling. Accepting takes one pass over the two
 * rows; a correction takes another pass and a sort. With a seed, the rule runs the race itself. */
#include "sim/verify/ratio_sort.h"
#include "sim/verify/verify.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_verify_share(rule, SPEC_NOISE_RACES, settings, error);
}

/* Allocates the entries and as many more to sort them. */
static int open_room(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    (void)n_nodes;
    rule->state = malloc(2 * (size_t)vocab * sizeof(spec_ratio_entry));
    return rule->state != NULL ? GSL_SUCCESS
                               : spec_fail(error, GSL_ENOMEM, "out of memory for %d ratios", vocab);
}

/* Fills weight with the chances that the draft takes `token` and the target another token, and
 * returns their sum. For token j it is draft(token) target(j) times the integral of 1/D^2 from the
 * token's ratio to j's, where D(t) = sum max(draft t, target). D is linear between ratios: there
 * the integral from a to b is (b - a) / (D(a) D(b)). Beyond the last finite ratio the slope is 1,
 * and the integral is 1/D(a). */
static double corrections(double *weight, const double *target, const double *law, int token,
                          int vocab, spec_ratio_entry *entries)
{
    const double from = target[token] / law[token];
    double flat = 0.0, slope = 0.0; /* D(t) = flat + slope t */
    int n = 0;
    for (int i = 0; i < vocab; i++) {
        const double ratio = target[i] / law[i]; /* NaN, which is not above, if both are 0 */
        weight[i] = 0.0;
        if (ratio > from) {
            entries[n++] = (spec_ratio_entry){ratio, i};
            flat += target[i];
        } else {
            slope += law[i];
        }
    }
    entries = spec_ratio_sort(entries, n);

    double at = from, height = flat + slope * from, integral = 0.0, mass = 0.0;
    for (int i = 0; i < n; i++) {
        const double to = entries[i].ratio;
        const int other = entries[i].token;
        if (to > at) {
            const double there = flat + slope * to;
            integral += isinf(to) ? law[token] / height : law[token] * (to - at) / there / height;
            height = there;
            at = to;
        }
        weight[other] = target[other] * integral;
        mass += weight[other];
        flat -= target[other];
        slope += law[other];
    }
    return mass;
}

/* Accepts with the chance that both take the token x, given that the draft does: 1 / sum_k
 * max(target_k / target_x, draft_k / draft_x), over draft_x. */
static bool accept(const double *target, const double *law, int token, int vocab,
                   spec_chance *chance)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) {
        const double theirs = target[i] * law[token], ours = law[i] * target[token];
        sum += theirs > ours ? theirs : ours;
    }
    return spec_chance_accept(chance, target[token], sum);
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    const int child = spec_verify_child(draft, node, node + 1), vocab = draft->vocab;
    const double *law = child >= 0 ? spec_draft_law(draft, child) : NULL;
    if (law == NULL)
        return spec_verify_sample(target, vocab,
                                  /* a chosen token carries no information about the race */
                                  chance);
    const int token = draft->token[child];
    assert(law[token] > 0.0); /* else it was not drawn from that law */
    if (accept(target, law, token, vocab, chance)) return token;
    const double mass = corrections(weight, target, law, token, vocab, rule->state);
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

const spec_rule spec_verify_gumbel = {
    .name = "gumbel",
    .usage = "gumbel?seed=none",
    .summary = "coupling by shared exponential races; with a seed, shared with the draft gumbel, "
               "the text depends on the seed alone",
    .reference = "Daliri24",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .open = open_room,
    .close = free,
    .verify = spec_verify_walk,
    .decide = decide,
};
