/* SPDX-License-Identifier: GPL-3.0-or-later */
/* old_columns: renames result columns of earlier versions to their present names.
 * The table is in docs/notation.md, too, for users. */
#ifndef SPECLAB_OLD_COLUMNS_H
#define SPECLAB_OLD_COLUMNS_H

#include "base/table.h"

#include <stdbool.h>

/* Renames the columns of a table that was read. If the present name is already in the table, the
 * column keeps its old name. The key `alpha` of a calibration becomes `false alarm rate`. In a
 * foreign table, which any program may have written, a column is renamed only if there is another
 * column that only speclab writes. Returns GSL_ENOMEM if out of memory. */
int spec_old_columns_rename(spec_table *table, bool foreign);

#endif
