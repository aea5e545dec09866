/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

enum { V = 6, K_MAX = 4 };

/* Computes the table by its definition. */
typedef struct {
    int k, n[V], token[V][V];
} table;

static void remember(table *t, int token, const double *row)
{
    int next[2 * V], n = 0;
    for (int rank = 0; rank < t->k && rank < V; rank++) {
        int best = -1;
        for (int x = 0; x < V; x++) {
            int taken = 0;
            for (int i = 0; i < n; i++) taken += next[i] == x;
            if (!taken && row[x] > 0.0 && (best < 0 || row[x] > row[best])) best = x;
        }
        if (best >= 0) next[n++] = best;
    }
    const int fresh = n;
    for (int i = 0; i < t->n[token]; i++) {
        int taken = 0;
        for (int j = 0; j < fresh; j++) taken += next[j] == t->token[token][i];
        if (!taken) next[n++] = t->token[token][i];
    }
    t->n[token] = n < t->k ? n : t->k;
    memcpy(t->token[token], next, (size_t)t->n[token] * sizeof *next);
}

/* A path of ranks costs their sum plus its length; the template has the paths of cost <=
 * `budget`. */
static void check_paths(const table *t, const spec_draft *draft, int parent, int last, int depth,
                        int budget, int *ret_n)
{
    if (depth == 0) return;
    for (int rank = 0; rank < t->n[last] && rank < budget; rank++) {
        int node = -1;
        for (int i = 0; i < draft->n_nodes; i++)
            if (draft->parent[i] == parent && draft->token[i] == t->token[last][rank]) {
                assert_int_equal(node, -1);
                node = i;
            }
        if (node < 0) fail_msg("rank %d of token %d is not drafted", rank, last);
        (*ret_n)++;
        check_paths(t, draft, node, draft->token[node], depth - 1, budget - rank - 1, ret_n);
    }
}

static void update(table *t, const spec_decoder *decoder, int last)
{
    const spec_draft *draft = &decoder->draft;
    remember(t, last, decoder->target_row[0]);
    for (int i = 0; i < draft->n_nodes; i++)
        remember(t, draft->token[i], decoder->target_row[i + 1]);
}

/* Several texts share one table. If k >= budget <= K, the paths of cost <= budget are 2^budget - 1
 * nodes. */
static void check_drafts(int k, int budget, pair_family family, uint64_t seed)
{
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    char drafting[64];
    table t = {.k = k};
    uint64_t drafted = 0;
    snprintf(drafting, sizeof drafting, "recycle?k=%d&nodes=%d", k, (1 << budget) - 1);
    stage_init(&s, V, family, seed);
    s.config.drafting = drafting;
    s.config.rule = "match";
    s.config.K = K_MAX;
    stage_open_decoder(&decoder, &s.config);
    for (int text = 0; text < 3; text++) {
        assert_int_equal(spec_decoder_reset(&decoder, (const int[]){text}, 1, NULL), GSL_SUCCESS);
        for (int round = 0; round < 12; round++) {
            int n = 0;
            const int last = decoder.context[decoder.n_context - 1];
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
            check_paths(&t, &decoder.draft, -1, last, K_MAX, budget, &n);
            assert_int_equal(n, decoder.draft.n_nodes);
            assert_int_equal(decoder.draft.n_scouts, 0);
            drafted += (uint64_t)n;
            update(&t, &decoder, last);
        }
    }
    assert_true(drafted > 0);
    assert_int_equal(spec_decoder_forget(&decoder, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){0}, 1, NULL), GSL_SUCCESS);
    assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.draft.n_nodes, 0);
}

TEST(a_draft_is_the_template_filled_from_the_table)
{
    const uint64_t seed = spec_test_seed();
    for (int c = 0; c < 8 * PAIR_FAMILIES; c++) /* one-hot families keep older entries */
        check_drafts(1 + c % 4 + c / 4 % 2, 1 + c % 4, (pair_family)(c / 8), seed + (uint64_t)c);
}

TEST(deeper_places_wait_while_the_draft_is_short)
{
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    stage_init(&s, V, PAIR_PLAIN, spec_test_seed());
    s.config.drafting = "recycle?k=2&nodes=20";
    s.config.rule = "match";
    s.config.policy = "heuristic?cap=4";
    s.config.K = 1;
    stage_open_decoder(&decoder, &s.config);
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){1}, 1, NULL), GSL_SUCCESS);
    for (int round = 0; round < 40; round++) {
        const int now = decoder.policy.now;
        assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
        const spec_draft *draft = &decoder.draft;
        int deepest = 0;
        for (int i = 0; i < draft->n_nodes; i++) {
            int depth = 0;
            for (int at = i; at >= 0; at = draft->parent[at]) depth++;
            deepest = depth > deepest ? depth : deepest;
        }
        assert_true(deepest <= now);
        if (round > 20) assert_int_equal(deepest, now);
    }
}
