/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scorer_noise: how far two scorings of the same text by one server differ.
 * Sums in other batches and from other caches are rounded differently. */
#ifndef SPECLAB_SCORER_NOISE_H
#define SPECLAB_SCORER_NOISE_H

#include "tools/live/collect.h"

typedef struct {
    int places;
    double worst;  /* largest difference of a log-probability of a token above 1e-3 */
    double margin; /* largest change of the difference between the two most probable tokens */
    double variation; /* largest total variation of two lists, over their common tokens */
    double square; /* mean over positions of sum_i p_i (difference of log p_i)^2 */
} spec_scorer_noise;

/* Compares two scorings of the same n texts. A text without scores, which was not scored again, is
 * left out. */
spec_scorer_noise spec_scorer_noise_of(const spec_served_text *once, const spec_served_text *again,
                                       int n);

/* Returns the log capital that an e-value of `places` positions must reach for a false-alarm rate,
 * if each position's true law may differ from the scored one by the noise. See docs/served.md#noise
 * for the proof. Equal to -log(rate) without noise. */
double spec_scorer_noise_needed(const spec_scorer_noise *noise, double places, double rate);

#endif
