/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares both kinds with a plain account, which scans the text for every key and every m-gram. */
#include "tests/support/copying_text.h"
#include "tests/support/support.h"

#include <string.h>

enum { PLACES = 1 << 18, TEXT = 700 };

typedef struct {
    int n, m, min_hits;
    bool counts_values;
    int place[PLACES], entered, n_prompt;
    struct {
        int at, hits, until, value[4], count[4], accepted[4];
    } key[TEXT];
    int n_keys, drafted, slot; /* the drafted key, or -1, and its m-gram */
} plain;

static bool is_same(const int *token, int a, int b, int length)
{
    return memcmp(token + a, token + b, (size_t)length * sizeof *token) == 0;
}

static unsigned hash(const int *token, int n)
{
    unsigned long long sum = 0;
    for (int i = 0; i < n; i++) sum = (sum * 2654435761u + (unsigned long long)token[i]) % PLACES;
    return (unsigned)sum;
}

/* Positions in the prompt, then in what was emitted, the latest one first; 0 ends them. */
static int positions(int *ret, const plain *p, int earlier)
{
    int n = 0;
    for (int i = p->n_prompt - p->n - p->m - 1; i > p->entered; i--) ret[n++] = i;
    for (int i = earlier - p->n - p->m - 1; i > p->entered && i > p->n_prompt; i--) ret[n++] = i;
    return n;
}

/* Fills the draft of the plain account; returns its length. */
static int plain_draft(plain *p, int *ret_from, const int *token, int length)
{
    const int earlier = length - 1, last = length - p->n, n = p->n;
    int fresh[2 * TEXT], at, k = 0;
    p->drafted = -1;
    if (p->n_prompt < 0) p->n_prompt = earlier;
    if (earlier < 2 * n + p->m) return 0;
    at = p->place[hash(token + last, n)];
    if (at >= earlier - n - p->m - 1 || !is_same(token, at, last, n)) at = 0;
    const int n_fresh = positions(fresh, p, earlier);
    for (int i = 0; i < n_fresh && at == 0; i++)
        if (is_same(token, fresh[i], last, n)) at = fresh[i];
    for (int i = 0; i < n_fresh; i++) {
        int *place = &p->place[hash(token + fresh[i], n)];
        if (*place == 0) *place = fresh[i];
    }
    if (earlier - n - p->m - 1 > p->entered) p->entered = earlier - n - p->m - 1;
    if (at == 0) return 0;

    while (k < p->n_keys && !is_same(token, p->key[k].at, last, n)) k++;
    if (k == p->n_keys) {
        memset(&p->key[k], 0, sizeof p->key[k]);
        p->key[k].at = at;
        for (int v = 0; v < 4; v++) p->key[k].accepted[v] = p->m;
        p->n_keys++;
    }
    int best = 0, others = 0;
    p->key[k].hits++;
    if (p->counts_values) {
        if (p->key[k].hits < p->min_hits) return 0;
        for (int i = p->key[k].until; i <= at; i++) {
            if (!is_same(token, i, last, n)) continue;
            for (int v = 0; v < 4; v++) {
                if (p->key[k].value[v] == 0) p->key[k].value[v] = i + n;
                if (!is_same(token, i + n, p->key[k].value[v], p->m)) continue;
                p->key[k].count[v]++;
                break;
            }
        }
        p->key[k].until = at;
        for (int v = 1; v < 4; v++)
            if (p->key[k].count[v] > p->key[k].count[best]) best = v;
        for (int v = 0; v < 4; v++) others += v != best ? p->key[k].count[v] : 0;
        if (p->key[k].count[best] < 2 * others) return 0;
    }
    p->drafted = k;
    p->slot = best;
    *ret_from = at + n;
    return p->key[k].accepted[best];
}

static void check_texts(bool counts_values, uint64_t seed)
{
    static plain p;
    int drafts = 0, silent = 0, short_ones = 0;
    for (int c = 0; c < 120; c++) {
        OWNED(copying_text) t;
        char drafting[64];
        const int n = 1 + c % 4, m = 1 + c / 4 % 6, K = c % 3 == 0 ? 2 : m, hits = 1 + c % 3;
        if (counts_values)
            snprintf(drafting, sizeof drafting, "ngram-map-k4v?n=%d&m=%d&min_hits=%d", n, m, hits);
        else
            snprintf(drafting, sizeof drafting, "ngram-map-k?n=%d&m=%d", n, m);
        copying_text_init(&t, drafting, 2 + c % 5 * c % 7, K, seed + (uint64_t)c);
        for (int text = 0; text < 2; text++) {
            memset(&p, 0, sizeof p);
            p = (plain){.n = n, .m = m, .min_hits = hits, .counts_values = counts_values};
            p.n_prompt = -1;
            copying_text_begin(&t, TEXT, 1 + copying_text_below(&t, 200));
            while (t.n < t.n_text) {
                int from = 0;
                /* at times fewer tokens than the text has, because a key's caps apply to all
                 * lengths */
                const int agrees =
                    copying_text_draft(&t, c % 2 == 0 ? K : copying_text_below(&t, K + 1));
                int length = plain_draft(&p, &from, t.token, t.n);
                silent += p.drafted >= 0 && length == 0;
                short_ones += length > 0 && length < m;
                if (length > K) length = K;
                assert_int_equal(t.draft.n_nodes, length);
                assert_memory_equal(t.draft.token, t.token + from,
                                    (size_t)length * sizeof *t.token);
                if (p.drafted >= 0 && length > 0) p.key[p.drafted].accepted[p.slot] = agrees;
                drafts += length > 0;
                copying_text_accept(&t, agrees);
            }
        }
    }
    print_message("%d drafts, %d of them short, %d keys without a token left\n", drafts, short_ones,
                  silent);
    assert_true(drafts > 5000 && short_ones > 1000 && silent > 1000);
}

TEST(a_key_drafts_as_much_as_its_last_draft_had_accepted)
{
    check_texts(false, spec_test_seed());
}

TEST(a_key_drafts_if_one_continuation_is_common)
{
    check_texts(true, spec_test_seed() + 1000);
}
