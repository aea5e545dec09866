/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_kinds.h"
#include "models/row.h"
#include "models/synthetic/fixed_row.h"

#include <math.h>

static int open_zipf(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                     spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    (void)opt_target;
    int status = GSL_SUCCESS, vocab;
    double *row, s;
    SPEC_TRY(spec_settings_int(&vocab, settings, "V", 1000, 1, SPEC_VOCAB_MAX, error));
    SPEC_TRY(spec_settings_double(&s, settings, "s", 1.1, 0.0, 100.0, error));
    SPEC_TRY(spec_fixed_row_open(ret_model, &row, vocab, error));
    for (int i = 0; i < vocab; i++) row[i] = pow(i + 1.0, -s);
    spec_row_normalise(row, vocab);
done:
    return status;
}

const spec_model_kind spec_model_zipf = {
    .name = "zipf",
    .usage = "zipf?V=1000&s=1.1",
    .summary = "token i has weight (i+1)^-s, like the words of a text",
    .reference = "",
    .open = open_zipf,
    .close = spec_fixed_row_close,
    .row = spec_fixed_row_row,
};
