/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/length/acceptance_estimator.h"
#include "sim/draft/length/row_score.h"
#include "tests/sim/draft/length/policy_case.h"
#include "tests/support/support.h"

enum { K = 6, ROUNDS = 900 };

/* Returns the length of 0..K with the most expected tokens per time; among equal ones the
 * smallest. */
static int best_length(const double *chance, double fixed, double marginal)
{
    double survival = 1.0, emitted = 1.0, most = 1.0 / fixed;
    int best = 0;
    for (int b = 1; b <= K; b++) {
        survival *= chance[b - 1];
        emitted += survival;
        if (emitted / (fixed + b * marginal) > most)
            most = emitted / (fixed + b * marginal), best = b;
    }
    return best;
}

/* Compares lengths with a search over all of them, using an estimator that sees the same
 * outcomes. */
static void lengths_maximise_tokens_over_time(policy_case c, double fixed, double marginal,
                                              int every, bool drawn)
{
    spec_acceptance_estimator estimator;
    int seen[K + 1] = {0};
    spec_acceptance_estimator_init(&estimator, K);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t key = spec_noise_mix(104729 * 42 + (uint64_t)round);
        int token[K + 1], n = 0;
        double score[K], chance[K];
        case_rows(&c, token, key, K + 1);
        for (int i = 0; i < K; i++) {
            score[i] = drawn ? spec_row_score_of(c.row[i][token[i]])
                             : spec_row_score(NULL, c.row[i], CASE_VOCAB);
            chance[i] = spec_acceptance_estimator_chance(&estimator, score[i], i);
        }
        const int length = case_draft(&c, token);
        assert_int_equal(length, best_length(chance, fixed, marginal));
        assert_int_equal(c.drawn, c.policy.kind->cut != NULL ? K : length);
        seen[length]++;
        while (n < length && case_uniform(key, 50 + (uint64_t)n) < c.row[n][token[n]]) n++;
        for (int i = 0; i <= n && i < length; i++)
            spec_acceptance_estimator_see(&estimator, score[i], i, i < n);
        case_see(&c, n, 0);
        if ((round + 1) % every == 0) spec_acceptance_estimator_fit(&estimator);
    }
    for (int b = 1; b < 4; b++) assert_true(seen[b] > 10);
    case_free(&c);
}

TEST(goodput_stops_at_the_best_length)
{
    lengths_maximise_tokens_over_time(case_of("goodput", K), 1.0, 0.1, 100, false);
    lengths_maximise_tokens_over_time(case_of("goodput?c=0.2&token=0.1&every=7", K), 1.0, 0.3, 7,
                                      false);
}

TEST(trims_keep_the_best_length)
{
    lengths_maximise_tokens_over_time(case_of("trim?token=0.3", K), 1.0 + 0.1 * K, 0.3, 100, false);
    lengths_maximise_tokens_over_time(case_of("trim?c=0&token=0.2&every=3", K), 1.0, 0.2, 3, false);
    lengths_maximise_tokens_over_time(case_of("trim-drawn?token=0.4", K), 1.0 + 0.1 * K, 0.4, 100,
                                      true);
}

static policy_case priced(const char *spec, spec_policy_prices prices)
{
    policy_case c = case_of(spec, K);
    spec_policy_price(&c.policy, &prices);
    return c;
}

TEST(times_are_those_of_the_clock_unless_given)
{
    const spec_policy_prices apart = {.pass = 1.3, .call = 0.2, .row = 0.1, .token = 0.05},
                             once = {1.3, 0.4, 0.02, 0.25, true};
    const double trimmed = 1.3 + (0.2 + 0.1) * K, once_trimmed = 1.3 + 0.4 + 0.02 * K;
    lengths_maximise_tokens_over_time(priced("goodput", apart), 1.3, 0.35, 100, false);
    lengths_maximise_tokens_over_time(priced("goodput?c=0.3", apart), 1.3, 0.45, 100, false);
    lengths_maximise_tokens_over_time(priced("goodput", once), 1.7, 0.27, 100, false);
    lengths_maximise_tokens_over_time(priced("trim?token=0.3", apart), trimmed, 0.3, 100, false);
    lengths_maximise_tokens_over_time(priced("trim", once), once_trimmed, 0.25, 100, false);
}

/* With passes of 1, 2, 4 or 8 tokens, compares with a search over all lengths and their times. */
TEST(sizes_make_time_a_step_function)
{
    policy_case c = case_of("trim?c=0&token=0.25&sizes=1.2.4.8", K);
    spec_acceptance_estimator fresh;
    int seen[K + 1] = {0};
    spec_acceptance_estimator_init(&fresh, K);
    assert_true(c.policy.anticipates);
    for (uint64_t round = 0; round < 600; round++) {
        static const int size[K + 1] = {1, 2, 4, 4, 8, 8, 8};
        int token[K + 1], best = 0;
        double survival = 1.0, emitted = 1.0, most = 1.0;
        case_rows(&c, token, round, K + 1);
        for (int b = 1; b <= K; b++) {
            survival *= spec_acceptance_estimator_chance(
                &fresh, spec_row_score(NULL, c.row[b - 1], CASE_VOCAB), b - 1);
            emitted += survival;
            const double rate = emitted / (1.0 + 0.25 * (size[b] - 1));
            if (rate > most) most = rate, best = b;
        }
        assert_int_equal(case_draft(&c, token), best);
        seen[best]++;
    }
    /* With the token that ends the pass, drafts of 2 and 4 tokens do not fill any of the sizes. */
    assert_true(seen[1] > 50 && seen[3] > 50 && seen[2] == 0 && seen[4] == 0);
    case_free(&c);
}

TEST(nothing_is_trimmed_if_tokens_cost_nothing)
{
    policy_case c = case_of("trim?token=0", K);
    int token[K + 1];
    case_rows(&c, token, 3, K + 1);
    assert_int_equal(case_draft(&c, token), K);
    case_free(&c);
}

/* The row is the same whatever was drawn from it, because a cut must not look at the drawn
 * token. */
TEST(a_trim_looks_at_rows_and_the_control_at_tokens)
{
    policy_case trim = case_of("trim?token=0.5", 1), drawn = case_of("trim-drawn?token=0.5", 1);
    int kept[2][CASE_VOCAB];
    for (int x = 0; x < CASE_VOCAB; x++) {
        static const double row[CASE_VOCAB] = {0.94, 0.03, 0.02, 0.01};
        memcpy(trim.row[0], row, sizeof row);
        memcpy(drawn.row[0], row, sizeof row);
        kept[0][x] = case_draft(&trim, &x);
        kept[1][x] = case_draft(&drawn, &x);
    }
    for (int x = 0; x < CASE_VOCAB; x++) {
        assert_int_equal(kept[0][x], 1);
        assert_int_equal(kept[1][x], x == 0);
    }
    case_free(&trim);
    case_free(&drawn);
}

TEST(a_new_text_begins_with_the_first_estimate)
{
    policy_case c = case_of("goodput?c=0.3&every=1", K), fresh = case_of("goodput?c=0.3", K);
    int token[K + 1], differs = 0;
    for (uint64_t round = 0; round < 40; round++) {
        case_rows(&c, token, round, K + 1);
        memcpy(fresh.row, c.row, sizeof c.row);
        differs += case_draft(&c, token) != case_draft(&fresh, token);
        case_see(&c, 0, 0);
    }
    assert_true(differs > 0);
    spec_policy_reset(&c.policy);
    for (uint64_t round = 0; round < 40; round++) {
        case_rows(&c, token, round, K + 1);
        memcpy(fresh.row, c.row, sizeof c.row);
        assert_int_equal(case_draft(&c, token), case_draft(&fresh, token));
    }
    case_free(&c);
    case_free(&fresh);
}
