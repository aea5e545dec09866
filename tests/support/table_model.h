/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table_model: a test model whose rows are in a table, one per context of at most two tokens.
 * A text shorter than two tokens has rows of its own, so every position of a short text has another
 * law. The model owns its table. */
#ifndef SPECLAB_TESTS_TABLE_MODEL_H
#define SPECLAB_TESTS_TABLE_MODEL_H

#include "models/model.h"
#include "models/synthetic/cases.h"

#include <stdint.h>

typedef struct {
    spec_model head;
    int n_rows;
    double *row;     /* (n_rows, V) */
    int fails_after; /* contexts of at least this many tokens fail; -1: never */
} table_model;

/* Makes an order-2 model whose rows are all uniform. Returns &model->head. */
const spec_model *table_model_init(table_model *model, int vocab);
void table_model_free(table_model *model);

/* Gives every context this row (V): an order-0 law. */
void table_model_fill(table_model *model, const double *row);

/* Returns the row after a context, by another route than the session's. */
const double *table_model_row(const table_model *model, const int *context, size_t n);

/* The families of models/synthetic/cases.h. */
typedef enum {
    PAIR_PLAIN = SPEC_CASES_PLAIN,
    PAIR_ZEROS = SPEC_CASES_ZEROS,
    PAIR_LEVELS = SPEC_CASES_LEVELS,
    PAIR_EQUAL = SPEC_CASES_EQUAL,
    PAIR_NEAR = SPEC_CASES_NEAR,
    PAIR_DISJOINT = SPEC_CASES_DISJOINT,
    PAIR_ONE_HOT = SPEC_CASES_ONE_HOT,
    PAIR_MIXED = SPEC_CASES_MIXED,
    PAIR_FAMILIES = SPEC_CASES_FAMILIES
} pair_family;

#define pair_family_names spec_cases_families

/* Fills both tables at random; `state` is the state of a SplitMix64 sequence. */
void table_pair_randomize(table_model *target, table_model *draft, pair_family family,
                          uint64_t *state);

double table_uniform(uint64_t *state); /* in (0,1) */

#endif
