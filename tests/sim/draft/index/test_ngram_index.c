/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/ngram_index.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

enum { N_MAX = 700 };

static int nearest(const int *token, int n, int from, int step, int places)
{
    for (int i = from + step; i >= 0 && i < places; i += step)
        if (memcmp(token + i, token + from, (size_t)n * sizeof *token) == 0) return i;
    return -1;
}

static void check(const spec_ngram_index *index, const int *token, int length)
{
    const int places = length - index->n + 1;
    int numbers = 0;
    assert_int_equal(index->n_tokens, length);
    for (int i = 0; i < places; i++) {
        const int before = nearest(token, index->n, i, -1, places);
        const int after = nearest(token, index->n, i, 1, places), number = index->number[i];
        assert_int_equal(index->before[i], before);
        assert_int_equal(index->after[i], after);
        if (before >= 0) assert_int_equal(number, index->number[before]);
        if (before < 0) assert_int_equal(number, numbers++);
        if (before < 0) assert_int_equal(index->first[number], i);
        if (after < 0) assert_int_equal(index->last[number], i);
        assert_int_equal(index->mark[number], 0);
    }
    assert_int_equal(index->n_numbers, numbers);
}

TEST(equal_ngrams_share_a_number)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 60; c++) {
        OWNED(spec_ngram_index) index;
        int token[N_MAX], V = 1 + c % 6;
        spec_ngram_index_init(&index, 1 + c % 5);
        for (int text = 0; text < 3; text++) {
            const int length = (int)(table_uniform(&noise) * N_MAX);
            for (int i = 0; i < length; i++) token[i] = (int)(table_uniform(&noise) * V);
            for (int n = 0; n < length;) { /* it grows by some tokens, and in memory */
                n += 1 + (int)(table_uniform(&noise) * 200);
                if (n > length) n = length;
                assert_int_equal(spec_ngram_index_follow(&index, token, (size_t)n, NULL),
                                 GSL_SUCCESS);
                check(&index, token, n);
            }
            spec_ngram_index_reset(&index);
        }
    }
}

TEST(a_text_that_is_too_long_is_refused)
{
    OWNED(spec_ngram_index) index;
    spec_ngram_index_init(&index, 2);
    assert_fails_with(
        spec_ngram_index_follow(&index, NULL, (size_t)SPEC_NGRAM_INDEX_MAX + 1, &error), GSL_EINVAL,
        "too long");
}
