/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the heap of branches against a search of all of them. */
#include "sim/draft/index/branch_heap.h"

#include "base/noise.h"
#include "tests/support/support.h"

enum { N = 40 };

static int first_of(const spec_open_branch *branch, int n)
{
    int first = 0;
    for (int i = 1; i < n; i++)
        if (branch[i].value > branch[first].value) first = i;
    return first;
}

/* Pushes and pops in random order, with few distinct values; `all` stays in order of pushes. */
TEST(pops_take_the_largest_and_the_oldest_of_equals)
{
    spec_open_branch array[N], all[N];
    spec_branch_heap heap = {.branch = array};
    int ties = 0;
    for (uint64_t run = 0; run < 200; run++) {
        int n = 0, pushed = 0;
        spec_branch_heap_clear(&heap);
        for (uint64_t step = 0; step < 4 * N; step++) {
            const uint64_t word = spec_noise_word(run, step);
            if (n < N && (n == 0 || word % 5 < 3)) {
                all[n] = (spec_open_branch){.value = (double)(word >> 8 & 7), .item = pushed++};
                spec_branch_heap_push(&heap, all[n++]);
                continue;
            }
            const int first = first_of(all, n);
            const spec_open_branch popped = spec_branch_heap_pop(&heap);
            assert_int_equal(popped.item, all[first].item);
            for (int i = first + 1; i < n; i++) ties += all[i].value == popped.value;
            n--;
            for (int i = first; i < n; i++) all[i] = all[i + 1];
            assert_int_equal(heap.n, n);
        }
    }
    assert_true(ties > 1000);
}
