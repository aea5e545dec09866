/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mentored: mentored decoding [TranThien23]: accepts as much as a divergence of `budget` nats per
 * token allows; docs/formulas/rules.md#mentored. The output law is the draft's row clamped to
 * target/b .. target/a: raised to target/b for the tokens with the largest target/draft, lowered to
 * target/a for those with the smallest. So the tokens are sorted by that ratio once, and sums over
 * both ends of the order give the divergence at any a. */
#include "sim/verify/ratio_sort.h"
#include "sim/verify/verify.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { BISECTIONS = 50 };

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->settings.mentored.budget, settings, "budget", 0.1, 0.0,
                                1000.0, error);
}

/* The two rows at a position in the order of target/draft. _below are sums over the first i tokens,
 * _above over the others. entropy sums target log(target/draft) where both are positive. */
typedef struct {
    int vocab, n_drafted;    /* tokens with draft > 0, which come first */
    spec_ratio_entry *items; /* (2, V) */
    double *ratio, *target_below, *draft_below, *target_above, *draft_above, *entropy; /* (V+1) */
} order;

static void close_order(void *state)
{
    order *o = state;
    free(o->items);
    free(o->ratio);
    free(o);
}

static int open_order(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    (void)n_nodes;
    const size_t n = (size_t)vocab + 1;
    order *o = calloc(1, sizeof *o);
    if (o == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for rows of %d tokens", vocab);
    o->vocab = vocab;
    o->items = calloc(n, 2 * sizeof *o->items);
    o->ratio = calloc(n, 6 * sizeof *o->ratio); /* six rows in one block */
    if (o->items == NULL || o->ratio == NULL) {
        close_order(o);
        return spec_fail(error, GSL_ENOMEM, "out of memory for rows of %d tokens", vocab);
    }
    o->target_below = o->ratio + n;
    o->draft_below = o->target_below + n;
    o->target_above = o->draft_below + n;
    o->draft_above = o->target_above + n;
    o->entropy = o->draft_above + n;
    rule->state = o;
    return GSL_SUCCESS;
}

/* The two rows at one position; opt_law NULL: the draft is one-hot at `token`. */
typedef struct {
    const double *target, *opt_law;
    int token, vocab;
} place;

static double drafted(const place *at, int i)
{
    return at->opt_law != NULL ? at->opt_law[i] : i == at->token ? 1.0 : 0.0;
}

static void sort(order *o, const place *at)
{
    const int V = o->vocab;
    o->n_drafted = 0;
    for (int i = 0; i < V; i++) {
        const double ratio = drafted(at, i) > 0.0 ? at->target[i] / drafted(at, i) : INFINITY;
        o->items[i] = (spec_ratio_entry){ratio, i};
        if (drafted(at, i) > 0.0) o->n_drafted++;
    }
    const spec_ratio_entry *items = spec_ratio_sort(o->items, V);
    for (int i = 0; i < V; i++) {
        const double target = at->target[items[i].token], draft = drafted(at, items[i].token);
        o->ratio[i] = draft > 0.0 ? target / draft : INFINITY;
        o->target_below[i + 1] = o->target_below[i] + target;
        o->draft_below[i + 1] = o->draft_below[i] + draft;
        o->entropy[i + 1] =
            o->entropy[i] + (target > 0.0 && draft > 0.0 ? target * log(target / draft) : 0.0);
    }
    for (int i = V - 1; i >= 0; i--) {
        const double target = at->target[items[i].token], draft = drafted(at, items[i].token);
        o->target_above[i] = o->target_above[i + 1] + target;
        o->draft_above[i] = o->draft_above[i + 1] + draft;
    }
}

/* Returns the number of tokens with a ratio below `ratio`. */
static int count_below(const order *o, double ratio)
{
    int low = 0, high = o->vocab;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (o->ratio[middle] < ratio)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the first token whose scaled target exceeds the draft when the scale is such that these
 * excesses sum to `rejected`. For an earlier token to be included, the scale would have to be at
 * least 1/ratio, which gives a larger sum. */
static int first_above(const order *o, double rejected)
{
    int low = 0, high = o->vocab;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (o->target_above[middle] / o->ratio[middle] - o->draft_above[middle] < rejected)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Returns KL(target || output law) for this a; infinite if the target has a token that the output
 * never contains. Also sets the scale 1/b at which the target exceeds the draft by the mass that
 * acceptance with target/(a draft) rejects. */
static double divergence(double *ret_scale, const order *o, double a)
{
    const int low = count_below(o, a);
    const double rejected = fmax(o->draft_below[low] - o->target_below[low] / a, 0.0);
    const int high = first_above(o, rejected);
    *ret_scale = fmin((rejected + o->draft_above[high]) / o->target_above[high], 1.0);
    if (!(rejected > 0.0) && o->n_drafted < o->vocab && o->target_above[o->n_drafted] > 0.0)
        return INFINITY;
    const double middle = high > low ? o->entropy[high] - o->entropy[low] : 0.0;
    return o->target_below[low] * log(a) + middle -
           (high < o->vocab ? o->target_above[high] * log(*ret_scale) : 0.0);
}

/* Finds the smallest a whose divergence is within the budget, and its 1/b. At a = 1 the output has
 * the target's law, with divergence 0. */
static void solve(double *ret_a, double *ret_scale, const order *o, double budget)
{
    double low = 0.0;
    *ret_a = *ret_scale = 1.0;
    for (int i = 0; i < BISECTIONS && budget > 0.0; i++) {
        const double a = (low + *ret_a) / 2.0;
        double scale;
        if (divergence(&scale, o, a) <= budget) {
            *ret_a = a;
            *ret_scale = scale;
        } else {
            low = a;
        }
    }
}

static int correct(const place *at, double scale, double *weight, spec_chance *chance)
{
    double mass = 0.0;
    for (int i = 0; i < at->vocab; i++) {
        weight[i] = fmax(scale * at->target[i] - drafted(at, i), 0.0);
        mass += weight[i];
    }
    return spec_chance_pick(chance, mass > 0.0 ? weight : at->target, at->vocab);
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    int last = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, last, last + 1)) >= 0; last = node) {
        const place at = {target[last + 1], spec_draft_law(draft, node), draft->token[node],
                          draft->vocab};
        const double wanted = at.target[at.token], had = drafted(&at, at.token);
        double a = 1.0, scale = 1.0;
        assert(had > 0.0); /* else it was not drawn from that law */
        if (wanted < had) {
            sort(rule->state, &at);
            solve(&a, &scale, rule->state, rule->settings.mentored.budget);
        }
        if (!spec_chance_accept(chance, wanted, a * had)) {
            spec_verify_end(ret_round, correct(&at, scale, weight, chance));
            return;
        }
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, spec_verify_sample(target[last + 1], draft->vocab, chance));
}

const spec_rule spec_verify_mentored = {
    .name = "mentored",
    .usage = "mentored?budget=0.1",
    .summary =
        "LOSSY on purpose: accept as much as possible with KL(target, output) <= budget nats per "
        "token",
    .reference = "TranThien23",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .open = open_order,
    .close = close_order,
    .verify = verify,
};
