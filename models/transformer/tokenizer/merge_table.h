/* merge_table: which two neighbours in a row of symbols become one, and in which order.
 * Time after time the pair of the lowest rank is merged, the leftmost first among equals, until no pair is in the
 * table: byte pair encoding [Sennrich16]. The table is immutable once it is filled; a merger is one thread's. */
#ifndef SPECLAB_MERGE_TABLE_H
#define SPECLAB_MERGE_TABLE_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Symbols are numbers >= 0; ranks are below UINT32_MAX. */
typedef struct {
    int left, right; /* left -1: the slot is free */
    int symbol;      /* what they become */
    uint32_t rank;
} spec_merge;

typedef struct {
    spec_merge *slot;
    size_t n_slots, n; /* a power of two; slots taken */
} spec_merge_table;

int spec_merge_table_init(spec_merge_table *table, spec_error *error);
void spec_merge_table_free(spec_merge_table *table); /* a zeroed one is fine */

/* Of two merges of the same pair the first one stays. */
int spec_merge_table_add(spec_merge_table *table, spec_merge merge, spec_error *error);

/* The merge of a pair, or NULL. */
const spec_merge *spec_merge_table_find(const spec_merge_table *table, int left, int right);

/* Workspace; zeroed to begin with. */
typedef struct {
    void *memory;
    size_t capacity; /* symbols that it is for */
} spec_merger;

void spec_merger_free(spec_merger *merger);

/* Merge a row of n < 2^32 symbols in place: *ret_n are left. Time O(n log n). GSL_ENOMEM leaves them as they were. */
int spec_merge_table_apply(const spec_merge_table *table, int *symbol, size_t n, size_t *ret_n, spec_merger *merger);

#endif
