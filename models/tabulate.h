/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tabulate: computes a model's rows once for all contexts, if there are only a few contexts.
 * The rows equal the base's, bit for bit, but need no more computing or copying. The table owns the
 * base model. */
#ifndef SPECLAB_TABULATE_H
#define SPECLAB_TABULATE_H

#include "models/model.h"

/* The largest table, in cells of 8 bytes, for models of order above 0. */
enum { SPEC_TABULATE_CELLS_MAX = 1 << 18 };

/* Replaces *model by a table of its rows after every context of at most `order` tokens. Leaves the
 * model unchanged if the table would be too large, if the model already returns stored rows or
 * reads the whole text, or if some context has no row. */
int spec_tabulate(spec_model **model, spec_error *error);

#endif
