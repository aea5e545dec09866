/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/side_models.h"

#include "models/model_open.h"
#include "models/rows/rows_file.h"
#include "models/transformer/engine/transformer.h"
#include "models/vocabularies.h"

#include <assert.h>

static int look_at(spec_model **ret_model, const char *spec, const spec_model *opt_target,
                   spec_context *context, spec_error *error)
{
    spec_error inner = {{0}};
    int status = spec_model_open_unloaded(ret_model, spec, opt_target, context, &inner);
    if (status == GSL_SUCCESS && opt_target != NULL)
        status = spec_vocabularies_check(opt_target, *ret_model, &inner);
    return status == GSL_SUCCESS ? status
                                 : spec_fail(error, status, "--%s: %.450s",
                                             opt_target == NULL ? "target" : "draft", inner.text);
}

int spec_side_models_open(spec_model **ret_model, const char *const *spec, int n,
                          spec_context *context, spec_error *error)
{
    spec_memory_budget_need need[SPEC_ROWS_SIDES_MAX] = {{0}};
    int status = GSL_SUCCESS;
    assert(n <= SPEC_ROWS_SIDES_MAX);
    for (int s = 0; s < n; s++) ret_model[s] = NULL;
    for (int s = 0; s < n; s++) {
        SPEC_TRY(look_at(&ret_model[s], spec[s], s > 0 ? ret_model[0] : NULL, context, error));
        need[n - 1 - s] = spec_transformer_memory(ret_model[s], 1, 1, 0);
    }
    SPEC_TRY(spec_memory_budget_check(need, n, error));
    for (int s = 0; s < n; s++)
        SPEC_TRY(spec_model_load(ret_model[s], s > 0 ? ret_model[0] : NULL, error));
done:
    return status;
}
