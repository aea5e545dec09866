#include "conformance/evidence/evidence_counts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Looked at again when a state has so many more visits. */
enum { OFTEN_SHARE = 4 };

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void clear_event(spec_event_count *event)
{
    *event = (spec_event_count){0};
    for (int j = 0; j < SPEC_LAMBDAS; j++) event->factor[j] = 1.0;
}

void spec_evidence_clear(spec_evidence *e)
{
    assert(e->came != NULL);
    e->rounds = e->tokens = e->accepted = e->emitted = e->salt = 0;
    e->n_came = 0;
    memset(e->pit, 0, sizeof e->pit);
    memset(e->near, 0, sizeof e->near);
    memset(e->kept, 0, (size_t)e->fixture->n_states * sizeof *e->kept);
    for (int k = 0; k < SPEC_EVENTS; k++) clear_event(&e->event[k]);
    e->hard = (spec_exhibit){.hard = SPEC_HARD_NONE};
}

static spec_evidence *alloc(const spec_fixture *fixture, uint32_t scope)
{
    spec_evidence *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    e->fixture = fixture;
    e->scope = scope;
    e->laws = &e->own_laws;
    for (int k = 0; k < SPEC_EVENTS; k++) clear_event(&e->event[k]);
    clear_event(&e->again);
    e->kept = calloc((size_t)fixture->n_states, sizeof *e->kept);
    if (e->kept != NULL) return e;
    spec_evidence_free(e);
    return NULL;
}

static int give_up(spec_evidence **e, spec_error *error)
{
    spec_evidence_free(*e);
    *e = NULL;
    return spec_fail(error, GSL_ENOMEM, "out of memory for counts of a fixture");
}

int spec_evidence_init(spec_evidence **ret, const spec_fixture *fixture, uint32_t scope, spec_error *error)
{
    const size_t V = (size_t)fixture->vocab, states = (size_t)fixture->n_states;
    spec_evidence *e = *ret = alloc(fixture, scope);
    if (e == NULL || spec_laws_init(&e->own_laws, fixture, error) != GSL_SUCCESS) return give_up(ret, error);
    const spec_laws *l = e->laws;
    e->count = calloc(l->cells, sizeof *e->count);
    e->visits = calloc(states, sizeof *e->visits);
    e->pair = calloc(l->pairs ? l->cells * V : 1, sizeof *e->pair);
    e->block = calloc((size_t)fixture->variants * l->block_cells + 1, sizeof *e->block);
    e->none = calloc(V + l->block_cells + SPEC_PIT_CELLS, sizeof *e->none);
    e->often = calloc(l->cells, sizeof *e->often);
    e->often_mass = calloc(states, sizeof *e->often_mass);
    e->often_since = calloc(states, sizeof *e->often_since);
    e->often_came = calloc(states, sizeof *e->often_came);
    if (e->count == NULL || e->visits == NULL || e->pair == NULL || e->block == NULL || e->none == NULL ||
        e->often == NULL || e->often_mass == NULL || e->often_since == NULL || e->often_came == NULL)
        return give_up(ret, error);
    return GSL_SUCCESS;
}

int spec_evidence_fork(spec_evidence **ret, const spec_evidence *of, size_t n_tokens, spec_error *error)
{
    spec_evidence *e = *ret = alloc(of->fixture, of->scope);
    if (e == NULL) return give_up(ret, error);
    e->laws = of->laws;
    e->capacity = n_tokens;
    e->came = malloc((n_tokens + 1) * sizeof *e->came);
    return e->came != NULL ? GSL_SUCCESS : give_up(ret, error);
}

void spec_evidence_free(spec_evidence *e)
{
    if (e == NULL) return;
    spec_laws_free(&e->own_laws);
    free(e->kept);
    free(e->came);
    free(e->count);
    free(e->visits);
    free(e->pair);
    free(e->block);
    free(e->none);
    free(e->often);
    free(e->often_mass);
    free(e->often_since);
    free(e->often_came);
    free(e);
}

/* ---- tokens that came -------------------------------------------------------------------------------------------- */

/* The tokens of a state that have come more often than promised, for bets on what comes next. */
static void look_again(spec_evidence *e, int state)
{
    const size_t V = (size_t)e->fixture->vocab, at = (size_t)state * V;
    const double visits = (double)e->visits[state], *law = e->fixture->target_law + at;
    double mass = 0.0, rest = 0.0;
    for (size_t i = 0; i < V; i++) {
        e->often[at + i] = (double)e->count[at + i] > visits * law[i];
        *(e->often[at + i] ? &mass : &rest) += law[i];
    }
    e->often_mass[state] = rest > 0.0 ? mass : 0.0;
    e->often_since[state] = e->visits[state];
}

static void bet_again(spec_evidence *e, int state)
{
    const uint64_t n = e->often_came[state][0], hits = e->often_came[state][1];
    spec_event_add_many(&e->again, hits, n, e->often_mass[state]);
    e->often_came[state][0] = e->often_came[state][1] = 0;
}

static void count_block(spec_evidence *e, int state, int token)
{
    const spec_laws *l = e->laws;
    if (state % e->fixture->levels == 0) {
        e->in_block = 0;
        e->code = (size_t)(state / e->fixture->levels);
    }
    if (e->in_block >= l->block) return;
    e->code = e->code * (size_t)e->fixture->vocab + (size_t)token;
    if (++e->in_block == l->block) e->block[e->code]++;
}

static void count_came(spec_evidence *e, const spec_came_token *came)
{
    const size_t V = (size_t)e->fixture->vocab, cell = (size_t)came->state * V + (size_t)came->token;
    e->count[cell]++;
    e->visits[came->state]++;
    if (e->laws->pairs && !came->begins) e->pair[e->last * V + (size_t)came->token]++;
    e->last = cell;
    if (e->laws->block > 0) count_block(e, came->state, came->token);
}

void spec_evidence_came(spec_evidence *e, int state, int token, bool begins)
{
    const spec_came_token came = {state, token, begins};
    e->tokens++;
    if (e->came == NULL) {
        count_came(e, &came);
        return;
    }
    assert(e->n_came < e->capacity);
    e->came[e->n_came++] = came;
}

static void merge_event(spec_event_count *to, const spec_event_count *from)
{
    to->n += from->n;
    to->hits += from->hits;
    to->expected += from->expected;
    to->variance += from->variance;
    to->third += from->third;
    for (int j = 0; j < SPEC_LAMBDAS; j++) to->gain[j] += from->gain[j] + log(from->factor[j]);
}

void spec_evidence_merge(spec_evidence *into, const spec_evidence *fork)
{
    const size_t V = (size_t)into->fixture->vocab;
    assert(into->came == NULL && fork->came != NULL);
    for (int s = 0; s < into->fixture->n_states; s++)
        if (into->visits[s] > into->often_since[s] + into->often_since[s] / OFTEN_SHARE) look_again(into, s);
    for (size_t i = 0; i < fork->n_came; i++) {
        const spec_came_token *came = &fork->came[i];
        into->often_came[came->state][0]++;
        into->often_came[came->state][1] += into->often[(size_t)came->state * V + (size_t)came->token];
        count_came(into, came);
    }
    for (int s = 0; s < into->fixture->n_states; s++) bet_again(into, s);
    for (int k = 0; k < SPEC_PITS; k++)
        for (int c = 0; c < SPEC_PIT_CELLS; c++) into->pit[k][c] += fork->pit[k][c];
    for (int s = 0; s < into->fixture->n_states; s++)
        for (int k = 0; k < 4; k++) into->kept[s][k / 2][k % 2] += fork->kept[s][k / 2][k % 2];
    for (int k = 0; k < SPEC_NEARS; k++)
        for (int c = 0; c < 2; c++) into->near[k][c] += fork->near[k][c];
    for (int k = 0; k < SPEC_EVENTS; k++) merge_event(&into->event[k], &fork->event[k]);
    if (into->hard.hard == SPEC_HARD_NONE) into->hard = fork->hard;
    into->salt += fork->salt;
    into->rounds += fork->rounds;
    into->tokens += fork->tokens;
    into->accepted += fork->accepted;
    into->emitted += fork->emitted;
}

void spec_evidence_blame(spec_evidence *e, spec_hard hard)
{
    if (e->hard.hard == SPEC_HARD_NONE) e->hard.hard = hard;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

uint64_t spec_evidence_tokens(const spec_evidence *e)
{
    return e->tokens;
}

uint64_t spec_evidence_rounds(const spec_evidence *e)
{
    return e->rounds;
}

const spec_exhibit *spec_evidence_hard(const spec_evidence *e)
{
    return e->hard.hard != SPEC_HARD_NONE ? &e->hard : NULL;
}

uint64_t spec_evidence_count(const spec_evidence *e, int state, int token)
{
    return e->count[(size_t)state * (size_t)e->fixture->vocab + (size_t)token];
}

uint64_t spec_evidence_visits(const spec_evidence *e, int state)
{
    return e->visits[state];
}

void spec_evidence_add_totals(const spec_evidence *e, uint64_t *accepted, uint64_t *emitted)
{
    *accepted += e->accepted;
    *emitted += e->emitted;
}

double spec_evidence_accepted(const spec_evidence *e)
{
    return (double)e->accepted / (double)e->rounds;
}
