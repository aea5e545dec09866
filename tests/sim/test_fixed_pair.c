/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/fixed_pair.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdbool.h>

enum { V = 32000 };

/* Returns the probability, in units of 2^-64, that word * n falls below column * 2^64 +
 * fraction. */
static spec_u128 words_below(spec_u128 column, spec_u128 fraction, unsigned n)
{
    return ((column << 64) + fraction + n - 1) / n;
}

/* Computes the exact law of an emitted token from the tables: every side of every column of the
 * draft, its test, and the rejected mass by the residual's columns. With 64-bit mantissas the sum
 * adds no visible error. */
static void exact_law(long double *law, const spec_fixed_pair *pair)
{
    unsigned n = (unsigned)pair->vocab;
    long double rejected = 0;
    for (unsigned i = 0; i < n; i++) law[i] = 0;
    for (unsigned j = 0; j < n; j++) {
        const struct spec_fixed_pair_column *column = &pair->column[j];
        spec_u128 begin = words_below(j, 0, n), side = words_below(j, column->keep, n),
                  end = words_below(j + 1, 0, n);
        long double share[2] = {ldexpl((long double)(side - begin), -64),
                                ldexpl((long double)(end - side), -64)};
        for (int s = 0; s < 2; s++) {
            assert_true(column->accept[s] <= (uint64_t)1 << 63);
            long double accept = ldexpl((long double)column->accept[s], -63);
            law[column->token[s]] += share[s] * accept;
            rejected += share[s] * (1 - accept);
        }
    }
    if (pair->residual.n == 0) {
        assert_true(rejected == 0);
        return;
    }
    for (unsigned j = 0; j < n; j++) {
        const struct spec_alias_column *column = &pair->residual.column[j];
        spec_u128 begin = words_below(j, 0, n), side = words_below(j, column->keep, n),
                  end = words_below(j + 1, 0, n);
        law[column->own] += rejected * ldexpl((long double)(side - begin), -64);
        law[column->other] += rejected * ldexpl((long double)(end - side), -64);
    }
}

static void assert_lossless(const double *target, const double *draft, int vocab)
{
    OWNED(spec_fixed_pair) pair;
    assert_works(spec_fixed_pair_init(&pair, target, draft, vocab, &error));
    long double *law = malloc((size_t)vocab * sizeof *law), target_sum = 0, draft_sum = 0,
                alpha = 0;
    assert_non_null(law);
    exact_law(law, &pair);
    for (int i = 0; i < vocab; i++) {
        target_sum += target[i];
        draft_sum += draft[i];
    }
    for (int i = 0; i < vocab; i++) {
        long double t = target[i] / target_sum, d = draft[i] / draft_sum;
        alpha += t < d ? t : d;
        if (fabsl(law[i] - t) > ldexpl(1, -50))
            fail_msg("token %d: %.17Lg, not %.17Lg", i, law[i], t);
        if (target[i] == 0 && law[i] != 0)
            fail_msg("token %d, impossible, is emitted with probability %Lg", i, law[i]);
    }
    assert_within(pair.alpha, (double)alpha, 1e-13);
    if (pair.residual.n == 0) assert_true(pair.alpha == 1);
    free(law);
}

/* Draws a row of Dirichlet(concentration, ...), unnormalised. */
static void fill_gamma(double *row, int vocab, double concentration, gsl_rng *rng)
{
    for (int i = 0; i < vocab; i++) row[i] = gsl_ran_gamma(rng, concentration, 1);
}

TEST(large_pairs_are_lossless)
{
    double *target = malloc(V * sizeof *target), *draft = malloc(V * sizeof *draft);
    assert_non_null(target);
    assert_non_null(draft);
    for (int i = 0; i < V; i++) {
        target[i] = pow(i + 1, -1.1);
        draft[i] = pow(i + 2.385, -1.0);
    }
    assert_lossless(target, draft, V);
    assert_lossless(draft, target, V);

    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 0);
    fill_gamma(target, V, 1, rng);
    fill_gamma(draft, V, 1, rng);
    assert_lossless(target, draft, V);
    fill_gamma(target, 999, 0.03,
               rng); /* concentrations so low that most weights underflow to 0 */
    fill_gamma(draft, 999, 0.03, rng);
    assert_lossless(target, draft, 999);
    free(target);
    free(draft);
}

TEST(odd_pairs_are_lossless)
{
    assert_lossless((double[]){0.27}, (double[]){2.385}, 1);
    assert_lossless((double[]){0.27, 0.73, 0, 0}, (double[]){0, 0, 0.615, 0.385},
                    4); /* disjoint: alpha = 0 */
    assert_lossless((double[]){0, 1, 0}, (double[]){0.27, 0.115, 0.615}, 3);  /* one-hot target */
    assert_lossless((double[]){0.27, 0.115, 0.615}, (double[]){0, 1, 0}, 3);  /* one-hot draft */
    assert_lossless((double[]){0.27, 0, 0.73}, (double[]){0.27, 0, 0.73}, 3); /* the same */
    assert_lossless((double[]){0.1, 0.2, 0.7}, (double[]){0.3, 0.6, 2.1},
                    3); /* the same up to rounding */
    assert_lossless((double[]){0.27, 1e-300, 0.73}, (double[]){1e-300, 0.27, 0.73}, 3);
    assert_lossless((double[]){2e307, 3e307, 5e307}, (double[]){7e307, 1e-300, 1e307}, 3);
}

/* Normalising rounds each row differently, and may leave the target nowhere above the draft, yet
 * below it somewhere. */
TEST(multiples_of_a_row_are_lossless)
{
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 3);
    int without_residual = 0, different = 0;
    for (int i = 0; i < 1000; i++) {
        double target[3], draft[3], target_sum = 0, draft_sum = 0;
        for (int j = 0; j < 3; j++) {
            target[j] = spec_rng_next_double(&rng);
            draft[j] = 3 * target[j];
            target_sum += target[j];
            draft_sum += draft[j];
        }
        assert_lossless(target, draft, 3);
        OWNED(spec_fixed_pair) pair;
        assert_int_equal(spec_fixed_pair_init(&pair, target, draft, 3, NULL), GSL_SUCCESS);
        bool same = true;
        for (int j = 0; j < 3; j++) same = same && target[j] / target_sum == draft[j] / draft_sum;
        different += !same;
        without_residual += !same && pair.residual.n == 0;
    }
    assert_true(different > 100 && without_residual > 10);
}

/* Words of 0 (the generator's output if the high half of its state is 0) for column, side and test:
 * they must neither draft a token that the draft excludes nor accept one that the target
 * excludes. */
TEST(words_of_zero_emit_nothing_impossible)
{
    const spec_u128 multiplier = 0xda942042e4dd58b5u, first = 2, second = 1;
    spec_rng_state zeros, same;
    spec_rng_set_raw(&zeros, first, second - first * multiplier);
    same = zeros;
    assert_int_equal(spec_rng_next(&same), 0);
    assert_int_equal(spec_rng_next(&same), 0);

    const double row[3][2] = {{0.27, 0.73}, {0, 1}, {1, 0}};
    const struct {
        int target, draft;
        int token, accepted;
    } cases[] = {{0, 1, 1, 1}, {1, 2, 1, 0}};
    for (int i = 0; i < 2; i++) {
        OWNED(spec_fixed_pair) pair;
        int token[2];
        same = zeros;
        assert_int_equal(
            spec_fixed_pair_init(&pair, row[cases[i].target], row[cases[i].draft], 2, NULL),
            GSL_SUCCESS);
        assert_int_equal(spec_fixed_pair_round(&pair, &same, 1, token), cases[i].accepted);
        assert_int_equal(token[0], cases[i].token);
    }
}

TEST(equal_distributions_never_reject)
{
    const double row[] = {0.27, 0.115, 0.615};
    OWNED(spec_fixed_pair) pair;
    assert_int_equal(spec_fixed_pair_init(&pair, row, row, 3, NULL), GSL_SUCCESS);
    assert_int_equal(pair.residual.n, 0);
    assert_true(pair.alpha == 1);
    spec_rng_state rng = spec_rng_stream_state(1, 0);
    assert_int_equal(spec_fixed_pair_round(&pair, &rng, 1000, (int[1001]){0}), 1000);
}

/* Compares whole rounds of K = 3 with the closed law of n_accepted, and the first tokens emitted
 * with the target's law: they are independent draws from it, at any position of a round. If the
 * bonus were drawn from the draft, a share of alpha^3 / E[n_emitted] of the tokens would have the
 * wrong law: a statistic of 1,020 where 50 is usual. Token 11 is impossible, and token 23 is never
 * drafted. */
TEST(rounds_emit_the_target_and_accept_by_the_closed_law, STATISTICS)
{
    enum { N = 50, K = 3 };
    double target[N], draft[N], sum = 0, statistic = 0;
    OWNED_RNG *gsl = gsl_rng_alloc(spec_rng_pcg64dxsm);
    const uint64_t seed = spec_test_seed(), rounds = spec_test_samples(200000);
    spec_rng_stream(gsl, seed, 4);
    fill_gamma(target, N, 2, gsl);
    target[11] = 0;
    for (int i = 0; i < N; i++) draft[i] = target[i] * (0.27 + gsl_rng_uniform(gsl));
    draft[11] = target[0];
    draft[23] = 0;
    for (int i = 0; i < N; i++) sum += target[i];
    OWNED(spec_fixed_pair) pair;
    assert_int_equal(spec_fixed_pair_init(&pair, target, draft, N, NULL), GSL_SUCCESS);

    uint64_t n_accepted[K + 1] = {0}, count[N] = {0}, counted = 0;
    spec_rng_state rng = spec_rng_stream_state(seed, 5);
    for (uint64_t r = 0; r < rounds; r++) {
        int token[K + 1];
        const int accepted = spec_fixed_pair_round(&pair, &rng, K, token);
        assert_in_range(accepted, 0, K);
        n_accepted[accepted]++;
        for (int i = 0; i <= accepted && counted < rounds; i++, counted++) count[token[i]]++;
    }
    assert_true(counted == rounds);
    for (int i = 0; i < N; i++) {
        const double expected = (double)rounds * target[i] / sum;
        if (i == 11)
            assert_int_equal(count[i], 0);
        else
            statistic += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    }
    assert_true(gsl_cdf_chisq_Q(statistic, N - 2) > SPEC_TEST_P);
    statistic = 0;
    for (int k = 0; k <= K; k++) {
        const double expected = (double)rounds * pow(pair.alpha, k) * (k < K ? 1 - pair.alpha : 1);
        statistic +=
            ((double)n_accepted[k] - expected) * ((double)n_accepted[k] - expected) / expected;
    }
    assert_true(gsl_cdf_chisq_Q(statistic, K) > SPEC_TEST_P);
}

TEST(a_round_takes_two_words_a_test_and_one_for_its_last_token)
{
    const double target[] = {0.27, 0.115, 0.615}, draft[] = {0.5, 0.4, 0.1};
    OWNED(spec_fixed_pair) pair;
    assert_int_equal(spec_fixed_pair_init(&pair, target, draft, 3, NULL), GSL_SUCCESS);
    spec_rng_state rng = spec_rng_stream_state(9, 0);
    int seen = 0;
    for (int r = 0; r < 200; r++) {
        int token[4];
        spec_rng_state counted = rng;
        const int accepted = spec_fixed_pair_round(&pair, &rng, 3, token),
                  tests = accepted < 3 ? accepted + 1 : 3;
        for (int i = 0; i < 2 * tests + 1; i++) spec_rng_next(&counted);
        assert_true(counted.state == rng.state);
        if (accepted < 3) assert_int_equal(token[accepted], 2); /* the only token of the residual */
        seen |= 1 << accepted;
    }
    assert_int_equal(seen, 15);
    assert_int_equal(spec_fixed_pair_round(&pair, &rng, 0, (int[1]){0}), 0); /* the bonus alone */
}

TEST(bad_rows_are_refused)
{
    OWNED(spec_fixed_pair) pair;
    assert_status(spec_fixed_pair_init(&pair, (double[]){0.27, NAN}, (double[]){1, 1}, 2, &error),
                  GSL_EDOM);
    assert_status(spec_fixed_pair_init(&pair, (double[]){0.27, 1}, (double[]){1, -1}, 2, &error),
                  GSL_EDOM);
    assert_fails(spec_fixed_pair_init(&pair, (double[]){0.27, 1}, (double[]){0, 0}, 2, &error),
                 GSL_EDOM, "all 2 weights are zero");
    assert_status(spec_fixed_pair_init(&pair, NULL, NULL, 0, &error), GSL_EINVAL);
    assert_null(pair.column);
    assert_int_equal(pair.vocab, 0);
}
