/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformed_model.h"

#include "models/row_wrapper.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

typedef struct {
    spec_row_wrapper rows;
    spec_transform transform;
} transformed;

static void transform_row(double *row, const spec_model *model, int *order)
{
    spec_transform_apply(row, model->vocab, &((const transformed *)model)->transform, order);
}

int spec_transformed_model_open(spec_model **ret_model, spec_model *base,
                                const spec_transform *transform, spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed *model = calloc(1, sizeof *model);
    if (model == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_row_wrapper_init(&model->rows, base, transform_row, error));
    model->rows.wrapper.head.one_hot = base->one_hot || transform->temperature == 0.0;
    model->transform = *transform;
    *ret_model = &model->rows.wrapper.head;
    model = NULL;
done:
    free(model);
    return status;
}

const spec_transform *spec_transformed_model_transform(const spec_model *model)
{
    return spec_row_wrapper_change(model) == transform_row
               ? &((const transformed *)model)->transform
               : NULL;
}
