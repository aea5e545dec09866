/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/translated_model.h"

#include "models/row.h"
#include "models/translation.h"
#include "models/vocabularies.h"
#include "models/wrapper.h"
#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_wrapper wrapper;
    const spec_model *target;
    spec_token_partners partners;
} translated;

typedef struct {
    spec_session base;
    spec_translation text;
    int token[SPEC_NODES_MAX]; /* nodes in the draft's tokens */
    const double *base_row[SPEC_NODES_MAX + 1];
    double *row; /* (row_capacity) scratch for base_row */
    size_t row_capacity;
} translated_session;

/* ---- the session ----------------------------------------------------------------------------- */

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    translated_session *session = calloc(1, sizeof *session);
    *ret_session = session;
    if (session == NULL) return spec_no_memory(error);
    const int status =
        spec_session_init(&session->base, ((const spec_wrapper *)model)->base, error);
    if (status == GSL_SUCCESS) return status;
    free(session);
    *ret_session = NULL;
    return status;
}

static void free_session(const spec_model *model, void *data)
{
    translated_session *session = data;
    (void)model;
    spec_session_free(&session->base);
    spec_translation_free(&session->text);
    free(session->row);
    free(session);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Translates a row of the draft; the row is NULL if the text exceeds the draft's window. */
static const double *translate_row(double *ret_row, const double *row, const translated *model)
{
    const int *of = model->partners.of_target, V = model->wrapper.head.vocab;
    double mass = 0.0;
    for (int i = 0; i < V; i++) {
        ret_row[i] = row != NULL && of[i] >= 0 ? row[of[i]] : 0.0;
        mass += ret_row[i];
    }
    for (int i = 0; i < V && !(mass > 0.0); i++) ret_row[i] = of[i] >= 0 ? 1.0 : 0.0;
    spec_row_normalise(ret_row, V);
    return ret_row;
}

static int reserve_rows(translated_session *session, size_t n, spec_error *error)
{
    const size_t wanted = n * (size_t)session->base.model->vocab;
    if (wanted <= session->row_capacity) return GSL_SUCCESS;
    double *row = realloc(session->row, wanted * sizeof *row);
    if (row == NULL) return spec_no_memory(error);
    session->row = row;
    session->row_capacity = wanted;
    return GSL_SUCCESS;
}

/* Returns the row after the first n tokens of the translation. */
static const double *row_after(translated_session *session, const translated *model, size_t n,
                               double *scratch, spec_error *error)
{
    const int window = session->base.model->window;
    if (reserve_rows(session, 1, error) != GSL_SUCCESS) return NULL;
    if (window > 0 && n > (size_t)window) return translate_row(scratch, NULL, model);
    const double *row =
        spec_session_row(&session->base, session->text.translated, n, session->row, error);
    return row != NULL ? translate_row(scratch, row, model) : NULL;
}

/* Translates the part of a context on which rows depend. */
static int follow(size_t *ret_n, translated_session *session, const translated *model,
                  const int *context, size_t n, spec_error *error)
{
    const int order = model->wrapper.head.order;
    const size_t skipped = order >= 0 && n > (size_t)order ? n - (size_t)order : 0;
    return spec_translation_follow(ret_n, &session->text, &model->partners, context + skipped,
                                   n - skipped, error);
}

static const double *translated_row(const spec_model *model, void *data, const int *context,
                                    size_t n, double *scratch, spec_error *error)
{
    const translated *m = (const translated *)model;
    size_t length;
    translated_session *session = data;
    if (follow(&length, session, m, context, n, error) != GSL_SUCCESS) return NULL;
    return row_after(session, m, length, scratch, error);
}

/* Returns the row after a node, from its whole path. */
static const double *row_after_path(translated_session *session, const translated *model,
                                    size_t length, const spec_score_request *request, int node,
                                    double *scratch, spec_error *error)
{
    int path[SPEC_NODES_MAX], depth = 0;
    for (int at = node; at >= 0;
         at = request->opt_parent != NULL ? request->opt_parent[at] : at - 1)
        path[depth++] = request->token[at];
    while (depth > 0)
        if (spec_translation_append(&session->text, &length, &model->partners, path[--depth],
                                    error) != GSL_SUCCESS)
            return NULL;
    return row_after(session, model, length, scratch, error);
}

/* Computes the rows in one pass if every node is a single token of the draft, otherwise one by
 * one. */
static int translated_score(const spec_model *model, void *data, const spec_score_request *request,
                            spec_error *error)
{
    translated_session *session = data;
    const translated *m = (const translated *)model;
    const int window = session->base.model->window;
    size_t length, V = (size_t)model->vocab;
    int status = GSL_SUCCESS;
    SPEC_TRY(follow(&length, session, m, request->context, request->n_context, error));
    bool pairs = window == 0 || length + (size_t)request->n_nodes <= (size_t)window;
    for (int i = 0; i < request->n_nodes && pairs; i++) {
        session->token[i] = m->partners.of_target[request->token[i]];
        pairs = session->token[i] >= 0;
    }
    if (pairs) {
        spec_score_request of = *request;
        SPEC_TRY(reserve_rows(session, (size_t)request->n_nodes + 1, error));
        of.context = session->text.translated;
        of.n_context = length;
        of.token = session->token;
        of.ret_row = session->base_row;
        of.scratch = session->row;
        SPEC_TRY(spec_session_score(&session->base, &of, error));
    }
    for (int i = request->first; i <= request->n_nodes; i++) {
        double *scratch = request->scratch + (size_t)i * V;
        request->ret_row[i] =
            pairs ? translate_row(scratch, session->base_row[i], m)
                  : row_after_path(session, m, length, request, i - 1, scratch, error);
        if (request->ret_row[i] == NULL) return GSL_EFAILED;
    }
done:
    return status;
}

/* ---- the model ------------------------------------------------------------------------------- */

static size_t token_text(const spec_model *model, int token, char *buffer, size_t size)
{
    const spec_model *target = ((const translated *)model)->target;
    return target->kind->token_text(target, token, buffer, size);
}

static size_t tokenize(const spec_model *model, const char *text, size_t length, int *token,
                       size_t capacity)
{
    const spec_model *target = ((const translated *)model)->target;
    return target->kind->tokenize(target, text, length, token, capacity);
}

static void release(spec_model *model)
{
    spec_token_partners_free(&((translated *)model)->partners);
}

/* On entry head has the draft's end tokens; replaces them by their partners. */
static void translate_ends(spec_model *head, const spec_token_partners *partners)
{
    const spec_text_ends own = head->ends;
    head->ends = (spec_text_ends){0};
    for (int i = 0; i < own.n; i++)
        spec_text_ends_add(&head->ends, partners->of_draft[own.token[i]]);
}

static bool spells_every_token(const spec_token_partners *partners, int V)
{
    int i = 0;
    while (i < V && partners->start[i] < partners->start[i + 1]) i++;
    return i == V;
}

int spec_translated_model_open(spec_model **ret_model, spec_model *draft, const spec_model *target,
                               spec_error *error)
{
    int status = GSL_SUCCESS;
    translated *model = calloc(1, sizeof *model);
    if (model == NULL) return spec_no_memory(error);
    if (draft->kind->needs_target)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "vocabulary=target: %s is built from the target and has its tokens",
                           draft->kind->name));
    if (!spec_vocabularies_speaks(target) || !spec_vocabularies_speaks(draft))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "vocabulary=target: the tokens of '%.200s' have no texts",
                           spec_vocabularies_speaks(target) ? draft->spec : target->spec));
    SPEC_TRY(spec_token_partners_init(&model->partners, target, draft, error));
    if (model->partners.n == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "vocabulary=target: '%.200s' and the target have no token in common",
                           draft->spec));
    SPEC_TRY(spec_wrapper_init(&model->wrapper, draft, error));
    model->target = target;
    spec_model *head = &model->wrapper.head;
    head->vocab = target->vocab;
    head->one_hot = false; /* a row whose token has no partner is not one-hot */
    translate_ends(head, &model->partners);
    if (head->order > 0 && !spells_every_token(&model->partners, target->vocab)) head->order = -1;
    model->wrapper.release = release;
    model->wrapper.kind.token_text = token_text;
    model->wrapper.kind.tokenize = tokenize;
    model->wrapper.kind.prompt = NULL;
    model->wrapper.kind.row = translated_row;
    model->wrapper.kind.score = translated_score;
    model->wrapper.kind.session_init = init_session;
    model->wrapper.kind.session_free = free_session;
    *ret_model = head;
    model = NULL;
done:
    if (model != NULL) spec_token_partners_free(&model->partners);
    free(model);
    return status;
}

static const translated *find_in(const spec_model *model)
{
    while (model != NULL && model->kind->score != translated_score)
        model = spec_wrapper_base(model);
    return (const translated *)model;
}

bool spec_translated_model_is(const spec_model *model)
{
    return find_in(model) != NULL;
}

int spec_translated_model_partners(const spec_model *model)
{
    const translated *found = find_in(model);
    return found != NULL ? found->partners.n : 0;
}
