/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks eliminate, ucb, ucbspec and exp3spec against second programs that keep every round, and
 * their regret. */
#include "tests/sim/draft/length/policy_case.h"

#include <gsl/gsl_randist.h>
#include <math.h>

enum { ROUNDS = 4000 };

static const double C = 0.15;

static double rate(int K, int n)
{
    return (1.0 + (n < K ? n : K)) / (1.0 + C * K);
}

/* Plays a round in which `possible` tokens would be accepted; returns the length that it drafted.
 */
static int play(policy_case *c, int possible)
{
    const int K = c->policy.now;
    case_round(c, K, possible < K ? possible : K);
    return K;
}

/* ---- the same from all rounds ---------------------------------------------------------------- */

typedef struct {
    int K, now, n, next, checks;
    bool dropped[CASE_K];
    int possible[ROUNDS];
} record;

static bool beats(const record *r, int a, int b, double doubt)
{
    double mean = 0.0, variance = 0.0, low = 1e9, high = -1e9;
    for (int i = 0; i < r->n; i++) mean += rate(a, r->possible[i]) - rate(b, r->possible[i]);
    mean /= r->n;
    for (int i = 0; i < r->n; i++)
        variance += pow(rate(a, r->possible[i]) - rate(b, r->possible[i]) - mean, 2.0);
    variance /= r->n - 1;
    for (int n = 0; n <= r->now; n++) {
        low = fmin(low, rate(a, n) - rate(b, n));
        high = fmax(high, rate(a, n) - rate(b, n));
    }
    const double l = log(2.0 * r->K * (r->K + 1) * r->checks * (r->checks + 1) / doubt);
    return mean > sqrt(2.0 * variance * l / r->n) + 7.0 * (high - low) * l / (3.0 * (r->n - 1));
}

static void see(record *r, int possible, double doubt)
{
    bool drop[CASE_K] = {false};
    r->possible[r->n++] = possible;
    if (r->n < 2 || r->n < r->next || r->now == 0) return;
    r->next = (int)floor(1.25 * r->n) + 1;
    r->checks++;
    for (int a = 0; a <= r->K; a++)
        for (int b = 0; b <= r->K; b++)
            if (!r->dropped[a] && !r->dropped[b] && a != b && a <= r->now && b <= r->now)
                drop[b] = drop[b] || beats(r, a, b, doubt);
    for (int k = 0; k <= r->K; k++) r->dropped[k] = r->dropped[k] || drop[k];
    while (r->now > 0 && r->dropped[r->now]) r->now--;
}

TEST(eliminate_drafts_the_longest_length_that_no_other_has_beaten)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int again = 0; again < 6; again++) {
        const double alpha = 0.2 + 0.14 * again;
        policy_case c = case_of("eliminate?c=0.15&doubt=0.2", 7);
        record r = {.K = 7, .now = 7};
        for (int i = 0; i < ROUNDS; i++) {
            const int possible = (int)gsl_ran_geometric(rng, 1.0 - alpha) - 1;
            if (c.policy.now != r.now)
                fail_msg("alpha %g, round %d: %d, not %d", alpha, i, c.policy.now, r.now);
            play(&c, possible);
            see(&r, possible, 0.2);
        }
        assert_true(r.now < 7 || alpha > 0.8); /* something was learnt */
        case_free(&c);
    }
}

/* [Hou25] Algorithm 4, but rewards are tokens over time, and each length has its own range. */
static int ucbspec_length(const record *r, const int *played)
{
    double best = -1.0;
    int best_K = -1;
    for (int k = r->K; k >= 0; k--) {
        double n = 0.0, sum = 0.0;
        for (int i = 0; i < r->n; i++)
            if (played[i] == k) n++, sum += rate(k, r->possible[i]);
        if (n == 0.0) return k;
        const double arms = r->K + 1, t = r->n,
                     log_term = 1.0 + 2.0 * log(arms * t * t * sqrt(1.0 + n) / 0.2),
                     range = rate(k, k) - rate(k, 0),
                     bound = sum / n + range / 2.0 * sqrt((1.0 + n) / (n * n) * log_term);
        if (bound > best + 1e-12) best = bound, best_K = k;
    }
    return best_K;
}

/* [Hou25] Algorithm 5 with such rewards: the chances of all lengths from all rounds so far. */
static void exp3_chances(double *ret_chance, const record *r, const int *played,
                         const double *chance)
{
    double sum = 0.0;
    const double arms = r->K + 1, most = rate(r->K, r->K), least = rate(r->K, 0);
    for (int k = 0; k <= r->K; k++) {
        double loss = 0.0;
        for (int i = 0; i < r->n; i++)
            if (played[i] == k)
                loss += (most - rate(k, r->possible[i])) / (most - least) / chance[i];
        sum += ret_chance[k] = exp(-sqrt(log(arms) / ((r->n + 1) * arms)) * loss);
    }
    for (int k = 0; k <= r->K; k++) ret_chance[k] /= sum;
}

TEST(ucbspec_and_exp3spec_are_the_published_bandits)
{
    enum { K = 4, TIMES = 400 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int exp3 = 0; exp3 < 2; exp3++) {
        policy_case c = case_of(exp3 ? "exp3spec?c=0.15&seed=5" : "ucbspec?c=0.15&doubt=0.2", K);
        record r = {.K = K};
        int played[TIMES];
        double chance[TIMES];
        while (r.n < TIMES) {
            int expected = K;
            if (exp3) {
                double now[K + 1], u = case_uniform(5, (uint64_t)r.n);
                exp3_chances(now, &r, played, chance);
                while (expected > 0 && u >= now[expected]) u -= now[expected--];
                chance[r.n] = now[expected];
            } else {
                expected = ucbspec_length(&r, played);
            }
            if (c.policy.now != expected)
                fail_msg("exp3 %d, round %d: %d, not %d", exp3, r.n, c.policy.now, expected);
            const int possible = (int)gsl_ran_geometric(rng, 0.4) - 1;
            played[r.n] = play(&c, possible);
            r.possible[r.n++] = possible;
        }
        case_free(&c);
    }
}

/* ---- regret ---------------------------------------------------------------------------------- */

static double expected_rate(double alpha, int K)
{
    return (1.0 - pow(alpha, K + 1)) / (1.0 - alpha) / (1.0 + C * K);
}

/* Returns how many tokens are lost in ROUNDS rounds, against always drafting the best length;
 * *ret_kept: that length is still played, or it is shorter than the one that is. */
static double regret(bool *ret_kept, const char *spec, double alpha, int K_max, gsl_rng *rng)
{
    policy_case c = case_of(spec, K_max);
    double lost = 0.0, best = 0.0;
    int best_K = 0;
    for (int K = 0; K <= K_max; K++)
        if (expected_rate(alpha, K) > best) best = expected_rate(alpha, K), best_K = K;
    for (int i = 0; i < ROUNDS; i++) {
        const int K = play(&c, (int)gsl_ran_geometric(rng, 1.0 - alpha) - 1);
        lost += (1.0 + C * K) * (best - expected_rate(alpha, K));
    }
    *ret_kept = c.policy.now >= best_K;
    case_free(&c);
    return lost;
}

/* The theorem's bound: 2 r(m) at each round, m >= n / 1.5 rounds before the last check. */
static double bound(double alpha, int K_max, double doubt)
{
    double best = 0.0, worst = 1e9, range = 0.0, sum = 0.0;
    for (int K = 0; K <= K_max; K++) {
        best = fmax(best, expected_rate(alpha, K));
        worst = fmin(worst, expected_rate(alpha, K));
        for (int b = 0; b <= K_max; b++)
            for (int n = 0; n <= K_max; n++)
                for (int m = 0; m <= K_max; m++)
                    range = fmax(range, rate(K, n) - rate(b, n) - rate(K, m) + rate(b, m));
    }
    for (int n = 1; n <= ROUNDS; n++) {
        const double m = fmax(n / 1.5 - 1.0, 1e-9), j = 2.0 + log(n) / log(1.25),
                     l = log(2.0 * K_max * (K_max + 1) * j * (j + 1.0) / doubt);
        sum += fmin(best - worst, 2.0 * range * (sqrt(l / (2.0 * m)) + 7.0 * l / (3.0 * m)));
    }
    return (1.0 + C * K_max) * sum;
}

/* In 40 texts of each alpha, the best length is dropped in at most `doubt` of them, and the tokens
 * lost are within the bound and fewer than those of a bandit that ignores shorter lengths. */
TEST(eliminate_loses_less_than_its_bound_and_than_a_bandit, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static const double alphas[] = {0.3, 0.5, 0.7, 0.85};
    for (int a = 0; a < 4; a++) {
        const int texts = (int)spec_test_samples(40);
        double one_sided = 0.0, own = 0.0, spec = 0.0, exp3 = 0.0;
        int kept = 0;
        bool here;
        for (int t = 0; t < texts; t++) {
            const double lost = regret(&here, "eliminate?c=0.15&doubt=0.05", alphas[a], 12, rng);
            assert_true(!here || lost <= bound(alphas[a], 12, 0.05));
            one_sided += lost / texts;
            kept += here;
            own += regret(&here, "ucb?c=0.15", alphas[a], 12, rng) / texts;
            spec += regret(&here, "ucbspec?c=0.15", alphas[a], 12, rng) / texts;
            exp3 += regret(&here, "exp3spec?c=0.15", alphas[a], 12, rng) / texts;
        }
        print_message(
            "alpha %g: eliminate loses %.0f, ucb %.0f, ucbspec %.0f, exp3spec %.0f, bound "
            "%.0f, kept %d of %d\n",
            alphas[a], one_sided, own, spec, exp3, bound(alphas[a], 12, 0.05), kept, texts);
        assert_true(one_sided < own && one_sided < spec && one_sided < exp3);
        assert_true(kept >= 0.8 * texts); /* below 32 of 40 at 95 %: chance 1e-4 */
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

TEST(a_draft_that_ended_early_and_was_accepted_teaches_nothing)
{
    policy_case c = case_of("eliminate?c=0.4&doubt=1e9", 4);
    for (int i = 0; i < 50; i++) {
        case_round(&c, 1, 1);
        assert_int_equal(c.policy.now, 4);
    }
    for (int i = 0; i < 50; i++) play(&c, 0); /* without drafts nothing is lost */
    assert_int_equal(c.policy.now, 0);
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 4);
    case_free(&c);
}

TEST(ucb_plays_every_length_first_and_then_the_best_most)
{
    policy_case c = case_of("ucb?c=0.2", 3);
    int played[4] = {0};
    for (int i = 0; i < 3000; i++) {
        const int K = play(&c, 2);
        if (i < 4) assert_int_equal(K, 3 - i);
        played[K]++;
    }
    assert_true(played[2] > 1500);
    case_free(&c);
}

/* Rounds of 0, 1, 2 and 3 tokens accept 0, 1, 1 and 3; over time that is 1, 2 / 1.2, 2 / 1.4 and 4
 * / 1.6. Then three tokens accept nothing, until one token has the largest mean. */
TEST(ucb_without_exploration_plays_the_largest_mean)
{
    static const int accepted[] = {0, 1, 1, 3};
    policy_case c = case_of("ucb?c=0.2&explore=0&samples=3", 3);
    for (int i = 0; i < 12; i++) {
        const int K = c.policy.now;
        assert_int_equal(K, 3 - i / 3);
        case_round(&c, K, accepted[K]);
    }
    /* The sum of 9 accepted tokens stays: (1 + 9 / n) / 1.6 is below 2 / 1.2 from n = 6 on. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c.policy.now, 3);
        case_round(&c, 3, 0);
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(c.policy.now, 1);
        case_round(&c, 1, 1);
    }
    case_free(&c);
}

/* docs/formulas/lengths.md#bandits: length 3 accepts nothing in its two rounds, although everything
 * would be accepted from then on. */
TEST(ucb_without_exploration_never_returns_to_an_unlucky_length)
{
    policy_case c = case_of("ucb?c=0.2&explore=0&samples=2", 3);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(c.policy.now == 3, i < 2);
        play(&c, i < 2 ? 0 : 3);
    }
    case_free(&c);
}
