/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/claim_formulas.h"

#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/serving/batch_ahead.h"
#include "analysis/serving/break_even.h"
#include "analysis/serving/capacity.h"
#include "analysis/serving/request_kinds.h"
#include "analysis/serving/static_batch.h"
#include "sim/serving/requests/alpha_law.h"

#include <math.h>

static int exactly(spec_claim_value *ret, double value, spec_error *error)
{
    *ret = (spec_claim_value){value, value, value};
    return isnan(value) ? spec_fail(error, GSL_EDOM, "a number that the claim needs is missing")
                        : GSL_SUCCESS;
}

static int affine_of(const spec_affine_step **ret, const spec_claim *claim, spec_error *error)
{
    *ret = spec_step_cost_affine(claim->cost);
    return *ret != NULL ? GSL_SUCCESS
                        : spec_fail(error, GSL_EINVAL, "cost: this quantity needs an affine cost");
}

static double emitted_of(const spec_claim *claim)
{
    return spec_capped_geometric_mean(claim->alpha, claim->K);
}

/* Returns the time of a step in which `batch` requests submit K + 1 tokens each, including the
 * draft if K > 0. */
static double step_of(const spec_claim *claim, double batch, int K)
{
    const spec_step_work work = {.decode_tokens = (int64_t)(batch * (K + 1)),
                                 .kv_tokens = (int64_t)(batch * claim->context),
                                 .drafted = (int64_t)(batch * K),
                                 .decoding = (int)batch,
                                 .passes = K};
    double time = spec_step_cost_target(claim->cost, &work);
    if (K > 0 && claim->opt_draft != NULL) {
        const spec_step_work pass = {.decode_tokens = (int64_t)batch,
                                     .kv_tokens =
                                         (int64_t)(batch * fmin(claim->context, claim->window)),
                                     .decoding = (int)batch};
        time += K * spec_step_cost_target(claim->opt_draft, &pass);
    } else {
        time += spec_step_cost_draft(claim->cost, &work);
    }
    return time;
}

/* Returns the time of a round in plain steps, for the claim's batch and context. */
static double round_of(const spec_claim *claim)
{
    if (!(claim->batch >= 1.0 && claim->context >= 0.0)) return NAN;
    return step_of(claim, claim->batch, claim->K) / step_of(claim, claim->batch, 0);
}

int spec_claim_tokens_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return exactly(ret, emitted_of(claim) / round_of(claim), error);
}

int spec_claim_floor(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return exactly(ret, emitted_of(claim) / (claim->K + 1), error);
}

int spec_claim_threshold(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return exactly(ret, (emitted_of(claim) - 1.0) / (round_of(claim) - 1.0), error);
}

int spec_claim_implied_round(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return exactly(ret, emitted_of(claim) / claim->speedup, error);
}

int spec_claim_capacity(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_affine_step *cost;
    spec_request_life life = {0};
    const spec_request_kind kind = {.share = 1.0,
                                    .alpha = claim->alpha,
                                    .L = (int)claim->output,
                                    .prompt = claim->prompt,
                                    .prompt_square = claim->prompt * claim->prompt};
    const spec_request_kinds kinds = {.kind = &kind, .n = 1, .prefill = true, .K = claim->K};
    SPEC_TRY(affine_of(&cost, claim, error));
    const spec_request_costs costs = spec_request_costs_shared(cost, claim->K);
    if (spec_request_kinds_life(&life, NULL, &kinds, &costs) != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, GSL_EDOM, "a number that the claim needs is missing"));
    SPEC_TRY(exactly(ret, spec_capacity_rate(spec_request_life_total(&life)), error));
done:
    spec_request_life_free(&life);
    return status;
}

int spec_claim_break_even_batch(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    const spec_affine_step *cost;
    double from, to;
    const int status = affine_of(&cost, claim, error);
    if (status != GSL_SUCCESS) return status;
    spec_break_even_batch(&from, &to, cost, claim->K, emitted_of(claim), claim->context);
    return exactly(ret, from > 0.0 ? NAN : to, error);
}

int spec_claim_break_even_context(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    const spec_affine_step *cost, *draft;
    int status = affine_of(&cost, claim, error);
    if (status != GSL_SUCCESS) return status;
    spec_affine_step both = *cost;
    double draft_kv = 0.0;
    draft = claim->opt_draft != NULL ? spec_step_cost_affine(claim->opt_draft) : NULL;
    if (draft != NULL) {
        both.draft_token += draft->token;
        draft_kv = draft->kv;
    }
    return exactly(ret, spec_break_even_context(&both, claim->K, emitted_of(claim), draft_kv),
                   error);
}

int spec_claim_rounds_law(spec_rounds_law *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS, n;
    double alpha[SPEC_ALPHA_NODES], weight[SPEC_ALPHA_NODES];
    spec_alpha_law law;
    *ret = (spec_rounds_law){0};
    if (!(claim->output >= 1.0 && claim->output <= 1e6))
        SPEC_TRY(spec_fail(error, GSL_EDOM, "output: give 1 to 1000000 tokens"));
    SPEC_TRY(spec_alpha_law_init(&law, claim->spread, claim->alpha, error));
    SPEC_TRY(spec_alpha_law_nodes(&n, alpha, weight, &law, error));
    SPEC_TRY(spec_rounds_law_init(ret, (int)claim->output));
    for (int i = 0; i < n; i++)
        SPEC_TRY(spec_rounds_law_add_alpha(ret, weight[i], alpha[i], claim->K, 0.0, NULL,
                                           (int)claim->output));
done:
    return status;
}

int spec_claim_static_rounds(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_rounds_law law;
    SPEC_TRY(spec_claim_rounds_law(&law, claim, error));
    SPEC_TRY(exactly(ret, spec_static_batch_rounds(&law, claim->batch) / spec_rounds_law_mean(&law),
                     error));
done:
    spec_rounds_law_free(&law);
    return status;
}

int spec_claim_ahead_gain(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    const double hit = spec_ahead_hit(claim->alpha, claim->K, claim->guess);
    return exactly(ret, spec_batch_ahead_gain(hit, claim->batch, claim->K, claim->c, 1.0), error);
}

int spec_claim_parallel_throughput(spec_claim_value *ret, const spec_claim *claim,
                                   spec_error *error)
{
    const double token = claim->alpha * claim->c + 1.0 - claim->alpha;
    const double share = fmax(1.0, claim->batch * claim->c);
    const spec_step_work many = {.decode_tokens = (int64_t)share, .decoding = (int)share},
                         one = {.decode_tokens = 1, .decoding = 1};
    return exactly(ret,
                   spec_step_cost_target(claim->cost, &many) /
                       (spec_step_cost_target(claim->cost, &one) * claim->batch * token),
                   error);
}
