/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/rounded_counts.h"

#include "speclab/round.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

/* Counts up to here are exact as doubles. */
#define COUNT_MAX 9007199254740992.0 /* 2^53 */

/* Bounds on the shares of rounds that accept each depth. */
typedef struct {
    int n;
    double low[SPEC_ROUNDED_DEPTHS], high[SPEC_ROUNDED_DEPTHS]; /* decreasing, in [0,1] */
    double low_sum, high_sum;
    double deeper; /* an upper bound on the number of depths beyond n */
} depth_shares;

/* A range of rounds, as doubles that hold integers; empty if low > high. */
typedef struct {
    double low, high;
} range;

/* floor and ceil for 0 <= x <= 2^53, without calls to the C library. */
static double whole_below(double x)
{
    return (double)(int64_t)x;
}

static double whole_above(double x)
{
    const double below = whole_below(x);
    return below < x ? below + 1.0 : below;
}

/* Returns half a unit of the last digit, with slack for ties and the rounding of quotients. */
static double half_unit(double value, int digits)
{
    static const double unit[] = {1.0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                  1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};
    return 0.5 * unit[digits < 15 ? digits : 15] * (1.0 + 1e-9) +
           4.0 * DBL_EPSILON * fmax(1.0, fabs(value));
}

/* Returns false if no counts have these rates. */
static bool read_shares(depth_shares *ret, const spec_rounded_counts *printed)
{
    ret->n = printed->n;
    ret->low_sum = ret->high_sum = ret->deeper = 0.0;
    const double half = half_unit(1.0, printed->rate_digits);
    double before = 1.0 + half;
    for (int i = 0; i < printed->n; i++) {
        const double rate = printed->rate[i];
        /* rounding preserves the order of the rates */
        if (!(rate >= 0.0 && rate <= before)) return false;
        before = rate;
        ret->low[i] = rate > half ? rate - half : 0.0;
        ret->high[i] = rate + half < 1.0 ? rate + half : 1.0;
        ret->low_sum += ret->low[i];
        ret->high_sum += ret->high[i];
    }
    return true;
}

/* Return the smallest and the largest number of tokens that `rounds` rounds can accept. Both
 * increase with the rounds. */
static double fewest(const depth_shares *shares, double rounds)
{
    double sum = 0.0;
    for (int i = 0; i < shares->n; i++) sum += whole_above(rounds * shares->low[i]);
    return sum;
}

static double most(const depth_shares *shares, double rounds)
{
    double sum = 0.0, last = 0.0;
    for (int i = 0; i < shares->n; i++) sum += last = whole_below(rounds * shares->high[i]);
    return sum + shares->deeper * last;
}

/* Returns whether `rounds` rounds can accept at least (at_least) or at most `accepted` tokens. */
static bool can(const depth_shares *shares, double rounds, double accepted, bool at_least)
{
    return at_least ? most(shares, rounds) >= accepted : fewest(shares, rounds) <= accepted;
}

/* Returns the last number of rounds for which this is possible, going from `good` to `bad`. */
static double last_that_can(const depth_shares *shares, double good, double bad, double accepted,
                            bool at_least)
{
    while (fabs(good - bad) > 1.0) {
        const double middle = floor(0.5 * (good + bad));
        if (can(shares, middle, accepted, at_least))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* Narrows the range to rounds that can accept `accepted` tokens. Integer and real counts differ by
 * less than one per depth, so we only have to search short brackets. */
static void narrow_by_sum(range *rounds, const depth_shares *shares, double accepted)
{
    const double slope = shares->high_sum + shares->deeper * shares->high[shares->n - 1],
                 enough = ceil((accepted + shares->n + shares->deeper) / slope);
    rounds->low = fmax(rounds->low, floor(accepted / slope));
    if (rounds->low <= rounds->high && !can(shares, rounds->low, accepted, true))
        rounds->low = last_that_can(shares, fmin(rounds->high, fmax(rounds->low, enough)) + 1.0,
                                    rounds->low, accepted, true);
    if (!(shares->low_sum > 0.0)) return;
    const double few = floor((accepted - shares->n) / shares->low_sum);
    rounds->high = fmin(rounds->high, ceil(accepted / shares->low_sum));
    if (rounds->low <= rounds->high && !can(shares, rounds->high, accepted, false))
        rounds->high = last_that_can(shares, fmax(rounds->low, fmin(rounds->high, few)) - 1.0,
                                     rounds->high, accepted, false);
}

/* Returns the nearest number of rounds, at or after `rounds` going upwards or downwards, for which
 * every depth has an integer count; a number outside the range means that there is none. Where a
 * depth has no integer count, we jump to the number of rounds at which its next one begins. */
static double next_whole(const depth_shares *shares, double rounds, const range *within, bool up)
{
    int i = 0, good = 0; /* how many successive depths, cyclically, have a count */
    while (good < shares->n && rounds >= within->low && rounds <= within->high) {
        const double low = whole_above(rounds * shares->low[i]),
                     high = whole_below(rounds * shares->high[i]);
        if (low <= high) {
            good++;
            i = i + 1 < shares->n ? i + 1 : 0;
            continue;
        }
        good = 0;
        if (up)
            rounds = fmax(rounds + 1.0, floor((high + 1.0) / shares->high[i] * (1.0 - 1e-14)));
        else
            rounds = fmin(rounds - 1.0, ceil((low - 1.0) / shares->low[i] * (1.0 + 1e-14)));
    }
    return rounds;
}

/* Narrows the range to rounds that agree with the rates. */
static void narrow_by_rates(range *rounds, const depth_shares *shares, double accepted)
{
    if (shares->n == 0) return;
    narrow_by_sum(rounds, shares, accepted);
    rounds->low = next_whole(shares, rounds->low, rounds, true);
    rounds->high = next_whole(shares, rounds->high, rounds, false);
}

static double nearest(const depth_shares *shares, double target, const range *rounds)
{
    target = fmin(fmax(floor(target + 0.5), rounds->low), rounds->high);
    const double above = next_whole(shares, target, rounds, true),
                 below = next_whole(shares, target, rounds, false);
    return above - target < target - below ? above : below;
}

static double most_likely(const depth_shares *shares, const range *rounds,
                          const spec_rounded_counts *printed)
{
    const double accepted = (double)printed->accepted;
    if (printed->n > 0 && printed->drafted > 0) {
        const double full = ceil((double)printed->drafted / printed->n);
        if (full >= rounds->low && full <= rounds->high &&
            next_whole(shares, full, rounds, true) == full)
            return full;
    }
    double sum = printed->length - 1.0;
    if (shares->n > 0 && shares->deeper == 0.0) {
        sum = 0.0;
        for (int i = 0; i < shares->n; i++) sum += printed->rate[i];
    }
    return accepted > 0.0 && sum > 0.0 ? nearest(shares, accepted / sum, rounds) : rounds->low;
}

/* Starts from the rates and moves all counts by the same amount, within their bounds, until they
 * sum to `accepted`. Among equal rates, the earlier depth gets the larger count. */
static void fill(double *count, const double *low, const double *high, int n, double accepted)
{
    double missing = accepted;
    for (int i = 0; i < n; i++) missing -= count[i];
    while (missing != 0.0) {
        const double *limit = missing > 0.0 ? high : low;
        int movable = 0;
        for (int i = 0; i < n; i++) movable += count[i] != limit[i];
        const double each = fmax(1.0, floor(fabs(missing) / movable));
        for (int k = 0; k < n && missing != 0.0; k++) {
            const int i = missing > 0.0 ? k : n - 1 - k;
            const double step = fmin(each, fabs(limit[i] - count[i]));
            count[i] += copysign(step, missing);
            missing -= copysign(step, missing);
        }
    }
}

/* Returns whether only one set of counts within the bounds decreases with depth and sums to
 * `accepted`. Depths with different rates never swap order, and depths with equal rates have equal
 * bounds. */
static bool one_set(const double *low, const double *high, const double *rate, int n,
                    double accepted)
{
    /* how far `accepted` is above the smallest sum and below the largest */
    double above = accepted, below = -accepted;
    int groups = 0, size = 0;
    double slack = 0.0;
    for (int i = 0; i < n; i++) {
        above -= low[i];
        below += high[i];
        if (high[i] == low[i]) continue;
        if (i == 0 || rate[i] != rate[i - 1]) groups++;
        size++;
        slack = high[i] - low[i];
    }
    if (above == 0.0 || below == 0.0) return true;
    return groups == 1 && (size == 1 || slack == 1.0 || above == 1.0 || below == 1.0);
}

/* Fills the counts of the depths; returns true if there is only one set. */
static bool recover_passed(uint64_t *passed, const depth_shares *shares, double rounds,
                           const spec_rounded_counts *printed)
{
    const int n = shares->n;
    const double accepted = (double)printed->accepted;
    double low[SPEC_ROUNDED_DEPTHS], high[SPEC_ROUNDED_DEPTHS], count[SPEC_ROUNDED_DEPTHS];
    double least = 0.0, largest = 0.0;
    for (int i = 0; i < n; i++) {
        low[i] = whole_above(rounds * shares->low[i]);
        high[i] = whole_below(rounds * shares->high[i]);
        count[i] = fmin(fmax(whole_below(rounds * printed->rate[i] + 0.5), low[i]), high[i]);
        least += low[i];
        largest += high[i];
    }
    const bool reached = least <= accepted && accepted <= largest;
    if (reached) fill(count, low, high, n, accepted);
    for (int i = 0; i < n; i++) passed[i] = (uint64_t)count[i];
    if (n == 0 || shares->deeper > 0.0) return least == largest;
    return reached && one_set(low, high, printed->rate, n, accepted);
}

/* Returns the numbers of rounds that agree with accepted, drafted and the length. */
static range rounds_of_length(const spec_rounded_counts *printed)
{
    const double accepted = (double)printed->accepted, drafted = (double)printed->drafted;
    const range none = {1.0, 0.0};
    range rounds = {1.0, drafted > 0.0 ? drafted : COUNT_MAX};
    if (drafted > 0.0 && accepted > drafted) return none;
    if (isnan(printed->length)) return rounds;
    if (!isfinite(printed->length)) return none;
    const double half = half_unit(printed->length, printed->length_digits),
                 per_round = printed->length - 1.0;
    if (printed->accepted == 0) return fabs(per_round) <= half ? rounds : none;
    if (!(per_round + half > 0.0)) return none;
    rounds.low = fmax(rounds.low, ceil(accepted / (per_round + half)));
    if (per_round > half) rounds.high = fmin(rounds.high, floor(accepted / (per_round - half)));
    return rounds;
}

int spec_rounded_counts_recover(spec_rounded_recovery *ret, const spec_rounded_counts *printed)
{
    memset(ret, 0, sizeof *ret);
    const int n = printed->n;
    if (n < 0 || n > SPEC_ROUNDED_DEPTHS || printed->length_digits < 0 ||
        printed->rate_digits < 0 || (double)printed->accepted > COUNT_MAX ||
        (double)printed->drafted > COUNT_MAX || (n == 0 && isnan(printed->length)))
        return GSL_EDOM;
    depth_shares shares;
    if (!read_shares(&shares, printed)) return GSL_EINVAL;
    const range by_length = rounds_of_length(printed);
    const double accepted = (double)printed->accepted, drafted = (double)printed->drafted;

    range rounds = by_length;
    if (n > 0) rounds.low = fmax(rounds.low, ceil(drafted / n));
    narrow_by_rates(&rounds, &shares, accepted);
    if (rounds.low > rounds.high && n > 0) {
        shares.deeper = SPEC_K_MAX - n;
        rounds = by_length;
        if (drafted > 0.0) rounds.high = fmin(rounds.high, ceil(drafted / n) - 1.0);
        narrow_by_rates(&rounds, &shares, accepted);
    }
    if (!(rounds.low <= rounds.high)) return GSL_EINVAL;

    const double likely = most_likely(&shares, &rounds, printed);
    ret->rounds_low = (uint64_t)rounds.low;
    ret->rounds_high = (uint64_t)rounds.high;
    ret->rounds = (uint64_t)likely;
    const bool one = recover_passed(ret->passed, &shares, likely, printed);
    ret->exact = one && rounds.low == rounds.high;
    return GSL_SUCCESS;
}
