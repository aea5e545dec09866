/* Rows, requests and padding mixed up; inputs written, outputs left. */
#include "conformance/mutants/mutants.h"

/* ---- rows of another place --------------------------------------------------------------------------------------- */

static int bounded(const spec_plain *s, int place)
{
    return place < 0 ? 0 : place > s->n_nodes ? s->n_nodes : place;
}

static const float *given_previous(spec_plain *s, int side, int place)
{
    return spec_plain_given(s, side, bounded(s, place - (side == SPEC_PLAIN_TARGET)));
}

static const float *given_next(spec_plain *s, int side, int place)
{
    return spec_plain_given(s, side, bounded(s, place + (side == SPEC_PLAIN_TARGET)));
}

static const float *given_draft_previous(spec_plain *s, int side, int place)
{
    return spec_plain_given(s, side, bounded(s, place - (side == SPEC_PLAIN_DRAFT)));
}

static const float *given_bonus_previous(spec_plain *s, int side, int place)
{
    return spec_plain_given(s, side, bounded(s, place - (s->n_emitted == s->n_nodes)));
}

/* The bonus of a draft with padding from the row behind the padding. */
static const float *given_bonus_padded(spec_plain *s, int side, int place)
{
    return spec_plain_given(s, side, place == s->n_nodes ? s->step->n_nodes : place);
}

/* ---- rows of another request ------------------------------------------------------------------------------------- */

static const float *given_of(spec_plain *s, int request, int side, int place)
{
    const spec_step *other = &s->steps[request];
    const float *rows = side == SPEC_PLAIN_TARGET ? other->target : other->draft;
    return rows + (size_t)(place < other->n_nodes ? place : other->n_nodes) * (size_t)s->vocab;
}

static const float *given_of_first(spec_plain *s, int side, int place)
{
    return side == SPEC_PLAIN_TARGET ? given_of(s, 0, side, place) : spec_plain_given(s, side, place);
}

static const float *given_of_last_of_call(spec_plain *s, int side, int place)
{
    const bool wrong = side == SPEC_PLAIN_TARGET && s->at > 0 && place == 0;
    return wrong ? given_of(s, s->at - 1, side, place) : spec_plain_given(s, side, place);
}

/* Rows lie one request after another, as if all drafts were as long as this one. */
static const float *given_by_stride(spec_plain *s, int side, int place)
{
    const bool wrong = s->at > 0 && s->steps[s->at - 1].n_nodes != s->step->n_nodes;
    return wrong ? given_of(s, s->at - 1, side, place) : spec_plain_given(s, side, place);
}

static int correct_above_two(spec_plain *s)
{
    if (s->at >= 2) {
        const float *row = given_of(s, s->at - 2, SPEC_PLAIN_TARGET, s->place);
        for (int i = 0; i < s->vocab; i++) s->target[i] = (double)row[i];
    }
    return spec_plain_pick(s, s->target, SPEC_PLAIN_CORRECTS);
}

/* ---- padding, inputs, outputs ------------------------------------------------------------------------------------ */

/* -1 as an index is the last token. */
static void round_with_padding(spec_plain *s)
{
    for (; s->n_nodes < s->step->n_nodes; s->n_nodes++) {
        s->token[s->n_nodes] = s->vocab - 1;
        s->parent[s->n_nodes] = s->n_nodes - 1;
    }
    spec_plain_walk(s);
}

static void answer_placeholder(spec_plain *s, spec_step *step)
{
    if (s->n_emitted <= s->n_nodes) step->ret_token[s->n_emitted - 1] = -1;
}

static void answer_without_bonus(spec_plain *s, spec_step *step)
{
    if (s->n_emitted == s->n_nodes + 1) *step->ret_n_emitted = s->n_nodes;
}

static void answer_in_place(spec_plain *s, spec_step *step)
{
    float *row = (float *)step->target + (size_t)s->place * (size_t)s->vocab;
    for (int i = 0; i < s->vocab; i++) row[i] = (float)s->target[i];
}

static void answer_too_long(spec_plain *s, spec_step *step)
{
    for (int i = s->n_emitted; i <= step->n_nodes + 1; i++) step->ret_token[i] = -1;
}

const spec_mutant spec_mutants_rows[] = {
    {"row-before", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "judges by the target's row of the place before",
     "", .hooks = {.given = given_previous}},
    {"row-after", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "judges by the target's row of the place after",
     "", .hooks = {.given = given_next}},
    {"draft-row-before", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "judges by the draft's row of the place before",
     "", .hooks = {.given = given_draft_previous}},
    {"bonus-row-before", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "the bonus from the row of the last drafted token",
     "", true, .hooks = {.given = given_bonus_previous}},
    {"bonus-row-padded", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the bonus of a padded draft from the row behind the padding", "vllm-project/vllm #42638",
     true, .hooks = {.given = given_bonus_padded}},
    {"row-of-first", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "all requests are judged by the rows of the first",
     "", .hooks = {.given = given_of_first}},
    {"row-of-neighbour", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "the first row is that of the request before",
     "", .hooks = {.given = given_of_last_of_call}},
    {"row-by-stride", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "rows of another request where draft lengths differ",
     "vllm-project/vllm #14645", .hooks = {.given = given_by_stride}},
    {"above-two", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "from the third request on, corrections come from another request's row", "1Cat-vLLM #656",
     .hooks = {.correct = correct_above_two}},
    {"padding-judged", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "padding is judged as if it were drafted",
     "", true, .hooks = {.round = round_with_padding}},
    {"placeholder-left", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "the place of a correction holds -1",
     "", .hooks = {.answer = answer_placeholder}},
    {"bonus-left-out", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "a round without a rejection counts one token too few",
     "", .hooks = {.answer = answer_without_bonus}},
    {"input-overwritten", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "the residual is made in place, in the caller's row",
     "", .hooks = {.answer = answer_in_place}},
    {"output-overrun", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "fills its output with -1, one place too far",
     "", .hooks = {.answer = answer_too_long}},
    {.name = NULL},
};
