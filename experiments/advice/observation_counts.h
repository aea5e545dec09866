/* SPDX-License-Identifier: GPL-3.0-or-later */
/* observation_counts: completes and checks the counts of an observation.
 * Identities give counts that the source leaves out, if possible; otherwise they stay NaN. Counts
 * that break an identity contradict each other. Pure functions. */
#ifndef SPECLAB_OBSERVATION_COUNTS_H
#define SPECLAB_OBSERVATION_COUNTS_H

#include "experiments/advice/observation.h"

#include <stdbool.h>

enum { SPEC_OBSERVATION_FAULT = 120 };

/* Verdict on the counts of an observation. */
typedef struct {
    bool idle; /* no token, or nothing about acceptance, so faults are ignored */
    /* rounds are not known exactly: rounding allows several numbers, or we derived them */
    bool inexact;
    bool broken;     /* the counts break an identity */
    bool impossible; /* they break an identity that every run obeys, so they are meaningless */
    /* the first identity that breaks, as "accepted exceeds drafted: 70 of 60" */
    char text[SPEC_OBSERVATION_FAULT];
} spec_counts_verdict;

/* Fills in counts that follow from the others, unless one of those is not a count or is outside the
 * arrays.
 *
 *     K         the number of depths if drafted tokens permit, else drafted / rounds if whole
 *     rounds    drafted / K, at most the passes; the passes if K is not known
 *     passes    emitted - accepted if rounds do not follow otherwise, else rounds
 *     drafted   rounds K
 *     accepted  the sum of passed if all depths are given, else emitted - passes
 *     emitted   passes + accepted
 *
 * In plain decoding (K = 0) there are no rounds, and each pass emits a token. */
spec_counts_verdict spec_observation_counts_complete(spec_observation *observation);

/* Returns the sum of passed over its depths. */
double spec_observation_counts_passed(const spec_observation *observation);

#endif
