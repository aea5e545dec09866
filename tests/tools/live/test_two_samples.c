/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tools/live/two_samples.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>

enum { TOKENS = 3, MOST = 1200 };

/* Texts of both servers, and their memory. */
typedef struct {
    int32_t token[2][MOST][TOKENS];
    spec_live_tokens text[2][MOST];
    int texts;
} drawing;

static spec_two_samples test_of(const drawing *d, int n_prompts, double rate, uint64_t seed)
{
    spec_two_samples ret;
    spec_error error;
    assert_int_equal(spec_two_samples_test(&ret, d->text[0], d->text[1], d->texts, n_prompts, rate,
                                           seed, &error),
                     GSL_SUCCESS);
    return ret;
}

/* ---- by enumeration -------------------------------------------------------------------------- */

enum { EACH = 3, ALL = 2 * EACH, SPLITS = 20 };

/* Computes the statistic of one prompt by its definition: over the sets of texts that share some
 * beginning, as masks of six texts, of which `first` are the first server's. */
static double statistic_by_definition(int *ret_sets, const spec_live_tokens *const text[ALL],
                                      unsigned first)
{
    unsigned seen[64];
    int n_seen = 0;
    double sum = 0.0;
    for (int i = 0; i < ALL; i++)
        for (int length = 1; length <= TOKENS + 1; length++) {
            unsigned set = 0;
            for (int k = 0; k < ALL; k++) {
                int same = 1;
                for (int at = 0; at < length; at++)
                    same &= (at < text[i]->n ? text[i]->token[at] : -1) ==
                            (at < text[k]->n ? text[k]->token[at] : -1);
                set |= (unsigned)same << k;
            }
            int known = (set & (set - 1)) == 0 || set == (1u << ALL) - 1;
            for (int s = 0; s < n_seen; s++) known |= seen[s] == set;
            if (known) continue;
            seen[n_seen++] = set;
            const int n = __builtin_popcount(set), a = __builtin_popcount(set & first);
            sum += (2.0 * a - n) * (2.0 * a - n) / n;
        }
    *ret_sets = n_seen;
    return sum;
}

/* Draws texts of two letters and of different lengths. */
static void draw_short(drawing *d, gsl_rng *rng)
{
    d->texts = 2 * EACH;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < d->texts; i++) {
            for (int k = 0; k < TOKENS; k++)
                d->token[s][i][k] = (int32_t)gsl_rng_uniform_int(rng, 2);
            d->text[s][i] =
                (spec_live_tokens){d->token[s][i], 1 + (int)gsl_rng_uniform_int(rng, TOKENS)};
        }
}

/* Two prompts, three texts of each server: 400 ways to divide the texts among the servers. */
TEST(the_p_value_is_the_share_of_divisions_that_differ_as_much, STATISTICS)
{
    static drawing d;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    double ratio[2] = {0.0, 0.0};
    const int sets = 200;
    for (int t = 0; t < sets; t++) {
        double way[2][SPLITS], seen = 0.0;
        int groups = 0;
        draw_short(&d, rng);
        for (int prompt = 0; prompt < 2; prompt++) {
            const spec_live_tokens *text[ALL];
            int n = 0, sets_of;
            for (int i = 0; i < ALL; i++) text[i] = &d.text[i / EACH][prompt + 2 * (i % EACH)];
            for (unsigned first = 0; first < 1u << ALL; first++)
                if (__builtin_popcount(first) == EACH)
                    way[prompt][n++] = statistic_by_definition(&sets_of, text, first);
            seen += statistic_by_definition(&sets_of, text, (1u << EACH) - 1);
            groups += sets_of;
        }
        double large = 0.0, small = 0.0, mean = 0.0;
        for (int i = 0; i < SPLITS * SPLITS; i++) {
            const double x = way[0][i / SPLITS] + way[1][i % SPLITS];
            large += (x >= seen - 1e-9) / (double)(SPLITS * SPLITS);
            small += (x <= seen + 1e-9) / (double)(SPLITS * SPLITS);
            mean += x / (SPLITS * SPLITS);
        }
        const spec_two_samples test = test_of(&d, 2, 1e-4, (uint64_t)t);
        assert_within(test.statistic, seen, 1e-9);
        assert_int_equal(test.groups, groups);
        assert_within(test.mean, mean, 5.0 * test.deviation / sqrt(1000.0) + 1e-9);
        ratio[0] += test.p / large / sets;
        ratio[1] += test.p_close / small / sets;
    }
    /* 20 / n has a relative standard deviation of 0.22, and its mean is too large by 1/20 */
    for (int k = 0; k < 2; k++) assert_within(ratio[k], 1.02, 0.07);
}

/* ---- coverage -------------------------------------------------------------------------------- */

/* Draws `texts` texts of each server. The six first tokens form three pairs of equal probability.
 * At the second server, one token of each pair is more probable by the share `off`, and the other
 * one less. */
static void draw_pairs(drawing *d, int texts, double off, gsl_rng *rng)
{
    static const double pair[] = {0.27, 0.18, 0.05};
    d->texts = texts;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < texts; i++) {
            double u = gsl_rng_uniform(rng);
            int token = 0;
            const double change = s == 0 ? off : -off;
            while (token < 5 &&
                   (u -= pair[token / 2] * (token % 2 == 0 ? 1.0 + change : 1.0 - change)) >= 0.0)
                token++;
            d->token[s][i][0] = token;
            for (int k = 1; k < TOKENS; k++)
                d->token[s][i][k] = (int32_t)gsl_rng_uniform_int(rng, 5);
            d->text[s][i] = (spec_live_tokens){d->token[s][i], TOKENS};
        }
}

TEST(servers_of_one_distribution_are_told_apart_at_the_stated_rate, STATISTICS)
{
    static drawing d;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const unsigned runs = 500;
    unsigned alarms[2] = {0, 0};
    for (unsigned r = 0; r < runs; r++) {
        draw_pairs(&d, 80, 0.0, rng);
        const spec_two_samples test = test_of(&d, 4, 0.05, r);
        alarms[0] += test.p <= 0.05;
        alarms[1] += test.p_close <= 0.05;
    }
    for (int k = 0; k < 2; k++) {
        assert_true(gsl_cdf_binomial_Q(alarms[k], 0.05, runs) > SPEC_TEST_P);
        assert_true(gsl_cdf_binomial_P(alarms[k], 0.05, runs) > SPEC_TEST_P); /* nor fewer */
    }
}

TEST(the_detectable_difference_is_detected_with_the_stated_power, SLOW | STATISTICS)
{
    static drawing d;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static const int texts[] = {200, 1000};
    const unsigned runs = 150;
    for (int s = 0; s < 2; s++) {
        unsigned found = 0, half = 0;
        draw_pairs(&d, texts[s], 0.0, rng);
        const double off = test_of(&d, 4, 0.01, 7).detectable;
        assert_true(off > 0.05 && off < 0.6);
        for (unsigned r = 0; r < runs; r++) {
            draw_pairs(&d, texts[s], off, rng);
            found += test_of(&d, 4, 0.01, r).p <= 0.01;
            draw_pairs(&d, texts[s], 0.5 * off, rng);
            half += test_of(&d, 4, 0.01, r).p <= 0.01;
        }
        print_message("%d texts: %.3f is found in %u of %u, half of it in %u\n", texts[s], off,
                      found, runs, half);
        assert_true(gsl_cdf_binomial_P(found, 0.9, runs) > SPEC_TEST_P);
        assert_true(half < runs / 2); /* the number is not vacuous */
    }
}

TEST(copies_are_too_close)
{
    static drawing d;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    draw_pairs(&d, 200, 0.0, rng);
    memcpy(d.token[1], d.token[0], sizeof d.token[0]);
    const spec_two_samples test = test_of(&d, 4, 1e-4, 7);
    assert_same(test.statistic, 0.0);
    assert_within(test.p_close, 1.0 / 10001.0, 1e-12);
    assert_true(test.p > 0.5);
    assert_int_equal(test.permutations, 10000);
}

TEST(a_p_value_is_never_below_one_over_the_permutations)
{
    static drawing d;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    draw_pairs(&d, 200, 0.9, rng);
    const spec_two_samples test = test_of(&d, 4, 1e-4, 7);
    assert_within(test.p, 1.0 / 10001.0, 1e-12);
    assert_true(test.p_close > 0.5);
}

TEST(texts_without_a_common_beginning_say_nothing)
{
    static drawing d;
    d.texts = 20;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 20; i++) {
            d.token[s][i][0] = 20 * s + i;
            d.text[s][i] = (spec_live_tokens){d.token[s][i], 1};
        }
    const spec_two_samples test = test_of(&d, 2, 1e-4, 7);
    assert_int_equal(test.groups, 0);
    assert_true(test.p > 0.9 && isnan(test.detectable));
}

/* Two texts that begin alike show nothing by themselves, whatever the servers do. */
TEST(a_total_variation_above_1_is_not_stated)
{
    static drawing d;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    draw_pairs(&d, 6, 0.0, rng);
    assert_true(isnan(test_of(&d, 1, 1e-4, 7).detectable));
    draw_pairs(&d, 200, 0.0, rng);
    assert_true(test_of(&d, 1, 1e-4, 7).detectable < 1.0);
}
