/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_lengths: what simple methods of choosing draft lengths lose, over random batches.
 * A batch has 2 to 4 requests with alpha uniform in [0.1, 0.95]. It has the claim's cost, with the
 * parts for tokens and for the draft each multiplied by a factor that is log-uniform in [0.1, 10].
 * Rates are tokens per second divided by the optimum of spec_best_lengths, with at most K tokens;
 * they are at most 1. */
#ifndef SPECLAB_CLAIM_LENGTHS_H
#define SPECLAB_CLAIM_LENGTHS_H

#include "tools/serve/claim.h"

/* Drafts tokens in order of decreasing alpha^j, and stops at the first that does not gain
 * (goodput-each?stop=first). */
int spec_claim_stop_mean(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_stop_worst(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* Uses the best length that all requests share. */
int spec_claim_common_mean(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_common_worst(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

#endif
