/* tabulate: a model whose rows are computed once for all contexts, where these are few.
 * Rows are the same, bit for bit, but returned without computing or copying; the table owns the model it was made
 * from. */
#ifndef SPECLAB_TABULATE_H
#define SPECLAB_TABULATE_H

#include "models/model.h"

/* Largest table, in cells of 8 bytes, for models that look back at all. */
enum { SPEC_TABULATE_CELLS_MAX = 1 << 18 };

/* Replace *model by a table of its rows after every context of at most `order` tokens. It stays as it is where that
 * would not help or cannot be: its rows are its own already, the table would be too large, it reads the whole text, or
 * some context has no row. */
int spec_tabulate(spec_model **model, spec_error *error);

#endif
