/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/branch_heap.h"

#include <assert.h>
#include <stdbool.h>

void spec_branch_heap_clear(spec_branch_heap *heap)
{
    heap->n = 0;
    heap->pushed = 0;
}

static bool precedes(const spec_open_branch *a, const spec_open_branch *b)
{
    return a->value > b->value || (a->value == b->value && a->number < b->number);
}

void spec_branch_heap_push(spec_branch_heap *heap, spec_open_branch branch)
{
    int at = heap->n++;
    branch.number = heap->pushed++;
    for (; at > 0 && precedes(&branch, &heap->branch[(at - 1) / 2]); at = (at - 1) / 2)
        heap->branch[at] = heap->branch[(at - 1) / 2];
    heap->branch[at] = branch;
}

spec_open_branch spec_branch_heap_pop(spec_branch_heap *heap)
{
    assert(heap->n > 0);
    const spec_open_branch best = heap->branch[0], last = heap->branch[--heap->n];
    int at = 0;
    for (int child; (child = 2 * at + 1) < heap->n; at = child) {
        if (child + 1 < heap->n && precedes(&heap->branch[child + 1], &heap->branch[child]))
            child++;
        if (!precedes(&heap->branch[child], &last)) break;
        heap->branch[at] = heap->branch[child];
    }
    heap->branch[at] = last;
    return best;
}
