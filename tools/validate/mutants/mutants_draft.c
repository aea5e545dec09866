/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drafts whose law is not the declared one, or whose numbers the verifier reuses; and exact
 * samplers whose drafts share random numbers with texts. */
#include "tools/validate/mutants/mutants.h"

#include <math.h>

/* ---- another law ----------------------------------------------------------------------------- */

static int draw_argmax(spec_reference_sampler *s, const double *row)
{
    return spec_reference_sampler_argmax(row, s->vocab);
}

static int draw_top_k(spec_reference_sampler *s, const double *row)
{
    const spec_transform top = {.temperature = 1.0, .top_k = 1 + s->vocab / 3, .top_p = 1.0};
    for (int i = 0; i < s->vocab; i++) s->spare[i] = row[i];
    spec_transform_apply(s->spare, s->vocab, &top, s->order);
    return spec_reference_sampler_pick(s, s->spare, SPEC_REFERENCE_DRAFTS);
}

static int draw_sharper(spec_reference_sampler *s, const double *row)
{
    for (int i = 0; i < s->vocab; i++) s->spare[i] = pow(row[i], 1.0 / 0.7);
    return spec_reference_sampler_pick(s, s->spare, SPEC_REFERENCE_DRAFTS);
}

static int draw_bf16(spec_reference_sampler *s, const double *row)
{
    for (int i = 0; i < s->vocab; i++) s->spare[i] = spec_mutants_bf16(row[i]);
    return spec_reference_sampler_pick(s, s->spare, SPEC_REFERENCE_DRAFTS);
}

/* ---- the same numbers ------------------------------------------------------------------------ */

/* The race of exponential clocks [Daliri24]: clocks depend only on the step and the place, so two
 * draws at a place share them. */
static int race(spec_reference_sampler *s, const double *row)
{
    spec_rng_state clock =
        spec_rng_stream_state(s->step->seed + 1 + (uint64_t)s->place, s->step->offset);
    double first = INFINITY;
    int winner = 0;
    for (int i = 0; i < s->vocab; i++) {
        const double time = -log1p(-spec_rng_next_double(&clock)) / row[i];
        if (!(time < first)) continue;
        first = time;
        winner = i;
    }
    return winner;
}

static int correct_by_race(spec_reference_sampler *s)
{
    return race(s, s->target);
}

/* The verifier's generator starts in the same state as the draft's. */
static double uniform_same_state(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use == SPEC_REFERENCE_DRAFTS) s->memory[0] = 1;
    else if (s->memory[0] == 1) {
        s->memory[0] = 0;
        spec_reference_sampler_reseed(s, s->step->seed, s->step->offset);
    }
    return spec_reference_sampler_fresh(s);
}

/* The number that drew a draft token is reused as the coin of the first acceptance. */
static double uniform_left_over(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use == SPEC_REFERENCE_ACCEPTS && s->place == s->n_nodes - 1) return s->number[0];
    const double u = spec_reference_sampler_fresh(s);
    if (use == SPEC_REFERENCE_DRAFTS) s->number[0] = u;
    return u;
}

/* ---- exact: drafts that share chance with a text --------------------------------------------- */

/* Sampler-match: every token is drawn from the target with its round's own numbers, whatever the
 * draft is. The first of these numbers also drew the first draft token of the previous round. */
static int draw_ahead(spec_reference_sampler *s, const double *row)
{
    if (s->place > 0) return spec_reference_sampler_scan(s, row, SPEC_REFERENCE_DRAFTS);
    s->number[0] = spec_reference_sampler_fresh(s);
    const bool last = s->at == s->n_steps - 1;
    spec_rng_state next = spec_rng_stream_state(s->step[!last].seed, s->step[!last].offset);
    s->number[1] = last ? spec_reference_sampler_fresh(s) : spec_rng_next_double(&next);
    s->memory[0] = 1;
    const int token = spec_reference_sampler_scan(s, row, SPEC_REFERENCE_DRAFTS);
    s->memory[0] = 2;
    return token;
}

static double uniform_ahead(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (s->memory[0] == 1 && use == SPEC_REFERENCE_DRAFTS) return s->number[1];
    if (s->memory[0] != 2 || use == SPEC_REFERENCE_DRAFTS) return spec_reference_sampler_fresh(s);
    s->memory[0] = 0;
    return s->number[0];
}

static void round_match(spec_reference_sampler *s)
{
    int token = -1;
    for (int k = 0; k == 0 || (k <= s->n_nodes && token == s->token[k - 1]); k++) {
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, k, s->target);
        token = spec_reference_sampler_scan(
            s, s->target, k < s->n_nodes ? SPEC_REFERENCE_CORRECTS : SPEC_REFERENCE_CLOSES);
        spec_reference_sampler_emit(s, token);
    }
}

/* The number that draws the first draft token of a round was drawn in the previous round, before
 * its verification. */
static double uniform_drawn_before(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use != SPEC_REFERENCE_DRAFTS || s->place > 0) return spec_reference_sampler_fresh(s);
    const double u = s->at > 0 ? s->number[0] : spec_reference_sampler_fresh(s);
    s->number[0] = spec_reference_sampler_fresh(s);
    return u;
}

/* One race for draft and target at each place [Daliri24]: the target's winner is a draw from the
 * target, and is emitted whether or not it also wins for the draft. */
static void round_race(spec_reference_sampler *s)
{
    int token = -1;
    for (s->place = 0; s->place == 0 || (s->place <= s->n_nodes && token == s->token[s->place - 1]);
         s->place++) {
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, s->place, s->target);
        token = race(s, s->target);
        spec_reference_sampler_emit(s, token);
    }
}

/* The relative position of a number in the cell of the token it draws is uniform, whatever the
 * token is, so it can serve as the coin. */
static int draw_by_cell(spec_reference_sampler *s, const double *row)
{
    const double u = spec_reference_sampler_fresh(s);
    double below = 0.0;
    int token = 0;
    while (token < s->vocab - 1 && u >= below + row[token]) below += row[token++];
    while (token > 0 && !(row[token] > 0.0)) below -= row[--token];
    s->coin[0][s->place] = fmin(fmax((u - below) / row[token], 0.0), 1.0 - 0x1p-53);
    return token;
}

static double uniform_of_cell(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    return use == SPEC_REFERENCE_ACCEPTS ? s->coin[0][s->place] : spec_reference_sampler_fresh(s);
}

const spec_mutant spec_mutants_draft[] = {
    {"draft-argmax", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT,
     "drafts the argmax, and verifies it as if it were sampled",
     "huggingface/transformers #32867, jaymody/speculative-sampling #3",
     .hooks = {.draw = draw_argmax}},
    {"draft-top-k", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT,
     "drafts from the top-k tokens, and verifies with the whole row",
     "huggingface/transformers #47932, #48007", .hooks = {.draw = draw_top_k}},
    {"draft-sharper", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT,
     "drafts at a temperature that the verifier does not know", "ohdearquant/lattice #388",
     .hooks = {.draw = draw_sharper}},
    {"draft-bf16", SPEC_MUTANT_SMALL, SPEC_SCOPE_DRAFT,
     "drafts from a row in bf16, and verifies with the row in full precision",
     "deepseek-ai/DeepSpec #31", .hooks = {.draw = draw_bf16}},
    {"gumbel-shared", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT,
     "draft and correction of a position share one Gumbel vector",
     "vllm-project/vllm #54282, #47386", .hooks = {.draw = race, .correct = correct_by_race}},
    {"same-state", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT,
     "the generators of draft and verifier have the same state", "ggerganov/llama.cpp #27694",
     .hooks = {.uniform = uniform_same_state}},
    {"coin-of-draft", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT,
     "the number that drew the last drafted token is its coin", "",
     .hooks = {.uniform = uniform_left_over}},
    {"drafts-ahead", SPEC_MUTANT_EXACT, SPEC_SCOPE_DRAFT,
     "none: the number that draws a text has drawn the draft of the round before", "",
     .hooks = {.draw = draw_ahead, .uniform = uniform_ahead, .round = round_match}},
    {"draft-drawn-before", SPEC_MUTANT_EXACT, SPEC_SCOPE_DRAFT,
     "none: a draft is drawn before the round ahead of it is verified", "",
     .hooks = {.uniform = uniform_drawn_before}},
    {"race-coupled", SPEC_MUTANT_EXACT, SPEC_SCOPE_DRAFT,
     "none: draft and target win one race of clocks, and the target's winner is emitted",
     "[Daliri24]", .hooks = {.draw = race, .round = round_race}},
    {"coin-of-cell", SPEC_MUTANT_EXACT, SPEC_SCOPE_DRAFT,
     "none: the coin is the position of the draft's random number within its cell", "",
     .hooks = {.draw = draw_by_cell, .uniform = uniform_of_cell}},
    {.name = NULL},
};
