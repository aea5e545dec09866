/* SPDX-License-Identifier: GPL-3.0-or-later */
/* khisti: importance-weighted selection by tournament, then the token rule against the law of the
 * winner [Khisti25]. Of n iid siblings, the others challenge the first in turn. Let law be that of
 * the incumbent. A challenger with a higher target/law replaces the incumbent with chance `share`.
 * One share serves all pairs: the one that maximises sum min(target, law). The paper weighs pairs
 * by a linear program over few tokens; the single share is ours. With it the law of every winner
 * remains a sum over the order of target/law. Let row_below and law_below be the sums over tokens
 * of a lower ratio, and row_through those that include tokens of the same ratio. Then
 *     law' = (1 - share) law + share (law row_through + row law_below)
 *
 * A challenger takes a sort and at most PASSES passes. docs/formulas/rules.md#khisti. */
#include "sim/verify/verify.h"

#include "models/row.h"
#include "sim/verify/transport.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 30 };
#define TIE 1e-9       /* ratios this close are equal: the incumbent stays */
/* a slope this small counts as 0, so of several best shares we take the smallest */
#define FLAT 1e-12
#define ROUNDING 1e-15 /* rounding of a maximised sum */

typedef struct {
    spec_transport order; /* by target/law */
    double *law;          /* (V) law of the incumbent */
    double *prevailed;    /* (V) in the order: the winner's law after a challenge with share 1 */
    int *rank; /* (V) index of the first token with the same ratio; -1 if the law is 0 */
} workspace;

static void close(void *state)
{
    workspace *const work = state;
    spec_transport_free(&work->order);
    free(work->law);
    free(work->prevailed);
    free(work->rank);
    free(work);
}

static int open(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    const size_t V = (size_t)vocab;
    workspace *const work = calloc(1, sizeof *work);
    int status = GSL_SUCCESS;
    (void)n_nodes;
    if (work == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    work->law = malloc(V * sizeof *work->law);
    work->prevailed = malloc(V * sizeof *work->prevailed);
    work->rank = malloc(V * sizeof *work->rank);
    if (work->law == NULL || work->prevailed == NULL || work->rank == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for a vocabulary of %d", vocab));
    SPEC_TRY(spec_transport_init(&work->order, vocab, error));
    rule->state = work;
done:
    if (status != GSL_SUCCESS) close(work);
    return status;
}

/* Sorts by target/law, and fills rank and prevailed. */
static void rank(workspace *work, const double *target, const double *row, double row_sum)
{
    spec_transport *const o = &work->order;
    spec_transport_sort(o, target, work->law);
    for (int i = 0; i < o->vocab; i++) work->rank[i] = -1;
    double through = 0.0;
    for (int first = 0, last = 0; first < o->n_drafted; first = last) {
        for (; last < o->n_drafted; last++) {
            if (o->target[last] * o->draft[first] > o->target[first] * o->draft[last] * (1.0 + TIE))
                break;
            through += row[o->token[last]] / row_sum;
        }
        for (int k = first; k < last; k++) {
            const int token = o->token[k];
            work->rank[token] = first;
            work->prevailed[k] =
                o->draft[k] * through + row[token] / row_sum * o->draft_below[first];
        }
    }
}

/* Returns the sum of min(target, law) after a challenge with that share, and its slope. */
static double common(const workspace *work, double share, double *ret_slope)
{
    const spec_transport *const o = &work->order;
    double sum = 0.0, slope = 0.0;
    for (int k = 0; k < o->n_drafted; k++) {
        const double gain = work->prevailed[k] - o->draft[k], law = o->draft[k] + share * gain;
        sum += law < o->target[k] ? law : o->target[k];
        slope += law < o->target[k] ? gain : 0.0;
    }
    *ret_slope = slope;
    return sum;
}

/* Returns the smallest share with the largest sum, which is concave in the share: the intersection
 * of the tangents on both sides, repeated until the sum there is as large as it predicts. Any share
 * is lossless. */
static double best_share(const workspace *work)
{
    double low = 0.0, high = 1.0, rising, falling, slope;
    double sum_low = common(work, low, &rising), sum_high = common(work, high, &falling);
    if (!(rising > FLAT)) return low;
    if (falling > FLAT) return high;
    for (int pass = 2; pass < PASSES; pass++) {
        const double share =
            (sum_high - sum_low + rising * low - falling * high) / (rising - falling);
        if (!(share > low && share < high)) break;
        const double sum = common(work, share, &slope);
        if (!(sum_low + rising * (share - low) - sum > ROUNDING)) return share;
        if (slope > FLAT) {
            low = share;
            sum_low = sum;
            rising = slope;
        } else {
            high = share;
            sum_high = sum;
            falling = slope;
        }
    }
    return sum_low > sum_high ? low : high;
}

static void update_law(workspace *work, double share)
{
    const spec_transport *const o = &work->order;
    for (int k = 0; k < o->n_drafted; k++)
        work->law[o->token[k]] = (1.0 - share) * o->draft[k] + share * work->prevailed[k];
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    if (spec_verify_children(draft, node) < 2)
        return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_IID);
    workspace *const work = rule->state;
    const int vocab = draft->vocab, first = spec_verify_child(draft, node, node + 1);
    const double *const row = draft->row[first], row_sum = spec_row_sum(row, vocab);
    int winner = draft->token[first];
    memcpy(work->law, row, (size_t)vocab * sizeof *row);
    for (int child = first; (child = spec_verify_child(draft, node, child + 1)) >= 0;) {
        const int challenger = draft->token[child];
        rank(work, target, row, row_sum);
        const double share = best_share(work);
        if (work->rank[challenger] > work->rank[winner] && spec_chance_accept(chance, share, 1.0))
            winner = challenger;
        update_law(work, share);
    }
    if (spec_chance_accept(chance, target[winner], work->law[winner])) return winner;
    const double mass = spec_verify_residual(weight, target, work->law, 1.0, vocab);
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

const spec_rule spec_verify_khisti = {
    .name = "khisti",
    .summary = "iid siblings: a tournament weighted by target/(distribution of the winner), and "
               "the token rule against that distribution",
    .reference = "Khisti25",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_TOURNAMENT,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .open = open,
    .close = close,
    .verify = spec_verify_walk,
    .decide = decide,
};
