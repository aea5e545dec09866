/* SPDX-License-Identifier: GPL-3.0-or-later */
/* penalties: applies presence and frequency penalties to a scorer's lists, as the engine does.
 * They subtract numbers >= 0 from logits, so they also work on log-probabilities, up to the sum of
 * all. A repetition penalty divides logits, which no server returns. */
#ifndef SPECLAB_PENALTIES_H
#define SPECLAB_PENALTIES_H

#include "live/collect.h"

/* Subtracts from the log-probability of each listed token presence + frequency * n if it occurred n
 * >= 1 times among the last `last` tokens of prompt and text, or with last = 0, in all of the text
 * before it. Lists are in descending order again, and `unlisted` is the largest value that another
 * token may have. A list whose first token is not known to be the most probable one becomes
 * empty. */
void spec_penalties_apply(spec_served_text *text, double presence, double frequency, int last);

#endif
