/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the table with a plain account, whose hash is a sum of powers, and which counts the
 * table's use when it is needed. */
#include "tests/support/copying_text.h"
#include "tests/support/support.h"

enum { BITS_MAX = 12 };

typedef struct {
    int n, m, n_min, size, next[1 << BITS_MAX];
    int added, n_low, given, prompts, streaks; /* number of resets by a prompt and by a streak */
} plain;

static int *entry(plain *p, const int *token)
{
    unsigned long long sum = 0;
    for (int i = 0; i < p->n; i++) {
        unsigned long long term = (unsigned long long)token[i];
        for (int j = i + 1; j < p->n; j++) term *= 6364136223846793005u;
        sum += term;
    }
    return &p->next[sum % (unsigned long long)p->size];
}

static void clear(plain *p)
{
    for (int i = 0; i < p->size; i++) p->next[i] = -1;
}

static void add(plain *p, const int *text, int end)
{
    for (; p->added < end - p->n; p->added++) *entry(p, text + p->added) = text[p->added + p->n];
}

static void begin(plain *p, const int *text, int length)
{
    int used = 0;
    p->added = 0;
    if (length < p->n) return;
    add(p, text, length);
    for (int i = 0; i < p->size; i++) used += p->next[i] >= 0;
    if (used * 4 <= p->size) return;
    clear(p);
    p->prompts++;
}

/* Returns the length of the draft, before K cuts it. */
static int plain_draft(plain *p, int *ret, const int *text, int length)
{
    int window[64];
    p->given = 0;
    if (length - 1 < p->n) return 0;
    if (p->added + 32 < length - 1) add(p, text, length - 1);
    for (int i = 0; i < p->n; i++) window[i] = text[length - p->n + i];
    int given = 0;
    while (given < p->m && (ret[given] = *entry(p, window + given)) >= 0) {
        window[p->n + given] = ret[given];
        given++;
    }
    return p->given = given == p->m || given >= p->n_min ? given : 0;
}

static void learn(plain *p, int n_accepted)
{
    p->n_low = n_accepted < 0.25 * p->given ? p->n_low + 1 : 0;
    if (p->n_low < 5) return;
    clear(p);
    p->n_low = p->added = 0;
    p->streaks++;
}

TEST(a_draft_follows_a_table_that_texts_share)
{
    static plain p;
    const uint64_t seed = spec_test_seed();
    int drafts = 0, prompts = 0, streaks = 0, cut = 0;
    for (int c = 0; c < 100; c++) {
        copying_text t;
        char drafting[64];
        const int m = 1 + c % 9, K = c % 3 == 0 ? 2 : m, bits = 5 + c % 8;
        p = (plain){.n = 1 + c % 5, .m = m, .n_min = c % (m + 2), .size = 1 << bits};
        clear(&p);
        snprintf(drafting, sizeof drafting, "ngram-mod?n=%d&m=%d&n_min=%d&bits=%d", p.n, m, p.n_min,
                 bits);
        copying_text_init(&t, drafting, 2 + c % 11, K, seed + (uint64_t)c);
        for (int text = 0; text < 4; text++) {
            copying_text_begin(&t, 300, 1 + copying_text_below(&t, 150));
            begin(&p, t.token, t.n - 1);
            while (t.n < t.n_text) {
                int expected[16];
                const int agrees = copying_text_draft(&t, K);
                int length = plain_draft(&p, expected, t.token, t.n);
                cut += length > K;
                if (length > K) length = K;
                assert_int_equal(t.draft.n_nodes, length);
                assert_memory_equal(t.draft.token, expected, (size_t)length * sizeof *expected);
                drafts += length > 0;
                if (length > 0) learn(&p, agrees);
                copying_text_accept(&t, agrees);
            }
        }
        assert_int_equal(spec_drafter_reset(&t.drafter, true, NULL), GSL_SUCCESS);
        copying_text_begin(&t, 9, 1);
        copying_text_draft(&t, K);
        assert_int_equal(t.draft.n_nodes, 0);
        copying_text_free(&t);
        prompts += p.prompts;
        streaks += p.streaks;
    }
    print_message("%d drafts, %d cut; the table began again by %d prompts and %d streaks\n", drafts,
                  cut, prompts, streaks);
    assert_true(drafts > 5000 && cut > 500 && prompts > 20 && streaks > 20);
}
