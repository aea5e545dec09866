/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/ratio_sort.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

#include <math.h>

enum { MOST = 5000 };

/* Ascending, equal ratios in their original order, and every token once. */
static void check(spec_ratio_entry *entries, int n)
{
    static double given[MOST];
    static int seen[MOST];
    for (int i = 0; i < n; i++) {
        entries[i].token = i;
        given[i] = entries[i].ratio;
        seen[i] = 0;
    }
    const spec_ratio_entry *sorted = spec_ratio_sort(entries, n);
    for (int i = 0; i < n; i++) {
        assert_true(sorted[i].ratio == given[sorted[i].token]);
        assert_int_equal(seen[sorted[i].token]++, 0);
        if (i == 0) continue;
        assert_true(
            sorted[i - 1].ratio < sorted[i].ratio ||
            (sorted[i - 1].ratio == sorted[i].ratio && sorted[i - 1].token < sorted[i].token));
    }
}

TEST(ratios_of_all_sizes_and_many_ties_are_sorted_and_keep_their_order)
{
    static spec_ratio_entry entries[2 * MOST];
    static const int sizes[] = {0, 1, 2, 3, 23, 24, 25, 26, 300, MOST};
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 0);
    for (int kind = 0; kind < 4; kind++)
        for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {
            for (int i = 0; i < sizes[s]; i++) {
                const double u = spec_rng_next_double(&rng);
                entries[i].ratio = kind == 0   ? u
                                   : kind == 1 ? floor(4.0 * u)          /* ties */
                                   : kind == 2 ? exp(1400.0 * (u - 0.5)) /* 1e-304 .. 1e304 */
                                   : u < 0.2   ? 0.0
                                   : u < 0.4   ? INFINITY
                                               : 5e-324 * ceil(9.0 * u); /* the smallest doubles */
            }
            check(entries, sizes[s]);
        }
}

TEST(equal_ratios_take_no_pass)
{
    static spec_ratio_entry entries[200];
    for (int i = 0; i < 100; i++) entries[i].ratio = 0.385;
    assert_ptr_equal(spec_ratio_sort(entries, 100), entries);
    check(entries, 100);
}
