/* SPDX-License-Identifier: GPL-3.0-or-later */
/* accepted_lengths: measured numbers of accepted draft tokens, which rounds replay.
 * A length is the n_accepted of a round whose draft was long enough, not counting the correction or
 * bonus token. Of a shorter draft of K tokens, min(K, length) are accepted.
 * docs/formats.md#accepted-lengths has the files. Shared by threads; owns its arrays. */
#ifndef SPECLAB_ACCEPTED_LENGTHS_H
#define SPECLAB_ACCEPTED_LENGTHS_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t n;      /* requests, >= 1 */
    int64_t *first; /* (n + 1) request r has length[first[r]] to length[first[r + 1] - 1], >= 1 */
    int8_t *length; /* (first[n]) 0..most */
    int most;       /* the longest length in the file */
    /* True: length i = 0, 1, ... belongs to a round that begins i tokens after the token of the
     * prefill. False: it belongs to round i, wherever that begins. */
    bool by_position;
    float *alpha;    /* (n) accepted / tested along the request, with K = most */
    int32_t *prompt; /* (n) tokens of the prompt, >= 0; NULL if the file has none */
    int32_t *output; /* (n) tokens of the output, >= 1; NULL if the file has none */
} spec_accepted_lengths;

/* Loads a file. `spec` is FILE, or FILE?field=NAME to choose among several lists of lengths per
 * request. On failure returns GSL_EFAILED, GSL_EINVAL or GSL_ENOMEM with a message "file:line:
 * what", and zeroes the object. */
int spec_accepted_lengths_load(spec_accepted_lengths *lengths, const char *spec, spec_error *error);
/* Reads the same from a stream, which stays open; opt_field may be NULL. */
int spec_accepted_lengths_read(spec_accepted_lengths *lengths, FILE *file, const char *name,
                               const char *opt_field, spec_error *error);
void spec_accepted_lengths_free(spec_accepted_lengths *lengths); /* accepts a zeroed object */

/* Returns n_accepted of the next round of a request, with a draft of K >= 0 tokens. *place is 0
 * before the first round and advances with each; after the last length the request starts again. */
static inline int spec_accepted_lengths_next(const spec_accepted_lengths *lengths, int32_t request,
                                             int32_t *place, int K)
{
    const int64_t first = lengths->first[request];
    const int64_t count = lengths->first[request + 1] - first;
    const int length = lengths->length[first + *place];
    const int n_accepted = length < K ? length : K;
    const int64_t next = *place + (lengths->by_position ? n_accepted + 1 : 1);
    *place = (int32_t)(next < count ? next : next % count);
    return n_accepted;
}

/* Counts over the rounds of a request with drafts of K tokens, from its first length to its
 * last. */
typedef struct {
    int64_t rounds, accepted;
    int64_t tested; /* accepted tokens plus the first rejected token of each round */
} spec_accepted_count;
spec_accepted_count spec_accepted_lengths_count(const spec_accepted_lengths *lengths,
                                                int32_t request, int K);

#endif
