/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/sequence.h"

#include "base/noise.h"

#include "tests/support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 40, VOCAB = 3 };

/* A simulated cache: each slot holds a hash of the whole text that leads to it. */
typedef struct {
    spec_sequence sequence;
    uint64_t slot[CAPACITY + SPEC_NODES_MAX];
} cache;

static uint64_t after(uint64_t text, int token)
{
    return spec_noise_mix(text * 31 + (uint64_t)token + 1);
}

static uint64_t hash(const int *text, size_t n)
{
    uint64_t all = 7;
    for (size_t i = 0; i < n; i++) all = after(all, text[i]);
    return all;
}

static void settle(cache *c, const int *text, size_t n)
{
    int from[SPEC_NODES_MAX], to;
    const int kept = spec_sequence_settle(from, &to, &c->sequence, text, n);
    for (int i = 0; i < kept; i++) {
        assert_true(from[i] >= to + i && (i == 0 || from[i] > from[i - 1]));
        c->slot[to + i] = c->slot[from[i]];
    }
}

static void compute_text(cache *c, const int *text, size_t n)
{
    for (size_t i = (size_t)c->sequence.length; i < n; i++) c->slot[i] = hash(text, i + 1);
    spec_sequence_append(&c->sequence, text + c->sequence.length, (int)n - c->sequence.length);
}

static void compute_nodes(cache *c, const int *text, size_t n, const int *token, const int *parent,
                          int from, int n_nodes)
{
    for (int i = from; i < n_nodes; i++)
        c->slot[n + (size_t)i] =
            after(parent[i] < 0 ? hash(text, n) : c->slot[n + (size_t)parent[i]], token[i]);
    spec_sequence_grow(&c->sequence, token, parent, from, n_nodes);
}

/* Follows texts that continue along the tree, beside it, and back: the sequence's record of a slot
 * agrees with the slot. */
TEST(slots_hold_the_tokens_of_the_sequence)
{
    cache c = {0};
    assert_int_equal(spec_sequence_init(&c.sequence, CAPACITY, NULL), GSL_SUCCESS);
    int text[CAPACITY] = {0}, token[8], parent[8], kept_by_tree = 0;
    size_t n = 1;
    uint64_t noise = 1;
    for (int step = 0; step < 20000; step++) {
        const int held = c.sequence.length, nodes = c.sequence.n_nodes;
        settle(&c, text, n);
        assert_true(c.sequence.length < (int)n && c.sequence.n_nodes == 0);
        kept_by_tree += nodes > 0 && c.sequence.length > held;
        assert_memory_equal(c.sequence.token, text, (size_t)c.sequence.length * sizeof(int));
        for (int i = 0; i < c.sequence.length; i++)
            assert_true(c.slot[i] == hash(text, (size_t)i + 1));
        compute_text(&c, text, n);

        int n_nodes = (int)(spec_noise_word(noise++, 0) % 8), half = n_nodes / 2;
        for (int i = 0; i < n_nodes; i++) {
            token[i] = (int)(spec_noise_word(noise++, 1) % VOCAB);
            parent[i] = (int)(spec_noise_word(noise++, 2) % (uint64_t)(i + 1)) - 1;
        }
        compute_nodes(&c, text, n, token, parent, 0, half);
        assert_int_equal(spec_sequence_matches(&c.sequence, text, n, token, parent, n_nodes), half);
        assert_int_equal(spec_sequence_matches(&c.sequence, text, n - 1, token, parent, n_nodes),
                         -1);
        compute_nodes(&c, text, n, token, parent, half, n_nodes);
        if (n_nodes > 0) {
            token[0] = (token[0] + 1) % VOCAB;
            assert_int_equal(spec_sequence_matches(&c.sequence, text, n, token, parent, n_nodes),
                             0);
            token[0] = (token[0] + VOCAB - 1) % VOCAB;
        }

        const uint64_t what = spec_noise_word(noise++, 3) % 8;
        if (what == 0) n = 1 + spec_noise_word(noise++, 4) % n;          /* back */
        if (what == 1) text[n / 2] = (text[n / 2] + 1) % VOCAB;         /* another text */
        for (uint64_t more = spec_noise_word(noise++, 5) % 5; more > 0 && n < CAPACITY - 1; more--)
            text[n++] = (int)(spec_noise_word(noise++, 6) % VOCAB);
        if (n >= CAPACITY - 8) n = 1;
    }
    assert_true(kept_by_tree > 1000);
    spec_sequence_free(&c.sequence);
}

TEST(a_follower_holds_the_text_and_no_tree)
{
    spec_sequence one = {0}, other = {0};
    assert_int_equal(spec_sequence_init(&one, CAPACITY, NULL), GSL_SUCCESS);
    assert_int_equal(spec_sequence_init(&other, CAPACITY, NULL), GSL_SUCCESS);
    const int text[] = {2, 1, 0, 2};
    spec_sequence_append(&one, text, 4);
    spec_sequence_grow(&one, text, NULL, 0, 3);
    spec_sequence_append(&other, text + 2, 2);
    const uint64_t changes = other.changes;
    spec_sequence_follow(&other, &one);
    assert_true(other.changes != changes);
    assert_int_equal(other.length, 4);
    assert_int_equal(other.n_nodes, 0);
    assert_memory_equal(other.token, text, sizeof text);
    spec_sequence_forget(&other);
    assert_int_equal(other.length, 0);
    spec_sequence_free(&one);
    spec_sequence_free(&other);
}

/* Without given parents the nodes are a chain. */
TEST(a_chain_matches_its_tree)
{
    OWNED(spec_sequence) sequence = {0};
    assert_int_equal(spec_sequence_init(&sequence, CAPACITY, NULL), GSL_SUCCESS);
    const int text[] = {2, 1}, token[] = {0, 1, 2}, parent[] = {-1, 0, 1}, bush[] = {-1, -1, 1};
    spec_sequence_append(&sequence, text, 2);
    spec_sequence_grow(&sequence, token, NULL, 0, 3);
    assert_int_equal(spec_sequence_matches(&sequence, text, 2, token, parent, 3), 3);
    assert_int_equal(spec_sequence_matches(&sequence, text, 2, token, NULL, 2), 2);
    assert_int_equal(spec_sequence_matches(&sequence, text, 2, token, bush, 3), 1);
    const int other[] = {2, 2};
    assert_int_equal(spec_sequence_matches(&sequence, other, 2, token, parent, 3), -1);

    /* The text follows the whole tree, so all nodes stay in place. */
    const int longer[] = {2, 1, 0, 1, 2, 0};
    int from[SPEC_NODES_MAX], to;
    assert_int_equal(spec_sequence_settle(from, &to, &sequence, longer, 6), 3);
    assert_true(to == 2 && from[0] == 2 && from[1] == 3 && from[2] == 4);
    assert_int_equal(sequence.length, 5);
}
