/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/batch_ahead.h"

#include "analysis/ahead.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdio.h>

TEST(known_gains)
{
    static const char *const gain[] = {"1.176", "1.085", "1.022", "1.002"};
    const double hit = spec_ahead_hit(0.9, 4, 0.8);
    for (int i = 0; i < 4; i++)
        assert_prints(spec_batch_ahead_gain(hit, 1 << i, 4, 0.1, 1.0), 3, gain[i]);
}

/* Second route: enumerates all patterns of hits among the requests. */
TEST(a_step_waits_for_any_miss)
{
    for (int B = 1; B <= 6; B++)
        for (int slow = 0; slow < 2; slow++) {
            const double hit = 0.27 + 0.1 * B, draft = slow ? 0.43 : 0.07;
            const int K = 3;
            double mean = 0.0;
            for (int hits = 0; hits < 1 << B; hits++) {
                double chance = 1.0;
                for (int r = 0; r < B; r++) chance *= hits >> r & 1 ? hit : 1.0 - hit;
                double time = 4 * draft > 1.0 ? 4 * draft : 1.0;
                if (hits != (1 << B) - 1) time += K * draft;
                mean += chance * time;
            }
            assert_near(spec_batch_ahead_step(hit, B, K, draft, 1.0), mean, 1e-14);
        }
    for (int K = 1; K <= 5; K++)
        assert_near(spec_batch_ahead_step(0.385, 1.0, K, 0.3, 1.0),
                    spec_ahead_round(0.385, K * 0.3, (K + 1) * 0.3, 1.0, 0.0), 1e-15);
}

/* Second route: the Markov chain of a request, starting without a draft, and the tokens of its
 * steps. */
TEST(riding_is_a_chain_of_two_states)
{
    for (int i = 0; i < 5; i++)
        for (int j = 1; j < 6; j++) {
            const double hit = 0.24 * i, guessed = 0.19 * j;
            double drafted = 0.0;
            for (int step = 0; step < 4000; step++)
                drafted = drafted * hit + (1.0 - drafted) * guessed;
            assert_near(spec_batch_ahead_drafted(hit, guessed), drafted, 1e-12);
            assert_near(spec_batch_ahead_ride(hit, guessed, 3.1),
                        drafted * 3.1 + (1.0 - drafted) * 1.0, 1e-12);
        }
    assert_same(spec_batch_ahead_drafted(0.5, 0.0), 0.0);
    assert_nan(spec_batch_ahead_drafted(1.0, 0.0));
}

/* Second route: two devices, half batches A and B. A device serves its first waiting half; a half
 * is drafted, then verified, then drafted again. */
TEST(halves_take_turns_on_two_devices)
{
    for (int i = 0; i <= 8; i++) {
        const double draft = 0.3 * i, verify = 1.0;
        double ready[2] = {0.0, 0.0}, draft_free = 0.0, verify_free = 0.0, middle = 0.0;
        const int rounds = 2000;
        for (int r = 0; r < rounds; r++) {
            for (int half = 0; half < 2; half++) {
                const double begin = ready[half] > draft_free ? ready[half] : draft_free;
                draft_free = begin + draft;
                const double next = draft_free > verify_free ? draft_free : verify_free;
                verify_free = next + verify;
                ready[half] = verify_free;
            }
            if (r == rounds / 2 - 1) middle = ready[0];
        }
        assert_near(spec_batch_ahead_halves(draft, verify), (ready[0] - middle) / (rounds / 2),
                    1e-9);
    }
}

TEST(outside_the_domain_is_nan)
{
    assert_nan(spec_batch_ahead_step(1.1, 2.0, 3, 0.1, 1.0));
    assert_nan(spec_batch_ahead_step(NAN, 2.0, 3, 0.1, 1.0));
    assert_nan(spec_batch_ahead_step(0.5, 0.5, 3, 0.1, 1.0));
    assert_nan(spec_batch_ahead_step(0.5, 2.0, 0, 0.1, 1.0));
    assert_nan(spec_batch_ahead_step(0.5, 2.0, 3, -0.1, 1.0));
    assert_nan(spec_batch_ahead_gain(0.5, 2.0, 3, 0.1, -1.0));
    assert_nan(spec_batch_ahead_drafted(-0.1, 0.5));
    assert_nan(spec_batch_ahead_drafted(0.1, 1.5));
    assert_nan(spec_batch_ahead_ride(0.1, 0.5, 0.9));
    assert_nan(spec_batch_ahead_halves(-1.0, 1.0));
    assert_nan(spec_batch_ahead_halves(1.0, NAN));
}
