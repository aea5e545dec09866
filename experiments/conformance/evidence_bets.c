/* The bets on what is merged. */
#include "experiments/conformance/evidence_counts.h"

#include "analysis/evalue.h"

#include <math.h>

/* Of sets of tokens, in standard deviations of one draw: small ones for small differences. */
static const double deviations[SPEC_LAMBDAS] = {-0.1, -0.02, -0.004, 0.004, 0.02, 0.1};
/* Prior draws of Dirichlet bets, for each cell: few learn fast, many find small differences. */
static const double priors[SPEC_WEIGHTS] = {0.5, 20.0, 500.0, 10000.0};

static void bet_on_counts(spec_evidence *into, const spec_evidence *next, int state)
{
    const int V = into->fixture->vocab;
    const size_t at = (size_t)state * (size_t)V;
    const double *law = into->fixture->target_law + at;
    if (next->visits[state] == 0) return;
    for (int w = 0; w < SPEC_WEIGHTS; w++)
        into->count_gain[state][w] +=
            spec_evalue_dirichlet(next->count + at, into->count + at, law, V, priors[w] * V);
    for (int s = 0; s < SPEC_SETS; s++) {
        const double mass = fmin(into->set_mass[state][s], 1.0), spread = sqrt(mass * (1.0 - mass));
        uint64_t hits = 0;
        if (!(spread > 0.0)) continue;
        for (int i = 0; i < V; i++) hits += (into->set[at + (size_t)i] >> s & 1) ? next->count[at + (size_t)i] : 0;
        for (int j = 0; j < SPEC_LAMBDAS; j++) {
            const double wanted = deviations[j] / spread;
            const double lambda = fmax(-0.9 / (1.0 - mass), fmin(0.9 / mass, wanted));
            into->set_gain[s][j] += spec_evalue_event(hits, next->visits[state], mass, lambda);
        }
    }
}

/* After a state and a token the next token's row is known. */
static void bet_on_pairs(spec_evidence *into, const spec_evidence *next, int state)
{
    const spec_fixture *f = into->fixture;
    const int V = f->vocab;
    for (int x = 0; x < V; x++) {
        const size_t at = ((size_t)state * (size_t)V + (size_t)x) * (size_t)V;
        const double *law = f->target_law + (size_t)spec_fixture_next(f, state, x) * (size_t)V;
        for (int w = 0; w < SPEC_WEIGHTS; w++)
            into->pair_gain[w] += spec_evalue_dirichlet(next->pair + at, into->pair + at, law, V, priors[w] * V);
        for (int y = 0; y < V; y++) into->pair[at + (size_t)y] += next->pair[at + (size_t)y];
    }
}

static void bet_on_pits(spec_evidence *into, const spec_evidence *next)
{
    double even[SPEC_PIT_CELLS];
    for (int c = 0; c < SPEC_PIT_CELLS; c++) even[c] = 1.0 / SPEC_PIT_CELLS;
    for (int k = 0; k < SPEC_PITS; k++) {
        for (int w = 0; w < SPEC_WEIGHTS; w++)
            into->pit_gain[k][w] += spec_evalue_dirichlet(next->pit[k], into->pit[k], even, SPEC_PIT_CELLS,
                                                          priors[w] * SPEC_PIT_CELLS);
        for (int c = 0; c < SPEC_PIT_CELLS; c++) into->pit[k][c] += next->pit[k][c];
    }
}

void spec_evidence_merge(spec_evidence *into, const spec_evidence *next)
{
    for (int s = 0; s < into->fixture->n_states; s++) {
        bet_on_counts(into, next, s);
        if (into->pairs) bet_on_pairs(into, next, s);
        into->visits[s] += next->visits[s];
    }
    for (size_t i = 0; i < into->cells; i++) into->count[i] += next->count[i];
    bet_on_pits(into, next);
    for (int k = 0; k < SPEC_EVENTS; k++) {
        spec_event_count *to = &into->event[k];
        const spec_event_count *from = &next->event[k];
        to->n += from->n;
        to->hits += from->hits;
        to->expected += from->expected;
        to->variance += from->variance;
        for (int j = 0; j < SPEC_LAMBDAS; j++) to->gain[j] += from->gain[j] + log(from->factor[j]);
    }
    if (into->hard.hard == SPEC_HARD_NONE) into->hard = next->hard;
    into->rounds += next->rounds;
    into->tokens += next->tokens;
    into->accepted += next->accepted;
    into->drafted += next->drafted;
    into->emitted += next->emitted;
}
