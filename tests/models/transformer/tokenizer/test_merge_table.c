/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks merges against their definition: find the best pair, merge it, repeat. */
#include "models/transformer/tokenizer/merge_table.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>
#include <time.h>

static size_t by_definition(const spec_merge_table *table, int *symbol, size_t n)
{
    for (;;) {
        const spec_merge *best = NULL;
        size_t place = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const spec_merge *merge = spec_merge_table_find(table, symbol[i], symbol[i + 1]);
            if (merge != NULL && (best == NULL || merge->rank < best->rank)) {
                best = merge;
                place = i;
            }
        }
        if (best == NULL) return n;
        symbol[place] = best->symbol;
        n--;
        memmove(symbol + place + 1, symbol + place + 2, (n - place - 1) * sizeof *symbol);
    }
}

/* There are few symbols, so that merges interact, few ranks, so that they tie, and both short rows
 * and rows that need a heap. */
TEST(rows_merge_as_the_definition_says)
{
    enum { LONGEST = 150 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    OWNED(spec_merger) merger = {0};
    for (int round = 0; round < 300; round++) {
        OWNED(spec_merge_table) table;
        assert_works(spec_merge_table_init(&table, &error));
        const unsigned long symbols = 2 + gsl_rng_uniform_int(rng, 9),
                            ranks = 1 + gsl_rng_uniform_int(rng, 40);
        for (unsigned long i = gsl_rng_uniform_int(rng, symbols * symbols); i > 0; i--) {
            const spec_merge merge = {.left = (int)gsl_rng_uniform_int(rng, symbols),
                                      .right = (int)gsl_rng_uniform_int(rng, symbols),
                                      .symbol = (int)gsl_rng_uniform_int(rng, symbols),
                                      .rank = (uint32_t)gsl_rng_uniform_int(rng, ranks)};
            assert_works(spec_merge_table_add(&table, merge, &error));
        }
        for (int i = 0; i < 20; i++) {
            int fast[LONGEST], slow[LONGEST];
            size_t left;
            const size_t n = gsl_rng_uniform_int(rng, LONGEST + 1);
            for (size_t at = 0; at < n; at++)
                fast[at] = slow[at] = (int)gsl_rng_uniform_int(rng, symbols);
            assert_int_equal(spec_merge_table_apply(&table, fast, n, &left, &merger), GSL_SUCCESS);
            assert_int_equal(left, by_definition(&table, slow, n));
            assert_memory_equal(fast, slow, left * sizeof *fast);
        }
    }
}

TEST(of_two_merges_of_a_pair_the_first_stays)
{
    OWNED(spec_merge_table) table;
    assert_works(spec_merge_table_init(&table, &error));
    assert_works(spec_merge_table_add(&table, (spec_merge){1, 2, 3, 7}, &error));
    assert_works(spec_merge_table_add(&table, (spec_merge){1, 2, 4, 0}, &error));
    assert_int_equal(table.n, 1);
    assert_int_equal(spec_merge_table_find(&table, 1, 2)->symbol, 3);
    assert_null(spec_merge_table_find(&table, 2, 1));
}

/* Adds a hundred thousand pairs, all of which the table must keep while it grows. */
TEST(it_grows)
{
    OWNED(spec_merge_table) table;
    assert_works(spec_merge_table_init(&table, &error));
    for (int i = 0; i < 100000; i++) {
        const spec_merge merge = {i % 317, i / 317, i, (uint32_t)i};
        assert_works(spec_merge_table_add(&table, merge, &error));
    }
    for (int i = 0; i < 100000; i++) {
        const spec_merge *merge = spec_merge_table_find(&table, i % 317, i / 317);
        assert_non_null(merge);
        assert_int_equal(merge->symbol, i);
    }
    assert_null(spec_merge_table_find(&table, 317, 0));
}

/* A million equal symbols that merge pairwise to a few: by the definition this would take 10^12
 * steps. */
TEST(a_long_row_takes_no_square_of_its_length)
{
    enum { N = 1 << 20 };
    spec_merge_table table;
    spec_merger merger = {0};
    FREED int *symbol = calloc(N, sizeof *symbol);
    size_t left;
    assert_non_null(symbol);
    assert_works(spec_merge_table_init(&table, &error));
    for (int i = 0; i < 18; i++) {
        const spec_merge merge = {i, i, i + 1, 17 - (uint32_t)i};
        assert_works(spec_merge_table_add(&table, merge, &error));
    }
    const clock_t before = clock();
    assert_int_equal(spec_merge_table_apply(&table, symbol, N, &left, &merger), GSL_SUCCESS);
    assert_true(clock() - before < 10 * CLOCKS_PER_SEC);
    assert_int_equal(left, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(symbol[i], 18);
    spec_merger_free(&merger);
    spec_merge_table_free(&table);
}
