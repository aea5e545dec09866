/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/collect.h"

#include "base/int_math.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef enum { PHASE_TEXT, PHASE_SCORES } phase;

/* What a lane works on. */
typedef struct {
    spec_served_text text;
    phase phase;
    int scored; /* requests for scores that were answered */
} job;

typedef struct {
    const spec_collect_plan *plan;
    job *job;                /* (lanes) */
    int next;                /* the next text to begin */
    int begun;               /* texts that were begun */
    spec_served_text *again; /* texts to score again; NULL: draw texts */
    int n_again;
    spec_served_text *drawn; /* texts that wait to be scored here; NULL: a server scores */
    int n_drawn;
    spec_collect_have *have;
    void *self;
} collector;

void spec_served_text_free(spec_served_text *text)
{
    spec_live_tokens_free(&text->all);
    free(text->place);
    *text = (spec_served_text){.place = NULL};
}

static int allocate(spec_served_text *text, int n_prompt, int n, spec_error *error)
{
    text->all = (spec_live_tokens){malloc((size_t)(n_prompt + n + 1) * sizeof *text->all.token),
                                   n_prompt + n};
    text->place = malloc((size_t)(n + 1) * sizeof *text->place);
    text->n_prompt = n_prompt;
    text->n = n;
    return text->all.token != NULL && text->place != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

int spec_served_text_init(spec_served_text *ret, const spec_live_tokens *prompt, int n,
                          spec_error *error)
{
    SPEC_PASS(allocate(ret, prompt->n, n, error));
    memcpy(ret->all.token, prompt->token, (size_t)prompt->n * sizeof *prompt->token);
    ret->all.n = prompt->n;
    ret->n = 0;
    return GSL_SUCCESS;
}

int spec_served_text_copy(spec_served_text *ret, const spec_served_text *text, spec_error *error)
{
    *ret = (spec_served_text){.number = text->number};
    if (allocate(ret, text->n_prompt, text->n, error) != GSL_SUCCESS) {
        spec_served_text_free(ret);
        return GSL_ENOMEM;
    }
    memcpy(ret->all.token, text->all.token, (size_t)text->all.n * sizeof *text->all.token);
    memcpy(ret->place, text->place, (size_t)text->n * sizeof *text->place);
    return GSL_SUCCESS;
}

/* ---- requests -------------------------------------------------------------------------------- */

static const spec_live_tokens *prompt_of(const spec_collect_plan *plan, int text)
{
    return &plan->prompt[text % plan->n_prompts];
}

/* Returns the position that the next request of a job scores, if each request scores only one. */
static int place_due(const collector *c, const job *j)
{
    return c->plan->backwards ? j->text.n - 1 - j->scored : j->scored;
}

static void ask_scores(const collector *c, const job *j, spec_http_request *ret)
{
    const spec_live_server *server = c->plan->score;
    spec_live_tokens tokens = j->text.all;
    if (server->dialect->by_prefix) tokens.n = j->text.n_prompt + place_due(c, j);
    server->dialect->ask_scores(ret, server, &tokens, j->text.n, c->plan->top);
}

/* Returns how many texts are drawn before they are scored here. While we score, no request may be
 * under way, because it could time out. */
static int batch_of(const spec_collect_plan *plan)
{
    return spec_int_max(2 * plan->how.lanes, 16);
}

static bool begin_text(collector *c, int lane, spec_http_request *ret)
{
    const spec_collect_plan *plan = c->plan;
    char name[24];
    while (c->next < plan->texts && plan->opt_done != NULL && plan->opt_done[c->next]) c->next++;
    if (c->next >= plan->texts || (c->drawn != NULL && c->begun == batch_of(plan))) return false;
    c->begun++;
    const int number = c->next++;
    c->job[lane].text.number = number;
    snprintf(name, sizeof name, "%d", number);
    plan->text->dialect->ask_text(ret, plan->text, prompt_of(plan, number), &plan->sampling,
                                  spec_rng_named_seed(plan->seed, name));
    return true;
}

/* A text to score again is moved into the job, and back when it is finished. */
static bool begin_again(collector *c, int lane, spec_http_request *ret)
{
    job *j = &c->job[lane];
    if (c->next >= c->n_again) return false;
    j->text = c->again[c->next];
    c->again[c->next] = (spec_served_text){.number = c->next};
    j->text.number = c->next++;
    j->phase = PHASE_SCORES;
    j->scored = 0;
    ask_scores(c, j, ret);
    return true;
}

static bool next_request(void *self, int lane, spec_http_request *ret)
{
    collector *c = self;
    if (c->job[lane].phase == PHASE_SCORES) {
        ask_scores(c, &c->job[lane], ret);
        return true;
    }
    return c->again != NULL ? begin_again(c, lane, ret) : begin_text(c, lane, ret);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int finish(collector *c, job *j, spec_error *error)
{
    int status = GSL_SUCCESS;
    j->phase = PHASE_TEXT;
    if (c->again != NULL) {
        const int number = j->text.number;
        c->again[number] = j->text;
        j->text = (spec_served_text){.place = NULL};
        return status;
    }
    if (c->drawn != NULL) {
        c->drawn[c->n_drawn++] = j->text;
        j->text = (spec_served_text){.place = NULL};
        return status;
    }
    status = c->have(c->self, &j->text, error);
    spec_served_text_free(&j->text);
    return status;
}

static int take_text(collector *c, job *j, const json_t *answer, spec_error *error)
{
    const spec_live_server *server = c->plan->text;
    const spec_live_tokens *prompt = prompt_of(c->plan, j->text.number);
    spec_live_tokens drawn = {.token = NULL};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_live_blame(server, server->dialect->read_text(&drawn, answer, error), error));
    if (drawn.n > c->plan->sampling.tokens)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: a text of %d tokens, where %d were asked for", server->url,
                           drawn.n, c->plan->sampling.tokens));
    SPEC_TRY(spec_served_text_init(&j->text, prompt, drawn.n, error));
    memcpy(j->text.all.token + prompt->n, drawn.token, (size_t)drawn.n * sizeof *drawn.token);
    j->text.all.n += drawn.n;
    j->text.n = drawn.n;
    j->phase = PHASE_SCORES;
    j->scored = 0;
    if (drawn.n == 0 || c->drawn != NULL) SPEC_TRY(finish(c, j, error));
done:
    spec_live_tokens_free(&drawn);
    return status;
}

static int take_scores(collector *c, job *j, const json_t *answer, spec_error *error)
{
    const spec_live_server *server = c->plan->score;
    const bool one = server->dialect->by_prefix;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_live_blame(
        server,
        server->dialect->read_scores(j->text.place + (one ? place_due(c, j) : 0),
                                     one ? 1 : j->text.n, c->plan->top, answer, error),
        error));
    j->scored++;
    if (!one || j->scored == j->text.n) SPEC_TRY(finish(c, j, error));
done:
    return status;
}

static int take_answer(void *self, int lane, const json_t *answer, spec_error *error)
{
    collector *c = self;
    job *j = &c->job[lane];
    return j->phase == PHASE_TEXT ? take_text(c, j, answer, error)
                                  : take_scores(c, j, answer, error);
}

static int run(collector *c, spec_error *error)
{
    spec_http_work work = c->plan->how;
    c->job = calloc((size_t)work.lanes, sizeof *c->job);
    if (c->job == NULL) return spec_no_memory(error);
    work.next = next_request;
    work.take = take_answer;
    work.self = c;
    const int status = spec_http_run(&work, error);
    for (int i = 0; i < work.lanes; i++) spec_served_text_free(&c->job[i].text);
    free(c->job);
    return status;
}

/* Draws a batch of texts, and scores them. */
static int run_batch(collector *c, spec_error *error)
{
    int status = GSL_SUCCESS;
    c->begun = c->n_drawn = 0;
    SPEC_TRY(run(c, error));
    for (int i = 0; i < c->n_drawn && !spec_stop_is_set(c->plan->how.opt_stop); i++) {
        SPEC_TRY(c->plan->opt_local(c->plan->scorer, &c->drawn[i], error));
        SPEC_TRY(c->have(c->self, &c->drawn[i], error));
    }
done:
    for (int i = 0; i < c->n_drawn; i++) spec_served_text_free(&c->drawn[i]);
    return status;
}

int spec_collect(const spec_collect_plan *plan, spec_collect_have *have, void *self,
                 spec_error *error)
{
    collector c = {.plan = plan, .next = plan->first, .have = have, .self = self};
    int status = GSL_SUCCESS;
    if (plan->opt_local == NULL) return run(&c, error);
    c.drawn = calloc((size_t)batch_of(plan), sizeof *c.drawn);
    if (c.drawn == NULL) return spec_no_memory(error);
    do SPEC_TRY(run_batch(&c, error));
    while (c.begun == batch_of(plan) && !spec_stop_is_set(plan->how.opt_stop));
done:
    free(c.drawn);
    return status;
}

int spec_collect_rescore(const spec_collect_plan *plan, spec_served_text *text, int n,
                         spec_error *error)
{
    collector c = {.plan = plan, .again = text, .n_again = n};
    return run(&c, error);
}
