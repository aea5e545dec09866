/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_rows: the rows of both models at a position of a round, as bars of characters. */
#ifndef SPECLAB_STEP_ROWS_H
#define SPECLAB_STEP_ROWS_H

#include "cli/step/step_text.h"

/* Writes the rows after a node (-1: at the root), where the round emits the token `emitted`. Shows
 * all tokens of a small vocabulary, else the likeliest, the draft tokens and the emitted one.
 * Returns GSL_ENOMEM. */
int spec_step_rows_write(FILE *out, const spec_step_view *view, int after, int emitted);

#endif
