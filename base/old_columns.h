/* SPDX-License-Identifier: GPL-3.0-or-later */
/* old_columns: renames result columns of earlier versions to their present names.
 * docs/notation.md has the same table for users. */
#ifndef SPECLAB_OLD_COLUMNS_H
#define SPECLAB_OLD_COLUMNS_H

#include "base/table.h"

#include <stdbool.h>

/* Renames the columns of a table that was read. If the present name is already in the table, the
 * column keeps its old name. The key `alpha` of a calibration becomes `false alarm rate`. If a
 * table is foreign, so that any program may have written it, a column is renamed only if another
 * column shows that speclab wrote the table. Returns GSL_ENOMEM if out of memory. */
int spec_old_columns_rename(spec_table *table, bool foreign);

#endif
