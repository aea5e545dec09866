/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/whole_model.h"

#include "base/noise.h"
#include "models/row.h"

#include <assert.h>

void whole_model_row(double *ret_row, int vocab, const int *text, size_t n)
{
    uint64_t hash = 27;
    for (size_t i = 0; i < n; i++) hash = spec_noise_mix(hash + (uint64_t)text[i] + 1);
    for (int i = 0; i < vocab; i++) {
        hash = spec_noise_mix(hash);
        ret_row[i] = 1e-3 + (double)(hash >> 40);
    }
    spec_row_normalise(ret_row, vocab);
}

static int score(const spec_model *head, void *session, const spec_score_request *request,
                 spec_error *error)
{
    enum { MOST = 2048 };
    const whole_model *model = (const whole_model *)head;
    int text[MOST];
    (void)session, (void)error;
    ++*model->calls;
    for (int i = request->first; i <= request->n_nodes; i++) {
        size_t length = request->n_context;
        for (int at = i - 1; at >= 0;
             at = request->opt_parent != NULL ? request->opt_parent[at] : at - 1)
            length++;
        assert(length <= MOST);
        size_t place = length;
        for (int at = i - 1; at >= 0;
             at = request->opt_parent != NULL ? request->opt_parent[at] : at - 1)
            text[--place] = request->token[at];
        for (size_t k = 0; k < request->n_context; k++) text[k] = request->context[k];
        double *row = request->scratch + (size_t)i * (size_t)head->vocab;
        whole_model_row(row, head->vocab, text, length);
        request->ret_row[i] = row;
        ++*model->rows;
    }
    return GSL_SUCCESS;
}

static const double *row_after(const spec_model *head, void *session, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    const double *row = NULL;
    const spec_score_request request = {
        .context = context, .n_context = n, .ret_row = &row, .scratch = scratch};
    score(head, session, &request, error);
    return row;
}

static const spec_model_kind kind = {.name = "whole",
                                     .usage = "whole",
                                     .summary = "",
                                     .reference = "",
                                     .row = row_after,
                                     .score = score};

const spec_model *whole_model_init(whole_model *model, int vocab, int *calls, int *rows)
{
    *model = (whole_model){
        .head = {.kind = &kind, .vocab = vocab, .order = -1}, .calls = calls, .rows = rows};
    *calls = *rows = 0;
    return &model->head;
}
