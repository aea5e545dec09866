/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rounded_counts: recovers the integers behind an engine's rounded ratios.
 * An engine prints how many draft tokens were accepted, and rounded means over a number of rounds
 * that it does not print. Only a few numbers of rounds agree with all of these. Pure functions.
 * docs/formulas/statistics.md#rounded-counts. */
#ifndef SPECLAB_ROUNDED_COUNTS_H
#define SPECLAB_ROUNDED_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_ROUNDED_DEPTHS = 64 };

/* The printed numbers. NaN or n = 0: not printed. */
typedef struct {
    uint64_t accepted, drafted; /* drafted = 0: not printed */
    double length;              /* 1 + accepted / rounds */
    int length_digits;          /* its decimals */
    int n;                      /* number of depths */
    const double *rate;         /* (n) share of rounds that accepted depth i */
    int rate_digits;
} spec_rounded_counts;

typedef struct {
    /* the numbers of rounds that agree lie in this range; if both ends are equal, the number is
     * known */
    uint64_t rounds_low, rounds_high;
    /* The most likely number of rounds. We take the number that follows if all drafts have n tokens
     * and only the last is cut, provided it agrees; else the number nearest to accepted / (sum of
     * rates), or without rates to accepted / (length - 1); rounds_low if there is neither. */
    uint64_t rounds;
    /* [i]: rounds that accepted depth i. These are integers that agree with the rates and sum to
     * `accepted`, if there are any; otherwise rate times rounds, rounded. 0 beyond n */
    uint64_t passed[SPEC_ROUNDED_DEPTHS];
    bool exact; /* only one number of rounds and one set of `passed` agree */
} spec_rounded_recovery;

/* Recovers the counts. Every counted round drafts at least one token, so rounds <= drafted. If n is
 * the longest draft, then also drafted <= n rounds, and passed sums to accepted. If no number of
 * rounds agrees with both, we assume that drafts can be longer than n; then passed may sum to less
 * than accepted.
 *   returns GSL_EINVAL if no number of rounds agrees: the line contradicts itself. GSL_EDOM for n
 *           outside 0..64, negative digits, counts above 2^53, or neither length nor rates
 * Checked by: 262 accepted of 295 drafted at length 5.44 with rates .983 .949 .915 .881 .712 are 59
 * rounds with 58 56 54 52 42; all small counts. */
int spec_rounded_counts_recover(spec_rounded_recovery *ret, const spec_rounded_counts *printed);

#endif
