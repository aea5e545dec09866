/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_advice: what a table of the measure `serve` recommends, in sentences from its numbers.
 * Rows that differ only in load and in the method of choosing draft lengths form a group. Each
 * group gets one sentence, which says which method is best at which load. The lines before it name
 * the loads that have no result. */
#ifndef SPECLAB_SERVING_ADVICE_H
#define SPECLAB_SERVING_ADVICE_H

#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

/* The most groups that get a sentence. */
enum { SPEC_SERVING_ADVICE_GROUPS = 8 };

/* Writes the lines from the columns of the measure; a missing column counts as empty. *ret_refused
 * is the number of rows without a result because of their load. GSL_ENOMEM. */
int spec_serving_advice_write(FILE *out, uint64_t *ret_refused, const spec_table *table,
                              spec_error *error);

#endif
