/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tabulate: a model whose rows are computed once for all contexts, if there are few.
 * The rows equal the base's, bit for bit, but are returned without computing or copying. The table
 * owns the base model. */
#ifndef SPECLAB_TABULATE_H
#define SPECLAB_TABULATE_H

#include "models/model.h"

/* The largest table, in cells of 8 bytes, for models of order above 0. */
enum { SPEC_TABULATE_CELLS_MAX = 1 << 18 };

/* Replaces *model by a table of its rows after every context of at most `order` tokens. The model
 * stays unchanged if a table would be too large or useless: if it already returns stored rows,
 * reads the whole text, or has a context without a row. */
int spec_tabulate(spec_model **model, spec_error *error);

#endif
