/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rounded_counts: the whole numbers behind an engine's rounded ratios.
 * An engine prints accepted draft tokens, and rounded means of a number of rounds that it does not
 * print. Few numbers of rounds agree with all of them. Pure functions.
 * docs/formulas.md#rounded-counts. */
#ifndef SPECLAB_ROUNDED_COUNTS_H
#define SPECLAB_ROUNDED_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_ROUNDED_DEPTHS = 64 };

/* The printed numbers. NaN or n = 0: not printed. */
typedef struct {
    uint64_t accepted, drafted; /* drafted = 0: not printed */
    double length;              /* 1 + accepted / rounds */
    int length_digits;          /* decimals of it */
    int n;                      /* depths */
    const double *rate;         /* (n) rounds that accepted depth i, over rounds */
    int rate_digits;
} spec_rounded_counts;

typedef struct {
    uint64_t rounds_low, rounds_high; /* all that agree; equal: recovered exactly */
    /* The most likely of them: that of drafts of n tokens each, the last one cut, if it agrees.
     * Else the nearest to accepted / (sum of rates), or to accepted / (length - 1) without rates.
     * rounds_low where nothing tells. */
    uint64_t rounds;
    /* [i]: rounds that accepted depth i; whole numbers that agree with the rates and sum to
     * accepted, where there are any; else rate times rounds, rounded. 0 beyond n */
    uint64_t passed[SPEC_ROUNDED_DEPTHS];
    bool exact; /* one number of rounds, and one set of passed */
} spec_rounded_recovery;

/* Every round counted drafts a token at least, so rounds <= drafted. With n the longest draft also
 * drafted <= n rounds, and the passed sum to accepted. Only if no number of rounds agrees with both
 * does n count as less than the depth of the drafts: the passed may then miss accepted.
 *   returns GSL_EINVAL if no number of rounds agrees: the line contradicts itself. GSL_EDOM for n
 *           outside 0..64, negative digits, counts above 2^53, or neither length nor rates
 * Checked by: 262 accepted of 295 at 5.44 with rates .983 .949 .915 .881 .712 are 59 rounds with 58
 * 56 54 52 42; all small counts. */
int spec_rounded_counts_recover(spec_rounded_recovery *ret, const spec_rounded_counts *printed);

#endif
