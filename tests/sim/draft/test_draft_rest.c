/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares retrieval with a search through the file, and reads files that are wrong. */
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

enum { V = 4, N = 300, NODES = 12 };

static void write_store(const int *token, int n)
{
    FILE *out = fopen("store.txt", "w");
    assert_non_null(out);
    for (int i = 0; i < n; i++) fprintf(out, "%d%c", token[i], i % 7 == 6 ? '\n' : ' ');
    fclose(out);
}

static int occurrences(const int *text, int n, const int *string, int length)
{
    int count = 0;
    for (int i = 0; i + length <= n; i++)
        count += memcmp(text + i, string, (size_t)length * sizeof *string) == 0;
    return count;
}

/* Returns the match by definition; 0 if there is none. */
static int longest(const int *store, const int *context, int n, int min, int max)
{
    int length = n < max ? n : max;
    while (length >= min && occurrences(store, N, context + n - length, length) == 0) length--;
    return length >= min ? length : 0;
}

/* Each chain follows the most frequent tokens; a tree has the most frequent continuations. */
static void check_draft(const int *store, const spec_draft *draft, const int *context, int n,
                        int length, int K, int width)
{
    int string[64], least = N + 1, best_left = 0;
    memcpy(string, context + n - length, (size_t)length * sizeof *string);
    if (length == 0) {
        assert_int_equal(draft->n_nodes, 0);
        return;
    }
    for (int node = -1; node < draft->n_nodes; node++) {
        int depth = 0, path[8], children = 0;
        for (int at = node; at >= 0; at = draft->parent[at]) path[depth++] = draft->token[at];
        for (int i = 0; i < depth; i++) string[length + i] = path[depth - 1 - i];
        if (node >= 0) {
            const int count = occurrences(store, N, string, length + depth);
            assert_true(count > 0 && depth <= K);
            if (count < least) least = count;
        }
        if (depth == K) continue;
        for (int x = 0; x < V; x++) {
            bool drafted = false;
            for (int i = 0; i < draft->n_nodes; i++)
                drafted = drafted || (draft->parent[i] == node && draft->token[i] == x);
            string[length + depth] = x;
            const int count = occurrences(store, N, string, length + depth + 1);
            children += drafted;
            if (width >= V && !drafted && count > best_left) best_left = count;
        }
        assert_true(children <= width);
    }
    if (draft->n_nodes < NODES)
        assert_true(width < V || best_left == 0);
    else
        assert_true(best_left <= least + 1); /* the file's end continues with no token */
}

TEST(a_draft_is_the_most_frequent_part_of_the_file)
{
    uint64_t noise = spec_test_seed(), matched = 0;
    for (int c = 0; c < 40; c++) {
        int store[N];
        for (int i = 0; i < N; i++) store[i] = (int)(V * table_uniform(&noise));
        write_store(store, N);
        const int max = 2 + c % 6, min = 1 + c % 2, K = 1 + c % 4, width = c % 3 == 0 ? 1 : V;
        char drafting[96];
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        snprintf(drafting, sizeof drafting, "rest:store.txt?max=%d&min=%d&nodes=%d&width=%d", max,
                 min, NODES, width);
        stage_init(&s, V, PAIR_PLAIN, (uint64_t)c);
        s.config.drafting = drafting;
        s.config.rule = "match";
        s.config.K = K;
        stage_open_decoder(&decoder, &s.config);
        assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
        for (int round = 0; round < 20; round++) {
            const int n = (int)decoder.n_context;
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
            const int length = longest(store, decoder.context, n, min, max);
            check_draft(store, &decoder.draft, decoder.context, n, length, K, width);
            matched += length > min;
        }
    }
    assert_true(matched > 200);
}

/* 0 1 2 3 | 0 1 2 3 | 0 1 2 0: after 1 2, a 3 twice and a 0 once. */
TEST(a_chain_takes_the_most_frequent_token_each_time)
{
    static const int store[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0}, expected[] = {3, 0, 1, 2};
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    write_store(store, 12);
    stage_init(&s, V, PAIR_PLAIN, 1);
    s.config.drafting = "rest:store.txt?min=1&width=1";
    s.config.rule = "token";
    s.config.K = 4;
    stage_open_decoder(&decoder, &s.config);
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){3, 3, 1, 2}, 4, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.draft.n_nodes, 4);
    assert_memory_equal(decoder.draft.token, expected, sizeof expected);
}

TEST(a_wrong_file_is_refused_with_a_line)
{
    static const struct {
        const char *text, *says; /* no text: no file */
    } wrong[] = {
        {NULL, "store.txt"},
        {"", "store.txt: no tokens"},
        {" \n ", "store.txt: no tokens"},
        {"0 1\n2 x 1", "store.txt:2: 'x' is not a token"},
        {"0 1\n\n4", "store.txt:3: '4' is not a token"},
        {"0 -1", "store.txt:1: '-1' is not a token"},
        {"99999999999999999999", "store.txt:1: '99999999999999999999' is not a token"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        spec_error error = {""};
        remove("store.txt");
        if (wrong[i].text != NULL) spec_file_write("store.txt", wrong[i].text);
        stage_init(&s, V, PAIR_PLAIN, 1);
        s.config.drafting = "rest:store.txt";
        s.config.rule = "match";
        assert_int_not_equal(spec_decoder_init(&decoder, &s.config, &error), GSL_SUCCESS);
        if (strstr(error.text, wrong[i].says) == NULL) fail_msg("%s", error.text);
    }
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
