/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decoding: the decoding requests of a serving engine, as arrays in order of entry.
 * A step in which all of them advance by one token needs no work per request: we add 1 to `plain`,
 * and a request has left - plain tokens still to emit. */
#ifndef SPECLAB_DECODING_H
#define SPECLAB_DECODING_H

#include "sim/serving/engine/members.h"

typedef struct {
    int n, capacity;
    int32_t *left;   /* (n) tokens to emit + plain */
    int32_t *base;   /* (n) context + tokens to emit */
    int32_t *member; /* (n) */
    float *alpha;    /* (n) */
    float *last;     /* (n) uniform number of the previous round; NULL if rounds are independent */
    int32_t *held;   /* (n) tokens that fit in its blocks; NULL without a limit of blocks */
    uint64_t *past;  /* (n) tokens to emit, summed over its `rounds`; NULL if KV reads are free */
    int32_t *out;    /* (capacity) see spec_decoding_take_completed */
    int64_t context; /* sum of contexts */
    int unstarted;   /* requests without a first token, among the youngest */
    int32_t plain;   /* steps since the last flattening in which all requests emitted one token */
    int32_t soonest; /* the value of `plain` before which no request completes; 0: not known */
    /* Totals over the steps in which all requests had the same K: the tokens and draft tokens of
     * each request, and how many of these steps were not plain. A member's part is the difference
     * of two readings. */
    int64_t tokens, drafted, rounds;
} spec_decoding;

/* Sets up an empty object, with the optional arrays that the flags ask for. Returns GSL_SUCCESS or
 * GSL_ENOMEM. */
int spec_decoding_init(spec_decoding *decoding, bool has_last, bool has_held, bool has_past);
void spec_decoding_free(spec_decoding *decoding); /* a zeroed object is legal */

/* Lets a running member begin to decode, at its position in the order of entry. Returns GSL_SUCCESS
 * or GSL_ENOMEM. */
int spec_decoding_insert(spec_decoding *decoding, spec_member *members, int32_t member);

/* Stops the youngest request from decoding: copies its state back into its member and returns that
 * member. */
int32_t spec_decoding_take_youngest(spec_decoding *decoding, spec_member *members);

/* Does the same for all requests with no token left to emit, and returns how many there are. Their
 * members are in out[0] .. out[result - 1], in order of entry. */
int spec_decoding_take_completed(spec_decoding *decoding, spec_member *members);

/* Returns the member of request i as it would be if the request stopped decoding now. */
spec_member spec_decoding_settled(const spec_decoding *decoding, const spec_member *members, int i);

/* Advances each request by one token, without work per request. Returns true if some may have
 * completed. */
bool spec_decoding_advance(spec_decoding *decoding, spec_member *members);

/* Flattens the arrays: sets plain to 0, so that `left` is just the tokens to emit. */
void spec_decoding_flatten(spec_decoding *decoding, spec_member *members);

#endif
