/* SPDX-License-Identifier: GPL-3.0-or-later */
/* detectable: the smallest total variation that validation detects, by state and place.
 * It follows from how many tokens the sampler itself emitted there, not counting tokens that
 * speclab drew to complete a text. docs/formulas/statistics.md#power derives it. */
#ifndef SPECLAB_DETECTABLE_H
#define SPECLAB_DETECTABLE_H

#include "tools/validate/evidence/evidence.h"

#include <math.h>

/* States that have a smaller share of a fixture's tokens at a place are called rarely reached, and
 * are left out. */
#define SPEC_DETECTABLE_SELDOM 1e-3

/* What it takes to detect a difference with probability `power`. */
typedef struct {
    double power;
    /* levels for the p-value of one state, in the first look and on fresh data */
    double suspicious, fresh;
    double fresh_times;       /* number of fresh draws, in multiples of the first look */
    double log_capital; /* if > 0, used instead: the log capital that a bet on one state must win */
} spec_detectable_needs;

/* The result for one place, over the states of a fixture. */
typedef struct {
    bool exists;  /* this place exists on the fixture in the scope of the evidence */
    /* a difference of this TV is detected, whichever state it occurs after; 1: no TV is guaranteed
     * to be detected; NaN: no state is reached often enough */
    double tv;
    uint64_t own; /* tokens of the sampler at the place */
    int state;    /* the state that needs the largest TV; -1: none */
    /* states that have tokens at the place, and how many of them were left out as rarely reached */
    int states, seldom;
} spec_detectable;

#define SPEC_DETECTABLE_NONE ((spec_detectable){.tv = NAN, .state = -1})

/* Fills ret (SPEC_PLACES). */
void spec_detectable_find(spec_detectable *ret, const spec_evidence *evidence,
                          const spec_fixture *fixture, const spec_detectable_needs *needs);

/* Returns the factor by which the draws must grow to detect a TV of `tv` in (0,1) at this place
 * after this state, which must have tokens: 1 if the draws suffice, +inf if it exceeds 1e12. */
double spec_detectable_times(const spec_evidence *evidence, const spec_fixture *fixture,
                             const spec_detectable_needs *needs, spec_place place, int state,
                             double tv);

#endif
