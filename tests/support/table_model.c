/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/table_model.h"

#include "base/noise.h"

#include <stdlib.h>
#include <string.h>

static const double *kind_row(const spec_model *head, void *session, const int *context, size_t n,
                              double *scratch, spec_error *error)
{
    const table_model *model = (const table_model *)head;
    (void)session;
    if (model->fails_after >= 0 && n >= (size_t)model->fails_after) {
        spec_fail(error, GSL_EFAILED, "no row after %zu tokens", n);
        return NULL;
    }
    memcpy(scratch, table_model_row(model, context, n), (size_t)head->vocab * sizeof *scratch);
    return scratch;
}

static const spec_model_kind table_kind = {
    .name = "table", .usage = "table", .summary = "", .reference = "", .row = kind_row};

const spec_model *table_model_init(table_model *model, int vocab)
{
    const int n_rows = 1 + vocab + vocab * vocab;
    *model = (table_model){.head = {.kind = &table_kind, .vocab = vocab, .order = 2},
                           .n_rows = n_rows,
                           .fails_after = -1};
    model->row = malloc((size_t)(n_rows * vocab) * sizeof *model->row);
    if (model->row == NULL) abort();
    for (int i = 0; i < n_rows * vocab; i++) model->row[i] = 1.0 / vocab;
    return &model->head;
}

void table_model_free(table_model *model)
{
    free(model->row);
    *model = (table_model){0};
}

void table_model_fill(table_model *model, const double *row)
{
    const int V = model->head.vocab;
    for (int i = 0; i < model->n_rows; i++)
        memcpy(model->row + i * V, row, (size_t)V * sizeof *row);
}

const double *table_model_row(const table_model *model, const int *context, size_t n)
{
    const int V = model->head.vocab;
    int index = 0;
    if (n == 1) index = 1 + context[0];
    if (n >= 2) index = 1 + V + context[n - 2] * V + context[n - 1];
    return model->row + index * V;
}

/* ---- random pairs ---------------------------------------------------------------------------- */

double table_uniform(uint64_t *state)
{
    gsl_rng rng = {.type = spec_noise_rng_type, .state = state};
    return gsl_rng_uniform_pos(&rng);
}

void table_pair_randomize(table_model *target, table_model *draft, pair_family family,
                          uint64_t *state)
{
    const int V = target->head.vocab;
    gsl_rng rng = {.type = spec_noise_rng_type, .state = state};
    for (int i = 0; i < target->n_rows; i++)
        spec_cases_pair(target->row + i * V, draft->row + i * V, V, (spec_cases_family)family,
                        &rng);
}
