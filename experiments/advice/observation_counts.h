/* SPDX-License-Identifier: GPL-3.0-or-later */
/* observation_counts: completes and checks the counts of an observation.
 * A count that the source does not give follows from the others by identities, or stays NaN. Counts
 * that break an identity are a contradiction. Pure functions. */
#ifndef SPECLAB_OBSERVATION_COUNTS_H
#define SPECLAB_OBSERVATION_COUNTS_H

#include "experiments/advice/observation.h"

#include <stdbool.h>

enum { SPEC_OBSERVATION_FAULT = 120 };

/* Verdict on the counts of an observation. */
typedef struct {
    bool idle;       /* no token, or nothing about acceptance: faults do not count */
    bool inexact;    /* rounding left several numbers of rounds, or they follow from others */
    bool broken;     /* the counts break an identity */
    bool impossible; /* they break an identity that holds in every run, so they have no meaning */
    /* the first identity that breaks, as "accepted exceeds drafted: 70 of 60" */
    char text[SPEC_OBSERVATION_FAULT];
} spec_counts_verdict;

/* Fills in what follows from the other counts, unless one of them is not a count or outside the
 * arrays.
 *
 *     K         the number of depths if drafted tokens permit, else drafted / rounds if whole
 *     rounds    drafted / K, at most the passes; the passes if K is not known
 *     passes    emitted - accepted if rounds do not follow otherwise, else rounds
 *     drafted   rounds K
 *     accepted  the sum of passed if all depths are given, else emitted - passes
 *     emitted   passes + accepted
 *
 * Plain decoding (K = 0) has no rounds, and emits a token per pass. */
spec_counts_verdict spec_observation_counts_complete(spec_observation *observation);

/* Returns the sum of passed over its depths. */
double spec_observation_counts_passed(const spec_observation *observation);

#endif
