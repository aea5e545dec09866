/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/group_text.h"
#include "tests/support/support.h"

#include <string.h>

static spec_montecarlo_sum made(void)
{
    spec_montecarlo_sum sum;
    memset(&sum, 0, sizeof sum);
    sum.batches = 64;
    sum.tally.rounds = 1000000000000ull;
    sum.tally.accepted = UINT64_MAX;
    sum.tally.n_accepted[SPEC_K_MAX] = 3;
    sum.tally.tested[0] = 7;
    sum.tally.time = 0.1 + 0.2;
    sum.emitted = (spec_batch_means){65536.0, 1.0 / 3.0, 4.9e-324, 64};
    return sum;
}

TEST(a_sum_reads_back_bit_for_bit)
{
    const spec_montecarlo_sum sum = made();
    spec_montecarlo_sum read;
    FREED char *text = spec_group_text_of(&sum);
    assert_true(spec_group_text_parse(&read, text));
    assert_memory_equal(&read, &sum, sizeof sum);
}

TEST(another_text_is_refused)
{
    const spec_montecarlo_sum sum = made();
    spec_montecarlo_sum read;
    FREED char *text = spec_group_text_of(&sum);
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) { /* cut, and with one byte not of a number */
        FREED char *copy = strdup(text);
        copy[i] = '!';
        if (spec_group_text_parse(&read, copy)) fail_msg("read: %s", copy);
        copy[i] = '\0';
        if (spec_group_text_parse(&read, copy)) fail_msg("read: %s", copy);
    }
    char more[4096];
    snprintf(more, sizeof more, "%s 1", text);
    assert_false(spec_group_text_parse(&read, more));
    snprintf(more, sizeof more, "-%s", text);
    assert_false(spec_group_text_parse(&read, more));
}
