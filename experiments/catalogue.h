/* SPDX-License-Identifier: GPL-3.0-or-later */
/* catalogue: rows of the names that specs and experiments may contain.
 * The names come from the tables of models, draft strategies, rules, policies, processes, methods
 * for lengths and measures. */
#ifndef SPECLAB_CATALOGUE_H
#define SPECLAB_CATALOGUE_H

#include "base/table.h"

#include <stdbool.h>

/* "model", "draft", "rule", "policy", "process", "lengths", "measure"; NULL-terminated. */
extern const char *const spec_catalogue_kinds[];

/* Appends the rows of a kind to a table with the columns kind, name (with its keys and their
 * defaults), summary and reference. If the table has a column `claim`, it receives the claim of a
 * rule. Returns false for an unknown kind. If memory runs out for a row, table->lost is set. */
bool spec_catalogue_add(spec_table *table, const char *kind);

#endif
