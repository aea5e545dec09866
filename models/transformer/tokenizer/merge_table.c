/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/merge_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, FEW = 32 /* up to this many symbols, a search is faster than a heap */ };

static const uint32_t none = UINT32_MAX; /* used as a rank and as a position in the row */

static int out_of_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer");
}

static spec_merge *slots(size_t n)
{
    spec_merge *slot = n > SIZE_MAX / sizeof *slot ? NULL : malloc(n * sizeof *slot);
    for (size_t i = 0; slot != NULL && i < n; i++) slot[i].left = -1;
    return slot;
}

int spec_merge_table_init(spec_merge_table *table, spec_error *error)
{
    *table = (spec_merge_table){.slot = slots(SLOTS), .n_slots = SLOTS};
    return table->slot == NULL ? out_of_memory(error) : GSL_SUCCESS;
}

void spec_merge_table_free(spec_merge_table *table)
{
    free(table->slot);
    *table = (spec_merge_table){0};
}

/* Returns the slot of a pair, or the free slot for it. */
static spec_merge *slot_of(spec_merge *slot, size_t n_slots, int left, int right)
{
    uint64_t hash = (uint64_t)(unsigned)left << 32 | (unsigned)right;
    hash = (hash ^ hash >> 31) * UINT64_C(0xD6E8FEB86659FD93);
    for (size_t i = (size_t)(hash >> 32) & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        if (slot[i].left < 0 || (slot[i].left == left && slot[i].right == right)) return &slot[i];
    }
}

const spec_merge *spec_merge_table_find(const spec_merge_table *table, int left, int right)
{
    const spec_merge *slot = slot_of(table->slot, table->n_slots, left, right);
    return slot->left < 0 ? NULL : slot;
}

static int grow(spec_merge_table *table, spec_error *error)
{
    const size_t n_slots = 2 * table->n_slots;
    spec_merge *slot = slots(n_slots);
    if (slot == NULL) return out_of_memory(error);
    for (size_t i = 0; i < table->n_slots; i++) {
        const spec_merge *from = &table->slot[i];
        if (from->left >= 0) *slot_of(slot, n_slots, from->left, from->right) = *from;
    }
    free(table->slot);
    table->slot = slot;
    table->n_slots = n_slots;
    return GSL_SUCCESS;
}

int spec_merge_table_add(spec_merge_table *table, spec_merge merge, spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(merge.left >= 0 && merge.right >= 0 && merge.rank < none);
    if (2 * (table->n + 1) > table->n_slots) SPEC_TRY(grow(table, error));
    spec_merge *slot = slot_of(table->slot, table->n_slots, merge.left, merge.right);
    if (slot->left < 0) {
        *slot = merge;
        table->n++;
    }
done:
    return status;
}

/* Returns the rank of a pair, or `none`, and the result of merging it. */
static uint32_t rank_of(const spec_merge_table *table, int left, int right, int *ret_symbol)
{
    const spec_merge *merge = spec_merge_table_find(table, left, right);
    if (merge == NULL) return none;
    *ret_symbol = merge->symbol;
    return merge->rank;
}

static size_t apply_few(const spec_merge_table *table, int *symbol, size_t n)
{
    uint32_t rank[FEW]; /* rank of the pair that begins at i; no pair begins at the last symbol */
    int merged[FEW];
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = rank_of(table, symbol[i], symbol[i + 1], &merged[i]);
    rank[n - 1] = none;
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            if (rank[i] < rank[best]) best = i;
        }
        if (rank[best] == none) return n;
        symbol[best] = merged[best];
        n--;
        const size_t after = n - best - 1;
        memmove(symbol + best + 1, symbol + best + 2, after * sizeof *symbol);
        memmove(merged + best + 1, merged + best + 2, after * sizeof *merged);
        memmove(rank + best + 1, rank + best + 2, after * sizeof *rank);
        if (best > 0)
            rank[best - 1] = rank_of(table, symbol[best - 1], symbol[best], &merged[best - 1]);
        rank[best] =
            best + 1 < n ? rank_of(table, symbol[best], symbol[best + 1], &merged[best]) : none;
    }
}

/* A row of symbols as a linked list, with a heap of its pairs. A key of the heap has a rank in its
 * upper half and a position in its lower half; it is stale if the pair at this position now has
 * another rank. */
typedef struct {
    const spec_merge_table *table;
    int *symbol;
    uint64_t *heap; /* (2n): every merge adds two pairs and removes one */
    size_t n_heap;
    uint32_t *next, *before, *rank;
    int *merged;
} row;

static void sift_down(row *r, size_t i, uint64_t key)
{
    for (size_t child; (child = 2 * i + 1) < r->n_heap; i = child) {
        if (child + 1 < r->n_heap && r->heap[child + 1] < r->heap[child]) child++;
        if (r->heap[child] >= key) break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = key;
}

static void push(row *r, uint64_t key)
{
    size_t i = r->n_heap++;
    for (; i > 0 && r->heap[(i - 1) / 2] > key; i = (i - 1) / 2) r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = key;
}

static uint64_t pop(row *r)
{
    const uint64_t least = r->heap[0], last = r->heap[--r->n_heap];
    if (r->n_heap > 0) sift_down(r, 0, last);
    return least;
}

/* Finds the rank of the pair that begins at a position; returns true if the pair can merge. */
static bool look(row *r, uint32_t at)
{
    const uint32_t next = r->next[at];
    r->rank[at] =
        next == none ? none : rank_of(r->table, r->symbol[at], r->symbol[next], &r->merged[at]);
    return r->rank[at] != none;
}

static uint64_t key_of(const row *r, uint32_t at)
{
    return (uint64_t)r->rank[at] << 32 | at;
}

static void merge_pair(row *r, uint32_t at)
{
    const uint32_t gone = r->next[at], next = r->next[gone], before = r->before[at];
    r->symbol[at] = r->merged[at];
    r->rank[gone] = none;
    r->next[at] = next;
    if (next != none) r->before[next] = at;
    if (before != none && look(r, before)) push(r, key_of(r, before));
    if (look(r, at)) push(r, key_of(r, at));
}

static size_t apply_many(row *r, uint32_t n)
{
    r->n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        r->before[i] = i == 0 ? none : i - 1;
        r->next[i] = i + 1 == n ? none : i + 1;
        if (look(r, i)) r->heap[r->n_heap++] = key_of(r, i);
    }
    for (size_t i = r->n_heap / 2; i-- > 0;) sift_down(r, i, r->heap[i]);
    while (r->n_heap > 0) {
        const uint64_t key = pop(r);
        const uint32_t at = (uint32_t)key;
        if (r->rank[at] == key >> 32) merge_pair(r, at);
    }
    size_t left = 0;
    for (uint32_t i = 0; i != none; i = r->next[i]) r->symbol[left++] = r->symbol[i];
    return left;
}

void spec_merger_free(spec_merger *merger)
{
    free(merger->memory);
    *merger = (spec_merger){0};
}

int spec_merge_table_apply(const spec_merge_table *table, int *symbol, size_t n, size_t *ret_n,
                           spec_merger *merger)
{
    assert(n < none);
    *ret_n = n;
    if (n < 2) return GSL_SUCCESS;
    if (n <= FEW) {
        *ret_n = apply_few(table, symbol, n);
        return GSL_SUCCESS;
    }
    if (n > merger->capacity) {
        const size_t capacity = 2 * n;
        spec_merger_free(merger);
        merger->memory =
            malloc(capacity * (2 * sizeof(uint64_t) + 3 * sizeof(uint32_t) + sizeof(int)));
        if (merger->memory == NULL) return GSL_ENOMEM;
        merger->capacity = capacity;
    }
    row r = {.table = table, .symbol = symbol, .heap = merger->memory};
    r.next = (uint32_t *)(void *)(r.heap + 2 * n);
    r.before = r.next + n;
    r.rank = r.before + n;
    r.merged = (int *)(void *)(r.rank + n);
    *ret_n = apply_many(&r, (uint32_t)n);
    return GSL_SUCCESS;
}
