/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_kinds: the requests of a load as a few kinds.
 * Each has one alpha and one distribution of lengths. A mixture of alphas becomes one kind per
 * value (for Beta, per node of a quadrature). These are plain records that borrow the caller's
 * arrays. docs/formulas/serving.md#request-life. */
#ifndef SPECLAB_REQUEST_KINDS_H
#define SPECLAB_REQUEST_KINDS_H

#include "analysis/serving/request_life.h"

typedef struct {
    double share;           /* of this kind among all requests, in [0,1] */
    double alpha;           /* acceptance rate (A1), in [0,1] */
    const double *opt_tail; /* (L) P(output > s) for s = 0..L-1, 1 within 1e-9 at 0; NULL: all
                               outputs have L tokens */
    int L;                  /* the largest number of output tokens, >= 1 */
    double prompt;          /* mean prompt, tokens, independent of the rounds */
    double prompt_square;   /* its mean square */
} spec_request_kind;

/* All requests, whose shares sum to 1 within 1e-9. */
typedef struct {
    const spec_request_kind *kind; /* (n) */
    int n;                         /* >= 1 */
    bool prefill; /* the first step computes the prompt and emits the first token */
    int K;        /* draft tokens per round, >= 0 */
    double stay;  /* chance that a round repeats the previous one, in [0,1] */
    /* (K + 1) chances that a round emits 1..K + 1 tokens, for every kind, instead of alpha; or
     * NULL */
    const double *opt_round;
} spec_request_kinds;

/* Initialises and fills a life. Unless opt_rounds is NULL, it receives the distribution of the
 * rounds of all requests. The caller frees both. Returns GSL_SUCCESS, GSL_EDOM outside the domain,
 * or GSL_ENOMEM; both are zeroed on failure. Takes O(n L^2 K) at most. */
int spec_request_kinds_life(spec_request_life *ret_life, spec_rounds_law *opt_rounds,
                            const spec_request_kinds *kinds, const spec_request_costs *costs);

#endif
