/* SPDX-License-Identifier: GPL-3.0-or-later */
/* two_samples: an exact test of whether two servers draw their texts from one distribution.
 * If they do, it is chance which server a text of a prompt came from, so we permute that within
 * each prompt. A group is a set of texts of a prompt that begin alike. */
#ifndef SPECLAB_TWO_SAMPLES_H
#define SPECLAB_TWO_SAMPLES_H

#include "tools/live/dialects.h"

enum { SPEC_TWO_SAMPLES_TOKENS = SPEC_OPENAI_WORDS }; /* tokens of a text that are compared */

/* The smallest false-alarm rate: a test needs 1 / rate permutations. */
#define SPEC_TWO_SAMPLES_RATE 1e-8

typedef struct {
    int groups;
    double statistic;       /* sum over groups of (a - b)^2 / N; of the N texts of a group, a are
                             * from the first server and b from the second */
    double mean, deviation; /* of the statistic, over permutations */
    double p, p_close;      /* chance of a statistic at least this large, and at most this large */
    double detectable;      /* spec_two_samples_detectable */
    uint64_t permutations;
} spec_two_samples;

/* Compares the texts a and b (texts) of two servers, of which text i continues prompt i modulo
 * n_prompts; those with NULL are left out. Draws permutations until 20 of them have a statistic as
 * large, and 20 one as small, at most 1 / rate: p is exact for this rule [BesagClifford91]. Returns
 * GSL_ENOMEM. */
int spec_two_samples_test(spec_two_samples *ret, const spec_live_tokens *a,
                          const spec_live_tokens *b, int texts, int n_prompts, double rate,
                          uint64_t seed, spec_error *error);

/* Returns the total variation that would give a p of at most `rate` with probability `power`, if it
 * is spread evenly: each group's tokens are more, or less, probable by this share at one server
 * than on average. A group of N then adds (N - 1) TV^2 to the statistic; `pairs` is the sum of N -
 * 1. The statistic is taken as gamma-distributed without a difference, and as normal with one. NaN:
 * not even a total variation of 1 would, or there are no groups. */
double spec_two_samples_detectable(const spec_two_samples *test, double pairs, double rate,
                                   double power);

#endif
