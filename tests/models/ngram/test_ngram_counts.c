/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks counts in a hash table against pairwise comparison, and the radix sort against qsort. */
#include "models/ngram/ngram_counts.h"
#include "models/ngram/radix.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>

static int stride_now, words_now;

static int by_key(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    for (int w = words_now - 1; w >= 0; w--) {
        if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
    }
    return 0;
}

TEST(radix_sort_agrees_with_qsort)
{
    enum { N = 3000 };
    static uint64_t record[3 * N], workspace[3 * N], expected[3 * N];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (words_now = 1; words_now <= 2; words_now++) {
        for (stride_now = words_now; stride_now <= words_now + 1; stride_now++) {
            for (int mask = 0; mask < 3; mask++) {
                static const uint64_t kept[] = {UINT64_MAX, 0x00FF00000000F00Fu, 7};
                for (size_t i = 0; i < N * (size_t)stride_now; i++) {
                    const uint64_t high = gsl_rng_get(rng), low = gsl_rng_get(rng);
                    record[i] = (high << 32 | low) & kept[mask];
                }
                /* The payload follows its key, so equal keys may come in any order. */
                for (size_t i = 0; i < N && stride_now > words_now; i++) {
                    uint64_t *at = record + i * (size_t)stride_now;
                    at[words_now] = at[0] * 31 + (words_now == 2 ? at[1] : 0);
                }
                memcpy(expected, record, sizeof record);
                qsort(expected, N, (size_t)stride_now * sizeof *expected, by_key);
                const uint64_t *sorted =
                    spec_radix_sort(record, workspace, N, stride_now, words_now);
                assert_memory_equal(sorted, expected, N * (size_t)stride_now * sizeof *expected);
            }
        }
    }
    assert_ptr_equal(spec_radix_sort(record, workspace, 0, 2, 1), record);
}

/* Finds every n-gram of a text again, by comparison at every position. */
TEST(counts_equal_those_by_comparison)
{
    enum { N = 900, BREAK = 333 };
    static int token[N];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int vocab = 5; vocab <= 1 << 20; vocab *= 59) {
        for (int i = 0; i < N; i++) token[i] = (int)gsl_rng_uniform_int(rng, 5) * (vocab / 5);
        for (int order = 1; order <= SPEC_NGRAM_ORDER_MAX; order++) {
            spec_ngram_counts counts;
            uint64_t *record;
            size_t n;
            assert_works(spec_ngram_counts_init(&counts, order, vocab, &error));
            assert_works(spec_ngram_counts_push(&counts, token, BREAK, &error));
            spec_ngram_counts_boundary(&counts);
            assert_works(spec_ngram_counts_push(&counts, token + BREAK, N - BREAK, &error));
            const int words = counts.words, bits = counts.bits;
            assert_int_equal(words, order * bits > 64 ? 2 : 1);
            assert_works(spec_ngram_counts_sort(&record, &n, &counts, &error));
            uint64_t total = 0;
            for (size_t i = 0; i < n; i++) {
                const uint64_t *here = record + i * ((size_t)words + 1);
                words_now = words;
                if (i > 0) assert_true(by_key(here - words - 1, here) < 0);
                uint64_t count = 0;
                for (int at = 0; at + order <= N; at++) {
                    if (at < BREAK && at + order > BREAK) continue;
                    int same = 1;
                    spec_ngram_key key = {{here[0], words == 2 ? here[1] : 0}};
                    for (int j = order - 1; j >= 0; j--) {
                        same &=
                            spec_ngram_key_tail(key, 1, bits).word[0] == (uint64_t)token[at + j];
                        key.word[0] = key.word[0] >> bits | key.word[1] << (64 - bits);
                        key.word[1] >>= bits;
                    }
                    count += (uint64_t)same;
                }
                assert_int_equal(here[words], count);
                total += count;
            }
            assert_int_equal(total, (BREAK - order + 1) + (N - BREAK - order + 1));
            for (int k = 1; k < order; k++) assert_in_range(counts.opening[k].n, 1, 2);
            free(record);
            spec_ngram_counts_free(&counts);
        }
    }
}

TEST(the_table_grows_without_losing_a_count)
{
    enum { N = 60000 };
    static int token[N];
    for (int i = 0; i < N; i++) token[i] = i % 20000;
    OWNED(spec_ngram_counts) counts;
    FREED uint64_t *record;
    size_t n;
    assert_works(spec_ngram_counts_init(&counts, 2, 20000, &error));
    for (int i = 0; i < N; i += 1000)
        assert_works(spec_ngram_counts_push(&counts, token + i, 1000, &error));
    assert_works(spec_ngram_counts_sort(&record, &n, &counts, &error));
    assert_int_equal(n, 20000);
    for (size_t i = 0; i + 1 < n; i++) assert_int_equal(record[2 * i + 1], 3);
    assert_int_equal(record[2 * n - 1], 2); /* 19999 0 */
}

TEST(too_many_tokens_are_refused)
{
    OWNED(spec_ngram_counts) counts;
    assert_works(spec_ngram_counts_init(&counts, 2, 4, &error));
    counts.tokens = UINT32_MAX - 2;
    assert_works(spec_ngram_counts_push(&counts, (int[]){1, 2}, 2, &error));
    assert_fails_with(spec_ngram_counts_push(&counts, (int[]){1}, 1, &error), GSL_EINVAL, "limit=");
}
