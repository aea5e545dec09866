/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/sim/draft/length/policy_case.h"
#include "tests/support/support.h"

/* Returns whether the policy goes on after a single token of this confidence. */
static bool goes_on_after(policy_case *c, double confidence)
{
    spec_draft_reset(&c->draft);
    c->row[0][0] = confidence;
    spec_draft_append(&c->draft, 0, -1, c->row[0], true);
    return spec_policy_go_on(&c->policy, &c->draft, NULL);
}

/* Runs a round of drafted tokens with these confidences. */
static void see(policy_case *c, const double *confidence, int n, int n_accepted)
{
    spec_draft_reset(&c->draft);
    for (int i = 0; i < n; i++) {
        c->row[i][0] = confidence[i];
        spec_draft_append(&c->draft, 0, i - 1, c->row[i], true);
    }
    case_see(c, n_accepted, 1);
}

/* Pairs in order of decreasing confidence: .9 + .8 + .7 - .6 + .5 - (.3 and .2 were not tested).
 * The costs of thresholds are, for .9: 3 (3/4), .8: 3 (2/4), .7: 1/2 + 3 (2/4), .6: 1/2 + 3 (1/4),
 * .5: 1 + 3 (1/4) without the last pair +, which has .4: 1 + 0. */
TEST(the_threshold_has_the_least_cost)
{
    policy_case c = case_of("refit?threshold=0.65", 4);
    assert_true(goes_on_after(&c, 0.65));
    assert_false(goes_on_after(&c, 0.64));
    see(&c, (const double[]){0.9, 0.7, 0.2}, 3, 1); /* .9 +, .7 - */
    see(&c, (const double[]){0.8, 0.5, 0.3}, 3, 1); /* .8 +, .5 - */
    see(&c, (const double[]){0.6}, 1, 1);           /* five pairs: no fit yet */
    assert_false(goes_on_after(&c, 0.64));
    see(&c, (const double[]){0.4}, 1, 1);
    assert_true(goes_on_after(&c, 0.4)); /* 1 + 0 < 1/2 + 3/4 = the cost of .6 */
    assert_false(goes_on_after(&c, 0.39));
    /* Six rejected tokens at .45: .4 costs 1 as before, and .6 now 1/8 + 3/4. */
    for (int i = 0; i < 6; i++) see(&c, (const double[]){0.45}, 1, 0);
    assert_true(goes_on_after(&c, 0.6));
    assert_false(goes_on_after(&c, 0.59));
    spec_policy_reset(&c.policy);
    assert_false(goes_on_after(&c, 0.64));
    assert_true(goes_on_after(&c, 0.65));
    case_free(&c);
}

/* Tries every threshold that occurs, judging all pairs one by one. */
typedef struct {
    double confidence[8000];
    bool accepted[8000];
    int n;
} pairs;

static double best_threshold(const pairs *seen)
{
    double least = INFINITY, best = NAN;
    int positives = 0;
    for (int i = 0; i < seen->n; i++) positives += seen->accepted[i];
    for (int t = 0; t < seen->n; t++) {
        int false_positives = 0, false_negatives = 0;
        for (int i = 0; i < seen->n; i++) {
            const bool passes = seen->confidence[i] >= seen->confidence[t];
            false_positives += passes && !seen->accepted[i];
            false_negatives += !passes && seen->accepted[i];
        }
        const double cost =
            (double)false_positives / (seen->n - positives) + 3.0 * false_negatives / positives;
        const bool equal = fabs(cost - least) < 1e-9;
        if (equal ? seen->confidence[t] > best : cost < least) {
            least = cost;
            best = seen->confidence[t];
        }
    }
    return best;
}

TEST(thresholds_are_the_best_of_all_that_occur)
{
    static pairs seen;
    const uint64_t seed = spec_test_seed();
    for (uint64_t text = 0; text < 20; text++) {
        policy_case c = case_of("refit", 5);
        seen.n = 0;
        for (int round = 0; round < 80; round++) {
            const uint64_t key = spec_noise_mix(1000003 * (seed + text) + (uint64_t)round);
            double confidence[5];
            int n = 0;
            for (int i = 0; i < 5; i++) /* few values, so that pairs share them */
                confidence[i] = ceil(20.0 * case_uniform(key, (uint64_t)i)) / 20.0;
            while (n < 5 && case_uniform(key, 5 + (uint64_t)n) < 0.3 + 0.6 * confidence[n]) n++;
            for (int i = 0; i <= n && i < 5; i++) {
                seen.confidence[seen.n] = confidence[i];
                seen.accepted[seen.n++] = i < n;
            }
            see(&c, confidence, 5, n);
            if (round < 10) continue;
            const double best = best_threshold(&seen);
            assert_true(goes_on_after(&c, best));
            assert_false(goes_on_after(&c, best - 0.01));
        }
        case_free(&c);
    }
}

/* A draft that stopped early counts as full, as in the engine. */
TEST(the_schedule_compares_with_the_tokens_drafted)
{
    policy_case c = case_of("refit?schedule=heuristic&cap=9", 5);
    assert_int_equal(c.policy.K, 9);
    see(&c, (const double[]){0.9, 0.1}, 2, 2);
    assert_int_equal(c.policy.now, 7);
    see(&c, (const double[]){0.9, 0.1}, 2, 1);
    assert_int_equal(c.policy.now, 6);
    for (int i = 0; i < 3; i++) see(&c, (const double[]){0.9}, 1, 1);
    assert_int_equal(c.policy.now, 9);
    for (int i = 0; i < 12; i++) see(&c, (const double[]){0.9}, 1, 0);
    assert_int_equal(c.policy.now, 1);
    spec_policy_reset(&c.policy);
    assert_int_equal(c.policy.now, 5);
    case_free(&c);
    c = case_of("refit", 5);
    see(&c, (const double[]){0.9}, 1, 1);
    assert_int_equal(c.policy.now, 5);
    assert_int_equal(c.policy.K, 5);
    case_free(&c);
}
