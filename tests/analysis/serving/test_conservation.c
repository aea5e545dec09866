/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/conservation.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

/* Two requests by hand, one after another: a prompt of 5 tokens and 3 tokens of output, then no
 * prompt and 4 tokens, at K = 2. Steps: prefill; 2 + 0 accepted of which 1 token is cut; 1 and 2
 * accepted, 1 cut. */
static const spec_affine_step cost = {.step = 1.0,
                                      .token = 0.1,
                                      .kv = 0.01,
                                      .draft_round = 0.3,
                                      .draft_pass = 0.05,
                                      .draft_token = 0.02};

static spec_serving_sums by_hand(void)
{
    const double prefill = 1.0 + 0.5, draft = 0.3 + 0.1 + 0.04;
    const double first = 1.0 + 0.3 + 0.05 + draft, second = 1.0 + 0.3 + draft,
                 third = 1.0 + 0.3 + 0.02 + draft;
    const double time = prefill + first + second + third;
    return (spec_serving_sums){.requests = 2,
                               .output_tokens = 7,
                               .rounds = 3,
                               .drafted = 6,
                               .accepted = 5,
                               .emitted = 7,
                               .first = 1,
                               .cut = 2,
                               .blocks_taken = 9,
                               .blocks_freed = 11,
                               .blocks_kept = -2,
                               .steps = 4,
                               .drafting = 3,
                               .passes = 6,
                               .batch = 3.0,
                               .step = time,
                               .in_system = time,
                               .latency = time,
                               .extra = 0.5 + 0.9 + 0.07 + 0.12};
}

TEST(a_run_by_hand_obeys_all)
{
    const spec_serving_sums sums = by_hand();
    assert_true(spec_conservation_tokens(&sums));
    assert_true(spec_conservation_blocks(&sums));
    assert_same(spec_conservation_lengths(&sums), 1.0);
    assert_same(spec_conservation_little(&sums), 1.0);
    assert_near(spec_conservation_time(&sums, &cost), 1.0, 1e-15);
}

/* Each identity sees a change of each of its terms. */
TEST(every_term_counts)
{
    const spec_serving_sums right = by_hand();
#define CHANGED(field, check)                                                                      \
    do {                                                                                           \
        spec_serving_sums sums = right;                                                            \
        sums.field += 1;                                                                           \
        assert_false(check);                                                                       \
    } while (0)
    CHANGED(emitted, spec_conservation_tokens(&sums));
    CHANGED(cut, spec_conservation_tokens(&sums));
    CHANGED(first, spec_conservation_tokens(&sums));
    CHANGED(rounds, spec_conservation_tokens(&sums));
    CHANGED(accepted, spec_conservation_tokens(&sums));
    CHANGED(batch, spec_conservation_tokens(&sums));
    CHANGED(blocks_taken, spec_conservation_blocks(&sums));
    CHANGED(blocks_freed, spec_conservation_blocks(&sums));
    CHANGED(blocks_kept, spec_conservation_blocks(&sums));
    CHANGED(output_tokens, spec_conservation_lengths(&sums) == 1.0);
    CHANGED(latency, spec_conservation_little(&sums) == 1.0);
    CHANGED(in_system, spec_conservation_little(&sums) == 1.0);
    CHANGED(steps, spec_conservation_time(&sums, &cost) < 1.01);
    CHANGED(drafting, spec_conservation_time(&sums, &cost) < 1.01);
    CHANGED(passes, spec_conservation_time(&sums, &cost) < 1.005);
    CHANGED(extra, spec_conservation_time(&sums, &cost) < 1.01);
    CHANGED(step, spec_conservation_time(&sums, &cost) > 0.99);
}
