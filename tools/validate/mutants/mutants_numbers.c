/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers that are reused, shared, badly cast or ignored. */
#include "tools/validate/mutants/mutants.h"

#include <math.h>

static double uniform_one_coin(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use != SPEC_REFERENCE_ACCEPTS) return spec_reference_sampler_fresh(s);
    if (s->place == 0) s->number[0] = spec_reference_sampler_fresh(s);
    return s->number[0];
}

static double uniform_coin_again(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use != SPEC_REFERENCE_CORRECTS) s->number[0] = spec_reference_sampler_fresh(s);
    return s->number[0];
}

/* Seeds the generator with the same seed before each acceptance. */
static double uniform_reseeded(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (use != SPEC_REFERENCE_ACCEPTS) return spec_reference_sampler_fresh(s);
    spec_rng_state same = spec_rng_stream_state(123, 0);
    return spec_rng_next_double(&same);
}

/* Seeds the generator before the first number of a round. */
static double reseeded_once(spec_reference_sampler *s, uint64_t seed, uint64_t offset)
{
    if (s->memory[0] != s->at + 1) {
        s->memory[0] = s->at + 1;
        spec_reference_sampler_reseed(s, seed, offset);
    }
    return spec_reference_sampler_fresh(s);
}

static double uniform_of_first_request(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, s->steps[0].seed, s->steps[0].offset);
}

static double uniform_without_offset(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed, 0);
}

static double uniform_of_short_seed(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed & 0xffff, s->step->offset);
}

static double uniform_of_low_word(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, (uint32_t)s->step->seed, s->step->offset);
}

static double uniform_of_short_offset(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed, s->step->offset & 0xff);
}

/* Uses the lowest 32 bits of the request number in place of the offset. */
static double uniform_of_request(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed, (uint32_t)s->step->request);
}

/* Draws coins four at a time; the rest of a longer draft reuses the first ones. */
static double uniform_in_fours(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    const int whole = s->n_nodes / 4 * 4;
    if (use != SPEC_REFERENCE_ACCEPTS) return spec_reference_sampler_fresh(s);
    if (whole > 0 && s->place >= whole) return s->coin[0][s->place - whole];
    return s->coin[0][s->place] = spec_reference_sampler_fresh(s);
}

/* The first numbers of a call's n requests are stratified: one from each of n equal cells, in
 * shuffled order. Each is uniform, but no two are independent. */
static double uniform_stratified(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    const int n = s->n_steps;
    if (use == SPEC_REFERENCE_DRAFTS || s->memory[0] == s->at + 1)
        return spec_reference_sampler_fresh(s);
    s->memory[0] = s->at + 1;
    spec_rng_state shared = spec_rng_stream_state(s->steps[0].seed, ~s->steps[0].offset);
    const int turn = (int)(spec_rng_next_double(&shared) * n);
    const double within = spec_reference_sampler_fresh(s);
    return fmin(((s->at + turn) % n + within) / n, 1.0 - 0x1p-53);
}

/* The position in the batch seeds the numbers, and the seed is ignored. */
static double uniform_without_seed(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed + (uint64_t)s->at, s->step->offset);
}

/* Two neighbours in a batch draw their corrections with the same number. */
static double uniform_pairwise(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    const double u = spec_reference_sampler_fresh(s);
    if (use != SPEC_REFERENCE_CORRECTS) return u;
    if (s->at % 2 == 1 && s->memory[0] == s->at) return s->number[0];
    s->memory[0] = s->at + 1;
    s->number[0] = u;
    return u;
}

/* Casts a 32-bit integer to float: the largest 128 of them become 1. */
static double uniform_cast(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    return (double)((float)(uint32_t)(spec_reference_sampler_fresh(s) * 4294967296.0) /
                    4294967296.0f);
}

/* A scan that finds no token returns the one after the last. */
static int pick_open_ended(spec_reference_sampler *s)
{
    const double u = spec_reference_sampler_uniform(s, SPEC_REFERENCE_CORRECTS);
    double below = 0.0;
    for (int i = 0; i < s->vocab; i++) {
        below += s->target[i];
        if (u < below) return i;
    }
    return u < 1.0 ? s->vocab - 1 : s->vocab;
}

/* Two ranks have separate generators: one decides how many tokens are accepted, the other draws the
 * token after them. */
static void round_ranks(spec_reference_sampler *s)
{
    const spec_rng_state begun = s->chance;
    int last;
    spec_reference_sampler_reseed(s, s->step->seed + 1, s->step->offset);
    spec_reference_sampler_walk(s);
    last = s->emitted[s->n_emitted - 1];
    s->chance = begun;
    s->n_emitted = 0;
    spec_reference_sampler_walk(s);
    s->emitted[s->n_emitted - 1] = last;
}

const spec_mutant spec_mutants_numbers[] = {
    {"one-coin", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "one coin for all acceptances of a round",
     "flashinfer-ai/flashinfer #424", .hooks = {.uniform = uniform_one_coin}},
    {"coin-again", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the coin of the rejection draws the correction, too", "",
     .hooks = {.uniform = uniform_coin_again}},
    {"coin-reseeded", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "seeds its generator before each acceptance: always the same coin",
     "feifeibear/LLMSpeculativeSampling", .hooks = {.uniform = uniform_reseeded}},
    {"numbers-of-first", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "all requests of a call draw the numbers of the first", "",
     .hooks = {.uniform = uniform_of_first_request}},
    {"offset-forgotten", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "every round of a seed draws the same numbers", "",
     .hooks = {.uniform = uniform_without_offset}},
    {"seed-16-bits", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "a seed is cut to its lowest 16 bits",
     "", .hooks = {.uniform = uniform_of_short_seed}},
    {"seed-32-bits", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "a seed is cut to its lowest 32 bits",
     "", .hooks = {.uniform = uniform_of_low_word}},
    {"offset-8-bits", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "an offset is cut to its lowest 8 bits",
     "", .hooks = {.uniform = uniform_of_short_offset}},
    {"request-32-bits", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "random numbers depend on the seed and the request, whose number is cut to its lowest 32 "
     "bits",
     "", .hooks = {.uniform = uniform_of_request}},
    {"coins-in-fours", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "coins are drawn four at a time, and a remainder at the end repeats the first ones", "", true,
     .hooks = {.uniform = uniform_in_fours}},
    {"coins-stratified", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the first numbers of a call's requests are stratified: exact one by one, and not independent",
     "", .hooks = {.uniform = uniform_stratified}},
    {"seed-forgotten", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "the same seed gives different tokens at another position in the batch",
     "vllm-project/vllm #13196", .hooks = {.uniform = uniform_without_seed}},
    {"correction-shared", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "corrections of neighbours are drawn with the same random number",
     "flashinfer-ai/flashinfer #424", .hooks = {.uniform = uniform_pairwise}},
    {"ranks-apart", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "two ranks draw different numbers, and accept different prefixes", "vllm-project/vllm #17498",
     .hooks = {.round = round_ranks}},
    {"cast-to-one", SPEC_MUTANT_SMALL, SPEC_SCOPE_VERIFY,
     "a cast from 32 bits to float makes some uniform numbers 1", "sgl-project/sglang #30822",
     .hooks = {.uniform = uniform_cast, .correct = pick_open_ended}},
    {.name = NULL},
};
