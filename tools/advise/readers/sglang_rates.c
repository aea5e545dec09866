/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/sglang_rates.h"

#include <math.h>

static const double SLACK =
    1e-9; /* for the arithmetic, in addition to the rounding of printed numbers */
static const uint64_t ALL = ~(uint64_t)0;

/* Returns `excluded` together with every K that the line excludes, because |top / bottom - rate| is
 * too large. extra is 1 if top and bottom both count the bonus. A rate of at most 1 means that
 * length is at most K + 1. */
static uint64_t excludes(uint64_t excluded, double extra, const double line[4])
{
    const double length = line[0], length_half = line[1], rate = line[2], rate_half = line[3];
    for (int K = 1; K <= 64; K++) {
        const uint64_t bit = (uint64_t)1 << (K - 1);
        if (excluded & bit) continue;
        const double width = K + extra, expected = (length - 1.0 + extra) / width;
        const double tolerance = rate_half + length_half / width + SLACK;
        if (fabs(expected - rate) > tolerance) excluded |= bit;
    }
    return excluded;
}

bool spec_sglang_rates_add(spec_sglang_rates *rates, double length, double length_half, double rate,
                           double rate_half)
{
    const double line[4] = {length, length_half, rate, rate_half};
    const bool nothing_before = rates->not_bonus == 0 && rates->not_drafts == 0;
    const spec_sglang_rates with = {excludes(rates->not_bonus, 1.0, line),
                                    excludes(rates->not_drafts, 0.0, line)};
    *rates = with;
    if ((with.not_bonus & with.not_drafts) != ALL) return true;
    *rates = (spec_sglang_rates){0};
    if (!nothing_before) spec_sglang_rates_add(rates, length, length_half, rate, rate_half);
    return false;
}

int spec_sglang_rates_K(const spec_sglang_rates *rates)
{
    const uint64_t left = ~(rates->not_bonus & rates->not_drafts);
    if (left == 0 || (left & (left - 1)) != 0) return -1;
    int K = 1;
    for (uint64_t bit = left; bit > 1; bit >>= 1) K++;
    return K;
}

bool spec_sglang_rates_agree(const spec_sglang_rates *rates, spec_sglang_meaning meaning, int K)
{
    if (K < 1 || K > 64) return false;
    const uint64_t bonus = meaning == SPEC_SGLANG_DRAFTS ? ALL : rates->not_bonus;
    const uint64_t drafts = meaning == SPEC_SGLANG_BONUS ? ALL : rates->not_drafts;
    return ((bonus & drafts) >> (K - 1) & 1) == 0;
}

spec_sglang_meaning spec_sglang_rates_meaning(const spec_sglang_rates *rates)
{
    const bool bonus = rates->not_bonus != ALL, drafts = rates->not_drafts != ALL;
    if (bonus == drafts) return SPEC_SGLANG_OPEN;
    return bonus ? SPEC_SGLANG_BONUS : SPEC_SGLANG_DRAFTS;
}
