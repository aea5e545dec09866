/* SPDX-License-Identifier: GPL-3.0-or-later */
/* equal_texts: compares texts that two servers draw with the same seeds.
 * A server that draws every token from the target's row with the request's next random number
 * writes the same text with and without speculation, as long as the rows are the same. It adds up
 * probabilities in the order of ids until the sum reaches that number u. */
#ifndef SPECLAB_EQUAL_TEXTS_H
#define SPECLAB_EQUAL_TEXTS_H

#include "tools/live/dialects.h"

/* Returns the first position at which two texts differ, which is the length of the shorter one if
 * the other begins with it; -1: they are equal. */
int spec_equal_texts_first(const spec_live_tokens *a, const spec_live_tokens *b);

/* Returns the probability of the listed tokens whose ids are strictly between two ids. If the same
 * u gives one token under one row and the other token under another row, the two distribution
 * functions differ by at least this much at the smaller id, so the total variation is no less. */
double spec_equal_texts_between(const spec_live_place *place, int32_t a, int32_t b);

/* Returns the mean total variation between the rows of `tokens` compared positions that would have
 * made more than `different` texts differ, with probability `power`; NaN: not even a total
 * variation of 1 would have. At position i, whatever came before, the tokens differ with a
 * probability d_i of at least the total variation of its rows. So the mean of z^N exp((1 - z) sum
 * d_i) is at most 1 for 0 < z <= 1, where N counts differences, and for a sum of m > N = t
 *
 *     P(N <= t) <= exp(-(m - t - t log(m / t))).                                      (Chernoff) */
double spec_equal_texts_detectable(double tokens, int different, double power);

#endif
