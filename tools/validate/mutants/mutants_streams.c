/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mistakes in the decoding loop: contexts, caches, ends of texts. */
#include "tools/validate/mutants/mutants.h"

/* ---- caches ---------------------------------------------------------------------------------- */

/* Sets memory[0] if the last round ended with a rejection, and memory[1] to the rejected token. */
static void remember_rejection(spec_reference_sampler *s)
{
    s->memory[0] = s->n_emitted <= s->n_nodes;
    if (s->memory[0]) s->memory[1] = s->token[s->n_emitted - 1];
}

/* Uses the row after a context whose last token is the rejected one of the previous round. */
static const float *given_stale(spec_reference_sampler *s, int side, int place)
{
    if (s->n_text == 0 || !s->memory[0]) return spec_reference_sampler_given(s, side, place);
    int32_t *last = &s->text[s->n_text - 1];
    const int32_t right = *last;
    *last = (int32_t)s->memory[1];
    const float *row = spec_reference_sampler_given(s, side, place);
    *last = right;
    return row;
}

static const float *given_target_stale(spec_reference_sampler *s, int side, int place)
{
    return side == SPEC_REFERENCE_TARGET ? given_stale(s, side, place)
                                         : spec_reference_sampler_given(s, side, place);
}

/* A draft may be drawn from any row, as long as the same row judges it. */
static const float *given_draft_stale(spec_reference_sampler *s, int side, int place)
{
    return side == SPEC_REFERENCE_DRAFT ? given_stale(s, side, place)
                                        : spec_reference_sampler_given(s, side, place);
}

static const float *given_one_short(spec_reference_sampler *s, int side, int place)
{
    const bool wrong = side == SPEC_REFERENCE_TARGET && s->memory[0] && s->n_text + place > 0;
    return spec_reference_sampler_given(s, side, place - wrong);
}

/* ---- the end of a text ----------------------------------------------------------------------- */

/* The last token of the vocabulary ends the text; this draws it again after its acceptance. */
static void resample_end(spec_reference_sampler *s)
{
    for (int k = 0; k < s->n_emitted - 1; k++) {
        if (s->emitted[k] != s->vocab - 1) continue;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, k, s->target);
        s->emitted[k] = spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
        s->n_emitted = k + 1;
    }
}

/* If one token is missing, emits the draft token unjudged. */
static void round_unjudged_at_end(spec_reference_sampler *s)
{
    if (s->missing > 1) spec_reference_sampler_walk(s);
    else spec_reference_sampler_emit(s, s->token[0]);
}

/* Reuses the number that draws the first draft token as its coin. */
static double uniform_again(spec_reference_sampler *s, spec_reference_sampler_use use, bool here)
{
    here = here && s->place == 0;
    if (here && use == SPEC_REFERENCE_ACCEPTS) return s->number[0];
    const double u = spec_reference_sampler_fresh(s);
    if (here && use == SPEC_REFERENCE_DRAFTS) s->number[0] = u;
    return u;
}

static double uniform_again_at_first(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    return uniform_again(s, use, s->n_text == 0);
}

static double uniform_again_at_last(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    return uniform_again(s, use, s->missing == 1);
}

/* Repeats a round once with new numbers unless it was accepted in full, so rejections come too
 * rarely. */
static void round_again(spec_reference_sampler *s)
{
    spec_reference_sampler_walk(s);
    if (s->n_emitted > s->n_nodes) return;
    s->n_emitted = 0;
    spec_reference_sampler_walk(s);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double uniform_of_round(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    (void)use;
    if (s->memory[0] != s->n_text + 1) {
        s->memory[0] = s->n_text + 1;
        spec_reference_sampler_reseed(s, 42, 0);
    }
    return spec_reference_sampler_fresh(s);
}

/* ---- drafts ---------------------------------------------------------------------------------- */

static int most(const double *row, int vocab, int but)
{
    int best = but == 0 && vocab > 1 ? 1 : 0;
    for (int i = 0; i < vocab; i++)
        if (i != but && row[i] > row[best]) best = i;
    return best;
}

/* Judges the two most probable tokens as if they had been drawn. */
static void round_top_two(spec_reference_sampler *s)
{
    s->place = 0;
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, 0, s->target);
    spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, 0, s->draft);
    s->token[0] = most(s->draft, s->vocab, -1);
    s->token[1] = most(s->draft, s->vocab, s->token[0]);
    s->parent[1] = -1;
    for (int i = 0; i < 2 && i < s->vocab; i++) {
        if (spec_reference_sampler_accept(s, i)) {
            spec_reference_sampler_emit(s, s->token[i]);
            return;
        }
        spec_reference_sampler_residual(s, i);
    }
    spec_reference_sampler_emit(s,
                                spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS));
}

/* Drafts whichever of the two most probable tokens begins the more probable pair. */
static int draw_beam(spec_reference_sampler *s, const double *row)
{
    double best = -1.0;
    int32_t *next = &s->text[s->n_text + s->place];
    int winner = 0;
    const int first = most(row, s->vocab, -1), candidate[2] = {first, most(row, s->vocab, first)};
    for (int i = 0; i < 2; i++) {
        *next = candidate[i];
        spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, s->place + 1, s->spare);
        const double pair = row[candidate[i]] * s->spare[most(s->spare, s->vocab, -1)];
        if (pair <= best) continue;
        best = pair;
        winner = candidate[i];
    }
    return winner;
}

const spec_mutant spec_mutants_streams[] = {
    {"cache-kept", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "the target's cache is not rolled back: it holds the rejected token",
     "ml-explore/mlx-lm #1109",
     .hooks = {.given = given_target_stale, .ended = remember_rejection}},
    {"context-one-short", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "after a rejection a token is missing from the target's context", "",
     .hooks = {.given = given_one_short, .ended = remember_rejection}},
    {"draft-cache-kept", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM,
     "none: only the draft's cache is stale, and verification uses the rows that were drawn "
     "from",
     "", .hooks = {.given = given_draft_stale, .ended = remember_rejection}},
    {"end-resampled", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "an accepted end-of-text token is drawn again", "huggingface/transformers #28508",
     .hooks = {.ended = resample_end}},
    {"end-unjudged", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "where one token is missing at the end of a text, the draft's is emitted unverified", "",
     .hooks = {.round = round_unjudged_at_end}},
    {"first-coin-again", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "the number that draws a text's first draft is its coin, too", "",
     .hooks = {.uniform = uniform_again_at_first}},
    {"partial-again", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "a round with a rejection is discarded and played again with new numbers", "",
     .hooks = {.round = round_again}},
    {"last-coin-again", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "where one token is missing, the number that draws the draft is its coin, too", "",
     .hooks = {.uniform = uniform_again_at_last}},
    {"rounds-reseeded", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM, "every round draws the same numbers",
     "feifeibear/LLMSpeculativeSampling", .hooks = {.uniform = uniform_of_round}},
    {"top-two", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "the most probable tokens are the candidates, and are verified as if sampled",
     "[Miao24], expansion trees", .hooks = {.round = round_top_two}},
    {"beam", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "a draft from beam search is verified with the draft's row", "apple/ml-recurrent-drafter #6",
     .hooks = {.draw = draw_beam}},
    {.name = NULL},
};
