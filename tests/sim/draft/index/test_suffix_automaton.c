/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/suffix_automaton.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

enum { TEXTS = 4, N_MAX = 40 };

typedef struct {
    int n_texts, n[TEXTS], token[TEXTS][N_MAX];
    int V;
} corpus;

static void make_corpus(corpus *c, uint64_t *noise)
{
    c->V = 1 + (int)(4.0 * table_uniform(noise));
    c->n_texts = 1 + (int)(TEXTS * table_uniform(noise));
    for (int t = 0; t < c->n_texts; t++) {
        c->n[t] = (int)((N_MAX + 1) * table_uniform(noise));
        for (int i = 0; i < c->n[t]; i++) c->token[t][i] = (int)(c->V * table_uniform(noise));
    }
}

static void index_corpus(spec_suffix_automaton *automaton, const corpus *c)
{
    for (int t = 0; t < c->n_texts; t++) {
        assert_works(spec_suffix_automaton_reserve(automaton, c->n[t], &error));
        spec_suffix_automaton_begin(automaton);
        for (int i = 0; i < c->n[t]; i++) spec_suffix_automaton_append(automaton, c->token[t][i]);
    }
}

static int occurrences(const corpus *c, const int *string, int length)
{
    int count = 0;
    for (int t = 0; t < c->n_texts; t++)
        for (int i = 0; i + length <= c->n[t]; i++)
            count += memcmp(c->token[t] + i, string, (size_t)length * sizeof *string) == 0;
    return count;
}

static int state_of(const spec_suffix_automaton *automaton, const int *string, int length)
{
    int state = 0;
    for (int i = 0; i < length && state >= 0; i++)
        state = spec_suffix_automaton_next(automaton, state, string[i]);
    return state;
}

/* Every string of the texts, and as many random ones. */
TEST(strings_are_known_and_counted, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(400);
    uint64_t absent = 0;
    for (uint64_t again = 0; again < times; again++) {
        const int reach = 1 + (int)(again % 12);
        corpus c;
        OWNED(spec_suffix_automaton) automaton;
        make_corpus(&c, &noise);
        spec_suffix_automaton_init(&automaton, reach);
        index_corpus(&automaton, &c);
        assert_true(automaton.n_states <= 2 * automaton.n_tokens + 1);
        assert_true(automaton.n_edges <= 3 * automaton.n_tokens + 1);
        for (int t = 0; t < c.n_texts; t++)
            for (int i = 0; i < c.n[t]; i++)
                for (int length = 1; i + length <= c.n[t]; length++) {
                    int string[N_MAX];
                    memcpy(string, c.token[t] + i, (size_t)length * sizeof *string);
                    for (int r = 0; r < 2; r++) {
                        const int at = state_of(&automaton, string, length);
                        const int count = occurrences(&c, string, length);
                        if ((at < 0) != (count == 0)) fail_msg("known %d, seen %d", at, count);
                        if (at >= 0 && length <= reach)
                            assert_int_equal(automaton.state[at].count, count);
                        absent += at < 0;
                        string[(int)(length * table_uniform(&noise))] =
                            (int)(c.V * table_uniform(&noise));
                    }
                }
    }
    assert_true(absent > times);
}

/* Another text, of which the automaton knows parts. */
TEST(a_match_is_the_longest_suffix_that_is_known)
{
    uint64_t noise = spec_test_seed();
    for (int again = 0; again < 300; again++) {
        corpus c;
        spec_suffix_automaton automaton;
        make_corpus(&c, &noise);
        spec_suffix_automaton_init(&automaton, 8);
        index_corpus(&automaton, &c);
        const int most = 1 + again % 9;
        int text[N_MAX], at = 0, length = 0;
        if (automaton.n_tokens == 0) continue;
        for (int n = 1; n <= N_MAX; n++) {
            text[n - 1] = (int)((c.V + 1) * table_uniform(&noise));
            spec_suffix_automaton_follow(&automaton, &at, &length, text[n - 1], most);
            int expected = n < most ? n : most;
            while (expected > 0 && occurrences(&c, text + n - expected, expected) == 0) expected--;
            assert_int_equal(length, expected);
            assert_int_equal(at, state_of(&automaton, text + n - expected, expected));
        }
        spec_suffix_automaton_free(&automaton);
    }
}

TEST(a_reset_forgets_every_text)
{
    uint64_t noise = spec_test_seed();
    corpus c, other;
    spec_suffix_automaton used, fresh;
    make_corpus(&c, &noise);
    make_corpus(&other, &noise);
    spec_suffix_automaton_init(&used, 5);
    spec_suffix_automaton_init(&fresh, 5);
    index_corpus(&used, &c);
    spec_suffix_automaton_reset(&used);
    index_corpus(&used, &other);
    index_corpus(&fresh, &other);
    assert_int_equal(used.n_states, fresh.n_states);
    assert_memory_equal(used.state, fresh.state, (size_t)used.n_states * sizeof *used.state);
    assert_memory_equal(used.edge, fresh.edge, (size_t)used.n_edges * sizeof *used.edge);
    spec_suffix_automaton_free(&used);
    spec_suffix_automaton_free(&fresh);
}

TEST(a_text_that_is_too_long_is_refused_before_memory_is_asked_for)
{
    OWNED(spec_suffix_automaton) automaton;
    spec_suffix_automaton_init(&automaton, 5);
    assert_fails_with(
        spec_suffix_automaton_reserve(&automaton, SPEC_SUFFIX_AUTOMATON_MAX + 1, &error),
        GSL_ENOMEM, "too long to index");
    assert_null(automaton.state);
}
