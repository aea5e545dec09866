/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/serving_theory.h"

#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/finite_length.h"
#include "analysis/serving/batch_ahead.h"
#include "analysis/serving/branching.h"
#include "analysis/serving/capacity.h"
#include "analysis/serving/heavy_traffic.h"
#include "analysis/serving/request_kinds.h"
#include "analysis/serving/saturation.h"
#include "analysis/serving/single_server.h"
#include "experiments/measures/process_law.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* The maximum numbers of products to compute a distribution of rounds, and that of a batch; for
 * outputs that need more there is no theory. */
static const double most_work = 1e9, most_batch_work = 1e9;

const double spec_serving_quantiles[SPEC_SERVING_QUANTILES] = {0.5, 0.9, 0.99};

/* ---- which theorems hold --------------------------------------------------------------------- */

/* An output of this many tokens is so long that its first and last rounds do not matter. */
static const double long_output = 10000.0;

/* Returns whether #batch-ahead applies: a full batch without prompts and with long outputs, where a
 * draft pass takes the same time for any batch, and a verification the same in every step. */
static bool is_batch_ahead(const spec_serving_question *question)
{
    const spec_affine_step *cost = spec_step_cost_affine(question->cost);
    const spec_length_law *prompt = &question->requests.prompt;
    return question->load == SPEC_SERVING_CLOSED && question->plan.stay == 0.0 &&
           question->process.kind == SPEC_PROCESS_IID && question->plan.blocks == 0 &&
           spec_length_law_mean(&question->requests.output) >= long_output &&
           question->requests.alpha.kind == SPEC_ALPHA_ONE && cost != NULL && cost->kv == 0.0 &&
           cost->token == 0.0 && cost->draft_token == 0.0 && cost->draft_round == 0.0 &&
           prompt->kind == SPEC_LENGTH_NUMBER && spec_length_law_mean(prompt) == 0.0;
}

/* Returns whether the step is affine, every request drafts K tokens, and the steps of its life add
 * what theory says, however long it waits for them. */
static bool has_life(const spec_serving_question *question, const spec_serving_way *way)
{
    const bool rows = question->requests.prompt.kind == SPEC_LENGTH_OF_ROW ||
                      question->requests.output.kind == SPEC_LENGTH_OF_ROW;
    const bool is_in_turn =
        question->plan.place == SPEC_DRAFT_SAME || question->plan.place == SPEC_DRAFT_SEPARATE;
    return way->fixed && spec_step_cost_affine(question->cost) != NULL && !rows &&
           question->requests.opt_accepted == NULL &&
           question->process.kind != SPEC_PROCESS_CONTEXT &&
           question->plan.cache == SPEC_CACHE_FREE && question->load != SPEC_SERVING_REPLAY &&
           (is_in_turn || is_batch_ahead(question)) && question->plan.budget == 0 &&
           question->plan.chunk == 0;
}

/* ---- kinds of requests ----------------------------------------------------------------------- */

typedef struct {
    spec_requests_law law;
    double *tail; /* (law.most + 1) P(output > s) */
    spec_request_kind kind[SPEC_ALPHA_NODES];
    double round[SPEC_RATES_MAX + 1]; /* of a process of rates */
    spec_request_kinds kinds;
} requests_kinds;

static int kinds_init(requests_kinds *of, const spec_serving_question *question, int K,
                      spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_requests_law_init(&of->law, &question->requests, error));
    if ((of->tail = calloc((size_t)of->law.most + 1, sizeof *of->tail)) == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int s = of->law.most - 1; s >= 0; s--)
        of->tail[s] = fmin(1.0, of->tail[s + 1] + of->law.output[s + 1]);
    for (int i = 0; i < of->law.n_alpha; i++)
        of->kind[i] = (spec_request_kind){.share = of->law.weight[i],
                                          .alpha = of->law.alpha[i],
                                          .opt_tail = of->tail,
                                          .L = of->law.most,
                                          .prompt = of->law.mean_prompt,
                                          .prompt_square = of->law.mean_prompt_square};
    of->kinds = (spec_request_kinds){.kind = of->kind,
                                     .n = of->law.n_alpha,
                                     .prefill = of->law.mean_prompt > 0.0,
                                     .K = K,
                                     .stay = question->plan.stay};
    if (question->process.kind == SPEC_PROCESS_RATES) {
        for (int k = 0; k <= K; k++)
            of->round[k] = spec_process_tail(&question->process, K, k) -
                           spec_process_tail(&question->process, K, k + 1);
        of->kinds.opt_round = of->round;
    }
done:
    return status;
}

static void kinds_free(requests_kinds *of)
{
    spec_requests_law_free(&of->law);
    free(of->tail);
}

/* ---- theorems -------------------------------------------------------------------------------- */

/* Fills in an engine whose slots are always full: docs/formulas/serving.md#saturation. */
static void fill_closed(spec_serving_theory *ret, const spec_serving_question *question,
                        const requests_kinds *of, const spec_request_life *shared)
{
    const double slots = question->plan.slots, steps = spec_request_life_steps(shared),
                 output = of->law.mean_output,
                 undrafted =
                     of->kinds.prefill ? spec_step_cost_affine(question->cost)->step : ret->base;
    ret->step =
        spec_saturation_step(ret->base, undrafted, slots, spec_request_life_total(shared), steps);
    ret->capacity = spec_saturation_rate(slots, steps, ret->step);
    ret->batch = slots * ret->rounds / steps;
    ret->tokens_per_s = ret->capacity * output;
    ret->latency = slots / ret->capacity;
}

/* Fills in drafting ahead, and drafting in turn, for a batch that never gets a new request:
 * #batch-ahead. */
static void fill_ahead(spec_serving_theory *ret, const spec_serving_question *question, int K,
                       double output)
{
    const spec_affine_step *cost = spec_step_cost_affine(question->cost);
    const double slots = question->plan.slots, draft = cost->draft_pass,
                 hit = spec_ahead_hit(question->alpha, K, question->plan.guess);
    const bool ahead = question->plan.place == SPEC_DRAFT_AHEAD && K > 0;
    const double emitted = spec_capped_geometric_mean(question->alpha, K),
                 variance = spec_capped_geometric_variance(question->alpha, K),
                 of_output = spec_finite_length_rounds_renewal(emitted, variance, output);
    ret->tokens_per_round = output / of_output; /* the last round is cut off */
    ret->step = cost->step + K * draft;
    if (ahead && question->plan.miss_rides) {
        ret->step = fmax(cost->step, (K + 1) * draft);
        ret->tokens_per_round =
            spec_batch_ahead_ride(hit, question->plan.guess, ret->tokens_per_round);
    } else if (ahead) {
        ret->step = spec_batch_ahead_step(hit, slots, K, draft, cost->step);
    } else if (question->plan.place == SPEC_DRAFT_HALVES && slots > 1) {
        ret->step = spec_batch_ahead_halves(K * draft, cost->step);
    }
    ret->tokens_per_s = slots * ret->tokens_per_round / ret->step;
    ret->capacity = ret->tokens_per_s / output;
    ret->latency = slots / ret->capacity;
}

/* Fills in an engine with one slot: #single-server. */
static void fill_single(spec_serving_theory *ret, const spec_serving_question *question,
                        const spec_request_life *alone)
{
    const double mean = spec_request_life_total(alone),
                 square = spec_request_life_total_square(alone);
    ret->capacity = 1.0 / mean;
    if (question->requests.arrivals.kind != SPEC_ARRIVALS_POISSON) return;
    ret->wait = spec_single_server_wait(question->rate, mean, square);
    ret->latency = spec_single_server_latency(question->rate, mean, square);
}

/* Fills in #heavy-traffic: the limit of latency, and percentiles if they are nearly exact. */
static void fill_near_capacity(spec_serving_theory *ret, const spec_serving_question *question,
                               const spec_request_life *shared, const spec_branching *branching)
{
    spec_heavy_traffic limit;
    if (spec_heavy_traffic_of_life(&limit, shared, question->rate, ret->base) != GSL_SUCCESS)
        return;
    ret->latency_limit = limit.latency;
    const double step = limit.latency / (limit.steps + 0.5);
    ret->relaxation = question->rate * fmax(limit.turn * step / (1.0 - limit.load), ret->latency);
    for (int q = 0; q < SPEC_SERVING_QUANTILES; q++) {
        const double at = spec_serving_quantiles[q];
        ret->batch_at[q] = spec_heavy_traffic_batch_quantile(at, &limit, branching);
        ret->step_at[q] = spec_heavy_traffic_step_quantile(at, &limit, branching);
        ret->latency_at[q] = spec_heavy_traffic_latency_quantile(at, &limit, branching, shared);
    }
}

/* Fills in #capacity, and #branching if arrivals are Poisson and below the capacity. */
static int fill_open(spec_serving_theory *ret, const spec_serving_question *question,
                     const spec_request_life *shared, const spec_request_kinds *kinds)
{
    const double extra = spec_request_life_total(shared), n = shared->n;
    spec_branching branching;
    ret->capacity = spec_capacity_rate(extra);
    if (question->requests.arrivals.kind != SPEC_ARRIVALS_POISSON ||
        spec_capacity_load(question->rate, extra) >= 1.0 || 30.0 * n * n > most_batch_work)
        return GSL_SUCCESS;
    const int status = spec_branching_of_kinds(
        &branching, kinds, spec_step_cost_affine(question->cost), question->rate);
    if (status == GSL_ENOMEM) return status;
    ret->batch = branching.batch;
    ret->batch_var = branching.batch_variance;
    ret->step = branching.step;
    ret->wait = branching.wait;
    ret->first_token = branching.first_token;
    ret->latency = branching.latency;
    fill_near_capacity(ret, question, shared, &branching);
    return GSL_SUCCESS;
}

/* Fills in capacity_most, from the limits on slots and memory: #limited-capacity. Memory is counted
 * in tokens; that the last block of a request is partly empty only lowers what is served. */
static void fill_most(spec_serving_theory *ret, const spec_serving_question *question,
                      const spec_serving_way *way, const requests_kinds *of,
                      const spec_request_life *shared, const spec_rounds_law *rounds)
{
    const spec_affine_step *cost = spec_step_cost_affine(question->cost);
    const spec_serving_plan plan = spec_serving_question_plan(question, way);
    const double extra = spec_request_life_total(shared), draft = ret->base - cost->step,
                 prompt = of->law.mean_prompt,
                 in_rounds =
                     (prompt + way->K + 1.0) * ret->rounds + spec_rounds_law_contexts(rounds),
                 tokens = plan.blocks > 0 ? (double)plan.blocks * plan.block : INFINITY,
                 slots = plan.closed || question->batch_limited ? (double)plan.slots : INFINITY;
    ret->capacity_most =
        fmin(spec_capacity_limited(extra, cost->step, draft, prompt + in_rounds, in_rounds, tokens),
             spec_capacity_limited(extra, cost->step, draft, spec_request_life_steps(shared),
                                   ret->rounds, slots));
}

/* Fills in everything but #batch-ahead, from the life of a request. Limited memory leaves only
 * base, rounds and capacity_most. */
static int fill_of_lives(spec_serving_theory *ret, const spec_serving_question *question,
                         const spec_serving_way *way, const requests_kinds *of)
{
    spec_request_life shared = {0}, alone = {0};
    spec_rounds_law rounds = {0};
    const spec_affine_step *cost = spec_step_cost_affine(question->cost);
    const spec_request_costs of_shared = spec_request_costs_shared(cost, way->K),
                             of_alone = spec_request_costs_alone(cost, way->K);
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_request_kinds_life(&shared, &rounds, &of->kinds, &of_shared));
    SPEC_TRY(spec_request_kinds_life(&alone, NULL, &of->kinds, &of_alone));
    ret->base = cost->step + (way->K > 0 ? cost->draft_round + cost->draft_pass * way->K : 0.0);
    ret->rounds = spec_rounds_law_mean(&rounds);
    fill_most(ret, question, way, of, &shared, &rounds);
    if (question->plan.blocks > 0) goto done;
    ret->tokens_per_round = (of->law.mean_output - (of->kinds.prefill ? 1.0 : 0.0)) / ret->rounds;
    ret->tokens_per_s = question->rate * of->law.mean_output;
    if (question->load == SPEC_SERVING_CLOSED)
        fill_closed(ret, question, of, &shared);
    else if (question->plan.slots == 1)
        fill_single(ret, question, &alone);
    else if (!question->batch_limited)
        SPEC_TRY(fill_open(ret, question, &shared, &of->kinds));
done:
    spec_request_life_free(&shared);
    spec_request_life_free(&alone);
    spec_rounds_law_free(&rounds);
    return status;
}

int spec_serving_theory_fill(spec_serving_theory *ret, const spec_serving_question *question,
                             const spec_serving_way *way, spec_error *error)
{
    requests_kinds of = {0};
    int status = GSL_SUCCESS;
    *ret = (spec_serving_theory){NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 NAN,
                                 {NAN, NAN, NAN},
                                 {NAN, NAN, NAN},
                                 {NAN, NAN, NAN}};
    if (!has_life(question, way)) return GSL_SUCCESS;
    SPEC_TRY(kinds_init(&of, question, way->K, error));
    if (is_batch_ahead(question)) {
        fill_ahead(ret, question, way->K, of.law.mean_output);
        goto done;
    }
    const double work = (double)of.law.n_alpha * of.law.most * of.law.most * (way->K + 1.0);
    if (work > most_work) goto done;
    if (fill_of_lives(ret, question, way, &of) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
done:
    kinds_free(&of);
    return status;
}
