/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Confused rows, requests and padding; modified inputs, missing outputs. */
#include "tools/validate/mutants/mutants.h"

#include <math.h>

/* ---- rows of another place ------------------------------------------------------------------- */

static int bounded(const spec_reference_sampler *s, int place)
{
    return place < 0 ? 0 : place > s->n_nodes ? s->n_nodes : place;
}

static const float *given_previous(spec_reference_sampler *s, int side, int place)
{
    return spec_reference_sampler_given(s, side,
                                        bounded(s, place - (side == SPEC_REFERENCE_TARGET)));
}

static const float *given_next(spec_reference_sampler *s, int side, int place)
{
    return spec_reference_sampler_given(s, side,
                                        bounded(s, place + (side == SPEC_REFERENCE_TARGET)));
}

static const float *given_draft_previous(spec_reference_sampler *s, int side, int place)
{
    return spec_reference_sampler_given(s, side,
                                        bounded(s, place - (side == SPEC_REFERENCE_DRAFT)));
}

static const float *given_bonus_previous(spec_reference_sampler *s, int side, int place)
{
    return spec_reference_sampler_given(s, side, bounded(s, place - (s->n_emitted == s->n_nodes)));
}

/* Draws the bonus of a padded draft from the row behind the padding. */
static const float *given_bonus_padded(spec_reference_sampler *s, int side, int place)
{
    return spec_reference_sampler_given(s, side, place == s->n_nodes ? s->step->n_nodes : place);
}

/* Has rows only for eight draft tokens and the bonus. */
static const float *given_of_nine(spec_reference_sampler *s, int side, int place)
{
    return spec_reference_sampler_given(s, side, place > 8 ? 8 : place);
}

/* If nothing was accepted, draws from the row after the whole draft: a misplaced `else`. */
static int correct_after_draft(spec_reference_sampler *s)
{
    if (s->n_emitted == 0)
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, s->n_nodes, s->target);
    return spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
}

/* ---- blocks of a vocabulary ------------------------------------------------------------------ */

static int correct_below(spec_reference_sampler *s, int end)
{
    const int found = spec_reference_sampler_argmax(s->target, s->vocab);
    for (int i = end; i < s->vocab; i++) s->target[i] = 0.0;
    return spec_reference_sampler_normalise(s->target, s->vocab)
               ? spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS)
               : found;
}

/* Three code paths: up to 1,024 tokens, up to 8,192 in whole blocks of 1,024, and more. The second
 * omits the last partial block. */
static int correct_in_whole_blocks(spec_reference_sampler *s)
{
    const bool middling = s->vocab > 1024 && s->vocab <= 8192;
    return correct_below(s, middling ? s->vocab / 1024 * 1024 : s->vocab);
}

/* Has a table of 192 blocks of 1,024 tokens. */
static int correct_in_table(spec_reference_sampler *s)
{
    return correct_below(s, s->vocab < 192 * 1024 ? s->vocab : 192 * 1024);
}

/* ---- low precision --------------------------------------------------------------------------- */

static void rows_in_bf16(spec_reference_sampler *s, int side, int place, double *row)
{
    (void)side;
    (void)place;
    for (int i = 0; i < s->vocab; i++) row[i] = spec_mutants_bf16(row[i]);
    (void)spec_reference_sampler_normalise(row, s->vocab);
}

static void logits_in_bf16(spec_reference_sampler *s, int side, int place, double *row)
{
    (void)side;
    (void)place;
    for (int i = 0; i < s->vocab; i++)
        row[i] = row[i] > 0.0 ? exp(spec_mutants_bf16(log(row[i]))) : 0.0;
    (void)spec_reference_sampler_normalise(row, s->vocab);
}

/* ---- rows of another request ----------------------------------------------------------------- */

static const float *given_of(spec_reference_sampler *s, int request, int side, int place)
{
    const spec_step *other = &s->steps[request];
    const float *rows = side == SPEC_REFERENCE_TARGET ? other->target : other->draft;
    return rows + (size_t)(place < other->n_nodes ? place : other->n_nodes) * (size_t)s->vocab;
}

static const float *given_of_first(spec_reference_sampler *s, int side, int place)
{
    return side == SPEC_REFERENCE_TARGET ? given_of(s, 0, side, place)
                                         : spec_reference_sampler_given(s, side, place);
}

static const float *given_of_last_of_call(spec_reference_sampler *s, int side, int place)
{
    const bool wrong = side == SPEC_REFERENCE_TARGET && s->at > 0 && place == 0;
    return wrong ? given_of(s, s->at - 1, side, place)
                 : spec_reference_sampler_given(s, side, place);
}

/* Computes the row as if all drafts were as long as this one. */
static const float *given_by_stride(spec_reference_sampler *s, int side, int place)
{
    const bool wrong = s->at > 0 && s->steps[s->at - 1].n_nodes != s->step->n_nodes;
    return wrong ? given_of(s, s->at - 1, side, place)
                 : spec_reference_sampler_given(s, side, place);
}

static int correct_above_two(spec_reference_sampler *s)
{
    if (s->at >= 2) {
        const float *row = given_of(s, s->at - 2, SPEC_REFERENCE_TARGET, s->place);
        for (int i = 0; i < s->vocab; i++) s->target[i] = (double)row[i];
    }
    return spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
}

/* ---- padding, inputs, outputs ---------------------------------------------------------------- */

/* Computes residuals for padding as well. A residual of 0/0 makes the sum over all positions NaN,
 * and a scan with it ends at the last token. */
static int last_by_all_places(spec_reference_sampler *s)
{
    for (int place = s->n_nodes; place < s->step->n_nodes && s->drawn != SPEC_DRAWN_FIXED;
         place++) {
        const float *target = spec_reference_sampler_given(s, SPEC_REFERENCE_TARGET, place + 1);
        const float *draft = spec_reference_sampler_given(s, SPEC_REFERENCE_DRAFT, place + 1);
        double surplus = 0.0;
        for (int i = 0; i < s->vocab; i++) surplus += target[i] > draft[i];
        if (surplus == 0.0) return s->vocab - 1;
    }
    return spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
}

/* Uses -1 as an index, which means the last token. */
static void round_with_padding(spec_reference_sampler *s)
{
    for (; s->n_nodes < s->step->n_nodes; s->n_nodes++) {
        s->token[s->n_nodes] = s->vocab - 1;
        s->parent[s->n_nodes] = s->n_nodes - 1;
    }
    spec_reference_sampler_walk(s);
}

static void answer_placeholder(spec_reference_sampler *s, spec_step *step)
{
    if (s->n_emitted <= s->n_nodes) step->ret_token[s->n_emitted - 1] = -1;
}

static void answer_without_bonus(spec_reference_sampler *s, spec_step *step)
{
    if (s->n_emitted == s->n_nodes + 1) *step->ret_n_emitted = s->n_nodes;
}

static void answer_in_place(spec_reference_sampler *s, spec_step *step)
{
    float *row = (float *)step->target + (size_t)s->place * (size_t)s->vocab;
    for (int i = 0; i < s->vocab; i++) row[i] = (float)s->target[i];
}

static void answer_too_long(spec_reference_sampler *s, spec_step *step)
{
    for (int i = s->n_emitted; i <= step->n_nodes + 1; i++) step->ret_token[i] = -1;
}

const spec_mutant spec_mutants_rows[] = {
    {"row-before", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "verifies with the target's row of the position before", "",
     .hooks = {.given = given_previous}},
    {"row-after", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "verifies with the target's row of the position after", "", .hooks = {.given = given_next}},
    {"draft-row-before", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "verifies with the draft's row of the position before", "",
     .hooks = {.given = given_draft_previous}},
    {"bonus-row-before", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the bonus is drawn from the row of the last drafted token", "", true,
     .hooks = {.given = given_bonus_previous}},
    {"bonus-row-padded", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the bonus of a padded draft is drawn from the row after the padding",
     "vllm-project/vllm #42638", true, .hooks = {.given = given_bonus_padded}},
    {"rows-of-eight", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "all rows after the eighth drafted token are those of the eighth", "", true,
     .hooks = {.given = given_of_nine}},
    {"row-after-draft", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "where nothing is accepted, draws from the row after the whole draft, without a residual",
     "a tutorial's pseudo-code", true, .hooks = {.correct = correct_after_draft}},
    {"blocks-forgotten", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "with 1,025 to 8,192 tokens, those after the last whole block of 1,024 are never a correction",
     "", .hooks = {.correct = correct_in_whole_blocks}},
    {"table-of-192", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "tokens from 196,608 on are never a correction", "", .hooks = {.correct = correct_in_table}},
    {"rows-bf16", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "rows are rounded to bf16 before parameters are applied", "", .everywhere = true,
     .hooks = {.raw = rows_in_bf16}},
    {"logits-bf16", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "logits are rounded to bf16 before the "
     "softmax",
     "", .everywhere = true, .hooks = {.raw = logits_in_bf16}},
    {"row-of-first", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "all requests are verified with the rows of the first", "",
     .hooks = {.given = given_of_first}},
    {"row-of-neighbour", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the first row is that of the request before", "", .hooks = {.given = given_of_last_of_call}},
    {"row-by-stride", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "uses rows of another request where draft lengths differ", "vllm-project/vllm #14645",
     .hooks = {.given = given_by_stride}},
    {"above-two", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "from the third request on, corrections come from another request's row", "1Cat-vLLM #656",
     .hooks = {.correct = correct_above_two}},
    {"padding-judged", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "padding is verified as if it were drafted", "", true, .hooks = {.round = round_with_padding}},
    {"padding-empty", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "an empty residual after the padding gives 0/0 everywhere", "", true,
     .hooks = {.correct = last_by_all_places, .bonus = last_by_all_places}},
    {"placeholder-left", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "the position of a correction "
     "contains -1",
     "", .hooks = {.answer = answer_placeholder}},
    {"bonus-left-out", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "a round without a rejection counts one token too few", "",
     .hooks = {.answer = answer_without_bonus}},
    {"input-overwritten", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "the residual overwrites the caller's row", "", .hooks = {.answer = answer_in_place}},
    {"output-overrun", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "fills its output with -1, one element too far", "", .hooks = {.answer = answer_too_long}},
    {.name = NULL},
};
