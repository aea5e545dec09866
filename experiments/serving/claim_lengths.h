/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_lengths: what simple ways to choose draft lengths lose, over random batches.
 * A batch has 2 to 4 requests with alpha uniform in [0.1, 0.95]. Its cost is the claim's, with the
 * token's and the draft's parts each times a factor, log-uniform in [0.1, 10]. Rates are tokens per
 * second over the optimum of spec_best_lengths, with at most K tokens; at most 1. */
#ifndef SPECLAB_CLAIM_LENGTHS_H
#define SPECLAB_CLAIM_LENGTHS_H

#include "experiments/serving/claim.h"

/* Drafting by falling alpha^j, up to the first token that does not gain (goodput-each?stop=first).
 */
int spec_claim_stop_mean(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_stop_worst(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* The best length that all requests share. */
int spec_claim_common_mean(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_common_worst(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

#endif
