/* SPDX-License-Identifier: GPL-3.0-or-later */
/* members: the requests in a serving engine, and the queue of those that wait.
 * Members live in a pool and are identified by their indices. Owns its memory. */
#ifndef SPECLAB_MEMBERS_H
#define SPECLAB_MEMBERS_H

#include "sim/serving/request.h"

typedef struct {
    spec_request request;
    /* s from arrival to first scheduling; time of the first token, -1 before it */
    double wait, first;
    uint64_t entry;     /* running requests are ordered by this */
    uint32_t index;     /* in the source */
    int32_t left;       /* tokens to emit, while it does not decode */
    int32_t todo;       /* prompt tokens to compute; 0: it decodes as soon as it enters */
    int32_t cached;     /* tokens in the KV cache, while it does not decode */
    int32_t held;       /* tokens that fit in its blocks, while it does not decode */
    int32_t chunk;      /* tokens of its prompt that this step computes */
    int32_t slot;       /* while it runs */
    int32_t place;      /* position in the accepted lengths that it replays */
    float last;         /* uniform number of its previous round; -1: none */
    bool cold;          /* no draft is ready (drafts ahead) */
    int32_t seen;       /* tokens of its context in the draft's cache, if `drop` is the engine's */
    uint32_t drop;
    /* the work that it added to steps; see decoding.h. `drafted` includes the tokens that fill the
     * draft's cache */
    int64_t tokens, kv, drafted;
    int64_t rounds;
} spec_member;

typedef struct {
    spec_member *at;
    int32_t *spare; /* numbers of unused members, n_spare of them */
    int32_t *queue; /* a ring of `size` numbers */
    int32_t size, n_spare, head, waiting;
} spec_members;

/* Adds a member to a pool; a zeroed pool is empty. Returns GSL_SUCCESS or GSL_ENOMEM. */
int spec_members_add(spec_members *members, int32_t *ret_member);
void spec_members_remove(spec_members *members, int32_t member);
void spec_members_free(spec_members *members);

/* Put a member at the end or at the head of the queue, which has room for every member. */
void spec_members_append(spec_members *members, int32_t member);
void spec_members_prepend(spec_members *members, int32_t member);
int32_t spec_members_pop(spec_members *members); /* returns the head */

/* Returns member i of the queue, counted from its head. */
static inline const spec_member *spec_members_waiting(const spec_members *members, int32_t i)
{
    return &members->at[members->queue[(members->head + i) & (members->size - 1)]];
}

/* Returns the head of the queue, or NULL if nobody waits. */
static inline spec_member *spec_members_head(const spec_members *members)
{
    return members->waiting > 0 ? &members->at[members->queue[members->head]] : NULL;
}

#endif
