/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/transport_sets.h"

#include "models/row.h"
#include "sim/verify/set_flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The probability 1 in units of the flow. At most 252 supplies and 10 demands are rounded down,
 * which lowers acceptance by less than 262/2^62, below the rounding error of 1. */
static const double UNITS = 0x1p62;

int spec_transport_sets_init(spec_transport_sets *sets, int vocab, spec_error *error)
{
    assert(vocab >= 1 && vocab <= SPEC_TRANSPORT_SETS_VOCAB);
    const size_t V = (size_t)vocab, size = (size_t)1 << V, plan = (size + 3) * V;
    *sets = (spec_transport_sets){.vocab = vocab};
    sets->store = malloc((SPEC_TRANSPORT_SETS_KEPT * plan + size) * sizeof *sets->store);
    sets->flow = malloc(size / 2 * V * sizeof *sets->flow);
    sets->supply = malloc(size / 2 * sizeof *sets->supply);
    sets->set = malloc(size / 2 * sizeof *sets->set);
    if (sets->store == NULL || sets->flow == NULL || sets->supply == NULL || sets->set == NULL) {
        spec_transport_sets_free(sets);
        return spec_fail(error, GSL_ENOMEM, "out of memory");
    }
    sets->chance = sets->store + SPEC_TRANSPORT_SETS_KEPT * plan;
    for (size_t i = 0; i < SPEC_TRANSPORT_SETS_KEPT; i++) {
        double *const at = sets->store + i * plan;
        sets->plan[i] = (spec_transport_plan){
            .target = at, .row = at + V, .law = at + 2 * V, .share = at + 3 * V};
    }
    return GSL_SUCCESS;
}

void spec_transport_sets_free(spec_transport_sets *sets)
{
    free(sets->store);
    free(sets->flow);
    free(sets->supply);
    free(sets->set);
    *sets = (spec_transport_sets){.vocab = 0};
}

static int size_of(unsigned set)
{
    int size = 0;
    for (; set != 0; set &= set - 1) size++;
    return size;
}

/* Fills the chance that each set of at most n tokens is drawn first, in any order: a sum over its
 * last token. */
static void fill_chances(double *chance, const double *row, int vocab, int n)
{
    double left[SPEC_TRANSPORT_SETS_VOCAB];
    memset(chance, 0, ((size_t)1 << vocab) * sizeof *chance);
    chance[0] = 1.0;
    for (unsigned set = 0; set < 1u << vocab; set++) {
        const int size = size_of(set);
        if (size >= n || !(chance[set] > 0.0)) continue;
        for (int x = 0; x < vocab; x++) left[x] = set >> x & 1 ? 0.0 : row[x];
        double rest = spec_row_sum(left, vocab);
        if (!(rest > 0.0)) { /* the rest of the row is 0: uniform over the other tokens */
            rest = vocab - size;
            for (int x = 0; x < vocab; x++) left[x] = set >> x & 1 ? 0.0 : 1.0;
        }
        for (int x = 0; x < vocab; x++)
            if (left[x] > 0.0) chance[set | 1u << x] += chance[set] * left[x] / rest;
    }
}

/* Fills share with the largest flow from the sets of n tokens, each with its chance, to their
 * tokens, each with the target as capacity. */
static void solve(spec_transport_sets *sets, spec_transport_plan *plan)
{
    const size_t V = (size_t)sets->vocab;
    uint64_t demand[SPEC_TRANSPORT_SETS_VOCAB];
    int n_sets = 0;
    for (size_t x = 0; x < V; x++) demand[x] = (uint64_t)(plan->target[x] * UNITS);
    for (unsigned set = 0; set < 1u << V; set++) {
        if (size_of(set) != plan->n) continue;
        sets->supply[n_sets] = (uint64_t)(sets->chance[set] * UNITS);
        sets->set[n_sets++] = set;
    }
    spec_set_flow_maximise(sets->flow, sets->supply, demand, sets->set, n_sets, sets->vocab);
    for (size_t i = 0; i < (size_t)n_sets; i++)
        for (size_t x = 0; x < V; x++)
            plan->share[sets->set[i] * V + x] = (double)sets->flow[i * V + x];
}

static void make(spec_transport_sets *sets, spec_transport_plan *plan)
{
    const int vocab = sets->vocab;
    fill_chances(sets->chance, plan->row, vocab, plan->n);
    solve(sets, plan);
    memset(plan->law, 0, (size_t)vocab * sizeof *plan->law);
    for (unsigned set = 0; set < 1u << vocab; set++) {
        double *const share = plan->share + set * (unsigned)vocab;
        if (size_of(set) != plan->n) continue;
        /* Mass without flow is rejected anyway, so it may go to any token of the set. */
        const double sum = spec_row_sum(share, vocab);
        for (int x = 0; x < vocab; x++)
            share[x] = sum > 0.0 ? share[x] / sum : set >> x & 1 ? 1.0 / plan->n : 0.0;
        for (int x = 0; x < vocab; x++) plan->law[x] += sets->chance[set] * share[x];
    }
}

const spec_transport_plan *spec_transport_sets_plan(spec_transport_sets *sets, const double *target,
                                                    const double *row, int n)
{
    const size_t size = (size_t)sets->vocab * sizeof *row;
    assert(n >= 1 && n < sets->vocab);
    for (int i = 0; i < SPEC_TRANSPORT_SETS_KEPT; i++) {
        const spec_transport_plan *const plan = &sets->plan[i];
        if (plan->n == n && memcmp(plan->target, target, size) == 0 &&
            memcmp(plan->row, row, size) == 0)
            return plan;
    }
    spec_transport_plan *const plan = &sets->plan[sets->next];
    sets->next = (sets->next + 1) % SPEC_TRANSPORT_SETS_KEPT;
    plan->n = n;
    memcpy(plan->target, target, size);
    memcpy(plan->row, row, size);
    make(sets, plan);
    return plan;
}
