/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact samplers of trees with other orders and rules for siblings. Each comment is the proof. */
#include "base/int_math.h"
#include "tools/validate/mutants/mutants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- other orders: siblings drawn iid are exchangeable, and chosen ones carry no chance ------ */

static void order_reversed(spec_reference_sampler *s, int *child, int n)
{
    (void)s;
    for (int i = 0; i < n / 2; i++) spec_int_swap(&child[i], &child[n - 1 - i]);
}

static void order_shuffled(spec_reference_sampler *s, int *child, int n)
{
    for (int i = n - 1; i > 0; i--)
        spec_int_swap(&child[i], &child[(int)(spec_reference_sampler_fresh(s) * (i + 1))]);
}

/* ---- twins ----------------------------------------------------------------------------------- */

static bool is_twin(const spec_reference_sampler *s, int child)
{
    for (int i = 0; i < child; i++)
        if (s->parent[i] == s->parent[child] && s->token[i] == s->token[child]) return true;
    return false;
}

/* The distinct tokens of iid siblings, in order of first occurrence, are drawn without replacement.
 * Whether another one follows depends on the earlier ones and on chance, not on its value. */
static bool accept_once(spec_reference_sampler *s, int child)
{
    s->memory[0] = is_twin(s, child);
    return s->memory[0] == 0 && spec_reference_sampler_accept(s, child);
}

static void residual_once(spec_reference_sampler *s, int child)
{
    const uint32_t drawn = s->drawn;
    if (s->memory[0] != 0) return;
    if (drawn == SPEC_DRAWN_IID) s->drawn = SPEC_DRAWN_WITHOUT;
    spec_reference_sampler_residual(s, child);
    s->drawn = drawn;
}

/* Judges distinct tokens like independent ones, which is wrong: the next distinct token has another
 * law. */
static void residual_once_as_iid(spec_reference_sampler *s, int child)
{
    if (s->memory[0] == 0) spec_reference_sampler_residual(s, child);
}

/* ---- the target's own draw ------------------------------------------------------------------- */

/* Every emitted token is drawn from the target; which of two equal siblings the round follows
 * changes no row. */
static void round_match_last(spec_reference_sampler *s)
{
    int child[SPEC_FIXTURE_NODES_MAX], place = 0;
    for (;;) {
        const int n = spec_reference_sampler_children(s, place, child);
        int next = n - 1;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, s->target);
        const int token = spec_reference_sampler_pick(
            s, s->target, n > 0 ? SPEC_REFERENCE_CORRECTS : SPEC_REFERENCE_CLOSES);
        spec_reference_sampler_emit(s, token);
        while (next >= 0 && s->token[child[next]] != token) next--;
        if (next < 0) return;
        place = child[next] + 1;
    }
}

/* Distinct siblings occupy cells of the coin as long as their target probabilities; the remaining
 * mass is the target's. */
static void round_target_only(spec_reference_sampler *s)
{
    int child[SPEC_FIXTURE_NODES_MAX], place = 0;
    for (;;) {
        const int n = spec_reference_sampler_children(s, place, child);
        int accepted = -1;
        double below = 0.0;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, s->target);
        const double coin = n > 0 ? spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) : 1.0;
        for (int i = 0; i < n && accepted < 0; i++) {
            below += s->target[s->token[child[i]]];
            if (coin < below) accepted = child[i];
        }
        if (accepted < 0) break;
        spec_reference_sampler_emit(s, s->token[accepted]);
        place = accepted + 1;
    }
    const int n = spec_reference_sampler_children(s, place, child);
    for (int i = 0; i < n; i++) s->target[s->token[child[i]]] = 0.0;
    if (!spec_reference_sampler_normalise(s->target, s->vocab))
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, s->target);
    spec_reference_sampler_emit(
        s, spec_reference_sampler_pick(s, s->target,
                                       n > 0 ? SPEC_REFERENCE_CORRECTS : SPEC_REFERENCE_CLOSES));
}

/* ---- other rules ----------------------------------------------------------------------------- */

/* Judges the first child by the token rule. If the correction equals another child, the round
 * continues there: the correction is already part of the text. */
static void round_naive(spec_reference_sampler *s)
{
    int child[SPEC_FIXTURE_NODES_MAX], n;
    s->place = 0;
    while ((n = spec_reference_sampler_children(s, s->place, child)) > 0) {
        int next = 0;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, s->place, s->target);
        if (s->drawn != SPEC_DRAWN_FIXED)
            spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, s->place, s->draft);
        if (!spec_reference_sampler_accept(s, child[0])) {
            spec_reference_sampler_residual(s, child[0]);
            const int token = spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
            while (next < n && s->token[child[next]] != token) next++;
            if (next == n) {
                spec_reference_sampler_emit(s, token);
                return;
            }
        }
        spec_reference_sampler_emit(s, s->token[child[next]]);
        s->place = child[next] + 1;
    }
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, s->place, s->target);
    spec_reference_sampler_emit(s,
                                spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CLOSES));
}

static double scale_to_one(double *row, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) sum += row[i];
    for (int i = 0; i < vocab && sum > 0.0; i++) row[i] /= sum;
    return sum;
}

static void draft_row(spec_reference_sampler *s, int place, int token, double *row)
{
    if (s->drawn != SPEC_DRAWN_FIXED) {
        spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, place, row);
        return;
    }
    for (int i = 0; i < s->vocab; i++) row[i] = i == token ? 1.0 : 0.0;
}

/* Traversal verification [Weng25]: nodes are judged from the leaves up, each after its children, by
 * the share of its path that these left. Returns true if the round is over. */
static bool visit(spec_reference_sampler *s, int place, double share)
{
    const int V = s->vocab;
    int child[SPEC_FIXTURE_NODES_MAX];
    const int n = spec_reference_sampler_children(s, place, child);
    double *target = malloc(2 * (size_t)V * sizeof *target), *draft = target + V;
    bool over = target == NULL;
    s->failed = s->failed || over;
    if (over) return over;
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, target);
    for (int c = 0; c < n && !over; c++) {
        const int token = s->token[child[c]];
        if (c == 0 || s->drawn == SPEC_DRAWN_FIXED) draft_row(s, place, token, draft);
        over = visit(s, child[c] + 1, fmin(1.0, share * target[token] / draft[token]));
        if (over) break;
        for (int i = 0; i < V; i++) target[i] = fmax(share * target[i] - draft[i], 0.0);
        const double surplus = scale_to_one(target, V), of = surplus + 1.0 - share;
        if (!(surplus > 0.0))
            spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place,
                                        target); /* ignored: the share is 0 */
        share = of > 0.0 ? surplus / of : 0.0;
        if (s->drawn != SPEC_DRAWN_WITHOUT) continue;
        draft[token] = 0.0;
        if (scale_to_one(draft, V) > 0.0) continue;
        for (int i = 0; i < V; i++) draft[i] = 1.0;
        for (int k = 0; k <= c; k++) draft[s->token[child[k]]] = 0.0;
        (void)scale_to_one(draft, V);
    }
    if (!over &&
        (place == 0 || spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) < share)) {
        int path[SPEC_FIXTURE_NODES_MAX], depth = 0;
        for (int node = place - 1; node >= 0; node = s->parent[node])
            path[depth++] = s->token[node];
        while (depth > 0) spec_reference_sampler_emit(s, path[--depth]);
        spec_reference_sampler_emit(s, spec_reference_sampler_pick(s, target,
                                                                   n > 0 ? SPEC_REFERENCE_CORRECTS
                                                                         : SPEC_REFERENCE_CLOSES));
        over = true;
    }
    free(target);
    return over;
}

static void round_traversal(spec_reference_sampler *s)
{
    (void)visit(s, 0, 1.0);
}

const spec_mutant spec_mutants_exact_trees[] = {
    {"siblings-reversed", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: tries independent siblings from the last to the first", "",
     .trees = SPEC_DRAWN_IID | SPEC_DRAWN_FIXED, .hooks = {.order = order_reversed}},
    {"siblings-shuffled", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: tries independent siblings in random order", "[Miao24]",
     .trees = SPEC_DRAWN_IID | SPEC_DRAWN_FIXED, .hooks = {.order = order_shuffled}},
    {"twins-once", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: tries each distinct token of independent siblings once, as if drawn without "
     "replacement",
     "", .trees = SPEC_DRAWN_IID, .hooks = {.accept = accept_once, .residual = residual_once}},
    {"twins-as-iid", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "tries each distinct token of independent siblings once, as if drawn independently", "",
     .trees = SPEC_DRAWN_IID, .hooks = {.accept = accept_once, .residual = residual_once_as_iid}},
    {"match-last-twin", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: draws from the target, and continues from the last sibling with that token", "",
     .hooks = {.round = round_match_last}},
    {"target-only", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: one coin for siblings that differ, against their summed target probabilities",
     "sgl-project/sglang 0.5.23", .trees = SPEC_DRAWN_FIXED | SPEC_DRAWN_WITHOUT,
     .hooks = {.round = round_target_only}},
    {"naive-tree", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: verifies the first child, and continues if the correction is another child", "",
     .hooks = {.round = round_naive}},
    {"traversal", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: traversal verification, from the leaves up", "[Weng25]",
     .trees = SPEC_DRAWN_IID | SPEC_DRAWN_WITHOUT, .hooks = {.round = round_traversal}},
    {.name = NULL},
};
