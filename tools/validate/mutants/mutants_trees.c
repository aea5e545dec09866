/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mistakes that show only in trees. */
#include "base/int_math.h"
#include "tools/validate/mutants/mutants.h"

/* Uses the target's rows by depth, as if the tree were a chain. */
static const float *given_by_depth(spec_reference_sampler *s, int side, int place)
{
    int depth = 0;
    if (side == SPEC_REFERENCE_TARGET)
        for (int node = place - 1; node >= 0; node = s->parent[node]) depth++;
    return spec_reference_sampler_given(s, side, side == SPEC_REFERENCE_TARGET ? depth : place);
}

/* After a rejection or a leaf, uses the row of the leaf's parent. */
static int bonus_of_parent(spec_reference_sampler *s)
{
    const int node = s->place - 1;
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, node >= 0 ? s->parent[node] + 1 : 0,
                                s->target);
    return spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CLOSES);
}

/* ---- siblings -------------------------------------------------------------------------------- */

static void order_by_draft(spec_reference_sampler *s, int *child, int n)
{
    for (int i = 1; i < n && s->drawn == SPEC_DRAWN_WITHOUT; i++)
        for (int k = i; k > 0 && s->draft[s->token[child[k]]] > s->draft[s->token[child[k - 1]]];
             k--)
            spec_int_swap(&child[k], &child[k - 1]);
}

static void order_by_target(spec_reference_sampler *s, int *child, int n)
{
    for (int i = 1; i < n && s->drawn != SPEC_DRAWN_FIXED; i++)
        for (int k = i; k > 0 && s->target[s->token[child[k]]] > s->target[s->token[child[k - 1]]];
             k--)
            spec_int_swap(&child[k], &child[k - 1]);
}

static void order_by_id(spec_reference_sampler *s, int *child, int n)
{
    for (int i = 1; i < n && s->drawn == SPEC_DRAWN_WITHOUT; i++)
        for (int k = i; k > 0 && s->token[child[k]] < s->token[child[k - 1]]; k--)
            spec_int_swap(&child[k], &child[k - 1]);
}

static void residual_as(spec_reference_sampler *s, int child, uint32_t drawn)
{
    const uint32_t right = s->drawn;
    if (right != SPEC_DRAWN_FIXED) s->drawn = drawn;
    spec_reference_sampler_residual(s, child);
    s->drawn = right;
}

static void residual_as_iid(spec_reference_sampler *s, int child)
{
    residual_as(s, child, SPEC_DRAWN_IID);
}

static void residual_as_without(spec_reference_sampler *s, int child)
{
    residual_as(s, child, SPEC_DRAWN_WITHOUT);
}

/* Judges every sibling by the whole row; only the rejection of the last one leaves a residual. */
static void residual_of_last(spec_reference_sampler *s, int child)
{
    for (int i = child + 1; i < s->n_nodes; i++)
        if (s->parent[i] == s->parent[child]) return;
    spec_reference_sampler_residual(s, child);
}

static double uniform_of_place(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    const int64_t here = (int64_t)s->at * (SPEC_FIXTURE_NODES_MAX + 1) + s->place + 1;
    if (use != SPEC_REFERENCE_ACCEPTS) return spec_reference_sampler_fresh(s);
    if (s->memory[0] != here) s->number[0] = spec_reference_sampler_fresh(s);
    s->memory[0] = here;
    return s->number[0];
}

/* The rejection of a fixed child leaves the target's row unchanged. */
static void residual_unless_fixed(spec_reference_sampler *s, int child)
{
    if (s->drawn != SPEC_DRAWN_FIXED) spec_reference_sampler_residual(s, child);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Judges every node independently, and follows the deepest accepted path. */
static void round_longest(spec_reference_sampler *s)
{
    int depth[SPEC_FIXTURE_NODES_MAX + 1] = {0}, best = -1, path[SPEC_FIXTURE_NODES_MAX];
    bool alive[SPEC_FIXTURE_NODES_MAX + 1] = {true};
    for (int i = 0; i < s->n_nodes; i++) {
        const int parent = s->parent[i] + 1;
        s->place = parent;
        if (!alive[parent]) continue;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, parent, s->target);
        if (s->drawn != SPEC_DRAWN_FIXED)
            spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, parent, s->draft);
        depth[i + 1] = depth[parent] + 1;
        alive[i + 1] = spec_reference_sampler_accept(s, i);
        if (alive[i + 1] && (best < 0 || depth[i + 1] > depth[best + 1])) best = i;
    }
    int n = 0;
    for (int node = best; node >= 0; node = s->parent[node]) path[n++] = s->token[node];
    while (n > 0) spec_reference_sampler_emit(s, path[--n]);
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, best + 1, s->target);
    spec_reference_sampler_emit(s,
                                spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CLOSES));
}

const spec_mutant spec_mutants_trees[] = {
    {"tree-slice", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the target's rows of a tree are read as if it were a chain", "NVIDIA/TensorRT-LLM #15098",
     .hooks = {.given = given_by_depth}},
    {"tree-bonus-of-parent", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the bonus after a leaf is drawn from its parent's row", "",
     .hooks = {.bonus = bonus_of_parent}},
    {"siblings-by-draft", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "siblings without replacement are tried in order of probability, not as drawn", "",
     .hooks = {.order = order_by_draft}},
    {"siblings-by-id", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "siblings without replacement are tried in the order of their ids", "",
     .hooks = {.order = order_by_id}},
    {"siblings-by-target", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "siblings are tried in the order of their target probabilities", "",
     .hooks = {.order = order_by_target}},
    {"siblings-as-iid", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "siblings drawn without replacement are verified as independent ones", "",
     .hooks = {.residual = residual_as_iid}},
    {"siblings-as-without", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "independent siblings are verified as if drawn without replacement", "",
     .hooks = {.residual = residual_as_without}},
    {"siblings-of-one-row", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "every sibling is verified against the target, not against the residual of those before "
     "it",
     "", .hooks = {.residual = residual_of_last}},
    {"siblings-one-coin", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "siblings in a fixed order, with one coin for all", "ggerganov/llama.cpp #5625",
     .hooks = {.uniform = uniform_of_place}},
    {"siblings-not-zeroed", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "a deterministic child that is rejected may be emitted as the correction", "",
     .hooks = {.residual = residual_unless_fixed}},
    {"longest-path", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "accepts any candidate that would be accepted by itself, the longest path first",
     "SafeAILab/EAGLE #301", .hooks = {.round = round_longest}},
    {.name = NULL},
};
