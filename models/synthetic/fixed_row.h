/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fixed_row: the code shared by kinds whose row never changes (uniform, zipf).
 * The `open` function of such a kind makes one, fills its row with weights and normalises it; _row
 * and _close go into its spec_model_kind. */
#ifndef SPECLAB_FIXED_ROW_H
#define SPECLAB_FIXED_ROW_H

#include "models/model.h"

/* Creates a model of order 0 with a zeroed row (vocab) to fill. May return GSL_ENOMEM. */
int spec_fixed_row_open(spec_model **ret_model, double **ret_row, int vocab, spec_error *error);

const double *spec_fixed_row_row(const spec_model *model, void *session, const int *context,
                                 size_t n, double *scratch, spec_error *error);
void spec_fixed_row_close(spec_model *model);

#endif
