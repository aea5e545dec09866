/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares SuffixDecoding with a search through the texts, token by token. */
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

enum { V = 4, N_MAX = 400, TEXTS = 4, NODES = 24 };

typedef struct {
    int max, width, K;
    double alpha, least;
} keys;

/* Texts in which patterns are looked up. */
typedef struct {
    int n_texts, n[TEXTS];
    int token[TEXTS][N_MAX];
} corpus;

typedef struct {
    int n, token[NODES], parent[NODES], depth[NODES], length[NODES], path[NODES][NODES];
    double value[NODES], score;
} plain_tree;

static int occurrences(const corpus *c, const int *string, int length)
{
    int count = 0;
    for (int t = 0; t < c->n_texts; t++)
        for (int i = 0; i + length <= c->n[t]; i++)
            count += memcmp(c->token[t] + i, string, (size_t)length * sizeof *string) == 0;
    return count;
}

/* Computes the value of each token after a path; only the `width` most frequent ones have a value
 * above 0. */
static void value_children(double *ret_value, const corpus *c, const int *path, int length,
                           double value, int width)
{
    int string[N_MAX], count[V], total = 0;
    memcpy(string, path, (size_t)length * sizeof *string);
    for (int x = 0; x < V; x++) {
        string[length] = x;
        total += count[x] = occurrences(c, string, length + 1);
    }
    for (int x = 0; x < V; x++) {
        int before = 0;
        for (int y = 0; y < V; y++)
            before += count[y] > count[x] || (count[y] == count[x] && y < x);
        ret_value[x] = before < width && count[x] > 0 ? count[x] * (value / total) : 0.0;
    }
}

/* Builds a tree below the last `length` tokens of the text. */
static void grow(plain_tree *tree, const corpus *c, const int *end, int length, const keys *k)
{
    const int budget = (int)(k->alpha * length);
    double value[NODES + 1][V];
    int path[NODES + 1][N_MAX];
    *tree = (plain_tree){0};
    memcpy(path[0], end - length, (size_t)length * sizeof *end);
    value_children(value[0], c, path[0], length, 1.0, k->width);
    while (tree->n < budget && tree->n < NODES) {
        int from = -1, token = -1;
        for (int node = 0; node <= tree->n; node++)
            for (int x = 0; x < V; x++) {
                const int depth = node > 0 ? tree->depth[node - 1] : 0;
                const double here = value[node][x];
                if (depth == k->K || !(here > 0.0) || here < k->least) continue;
                if (from < 0 || here > value[from][token]) from = node, token = x;
            }
        if (from < 0) break;
        const int added = tree->n++, depth = from > 0 ? tree->depth[from - 1] + 1 : 1;
        tree->token[added] = token;
        tree->parent[added] = from - 1;
        tree->depth[added] = depth;
        tree->score += value[from][token];
        memcpy(path[added + 1], path[from], (size_t)(length + depth - 1) * sizeof(int));
        path[added + 1][length + depth - 1] = token;
        value_children(value[added + 1], c, path[added + 1], length + depth, value[from][token],
                       k->width);
        value[from][token] = 0.0;
    }
}

/* Tries all patterns, the text's own before those of earlier outputs, the longest first. */
static void best_of(plain_tree *best, const corpus *text, const corpus *outputs, const keys *k)
{
    const int n = text->n[0];
    *best = (plain_tree){0};
    for (int source = 0; source < 2; source++)
        for (int length = n < k->max ? n : k->max; length > 0; length--) {
            plain_tree tree;
            grow(&tree, source == 0 ? text : outputs, text->token[0] + n, length, k);
            if (tree.score > best->score) *best = tree;
        }
}

static bool is_same(const plain_tree *tree, const spec_draft *draft)
{
    return tree->n == draft->n_nodes &&
           memcmp(tree->token, draft->token, (size_t)tree->n * sizeof *tree->token) == 0 &&
           memcmp(tree->parent, draft->parent, (size_t)tree->n * sizeof *tree->parent) == 0;
}

static void set_text(corpus *c, int at, const int *token, size_t n)
{
    c->n[at] = (int)n;
    memcpy(c->token[at], token, n * sizeof *token);
}

static uint64_t follow_texts(const keys *k, int earlier, pair_family family, uint64_t seed)
{
    static corpus text, outputs;
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    char drafting[96];
    uint64_t nodes = 0;
    int held = 0; /* tokens of outputs that are kept */
    snprintf(drafting, sizeof drafting, "suffix?max=%d&alpha=%g&min_frac=%g&width=%d&earlier=%d",
             k->max, k->alpha, k->least, k->width, earlier);
    stage_init(&s, V, family, seed);
    s.config.drafting = drafting;
    s.config.rule = "match";
    s.config.K = k->K;
    stage_open_decoder(&decoder, &s.config);
    text.n_texts = 1;
    outputs = (corpus){0};
    for (int t = 0; t < 4; t++) {
        const int prompt[] = {1, 2, t};
        size_t indexed = 3;
        assert_int_equal(spec_decoder_reset(&decoder, prompt, 3, NULL), GSL_SUCCESS);
        for (int round = 0; round < 14; round++) {
            plain_tree expected;
            indexed = decoder.n_context;
            set_text(&text, 0, decoder.context, indexed);
            best_of(&expected, &text, &outputs, k);
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
            if (!is_same(&expected, &decoder.draft))
                fail_msg("%s, text %d, round %d: %d nodes, not %d", drafting, t, round,
                         decoder.draft.n_nodes, expected.n);
            nodes += (uint64_t)expected.n;
        }
        const int n = (int)indexed - 3;
        if (n > earlier) continue;
        if (held + n > earlier) held = outputs.n_texts = 0;
        held += n;
        set_text(&outputs, outputs.n_texts++, decoder.context + 3, indexed - 3);
    }
    return nodes;
}

TEST(a_draft_is_the_best_tree_of_all_patterns)
{
    const uint64_t seed = spec_test_seed();
    static const int earlier[] = {0, 20, 40, 1000}; /* full at once, after a text, or never */
    uint64_t nodes = 0;
    for (int c = 0; c < 60; c++) {
        const keys k = {.max = 1 + c % 7,
                        .width = 1 + c / 2 % V,
                        .K = 1 + c % 5,
                        .alpha = c % 3 == 0 ? 0.7 : c % 3,
                        .least = c % 4 == 0 ? 0.0 : 0.15};
        nodes += follow_texts(&k, earlier[c / 3 % 4], (pair_family)(c % PAIR_FAMILIES),
                              seed + (uint64_t)c);
    }
    assert_true(nodes > 1000);
}

/* A chain ends at K. In a tree K only limits the depth, and the pattern's length limits the number
 * of tokens. */
TEST(the_longest_pattern_limits_the_tokens)
{
    static const struct {
        const char *drafting;
        int K, nodes;
    } cases[] = {
        {"suffix?max=6&width=1", 2, 2},           {"suffix?max=6&width=1", 9, 6},
        {"suffix?max=6&width=2", 2, 6},           {"suffix?max=6&width=2", 0, 0},
        {"suffix?max=6&width=2&alpha=0.5", 9, 3}, {"suffix?max=6&width=1&alpha=0.5", 9, 3}};
    OWNED(stage) s;
    stage_init(&s, V, PAIR_PLAIN, 7);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(spec_drafter) drafter;
        assert_works(spec_drafter_init(&drafter, cases[c].drafting, &s.target.head, &error));
        assert_int_equal(spec_drafter_nodes(&drafter, cases[c].K), cases[c].nodes);
    }
}

/* The second text repeats the first one, but with little or no memory for outputs it is not
 * known. */
TEST(earlier_outputs_last_until_their_index_is_full)
{
    static const struct {
        const char *drafting;
        bool forget, known;
    } cases[] = {
        {"suffix?max=4&width=1", false, true},
        {"suffix?max=4&width=1", true, false},
        {"suffix?max=4&width=1&earlier=0", false, false},
        {"suffix?max=4&width=1&earlier=3", false, false}, /* an output of more tokens */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        stage_init(&s, 9, PAIR_PLAIN, 7);
        for (int i = 0; i < s.target.n_rows; i++) /* counts upwards */
            for (int x = 0; x < 9; x++)
                s.target.row[9 * i + x] = x == (i == 0 ? 0 : (i - 1) % 9 + 1) % 9;
        s.config.drafting = cases[c].drafting;
        s.config.K = 2;
        stage_open_decoder(&decoder, &s.config);
        for (int text = 0; text < 2; text++) {
            if (cases[c].forget) assert_int_equal(spec_decoder_forget(&decoder, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decoder_reset(&decoder, (const int[]){0}, 1, NULL), GSL_SUCCESS);
            for (int round = 0; round < 7; round++) {
                assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
                /* the prompt 0 is no output, so the first round has no draft */
                if (text == 0 || round == 1)
                    assert_int_equal(decoder.draft.n_nodes > 0, text == 1 && cases[c].known);
            }
        }
    }
}
