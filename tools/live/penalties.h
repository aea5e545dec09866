/* SPDX-License-Identifier: GPL-3.0-or-later */
/* penalties: applies presence and frequency penalties to a scorer's lists, as the engine does.
 * They are subtracted from logits, so we can subtract them from log-probabilities, whose
 * normalising constant is then unknown. A repetition penalty divides logits, which no server
 * returns. */
#ifndef SPECLAB_PENALTIES_H
#define SPECLAB_PENALTIES_H

#include "tools/live/collect.h"

/* Subtracts presence + frequency * n >= 0 from the log-probability of each listed token that
 * occurred n >= 1 times among the last `last` tokens of prompt and text or, with last = 0, in the
 * text before it. Lists are then sorted again, and `unlisted` is the largest value that another
 * token may have. A list whose first token may not be the most probable one becomes empty. */
void spec_penalties_apply(spec_served_text *text, double presence, double frequency, int last);

#endif
