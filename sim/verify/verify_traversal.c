/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traversal: traversal verification [Weng25], from the leaves to the root;
 * docs/formulas/rules.md#traversal. On a chain it equals block, decision by decision.
 *
 * A node that is reached with `reach` has the share reach * target of the next token. Its children
 * are judged one after the other, each with all nodes below it, and each takes its part of the
 * share. The mass left over, divided by the chance that no child is kept, is the chance to keep the
 * node itself. For every kind of siblings the residual has the form (reach * target - taken * row -
 * evenly)+, so a few numbers per level describe it.
 *
 * univer: the same shares, but the drawn child is judged last [WengU26];
 * docs/formulas/newer-rules.md#univer.
 *
 * Cost, in passes: one over a pair of rows for each rejected child whose parent is reached, one
 * over the draft's row for each node with siblings that are not iid, and one for the draw. */
#include "sim/verify/verify.h"

#include <assert.h>
#include <float.h>
#include <math.h>

typedef struct {
    const spec_draft *draft;
    const double *const *target;
    double *weight;
    spec_chance *chance;
    bool drawn_last;
    int kept;      /* the node that is kept */
    bool corrects; /* weight holds the residual after it; false: the target's whole row applies
                    * there */
    int first[SPEC_NODES_MAX + 1]; /* [i+1]: the first child of node i, [0]: of the root; or -1 */
    int next[SPEC_NODES_MAX];      /* [i]: the next sibling of node i, or -1 */
} traversal;

/* The children of one node while they are judged. */
typedef struct {
    int node, n, judged;
    double reach;
    double residual;      /* sum of the residual of reach * target, which after the first child is
                           * in weight */
    /* chance that none of the children judged so far is kept: residual + 1 - reach */
    double missed;
    double taken, evenly; /* the residual is (reach * target - taken * row - evenly)+ */
    double others;        /* the row's sum over tokens that no child has */
    double rest; /* of the child at hand: the row's sum over its possible tokens; their number if */
    bool even;   /* that sum is 0, and they are equally likely */
} family;

static void link_children(traversal *t)
{
    const spec_draft *draft = t->draft;
    for (int i = 0; i <= draft->n_nodes; i++) t->first[i] = -1;
    for (int i = draft->n_nodes - 1; i >= 0; i--) {
        t->next[i] = t->first[draft->parent[i] + 1];
        t->first[draft->parent[i] + 1] = i;
    }
}

/* Returns whether the node has this child for certain: it was chosen, or it is the hub of its pair,
 * i.e. the more probable of the two. */
static bool is_sure(const traversal *t, const family *f, int child)
{
    const spec_draft *draft = t->draft;
    if (!draft->sampled[child]) return true;
    if (draft->siblings != SPEC_SIBLINGS_HUB || f->n < 2) return false;
    const int eldest = t->first[f->node + 1], other = child == eldest ? t->next[eldest] : eldest;
    const int token = draft->token[child], rival = draft->token[other];
    const double *row = draft->row[child];
    return row[token] > row[rival] || (row[token] == row[rival] && token < rival);
}

/* Returns the row's sum over the possible tokens of a drawn child: all but the certain children
 * and, without replacement, its elder siblings. */
static double rest_for(const traversal *t, const family *f, int child)
{
    const spec_draft *draft = t->draft;
    const bool without = draft->siblings == SPEC_SIBLINGS_WITHOUT;
    const double *row = draft->row[child];
    if (f->n < 2 || draft->siblings == SPEC_SIBLINGS_IID || (without && f->judged == 0)) return 1.0;
    if (!without)
        return spec_verify_rest(t->weight, draft, f->node, row) + row[draft->token[child]];
    double rest = f->others;
    for (int i = child; i >= 0; i = t->next[i]) rest += row[draft->token[i]];
    return rest;
}

/* Fills weight with the residual after `child`. It is 0 at judged tokens; nothing is subtracted
 * from a certain child before its turn. */
static void leave(traversal *t, family *f, int child, bool sure)
{
    const spec_draft *draft = t->draft;
    const double *target = t->target[f->node + 1], *row = f->taken > 0.0 ? draft->row[child] : NULL;
    double *weight = t->weight;
    for (int i = 0; i < draft->vocab; i++) {
        const double residual =
            f->reach * target[i] - (f->evenly + (row != NULL ? f->taken * row[i] : 0.0));
        weight[i] = residual > 0.0 ? residual : 0.0;
    }
    for (int i = t->first[f->node + 1]; i >= 0; i = t->next[i]) {
        const int token = draft->token[i];
        const bool is = is_sure(t, f, i);
        if (is == sure ? i <= child : sure) weight[token] = 0.0;
        else if (is) weight[token] = f->reach * target[token];
    }
    f->residual = 0.0;
    for (int i = 0; i < draft->vocab; i++) f->residual += weight[i];
    f->missed = f->residual + (1.0 - f->reach);
}

/* Returns the chance with which a child is reached if none that was judged before it is kept. */
static double reach_of(const traversal *t, family *f, int child, bool sure)
{
    const spec_draft *draft = t->draft;
    const int token = draft->token[child];
    const bool without = draft->siblings == SPEC_SIBLINGS_WITHOUT;
    double law = 1.0;
    f->rest = sure ? 1.0 : rest_for(t, f, child);
    f->even = !(f->rest > 0.0);
    if (f->even)
        f->rest = draft->vocab - (without ? f->judged : f->n - 1);
    else if (!sure) law = draft->row[child][token];

    const double residual =
        f->judged > 0 ? t->weight[token] : f->reach * t->target[f->node + 1][token];
    return residual > 0.0 ? fmin(residual * f->rest / (f->missed * law), 1.0) : 0.0;
}

static void give_up(traversal *t, family *f, int child, bool sure)
{
    const spec_draft *draft = t->draft;
    if (draft->siblings == SPEC_SIBLINGS_WITHOUT && f->judged == 0)
        f->others = spec_verify_rest(t->weight, draft, f->node, draft->row[child]);
    f->judged++;
    if (f->even)
        f->evenly += f->missed / f->rest;
    else if (!sure)
        f->taken = fmin(f->taken + f->missed / f->rest, DBL_MAX); /* infinity times 0 is not 0 */
    leave(t, f, child, sure);
}

static bool keeps(traversal *t, int node, double reach);

/* Returns whether a node below is kept. The children are judged in order, each with all nodes below
 * it, but the certain ones last, because their laws do not depend on the others. */
static bool keeps_below(traversal *t, family *f)
{
    for (int sure = 0; sure < 2; sure++)
        for (int child = t->first[f->node + 1]; child >= 0 && f->residual > 0.0;
             child = t->next[child]) {
            if (is_sure(t, f, child) != sure) continue;
            const double reach = reach_of(t, f, child, sure);
            /* With reach 0, nothing below is reached. */
            if (reach > 0.0 && keeps(t, child, reach)) return true;
            give_up(t, f, child, sure);
        }
    return false;
}

/* The same for univer: all children but `drawn` were chosen, and are judged first. A child has the
 * same share in both orders, and is reached with its share over `left`, the chance that none before
 * it is kept. */
static bool keeps_below_drawn_last(traversal *t, family *f, int drawn)
{
    const double *target = t->target[f->node + 1], own = reach_of(t, f, drawn, false);
    double left = 1.0;
    int last = drawn;
    give_up(t, f, drawn, false);
    const double scale = own < 1.0 ? (1.0 - own) / f->missed : 0.0;
    for (int child = t->first[f->node + 1]; child >= 0; child = t->next[child]) {
        const double share = scale * f->reach * target[t->draft->token[child]];
        if (child == drawn) continue;
        last = child;
        if (share > 0.0 && keeps(t, child, share < left ? share / left : 1.0)) return true;
        left -= share;
    }
    if (own > 0.0 && keeps(t, drawn, own < left ? own / left : 1.0)) return true;
    leave(t, f, last, true);
    return false;
}

/* Returns whether the node or one below it is kept. */
static bool keeps(traversal *t, int node, double reach)
{
    family f = {.node = node, .reach = reach, .residual = reach, .missed = 1.0};
    int drawn = -1;
    for (int child = t->first[node + 1]; child >= 0; child = t->next[child]) {
        f.n++;
        if (t->draft->sampled[child]) drawn = child;
    }
    if (t->drawn_last && drawn >= 0 ? keeps_below_drawn_last(t, &f, drawn) : keeps_below(t, &f))
        return true;

    if (!spec_chance_accept(t->chance, f.residual, f.missed)) return false;
    t->kept = node;
    t->corrects =
        f.judged > 0 && f.residual > 0.0; /* rounding may leave no residual if two rows are equal */
    return true;
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    traversal t = {.draft = draft,
                   .target = target,
                   .weight = weight,
                   .chance = chance,
                   .drawn_last = rule->settings.traversal.drawn_last};
    int path[SPEC_K_MAX], depth = 0;
    spec_verify_begin(ret_round, draft);
    link_children(&t);
    keeps(&t, -1, 1.0); /* at least the root is kept */

    for (int node = t.kept; node >= 0; node = draft->parent[node]) {
        assert(depth < SPEC_K_MAX);
        path[depth++] = node;
    }
    while (depth > 0) spec_verify_accept(ret_round, draft, path[--depth]);
    spec_verify_end(ret_round, spec_verify_sample(t.corrects ? weight : target[t.kept + 1],
                                                  draft->vocab, chance));
}

const spec_rule spec_verify_traversal = {
    .name = "traversal",
    .summary = "verify a tree from its leaves to the root: block verification for siblings of "
               "every kind",
    .reference = "Weng25",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_LEAVES,
    .siblings = SPEC_SIBLINGS_ANY & ~SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TAIL),
    .verify = verify,
};

const spec_rule spec_verify_univer = {
    .name = "univer",
    .summary = "traversal for greedy siblings, but the drawn one is judged after the chosen ones",
    .reference = "WengU26",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_LEAVES,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_GREEDY),
    .verify = verify,
    .settings.traversal.drawn_last = true,
};
