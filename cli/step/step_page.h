/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_page: a round of speculative decoding as text, decision by decision.
 * First come the draft tokens with their probabilities, then each position of the accepted path,
 * with both models' rows and the decisions made there. Lines have at most 80 columns. */
#ifndef SPECLAB_STEP_PAGE_H
#define SPECLAB_STEP_PAGE_H

#include "cli/step/step_text.h"
#include "sim/output_law.h"

/* Writes the last round of the log, which is round `number` of the text. Returns GSL_ENOMEM. */
int spec_step_page_round(FILE *out, const spec_step_view *view, int number, spec_error *error);

/* Writes the exact distribution of one token next to the promised one. */
void spec_step_page_law(FILE *out, const spec_step_view *view, const spec_output_law *law);

#endif
