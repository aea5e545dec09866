/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks probe and climb by hand, and against second programs that recount all rounds. */
#include "tests/sim/draft/length/policy_case.h"

#include <math.h>

enum { ROUNDS = 3000 };

/* Plays a round of the length that is due, and checks the next one. */
static void step(policy_case *c, int n_accepted, int next)
{
    case_round(c, c->policy.now, n_accepted);
    assert_int_equal(c->policy.now, next);
}

/* ---- probe ----------------------------------------------------------------------------------- */

TEST(probe_tries_neighbours_and_rests_after_a_failure)
{
    policy_case c = case_of("probe?c=0.1", 2);
    assert_int_equal(c.policy.K, 16);
    assert_int_equal(c.policy.now, 2);
    step(&c, 2, 2);
    step(&c, 2, 3); /* two rounds, all accepted: 3 / 1.2 = 2.5 */
    step(&c, 3, 3);
    step(&c, 3, 3); /* stays: 4 / 1.3 = 3.08 */
    step(&c, 3, 3); /* rests for a round */
    step(&c, 3, 4);
    step(&c, 0, 3); /* 1 / 1.4 = .71, below .8 of 3.08 */
    for (int rest = 0; rest < 6; rest++) step(&c, 0, 3);
    step(&c, 0, 2); /* the share is .75^7; 3 has (1 + 3 .75^7) / 1.3 = 1.08 */
    step(&c, 0, 2); /* at 2 there were 3 tokens per round, and now 2.5: 2.08 */
    step(&c, 0, 2); /* 2.125 / 1.2 = 1.77: stays */
    for (int round = 0; round < 9; round++) step(&c, 0, 2); /* least is K */
    spec_policy_reset(&c.policy);
    step(&c, 2, 2);
    step(&c, 2, 3);
    case_free(&c);
}

TEST(probe_wants_a_share_of_the_tested_tokens_and_full_drafts)
{
    policy_case c = case_of("probe?c=0&least=1", 2);
    step(&c, 2, 2);
    case_round(&c, 1, 1); /* a draft that ended early tells nothing */
    assert_int_equal(c.policy.now, 2);
    step(&c, 2, 3);
    step(&c, 2, 3); /* 2 of 3: as many tokens per time as at 2, but a share of 2/3 */
    step(&c, 2, 2);
    for (int rest = 0; rest < 6; rest++) step(&c, 1, 2); /* 1 of 2 tested */
    step(&c, 1, 2);                                      /* the share comes near 1/2 from above */
    step(&c, 0, 1);
    case_free(&c);
    c = case_of("probe", 1);
    step(&c, 1, 1);
    step(&c, 0, 2); /* a share of 3/4 is enough */
    case_free(&c);
    c = case_of("probe?samples=1&max=2", 1);
    step(&c, 1, 2);
    step(&c, 2, 2);
    step(&c, 2, 2);
    step(&c, 2, 2); /* max */
    case_free(&c);
    c = case_of("probe", 0);
    assert_int_equal(c.policy.K, 0);
    step(&c, 0, 0);
    case_free(&c);
}

typedef struct {
    int length[ROUNDS], accepted[ROUNDS], n;
} history;

/* Returns the number of rounds of a length, their mean tokens and their share; the last round
 * weighs 1/4. */
static int replay(double *ret_emitted, double *ret_share, const history *h, int K)
{
    int rounds = 0;
    *ret_emitted = *ret_share = 0.0;
    for (int i = 0; i < h->n; i++) {
        const int n = h->accepted[i];
        const double share = n == K ? 1.0 : n / (n + 1.0), old = rounds++ == 0 ? 0.0 : 0.75;
        if (h->length[i] != K) {
            rounds--;
            continue;
        }
        *ret_emitted = old * *ret_emitted + (1.0 - old) * (n + 1);
        *ret_share = old * *ret_share + (1.0 - old) * share;
    }
    return rounds;
}

TEST(probe_follows_a_recount_of_all_rounds)
{
    policy_case c = case_of("probe?least=1&max=5&c=0.02", 3);
    history h = {.n = 0};
    int now = 3, origin = 0, phase = 0, rest = 0, seen[6] = {0}; /* phase: its first round */
    for (int round = 0; round < ROUNDS; round++) {
        double emitted, share, old, unused;
        assert_int_equal(c.policy.now, now);
        seen[now]++;
        h.length[h.n] = now;
        h.accepted[h.n++] = case_accepted(round, now);
        case_round(&c, now, h.accepted[round]);
        const int rounds = replay(&emitted, &share, &h, now), in_phase = h.n - phase;
        if (origin == 0) {
            const int by = share < 0.5 ? -1 : share >= 0.75 ? 1 : 0;
            if (in_phase <= rest || rounds < 2 || by == 0 || now + by < 1 || now + by > 5) continue;
            origin = now;
            now += by;
        } else {
            replay(&old, &unused, &h, origin);
            const double ratio = emitted / old * (1.0 + 0.02 * origin) / (1.0 + 0.02 * now);
            if (ratio >= 0.8 && in_phase < 2) continue;
            const bool stay = ratio >= 0.97 && (now < origin || share >= 0.75);
            if (!stay) now = origin;
            rest = stay ? 1 : 6;
            origin = 0;
        }
        phase = h.n;
    }
    for (int K = 1; K <= 5; K++) assert_true(seen[K] > 20);
    case_free(&c);
}

/* ---- climb ----------------------------------------------------------------------------------- */

TEST(climb_goes_to_the_best_length_and_tries_the_next_less_and_less_often)
{
    policy_case c = case_of("climb?c=0.5&samples=2&rate=0.5&every=2", 3);
    assert_int_equal(c.policy.now, 0);
    step(&c, 0, 1); /* an untested token counts as accepted: 2 / 1.5 */
    step(&c, 1, 1); /* tested once, so 2 is not yet allowed */
    step(&c, 1, 2); /* 3 / 2, above 2 / 1.5 */
    step(&c, 0, 0); /* a probability of 1/2: 1.5 / 1.5 is not above 1 */
    step(&c, 0, 1); /* a trial in the second round */
    step(&c, 0, 0); /* it changed nothing, so the next trial is four rounds later */
    step(&c, 0, 0);
    step(&c, 0, 0);
    step(&c, 0, 1);
    step(&c, 1, 1); /* 1/4 becomes 5/8: 1.625 / 1.5, and 2.016 / 2 for two */
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 0);
    step(&c, 0, 1);
    case_free(&c);
    c = case_of("climb?every=1", 0);
    for (int round = 0; round < 3; round++) step(&c, 0, 0); /* nothing to try */
    case_free(&c);
    c = case_of("climb?c=1", 4); /* a draft never pays, and is tried more and more rarely */
    int trials = 0;
    for (int round = 0; round < 10000; round++) {
        trials += c.policy.now > 0;
        case_round(&c, c.policy.now, 0);
        assert_true(c.policy.now <= 1);
    }
    /* after 4, 8, ... 512 rounds, then every 512 */
    assert_int_equal(trials, 8 + (10000 - 1020) / 512);
    case_free(&c);
}

TEST(climb_follows_a_recount_of_all_rounds)
{
    enum { K = 5 };
    policy_case c = case_of("climb?c=0.15&rate=0.2&samples=5", K);
    history h = {.n = 0};
    int best = 0, every = 4, changed = -1, seen[K + 1] = {0}; /* changed: where to count from */
    bool trial = false;
    for (int round = 0; round < ROUNDS; round++) {
        const int drafted = c.policy.now;
        double chance[K + 1] = {0}, most = 0.0;
        int tested[K + 1] = {0}, highest = 1, old = best;
        seen[drafted]++;
        h.length[h.n] = drafted;
        h.accepted[h.n++] = case_accepted(round, drafted);
        case_round(&c, drafted, h.accepted[round]);
        for (int i = 0; i < h.n; i++)
            for (int k = 1; k <= h.length[i]; k++) {
                if (h.accepted[i] < k - 1) continue;
                const double outcome = h.accepted[i] >= k, by = tested[k] == 0 ? 1.0 : 0.2;
                chance[k] = (1.0 - by) * chance[k] + by * outcome;
                tested[k]++;
            }
        while (highest < K && tested[highest] >= 5) highest++;
        for (int L = 0; L <= highest; L++) {
            double emitted = 1.0;
            for (int k = 1; k <= L; k++) {
                double product = 1.0;
                for (int i = 1; i <= k; i++)
                    product *= tested[i] >= 5 ? chance[i] : i > 1 ? chance[i - 1] : 1.0;
                emitted += product;
            }
            if (emitted / (1.0 + 0.15 * L) > most + 1e-12)
                most = emitted / (1.0 + 0.15 * L), best = L;
        }
        if (best != old)
            every = 4, changed = round - 1;
        else if (trial)
            every = every < 256 ? 2 * every : 512;
        const bool due = round - changed >= every;
        if (due) changed = round;
        const int next = due && best < highest ? best + 1 : best;
        trial = next != best;
        assert_int_equal(c.policy.now, next);
    }
    for (int L = 0; L <= K; L++) assert_true(seen[L] > 20);
    case_free(&c);
}

TEST(times_of_probe_and_climb_are_those_of_the_clock_unless_given)
{
    const spec_policy_prices dear = {.pass = 1.0, .call = 1.5}, once = {1.0, 0.1, 0.0, 0.0, true};
    policy_case c = case_of("climb", 3);
    spec_policy_price(&c.policy, &dear);
    step(&c, 0, 0);
    case_free(&c);
    c = case_of("climb?c=0.1", 3);
    spec_policy_price(&c.policy, &dear);
    step(&c, 0, 1);
    assert_near(spec_policy_time(&c.policy, 3), 1.3, 1e-15);
    spec_policy_price(&c.policy, &once);
    assert_near(spec_policy_time(&c.policy, 3), 1.1, 1e-15);
    assert_near(spec_policy_time(&c.policy, 0), 1.0, 0.0);
    case_free(&c);
}
