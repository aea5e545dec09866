/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/local_scorer.h"

#include "base/int_math.h"
#include "models/model_open.h"
#include "models/row.h"
#include "models/transformer/engine/transformer.h"
#include "models/vocabularies.h"
#include "sim/chance/chance.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 64 }; /* positions of a pass, whose rows are in memory at the same time */

const spec_dialect spec_local_scorer_dialect = {.name = "speclab"};

bool spec_local_scorer_is_model(const char *word)
{
    const char *port = strchr(word, ':');
    if (strstr(word, "://") != NULL) return false;
    if (port == NULL || !isdigit((unsigned char)port[1])) return true;
    return strchr("/", port[1 + strspn(port + 1, "0123456789")]) == NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int check_spec(const char *spec, spec_error *error)
{
    spec_settings settings = {.n = 0};
    spec_transform transform;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    SPEC_TRY(spec_transform_read(&transform, &settings, error));
    if (!spec_transform_is_none(&transform))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: temperature and filters are options of served, which apply to "
                           "both the server and the scorer",
                           spec));
done:
    spec_settings_free(&settings);
    return status;
}

int spec_local_scorer_open(spec_local_scorer *ret, const char *spec, spec_context *opt_context,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (spec_local_scorer){.begin = -1};
    SPEC_TRY(check_spec(spec, error));
    SPEC_TRY(spec_model_open_unloaded(&ret->model, spec, NULL, opt_context, error));
    if (!spec_vocabularies_speaks(ret->model))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: it has no tokenizer, so its token ids are not the server's",
                           spec));
    const spec_transformer *transformer = spec_transformer_of(ret->model);
    if (transformer != NULL && transformer->checkpoint->adds_begin)
        ret->begin = transformer->checkpoint->begin_of_text;
done:
    if (status != GSL_SUCCESS) spec_local_scorer_free(ret);
    return status;
}

int spec_local_scorer_load(spec_local_scorer *s, int top, spec_error *error)
{
    SPEC_PASS(spec_model_load(s->model, NULL, error));
    SPEC_PASS(spec_session_init(&s->session, s->model, error));
    s->top = top;
    s->index = malloc((size_t)top * sizeof *s->index);
    s->space = malloc(PART * (size_t)s->model->vocab * sizeof *s->space);
    return s->index != NULL && s->space != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

void spec_local_scorer_free(spec_local_scorer *s)
{
    spec_session_free(&s->session);
    spec_model_close(s->model);
    free(s->index);
    free(s->space);
    *s = (spec_local_scorer){.begin = -1};
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Checks tokens of the server, and drops the begin-of-text token, which the model adds itself. */
static int strip(const spec_local_scorer *s, spec_live_tokens *ret, const spec_live_tokens *tokens,
                 spec_error *error)
{
    const spec_model *model = s->model;
    for (int i = 0; i < tokens->n; i++)
        if (tokens->token[i] >= model->vocab)
            return spec_fail(error, GSL_EINVAL,
                             "%.200s: the server's token %d is not one of its %d tokens: the "
                             "server runs another model",
                             model->spec, tokens->token[i], model->vocab);
    *ret = *tokens;
    if (s->begin >= 0 && (tokens->n == 0 || tokens->token[0] != s->begin))
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: its texts begin with the token %d, but the server's do not",
                         model->spec, s->begin);
    if (s->begin >= 0) *ret = (spec_live_tokens){tokens->token + 1, tokens->n - 1};
    if (model->window > 0 && ret->n > model->window)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: prompt and text have %d tokens, and its context has room for %d",
                         model->spec, ret->n, model->window);
    return GSL_SUCCESS;
}

bool spec_local_scorer_agrees(const spec_local_scorer *s, const char *text,
                              const spec_live_tokens *tokens)
{
    spec_live_tokens bare = {.token = NULL};
    spec_error unused;
    if (strip(s, &bare, tokens, &unused) != GSL_SUCCESS) return false;
    int *own = malloc((size_t)(bare.n + 1) * sizeof *own);
    const bool same = own != NULL &&
                      s->model->kind->tokenize(s->model, text, strlen(text), own, (size_t)bare.n) ==
                          (size_t)bare.n &&
                      memcmp(own, bare.token, (size_t)bare.n * sizeof *own) == 0;
    free(own);
    return same;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void fill_place(const spec_local_scorer *s, spec_live_place *place, const double *row)
{
    place->unlisted = 0.0;
    place->n = spec_row_largest(s->index, s->top, row, s->model->vocab);
    for (int i = 0; i < place->n; i++)
        place->top[i] = (spec_live_candidate){
            s->index[i], fmin(fmax(log(row[s->index[i]]), SPEC_LIVE_LEAST_LOG), 0.0)};
}

int spec_local_scorer_score(void *scorer, spec_served_text *text, spec_error *error)
{
    spec_local_scorer *s = scorer;
    const double *row[PART];
    spec_live_tokens bare;
    SPEC_PASS(strip(s, &bare, &text->all, error));
    const int *drawn = bare.token + bare.n - text->n;
    for (int at = 0; at < text->n; at += PART) {
        const int n = spec_int_min(PART, text->n - at);
        const spec_score_request request = {.context = bare.token,
                                            .n_context = (size_t)(bare.n - text->n + at),
                                            .token = drawn + at,
                                            .n_nodes = n - 1,
                                            .ret_row = row,
                                            .scratch = s->space};
        SPEC_PASS(spec_session_score(&s->session, &request, error));
        for (int i = 0; i < n; i++) fill_place(s, &text->place[at + i], row[i]);
    }
    return GSL_SUCCESS;
}

int spec_local_scorer_draw(spec_local_scorer *s, spec_served_text *ret,
                           const spec_live_tokens *prompt, int tokens, uint64_t seed,
                           spec_error *error)
{
    gsl_rng *rng = spec_rng_alloc();
    int status = GSL_SUCCESS;
    SPEC_TRY(rng == NULL ? spec_no_memory(error) : GSL_SUCCESS);
    SPEC_TRY(spec_served_text_init(ret, prompt, tokens, error));
    gsl_rng_set(rng, seed);
    spec_chance chance = spec_chance_sampled(rng);
    for (int i = 0; i < tokens; i++) {
        spec_live_tokens bare, all = {ret->all.token, prompt->n + i};
        SPEC_TRY(strip(s, &bare, &all, error));
        const double *row =
            spec_session_row(&s->session, bare.token, (size_t)bare.n, s->space, error);
        if (row == NULL) SPEC_TRY(GSL_EFAILED);
        fill_place(s, &ret->place[i], row);
        const int token = spec_chance_pick(&chance, row, s->model->vocab);
        ret->all.token[prompt->n + i] = token;
        ret->all.n = prompt->n + i + 1;
        ret->n = i + 1;
    }
done:
    gsl_rng_free(rng);
    return status;
}
