/* Drafts drawn from another law than is claimed, or from numbers that the verifier uses again. */
#include "conformance/mutants/mutants.h"

#include <math.h>

/* ---- another law ------------------------------------------------------------------------------------------------- */

static int draw_argmax(spec_plain *s, const double *row)
{
    return spec_plain_argmax(row, s->vocab);
}

static int draw_top_k(spec_plain *s, const double *row)
{
    const spec_transform top = {.temperature = 1.0, .top_k = 1 + s->vocab / 3, .top_p = 1.0};
    for (int i = 0; i < s->vocab; i++) s->spare[i] = row[i];
    spec_transform_apply(s->spare, s->vocab, &top, s->order);
    return spec_plain_pick(s, s->spare, SPEC_PLAIN_DRAFTS);
}

static int draw_sharper(spec_plain *s, const double *row)
{
    for (int i = 0; i < s->vocab; i++) s->spare[i] = pow(row[i], 1.0 / 0.7);
    return spec_plain_pick(s, s->spare, SPEC_PLAIN_DRAFTS);
}

static int draw_bf16(spec_plain *s, const double *row)
{
    for (int i = 0; i < s->vocab; i++) s->spare[i] = spec_mutants_bf16(row[i]);
    return spec_plain_pick(s, s->spare, SPEC_PLAIN_DRAFTS);
}

/* ---- the same numbers -------------------------------------------------------------------------------------------- */

/* The race of exponential clocks [Daliri24]: with clocks of the step and the place alone, so that two draws at one
 * place share them. */
static int race(spec_plain *s, const double *row)
{
    spec_rng_state clock = spec_rng_stream_state(s->step->seed + 1 + (uint64_t)s->place, s->step->offset);
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

static int correct_by_race(spec_plain *s)
{
    return race(s, s->target);
}

/* The verifier's generator starts where the draft's did. */
static double uniform_same_state(spec_plain *s, spec_plain_use use)
{
    if (use == SPEC_PLAIN_DRAFTS) s->memory[0] = 1;
    else if (s->memory[0] == 1) {
        s->memory[0] = 0;
        spec_plain_reseed(s, s->step->seed, s->step->offset);
    }
    return spec_plain_fresh(s);
}

/* The last number that a draft was drawn with is the coin of the first acceptance. */
static double uniform_left_over(spec_plain *s, spec_plain_use use)
{
    if (use == SPEC_PLAIN_ACCEPTS && s->place == s->n_nodes - 1) return s->number[0];
    const double u = spec_plain_fresh(s);
    if (use == SPEC_PLAIN_DRAFTS) s->number[0] = u;
    return u;
}

const spec_mutant spec_mutants_draft[] = {
    {"draft-argmax", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT, "drafts the argmax, judges it as if it were sampled",
     "huggingface/transformers #32867, jaymody/speculative-sampling #3", .hooks = {.draw = draw_argmax}},
    {"draft-top-k", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT, "drafts from the top-k tokens, judges with the whole row",
     "huggingface/transformers #47932, #48007", .hooks = {.draw = draw_top_k}},
    {"draft-sharper", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT, "drafts at a temperature that the verifier is not told",
     "ohdearquant/lattice #388", .hooks = {.draw = draw_sharper}},
    {"draft-bf16", SPEC_MUTANT_SMALL, SPEC_SCOPE_DRAFT, "drafts from a row in bf16, judges with it in full",
     "deepseek-ai/DeepSpec #31", .hooks = {.draw = draw_bf16}},
    {"gumbel-shared", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT, "draft and correction of a place share one Gumbel vector",
     "vllm-project/vllm #54282, #47386", .hooks = {.draw = race, .correct = correct_by_race}},
    {"same-state", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT, "the generators of draft and verifier have the same state",
     "ggerganov/llama.cpp #27694", .hooks = {.uniform = uniform_same_state}},
    {"coin-of-draft", SPEC_MUTANT_WRONG, SPEC_SCOPE_DRAFT, "the number that drew the last drafted token is its coin",
     "", .hooks = {.uniform = uniform_left_over}},
    {.name = NULL},
};
