/* Random numbers that are used twice, shared, cast badly or forgotten. */
#include "conformance/mutants/mutants.h"

#include <math.h>

static double uniform_one_coin(spec_plain *s, spec_plain_use use)
{
    if (use != SPEC_PLAIN_ACCEPTS) return spec_plain_fresh(s);
    if (s->place == 0) s->number[0] = spec_plain_fresh(s);
    return s->number[0];
}

static double uniform_coin_again(spec_plain *s, spec_plain_use use)
{
    if (use != SPEC_PLAIN_CORRECTS) s->number[0] = spec_plain_fresh(s);
    return s->number[0];
}

/* A generator that is seeded anew before each acceptance, with a fixed seed. */
static double uniform_reseeded(spec_plain *s, spec_plain_use use)
{
    if (use != SPEC_PLAIN_ACCEPTS) return spec_plain_fresh(s);
    spec_rng_state same = spec_rng_stream_state(123, 0);
    return spec_rng_next_double(&same);
}

/* At the first number of a round. */
static double reseeded_once(spec_plain *s, uint64_t seed, uint64_t offset)
{
    if (s->memory[0] != s->at + 1) {
        s->memory[0] = s->at + 1;
        spec_plain_reseed(s, seed, offset);
    }
    return spec_plain_fresh(s);
}

static double uniform_of_first_request(spec_plain *s, spec_plain_use use)
{
    (void)use;
    return reseeded_once(s, s->steps[0].seed, s->steps[0].offset);
}

static double uniform_without_offset(spec_plain *s, spec_plain_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed, 0);
}

/* Where the request stands in the batch decides, and the seed does not. */
static double uniform_without_seed(spec_plain *s, spec_plain_use use)
{
    (void)use;
    return reseeded_once(s, s->step->seed + (uint64_t)s->at, s->step->offset);
}

/* Corrections of two neighbours in a batch are drawn with one number. */
static double uniform_pairwise(spec_plain *s, spec_plain_use use)
{
    const double u = spec_plain_fresh(s);
    if (use != SPEC_PLAIN_CORRECTS) return u;
    if (s->at % 2 == 1 && s->memory[0] == s->at) return s->number[0];
    s->memory[0] = s->at + 1;
    s->number[0] = u;
    return u;
}

/* A 32-bit integer, cast: the largest 128 of them become 1. */
static double uniform_cast(spec_plain *s, spec_plain_use use)
{
    (void)use;
    return (double)((float)(uint32_t)(spec_plain_fresh(s) * 4294967296.0) / 4294967296.0f);
}

/* A scan that finds nothing ends behind the last token. */
static int pick_open_ended(spec_plain *s)
{
    const double u = spec_plain_uniform(s, SPEC_PLAIN_CORRECTS);
    double below = 0.0;
    for (int i = 0; i < s->vocab; i++) {
        below += s->target[i];
        if (u < below) return i;
    }
    return u < 1.0 ? s->vocab - 1 : s->vocab;
}

/* Two ranks with generators of their own: one decides how many are accepted, the other what comes after. */
static void round_ranks(spec_plain *s)
{
    const spec_rng_state begun = s->chance;
    int last;
    spec_plain_reseed(s, s->step->seed + 1, s->step->offset);
    spec_plain_walk(s);
    last = s->emitted[s->n_emitted - 1];
    s->chance = begun;
    s->n_emitted = 0;
    spec_plain_walk(s);
    s->emitted[s->n_emitted - 1] = last;
}

const spec_mutant spec_mutants_numbers[] = {
    {"one-coin", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "one coin for all acceptances of a round",
     "flashinfer-ai/flashinfer #424", .hooks = {.uniform = uniform_one_coin}},
    {"coin-again", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "the coin of the rejection draws the correction, too",
     "", .hooks = {.uniform = uniform_coin_again}},
    {"coin-reseeded", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "seeds its generator before each acceptance: one coin for ever", "feifeibear/LLMSpeculativeSampling",
     .hooks = {.uniform = uniform_reseeded}},
    {"numbers-of-first", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "all requests of a call draw the numbers of the first",
     "", .hooks = {.uniform = uniform_of_first_request}},
    {"offset-forgotten", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "every round of a seed draws the same numbers",
     "", .hooks = {.uniform = uniform_without_offset}},
    {"seed-forgotten", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "the same seed gives other tokens, by the place in the batch", "vllm-project/vllm #13196",
     .hooks = {.uniform = uniform_without_seed}},
    {"correction-shared", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "corrections of neighbours are drawn with one number",
     "flashinfer-ai/flashinfer #424", .hooks = {.uniform = uniform_pairwise}},
    {"ranks-apart", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "two ranks draw different numbers, and accept different prefixes", "vllm-project/vllm #17498",
     .hooks = {.round = round_ranks}},
    {"cast-to-one", SPEC_MUTANT_SMALL, SPEC_SCOPE_VERIFY, "a cast from 32 bits to float makes some uniform numbers 1",
     "sgl-project/sglang #30822", .hooks = {.uniform = uniform_cast, .correct = pick_open_ended}},
    {.name = NULL},
};
