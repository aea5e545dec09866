/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "tools/live/served_run.h"

#include "base/int_math.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 64 }; /* texts that one server draws before it is the other one's turn */

/* ---- drawing without scores ------------------------------------------------------------------ */

static int no_scores(void *scorer, spec_served_text *text, spec_error *error)
{
    (void)scorer, (void)text, (void)error;
    return GSL_SUCCESS;
}

static int keep_drawn(void *self, const spec_served_text *text, spec_error *error)
{
    spec_served_run *r = self;
    spec_live_tokens *ret = &r->drawn[text->number];
    r->plan->progress(r->plan->self, r->what, ++r->done, r->due);
    if ((ret->token = malloc((size_t)(text->n + 1) * sizeof *ret->token)) == NULL)
        return spec_no_memory(error);
    ret->n = text->n;
    memcpy(ret->token, text->all.token + text->n_prompt, (size_t)text->n * sizeof *ret->token);
    return GSL_SUCCESS;
}

/* Has a server draw the texts begin..end - 1 into drawn (texts), where missing ones have NULL. */
static int draw(spec_served_run *r, spec_live_tokens *drawn, const spec_live_server *server,
                uint64_t seed, int begin, int end, spec_error *error)
{
    spec_collect_plan plan = r->collect;
    plan.text = server;
    plan.opt_local = no_scores;
    plan.seed = seed;
    plan.first = begin;
    plan.texts = end;
    r->drawn = drawn;
    return spec_collect(&plan, keep_drawn, r, error);
}

/* Has both servers draw the texts, taking turns, so that an interrupted run has pairs. */
static int draw_pairs(spec_served_run *r, spec_live_tokens *drawn, spec_live_tokens *plain,
                      uint64_t plain_seed, spec_error *error)
{
    const int texts = r->collect.texts;
    r->what = NULL;
    r->due = 2 * texts;
    for (int begin = 0; begin < texts && !spec_stop_is_set(r->plan->how.opt_stop); begin += PART) {
        const int end = spec_int_min(begin + PART, texts);
        SPEC_PASS(draw(r, drawn, &r->result->text, r->plan->seed, begin, end, error));
        SPEC_PASS(draw(r, plain, &r->result->score, plain_seed, begin, end, error));
    }
    return GSL_SUCCESS;
}

/* Allocates room for texts, all of them missing. */
static spec_live_tokens *room_for(int texts)
{
    return calloc((size_t)texts, sizeof(spec_live_tokens));
}

static void drawn_free(spec_live_tokens *drawn, int n)
{
    for (int i = 0; drawn != NULL && i < n; i++) spec_live_tokens_free(&drawn[i]);
    free(drawn);
}

/* Returns the first position at which texts i differ; -1: none, or one of them was not drawn. */
static int first_of(const spec_live_tokens *drawn, const spec_live_tokens *plain, int i)
{
    if (drawn[i].token == NULL || plain[i].token == NULL) return -1;
    return spec_equal_texts_first(&drawn[i], &plain[i]);
}

/* Scores the position after the first `n` tokens of a text. */
static int score_after(spec_served_run *r, spec_live_place *ret, int number,
                       const spec_live_tokens *text, int n, spec_error *error)
{
    const spec_live_tokens *prompt = &r->prompt[number % r->n_prompts];
    spec_served_text one = {.number = number};
    int status = GSL_SUCCESS;
    ret->n = 0;
    SPEC_TRY(spec_served_text_init(&one, prompt, n + 1, error));
    memcpy(one.all.token + prompt->n, text->token, (size_t)(n + 1) * sizeof *text->token);
    one.all.n += n + 1;
    one.n_prompt += n;
    one.n = 1;
    SPEC_TRY(spec_collect_rescore(&r->collect, &one, 1, error));
    if (one.place != NULL) *ret = one.place[0];
done:
    spec_served_text_free(&one);
    return status;
}

/* Compares texts with those of the plain server. If only one of them ends, we do not know how
 * probable the end was, and count a tie. */
static int compare(spec_served_run *r, spec_greedy_texts *ret, const spec_live_tokens *drawn,
                   const spec_live_tokens *plain, spec_error *error)
{
    for (int i = 0; i < r->collect.texts; i++) {
        if (drawn[i].token == NULL || plain[i].token == NULL) continue;
        const int at = first_of(drawn, plain, i);
        ret->texts++;
        ret->tokens += (uint64_t)(at < 0 ? plain[i].n : at + 1);
        if (at < 0) continue;
        spec_live_place place = {.n = 0};
        const bool both = at < drawn[i].n && at < plain[i].n;
        const int32_t token = both ? drawn[i].token[at] : 0, own = both ? plain[i].token[at] : 0;
        if (both) SPEC_PASS(score_after(r, &place, i, &plain[i], at, error));
        ret->different++;
        ret->wrong_texts += spec_greedy_count(
            ret, i, at, token, own, spec_equal_texts_between(&place, token, own), r->result->tie);
    }
    return GSL_SUCCESS;
}

int spec_served_judge_equal(spec_served_run *r, spec_error *error)
{
    spec_served_result *result = r->result;
    const int texts = r->collect.texts, lanes = r->collect.how.lanes, slots = result->score.slots;
    spec_live_tokens *drawn = room_for(texts), *plain = room_for(texts), *again = room_for(texts);
    const double certain = result->tie;
    const uint64_t seed = r->plan->seed;
    bool differ = false;
    int status = GSL_SUCCESS;
    if (drawn == NULL || plain == NULL || again == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(draw_pairs(r, drawn, plain, seed, error));
    for (int i = 0; i < texts; i++) differ |= first_of(drawn, plain, i) >= 0;
    if (differ) {
        r->what = "control";
        r->due = texts;
        r->done = 0;
        r->collect.how.lanes = lanes > 1 ? 1 : slots > 0 ? slots : 4;
        SPEC_TRY(draw(r, again, &result->score, seed, 0, texts, error));
        result->tie *= SPEC_SERVED_OWN_TIES / SPEC_SERVED_TIES;
        SPEC_TRY(compare(r, &result->control, again, plain, error));
        result->tie = fmax(certain, result->control.largest_tie);
    }
    SPEC_TRY(compare(r, &result->served, drawn, plain, error));
    result->detectable = spec_equal_texts_detectable((double)result->served.tokens,
                                                     result->served.different, SPEC_SERVED_POWER);
done:
    drawn_free(drawn, texts);
    drawn_free(plain, texts);
    drawn_free(again, texts);
    return status;
}

/* ---- two samples ----------------------------------------------------------------------------- */

int spec_served_judge_samples(spec_served_run *r, spec_error *error)
{
    spec_served_result *result = r->result;
    const int texts = r->collect.texts;
    spec_live_tokens *drawn = room_for(texts), *other = room_for(texts);
    const uint64_t seed = r->plan->seed;
    int status = GSL_SUCCESS;
    if (drawn == NULL || other == NULL) SPEC_TRY(spec_no_memory(error));
    r->collect.sampling.tokens =
        spec_int_min(r->collect.sampling.tokens, SPEC_TWO_SAMPLES_TOKENS);
    SPEC_TRY(draw_pairs(r, drawn, other, spec_rng_named_seed(seed, "compared"), error));
    r->plan->progress(r->plan->self, "permuting", 0, 0);
    SPEC_TRY(spec_two_samples_test(&result->samples, drawn, other, texts, r->n_prompts,
                                   r->plan->rate, seed, error));
done:
    drawn_free(drawn, texts);
    drawn_free(other, texts);
    return status;
}
