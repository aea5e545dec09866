/* SPDX-License-Identifier: GPL-3.0-or-later */
/* old_columns: renames result columns of earlier versions to their present names.
 * docs/notation.md has the same table for users. */
#ifndef SPECLAB_OLD_COLUMNS_H
#define SPECLAB_OLD_COLUMNS_H

#include "base/table.h"

#include <stdbool.h>

/* Rename the columns of a table that was read. A column whose present name is already in the table
 * keeps its old name. The key `alpha` of a calibration becomes `false alarm rate`. In a foreign
 * table, which any program may have written, a column is renamed only beside another column that
 * speclab alone writes. GSL_ENOMEM. */
int spec_old_columns_rename(spec_table *table, bool foreign);

#endif
