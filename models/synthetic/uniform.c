/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_kinds.h"
#include "models/synthetic/fixed_row.h"

static int open_uniform(spec_model **ret_model, spec_settings *settings,
                        const spec_model *opt_target, spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    (void)opt_target;
    int status = GSL_SUCCESS, vocab;
    double *row;
    SPEC_TRY(spec_settings_int(&vocab, settings, "V", 1000, 1, SPEC_VOCAB_MAX, error));
    SPEC_TRY(spec_fixed_row_open(ret_model, &row, vocab, error));
    for (int i = 0; i < vocab; i++) row[i] = 1.0 / vocab;
done:
    return status;
}

const spec_model_kind spec_model_uniform = {
    .name = "uniform",
    .usage = "uniform?V=1000",
    .summary = "all V tokens are equally likely",
    .reference = "",
    .open = open_uniform,
    .close = spec_fixed_row_close,
    .row = spec_fixed_row_row,
};
