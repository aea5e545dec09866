/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/rounded_counts.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number that printf prints for x with that many digits. */
static double printed(double x, int digits)
{
    char text[400];
    snprintf(text, sizeof text, "%.*f", digits, x);
    return strtod(text, NULL);
}

/* Writes a line of `rounds` rounds, which prints the rates of n depths. */
typedef struct {
    spec_rounded_counts numbers;
    double rate[SPEC_ROUNDED_DEPTHS];
} line;

static void print_line(line *ret, uint64_t rounds, const uint64_t *passed, int depth, int n,
                       int length_digits, int rate_digits)
{
    uint64_t accepted = 0;
    for (int i = 0; i < depth; i++) accepted += passed[i];
    for (int i = 0; i < n; i++)
        ret->rate[i] = printed((double)passed[i] / (double)rounds, rate_digits);
    ret->numbers = (spec_rounded_counts){
        accepted,      0, printed(1.0 + (double)accepted / (double)rounds, length_digits),
        length_digits, n, ret->rate,
        rate_digits};
}

static void assert_counts(const spec_rounded_counts *numbers, uint64_t rounds,
                          const uint64_t *passed)
{
    spec_rounded_recovery recovery;
    assert_int_equal(spec_rounded_counts_recover(&recovery, numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, rounds);
    assert_int_equal(recovery.rounds_high, rounds);
    assert_int_equal(recovery.rounds, rounds);
    assert_true(recovery.exact);
    for (int i = 0; i < SPEC_ROUNDED_DEPTHS; i++)
        assert_int_equal(recovery.passed[i], i < numbers->n ? passed[i] : 0);
}

/* vLLM's pull request 24127: "Mean acceptance length: 5.44, ... Accepted: 262 tokens, Drafted: 295
 * tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712". */
TEST(a_line_of_vllm_is_59_rounds)
{
    const double rate[] = {.983, .949, .915, .881, .712};
    const uint64_t passed[] = {58, 56, 54, 52, 42};
    assert_counts(&(spec_rounded_counts){262, 295, 5.44, 2, 5, rate, 3}, 59, passed);
    assert_counts(&(spec_rounded_counts){262, 0, 5.44, 2, 5, rate, 3}, 59, passed);
    assert_counts(&(spec_rounded_counts){262, 0, NAN, 0, 5, rate, 3}, 59, passed);
}

/* 15 draft tokens of DFlash under vLLM: 65 rounds with 39 25 14 7 4 accepted, then none. */
TEST(a_line_of_fifteen_depths_is_65_rounds)
{
    const uint64_t passed[15] = {39, 25, 14, 7, 4};
    line text;
    print_line(&text, 65, passed, 15, 15, 2, 3);
    assert_same(text.numbers.length, 2.37);
    text.numbers.drafted = 975;
    assert_counts(&text.numbers, 65, passed);
}

/* llama.cpp's pull request 24536, and lines of its later versions. */
TEST(lines_of_llama_cpp_are_recovered)
{
    const double three[] = {.805, .632, .483};
    const uint64_t passed[] = {70, 55, 42};
    assert_counts(&(spec_rounded_counts){167, 259, 2.92, 2, 3, three, 3}, 87, passed);

    const struct {
        uint64_t rounds, drafted, passed[3];
        int n;
    } runs[] = {{51, 152, {46, 37, 25}, 3}, {203, 406, {172, 136}, 2}, {67, 134, {37, 16}, 2}};
    for (int i = 0; i < 3; i++) {
        line text;
        print_line(&text, runs[i].rounds, runs[i].passed, runs[i].n, runs[i].n, 2, 3);
        text.numbers.drafted = runs[i].drafted;
        assert_counts(&text.numbers, runs[i].rounds, runs[i].passed);
    }
    /* The line prints "#mean acc len = 1.79, #acc rate/pos = (0.552, 0.239)" and 53 accepted
     * tokens, but not the number of rounds. */
    const double two[] = {.552, .239};
    assert_counts(&(spec_rounded_counts){53, 0, 1.79, 2, 2, two, 3}, 67, runs[2].passed);
}

/* In 2053 rounds 1553 and 1264 accept depths 1 and 2; three decimals leave some other numbers of
 * rounds possible. */
TEST(many_rounds_are_bounded)
{
    const uint64_t passed[] = {1553, 1264};
    line text;
    print_line(&text, 2053, passed, 2, 2, 2, 3);
    text.numbers.drafted = 4106;
    spec_rounded_recovery recovery;
    assert_int_equal(spec_rounded_counts_recover(&recovery, &text.numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, 2053); /* drafts of at most 2 tokens */
    assert_true(recovery.rounds_high > 2053 && recovery.rounds_high < 2056);
    assert_int_equal(recovery.rounds, 2053);
    assert_false(recovery.exact);
    assert_int_equal(recovery.passed[0] + recovery.passed[1], 2817);
    assert_within((double)recovery.passed[0], 1553.0, 1.0);

    text.numbers.drafted = 0;
    assert_int_equal(spec_rounded_counts_recover(&recovery, &text.numbers), GSL_SUCCESS);
    assert_true(recovery.rounds_low < 2053 && recovery.rounds_high > 2053);
    assert_within((double)recovery.rounds, 2053.0, 1.5);
}

static bool rounds_to(double value, double number, int digits)
{
    return fabs(value - number) <= 0.5 * pow(10.0, -digits) * (1.0 + 1e-9) + 1e-14;
}

/* Enumerates all counts that fall with depth and agree with the rates: returns their number, and
 * the last of them in `ret`. They sum to `accepted`, or to less by what `deeper` further depths may
 * accept. */
static int all_sets(uint64_t *ret, uint64_t *set, const spec_rounded_counts *numbers,
                    uint64_t rounds, int depth, uint64_t deeper)
{
    if (depth == numbers->n) {
        uint64_t sum = 0;
        for (int i = 0; i < depth; i++) sum += set[i];
        if (sum > numbers->accepted || sum + deeper * set[depth - 1] < numbers->accepted) return 0;
        memcpy(ret, set, (size_t)depth * sizeof *set);
        return 1;
    }
    int sets = 0;
    for (uint64_t count = 0; count <= (depth > 0 ? set[depth - 1] : rounds); count++) {
        if (!rounds_to((double)count / (double)rounds, numbers->rate[depth], numbers->rate_digits))
            continue;
        set[depth] = count;
        sets += all_sets(ret, set, numbers, rounds, depth + 1, deeper);
    }
    return sets;
}

typedef struct {
    uint64_t low, high;                 /* rounds; 0: none */
    int sets;                           /* of counts */
    uint64_t last[SPEC_ROUNDED_DEPTHS]; /* the last set */
    double off;                         /* least distance from accepted/(sum of rates) */
    double likely_off;                  /* the same distance for the likely number of rounds */
    bool agrees;                        /* whether `rounds` does */
} enumeration;

static void enumerate(enumeration *ret, const spec_rounded_counts *numbers, uint64_t most,
                      uint64_t deeper, uint64_t likely)
{
    *ret = (enumeration){.off = INFINITY};
    double rates = 0.0;
    for (int i = 0; i < numbers->n; i++) rates += numbers->rate[i];
    const double target = (double)numbers->accepted / (deeper > 0 ? numbers->length - 1.0 : rates);
    uint64_t set[SPEC_ROUNDED_DEPTHS];
    for (uint64_t rounds = 1; rounds <= most; rounds++) {
        if (!isnan(numbers->length) && !rounds_to(1.0 + (double)numbers->accepted / (double)rounds,
                                                  numbers->length, numbers->length_digits))
            continue;
        const bool short_of = rounds * (uint64_t)numbers->n < numbers->drafted;
        if (numbers->drafted > 0 && (rounds > numbers->drafted || short_of != (deeper > 0)))
            continue;
        const int more = all_sets(ret->last, set, numbers, rounds, 0, deeper);
        if (more == 0) continue;
        ret->sets += more;
        if (ret->low == 0) ret->low = rounds;
        ret->high = rounds;
        ret->off = fmin(ret->off, fabs((double)rounds - target));
        if (rounds != likely) continue;
        ret->agrees = true;
        ret->likely_off = fabs((double)rounds - target);
    }
}

/* Tries every number of rounds up to `most`; returns 1 if the line is consistent. */
static int check_against_enumeration(const spec_rounded_counts *numbers, uint64_t most)
{
    spec_rounded_recovery recovery;
    const int status = spec_rounded_counts_recover(&recovery, numbers);
    enumeration all;
    enumerate(&all, numbers, most, 0, recovery.rounds);
    const bool deeper = all.low == 0;
    if (deeper) enumerate(&all, numbers, most, 256 - (uint64_t)numbers->n, recovery.rounds);
    if (status == GSL_SUCCESS && recovery.rounds_high > most) return 0; /* not enumerated */
    assert_int_equal(status, all.low > 0 ? GSL_SUCCESS : GSL_EINVAL);
    if (all.low == 0) return 0;
    assert_int_equal(recovery.rounds_low, all.low);
    assert_int_equal(recovery.rounds_high, all.high);
    assert_true(all.agrees);
    const uint64_t n = (uint64_t)numbers->n, full = (numbers->drafted + n - 1) / n;
    if (isfinite(all.off) && recovery.rounds != full)
        assert_true(all.likely_off <= all.off + 1.0); /* the target is rounded */
    assert_true(all.sets == 1 ? deeper || recovery.exact : !recovery.exact);
    uint64_t sum = 0;
    for (int i = 0; i < numbers->n; i++) {
        sum += recovery.passed[i];
        assert_true(i == 0 || recovery.passed[i] <= recovery.passed[i - 1]);
        assert_true(rounds_to((double)recovery.passed[i] / (double)recovery.rounds,
                              numbers->rate[i], numbers->rate_digits));
        assert_true(all.sets != 1 || recovery.passed[i] == all.last[i]);
    }
    if (!deeper) assert_int_equal(sum, numbers->accepted);
    return 1;
}

/* Tests all counts of a few rounds at three depths, printed coarsely so that much stays open, both
 * with the right number of accepted tokens and with another one. */
TEST(all_small_counts_agree_with_enumeration)
{
    int right = 0, wrong = 0, contradictions = 0;
    for (uint64_t rounds = 1; rounds <= 13; rounds++)
        for (uint64_t a = 1; a <= rounds; a++)
            for (uint64_t b = 0; b <= a; b++)
                for (uint64_t c = 0; c <= b; c += 1 + b / 4) {
                    const uint64_t passed[] = {a, b, c};
                    line text;
                    print_line(&text, rounds, passed, 3, 3, 1, 2);
                    spec_rounded_counts *numbers = &text.numbers;
                    right += check_against_enumeration(numbers, 40);
                    numbers->drafted = 3 * rounds - (rounds > 4 && c < rounds);
                    right += check_against_enumeration(numbers, 40);
                    numbers->length = NAN;
                    right += check_against_enumeration(numbers, 40);
                    numbers->drafted = 0;
                    numbers->accepted += 1 + rounds / 3;
                    numbers->length = 1.4;
                    contradictions += !check_against_enumeration(numbers, 60);
                    wrong++;
                }
    assert_int_equal(right, 3 * wrong);
    assert_true(contradictions > wrong / 3);
}

/* Tests rates that belong to some counts or to none, equal rates, and gaps between the numbers of
 * rounds that agree. */
TEST(random_rates_agree_with_enumeration, SLOW)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(rng, (unsigned long)spec_test_seed());
    int agree = 0;
    for (int trial = 0; trial < 3000; trial++) {
        const int n = 2 + trial % 3, digits = 1 + (int)gsl_rng_uniform_int(rng, 2);
        double rate[4], before = gsl_rng_uniform(rng), sum = 0.0;
        for (int i = 0; i < n; i++) {
            rate[i] = printed(before, digits);
            sum += rate[i];
            if (gsl_rng_uniform(rng) < 0.6) before *= sqrt(gsl_rng_uniform(rng));
        }
        const double rounds = 1.0 + 25.0 * gsl_rng_uniform(rng);
        const uint64_t accepted = (uint64_t)(rounds * sum + 2.0 * gsl_rng_uniform(rng));
        uint64_t drafted = 0;
        if (trial % 2 == 0)
            drafted = accepted + (uint64_t)(rounds * n * 1.2 * gsl_rng_uniform(rng));
        const double length = trial % 5 > 0 ? NAN : printed(1.0 + (double)accepted / rounds, 1);
        agree += check_against_enumeration(
            &(spec_rounded_counts){accepted, drafted, length, 1, n, rate, digits}, 60);
    }
    gsl_rng_free(rng);
    assert_true(agree > 500);
}

/* The true counts are within the bounds, for random counts and digits. */
TEST(printed_counts_lie_within_their_bounds)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(rng, (unsigned long)spec_test_seed());
    int exact = 0;
    for (int trial = 0; trial < 20000; trial++) {
        const int n = 1 + (int)gsl_rng_uniform_int(rng, 16), digits = 2 + (trial % 3);
        uint64_t rounds = 1 + (uint64_t)exp(14.0 * gsl_rng_uniform(rng)),
                 passed[SPEC_ROUNDED_DEPTHS];
        for (int i = 0; i < n; i++)
            passed[i] = (uint64_t)((double)(i > 0 ? passed[i - 1] : rounds) *
                                   sqrt(gsl_rng_uniform(rng)) * 1.02);
        for (int i = 0; i < n; i++)
            if (passed[i] > (i > 0 ? passed[i - 1] : rounds))
                passed[i] = i > 0 ? passed[i - 1] : rounds;
        line text;
        print_line(&text, rounds, passed, n, n, 2, digits);
        if (trial % 2 == 0) text.numbers.drafted = rounds * (uint64_t)n;
        spec_rounded_recovery recovery;
        assert_int_equal(spec_rounded_counts_recover(&recovery, &text.numbers), GSL_SUCCESS);
        assert_true(recovery.rounds_low <= rounds && rounds <= recovery.rounds_high);
        if (trial % 2 == 0) assert_int_equal(recovery.rounds, rounds);
        if (recovery.exact)
            for (int i = 0; i < n; i++) assert_int_equal(recovery.passed[i], passed[i]);
        exact += recovery.exact;
        uint64_t sum = 0;
        for (int i = 0; i < n; i++) sum += recovery.passed[i];
        assert_int_equal(sum, text.numbers.accepted);
    }
    gsl_rng_free(rng);
    assert_true(exact > 2000); /* of 20000: short lines are recovered exactly */
}

/* 53 rounds with drafts of up to 6 tokens, for which the rates of two depths are printed. */
TEST(deeper_drafts_than_rates_leave_the_sum_open)
{
    const uint64_t passed[] = {41, 30, 21, 13, 6, 2};
    line text;
    print_line(&text, 53, passed, 6, 2, 2, 3);
    text.numbers.drafted = 53 * 6;
    spec_rounded_recovery recovery;
    assert_int_equal(spec_rounded_counts_recover(&recovery, &text.numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, 53);
    assert_int_equal(recovery.rounds_high, 53);
    assert_int_equal(recovery.passed[0], 41);
    assert_int_equal(recovery.passed[1], 30);
    assert_int_equal(recovery.passed[2], 0);
    assert_true(recovery.exact);
    text.numbers.drafted = 2 * 53; /* if drafts have two tokens, the two depths are all there are,
                                    * but 71 accepted tokens do not make 113 */
    assert_int_equal(spec_rounded_counts_recover(&recovery, &text.numbers), GSL_EINVAL);
    /* Nothing is accepted after a depth that accepts nothing. */
    const double none[] = {.774, 0.0};
    assert_int_equal(
        spec_rounded_counts_recover(&recovery, &(spec_rounded_counts){113, 0, 3.13, 2, 2, none, 3}),
        GSL_EINVAL);
}

TEST(a_length_alone_bounds_the_rounds)
{
    spec_rounded_recovery recovery;
    spec_rounded_counts numbers = {53, 134, 1.79, 2, 0, NULL, 0};
    assert_int_equal(spec_rounded_counts_recover(&recovery, &numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, 67); /* 53/67 = .7910, 53/66 = .803, 53/68 = .779 */
    assert_int_equal(recovery.rounds_high, 67);
    assert_true(recovery.exact);
    numbers = (spec_rounded_counts){530, 0, 1.8, 1, 0, NULL, 0};
    assert_int_equal(spec_rounded_counts_recover(&recovery, &numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, 624); /* 530/624 = .8494, 530/706 = .7507 */
    assert_int_equal(recovery.rounds_high, 706);
    assert_int_equal(recovery.rounds, 663); /* 530/.8 = 662.5 */
    assert_false(recovery.exact);
}

/* If no token was accepted, only the number of drafted tokens bounds the rounds. */
TEST(rounds_that_accept_nothing_are_bounded_by_their_drafts)
{
    const double none[] = {0.0, 0.0, 0.0};
    spec_rounded_recovery recovery;
    spec_rounded_counts numbers = {0, 128, 1.0, 2, 3, none, 3};
    assert_int_equal(spec_rounded_counts_recover(&recovery, &numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, 43);
    assert_int_equal(recovery.rounds_high, 128);
    assert_int_equal(recovery.rounds, 43); /* full drafts, the last one cut */
    numbers.n = 0;
    assert_int_equal(spec_rounded_counts_recover(&recovery, &numbers), GSL_SUCCESS);
    assert_int_equal(recovery.rounds_low, 1);
    assert_int_equal(recovery.rounds, 1);
    numbers.length = 1.01;
    assert_int_equal(spec_rounded_counts_recover(&recovery, &numbers), GSL_EINVAL);
}

TEST(a_line_that_contradicts_itself_is_refused)
{
    const double rate[] = {.983, .949, .915, .881, .712}, rising[] = {.5, .501}, above[] = {1.001},
                 below[] = {-.001}, nan_rate[] = {NAN}, half[] = {.5};
    const spec_rounded_counts lines[] = {
        {262, 295, 5.45, 2, 5, rate, 3}, /* another length */
        {271, 295, 5.44, 2, 5, rate, 3}, /* another sum */
        {262, 261, 5.44, 2, 5, rate, 3}, /* more accepted than drafted */
        {1001, 0, NAN, 0, 2, rising, 3}, /* a deeper depth is accepted more often */
        {10, 0, NAN, 0, 1, above, 3},    /* accepted more often than there are rounds */
        {10, 0, NAN, 0, 1, below, 3},      {10, 0, NAN, 0, 1, nan_rate, 3},
        {0, 0, NAN, 0, 1, half, 3}, /* a rate without an accepted token */
        {10, 0, 0.5, 2, 0, NULL, 0},       {10, 0, 1.0, 2, 0, NULL, 0}, /* 10/2000 at least */
        {10, 20, INFINITY, 2, 0, NULL, 0}, {0, 20, INFINITY, 2, 0, NULL, 0},
        {10, 0, -INFINITY, 2, 0, NULL, 0},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        spec_rounded_recovery recovery;
        const int status = spec_rounded_counts_recover(&recovery, &lines[i]);
        /* 10 accepted tokens and a length that prints as 1.00 mean 2001 rounds or more. */
        const int expected = lines[i].length == 1.0 ? GSL_SUCCESS : GSL_EINVAL;
        if (status != expected) print_error("line %zu\n", i);
        assert_int_equal(status, expected);
    }
}

TEST(numbers_outside_the_domain_are_refused)
{
    const double rate[65] = {.5};
    const spec_rounded_counts lines[] = {
        {10, 0, NAN, 0, 0, NULL, 0},          {10, 20, NAN, 2, -1, rate, 3},
        {10, 20, 1.5, 2, 65, rate, 3},        {10, 20, 1.5, -1, 1, rate, 3},
        {10, 20, 1.5, 2, 1, rate, -1},        {UINT64_MAX, 0, 1.5, 2, 1, rate, 3},
        {10, UINT64_MAX, 1.5, 2, 1, rate, 3},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        spec_rounded_recovery recovery;
        assert_int_equal(spec_rounded_counts_recover(&recovery, &lines[i]), GSL_EDOM);
        assert_int_equal(recovery.rounds, 0);
    }
}

/* Doubles printed in full, and the largest counts. */
TEST(many_digits_and_large_counts_are_read)
{
    const double rate[] = {55.0 / 87.0};
    const uint64_t passed[] = {55};
    assert_counts(&(spec_rounded_counts){55, 0, 1.0 + 55.0 / 87.0, 17, 1, rate, 17}, 87, passed);

    /* No depth is accepted in more rounds than there are. */
    const double all[] = {1.0};
    spec_rounded_recovery sure;
    assert_int_equal(
        spec_rounded_counts_recover(&sure, &(spec_rounded_counts){5000, 0, NAN, 0, 1, all, 3}),
        GSL_SUCCESS);
    assert_int_equal(sure.rounds_low, 5000);
    assert_int_equal(sure.rounds_high, 5002); /* .9995 of 5003 is 5000.5 */

    const uint64_t many = (uint64_t)1 << 53;
    const double half[] = {.5};
    spec_rounded_recovery recovery;
    const spec_rounded_counts large = {many / 2, many, 1.5, 2, 1, half, 3};
    assert_int_equal(spec_rounded_counts_recover(&recovery, &large), GSL_SUCCESS);
    assert_int_equal(recovery.rounds, many);
    assert_int_equal(recovery.passed[0], many / 2);
}
