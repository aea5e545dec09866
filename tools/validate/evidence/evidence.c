/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/evidence/evidence_counts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `often` is recomputed whenever a state's visits have grown by 1/OFTEN_SHARE. */
enum { OFTEN_SHARE = 4 };

/* ---- life ------------------------------------------------------------------------------------ */

static void clear_event(spec_event_count *event)
{
    *event = (spec_event_count){0};
    for (int j = 0; j < SPEC_LAMBDAS; j++) event->factor[j] = 1.0;
}

void spec_evidence_clear(spec_evidence *e)
{
    assert(e->queue.came != NULL);
    e->rounds = e->tokens = e->accepted = e->emitted = e->salt = 0;
    e->queue.n = 0;
    memset(e->pit, 0, sizeof e->pit);
    memset(e->near, 0, sizeof e->near);
    memset(e->kept, 0, (size_t)e->fixture->n_states * sizeof *e->kept);
    for (int k = 0; k < SPEC_EVENTS; k++) clear_event(&e->event[k]);
    e->hard = (spec_exhibit){.hard = SPEC_HARD_NONE};
    e->text_pit = -1.0;
}

static spec_evidence *alloc(const spec_fixture *fixture, uint32_t scope)
{
    spec_evidence *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    e->fixture = fixture;
    e->scope = scope;
    e->laws = &e->own_laws;
    for (int k = 0; k < SPEC_EVENTS; k++) clear_event(&e->event[k]);
    clear_event(&e->tables.again);
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

int spec_evidence_init(spec_evidence **ret, const spec_fixture *fixture, uint32_t scope,
                       spec_error *error)
{
    const size_t V = (size_t)fixture->vocab, states = (size_t)fixture->n_states;
    spec_evidence *e = *ret = alloc(fixture, scope);
    if (e == NULL || spec_evidence_laws_init(&e->own_laws, fixture, error) != GSL_SUCCESS)
        return give_up(ret, error);
    const spec_laws *l = e->laws;
    e->tables.count = calloc(l->cells, sizeof *e->tables.count);
    e->tables.visits = calloc(states, sizeof *e->tables.visits);
    e->tables.own = calloc(states, sizeof *e->tables.own);
    e->tables.pair = calloc(l->pairs ? l->cells * V : 1, sizeof *e->tables.pair);
    e->tables.block =
        calloc((size_t)fixture->variants * l->block_cells + 1, sizeof *e->tables.block);
    e->tables.none = calloc(V + l->block_cells + SPEC_PIT_CELLS, sizeof *e->tables.none);
    e->tables.often = calloc(l->cells, sizeof *e->tables.often);
    e->tables.often_mass = calloc(states, sizeof *e->tables.often_mass);
    e->tables.often_since = calloc(states, sizeof *e->tables.often_since);
    e->tables.often_came = calloc(states, sizeof *e->tables.often_came);
    if (e->tables.count == NULL || e->tables.visits == NULL || e->tables.own == NULL ||
        e->tables.pair == NULL || e->tables.block == NULL || e->tables.none == NULL ||
        e->tables.often == NULL || e->tables.often_mass == NULL || e->tables.often_since == NULL ||
        e->tables.often_came == NULL)
        return give_up(ret, error);
    return GSL_SUCCESS;
}

int spec_evidence_fill(spec_evidence *e, spec_error *error)
{
    return spec_evidence_laws_fill(&e->own_laws, error);
}

int spec_evidence_fork(spec_evidence **ret, const spec_evidence *of, size_t n_tokens,
                       spec_error *error)
{
    spec_evidence *e = *ret = alloc(of->fixture, of->scope);
    if (e == NULL) return give_up(ret, error);
    e->laws = of->laws;
    e->queue.capacity = n_tokens;
    e->queue.came = malloc((n_tokens + 1) * sizeof *e->queue.came);
    return e->queue.came != NULL ? GSL_SUCCESS : give_up(ret, error);
}

void spec_evidence_free(spec_evidence *e)
{
    if (e == NULL) return;
    spec_evidence_laws_free(&e->own_laws);
    free(e->kept);
    free(e->queue.came);
    free(e->tables.count);
    free(e->tables.visits);
    free(e->tables.own);
    free(e->tables.pair);
    free(e->tables.block);
    free(e->tables.none);
    free(e->tables.often);
    free(e->tables.often_mass);
    free(e->tables.often_since);
    free(e->tables.often_came);
    free(e);
}

/* ---- tokens that came ------------------------------------------------------------------------ */

/* Marks the tokens of a state that came more often than expected, to bet on in the future. */
static void look_again(spec_evidence *e, int state)
{
    const size_t V = (size_t)e->fixture->vocab, at = (size_t)state * V;
    const double visits = (double)e->tables.visits[state], *law = e->fixture->target_law + at;
    double mass = 0.0, rest = 0.0;
    for (size_t i = 0; i < V; i++) {
        e->tables.often[at + i] = (double)e->tables.count[at + i] > visits * law[i];
        *(e->tables.often[at + i] ? &mass : &rest) += law[i];
    }
    e->tables.often_mass[state] = rest > 0.0 ? mass : 0.0;
    e->tables.often_since[state] = e->tables.visits[state];
}

static void bet_again(spec_evidence *e, int state)
{
    const uint64_t n = e->tables.often_came[state][0], hits = e->tables.often_came[state][1];
    spec_evidence_counts_events(&e->tables.again, hits, n, e->tables.often_mass[state]);
    e->tables.often_came[state][0] = e->tables.often_came[state][1] = 0;
}

static void count_block(spec_evidence *e, int state, int token)
{
    const spec_laws *l = e->laws;
    if (state % e->fixture->levels == 0) {
        e->tables.in_block = 0;
        e->tables.code = (size_t)(state / e->fixture->levels);
    }
    if (e->tables.in_block >= l->block) return;
    e->tables.code = e->tables.code * (size_t)e->fixture->vocab + (size_t)token;
    if (++e->tables.in_block == l->block) e->tables.block[e->tables.code]++;
}

static void count_came(spec_evidence *e, const spec_came_token *came)
{
    const size_t V = (size_t)e->fixture->vocab,
                 cell = (size_t)came->state * V + (size_t)came->token;
    if (e->laws->block > 0) count_block(e, came->state, came->token);
    if (came->places == 0) return;
    e->tables.count[cell]++;
    e->tables.visits[came->state]++;
    for (int place = 0; place < SPEC_PLACES; place++)
        e->tables.own[came->state][place] += came->places >> place & 1;
    if (e->laws->pairs && !came->begins) e->tables.pair[e->tables.last * V + (size_t)came->token]++;
    e->tables.last = cell;
}

void spec_evidence_came(spec_evidence *e, const spec_came_token *came)
{
    e->tokens += came->places != 0;
    if (e->queue.came == NULL) {
        count_came(e, came);
        return;
    }
    assert(e->queue.n < e->queue.capacity);
    e->queue.came[e->queue.n++] = *came;
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
    assert(into->queue.came == NULL && fork->queue.came != NULL);
    for (int s = 0; s < into->fixture->n_states; s++)
        if (into->tables.visits[s] >
            into->tables.often_since[s] + into->tables.often_since[s] / OFTEN_SHARE)
            look_again(into, s);
    for (size_t i = 0; i < fork->queue.n; i++) {
        const spec_came_token *came = &fork->queue.came[i];
        count_came(into, came);
        if (came->places == 0) continue;
        into->tables.often_came[came->state][0]++;
        into->tables.often_came[came->state][1] +=
            into->tables.often[(size_t)came->state * V + (size_t)came->token];
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

/* ---- reading --------------------------------------------------------------------------------- */

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
    return e->tables.count[(size_t)state * (size_t)e->fixture->vocab + (size_t)token];
}

uint64_t spec_evidence_visits(const spec_evidence *e, int state)
{
    return e->tables.visits[state];
}

uint64_t spec_evidence_own(const spec_evidence *e, int state, spec_place place)
{
    return e->tables.own[state][place];
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
