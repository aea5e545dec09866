/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/transport_sets.h"

#include "models/row.h"

#include <assert.h>
#include <glpk.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int spec_transport_sets_init(spec_transport_sets *sets, int vocab, spec_error *error)
{
    assert(vocab >= 1 && vocab <= SPEC_TRANSPORT_SETS_VOCAB);
    const size_t V = (size_t)vocab, size = (size_t)1 << V, plan = (size + 3) * V;
    *sets = (spec_transport_sets){.vocab = vocab};
    sets->store = malloc((SPEC_TRANSPORT_SETS_KEPT * plan + size) * sizeof *sets->store);
    if (sets->store == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
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
    *sets = (spec_transport_sets){.vocab = 0};
}

static int size_of(unsigned set)
{
    int size = 0;
    for (; set != 0; set &= set - 1) size++;
    return size;
}

/* The chance of every set of at most n tokens to be drawn first, in any order: a sum over its last
 * token. */
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

/* The largest flow from sets of n, each with its chance, to their tokens, each with the target as
 * capacity. Fill share with the flow. */
static void solve(double *share, const double *chance, const double *target, int vocab, int n)
{
    glp_smcp how;
    glp_prob *const program = glp_create_prob();
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    glp_term_out(GLP_OFF);
    glp_set_obj_dir(program, GLP_MAX);
    glp_add_rows(program, vocab);
    for (int x = 0; x < vocab; x++) glp_set_row_bnds(program, x + 1, GLP_UP, 0.0, target[x]);
    for (unsigned set = 0; set < 1u << vocab; set++) {
        if (size_of(set) != n || !(chance[set] > 0.0)) continue;
        const int row = glp_add_rows(program, 1);
        glp_set_row_bnds(program, row, GLP_UP, 0.0, chance[set]);
        for (int x = 0; x < vocab; x++) {
            if (!(set >> x & 1)) continue;
            const int column = glp_add_cols(program, 1);
            glp_set_col_bnds(program, column, GLP_LO, 0.0, 0.0);
            glp_set_obj_coef(program, column, 1.0);
            glp_set_mat_col(program, column, 2, (const int[]){0, x + 1, row},
                            (const double[]){0.0, 1.0, 1.0});
        }
    }
    const bool solved = glp_simplex(program, &how) == 0;
    for (unsigned set = 0, column = 1; set < 1u << vocab; set++)
        for (int x = 0; x < vocab; x++) {
            double *const to = &share[set * (unsigned)vocab + (unsigned)x];
            *to = 0.0;
            if (size_of(set) != n || !(chance[set] > 0.0) || !(set >> x & 1)) continue;
            const double flow = glp_get_col_prim(program, (int)column++);
            if (solved && flow > 0.0) *to = flow;
        }
    glp_delete_prob(program);
    glp_free_env(); /* frees the memory of this thread */
}

static void make(spec_transport_plan *plan, double *chance, int vocab)
{
    fill_chances(chance, plan->row, vocab, plan->n);
    solve(plan->share, chance, plan->target, vocab, plan->n);
    memset(plan->law, 0, (size_t)vocab * sizeof *plan->law);
    for (unsigned set = 0; set < 1u << vocab; set++) {
        double *const share = plan->share + set * (unsigned)vocab;
        if (size_of(set) != plan->n) continue;
        /* Mass without flow is rejected anyway, so it may go to any token of the set. */
        const double sum = spec_row_sum(share, vocab);
        for (int x = 0; x < vocab; x++)
            share[x] = sum > 0.0 ? share[x] / sum : set >> x & 1 ? 1.0 / plan->n : 0.0;
        for (int x = 0; x < vocab; x++) plan->law[x] += chance[set] * share[x];
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
    make(plan, sets->chance, sets->vocab);
    return plan;
}
