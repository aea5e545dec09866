/* decode_device: rounds whose chain is drawn and verified where the models' rows are (models/chain.h).
 * Of the token rule on chains of a length set beforehand, by sampled chance: the uniforms are the generator's own, in the
 * order in which rows would use them, so a text is the same token for token. Its drafts have no rows. */
#ifndef SPECLAB_DECODE_DEVICE_H
#define SPECLAB_DECODE_DEVICE_H

#include "models/chain.h"
#include "sim/draft/drafter.h"
#include "sim/verify/verify.h"
#include "speclab/round.h"

/* Where chains are verified. */
typedef enum {
    SPEC_VERIFY_HOST,     /* by their rows */
    SPEC_VERIFY_AUTO,     /* on the device where that is possible */
    SPEC_VERIFY_DEVICE    /* on the device, or not at all */
} spec_verify_place;

typedef struct {
    bool on;          /* it is possible */
    bool used;        /* the last round was one */
    spec_chain chain; /* the laws of a round's chain */
    spec_chain next;  /* and of one that is drafted ahead */
    gsl_rng *rng;     /* a copy of the generator; NULL at first */
    double *uniform;  /* (K+2) */
    double *chance;   /* (K) with which each tested token was to be accepted, in the last such round */
} spec_device_chain;

/* Look whether it is possible for drafts of at most K tokens; two laws a token are kept if `ahead`. Where it is not:
 * GSL_EINVAL with the reason for SPEC_VERIFY_DEVICE, else nothing is on. */
int spec_device_chain_init(spec_device_chain *device, spec_verify_place place, const spec_rule *rule,
                           spec_drafter *drafter, spec_session *target, const spec_policy *policy, bool ahead,
                           spec_error *error);
void spec_device_chain_free(spec_device_chain *device); /* a zeroed one is fine */

/* Is a round with such chance and limit one of these? A draft of no tokens has its row on the host. */
bool spec_device_chain_can(const spec_device_chain *device, const spec_policy *policy, const spec_chance *chance);

/* spec_drafter_draft for chains, with the laws in `chain`. */
int spec_device_chain_draft(spec_draft *ret_draft, spec_chain *chain, spec_drafter *drafter, const int *context,
                            size_t n, const spec_policy *policy, spec_chance *chance, spec_error *error);

/* After spec_chain_score_end: the token rule. */
int spec_device_chain_verify(spec_round *ret_round, spec_device_chain *device, const spec_draft *draft,
                             spec_chance *chance, spec_error *error);

#endif
