/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/fixed_row.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    spec_model head;
    double row[]; /* (vocab) */
} fixed_row;

int spec_fixed_row_open(spec_model **ret_model, double **ret_row, int vocab, spec_error *error)
{
    assert(vocab >= 1 && vocab <= SPEC_VOCAB_MAX);
    *ret_model = NULL;
    *ret_row = NULL;
    fixed_row *model = calloc(1, sizeof *model + (size_t)vocab * sizeof model->row[0]);
    if (model == NULL)
        return spec_fail(error, GSL_ENOMEM, "no memory for a row of %d tokens", vocab);
    model->head.vocab = vocab;
    *ret_model = &model->head;
    *ret_row = model->row;
    return GSL_SUCCESS;
}

const double *spec_fixed_row_row(const spec_model *model, void *session, const int *context,
                                 size_t n, double *scratch, spec_error *error)
{
    (void)session, (void)context, (void)n, (void)scratch, (void)error;
    return ((const fixed_row *)model)->row;
}

void spec_fixed_row_close(spec_model *model)
{
    free(model);
}
