/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plain_engine: the state of plain_serving.h: requests in lists, and one uniform number at a time.
 * Headers only, except for the schedule, which is in plain_engine.c. */
#ifndef SPECLAB_TESTS_PLAIN_ENGINE_H
#define SPECLAB_TESTS_PLAIN_ENGINE_H

#include "sim/chance/lanes.h"
#include "sim/chance/rng.h"
#include "sim/serving/serving_plan.h"

#include <stdbool.h>
#include <stdlib.h>

/* Returns one uniform number at a time from lanes. */
typedef struct {
    spec_lanes lanes;
    uint32_t word[SPEC_LANES];
    int used;
} uniforms;

static inline void uniforms_init(uniforms *u, uint64_t seed, const char *name, uint64_t stream)
{
    spec_lanes_init(&u->lanes, spec_rng_named_seed(seed, name), stream);
    u->used = SPEC_LANES;
}

static inline float uniforms_next(uniforms *u)
{
    if (u->used == SPEC_LANES) {
        spec_lanes_fill_ref(&u->lanes, u->word, 1);
        u->used = 0;
    }
    return (float)(u->word[u->used++] >> 8) * 0x1p-24f;
}

/* A request in the system. */
typedef struct member member;
struct member {
    member *next;
    spec_request request;
    int left, todo, cached; /* tokens to emit, prompt tokens to compute, tokens in the KV cache */
    int slot;
    int64_t blocks;
    double wait, first;          /* s; -1: not yet */
    float last;                  /* uniform number of the last round; -1: none */
    uint32_t index;              /* in the source */
    bool cold;                   /* no draft is ready */
    int seen;                    /* tokens that the draft has computed */
    int32_t place;               /* its place in the lengths that it replays */
    int64_t tokens, kv, drafted; /* what it added to steps */
    /* in this step: K, or -1 if it sits out; n_accepted; tokens of its chunk */
    int K, n_accepted, chunk;
};

typedef struct {
    member *head, **tail;
} list;

static inline void list_init(list *l)
{
    l->head = NULL;
    l->tail = &l->head;
}

static inline void list_append(list *l, member *m)
{
    m->next = NULL;
    *l->tail = m;
    l->tail = &m->next;
}

static inline void list_prepend(list *l, member *m)
{
    m->next = l->head;
    if (l->head == NULL) l->tail = &m->next;
    l->head = m;
}

static inline void list_remove(list *l, member *m)
{
    member **at = &l->head;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    if (m->next == NULL) l->tail = at;
}

static inline void free_head(list *l)
{
    member *m = l->head;
    list_remove(l, m);
    free(m);
}

static inline member *list_last(const list *l)
{
    member *last = l->head;
    while (last != NULL && last->next != NULL) last = last->next;
    return last;
}

typedef struct {
    const spec_serving_plan *plan;
    void *cursor, *state;
    spec_request pending;
    bool more;
    uniforms accept, repeat, guess;
    list queue, running;
    int n_running, K_max;
    bool *slot_taken;
    int64_t used;
    double now;
    /* with an asynchronous scheduler: what it knows. Requests that arrived later are not seen, and
     * requests that the last step completed still hold their slots and blocks. */
    double known, origin;
    int held_slots;
    int64_t held_blocks;
    int64_t in_system, in_system_begin, in_system_middle;
    uint64_t completed;
    uint32_t joined;
    /* of the step */
    bool preempted;
    int n_batch;
    int64_t budget_left;
    /* sums over the measured part */
    bool measuring;
    double begin, early, present;
    uint64_t n_early;
    int64_t used_begin, written;
    int64_t tokens, kv, drafted; /* of requests */
    spec_serving_sums of_requests;
    spec_serving_result *result;
    /* (slots) arrays of the batch, all but the first in `rows` */
    member **batch;
    float *alpha;
    int32_t *slot, *K, *accepted, *context, *rows;
} plain_engine;

static inline int smaller(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

/* Returns its probability of acceptance in a round that begins now. */
static inline float alpha_of(const plain_engine *e, const member *m)
{
    const spec_context_steps *steps = e->plan->opt_alpha;
    float alpha = m->request.alpha;
    for (int i = 0; steps != NULL && i < steps->n; i++)
        if (steps->from[i] <= m->cached) alpha = (float)steps->value[i];
    return alpha;
}

/* Moves the requests that have arrived to the queue. */
void plain_engine_arrive(plain_engine *e);

/* Removes a running request, with its slot and its blocks. */
void plain_engine_leave(plain_engine *e, member *m);

/* Sets K and the chunks of a step: points 2 to 6 of sim/serving/serving_run.h. */
void plain_engine_schedule(plain_engine *e, spec_step_batch *batch);

#endif
