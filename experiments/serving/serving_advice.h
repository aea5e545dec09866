/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_advice: what a table of the measure `serve` recommends, in sentences from its numbers.
 * Rows that differ in their load and their way of choosing lengths alone are one group, with a
 * sentence of its own: which way at which load. Lines before it name the loads without a result. */
#ifndef SPECLAB_SERVING_ADVICE_H
#define SPECLAB_SERVING_ADVICE_H

#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

/* Most groups with sentences. */
enum { SPEC_SERVING_ADVICE_GROUPS = 8 };

/* Write lines from the columns of the measure; an absent one counts as empty. *ret_refused: rows
 * without a result, because of their load. GSL_ENOMEM. */
int spec_serving_advice_write(FILE *out, uint64_t *ret_refused, const spec_table *table,
                              spec_error *error);

#endif
