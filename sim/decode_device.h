/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decode_device: rounds whose chains are drawn and verified on the GPU, next to the models' rows.
 * This works for the token rule on chains, drawn or greedy, whose length is set beforehand, with
 * sampled chance (models/chain.h). It uses the generator's uniforms in the same order as the host
 * would, so the text is the same, token for token. The drafts have no rows. */
#ifndef SPECLAB_DECODE_DEVICE_H
#define SPECLAB_DECODE_DEVICE_H

#include "models/chain.h"
#include "sim/draft/drafter.h"
#include "sim/verify/verify.h"
#include "speclab/round.h"

/* Where chains are verified. */
typedef enum {
    SPEC_VERIFY_HOST, /* on the host, from their rows */
    SPEC_VERIFY_AUTO, /* on the device where possible */
    SPEC_VERIFY_DEVICE    /* on the device, or GSL_EINVAL */
} spec_verify_place;

typedef struct {
    bool on;          /* verification on the device is possible */
    bool used;        /* the last round ran on the device */
    spec_chain chain; /* the laws of a round's chain */
    spec_chain next;  /* the laws of a chain that is drafted ahead */
    gsl_rng *rng;     /* a copy of the generator; NULL at first */
    double *uniform;  /* (K+2) */
    double *chance;   /* (K) acceptance probability of each token tested in the last round on the
                       * device */
} spec_device_chain;

/* Checks whether drafts of at most K tokens can be verified on the device; with `ahead`, allocates
 * memory for two laws per token. If this is not possible, returns GSL_EINVAL with the reason for
 * SPEC_VERIFY_DEVICE, and otherwise leaves `on` false. */
int spec_decode_device_init(spec_device_chain *device, spec_verify_place place,
                            const spec_rule *rule, spec_drafter *drafter, spec_session *target,
                            const spec_policy *policy, bool ahead, spec_error *error);
void spec_decode_device_free(spec_device_chain *device); /* a zeroed one is allowed */

/* Returns whether a round with this chance and limit runs on the device. A round with an empty
 * draft runs on the host. */
bool spec_decode_device_can(const spec_device_chain *device, const spec_policy *policy,
                            const spec_chance *chance);

/* Does the rest of spec_drafter_draft for chains, after spec_drafter_begin, but leaves the
 * distributions in `chain`, which is one of the device's two. */
int spec_decode_device_draft(spec_draft *ret_draft, spec_device_chain *device, spec_chain *chain,
                             spec_drafter *drafter, const int *context, spec_chance *chance,
                             spec_error *error);

/* Applies the token rule, after spec_chain_score_end. */
int spec_decode_device_verify(spec_round *ret_round, spec_device_chain *device,
                              const spec_draft *draft, spec_chance *chance, spec_error *error);

#endif
