/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_draft: the draft tokens of a round as a table: probabilities, ratios, product and coins. */
#ifndef SPECLAB_STEP_DRAFT_H
#define SPECLAB_STEP_DRAFT_H

#include "cli/step/step_text.h"

/* Writes the table, or one line if there are no draft tokens. The running product is that of a rule
 * that judges a chain as one block. */
void spec_step_draft_write(FILE *out, const spec_step_view *view);

/* Returns the number of tokens from the root to a node, including it; 0 for the root, which is
 * -1. */
int spec_step_draft_depth(const spec_draft *draft, int node);

#endif
