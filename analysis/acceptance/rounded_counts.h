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
    uint64_t rounds;                  /* the most likely of them: nearest to accepted/(length-1) */
    /* [i]: rounds that accepted depth i; whole numbers that agree with the rates and sum to
     * accepted, where there are any; else rate times rounds, rounded */
    uint64_t passed[SPEC_ROUNDED_DEPTHS];
    bool exact; /* one number of rounds, and one set of passed */
} spec_rounded_recovery;

/* GSL_EINVAL if no number of rounds agrees: the line contradicts itself. Sums may miss `accepted`
 * only where n is less than the depth of the drafts. Checked by: 262 accepted of 295 at 5.44 with
 * rates .983 .949 .915 .881 .712 are 59 rounds with 58 56 54 52 42; all small counts. */
int spec_rounded_counts_recover(spec_rounded_recovery *ret, const spec_rounded_counts *printed);

#endif
