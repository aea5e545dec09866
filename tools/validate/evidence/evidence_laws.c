/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/evidence/evidence_laws.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* Joint counts are kept only if they need at most this many cells. */
enum { PAIR_CELLS = 1 << 14, BLOCK_CELLS = 1 << 12 };
#define TAIL 0.02

typedef struct {
    double probability;
    int token;
} ranked;

static int by_probability(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return x->token - y->token;
}

static void accumulate(spec_cumulative *side, const double *law, size_t at, int V)
{
    double sum = 0.0;
    double *cdf = side->cdf + at;
    for (int i = 0; i < V; i++) cdf[i] = sum += law[at + (size_t)i];
    for (int g = 0, i = 0; g < V; g++) {
        while (i < V - 1 && cdf[i] <= sum * g / V) i++;
        side->guide[at + (size_t)g] = i;
    }
}

static void mark_sets(spec_laws *l, int state, const ranked *order)
{
    const int V = l->fixture->vocab;
    const size_t at = (size_t)state * (size_t)V;
    const double *target = l->fixture->target_law + at, *draft = l->fixture->draft_law + at;
    uint8_t *set = l->set + at;
    double mass = 0.0;
    int mode = 0;
    for (int i = 0; i < V; i++) {
        if (draft[i] > draft[mode]) mode = i;
        if (draft[i] > target[i]) set[i] |= 1 << SPEC_SET_DRAFT_MORE;
        if (target[i] > draft[i]) set[i] |= 1 << SPEC_SET_TARGET_MORE;
    }
    for (int r = V - 1; r > 0 && mass + order[r].probability <= TAIL; r--) {
        mass += order[r].probability;
        set[order[r].token] |= 1 << SPEC_SET_TAIL;
    }
    set[order[0].token] |= 1 << SPEC_SET_TARGET_MODE;
    set[mode] |= 1 << SPEC_SET_DRAFT_MODE;
    set[0] |= 1 << SPEC_SET_FIRST;
    set[V - 1] |= 1 << SPEC_SET_LAST;
    for (int s = 0; s < SPEC_SETS; s++) {
        double in = 0.0, out = 0.0;
        for (int i = 0; i < V; i++) *(set[i] >> s & 1 ? &in : &out) += target[i];
        l->set_mass[state][s] = out > 0.0 ? in : 1.0;
    }
}

static double mean_under(const double *law, const double *value, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += law[i] > 0.0 ? law[i] * value[i] : 0.0;
    return sum;
}

/* The tilt is cut so that no single token moves the mean much, and then centred again, since its
 * mean must be 0. */
static void fill_tilt(spec_laws *l, int state)
{
    const int V = l->fixture->vocab;
    const size_t at = (size_t)state * (size_t)V;
    const double *target = l->fixture->target_law + at, *draft = l->fixture->draft_law + at;
    double *tilt = l->tilt + at, most = 0.0;
    for (int i = 0; i < V; i++)
        tilt[i] = target[i] > 0.0 ? fmax(-3.0, fmin(3.0, log(draft[i] / target[i]))) : 0.0;
    for (int pass = 0; pass < 2; pass++) {
        const double mean = mean_under(target, tilt, V);
        double spread = 0.0;
        for (int i = 0; i < V; i++) tilt[i] -= mean;
        for (int i = 0; i < V; i++) spread += target[i] * tilt[i] * tilt[i];
        spread = sqrt(spread);
        for (int i = 0; i < V; i++) {
            tilt[i] = spread > 1e-9 && target[i] > 0.0 ? tilt[i] / spread : 0.0;
            if (pass == 0)
                tilt[i] = fmax(-0.5 * SPEC_TILT_MOST, fmin(0.5 * SPEC_TILT_MOST, tilt[i]));
            most = fmax(most, pass == 1 ? fabs(tilt[i]) : 0.0);
        }
    }
    for (int i = 0; i < V && most > SPEC_TILT_MOST; i++) tilt[i] *= SPEC_TILT_MOST / most;
}

static void fill_state(spec_laws *l, int state, ranked *order)
{
    const int V = l->fixture->vocab;
    const size_t at = (size_t)state * (size_t)V;
    const double *target = l->fixture->target_law + at, *draft = l->fixture->draft_law + at;
    double below = 0.0, drafted = 0.0;
    accumulate(&l->target, l->fixture->target_law, at, V);
    accumulate(&l->draft, l->fixture->draft_law, at, V);
    for (int i = 0; i < V; i++) order[i] = (ranked){target[i], i};
    qsort(order, (size_t)V, sizeof *order, by_probability);
    for (int r = 0; r < V; r++) {
        l->rank_below[at + (size_t)order[r].token] = below;
        below += order[r].probability;
    }
    mark_sets(l, state, order);
    fill_tilt(l, state);
    for (int i = 0; i < V; i++) drafted += draft[i] > target[i] ? draft[i] : 0.0;
    l->surplus[state] = drafted > 0.0 ? l->set_mass[state][SPEC_SET_DRAFT_MORE] / drafted : 0.0;
}

/* Computes the law of the blocks that start in level 0 of each variant. A block is a number in base
 * V, with its first token as the highest digit. */
static void fill_blocks(spec_laws *l)
{
    const spec_fixture *f = l->fixture;
    const size_t V = (size_t)f->vocab;
    for (int v = 0; v < f->variants; v++)
        for (size_t code = 0; code < l->block_cells; code++) {
            double law = 1.0;
            int state = v * f->levels;
            for (size_t k = 0, place = l->block_cells / V; k < (size_t)l->block; k++, place /= V) {
                const size_t token = code / (place > 0 ? place : 1) % V;
                law *= f->target_law[(size_t)state * V + token];
                state = spec_fixture_next(f, state, (int)token);
            }
            l->block_law[(size_t)v * l->block_cells + code] = law;
        }
}

static void choose_joint(spec_laws *l)
{
    const spec_fixture *f = l->fixture;
    const size_t V = (size_t)f->vocab;
    l->pairs = f->levels > 1 && l->cells <= PAIR_CELLS && l->cells * V <= PAIR_CELLS;
    l->block_cells = 1;
    while (l->block < f->levels && l->block_cells * V * (size_t)f->variants <= BLOCK_CELLS) {
        l->block_cells *= V;
        l->block++;
    }
    if (l->block < 3 || V < 2) l->block = 0;
    if (l->block == 0) l->block_cells = 0;
}

int spec_evidence_laws_init(spec_laws *l, const spec_fixture *fixture, spec_error *error)
{
    const size_t V = (size_t)fixture->vocab, states = (size_t)fixture->n_states, cells = states * V;
    *l = (spec_laws){.fixture = fixture, .cells = cells};
    choose_joint(l);
    l->target = (spec_cumulative){malloc(cells * sizeof(double)), malloc(cells * sizeof(int32_t))};
    l->draft = (spec_cumulative){malloc(cells * sizeof(double)), malloc(cells * sizeof(int32_t))};
    l->rank_below = malloc(cells * sizeof *l->rank_below);
    l->set = calloc(cells, sizeof *l->set);
    l->set_mass = calloc(states, sizeof *l->set_mass);
    l->tilt = malloc(cells * sizeof *l->tilt);
    l->surplus = calloc(states, sizeof *l->surplus);
    l->block_law = malloc(((size_t)fixture->variants * l->block_cells + 1) * sizeof *l->block_law);
    if (l->target.cdf == NULL || l->target.guide == NULL || l->draft.cdf == NULL ||
        l->draft.guide == NULL || l->rank_below == NULL || l->set == NULL || l->set_mass == NULL ||
        l->tilt == NULL || l->surplus == NULL || l->block_law == NULL) {
        spec_evidence_laws_free(l);
        return spec_fail(error, GSL_ENOMEM, "out of memory for rows of %zu cells", cells);
    }
    return fixture->fill == NULL ? spec_evidence_laws_fill(l, error) : GSL_SUCCESS;
}

int spec_evidence_laws_fill(spec_laws *l, spec_error *error)
{
    ranked *order = malloc((size_t)l->fixture->vocab * sizeof *order);
    if (order == NULL) return spec_no_memory(error);
    for (int s = 0; s < l->fixture->n_states; s++) fill_state(l, s, order);
    if (l->block > 0) fill_blocks(l);
    free(order);
    return GSL_SUCCESS;
}

void spec_evidence_laws_free(spec_laws *l)
{
    free(l->target.cdf);
    free(l->target.guide);
    free(l->draft.cdf);
    free(l->draft.guide);
    free(l->rank_below);
    free(l->set);
    free(l->set_mass);
    free(l->tilt);
    free(l->surplus);
    free(l->block_law);
    *l = (spec_laws){.fixture = NULL};
}

int spec_evidence_laws_draw(const spec_laws *l, const spec_cumulative *side, int state,
                            gsl_rng *rng)
{
    const int V = l->fixture->vocab;
    const size_t at = (size_t)state * (size_t)V;
    const double *cdf = side->cdf + at;
    const double share = gsl_rng_uniform(rng), u = share * cdf[V - 1];
    const int column = (int)(share * V);
    int token = side->guide[at + (size_t)(column < V ? column : V - 1)];
    while (cdf[token] <= u && token < V - 1) token++;
    return token;
}
