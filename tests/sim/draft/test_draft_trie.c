/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the tree with a plain account, which keeps every inserted string in a list. */
#include "tests/support/copying_text.h"
#include "tests/support/support.h"

#include <string.h>

enum { DEPTH_MAX = 8, STRINGS = 1 << 15 };

typedef struct {
    int n, token[DEPTH_MAX], count;
    long used;
} plain_string;

typedef struct {
    int depth, nodes, low, high, n_strings, n, token[64], parent[64];
    long clock;
    plain_string string[STRINGS];
} plain;

static void use(plain *p, const int *token, int n)
{
    int i = 0;
    while (i < p->n_strings && (p->string[i].n != n ||
                                memcmp(p->string[i].token, token, (size_t)n * sizeof *token) != 0))
        i++;
    if (i == p->n_strings) {
        assert_true(p->n_strings < STRINGS);
        p->string[p->n_strings] = (plain_string){.n = n};
        memcpy(p->string[p->n_strings++].token, token, (size_t)n * sizeof *token);
    }
    p->string[i].count++;
    p->string[i].used = p->clock++;
}

static void insert(plain *p, const int *tail, int length)
{
    for (int from = 0; from < length; from++)
        for (int n = 1; n <= length - from; n++) use(p, tail + from, n);
}

/* Lists the strings that are one token longer than `string`, in order of use or of their counts. */
static int children(int *ret, const plain *p, const int *string, int n, bool by_frequency)
{
    int found = 0;
    for (int i = 0; i < p->n_strings; i++) {
        const plain_string *child = &p->string[i];
        if (child->n != n + 1 || memcmp(child->token, string, (size_t)n * sizeof *string) != 0)
            continue;
        int at = found++;
        for (; at > 0; at--) {
            const plain_string *other = &p->string[ret[at - 1]];
            if (by_frequency ? child->count < other->count || (child->count == other->count &&
                                                               child->token[n] > other->token[n])
                             : child->used < other->used)
                break;
            ret[at] = ret[at - 1];
        }
        ret[at] = i;
    }
    return found;
}

static int add(plain *p, int parent, int token)
{
    for (int i = 0; i < p->n; i++)
        if (p->parent[i] == parent && p->token[i] == token) return i;
    if (p->n == p->nodes) return -1;
    p->parent[p->n] = parent;
    p->token[p->n] = token;
    return p->n++;
}

/* Each waiting string has its place in the tree; those of a level come before those of the next. */
static void grow(plain *p, const int *match, int length, int K, bool by_frequency)
{
    struct {
        int string, node, level;
        double value;
        bool done;
    } wait[1024];
    int n = 0, child[64], next = 0;
    const double step = (double)(p->high - p->low) / (p->depth - 1);
    struct {
        const int *token;
        int n, node, level;
        double value;
    } at = {match, length, -1, 0, by_frequency ? 1.0 : p->low + (p->depth - 1 - length) * step};
    for (;;) {
        int m = children(child, p, at.token, at.n, by_frequency), sum = 0;
        const int breadth = by_frequency ? p->high : (int)at.value > 1 ? (int)at.value : 1;
        if (m > breadth) m = breadth;
        if (at.level == K) m = 0;
        for (int i = 0; i < m; i++) sum += p->string[child[i]].count;
        for (int i = 0; i < m; i++) {
            const plain_string *string = &p->string[child[i]];
            if (!by_frequency && p->n == p->nodes) return;
            wait[n].string = child[i];
            wait[n].node = by_frequency ? at.node : add(p, at.node, string->token[string->n - 1]);
            wait[n].level = at.level + 1;
            wait[n].value = by_frequency ? (double)string->count / sum * at.value : at.value - step;
            wait[n++].done = false;
            assert_true(n < 1024);
        }
        int best = -1;
        for (int i = 0; i < n && by_frequency; i++)
            if (!wait[i].done && (best < 0 || wait[i].value > wait[best].value)) best = i;
        if (!by_frequency && next < n) best = next++;
        if (best < 0 || p->n == p->nodes) return;
        const plain_string *string = &p->string[wait[best].string];
        wait[best].done = true;
        at.token = string->token;
        at.n = string->n;
        at.level = wait[best].level;
        at.value = wait[best].value;
        at.node =
            by_frequency ? add(p, wait[best].node, string->token[string->n - 1]) : wait[best].node;
    }
}

static void check_texts(bool by_frequency, uint64_t seed)
{
    static plain p;
    uint64_t nodes = 0, full = 0;
    for (int c = 0; c < 40; c++) {
        OWNED(copying_text) t;
        char drafting[128];
        const int K = 1 + c % 6;
        p = (plain){.depth = 2 + c % 6, .nodes = 1 + c % 13, .low = 1 + c % 2};
        p.high = p.low + c % 5;
        snprintf(drafting, sizeof drafting,
                 "trie?depth=%d&nodes=%d&min_breadth=%d&max_breadth=%d&order=%s", p.depth, p.nodes,
                 p.low, p.high, by_frequency ? "frequency" : "recency");
        copying_text_init(&t, drafting, 2 + c % 7, K, seed + (uint64_t)c);
        for (int text = 0; text < 2; text++) {
            copying_text_begin(&t, 150, c % 9);
            while (t.n < t.n_text) {
                const int agrees = copying_text_draft(&t, K);
                const int length = t.n < p.depth ? t.n : p.depth;
                const int *tail = t.token + t.n - length;
                p.n = 0;
                for (int n = length; n >= 1; n--) grow(&p, tail + length - n, n, K, by_frequency);
                assert_int_equal(t.draft.n_nodes, p.n);
                assert_memory_equal(t.draft.token, p.token, (size_t)p.n * sizeof *p.token);
                assert_memory_equal(t.draft.parent, p.parent, (size_t)p.n * sizeof *p.parent);
                insert(&p, tail, length);
                nodes += (uint64_t)p.n;
                full += p.n == p.nodes;
                copying_text_accept(&t, agrees);
            }
        }
        assert_int_equal(spec_drafter_reset(&t.drafter, true, NULL), GSL_SUCCESS);
        copying_text_draft(&t, K);
        assert_int_equal(t.draft.n_nodes, 0);
    }
    print_message("%llu nodes, %llu full trees\n", (unsigned long long)nodes,
                  (unsigned long long)full);
    assert_true(nodes > 10000 && full > 1000);
}

TEST(a_tree_grows_by_recency)
{
    check_texts(false, spec_test_seed());
}

TEST(a_tree_grows_by_frequency)
{
    check_texts(true, spec_test_seed() + 1);
}

/* With little memory, a full trie knows only its last strings. */
TEST(a_full_trie_begins_again)
{
    OWNED(copying_text) t;
    copying_text_init(&t, "trie?depth=4&nodes=8&capacity=40", 5, 4, spec_test_seed());
    copying_text_begin(&t, 1000, 1);
    int drafted = 0;
    while (t.n < t.n_text) {
        copying_text_accept(&t, copying_text_draft(&t, 4));
        drafted += t.draft.n_nodes > 0;
    }
    assert_true(drafted > 100);
}
