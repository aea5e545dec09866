/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decision_role.h"

#include "models/row.h"
#include "sim/verify/transport_sets.h"

const char *const spec_role_names[] = {"other", "draft",      "select", "test",   "keep",
                                       "block", "correction", "bonus",  "target", NULL};

/* ---- drafting -------------------------------------------------------------------------------- */

/* Returns whether the node is the second of a hub pair: the argmax, which is added without a
 * pick. */
static bool joined(const spec_draft *draft, int node)
{
    return draft->siblings == SPEC_SIBLINGS_HUB && node > 0 &&
           draft->parent[node] == draft->parent[node - 1] &&
           draft->token[node] == spec_row_argmax(draft->row[node], draft->vocab);
}

/* Fills in the picks of the draft, which are made in the order of the nodes. Returns how many
 * decisions come before those of the rule. */
static int read_draft(spec_told *told, int n, const spec_draft *draft)
{
    int node = 0, d = 0;
    for (; d < n && told[d].drafting; d++) {
        while (node < draft->n_nodes && (!draft->sampled[node] || joined(draft, node))) node++;
        const bool stays = node < draft->n_nodes && draft->token[node] == told[d].decision.answer;
        told[d].role = SPEC_ROLE_DRAFT;
        told[d].node = stays ? node : -1;
        told[d].after = stays ? draft->parent[node] : draft->n_nodes - 1;
        if (stays) node++;
    }
    return d;
}

/* ---- top-down -------------------------------------------------------------------------------- */

/* Returns the k-th child of a node, counted from 0, or -1. */
static int child_at(const spec_draft *draft, int node, int k)
{
    int child = spec_verify_child(draft, node, node + 1);
    while (child >= 0 && k-- > 0) child = spec_verify_child(draft, node, child + 1);
    return child;
}

static int drawn_child(const spec_draft *draft, int node)
{
    int child = spec_verify_child(draft, node, node + 1);
    while (child >= 0 && !draft->sampled[child]) child = spec_verify_child(draft, node, child + 1);
    return child;
}

/* Returns whether the first node of a pair is the hub, which spechub tests last. */
static bool is_hub(const spec_draft *draft, int first, int second)
{
    const double *row = draft->row[first];
    const int x = draft->token[first], y = draft->token[second];
    return row[x] > row[y] || (row[x] == row[y] && x < y);
}

/* The state while one position is read: the children of the node `after`. */
typedef struct {
    const spec_draft *draft;
    const double *target; /* its row */
    spec_asks asks;       /* how the rule decides with this number of children */
    int after, n_children;
    int accepted; /* the child that the round accepted, or -1 */
    int tests;    /* tests so far */
    bool selected;
    bool block; /* the last pick chose a block */
} position;

/* Returns whether the decision is a step of selecting the sibling to test. */
static bool selects(const position *at, const spec_decision *d)
{
    const spec_draft *draft = at->draft;
    if (at->tests > 0) return false;
    if (at->asks == SPEC_ASKS_SELECTED)
        return !d->accepts && !at->selected &&
               (draft->siblings == SPEC_SIBLINGS_IID || at->n_children < draft->vocab);
    if (at->asks != SPEC_ASKS_TOURNAMENT || !d->accepts || d->den != 1.0) return false;
    /* The winner's law is 1 only if all siblings have the same token, which then has no rival. */
    const int first = child_at(draft, at->after, 0);
    for (int k = 1; k < at->n_children; k++)
        if (draft->token[child_at(draft, at->after, k)] != draft->token[first]) return true;
    return false;
}

/* Returns the selected child: the accepted one, or else the one whose target probability was
 * tested; -1 if several tokens have that probability. */
static int selected(const position *at, const spec_decision *d)
{
    const int *token = at->draft->token;
    int found = -1;
    if (d->answer == 1) return at->accepted;
    for (int k = 0; k < at->n_children; k++) {
        const int child = child_at(at->draft, at->after, k);
        if (at->target[token[child]] != d->num) continue;
        if (found >= 0 && token[found] != token[child]) return -1;
        if (found < 0) found = child;
    }
    return found;
}

static int tested(const position *at, const spec_decision *d)
{
    const spec_draft *draft = at->draft;
    const int next = child_at(draft, at->after, at->tests);
    if (at->asks == SPEC_ASKS_SELECTED || at->asks == SPEC_ASKS_TOURNAMENT) return selected(at, d);
    if (at->asks == SPEC_ASKS_DRAWN) return drawn_child(draft, at->after);
    if (at->asks == SPEC_ASKS_HUB) {
        const int second = child_at(draft, at->after, 1);
        if (is_hub(draft, child_at(draft, at->after, 0), second))
            return child_at(draft, at->after, 1 - at->tests);
    }
    return next;
}

/* Reads one decision; returns true if it decides the token at this position. */
static bool read_at(spec_told *told, position *at)
{
    const spec_decision *d = &told->decision;
    const spec_draft *draft = at->draft;
    told->after = at->after;
    told->node = -1;
    if (selects(at, d)) {
        told->role = SPEC_ROLE_SELECT;
        at->selected = true;
        return false;
    }
    if (d->accepts) {
        told->role = SPEC_ROLE_TEST;
        told->node = tested(at, d);
        at->tests++;
        return d->answer == 1;
    }
    const bool block = !at->block && d->n != draft->vocab;
    told->role = block                ? SPEC_ROLE_BLOCK
                 : at->tests > 0      ? SPEC_ROLE_CORRECTION
                 : at->n_children > 0 ? SPEC_ROLE_TARGET
                                      : SPEC_ROLE_BONUS;
    at->block = block;
    return !block;
}

static void read_top_down(spec_told *told, int n, spec_asks asks, const spec_draft *draft,
                          const double *const *target, const spec_round *round)
{
    int d = 0;
    for (int depth = 0; depth <= round->n_accepted && d < n; depth++, d++) {
        const int after = depth > 0 ? round->node[depth - 1] : -1;
        position at = {.draft = draft,
                       .target = target[after + 1],
                       .after = after,
                       .n_children = spec_verify_children(draft, after),
                       .accepted = depth < round->n_accepted ? round->node[depth] : -1};
        at.asks = at.n_children > 1 ? asks : SPEC_ASKS_CHILDREN;
        while (d < n && !read_at(&told[d], &at)) d++;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Reads the tests of a path's prefixes, the longest first, and then the last token. The round keeps
 * the last prefix that it asked about. In a tree, no other prefix of any path is known. */
static void read_block(spec_told *told, int n, bool leaves, const spec_draft *draft,
                       const spec_round *round)
{
    int kept = round->n_accepted > 0 ? round->node[round->n_accepted - 1] : -1;
    for (int d = n - 1; d >= 0; d--) {
        const bool last = d == n - 1;
        if (draft->branches && leaves && d < n - 2) break;
        told[d].after = kept;
        told[d].node = last ? -1 : kept;
        told[d].role = !last                                          ? SPEC_ROLE_KEEP
                       : spec_verify_child(draft, kept, kept + 1) < 0 ? SPEC_ROLE_BONUS
                                                                      : SPEC_ROLE_CORRECTION;
        if (!last && d > 0) kept = spec_verify_child(draft, kept, kept + 1);
    }
}

/* ---- ahead ----------------------------------------------------------------------------------- */

/* Reads one test per token, and then the last token's picks. Tests beyond the position where the
 * round ended decided that position. */
static void read_ahead(spec_told *told, int n, const spec_draft *draft, int last)
{
    int node = -1;
    for (int d = 0; d < n; d++) {
        if (told[d].decision.accepts) {
            if (node < last) told[d].after = node;
            told[d].node = node = spec_verify_child(draft, node, node + 1);
            told[d].role = SPEC_ROLE_TEST;
            continue;
        }
        told[d].role = d < n - 1                                      ? SPEC_ROLE_BLOCK
                       : spec_verify_child(draft, last, last + 1) < 0 ? SPEC_ROLE_BONUS
                                                                      : SPEC_ROLE_CORRECTION;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Returns how the rule makes its decisions on this draft. */
static spec_asks asks_of(const spec_rule *rule, const spec_draft *draft)
{
    if (rule->asks == SPEC_ASKS_SELECTED && draft->siblings != SPEC_SIBLINGS_IID &&
        draft->branches && draft->vocab > SPEC_TRANSPORT_SETS_VOCAB)
        return SPEC_ASKS_OTHER;
    return rule->asks;
}

void spec_decision_roles(spec_told *told, int n, const spec_rule *rule, const spec_draft *draft,
                         const double *const *target, const spec_round *round)
{
    const int before = read_draft(told, n, draft);
    const int last = round->n_accepted > 0 ? round->node[round->n_accepted - 1] : -1;
    const spec_asks asks = asks_of(rule, draft);
    if (n == before) return; /* told may be NULL */
    told += before;
    n -= before;
    for (int d = 0; d < n; d++) {
        told[d].role = SPEC_ROLE_OTHER;
        told[d].node = -1;
        told[d].after = last;
    }
    if (asks == SPEC_ASKS_OTHER) return;
    if (asks == SPEC_ASKS_BLOCK || asks == SPEC_ASKS_LEAVES)
        read_block(told, n, asks == SPEC_ASKS_LEAVES, draft, round);
    else if (asks == SPEC_ASKS_AHEAD)
        read_ahead(told, n, draft, last);
    else if (asks == SPEC_ASKS_END)
        told[n - 1].role =
            spec_verify_child(draft, last, last + 1) < 0 ? SPEC_ROLE_BONUS : SPEC_ROLE_TARGET;
    else
        read_top_down(told, n, asks, draft, target, round);
}
