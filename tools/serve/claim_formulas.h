/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_formulas: quantities of claims that have a closed form (claim.h).
 * All are exact under iid acceptance (A1) and the claim's cost. Errors name what is missing from a
 * claim. The formulas are in analysis/serving. */
#ifndef SPECLAB_CLAIM_FORMULAS_H
#define SPECLAB_CLAIM_FORMULAS_H

#include "analysis/serving/rounds_law.h"
#include "tools/serve/claim.h"

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

/* In speculation parallelism all target servers work on one request. A draft call takes c target
 * steps, and a token takes alpha c + (1 - alpha) steps, because a rejection costs a step [Timor25].
 * This needs 1 / c servers. In plain decoding the servers share the requests:
 *
 *     step(batch / servers) / (step(1) batch (alpha c + 1 - alpha)),   servers = 1 / c
 *
 * batch / servers is at least 1; below that, servers would be idle. */
int spec_claim_parallel_throughput(spec_claim_value *ret, const spec_claim *claim,
                                   spec_error *error);

/* Returns the distribution of rounds of the claim's requests: alpha with its spread, and outputs of
 * one length without prefill. The caller frees it. */
int spec_claim_rounds_law(spec_rounds_law *ret, const spec_claim *claim, spec_error *error);

#endif
