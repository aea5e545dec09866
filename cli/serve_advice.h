/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serve_advice: the last lines of `speclab serve`, also used when merge has joined its rows. */
#ifndef SPECLAB_SERVE_ADVICE_H
#define SPECLAB_SERVE_ADVICE_H

#include "base/table.h"

/* Writes the recommendation to standard error. Returns the exit code: 0, 3 if a load had no result,
 * or 2. */
int spec_serve_advice_say(const spec_table *table, const char *verb);

#endif
