/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares lookahead decoding with a plain account of it, which uses absolute positions of the
 * text: level l of the window guesses positions, and n-grams are kept as lists. */
#include "base/noise.h"
#include "models/row.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

enum { V = 5, N_MAX = 8, W_MAX = 6, G_MAX = 4, PLACES = 400, NONE = -1 };

typedef struct {
    int W, N, G; /* columns, tokens of an n-gram including its first one, n-grams per token */
    int filled;
    uint64_t guessed;
    int guess[N_MAX][PLACES];              /* the guess of a level for a position */
    int n_grams[V], gram[V][G_MAX][N_MAX]; /* the oldest first */
} account;

static void begin_account(account *a)
{
    a->filled = 1;
    a->guessed = 0;
    memset(a->guess, -1, sizeof a->guess);
    memset(a->n_grams, 0, sizeof a->n_grams);
}

/* Completes the window of this round: a position without an iterate guesses a token of the text. */
static void complete(account *a, const int *text, int n)
{
    a->guess[0][n - 1] = text[n - 1];
    for (int level = 0; level < a->filled; level++)
        for (int i = 0; i < a->W; i++)
            if (a->guess[level][n - 1 + i + level] == NONE)
                a->guess[level][n - 1 + i + level] =
                    text[spec_noise_word(0, a->guessed++) % (uint64_t)n];
}

/* Returns column i as a text: the trunk to it, then its branch. */
static int column_text(int *ret, const account *a, const int *text, int n, int column)
{
    memcpy(ret, text, (size_t)n * sizeof *ret);
    for (int i = 1; i <= column; i++) ret[n - 1 + i] = a->guess[0][n - 1 + i];
    int length = n + column;
    for (int level = 1; level < a->filled; level++, length++)
        ret[length] = a->guess[level][n - 1 + column + level];
    return length;
}

static void add_gram(account *a, int first, const int *gram)
{
    const size_t size = (size_t)(a->N - 1) * sizeof *gram;
    int(*list)[N_MAX] = a->gram[first], kept = 0, next[G_MAX + 1][N_MAX];
    for (int i = 0; i < a->n_grams[first]; i++)
        if (memcmp(list[i], gram, size) != 0) memcpy(next[kept++], list[i], size);
    memcpy(next[kept++], gram, size);
    const int oldest = kept > a->G ? 1 : 0;
    a->n_grams[first] = kept - oldest;
    for (int i = oldest; i < kept; i++) memcpy(list[i - oldest], next[i], size);
}

static void learn(account *a, const table_model *target, const int *text, int n)
{
    int result[W_MAX], path[PLACES];
    for (int i = 0; i < a->W; i++) {
        const int length = column_text(path, a, text, n, i);
        result[i] = spec_row_argmax(table_model_row(target, path, (size_t)length), V);
    }
    const int whole = a->filled == a->N - 1, top = whole ? a->N - 2 : a->filled;
    for (int i = 0; whole && i < a->W; i++) {
        int gram[N_MAX];
        for (int level = 1; level < a->N - 1; level++)
            gram[level - 1] = a->guess[level][n - 1 + i + level];
        gram[a->N - 2] = result[i];
        add_gram(a, a->guess[0][n - 1 + i], gram);
    }
    /* A level passes its guesses down, for the same positions; positions beyond the window are
     * empty. */
    for (int level = 0; whole && level < top; level++)
        memcpy(a->guess[level], a->guess[level + 1], sizeof a->guess[level]);
    const int behind = n - 1 + a->filled;
    memset(a->guess[top], -1, sizeof a->guess[top]);
    for (int i = 0; i < a->W; i++) a->guess[top][behind + i] = result[i];
    a->filled = top + 1;
}

/* Builds the window as a tree of scouts, node by node. */
static void check_scouts(const account *a, const spec_draft *draft, int n)
{
    int node[N_MAX][W_MAX], next = draft->n_nodes;
    node[0][0] = -1;
    for (int level = 0; level < a->filled; level++)
        for (int i = level == 0 ? 1 : 0; i < a->W; i++, next++) {
            assert_true(next < draft->n_nodes + draft->n_scouts);
            assert_int_equal(draft->token[next], a->guess[level][n - 1 + i + level]);
            assert_int_equal(draft->parent[next], level > 0 ? node[level - 1][i] : node[0][i - 1]);
            node[level][i] = next;
        }
    assert_int_equal(next, draft->n_nodes + draft->n_scouts);
}

/* Each n-gram of the last token is a path, and nothing else is drafted. */
static void check_guesses(const account *a, const spec_draft *draft, int last, int depth)
{
    bool used[SPEC_NODES_MAX] = {false};
    for (int g = 0; g < a->n_grams[last]; g++)
        for (int d = 0, at = -1; d < a->N - 1 && d < depth; d++) {
            int found = -1;
            for (int i = 0; i < draft->n_nodes; i++)
                if (draft->parent[i] == at && draft->token[i] == a->gram[last][g][d]) {
                    assert_int_equal(found, -1);
                    found = i;
                }
            assert_true(found >= 0);
            used[at = found] = true;
        }
    for (int i = 0; i < draft->n_nodes; i++) assert_true(used[i]);
    if (a->n_grams[last] > 0) /* the latest one comes first */
        assert_int_equal(draft->token[0], a->gram[last][a->n_grams[last] - 1][0]);
}

static uint64_t follow_texts(int W, int N, int G, int K, pair_family family, uint64_t seed)
{
    static account a;
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    char drafting[64];
    uint64_t drafted = 0;
    spec_tally tally = {0};
    snprintf(drafting, sizeof drafting, "lookahead?window=%d&ngram=%d&guesses=%d", W, N, G);
    stage_init(&s, V, family, seed);
    s.config.drafting = drafting;
    s.config.rule = "match";
    s.config.K = K;
    stage_open_decoder(&decoder, &s.config);
    a = (account){.W = W, .N = N, .G = G};
    for (int text = 0; text < 2; text++) {
        const int prompt[] = {1, 3, text};
        begin_account(&a);
        assert_int_equal(spec_decoder_reset(&decoder, prompt, 3, NULL), GSL_SUCCESS);
        for (int round = 0; round < 25; round++) {
            const int n = (int)decoder.n_context;
            complete(&a, decoder.context, n);
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL), GSL_SUCCESS);
            const spec_draft *draft = &decoder.draft;
            check_scouts(&a, draft, n);
            check_guesses(&a, draft, decoder.context[n - 1], K);
            assert_int_equal(decoder.round.n_drafted, draft->n_nodes);
            for (int i = 0; i < decoder.round.n_accepted; i++)
                assert_true(decoder.round.node[i] < draft->n_nodes);
            learn(&a, &s.target, decoder.context, n);
            drafted += (uint64_t)draft->n_nodes;
        }
    }
    assert_true(tally.drafted == drafted);
    return tally.accepted;
}

TEST(window_pool_and_draft_agree_with_a_plain_account)
{
    const uint64_t seed = spec_test_seed();
    uint64_t accepted = 0;
    for (int c = 0; c < 240; c++)
        accepted += follow_texts(1 + c % W_MAX, 2 + c % 5, 1 + c / 3 % G_MAX, 1 + c / 2 % 6,
                                 (pair_family)(c % PAIR_FAMILIES), seed + (uint64_t)c);
    assert_true(accepted > 1000);
}

/* If the target's window is too small for the guesses, there are no scouts, and the text
 * continues. */
TEST(scouts_stay_within_the_targets_context)
{
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    int token[16];
    size_t n;
    stage_init(&s, V, PAIR_PLAIN, spec_test_seed());
    s.target.head.window = 12;
    s.config.drafting = "lookahead?window=4&ngram=3&guesses=2"; /* a path of 4 scouts */
    s.config.rule = "match";
    stage_open_decoder(&decoder, &s.config);
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){2}, 1, NULL), GSL_SUCCESS);
    while (spec_decoder_room(&decoder) >= 0) {
        const size_t before = decoder.n_context;
        assert_int_equal(spec_decode(&decoder, 1, token, &n, &s.chance, NULL, NULL), GSL_SUCCESS);
        const bool fits = before + 4 <= 12;
        assert_int_equal(decoder.draft.n_scouts > 0, fits);
    }
    assert_int_equal(decoder.n_context, 13);
}
