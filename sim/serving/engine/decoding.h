/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decoding: the requests of a serving engine that decode, as arrays in order of entry.
 * A step in which all of them advance by one token costs no work per request: it adds 1 to `plain`,
 * and tokens to emit are left - plain. */
#ifndef SPECLAB_DECODING_H
#define SPECLAB_DECODING_H

#include "sim/serving/engine/members.h"

typedef struct {
    int n, capacity;
    int32_t *left;   /* (n) tokens to emit + plain */
    int32_t *base;   /* (n) context + tokens to emit */
    int32_t *member; /* (n) */
    float *alpha;    /* (n) */
    float *last;     /* (n) uniform number of the last round; NULL if rounds are independent */
    int32_t *held;   /* (n) tokens that fit in its blocks; NULL without a limit of blocks */
    uint64_t *past;  /* (n) tokens to emit, summed over its `rounds`; NULL if KV reads are free */
    int32_t *out;    /* (capacity) see spec_decoding_take_completed */
    int64_t context; /* sum of contexts */
    int unstarted;   /* requests without a first token, among the youngest */
    int32_t plain;   /* steps of one token for all since the arrays were flat */
    int32_t soonest; /* no request completes before `plain` is this; 0: not known */
    /* Totals over the steps that had one K: tokens and draft tokens of each request, and the number
     * of those steps that were not plain. A member's share is a difference of two readings. */
    int64_t tokens, drafted, rounds;
} spec_decoding;

/* Without requests; with the optional arrays as told. GSL_ENOMEM. */
int spec_decoding_init(spec_decoding *decoding, bool has_last, bool has_held, bool has_past);
void spec_decoding_free(spec_decoding *decoding); /* a zeroed object is legal */

/* A running member begins to decode, at its place in the order of entry. GSL_ENOMEM. */
int spec_decoding_insert(spec_decoding *decoding, spec_member *members, int32_t member);

/* The youngest request stops to decode: its state is in its member again. */
int32_t spec_decoding_take_youngest(spec_decoding *decoding, spec_member *members);

/* So do requests without a token to emit. Their members are in out[0] .. out[result - 1], in order
 * of entry. */
int spec_decoding_take_completed(spec_decoding *decoding, spec_member *members);

/* The member of request i as it would be if it stopped to decode now. */
spec_member spec_decoding_settled(const spec_decoding *decoding, const spec_member *members, int i);

/* One token for each request, without work per request; true: some may have completed. */
bool spec_decoding_advance(spec_decoding *decoding, spec_member *members);

/* plain = 0: `left` has tokens to emit alone. */
void spec_decoding_flatten(spec_decoding *decoding, spec_member *members);

#endif
