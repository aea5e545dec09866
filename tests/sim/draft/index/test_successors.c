/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/successors.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

enum { V = 3, ORDER = SPEC_SUCCESSORS_ORDER, NGRAMS = 81, STEPS = 600 };

/* The n-gram of a number, in base V. */
static void spell(int *ret, int number, int n)
{
    for (int i = 0; i < n; i++, number /= V) ret[i] = number % V;
}

TEST(counts_are_those_of_a_table)
{
    static int count[ORDER + 1][NGRAMS][V], best[ORDER + 1][NGRAMS];
    uint64_t noise = spec_test_seed();
    OWNED(spec_successors) counts = {0};
    for (int round = 0; round < 4; round++) {
        memset(count, 0, sizeof count);
        for (int step = 0; step < STEPS; step++) {
            int token[ORDER], n = 1 + (int)(table_uniform(&noise) * ORDER);
            const int number = (int)(table_uniform(&noise) * (n == 4 ? 81 : n == 3 ? 27 : 3));
            const int next = (int)(table_uniform(&noise) * V);
            const int times = 1 + (int)(table_uniform(&noise) * 3);
            spell(token, number, n);
            int *row = count[n][number], *most = &best[n][number];
            const bool is_first = row[0] + row[1] + row[2] == 0;
            row[next] += times;
            if (is_first || row[next] > row[*most]) *most = next;
            assert_int_equal(spec_successors_reserve(&counts, 1, NULL), GSL_SUCCESS);
            spec_successors_add(&counts, token, n, next, times);
        }
        for (int n = 1; n <= ORDER; n++)
            for (int number = 0; number < (n == 4 ? 81 : n == 3 ? 27 : n == 2 ? 9 : 3); number++) {
                int token[ORDER], listed = 0;
                const int *row = count[n][number], sum = row[0] + row[1] + row[2];
                spell(token, number, n);
                const int found = spec_successors_find(&counts, token, n);
                assert_int_equal(found >= 0, sum > 0);
                if (found < 0) continue;
                assert_int_equal(counts.ngram[found].sum, sum);
                assert_int_equal(counts.successor[counts.ngram[found].best].token, best[n][number]);
                for (int x = 0; x < V; x++)
                    assert_int_equal(spec_successors_count(&counts, found, x), row[x]);
                for (int i = counts.ngram[found].head; i >= 0; i = counts.successor[i].next)
                    listed += counts.successor[i].count;
                assert_int_equal(listed, sum);
            }
        spec_successors_reset(&counts);
        assert_int_equal(spec_successors_find(&counts, (const int[]){0}, 1), -1);
    }
}

TEST(nothing_is_found_before_the_first_count)
{
    const spec_successors counts = {0};
    assert_int_equal(spec_successors_find(&counts, (const int[]){0}, 1), -1);
}
