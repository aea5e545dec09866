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
                               .present = time,
                               .written = 7,
                               .extra = 0.5 + 0.9 + 0.07 + 0.12};
}

TEST(a_run_by_hand_obeys_all)
{
    const spec_serving_sums sums = by_hand();
    assert_null(spec_conservation_broken(&sums, &cost));
}

/* Each identity fails if any of its terms is changed a little. */
TEST(every_term_counts)
{
    const spec_serving_sums right = by_hand();
#define CHANGED(field, by, holds)                                                                  \
    do {                                                                                           \
        spec_serving_sums sums = right;                                                            \
        sums.field += by;                                                                          \
        assert_false(holds);                                                                       \
        assert_non_null(spec_conservation_broken(&sums, &cost));                                   \
    } while (0)
    CHANGED(emitted, 1, spec_conservation_tokens(&sums));
    CHANGED(cut, 1, spec_conservation_tokens(&sums));
    CHANGED(first, 1, spec_conservation_tokens(&sums));
    CHANGED(rounds, 1, spec_conservation_tokens(&sums));
    CHANGED(accepted, 1, spec_conservation_tokens(&sums));
    CHANGED(written, 1, spec_conservation_tokens(&sums));
    CHANGED(batch, 1, spec_conservation_tokens(&sums));
    CHANGED(blocks_taken, 1, spec_conservation_blocks(&sums));
    CHANGED(blocks_freed, 1, spec_conservation_blocks(&sums));
    CHANGED(blocks_kept, 1, spec_conservation_blocks(&sums));
    CHANGED(present, 1e-7, spec_conservation_little(&sums));
    CHANGED(in_system, 1e-7, spec_conservation_little(&sums));
    CHANGED(steps, 1, spec_conservation_time(&sums, &cost));
    CHANGED(drafting, 1, spec_conservation_time(&sums, &cost));
    CHANGED(passes, 1, spec_conservation_time(&sums, &cost));
    CHANGED(extra, 1e-7, spec_conservation_time(&sums, &cost));
    CHANGED(step, 1e-7, spec_conservation_time(&sums, &cost));
#undef CHANGED
}
