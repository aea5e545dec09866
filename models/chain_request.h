/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain_request: requests to draw a chain of draft tokens, and to verify it by the token rule.
 * Both run on a device (models/chain.h, models/transformer/engine/backend.h), so that only tokens
 * cross the bus. All arrays belong to the caller. [Leviathan23] */
#ifndef SPECLAB_CHAIN_REQUEST_H
#define SPECLAB_CHAIN_REQUEST_H

#include "models/transform.h"

typedef struct {
    int n;                           /* tokens to draw, n >= 1 */
    void *const *law;                /* (n) where the law of each token is kept */
    const spec_transform *transform; /* of the draft's logits */
    const double *opt_uniform;       /* (n) in [0,1); NULL: each token is the most probable one, the
                                        lowest id among ties, and its law is one-hot */
    const float *logits;             /* (vocab) those of the last pass; set by the model */
} spec_draw_request;

typedef struct {
    const int *token;                /* (n) */
    int n;                           /* draft tokens, n >= 0 */
    void *const *law; /* (n) the law that token[i] was drawn from, in the device's own format */
    const spec_transform *transform; /* of the target's logits */
    const double *uniform;           /* (n+2) in [0,1), used in the order in which the rule uses
                                        them on rows (sim/verify/verify_token.c) */
} spec_chain_request;

typedef struct {
    int n_accepted; /* 0..n */
    int token;      /* the correction or the bonus */
    int used;       /* uniforms consumed */
    double
        *chance; /* (n) the probability that each tested token is accepted; 0 for untested tokens */
} spec_chain_outcome;

#endif
