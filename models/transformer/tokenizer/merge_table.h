/* SPDX-License-Identifier: GPL-3.0-or-later */
/* merge_table: knows which neighbouring symbols merge into one, and in which order.
 * The pair with the lowest rank merges first (the leftmost if there are several), and so on until
 * no pair is in the table. This is byte pair encoding [Sennrich16]. The table is immutable once
 * filled; a merger belongs to one thread. */
#ifndef SPECLAB_MERGE_TABLE_H
#define SPECLAB_MERGE_TABLE_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Symbols are numbers >= 0; ranks are below UINT32_MAX. */
typedef struct {
    int left, right; /* left -1: the slot is free */
    int symbol;      /* the merged symbol */
    uint32_t rank;
} spec_merge;

typedef struct {
    spec_merge *slot;
    size_t n_slots, n; /* a power of two; slots taken */
} spec_merge_table;

int spec_merge_table_init(spec_merge_table *table, spec_error *error);
void spec_merge_table_free(spec_merge_table *table); /* may be zeroed */

/* Adds a merge; if a pair has several, the first one counts. */
int spec_merge_table_add(spec_merge_table *table, spec_merge merge, spec_error *error);

/* Returns the merge of a pair, or NULL. */
const spec_merge *spec_merge_table_find(const spec_merge_table *table, int left, int right);

/* Workspace; zero it before the first use. */
typedef struct {
    void *memory;
    size_t capacity; /* the maximum number of symbols */
} spec_merger;

void spec_merger_free(spec_merger *merger);

/* Merges a row of n < 2^32 symbols in place; *ret_n remain. Takes time O(n log n). If it returns
 * GSL_ENOMEM, they are unchanged. */
int spec_merge_table_apply(const spec_merge_table *table, int *symbol, size_t n, size_t *ret_n,
                           spec_merger *merger);

#endif
