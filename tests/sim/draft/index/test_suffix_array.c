/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/suffix_array.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

enum { N_MAX = 120, STRING_MAX = 9 };

static const int *sorted_text;
static int sorted_n, sorted_reach;

/* The order by definition: the first tokens, a shorter text first, then the position. */
static int by_suffix(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;
    for (int i = 0; i < sorted_reach; i++) {
        const int x = a + i < sorted_n ? sorted_text[a + i] : -1,
                  y = b + i < sorted_n ? sorted_text[b + i] : -1;
        if (x != y) return x < y ? -1 : 1;
        if (x < 0) break;
    }
    return a < b ? -1 : a > b;
}

/* Returns the smallest power of 2 that is at least `reach`: the width that is actually sorted. */
static int width_of(int reach)
{
    int width = 1;
    while (width < reach) width *= 2;
    return width;
}

/* Texts are random, of one token, periodic, or have a vocabulary as large as the text. */
static int make_text(int *text, int kind, int n, uint64_t *noise)
{
    const int V = kind == 3 ? n + 1 : 1 + (int)(3.0 * table_uniform(noise));
    for (int i = 0; i < n; i++)
        text[i] = kind == 1 ? 0 : kind == 2 ? i % 5 % V : (int)(V * table_uniform(noise));
    return V;
}

TEST(positions_are_in_the_order_of_what_follows, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(2000);
    for (uint64_t t = 0; t < times; t++) {
        int text[N_MAX], expected[N_MAX];
        const int n = (int)(N_MAX * table_uniform(&noise)), reach = 1 + (int)(t % 40);
        const int V = make_text(text, (int)(t / 40 % 4), n, &noise);
        OWNED(spec_suffix_array) array;
        assert_int_equal(spec_suffix_array_init(&array, text, n, V, reach, NULL), GSL_SUCCESS);
        for (int i = 0; i < n; i++) expected[i] = i;
        sorted_text = text;
        sorted_n = n;
        sorted_reach = width_of(reach);
        qsort(expected, (size_t)n, sizeof *expected, by_suffix);
        assert_memory_equal(array.position, expected, (size_t)n * sizeof *expected);
    }
}

static int occurrences(const int *text, int n, const int *string, int length)
{
    int count = 0;
    for (int i = 0; i + length <= n; i++)
        count += memcmp(text + i, string, (size_t)length * sizeof *string) == 0;
    return count;
}

TEST(a_string_is_found_as_often_as_it_occurs, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(4000);
    uint64_t found = 0;
    for (uint64_t t = 0; t < times; t++) {
        int text[N_MAX], string[STRING_MAX], low, high;
        const int n = (int)(N_MAX * table_uniform(&noise));
        const int V = make_text(text, (int)(t % 4), n, &noise);
        const int length = 1 + (int)(STRING_MAX * table_uniform(&noise));
        for (int i = 0; i < length; i++) string[i] = (int)(V * table_uniform(&noise));
        if (t % 2 == 0 && n > length) /* one that occurs */
            memcpy(string, text + (int)((n - length) * table_uniform(&noise)),
                   (size_t)length * sizeof *string);
        OWNED(spec_suffix_array) array;
        assert_int_equal(spec_suffix_array_init(&array, text, n, V, STRING_MAX, NULL), GSL_SUCCESS);
        spec_suffix_array_find(&low, &high, &array, string, length);
        assert_int_equal(high - low, occurrences(text, n, string, length));
        for (int i = low; i < high; i++)
            assert_memory_equal(text + array.position[i], string, (size_t)length * sizeof *string);
        found += high > low;
    }
    assert_true(found > times / 4);
}

TEST(neighbours_end_where_their_token_changes)
{
    enum { N = 100, REACH = 6 };
    uint64_t noise = spec_test_seed();
    for (int t = 0; t < 200; t++) {
        int text[N];
        const int V = make_text(text, t % 4, N, &noise);
        OWNED(spec_suffix_array) array;
        assert_int_equal(spec_suffix_array_init(&array, text, N, V, REACH, NULL), GSL_SUCCESS);
        for (int length = 0; length < REACH; length++) {
            int low = 0, high = N;
            if (length > 0) spec_suffix_array_find(&low, &high, &array, text, length);
            if (low < high && array.position[low] + length == N) low++;
            while (low < high) {
                const int token = text[array.position[low] + length];
                int end = low;
                while (end < high && text[array.position[end] + length] == token) end++;
                assert_int_equal(spec_suffix_array_end(&array, low, high, length), end);
                low = end;
            }
        }
    }
}
