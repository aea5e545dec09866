/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"
#include "models/model_kinds.h"
#include "models/synthetic/dirichlet.h"

#include <assert.h>
#include <stdlib.h>

enum { ORDER_MAX = 2, CELLS_MAX = 1 << 24 };

static const spec_dirichlet defaults = {.concentration = 1.0, .seed = 3};

typedef struct {
    spec_model head;
    double row[]; /* (V^order, V) */
} markov;

static int open_markov(spec_model **ret_model, spec_settings *settings,
                       const spec_model *opt_target, spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    (void)opt_target;
    int status = GSL_SUCCESS, vocab, order;
    spec_dirichlet law;
    SPEC_TRY(spec_settings_int(&vocab, settings, "V", 4, 1, SPEC_VOCAB_MAX, error));
    SPEC_TRY(spec_settings_int(&order, settings, "order", 1, 0, ORDER_MAX, error));
    SPEC_TRY(spec_dirichlet_read(&law, &defaults, settings, error));

    const double cells = order == 0   ? vocab
                         : order == 1 ? (double)vocab * vocab
                                      : (double)vocab * vocab * vocab;
    if (cells > CELLS_MAX) {
        SPEC_TRY(spec_fail(
            error, GSL_EINVAL,
            "markov: V=%d at order=%d needs a table of %.3g cells, more than the limit of %d",
            vocab, order, cells, CELLS_MAX));
    }
    markov *model = calloc(1, sizeof *model + (size_t)cells * sizeof model->row[0]);
    if (model == NULL)
        SPEC_TRY(
            spec_fail(error, GSL_ENOMEM, "markov: no memory for a table of %.3g cells", cells));
    model->head.vocab = vocab;
    model->head.order = order;
    const int n_rows = (int)(cells / vocab);
    for (int i = 0; i < n_rows; i++) {
        const int context[ORDER_MAX] = {i / vocab, i % vocab};
        spec_dirichlet_row(model->row + (size_t)i * (size_t)vocab, vocab, &law,
                           spec_noise_key(law.seed, context, ORDER_MAX, order));
    }
    *ret_model = &model->head;
done:
    return status;
}

static void close_markov(spec_model *model)
{
    free(model);
}

/* If the context is too short, token 0 stands for each missing token. */
static const double *markov_row(const spec_model *model, void *session, const int *context,
                                size_t n, double *scratch, spec_error *error)
{
    (void)session, (void)scratch, (void)error;
    const size_t vocab = (size_t)model->vocab;
    size_t index = 0;
    if (model->order > 0 && n > 0) {
        index = (size_t)context[n - 1];
        assert(index < vocab);
        if (model->order > 1 && n > 1) {
            assert((size_t)context[n - 2] < vocab);
            index += vocab * (size_t)context[n - 2];
        }
    }
    return ((const markov *)model)->row + index * vocab;
}

const spec_model_kind spec_model_markov = {
    .name = "markov",
    .usage = "markov?V=4&order=1&seed=3&concentration=1&zeros=0&levels=0",
    .summary = "a Markov chain of order 0, 1 or 2 with random rows, exactly solvable",
    .reference = "",
    .open = open_markov,
    .close = close_markov,
    .row = markov_row,
};
