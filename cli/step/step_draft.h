/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_draft: the draft tokens of a round as a table: probabilities, ratios, product and coins. */
#ifndef SPECLAB_STEP_DRAFT_H
#define SPECLAB_STEP_DRAFT_H

#include "cli/step/step_text.h"

/* Writes the table, or one line if there are no draft tokens. The running product is the one that a
 * rule uses if it judges a chain as one block. */
void spec_step_draft_write(FILE *out, const spec_step_view *view);

/* Returns how many tokens lead from the root to a node, including its own; 0 for the root, which is
 * -1. */
int spec_step_draft_depth(const spec_draft *draft, int node);

#endif
