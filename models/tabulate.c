/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/tabulate.h"

#include "models/wrapper.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    spec_wrapper wrapper;
    double row[]; /* (contexts, V) */
} table;

/* Contexts of 0..order tokens are numbered by bijective numeration: the empty context is 0, and one
 * more token t makes i into i V + t + 1. Contexts of length 0 come first, then length 1, and so on,
 * without gaps. */
static size_t context_number(const int *context, size_t n, size_t order, size_t vocab)
{
    size_t number = 0;
    for (size_t i = n > order ? n - order : 0; i < n; i++) {
        assert((size_t)context[i] < vocab);
        number = number * vocab + (size_t)context[i] + 1;
    }
    return number;
}

static size_t context_of_number(int *ret_context, size_t number, size_t vocab)
{
    size_t n = 0;
    for (; number > 0; number = (number - 1) / vocab)
        ret_context[n++] = (int)((number - 1) % vocab);
    for (size_t i = 0; i < n / 2; i++) {
        const int kept = ret_context[i];
        ret_context[i] = ret_context[n - 1 - i];
        ret_context[n - 1 - i] = kept;
    }
    return n;
}

/* Returns the number of contexts, or 0 if their table would be too large. */
static size_t count_contexts(int order, size_t vocab)
{
    size_t contexts = 1; /* of at most i tokens: 1 + V + ... + V^i */
    for (int i = 0; i < order; i++) {
        contexts = contexts * vocab + 1;
        if (contexts * vocab > SPEC_TABULATE_CELLS_MAX) return 0;
    }
    return contexts;
}

static const double *table_row(const spec_model *model, void *session, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    (void)session, (void)scratch, (void)error;
    const size_t vocab = (size_t)model->vocab;
    return ((const table *)model)->row +
           vocab * context_number(context, n, (size_t)model->order, vocab);
}

/* Fills the table; *ret_filled is false if the base returns stored rows, which need no table, or if
 * a context has no row. */
static int fill(table *ret_table, bool *ret_filled, const spec_model *base, size_t contexts,
                spec_error *error)
{
    int status = GSL_SUCCESS, context[SPEC_ORDER_MAX];
    const size_t vocab = (size_t)base->vocab;
    spec_session session = {0};
    spec_error no_row;
    *ret_filled = false;
    SPEC_TRY(spec_session_init(&session, base, error));
    for (size_t i = 0; i < contexts; i++) {
        const size_t n = context_of_number(context, i, vocab);
        double *const place = ret_table->row + i * vocab;
        if (spec_session_row(&session, context, n, place, &no_row) != place) goto done;
    }
    *ret_filled = true;
done:
    spec_session_free(&session);
    return status;
}

int spec_tabulate(spec_model **model, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_model *base = *model;
    bool filled;
    const size_t vocab = (size_t)base->vocab,
                 contexts = base->order >= 0 ? count_contexts(base->order, vocab) : 0;
    if (contexts == 0) return GSL_SUCCESS;

    table *made = calloc(1, sizeof *made + contexts * vocab * sizeof made->row[0]);
    if (made == NULL) return GSL_SUCCESS; /* without memory we go on: the table only saves time */
    SPEC_TRY(fill(made, &filled, base, contexts, error));
    if (!filled) goto done;
    SPEC_TRY(spec_wrapper_init(&made->wrapper, base, error));
    made->wrapper.kind.row = table_row;
    *model = &made->wrapper.head;
    made = NULL;
done:
    free(made);
    return status;
}
