/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_bets: fair bets on the tokens of a trace (test martingales).
 * Each bet starts with a capital of 1. Under the null hypothesis its expected capital never exceeds
 * 1, so the mean capital of several bets is an e-value [Ville39]. Plain structs; no allocation. */
#ifndef SPECLAB_TRACE_BETS_H
#define SPECLAB_TRACE_BETS_H

#include <stdbool.h>

/* The capital of a bet, stored as exp(gain) * factor so that most tokens need no logarithm. */
typedef struct {
    double gain, factor;
} spec_trace_bet;

#define SPEC_TRACE_BET_START ((spec_trace_bet){.gain = 0.0, .factor = 1.0})

void spec_trace_bet_multiply(spec_trace_bet *bet, double factor);
double spec_trace_bet_log_capital(const spec_trace_bet *bet);

/* Bets that tokens come from another law. They use the ratio r of a token's probability under that
 * law to its probability under the target. Under the null hypothesis E[r] <= 1, so a stake of
 * lambda may multiply the capital by 1 + lambda (r - 1). For each stake we keep the sums of the log
 * factor, of its square, and of (r - 1) times it. The last two give the power against a share of
 * tokens from the other law. A zeroed struct has no tokens. */
enum { SPEC_TRACE_STAKES = 5 };
typedef struct {
    double n, sum; /* tokens; sum of the ratios */
    double gain[SPEC_TRACE_STAKES], square[SPEC_TRACE_STAKES], slope[SPEC_TRACE_STAKES];
} spec_trace_tilt;

void spec_trace_tilt_add(spec_trace_tilt *tilt, double ratio);

/* Returns the share of tokens from the other law that the bets would have found with probability
 * `power`, if a single bet must reach the log capital log_needed; NaN if they would have found
 * none. */
double spec_trace_tilt_share(const spec_trace_tilt *tilt, double log_needed, double power);

/* Bets on whether a token is in a set of known probability. Stakes are in standard deviations of
 * one token; small ones find small differences. */
enum { SPEC_TRACE_DEVIATIONS = 6 };
typedef struct {
    double n, hits, expected, variance;
    spec_trace_bet bet[SPEC_TRACE_DEVIATIONS];
} spec_trace_event;

spec_trace_event spec_trace_event_start(void);

/* `mass`: the set's probability under the target; sets of probability 0 or 1 are ignored. */
void spec_trace_event_add(spec_trace_event *event, bool hit, double mass);

/* Returns the log e-value of all bets. */
double spec_trace_event_log_e(const spec_trace_event *event);

#endif
