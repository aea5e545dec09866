/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/served_run.h"

#include "base/clock.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/live/live_prompts.h"
#include "tools/live/penalties.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE_TEXTS = 4 }; /* texts that are scored twice to measure the noise */
static const double least_tie = 1e-6;

/* The root mean square of the difference of two log-probabilities beyond which the server must run
 * another model. llama-server with Q4 or Q8 weights, which rounds activations to 8 bits, is at
 * 0.03; two models of 0.9 million weights that learnt from the same text are at 0.7. */
static const double another_model = 0.3;

static const double small_enough = 0.1; /* the largest `detectable` of "no difference" */

typedef spec_served_run run;

static bool has_penalties(const spec_served_plan *plan)
{
    return plan->sampling.presence > 0.0 || plan->sampling.frequency > 0.0;
}

/* ---- prompts --------------------------------------------------------------------------------- */

static int ask(const run *r, json_t **ret, const spec_http_request *request, spec_error *error)
{
    SPEC_PASS(spec_http_ask(ret, request, &r->plan->how, error));
    return *ret != NULL ? GSL_SUCCESS : spec_fail(error, GSL_EFAILED, "interrupted");
}

/* Takes a prompt's tokens from an answer. */
static int take_tokens(run *r, const json_t *answer,
                       int (*read)(spec_live_tokens *, const json_t *, spec_error *),
                       spec_error *error)
{
    const spec_live_server *server = &r->result->text;
    spec_live_tokens *prompt = &r->prompt[r->n_prompts];
    SPEC_PASS(spec_live_blame(server, read(prompt, answer, error), error));
    r->n_prompts++;
    if (prompt->n > 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.200s: a prompt has no tokens", server->url);
}

static int tokenise_text(run *r, const char *text, spec_error *error)
{
    const spec_live_server *server = &r->result->text;
    spec_http_request request = {.body = NULL};
    json_t *answer = NULL;
    int status = GSL_SUCCESS;
    server->dialect->ask_tokens(&request, server, text);
    SPEC_TRY(ask(r, &answer, &request, error));
    SPEC_TRY(take_tokens(r, answer, server->dialect->read_tokens, error));
done:
    json_decref(answer);
    return status;
}

static int tokenise_chat(run *r, const json_t *chat, spec_error *error)
{
    const spec_live_server *server = &r->result->text;
    spec_http_request request = {.body = NULL};
    json_t *answer = NULL;
    int status = GSL_SUCCESS;
    server->dialect->ask_chat(&request, server, chat);
    SPEC_TRY(ask(r, &answer, &request, error));
    const char *text = json_string_value(json_object_get(answer, "prompt"));
    if (server->dialect->read_chat != NULL)
        SPEC_TRY(take_tokens(r, answer, server->dialect->read_chat, error));
    else if (text != NULL)
        SPEC_TRY(tokenise_text(r, text, error));
    else
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: the answer has no valid \"prompt\"",
                           request.url));
done:
    json_decref(answer);
    return status;
}

static int tokenise_prompts(run *r, spec_error *error)
{
    const size_t n = json_array_size(r->line);
    int status = GSL_SUCCESS;
    if ((r->prompt = calloc(n, sizeof *r->prompt)) == NULL) return spec_no_memory(error);
    for (size_t i = 0; i < n; i++) {
        const char *text = spec_live_prompt(r->line, (int)i);
        if (r->result->text.dialect == &spec_openai_dialect) {
            SPEC_TRY(
                spec_openai_prompt(&r->prompt[r->n_prompts++], json_array_get(r->line, i), error));
            continue;
        }
        SPEC_TRY(text != NULL ? tokenise_text(r, text, error)
                              : tokenise_chat(r, json_array_get(r->line, i), error));
        if (text != NULL && r->result->local)
            r->result->unlike += !spec_local_scorer_agrees(&r->local, text, &r->prompt[i]);
    }
done:
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int keep_text(void *self, const spec_served_text *text, spec_error *error)
{
    run *r = self;
    return spec_served_text_copy(&r->kept[r->n_kept++], text, error);
}

static int have_text(void *self, const spec_served_text *text, spec_error *error)
{
    run *r = self;
    const spec_live_sampling *s = &r->plan->sampling;
    spec_served_text copy = {.place = NULL};
    int status = GSL_SUCCESS;
    r->plan->progress(r->plan->self, r->what, ++r->done, r->collect.texts);
    if (r->capture.rule.penalised) {
        SPEC_TRY(spec_served_text_copy(&copy, text, error));
        spec_penalties_apply(&copy, s->presence, s->frequency,
                             r->result->text.dialect->penalty_last);
        text = &copy;
    }
    if (r->greedy == NULL)
        SPEC_TRY(spec_capture_text(&r->capture, text, error));
    else
        spec_greedy_add(r->greedy, text, r->result->tie);
done:
    spec_served_text_free(&copy);
    return status;
}

/* Has the model write the texts of measure_noise, so that they do not depend on how the server
 * draws. */
static int write_noise_texts(run *r, const spec_collect_plan *plan, spec_error *error)
{
    char name[24];
    for (int i = 0; i < plan->texts && !spec_stop_is_set(r->plan->how.opt_stop); i++) {
        snprintf(name, sizeof name, "%d", i);
        SPEC_PASS(spec_local_scorer_draw(&r->local, &r->kept[r->n_kept++],
                                         &r->prompt[i % r->n_prompts], plan->sampling.tokens,
                                         spec_rng_named_seed(plan->seed, name), error));
    }
    return GSL_SUCCESS;
}

/* Fails if the scores of server and model differ by more than rounding explains. */
static int check_same_model(const run *r, spec_error *error)
{
    const spec_scorer_noise *noise = &r->result->noise;
    if (!r->result->local || !(noise->square > another_model * another_model)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.200s: it runs another model than %.200s: the root mean square of the "
                     "differences of log-probabilities is %.2g",
                     r->result->text.url, r->plan->score_by, sqrt(noise->square));
}

/* Draws a few texts, and scores them a second time: backwards, and one by one. If a model scores
 * here, the second scores are those of the server, which does not speculate to score. */
static int measure_noise(run *r, spec_error *error)
{
    spec_served_text kept[NOISE_TEXTS] = {{0}}, again[NOISE_TEXTS] = {{0}};
    spec_collect_plan plan = r->collect;
    int status = GSL_SUCCESS;
    r->kept = kept;
    r->n_kept = 0;
    r->plan->progress(r->plan->self, "measuring the noise of the scorer", 0, 0);
    plan.texts = NOISE_TEXTS;
    plan.opt_done = NULL;
    plan.seed = spec_rng_named_seed(r->plan->seed, "noise");
    if (r->result->local)
        SPEC_TRY(write_noise_texts(r, &plan, error));
    else
        SPEC_TRY(spec_collect(&plan, keep_text, r, error));
    if (r->result->local) plan.score = plan.text;
    plan.opt_local = NULL;
    for (int i = 0; i < r->n_kept; i++) SPEC_TRY(spec_served_text_copy(&again[i], &kept[i], error));
    plan.backwards = true;
    plan.how.lanes = 1;
    SPEC_TRY(spec_collect_rescore(&plan, again, r->n_kept, error));
    r->result->noise = spec_scorer_noise_of(kept, again, r->n_kept);
    const spec_scorer_noise *noise = &r->result->noise;
    r->result->tie = fmax(
        SPEC_SERVED_TIES * (r->result->equal_seeds ? noise->variation : noise->margin), least_tie);
    SPEC_TRY(check_same_model(r, error));
done:
    for (int i = 0; i < NOISE_TEXTS; i++) {
        spec_served_text_free(&kept[i]);
        spec_served_text_free(&again[i]);
    }
    return status;
}

/* ---- sampled texts --------------------------------------------------------------------------- */

/* Names the captured texts by a hash of the settings that they depend on. */
static void name_settings(run *r)
{
    const spec_served_plan *plan = r->plan;
    const spec_transform *t = &plan->sampling.transform;
    char text[1024];
    uint64_t hash = plan->seed;
    for (int i = 0; i < r->n_prompts; i++)
        for (int k = 0; k < r->prompt[i].n; k++)
            hash = (hash ^ (uint64_t)r->prompt[i].token[k]) * 0x9e3779b97f4a7c15u + (uint64_t)i;
    snprintf(text, sizeof text, "%s %s %.17g %d %.17g %.17g %.17g %.17g %d %d %d",
             r->result->local ? plan->score_by : "", r->result->text.model, t->temperature,
             t->top_k, t->top_p, t->min_p, plan->sampling.presence, plan->sampling.frequency,
             plan->top, plan->sampling.tokens, r->n_prompts);
    snprintf(r->capture.engine, sizeof r->capture.engine, "%s, served %016llx",
             r->result->text.dialect->name, (unsigned long long)spec_rng_named_seed(hash, text));
}

static int open_capture(run *r, bool *done, spec_error *error)
{
    const spec_served_plan *plan = r->plan;
    spec_capture *c = &r->capture;
    const char *path = plan->opt_capture;
    bool old = false;
    c->name = path != NULL ? path : "the captured texts";
    spec_capture_set_noise(c, r->result->noise.worst);
    c->vocab = r->result->score.vocab > 0 ? r->result->score.vocab : SPEC_TRACE_VOCAB_MAX;
    c->top = plan->top;
    name_settings(r);
    if ((c->chance = malloc(SPEC_LIVE_TOP * sizeof *c->chance)) == NULL)
        return spec_no_memory(error);
    if (path != NULL)
        SPEC_PASS(spec_live_open_capture(&c->file, &old, path, plan->resume, plan->force, error));
    else if ((c->file = tmpfile()) == NULL)
        return spec_fail(error, GSL_EFAILED, "%.200s: %s", c->name, strerror(errno));
    if (!old) return spec_capture_begin(c, error);
    return spec_capture_resume(c, done, plan->texts, error);
}

static int judge_sampled(run *r, spec_error *error)
{
    const spec_served_plan *plan = r->plan;
    bool *done = calloc((size_t)plan->texts + 1, sizeof *done);
    int status = done == NULL ? spec_no_memory(error) : GSL_SUCCESS;
    if (status == GSL_SUCCESS) SPEC_TRY(open_capture(r, done, error));
    for (int i = 0; i < plan->texts; i++) r->done += done[i];
    r->collect.opt_done = done;
    r->what = NULL;
    SPEC_TRY(spec_collect(&r->collect, have_text, r, error));
    SPEC_TRY(spec_served_judge(&r->result->judgement, r->capture.file, r->capture.name,
                               &r->result->noise, plan->rate, plan->seed, error));
done:
    if (r->capture.file != NULL) fclose(r->capture.file);
    free(r->capture.chance);
    free(done);
    return status;
}

/* ---- greedy texts ---------------------------------------------------------------------------- */

/* Judges the scorer's own texts first: small margins that occur there are ties. */
static int judge_greedy(run *r, spec_error *error)
{
    spec_served_result *result = r->result;
    const double certain = result->tie;
    int status = GSL_SUCCESS;
    if (!result->local) {
        result->tie *= SPEC_SERVED_OWN_TIES / SPEC_SERVED_TIES;
        r->greedy = &result->control;
        r->what = "control";
        r->collect.text = r->collect.score;
        SPEC_TRY(spec_collect(&r->collect, have_text, r, error));
        result->tie = fmax(certain, result->control.largest_tie);
    }
    r->greedy = &result->served;
    r->what = NULL;
    r->done = 0;
    r->collect.text = &result->text;
    SPEC_TRY(spec_collect(&r->collect, have_text, r, error));
done:
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void make_plan(run *r)
{
    const spec_served_plan *plan = r->plan;
    const spec_served_result *result = r->result;
    r->collect = (spec_collect_plan){.text = &result->text,
                                     .score = &result->score,
                                     .opt_local = result->local ? spec_local_scorer_score : NULL,
                                     .scorer = &r->local,
                                     .prompt = r->prompt,
                                     .n_prompts = r->n_prompts,
                                     .texts = plan->texts,
                                     .top = plan->top,
                                     .sampling = plan->sampling,
                                     .seed = plan->seed,
                                     .how = plan->how};
    r->collect.how.lanes = plan->lanes;
    if (result->score.slots > 0 && result->score.slots < plan->lanes)
        r->collect.how.lanes = result->score.slots;
}

/* Opens the scorer: a model here, or a server. */
static int open_scorer(run *r, spec_error *error)
{
    const spec_served_plan *plan = r->plan;
    spec_live_server *score = &r->result->score;
    if (!r->result->local)
        return spec_live_open(score, plan->score_by, plan->opt_score_model, plan->opt_score_key,
                              &plan->how, error);
    plan->progress(plan->self, "loading the model", 0, 0);
    *score =
        (spec_live_server){.dialect = &spec_local_scorer_dialect, .vocab = r->local.model->vocab};
    snprintf(score->url, sizeof score->url, "%s", plan->score_by);
    snprintf(score->model, sizeof score->model, "%s", r->local.model->kind->name);
    return spec_local_scorer_load(&r->local, plan->top, error);
}

/* Checks that both engines draw from the same distribution under these parameters: they may apply
 * filters in different orders. */
static int check_same_filters(const run *r, spec_error *error)
{
    const spec_transform *t = &r->plan->sampling.transform;
    const spec_dialect *text = r->result->text.dialect, *other = r->result->score.dialect;
    if (has_penalties(r->plan) && text->penalty_last != other->penalty_last)
        return spec_fail(error, GSL_EINVAL,
                         "%s and %s count the tokens of different parts of the text for penalties: "
                         "leave out the penalties",
                         text->name, other->name);
    if ((t->top_k == 0 && t->top_p == 1.0 && t->min_p == 0.0) ||
        strcmp(text->filters, other->filters) == 0)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%s and %s apply filters in different orders, so their texts differ: leave "
                     "out --top-k, --top-p and --min-p",
                     text->name, other->name);
}

/* Has both servers answer in words, since one of them returns no token ids. */
static int use_words(run *r, spec_error *error)
{
    static const char what[] = "return token ids; --compare-with needs none";
    spec_served_result *result = r->result;
    const spec_transform *t = &r->plan->sampling.transform;
    if (!result->two_samples) {
        SPEC_PASS(spec_live_check_known(&result->text, what, error));
        SPEC_PASS(spec_live_check_known(&result->score, what, error));
    }
    if (t->top_k > 0 || t->min_p > 0.0)
        return spec_fail(error, GSL_EINVAL,
                         "OpenAI's interface has neither top-k nor min-p: leave them out");
    result->text.dialect = result->score.dialect = &spec_openai_dialect;
    return GSL_SUCCESS;
}

static int open_servers(run *r, spec_error *error)
{
    const spec_served_plan *plan = r->plan;
    spec_served_result *result = r->result;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_live_open(&result->text, plan->text_url, plan->opt_text_model, plan->opt_text_key,
                            &plan->how, error));
    SPEC_TRY(open_scorer(r, error));
    if (result->text.dialect == &spec_openai_dialect ||
        result->score.dialect == &spec_openai_dialect)
        SPEC_TRY(use_words(r, error));
    if (result->text.vocab > 0 && result->score.vocab > 0 &&
        result->text.vocab != result->score.vocab)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "text and scores come from different models: one has %d tokens, the "
                           "other %d",
                           result->text.vocab, result->score.vocab));
    if (result->equal_seeds &&
        !(result->text.dialect->same_seed && result->score.dialect->same_seed))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--equal-seeds needs llama-server: with speculation, %s draws another "
                           "text from the same seed",
                           result->text.dialect->same_seed ? result->score.dialect->name
                                                           : result->text.dialect->name));
    r->capture.rule = (spec_drawn_rule){.transform = plan->sampling.transform,
                                        .penalised = has_penalties(plan),
                                        .vocab = result->score.vocab};
    SPEC_TRY(spec_filter_order_parse(&r->capture.rule.order, result->text.dialect->filters, error));
    if (result->two_samples)
        SPEC_TRY(check_same_filters(r, error));
    else if (!result->greedy)
        SPEC_TRY(spec_drawn_check(&r->capture.rule, plan->top, error));
done:
    return status;
}

int spec_served(spec_served_result *ret, const spec_served_plan *plan, spec_error *error)
{
    run r = {.plan = plan, .result = ret};
    const double begun = spec_clock_monotonic();
    int status = GSL_SUCCESS;
    *ret = (spec_served_result){.greedy = plan->sampling.transform.temperature == 0.0,
                                .local = spec_local_scorer_is_model(plan->score_by),
                                .equal_seeds = plan->equal_seeds,
                                .two_samples = plan->two_samples,
                                .wanted = plan->texts,
                                .rate = plan->rate};
    SPEC_TRY(spec_live_url_check(plan->text_url, error));
    if (!ret->local) SPEC_TRY(spec_live_url_check(plan->score_by, error));
    SPEC_TRY(spec_live_prompts_read(&r.line, plan->prompts, plan->texts, SPEC_LIVE_CHATS, error));
    if (ret->local)
        SPEC_TRY(spec_local_scorer_open(&r.local, plan->score_by, plan->opt_context, error));
    SPEC_TRY(open_servers(&r, error));
    SPEC_TRY(tokenise_prompts(&r, error));
    make_plan(&r);
    if (!ret->two_samples) SPEC_TRY(measure_noise(&r, error));
    SPEC_TRY(ret->two_samples   ? spec_served_judge_samples(&r, error)
             : ret->greedy      ? judge_greedy(&r, error)
             : ret->equal_seeds ? spec_served_judge_equal(&r, error)
                                : judge_sampled(&r, error));
    ret->prompts = r.n_prompts;
    ret->stopped = spec_stop_is_set(plan->how.opt_stop);
    ret->seconds = spec_clock_monotonic() - begun;
done:
    for (int i = 0; i < r.n_prompts; i++) spec_live_tokens_free(&r.prompt[i]);
    free(r.prompt);
    json_decref(r.line);
    spec_local_scorer_free(&r.local);
    return status;
}

spec_served_verdict spec_served_verdict_of(const spec_served_result *r)
{
    const spec_greedy_texts *g = &r->served;
    if (r->two_samples && r->samples.p <= r->rate) return SPEC_SERVED_SAMPLER;
    if (r->two_samples)
        return r->samples.p_close > r->rate && r->samples.detectable <= small_enough
                   ? SPEC_SERVED_RIGHT
                   : SPEC_SERVED_UNDECIDED;
    if (!r->greedy && !r->equal_seeds) return r->judgement.verdict;
    if (g->texts == 0 || (r->equal_seeds && r->stopped && g->different > 0))
        return SPEC_SERVED_UNDECIDED; /* or it was interrupted before the differences were scored */
    if (g->wrong == 0)
        return r->greedy || r->detectable <= small_enough ? SPEC_SERVED_RIGHT
                                                          : SPEC_SERVED_UNDECIDED;
    if (!spec_greedy_accused(g, &r->control, r->rate)) return SPEC_SERVED_UNDECIDED;
    if (r->equal_seeds) return SPEC_SERVED_STATE;
    return 2 * g->lost_texts > g->wrong_texts ? SPEC_SERVED_STATE : SPEC_SERVED_TOKEN;
}
