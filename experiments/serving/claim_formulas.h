/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_formulas: quantities of claims that have a closed form (claim.h).
 * All are exact under iid acceptance (A1) and the cost of the claim. Errors name what a claim
 * lacks. The formulas are in analysis/serving. */
#ifndef SPECLAB_CLAIM_FORMULAS_H
#define SPECLAB_CLAIM_FORMULAS_H

#include "analysis/serving/rounds_law.h"
#include "experiments/serving/claim.h"

int spec_claim_tokens_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_floor(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_capacity(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_break_even_batch(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_break_even_context(spec_claim_value *ret, const spec_claim *claim,
                                  spec_error *error);
int spec_claim_static_rounds(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_implied_round(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_ahead_gain(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
int spec_claim_threshold(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* Target servers that all serve one request, with a draft call every c of a target's step, finish
 * a token in alpha c + (1 - alpha) steps: a rejection costs a step [Timor25]. 1 / c servers give
 * it. Plain servers share the requests:
 *
 *     step(batch / servers) / (step(1) batch (alpha c + 1 - alpha)),   servers = 1 / c
 *
 * batch / servers is at least 1: below, servers are idle. */
int spec_claim_parallel_throughput(spec_claim_value *ret, const spec_claim *claim,
                                   spec_error *error);

/* The law of rounds of the claim's requests: alpha with its spread, outputs of one length that has
 * no prefill. The caller frees. */
int spec_claim_rounds_law(spec_rounds_law *ret, const spec_claim *claim, spec_error *error);

#endif
