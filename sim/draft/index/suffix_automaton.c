/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/suffix_automaton.h"

#include "base/noise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_AT_FIRST = 256 };

/* ---- memory ---------------------------------------------------------------------------------- */

void spec_suffix_automaton_init(spec_suffix_automaton *automaton, int reach)
{
    assert(reach >= 1);
    *automaton = (spec_suffix_automaton){.reach = reach};
}

void spec_suffix_automaton_free(spec_suffix_automaton *automaton)
{
    free(automaton->state);
    free(automaton->edge);
    free(automaton->slot);
    *automaton = (spec_suffix_automaton){0};
}

void spec_suffix_automaton_reset(spec_suffix_automaton *automaton)
{
    automaton->n_tokens = automaton->n_edges = automaton->n_states = 0;
    if (automaton->capacity == 0) return;
    automaton->state[automaton->n_states++] = (spec_suffix_state){.link = -1, .edge = -1};
    memset(automaton->slot, -1, automaton->n_slots * sizeof *automaton->slot);
    spec_suffix_automaton_begin(automaton);
}

void spec_suffix_automaton_begin(spec_suffix_automaton *automaton)
{
    automaton->last = automaton->near = automaton->near_length = 0;
}

/* Returns the slot of an edge, or the free slot where it belongs. */
static size_t find(const spec_suffix_automaton *automaton, int from, int token)
{
    const size_t mask = automaton->n_slots - 1;
    size_t at = (size_t)spec_noise_mix(((uint64_t)from << 32) + (uint64_t)token) & mask;
    for (;; at = (at + 1) & mask) {
        const int edge = automaton->slot[at];
        if (edge < 0 ||
            (automaton->edge[edge].from == from && automaton->edge[edge].token == token))
            return at;
    }
}

int spec_suffix_automaton_reserve(spec_suffix_automaton *automaton, int more, spec_error *error)
{
    assert(more >= 0);
    const int held = automaton->capacity, used = automaton->n_tokens;
    if (more <= held - used) return GSL_SUCCESS;
    if (more > SPEC_SUFFIX_AUTOMATON_MAX - used)
        return spec_fail(error, GSL_ENOMEM, "texts of more than %d tokens are too long to index",
                         SPEC_SUFFIX_AUTOMATON_MAX);
    int capacity = held > 0 ? held : CAPACITY_AT_FIRST;
    while (capacity - used < more) capacity *= 2;
    const size_t n = (size_t)capacity;
    size_t n_slots = 1;
    while (n_slots < 4 * n) n_slots *= 2; /* at most 3/4 full */
    spec_suffix_state *state = realloc(automaton->state, (2 * n + 1) * sizeof *state);
    if (state != NULL) automaton->state = state;
    spec_suffix_edge *edge = realloc(automaton->edge, (3 * n + 1) * sizeof *edge);
    if (edge != NULL) automaton->edge = edge;
    int *slot = malloc(n_slots * sizeof *slot);
    if (state == NULL || edge == NULL || slot == NULL) {
        free(slot);
        return spec_fail(error, GSL_ENOMEM, "out of memory for an index of %d tokens", capacity);
    }
    free(automaton->slot);
    automaton->slot = slot;
    automaton->n_slots = n_slots;
    automaton->capacity = capacity;
    if (held == 0) {
        spec_suffix_automaton_reset(automaton);
        return GSL_SUCCESS;
    }
    memset(slot, -1, n_slots * sizeof *slot);
    for (int i = 0; i < automaton->n_edges; i++)
        slot[find(automaton, edge[i].from, edge[i].token)] = i;
    return GSL_SUCCESS;
}

/* ---- construction ---------------------------------------------------------------------------- */

static int add_state(spec_suffix_automaton *automaton, spec_suffix_state state)
{
    automaton->state[automaton->n_states] = state;
    return automaton->n_states++;
}

static void add_edge(spec_suffix_automaton *automaton, int from, int token, int to)
{
    const int added = automaton->n_edges++;
    assert(added <= 3 * automaton->capacity);
    automaton->edge[added] = (spec_suffix_edge){
        .from = from, .token = token, .to = to, .next = automaton->state[from].edge};
    automaton->state[from].edge = added;
    automaton->slot[find(automaton, from, token)] = added;
}

/* Returns the state of the longest string of `from` followed by the token that leads to `to`. If
 * `to` also has longer strings, the shorter ones now end at more positions than these, so they get
 * a state of their own. */
static int part(spec_suffix_automaton *automaton, int from, int token, int to)
{
    const int length = automaton->state[from].length + 1;
    if (automaton->state[to].length == length) return to;
    const int copied = automaton->state[to].edge;
    spec_suffix_state shorter = automaton->state[to];
    shorter.length = length;
    shorter.edge = -1;
    const int clone = add_state(automaton, shorter);
    for (int i = copied; i >= 0; i = automaton->edge[i].next)
        add_edge(automaton, clone, automaton->edge[i].token, automaton->edge[i].to);
    automaton->state[to].link = clone;
    for (int at = from; at >= 0; at = automaton->state[at].link) {
        const int edge = automaton->slot[find(automaton, at, token)];
        if (automaton->edge[edge].to != to) break;
        automaton->edge[edge].to = clone;
    }
    return clone;
}

void spec_suffix_automaton_append(spec_suffix_automaton *automaton, int token)
{
    assert(automaton->n_tokens < automaton->capacity && token >= 0);
    const int last = automaton->last, known = spec_suffix_automaton_next(automaton, last, token);
    automaton->n_tokens++;
    if (known >= 0) { /* in an earlier text */
        automaton->last = part(automaton, last, token, known);
    } else {
        const int added =
            add_state(automaton,
                      (spec_suffix_state){.length = automaton->state[last].length + 1, .edge = -1});
        int from = last, to = -1;
        for (; from >= 0; from = automaton->state[from].link) {
            to = spec_suffix_automaton_next(automaton, from, token);
            if (to >= 0) break;
            add_edge(automaton, from, token, added);
        }
        const int link = from >= 0 ? part(automaton, from, token, to) : 0;
        automaton->state[added].link = link;
        automaton->last = added;
    }
    spec_suffix_automaton_follow(automaton, &automaton->near, &automaton->near_length, token,
                                 automaton->reach);
    for (int at = automaton->near; at > 0; at = automaton->state[at].link)
        automaton->state[at].count++;
}

/* ---- reading --------------------------------------------------------------------------------- */

int spec_suffix_automaton_next(const spec_suffix_automaton *automaton, int state, int token)
{
    if (automaton->n_slots == 0) return -1;
    const int edge = automaton->slot[find(automaton, state, token)];
    return edge >= 0 ? automaton->edge[edge].to : -1;
}

void spec_suffix_automaton_follow(const spec_suffix_automaton *automaton, int *state, int *length,
                                  int token, int most)
{
    const spec_suffix_state *all = automaton->state;
    int next;
    while ((next = spec_suffix_automaton_next(automaton, *state, token)) < 0 && *state > 0) {
        *state = all[*state].link;
        *length = all[*state].length;
    }
    if (next < 0) return; /* at the empty string */
    *state = next;
    *length = *length < most ? *length + 1 : most;
    while (all[next].link >= 0 && all[all[next].link].length >= *length) next = all[next].link;
    *state = next;
}
