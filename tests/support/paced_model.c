/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/paced_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

typedef struct {
    int n;
    int token[TEXT_MAX];
} kept_text;

static int session_init(const spec_model *head, void **ret_session, spec_error *error)
{
    (void)head;
    *ret_session = calloc(1, sizeof(kept_text));
    return *ret_session != NULL ? GSL_SUCCESS : spec_fail(error, GSL_ENOMEM, "out of memory");
}

static void session_free(const spec_model *head, void *session)
{
    (void)head;
    free(session);
}

static int score(const spec_model *head, void *session, const spec_score_request *request,
                 spec_error *error)
{
    const paced_model *model = (const paced_model *)head;
    kept_text *kept = session;
    const int *context = request->context, *token = request->token;
    const size_t n = request->n_context;
    const int n_nodes = request->n_nodes, first = request->first;
    assert(request->opt_parent == NULL && n + (size_t)n_nodes <= TEXT_MAX);
    /* Token n + first - 1 of context and draft is the first one whose row is wanted. */
    const int most = (int)n + first - 1, text = (int)n + n_nodes;
    int held = 0;
    while (held < kept->n && held < most &&
           kept->token[held] == (held < (int)n ? context[held] : token[held - (int)n]))
        held++;
    const int computed = n > 0 ? text - held : 1 + text;
    const bool after_other = model->opt_last != NULL && *model->opt_last != head;
    *model->now +=
        (model->first + (computed - 1) * model->more) * (after_other ? model->after_other : 1.0);
    if (model->opt_last != NULL) *model->opt_last = head;
    if (n > 0) memcpy(kept->token, context, n * sizeof *context);
    if (n_nodes > 0) memcpy(kept->token + n, token, (size_t)n_nodes * sizeof *token);
    kept->n = text;
    for (int i = first; i <= n_nodes; i++) {
        request->ret_row[i] =
            model->base->kind->row(model->base, NULL, kept->token, n + (size_t)i,
                                   request->scratch + (size_t)i * (size_t)head->vocab, error);
        if (request->ret_row[i] == NULL) return GSL_EFAILED;
    }
    return GSL_SUCCESS;
}

static int begin(const spec_model *head, void *session, const spec_score_request *request,
                 spec_error *error)
{
    paced_model *model = (paced_model *)head;
    const double now = *model->now;
    const int status = score(head, session, request, error);
    model->ready = *model->now;
    *model->now = now;
    return status;
}

static int end(const spec_model *head, void *session, spec_error *error)
{
    (void)session, (void)error;
    const paced_model *model = (const paced_model *)head;
    if (*model->now < model->ready) *model->now = model->ready;
    return GSL_SUCCESS;
}

static const double *row(const spec_model *head, void *session, const int *context, size_t n,
                         double *scratch, spec_error *error)
{
    const double *only;
    const spec_score_request request = {
        .context = context, .n_context = n, .ret_row = &only, .scratch = scratch};
    return score(head, session, &request, error) == GSL_SUCCESS ? only : NULL;
}

static const spec_model_kind paced_kind = {.name = "paced",
                                           .usage = "paced",
                                           .summary = "",
                                           .reference = "",
                                           .row = row,
                                           .session_init = session_init,
                                           .session_free = session_free,
                                           .score = score};

static const spec_model_kind alone_kind = {.name = "paced",
                                           .usage = "paced",
                                           .summary = "",
                                           .reference = "",
                                           .row = row,
                                           .session_init = session_init,
                                           .session_free = session_free,
                                           .score = score,
                                           .score_begin = begin,
                                           .score_end = end};

const spec_model *paced_model_alone(paced_model *model)
{
    model->head.kind = &alone_kind;
    return &model->head;
}

const spec_model *paced_model_init(paced_model *model, const spec_model *base, double first,
                                   double more, double *now)
{
    *model = (paced_model){.head = {.kind = &paced_kind,
                                    .spec = "paced",
                                    .vocab = base->vocab,
                                    .order = -1,
                                    .ends = base->ends},
                           .base = base,
                           .first = first,
                           .more = more,
                           .now = now};
    return &model->head;
}

static double tell(void *self)
{
    return *(double *)self;
}

spec_clock paced_clock(double *now)
{
    return (spec_clock){.seconds = tell, .self = now};
}
