/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the law of the n-gram model against its definition, evaluated position by position. */
#include "models/ngram/kneser_ney.h"

#include "models/row.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { TEXTS_MAX = 8, TOKENS_MAX = 4000 };

/* Texts, one after the other: text t is token[begin[t]] to token[begin[t + 1] - 1]. */
typedef struct {
    int vocab, n_texts;
    size_t begin[TEXTS_MAX + 1];
    int token[TOKENS_MAX];
} texts;

/* ---- the definition -------------------------------------------------------------------------- */

/* Returns whether `gram` (k tokens) occurs at position i, within text t. */
static int stands_at(const texts *all, int t, size_t i, const int *gram, int k)
{
    return i + (size_t)k <= all->begin[t + 1] &&
           memcmp(all->token + i, gram, (size_t)k * sizeof *gram) == 0;
}

/* Returns c_k of a k-gram in a model of order `order`: the number of occurrences at the highest
 * order, and of different left neighbours below it, where the beginning of a text counts as one. */
static double count_by_definition(const texts *all, int order, const int *gram, int k)
{
    double count = 0.0;
    int begins = 0, n_seen = 0;
    static int seen[TOKENS_MAX];
    for (int t = 0; t < all->n_texts; t++) {
        for (size_t i = all->begin[t]; i < all->begin[t + 1]; i++) {
            if (!stands_at(all, t, i, gram, k)) continue;
            if (k == order) count += 1.0;
            if (k == order) continue;
            if (i == all->begin[t]) {
                begins = 1;
                continue;
            }
            int known = 0;
            for (int s = 0; s < n_seen; s++) known |= seen[s] == all->token[i - 1];
            if (!known) seen[n_seen++] = all->token[i - 1];
        }
    }
    return k == order ? count : n_seen + begins;
}

static double discount_by_definition(const texts *all, int order, int k)
{
    int once = 0, twice = 0;
    for (int t = 0; t < all->n_texts; t++) {
        for (size_t i = all->begin[t]; i + (size_t)k <= all->begin[t + 1]; i++) {
            int first = 1;
            for (int s = 0; s <= t && first; s++) {
                for (size_t j = all->begin[s]; j < (s == t ? i : all->begin[s + 1]) && first; j++) {
                    first = !stands_at(all, s, j, all->token + i, k);
                }
            }
            if (!first) continue;
            const double count = count_by_definition(all, order, all->token + i, k);
            once += count == 1.0;
            twice += count == 2.0;
        }
    }
    return once == 0 || twice == 0 ? 0.5 : once / (once + 2.0 * twice);
}

/* Computes P_k(. | the last k-1 tokens of the context) by its recursion. */
static void row_by_definition(double *row, const texts *all, int order, int k,
                              const double *discount, const int *context, size_t n)
{
    if (k == 0) {
        for (int w = 0; w < all->vocab; w++) row[w] = 1.0 / all->vocab;
        return;
    }
    row_by_definition(row, all, order, k - 1, discount, context, n);
    if ((size_t)k > n + 1) return;
    int gram[SPEC_NGRAM_ORDER_MAX] = {0};
    for (int i = 0; i < k - 1; i++) gram[i] = context[n - (size_t)(k - 1) + (size_t)i];
    double *count = calloc((size_t)all->vocab, sizeof *count), total = 0.0, distinct = 0.0;
    for (int w = 0; w < all->vocab; w++) {
        gram[k - 1] = w;
        count[w] = count_by_definition(all, order, gram, k);
        total += count[w];
        distinct += count[w] > 0.0;
    }
    for (int w = 0; w < all->vocab && total > 0.0; w++) {
        row[w] =
            fmax(count[w] - discount[k], 0.0) / total + discount[k] * distinct / total * row[w];
    }
    free(count);
}

/* ---- the texts ------------------------------------------------------------------------------- */

static const size_t some_lengths[TEXTS_MAX] = {90, 1, 0, 2, 40, 3, 5, 60};

/* Draws texts from a bursty source of `used` different tokens, spread over the vocabulary. */
static void make_texts(texts *all, int vocab, int used, gsl_rng *rng)
{
    *all = (texts){.vocab = vocab, .n_texts = TEXTS_MAX};
    size_t n = 0;
    for (int t = 0; t < TEXTS_MAX; t++) {
        all->begin[t] = n;
        for (size_t i = 0; i < some_lengths[t]; i++) {
            const int old = n == 0 ? 0 : all->token[n - 1] / (vocab / used);
            const int next = gsl_rng_uniform(rng) < 0.63
                                 ? (old * 3 + 1) % used
                                 : (int)gsl_rng_uniform_int(rng, (unsigned long)used);
            all->token[n++] = next * (vocab / used) + (vocab > used ? 1 : 0);
        }
    }
    all->begin[TEXTS_MAX] = n;
}

static void learn(spec_kneser_ney *law, const texts *all, int order, size_t step)
{
    OWNED(spec_ngram_counts) counts;
    assert_works(spec_ngram_counts_init(&counts, order, all->vocab, &error));
    for (int t = 0; t < all->n_texts; t++) {
        for (size_t i = all->begin[t]; i < all->begin[t + 1]; i += step) {
            const size_t left = all->begin[t + 1] - i;
            assert_works(
                spec_ngram_counts_push(&counts, all->token + i, left < step ? left : step, &error));
        }
        spec_ngram_counts_boundary(&counts);
    }
    assert_works(spec_kneser_ney_init(law, &counts, all->vocab, &error));
}

/* Draws a context of 0..7 tokens, half of the time from the text, otherwise at random. */
static size_t draw_context(int *context, const texts *all, gsl_rng *rng)
{
    const size_t n = gsl_rng_uniform_int(rng, 8), total = all->begin[all->n_texts];
    const size_t from = gsl_rng_uniform_int(rng, total - n);
    const int seen = gsl_rng_uniform(rng) < 0.5;
    for (size_t i = 0; i < n; i++) {
        context[i] = seen || gsl_rng_uniform(rng) < 0.7
                         ? all->token[from + i]
                         : (int)gsl_rng_uniform_int(rng, (unsigned long)all->vocab);
    }
    return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(rows_equal_the_definition_at_every_order, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static texts all;
    for (int order = 1; order <= SPEC_NGRAM_ORDER_MAX; order++) {
        for (int vocab = 7; vocab <= 300; vocab += 293) {
            make_texts(&all, vocab, 7, rng);
            OWNED(spec_kneser_ney) law;
            learn(&law, &all, order, (size_t)order);
            double discount[SPEC_NGRAM_ORDER_MAX + 1] = {0};
            for (int k = 1; k <= order; k++) {
                discount[k] = discount_by_definition(&all, order, k);
                assert_within(law.discount[k], discount[k], 1e-15);
                assert_true(law.discount[k] > 0.0 && law.discount[k] < 1.0);
            }
            double *row = malloc((size_t)vocab * sizeof *row),
                   *scratch = malloc((size_t)vocab * sizeof *row);
            for (uint64_t i = 0; i < spec_test_samples(vocab == 7 ? 100 : 8); i++) {
                int context[8];
                const size_t n = draw_context(context, &all, rng);
                row_by_definition(row, &all, order, order, discount, context, n);
                const double *found = spec_kneser_ney_row(&law, context, n, scratch);
                for (int w = 0; w < vocab; w++) assert_within(found[w], row[w], 1e-12);
            }
            free(row);
            free(scratch);
        }
    }
}

TEST(rows_are_positive_and_sum_to_one, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static texts all;
    static double scratch[40000];
    for (int order = 1; order <= SPEC_NGRAM_ORDER_MAX; order++) {
        static const int vocabs[] = {2, 256, 40000};
        for (int v = 0; v < 3; v++) {
            make_texts(&all, vocabs[v], vocabs[v] < 50 ? vocabs[v] : 50, rng);
            OWNED(spec_kneser_ney) law;
            learn(&law, &all, order, 1000);
            for (uint64_t i = 0; i < spec_test_samples(40); i++) {
                int context[8];
                const size_t n = draw_context(context, &all, rng);
                const double *row = spec_kneser_ney_row(&law, context, n, scratch);
                assert_within(spec_row_sum(row, law.vocab), 1.0, 1e-12);
                for (int w = 0; w < law.vocab; w++) assert_true(row[w] > 0.0);
            }
        }
    }
}

/* Tokens multiplied by 2^15 need keys of two words, and give the same law. */
TEST(two_word_keys_give_the_rows_of_one_word_keys)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static texts narrow, wide;
    make_texts(&narrow, 32, 32, rng);
    wide = narrow;
    wide.vocab = 1 << 20;
    for (size_t i = 0; i < TOKENS_MAX; i++) wide.token[i] = narrow.token[i] << 15;
    FREED double *scratch = malloc((size_t)wide.vocab * sizeof *scratch);
    for (int order = 3; order <= 6; order++) {
        spec_kneser_ney a, b;
        learn(&a, &narrow, order, 100);
        learn(&b, &wide, order, 100);
        assert_int_equal(a.n_contexts, b.n_contexts);
        assert_int_equal(a.n_successors, b.n_successors);
        for (size_t i = 0; i < a.n_contexts; i++) {
            assert_int_equal(a.context[i].n, b.context[i].n);
            assert_int_equal(a.context[i].total, b.context[i].total);
        }
        for (size_t i = 0; i < a.n_successors; i++) {
            assert_int_equal(a.successor[i].token << 15, b.successor[i].token);
            assert_int_equal(a.successor[i].count, b.successor[i].count);
        }
        for (int i = 0; i < 5; i++) {
            int context[8], scaled[8];
            double row[32];
            const size_t n = draw_context(context, &narrow, rng);
            for (size_t j = 0; j < n; j++) scaled[j] = context[j] << 15;
            const double *few = spec_kneser_ney_row(&a, context, n, row);
            const double *many = spec_kneser_ney_row(&b, scaled, n, scratch);
            /* The laws differ only in their uniform part, which is at most P_0 = 1/32 or 2^-20. */
            double gap[32], unseen = many[1];
            for (int w = 0; w < 32; w++) gap[w] = few[w] - (many[w << 15] - unseen);
            for (int w = 1; w < 32; w++) assert_within(gap[w], gap[0], 1e-12);
        }
        spec_kneser_ney_free(&a);
        spec_kneser_ney_free(&b);
    }
}

/* "abab|a" at order 2, by hand: c_2: ab 2, ba 1, so D_2 = 1 / (1 + 2) = 1/3. c_1: a has b and the
 * beginning before it, 2; b has a, 1: D_1 = 1/3, P_1(a) = (2 - 1/3) / 3 + (1/3) (2/3) (1/2) = 5/9 +
 * 1/9 = 2/3, P_1(b) = 1/3. P_2(a | b) = (1
 * - 1/3) / 1 + (1/3) (2/3) = 8/9. */
TEST(a_text_of_two_letters_by_hand)
{
    static texts all = {.vocab = 2, .n_texts = 2, .begin = {0, 4, 5}, .token = {0, 1, 0, 1, 0}};
    OWNED(spec_kneser_ney) law;
    double scratch[2];
    learn(&law, &all, 2, 5);
    assert_within(law.discount[2], 1.0 / 3.0, 1e-15);
    assert_within(spec_kneser_ney_row(&law, NULL, 0, scratch)[0], 2.0 / 3.0, 1e-15);
    assert_within(spec_kneser_ney_row(&law, (int[]){1}, 1, scratch)[0], 8.0 / 9.0, 1e-15);
    assert_within(spec_kneser_ney_row(&law, (int[]){0, 0}, 2, scratch)[1],
                  5.0 / 6.0 + 1.0 / 6.0 / 3.0, 1e-15);
}

/* Order 1, 4 tokens. "ab": n_2 = 0, and the estimate would be 1; P(a) = (1 - 1/2) / 2 + (1/2) (2/2)
 * (1/4) = 3/8. "aabb": n_1 = 0, and it would be 0; P(a) = (2 - 1/2) / 4 + (1/2) (2/4) (1/4) = 7/16.
 * "aaabbb": n_1 = n_2 = 0; P(c) = (1/2) (2/6) (1/4) = 1/24. */
TEST(a_discount_that_cannot_be_estimated_is_a_half)
{
    static texts once = {.vocab = 4, .n_texts = 1, .begin = {0, 2}, .token = {0, 1}};
    static texts twice = {.vocab = 4, .n_texts = 1, .begin = {0, 4}, .token = {0, 0, 1, 1}};
    static texts often = {.vocab = 4, .n_texts = 1, .begin = {0, 6}, .token = {0, 0, 0, 1, 1, 1}};
    const struct {
        const texts *text;
        int token;
        double expected;
    } known[] = {{&once, 0, 3.0 / 8.0},
                 {&once, 3, 1.0 / 8.0},
                 {&twice, 1, 7.0 / 16.0},
                 {&often, 2, 1.0 / 24.0}};
    for (int i = 0; i < 4; i++) {
        OWNED(spec_kneser_ney) law;
        learn(&law, known[i].text, 1, 3);
        assert_within(law.discount[1], 0.5, 0.0);
        assert_within(spec_kneser_ney_row(&law, NULL, 0, NULL)[known[i].token], known[i].expected,
                      1e-15);
    }
}

TEST(no_text_at_all_gives_the_uniform_row)
{
    static texts none = {.vocab = 5};
    for (int order = 1; order <= 6; order++) {
        OWNED(spec_kneser_ney) law;
        double scratch[5];
        learn(&law, &none, order, 1);
        for (int w = 0; w < 5; w++) {
            assert_within(spec_kneser_ney_row(&law, (int[]){1, 2}, 2, scratch)[w], 0.2, 1e-15);
        }
    }
}

TEST(a_row_depends_on_the_last_tokens_alone)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static texts all;
    make_texts(&all, 9, 9, rng);
    OWNED(spec_kneser_ney) law;
    learn(&law, &all, 4, 7);
    for (int i = 0; i < 200; i++) {
        int context[8];
        double a[9], b[9];
        const size_t n = draw_context(context, &all, rng), kept = n < 3 ? n : 3;
        const double *whole = spec_kneser_ney_row(&law, context, n, a);
        const double *tail = spec_kneser_ney_row(&law, context + n - kept, kept, b);
        assert_memory_equal(whole, tail, sizeof a);
    }
}

TEST(threads_read_the_same_rows)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { ROWS = 400 };
    static texts all;
    static int context[ROWS][8];
    static size_t length[ROWS];
    static double alone[ROWS][60], together[2][ROWS][60];
    make_texts(&all, 60, 20, rng);
    OWNED(spec_kneser_ney) law;
    learn(&law, &all, 5, 64);
    double scratch[60];
    for (int i = 0; i < ROWS; i++) {
        length[i] = draw_context(context[i], &all, rng);
        memcpy(alone[i], spec_kneser_ney_row(&law, context[i], length[i], scratch),
               sizeof alone[i]);
    }
#pragma omp parallel num_threads(2)
    {
        const int me = omp_get_thread_num();
        double mine[60];
        for (int i = 0; i < ROWS; i++) {
            const int j = me == 0 ? i : ROWS - 1 - i;
            memcpy(together[me][j], spec_kneser_ney_row(&law, context[j], length[j], mine),
                   sizeof mine);
        }
    }
    assert_memory_equal(together[0], alone, sizeof alone);
    if (omp_get_max_threads() > 1) assert_memory_equal(together[1], alone, sizeof alone);
}
