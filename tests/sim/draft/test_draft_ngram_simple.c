/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/copying_text.h"
#include "tests/support/support.h"

#include <string.h>

/* By definition: where the copy begins, or -1. */
static int copied_from(const int *text, int length, int n, int m)
{
    const int last = length - 1;
    if (last <= n + m + 1) return -1;
    for (int end = last - 1; end > n; end--)
        if (memcmp(text + end - n, text + length - n, (size_t)n * sizeof *text) == 0)
            return m >= n && last - end >= n ? end : -1;
    return -1;
}

TEST(a_draft_copies_after_the_latest_occurrence)
{
    const uint64_t seed = spec_test_seed();
    int drafts = 0, cut = 0, dropped = 0;
    for (int c = 0; c < 200; c++) {
        OWNED(copying_text) t;
        char drafting[64];
        const int n = 1 + c % 5, m = 1 + c / 5 % 9, K = c % 3 == 0 ? 3 : m;
        snprintf(drafting, sizeof drafting, "ngram-simple?n=%d&m=%d", n, m);
        copying_text_init(&t, drafting, 2 + c % 7, K, seed + (uint64_t)c);
        for (int text = 0; text < 2; text++) {
            for (copying_text_begin(&t, 400, c % 4); t.n < t.n_text;) {
                const int agrees = copying_text_draft(&t, K);
                const int from = copied_from(t.token, t.n, n, m);
                int copied = 0;
                if (from >= 0) copied = t.n - 1 - from < m ? t.n - 1 - from : m;
                cut += copied > K;
                dropped += copied == 0;
                if (copied > K) copied = K;
                assert_int_equal(t.draft.n_nodes, copied);
                assert_memory_equal(t.draft.token, t.token + (from < 0 ? 0 : from),
                                    (size_t)copied * sizeof *t.token);
                drafts += copied > 0;
                copying_text_accept(&t, agrees);
            }
        }
    }
    assert_true(drafts > 5000 && cut > 100 && dropped > 5000);
}
