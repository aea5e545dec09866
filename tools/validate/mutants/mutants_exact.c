/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact samplers that draw, toss coins and stop in unusual ways. Each comment is the proof. */
#include "tools/validate/mutants/mutants.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

/* ---- draws ----------------------------------------------------------------------------------- */

/* The first of independent exponential clocks of rates w_i is clock i with probability w_i / sum w:
 * Gumbel-max. */
static int pick_by_race(spec_reference_sampler *s, const double *weight,
                        spec_reference_sampler_use use)
{
    double first = INFINITY;
    int winner = 0;
    for (int i = 0; i < s->vocab; i++) {
        if (!(weight[i] > 0.0)) continue;
        const double time = -log1p(-spec_reference_sampler_uniform(s, use)) / weight[i];
        if (!(time < first)) continue;
        first = time;
        winner = i;
    }
    return winner;
}

/* The cells of a cumulative sum have the same length in any order. */
static int pick_by_rank(spec_reference_sampler *s, const double *weight,
                        spec_reference_sampler_use use)
{
    const size_t V = (size_t)s->vocab;
    size_t *order = malloc(V * sizeof *order), r = V - 1;
    double sum = 0.0, below = 0.0;
    if (order == NULL) return spec_reference_sampler_scan(s, weight, use);
    gsl_sort_index(order, weight, 1, V); /* ascending */
    for (size_t i = 0; i < V; i++) sum += weight[i];
    const double u = spec_reference_sampler_uniform(s, use) * sum;
    for (;; r--) {
        below += weight[order[r]];
        if (u < below || r == 0 || !(weight[order[r - 1]] > 0.0)) break;
    }
    const int token = (int)order[r];
    free(order);
    return token;
}

/* Walker's alias table: V columns of equal height, each shared by a token and at most one other,
 * its alias. */
static int pick_by_alias(spec_reference_sampler *s, const double *weight,
                         spec_reference_sampler_use use)
{
    const int V = s->vocab;
    double *height = malloc((size_t)V * sizeof *height), sum = 0.0;
    int *alias = malloc((size_t)V * sizeof *alias), *stack = malloc((size_t)V * sizeof *stack);
    int low = 0, high = V; /* stack[0..low-1] are below the mean, stack[high..V-1] are not */
    int token = -1;
    for (int i = 0; i < V; i++) sum += weight[i];
    if (height != NULL && alias != NULL && stack != NULL) {
        for (int i = 0; i < V; i++) {
            height[i] = weight[i] * V / sum;
            alias[i] = i;
            stack[height[i] < 1.0 ? low++ : --high] = i;
        }
        while (low > 0 && high < V) {
            const int short_one = stack[--low], tall = stack[high];
            alias[short_one] = tall;
            height[tall] -= 1.0 - height[short_one];
            if (!(height[tall] < 1.0)) continue;
            high++;
            stack[low++] = tall;
        }
        const double u = spec_reference_sampler_uniform(s, use) * V;
        const int column = u < V ? (int)u : V - 1;
        token = u - column < height[column] ? column : alias[column];
        if (!(weight[token] > 0.0)) token = alias[column]; /* a remainder of rounding */
    }
    free(height);
    free(alias);
    free(stack);
    return token >= 0 && weight[token] > 0.0 ? token : spec_reference_sampler_scan(s, weight, use);
}

/* A draw from the target is kept with probability (t - d)+ / t, so kept draws have the law of the
 * residual. */
static void residual_later(spec_reference_sampler *s, int child)
{
    for (int i = 0; i < s->vocab && s->drawn == SPEC_DRAWN_FIXED; i++)
        s->draft[i] = i == s->token[child] ? 1.0 : 0.0;
}

static int correct_by_rejection(spec_reference_sampler *s)
{
    for (;;) {
        const int token = spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
        if (spec_reference_sampler_uniform(s, SPEC_REFERENCE_CORRECTS) * s->target[token] <
            s->target[token] - s->draft[token])
            return token;
    }
}

/* ---- coins ----------------------------------------------------------------------------------- */

/* A coin that cannot change the outcome need not be tossed. */
static bool accept_lazily(spec_reference_sampler *s, int child)
{
    const int token = s->token[child];
    if (s->drawn != SPEC_DRAWN_FIXED && s->target[token] >= s->draft[token]) return true;
    return s->target[token] > 0.0 && spec_reference_sampler_accept(s, child);
}

/* After a rejection the coin is uniform above the ratio; stretched to [0,1), it is a fresh uniform
 * number. */
static bool accept_and_stretch(spec_reference_sampler *s, int child)
{
    const int token = s->token[child];
    const double ratio = s->target[token] / (s->drawn == SPEC_DRAWN_FIXED ? 1.0 : s->draft[token]);
    const double u = spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS);
    if (u < ratio) return true;
    s->number[0] = fmin((u - ratio) / (1.0 - ratio), 1.0 - 0x1p-53);
    s->memory[0] = 1;
    return false;
}

static double uniform_stretched(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use != SPEC_REFERENCE_CORRECTS || s->memory[0] == 0) return spec_reference_sampler_fresh(s);
    s->memory[0] = 0;
    return s->number[0];
}

/* In a chain, loads the row of a place. */
static void load_place(spec_reference_sampler *s, int place)
{
    s->place = place;
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, s->target);
    if (place < s->n_nodes && s->drawn != SPEC_DRAWN_FIXED)
        spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, place, s->draft);
}

static bool is_kept(const spec_reference_sampler *s, int place, double coin)
{
    const int token = s->token[place];
    return coin * (s->drawn == SPEC_DRAWN_FIXED ? 1.0 : s->draft[token]) < s->target[token];
}

/* Each use at each place has its own number; most are never used, and no token depends on that. */
static double uniform_of_place(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    return s->coin[use == SPEC_REFERENCE_ACCEPTS][s->place];
}

static void round_coins_ahead(spec_reference_sampler *s)
{
    for (int k = 0; k <= s->n_nodes; k++)
        for (int use = 0; use < 2; use++) s->coin[use][k] = spec_reference_sampler_fresh(s);
    spec_reference_sampler_walk(s);
}

/* One vector of exponential numbers for all places: only the first rejected place, or the bonus,
 * uses it. */
static void round_one_noise(spec_reference_sampler *s)
{
    int place = 0, winner = 0;
    double first = INFINITY;
    for (int i = 0; i < s->vocab; i++) s->spare[i] = -log1p(-spec_reference_sampler_fresh(s));
    for (load_place(s, 0); place < s->n_nodes && is_kept(s, place, spec_reference_sampler_fresh(s));
         load_place(s, place))
        spec_reference_sampler_emit(s, s->token[place++]);
    if (place < s->n_nodes) spec_reference_sampler_residual(s, place);
    for (int i = 0; i < s->vocab; i++) {
        if (!(s->target[i] > 0.0) || !(s->spare[i] / s->target[i] < first)) continue;
        first = s->spare[i] / s->target[i];
        winner = i;
    }
    spec_reference_sampler_emit(s, winner);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* A round may end at a place that was chosen before its token is known; the accepted token there is
 * the last one. */
static void round_capped(spec_reference_sampler *s)
{
    const int cap = (int)(s->step->offset % 3);
    spec_reference_sampler_walk(s);
    if (s->n_emitted > cap + 1) s->n_emitted = cap + 1;
}

/* All requests of a call emit the same number of tokens: they advance place by place until the
 * first rejection in any of them. */
static void answer_in_step(spec_reference_sampler *s, spec_step *step)
{
    int fewest = *step->ret_n_emitted;
    if (s->at < s->n_steps - 1) return;
    for (int i = 0; i < s->n_steps; i++)
        if (*s->steps[i].ret_n_emitted < fewest) fewest = *s->steps[i].ret_n_emitted;
    for (int i = 0; i < s->n_steps; i++) {
        *s->steps[i].ret_n_emitted = fewest;
        *s->steps[i].ret_n_accepted = fewest - 1;
    }
}

static int length_to_the_end(spec_reference_sampler *s, int K)
{
    return s->missing - 1 < K ? (int)(s->missing - 1) : K;
}

/* The length depends on the last round, which is known before the next draft. */
static int length_of_last(spec_reference_sampler *s, int K)
{
    return s->memory[0] < K ? (int)s->memory[0] + 1 : K;
}

static void remember_accepted(spec_reference_sampler *s)
{
    s->memory[0] = s->n_emitted - 1;
}

const spec_mutant spec_mutants_exact[] = {
    {"draws-by-race", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: every token is the first of exponential clocks", "vllm-project/vllm",
     .hooks = {.pick = pick_by_race}},
    {"draws-by-rank", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: every token by its cumulative sum, the most probable first", "sgl-project/sglang",
     .max_vocab = 1024, .hooks = {.pick = pick_by_rank}},
    {"draws-by-alias", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: every token from an alias table", "", .hooks = {.pick = pick_by_alias}},
    {"residual-by-rejection", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: a correction is drawn from the target until it lies in the surplus", "",
     .chains_only = true, .hooks = {.residual = residual_later, .correct = correct_by_rejection}},
    {"coins-lazy", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: tosses a coin only where the ratio is below 1", "", .coins = true,
     .hooks = {.accept = accept_lazily}},
    {"coins-ahead", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: draws all numbers of a round in advance", "flashinfer-ai/flashinfer",
     .chains_only = true, .hooks = {.uniform = uniform_of_place, .round = round_coins_ahead}},
    {"coin-stretched", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: the part of the coin above the ratio draws the correction", "",
     .hooks = {.uniform = uniform_stretched, .accept = accept_and_stretch}},
    {"one-noise", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: one vector of exponential numbers for all positions", "vllm-project/vllm 0.33.0, V1",
     .chains_only = true, .hooks = {.round = round_one_noise}},
    {"capped", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: ends a round at a cap, with a drafted token that was accepted",
     "sgl-project/sglang 0.5.23", .hooks = {.round = round_capped}},
    {"in-step", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: all requests of a call emit the same number of tokens", "Blaizzy/mlx-vlm 0.7.10",
     .hooks = {.answer = answer_in_step}},
    {"ends-exactly", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM,
     "none: drafts no more tokens than the text still needs", "",
     .hooks = {.length = length_to_the_end}},
    {"length-adapts", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM,
     "none: drafts one more token than the previous round accepted", "",
     .hooks = {.length = length_of_last, .ended = remember_accepted}},
    {.name = NULL},
};
