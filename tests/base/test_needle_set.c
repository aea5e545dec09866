/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/needle_set.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>

static spec_needle_set set;

static int begin(void **state)
{
    (void)state;
    memset(&set, 0, sizeof set);
    return 0;
}

/* The first position of any string, by looking at each position. */
static const char *plain_find(const char *const *needle, int n_needles, const char *bytes, size_t n)
{
    const char *first = NULL;
    for (int i = 0; i < n_needles; i++) {
        const char *at = memmem(bytes, n, needle[i], strlen(needle[i]));
        if (at != NULL && (first == NULL || at < first)) first = at;
    }
    return first;
}

TEST(strings_are_found_where_they_are)
{
    static const char *const needle[] = {"draft acceptance", "abc", "SpecDecoding metrics: "};
    static const char *const text[] = {
        "",
        "ab",
        "abc",
        "xxabc",
        "draft acceptanc",
        "draft acceptance",
        "INFO SpecDecoding metrics: Mean abc",
        "SpecDecoding metrics:",
        "ababababc",
    };
    for (int i = 0; i < 3; i++) assert_true(spec_needle_set_add(&set, needle[i]));
    spec_needle_set_ready(&set);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        assert_ptr_equal(spec_needle_set_find(&set, text[i], strlen(text[i])),
                         plain_find(needle, 3, text[i], strlen(text[i])));
}

/* Texts of few letters, so that strings overlap and nearly match often. */
TEST(random_texts_give_what_a_plain_search_gives)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int found = 0;
    for (int trial = 0; trial < 3000; trial++) {
        char strings[5][16], text[120];
        const char *needle[5];
        const unsigned long letters = 1 + gsl_rng_uniform_int(rng, 4);
        const int n_needles = 1 + (int)gsl_rng_uniform_int(rng, 5);
        const size_t n = gsl_rng_uniform_int(rng, sizeof text);
        memset(&set, 0, sizeof set);
        for (int i = 0; i < n_needles; i++) {
            const size_t length = 3 + gsl_rng_uniform_int(rng, 8);
            for (size_t k = 0; k < length; k++)
                strings[i][k] = (char)('a' + gsl_rng_uniform_int(rng, letters));
            strings[i][length] = '\0';
            needle[i] = strings[i];
            assert_true(spec_needle_set_add(&set, needle[i]));
        }
        for (size_t k = 0; k < n; k++) text[k] = (char)('a' + gsl_rng_uniform_int(rng, letters));
        spec_needle_set_ready(&set);
        const char *expected = plain_find(needle, n_needles, text, n);
        assert_ptr_equal(spec_needle_set_find(&set, text, n), expected);
        found += expected != NULL;
    }
    assert_in_range(found, 500, 2500);
}

TEST(long_strings_keep_to_the_window)
{
    static char needle[1001], text[3000];
    for (int i = 0; i < 1000; i++) needle[i] = (char)('a' + i % 23 + i / 300);
    memset(text, 'b', sizeof text);
    memcpy(text + 1999, needle, 1000);
    assert_true(spec_needle_set_add(&set, needle));
    spec_needle_set_ready(&set);
    assert_int_equal(set.window, 255);
    assert_ptr_equal(spec_needle_set_find(&set, text, sizeof text), text + 1999);
    assert_null(spec_needle_set_find(&set, text, sizeof text - 2));
}

TEST(short_strings_and_full_sets_are_refused)
{
    assert_false(spec_needle_set_add(&set, "ab"));
    spec_needle_set_ready(&set);
    assert_null(spec_needle_set_find(&set, "abc", 3)); /* nothing to find */
    for (int i = 0; i < SPEC_NEEDLE_SET_MOST; i++) assert_true(spec_needle_set_add(&set, "abc"));
    assert_false(spec_needle_set_add(&set, "abc"));
    assert_int_equal(set.n, SPEC_NEEDLE_SET_MOST);
}

SUITE(.before_each = begin);
