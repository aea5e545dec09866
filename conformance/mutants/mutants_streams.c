/* Mistakes of the loop around the rounds: contexts, caches, the ends of texts. */
#include "conformance/mutants/mutants.h"

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* memory[0]: the last round ended with a rejection; memory[1]: of this token. */
static void remember_rejection(spec_plain *s)
{
    s->memory[0] = s->n_emitted <= s->n_nodes;
    if (s->memory[0]) s->memory[1] = s->token[s->n_emitted - 1];
}

/* The row after a context whose last token of the round before is the one that was rejected. */
static const float *given_stale(spec_plain *s, int side, int place)
{
    if (s->n_text == 0 || !s->memory[0]) return spec_plain_given(s, side, place);
    int32_t *last = &s->text[s->n_text - 1];
    const int32_t right = *last;
    *last = (int32_t)s->memory[1];
    const float *row = spec_plain_given(s, side, place);
    *last = right;
    return row;
}

static const float *given_target_stale(spec_plain *s, int side, int place)
{
    return side == SPEC_PLAIN_TARGET ? given_stale(s, side, place) : spec_plain_given(s, side, place);
}

/* A draft may be drawn from any row, if it is judged by the same. */
static const float *given_draft_stale(spec_plain *s, int side, int place)
{
    return side == SPEC_PLAIN_DRAFT ? given_stale(s, side, place) : spec_plain_given(s, side, place);
}

static const float *given_one_short(spec_plain *s, int side, int place)
{
    const bool wrong = side == SPEC_PLAIN_TARGET && s->memory[0] && s->n_text + place > 0;
    return spec_plain_given(s, side, place - wrong);
}

/* ---- the end of a text ------------------------------------------------------------------------------------------- */

/* The last token of the vocabulary stands for the end: accepted, it is drawn again. */
static void resample_end(spec_plain *s)
{
    for (int k = 0; k < s->n_emitted - 1; k++) {
        if (s->emitted[k] != s->vocab - 1) continue;
        spec_plain_load(s, SPEC_PLAIN_TARGET, k, s->target);
        s->emitted[k] = spec_plain_pick(s, s->target, SPEC_PLAIN_CORRECTS);
        s->n_emitted = k + 1;
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static double uniform_of_round(spec_plain *s, spec_plain_use use)
{
    (void)use;
    if (s->memory[0] != s->n_text + 1) {
        s->memory[0] = s->n_text + 1;
        spec_plain_reseed(s, 42, 0);
    }
    return spec_plain_fresh(s);
}

/* ---- drafts ------------------------------------------------------------------------------------------------------ */

static int most(const double *row, int vocab, int but)
{
    int best = but == 0 && vocab > 1 ? 1 : 0;
    for (int i = 0; i < vocab; i++)
        if (i != but && row[i] > row[best]) best = i;
    return best;
}

/* The two likeliest tokens are candidates, and judged as if they had been drawn. */
static void round_top_two(spec_plain *s)
{
    s->place = 0;
    spec_plain_load(s, SPEC_PLAIN_TARGET, 0, s->target);
    spec_plain_load(s, SPEC_PLAIN_DRAFT, 0, s->draft);
    s->token[0] = most(s->draft, s->vocab, -1);
    s->token[1] = most(s->draft, s->vocab, s->token[0]);
    s->parent[1] = -1;
    for (int i = 0; i < 2 && i < s->vocab; i++) {
        if (spec_plain_accept(s, i)) {
            spec_plain_emit(s, s->token[i]);
            return;
        }
        spec_plain_residual(s, i);
    }
    spec_plain_emit(s, spec_plain_pick(s, s->target, SPEC_PLAIN_CORRECTS));
}

/* Of the two likeliest tokens the one whose likeliest successor makes the likelier pair. */
static int draw_beam(spec_plain *s, const double *row)
{
    double best = -1.0;
    int32_t *next = &s->text[s->n_text + s->place];
    int winner = 0;
    const int first = most(row, s->vocab, -1), candidate[2] = {first, most(row, s->vocab, first)};
    for (int i = 0; i < 2; i++) {
        *next = candidate[i];
        spec_plain_load(s, SPEC_PLAIN_DRAFT, s->place + 1, s->spare);
        const double pair = row[candidate[i]] * s->spare[most(s->spare, s->vocab, -1)];
        if (pair <= best) continue;
        best = pair;
        winner = candidate[i];
    }
    return winner;
}

const spec_mutant spec_mutants_streams[] = {
    {"cache-kept", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "the target's cache is not rolled back: it holds the rejected token", "ml-explore/mlx-lm #1109",
     .hooks = {.given = given_target_stale, .ended = remember_rejection}},
    {"context-one-short", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM, "after a rejection the target's context lacks a token",
     "", .hooks = {.given = given_one_short, .ended = remember_rejection}},
    {"draft-cache-kept", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM,
     "none: only the draft's cache is stale, and its rows are those that are judged", "",
     .hooks = {.given = given_draft_stale, .ended = remember_rejection}},
    {"end-resampled", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM, "an accepted end-of-text token is drawn again",
     "huggingface/transformers #28508", .hooks = {.ended = resample_end}},
    {"rounds-reseeded", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM, "every round draws the same numbers",
     "feifeibear/LLMSpeculativeSampling", .hooks = {.uniform = uniform_of_round}},
    {"top-two", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM,
     "the likeliest tokens are candidates, and judged as if drawn by chance", "[Miao24], expansion trees",
     .hooks = {.round = round_top_two}},
    {"beam", SPEC_MUTANT_WRONG, SPEC_SCOPE_STREAM, "a beam search's draft is judged by the draft's row",
     "apple/ml-recurrent-drafter #6", .hooks = {.draw = draw_beam}},
    {.name = NULL},
};
