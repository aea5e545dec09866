/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the counts of three tables with a scan of all pieces from which they were taken. */
#include "tests/support/copying_text.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>

enum { PIECES = 4096, TEXT = 220, V_MAX = 12 };

/* Pieces of texts: no n-gram spans two of them. */
typedef struct {
    int n_pieces, n_tokens, start[PIECES + 1], token[PIECES * 2];
} pieces;

static void add_piece(pieces *p, const int *token, int n)
{
    memcpy(p->token + p->n_tokens, token, (size_t)n * sizeof *token);
    p->start[p->n_pieces++] = p->n_tokens;
    p->n_tokens += n;
    p->start[p->n_pieces] = p->n_tokens;
    assert_true(p->n_pieces < PIECES && p->n_tokens < PIECES);
}

/* Counts the tokens that followed n tokens: their counts, the sum, and the token that first had the
 * largest count. */
static int successors(int *ret_count, int *ret_best, const pieces *p, const int *ngram, int n)
{
    int sum = 0;
    memset(ret_count, 0, V_MAX * sizeof *ret_count);
    *ret_best = -1;
    for (int i = 0; i < p->n_pieces; i++)
        for (int at = p->start[i]; at + n < p->start[i + 1]; at++) {
            if (memcmp(p->token + at, ngram, (size_t)n * sizeof *ngram) != 0) continue;
            const int token = p->token[at + n];
            sum++;
            if (++ret_count[token] > (*ret_best < 0 ? 0 : ret_count[*ret_best])) *ret_best = token;
        }
    return sum;
}

/* Returns the best token by the counts of a text, each weighed by 100 times the count in the file,
 * or by 1. */
static int choose(const pieces *text, const pieces *file, const int *end, int n, const int *least,
                  const int *percent)
{
    int in_file[V_MAX], best_in_file, count[V_MAX], best;
    successors(in_file, &best_in_file, file, end - 2, 2);
    for (int order = n < 4 ? n : 4; order >= 1; order--) {
        const int sum = successors(count, &best, text, end - order, order);
        if (sum == 0) continue;
        long weight = count[best] * (in_file[best] > 0 ? 100L * in_file[best] : 1);
        int found = best, ties = 0;
        for (int x = 0; x < V_MAX; x++) {
            const long other = count[x] * (in_file[x] > 0 ? 100L * in_file[x] : 1);
            if (other > weight) weight = other, found = x;
        }
        for (int x = 0; x < V_MAX; x++)
            ties += in_file[x] > 0 && count[x] * 100L * in_file[x] == weight;
        if (sum >= least[order - 1] && 100 * count[found] >= percent[order - 1] * sum)
            return ties > 1 ? -2 : found;
    }
    return -1;
}

static int next_token(const pieces *text, const pieces *texts, const pieces *file, const int *end,
                      int n)
{
    int token =
        choose(text, file, end, n, (const int[]){2, 2, 1, 1}, (const int[]){66, 50, 50, 50});
    if (token == -1)
        token =
            choose(texts, file, end, n, (const int[]){4, 3, 2, 2}, (const int[]){75, 66, 66, 66});
    if (token == -1) {
        int count[V_MAX], best;
        const int sum = successors(count, &best, file, end - 2, 2);
        if (sum >= 2 && 2 * count[best] >= sum) token = best;
    }
    return token;
}

static void write_file(pieces *file, copying_text *t)
{
    FILE *out = fopen("static.txt", "w");
    assert_non_null(out);
    copying_text_begin(t, 300, 1);
    for (int i = 0; i < t->n_text; i++) fprintf(out, "%d\n", t->token[i]);
    fclose(out);
    file->n_pieces = file->n_tokens = 0;
    add_piece(file, t->token, t->n_text);
}

TEST(a_draft_has_the_most_frequent_tokens)
{
    static pieces text, texts, file;
    const uint64_t seed = spec_test_seed();
    int drafts = 0, tokens = 0, ties = 0;
    for (int c = 0; c < 48; c++) {
        copying_text t;
        char drafting[96];
        const int V = 2 + c % 9, K = 1 + c % 4, earlier = c % 3 * 300;
        const bool joined = c / 3 % 2 == 1, has_file = c / 6 % 2 == 1;
        file.n_pieces = texts.n_pieces = texts.n_tokens = 0;
        copying_text_init(&t, "lookup", V, K, seed + (uint64_t)c);
        if (has_file) write_file(&file, &t);
        copying_text_free(&t);
        snprintf(drafting, sizeof drafting, "ngram-cache?joined=%d&earlier=%d%s", joined, earlier,
                 has_file ? "&static=static.txt" : "");
        copying_text_init(&t, drafting, V, K, seed + (uint64_t)c);
        for (int i = 0; i < 3; i++) {
            int counted = 0;
            text.n_pieces = text.n_tokens = 0;
            copying_text_begin(&t, TEXT, copying_text_below(&t, 40));
            while (t.n < t.n_text) {
                const int agrees = copying_text_draft(&t, K);
                if (joined) text.n_pieces = text.n_tokens = counted = 0;
                if (t.n > counted) add_piece(&text, t.token + counted, t.n - counted);
                counted = t.n;
                int window[TEXT + 8], n = t.n, node = 0;
                memcpy(window, t.token, (size_t)n * sizeof *window);
                for (; node < K && t.n >= 2; node++) {
                    const int token = next_token(&text, &texts, &file, window + n, n);
                    if (token < 0) {
                        ties += token == -2;
                        if (token == -2) node = t.draft.n_nodes; /* any of several */
                        break;
                    }
                    assert_true(node < t.draft.n_nodes);
                    assert_int_equal(t.draft.token[node], token);
                    window[n++] = token;
                    tokens++;
                }
                assert_int_equal(t.draft.n_nodes, node);
                drafts += node > 0;
                copying_text_accept(&t, agrees);
            }
            if (counted > earlier) continue;
            if (texts.n_tokens + counted > earlier) texts.n_pieces = texts.n_tokens = 0;
            for (int p = 0; p < text.n_pieces; p++)
                add_piece(&texts, text.token + text.start[p], text.start[p + 1] - text.start[p]);
        }
        copying_text_free(&t);
    }
    print_message("%d drafts, %d tokens, %d ties\n", drafts, tokens, ties);
    assert_true(drafts > 5000 && tokens > 15000 && ties < drafts / 10);
}

/* The table persists, so the second text is drafted from the first. */
TEST(earlier_texts_are_forgotten_with_all)
{
    for (int forgets = 0; forgets < 2; forgets++) {
        OWNED(copying_text) t;
        copying_text_init(&t, "ngram-cache?earlier=100", 5, 3, spec_test_seed());
        for (int text = 0; text < 2; text++) {
            copying_text_begin(&t, 20, 20);
            for (int i = 0; i < 20; i++) t.token[i] = i % 5; /* each n-gram four times */
            if (forgets) assert_int_equal(spec_drafter_reset(&t.drafter, true, NULL), GSL_SUCCESS);
            if (text == 1) t.n = 2;
            copying_text_draft(&t, 3);
            assert_int_equal(t.draft.n_nodes, text == 0 || !forgets ? 3 : 0);
        }
    }
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
