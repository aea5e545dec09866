/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row.h"
#include "sim/draft/drafter.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"
#include "tests/support/whole_model.h"

#include <string.h>

/* A drafter, its draft and a fixed policy. */
typedef struct {
    spec_drafter drafter;
    spec_draft draft;
    spec_policy policy;
} bench;

static void bench_init(bench *b, const char *spec, const spec_model *opt_model, int vocab,
                       const char *policy, int K)
{
    spec_error error = {""};
    if (spec_drafter_init(&b->drafter, spec, opt_model, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    assert_works(spec_policy_init(&b->policy, policy, K, &error));
    assert_works(spec_draft_init(&b->draft, K, vocab, &error));
}

static void bench_free(bench *b)
{
    spec_drafter_free(&b->drafter);
    spec_draft_free(&b->draft);
}

static int run(bench *b, const int *context, size_t n, spec_chance *opt_chance)
{
    spec_error error = {""};
    return spec_drafter_draft(&b->draft, &b->drafter, context, n, &b->policy, opt_chance, &error);
}

/* ---- with a model ---------------------------------------------------------------------------- */

TEST(a_chain_asks_for_each_token_with_its_own_row)
{
    uint64_t noise = 27;
    OWNED(table_model) other, model;
    table_model_init(&other, 3);
    table_model_init(&model, 3);
    table_pair_randomize(&other, &model, PAIR_PLAIN, &noise);
    const int context[] = {2, 0, 1};
    const int answer[] = {2, 2, 0, 1};
    for (size_t n = 0; n <= 3; n++) {
        double asked[4];
        spec_script script;
        spec_script_init(&script, answer, 4, asked);
        OWNED(bench) b;
        bench_init(&b, "chain", &model.head, 3, "fixed", 4);
        assert_int_equal(run(&b, context, n, &script.chance), GSL_SUCCESS);
        assert_int_equal(b.draft.n_nodes, 4);
        assert_int_equal(script.used, 4);
        int text[7];
        memcpy(text, context, n * sizeof *text);
        for (int i = 0; i < 4; i++) {
            const double *row = table_model_row(&model, text, n + (size_t)i);
            assert_within(asked[i], row[answer[i]], 1e-15);
            assert_memory_equal(b.draft.row[i], row, 3 * sizeof *row);
            assert_int_equal(b.draft.token[i], answer[i]);
            assert_int_equal(b.draft.parent[i], i - 1);
            assert_true(b.draft.sampled[i]);
            text[n + (size_t)i] = answer[i];
        }
    }
}

TEST(a_greedy_draft_takes_the_argmax_and_keeps_its_row)
{
    OWNED(table_model) model;
    table_model_init(&model, 3);
    for (int i = 0; i < model.n_rows; i++) { /* argmax: the last token + 1 mod 3; 1 at the start */
        const int last = i == 0 ? 0 : (i - 1) % 3;
        for (int x = 0; x < 3; x++) model.row[3 * i + x] = x == (last + 1) % 3 ? 0.46 : 0.27;
    }
    OWNED(bench) b;
    bench_init(&b, "greedy", &model.head, 3, "fixed", 5);
    assert_int_equal(run(&b, NULL, 0, NULL), GSL_SUCCESS); /* makes no decision */
    const int expected[] = {1, 2, 0, 1, 2};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(b.draft.token[i], expected[i]);
        assert_false(b.draft.sampled[i]);
        assert_null(spec_draft_law(&b.draft, i));
        assert_within(spec_draft_confidence(&b.draft, i), 0.46, 0.0);
    }
}

/* Nothing is drafted after the end of text, or after another one of several ends. */
TEST(drafting_ends_after_each_of_the_models_ends)
{
    for (int end = 1; end <= 2; end++) {
        OWNED(table_model) model;
        table_model_init(&model, 3);
        model.head.ends = spec_text_ends_one(end);
        spec_text_ends_add(&model.head.ends, 2);
        OWNED(bench) b;
        bench_init(&b, "chain", &model.head, 3, "fixed", 4);
        spec_script script;
        spec_script_init(&script, (const int[]){0, 2}, 2, NULL);
        assert_int_equal(run(&b, NULL, 0, &script.chance), GSL_SUCCESS);
        assert_int_equal(b.draft.n_nodes, 2);
        assert_int_equal(b.draft.token[1], 2);
        assert_true(spec_draft_ends_at(&b.draft, 2) && !spec_draft_ends_at(&b.draft, 0));
        assert_int_equal(spec_draft_ends_at(&b.draft, 1), end == 1);
        assert_false(script.broken);
    }
}

TEST(a_policy_stops_a_chain_after_before_or_against_a_token)
{
    OWNED(table_model) model;
    table_model_init(&model, 3);
    table_model_fill(&model, (const double[]){0.5, 0.3, 0.2});
    static const struct {
        const char *policy;
        int answers, nodes, calls;
    } cases[] = {
        {"fixed", 4, 4, 4},
        {"confidence?threshold=0.25", 3, 3, 3}, /* tokens 0, 1, 2: the third is low, and is kept */
        {"confidence-drop?threshold=0.25", 3, 2, 3}, /* drawn, and retracted */
        {"peak?threshold=0.6", 0, 0, 1}, /* the row is flat: read, and nothing drawn */
        {"peak?threshold=0.5", 4, 4, 4},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(bench) b;
        bench_init(&b, "chain", &model.head, 3, cases[c].policy, 4);
        spec_script script;
        spec_script_init(&script, (const int[]){0, 1, 2, 0}, 4, NULL);
        assert_int_equal(run(&b, NULL, 0, &script.chance), GSL_SUCCESS);
        assert_int_equal(b.draft.n_nodes, cases[c].nodes);
        assert_int_equal(script.used, cases[c].answers);
        assert_int_equal(b.drafter.n_calls, cases[c].calls);
    }
}

TEST(what_a_models_row_says_of_failure_is_passed_on)
{
    OWNED(table_model) model;
    table_model_init(&model, 3);
    model.fails_after = 2;
    OWNED(bench) b;
    bench_init(&b, "greedy", &model.head, 3, "fixed", 4);
    assert_fails(spec_drafter_draft(&b.draft, &b.drafter, NULL, 0, &b.policy, NULL, &error),
                 GSL_EFAILED, "no row after 2 tokens");
}

TEST(a_stateful_model_sees_the_whole_context_and_is_asked_for_one_row_a_token)
{
    enum { N = 300, V = 4, K = 3 };
    int context[N + K], calls, rows, asked = 0;
    whole_model model;
    OWNED(bench) b;
    bench_init(&b, "greedy", whole_model_init(&model, V, &calls, &rows), V, "fixed", K);
    for (size_t n = 0; n < N; n += 13) {
        for (int i = 0; i < N; i++) context[i] = i * 7 % V;
        assert_int_equal(run(&b, context, n, NULL), GSL_SUCCESS);
        for (size_t i = 0; i < K; i++) {
            double row[V];
            whole_model_row(row, V, context, n + i);
            assert_memory_equal(b.draft.row[i], row, sizeof row);
            assert_int_equal(b.draft.token[i], spec_row_argmax(row, V));
            context[n + i] = b.draft.token[i];
        }
        asked += K;
        assert_int_equal(calls, asked);
        assert_int_equal(rows, asked);
    }
}

/* Returns the path to a node's parent, after the context. */
static size_t path_before(int *text, size_t n, const spec_draft *draft, int node)
{
    size_t length = n;
    for (int at = draft->parent[node]; at >= 0; at = draft->parent[at]) length++;
    size_t place = length;
    for (int at = draft->parent[node]; at >= 0; at = draft->parent[at])
        text[--place] = draft->token[at];
    return length;
}

TEST(a_tree_asks_for_a_level_in_one_call_and_for_the_rows_that_it_needs)
{
    enum { V = 6, N = 5, K = 4 };
    static const struct {
        const char *spec;
        int calls, rows; /* rows of the root and of the nodes that have children */
    } cases[] = {
        {"tree?widths=2.1.2", 3, 5},           {"tree?n=2", 4, 15},
        {"tree?children=3.2.0.1.0.0.2", 3, 4}, {"tree?children=0", 0, 0},
        {"tree?n=3&siblings=top", 4, 40},      {"dynamic?top=3&nodes=9&depth=3", 3, 7},
        {"dynamic?top=2&nodes=1", 4, 7},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int calls, rows;
        whole_model model;
        OWNED(spec_drafter) drafter;
        OWNED(spec_draft) draft;
        spec_policy policy;
        OWNED(spec_enumeration) walk;
        whole_model_init(&model, V, &calls, &rows);
        assert_works(spec_drafter_init(&drafter, cases[c].spec, &model.head, &error));
        assert_works(spec_policy_init(&policy, "fixed", K, &error));
        assert_works(spec_draft_init(&draft, spec_drafter_nodes(&drafter, K), V, &error));
        assert_int_equal(spec_enumeration_init(&walk, 1), GSL_SUCCESS);
        int text[N + K] = {3, 1, 4, 1, 5};
        assert_works(spec_drafter_draft(&draft, &drafter, text, N, &policy, &walk.chance, &error));
        assert_int_equal(drafter.n_calls, cases[c].calls);
        assert_int_equal(calls, cases[c].calls);
        assert_int_equal(rows, cases[c].rows);
        for (int i = 0; i < draft.n_nodes; i++) {
            double row[V];
            whole_model_row(row, V, text, path_before(text, N, &draft, i));
            if (draft.row[i] != NULL) assert_memory_equal(draft.row[i], row, sizeof row);
            else assert_true(drafter.kind == &spec_draft_dynamic);
        }
    }
}

/* ---- prompt lookup --------------------------------------------------------------------------- */

/* The definition itself: lengths from the longest on, and positions from the first or from the last
 * one on. */
static size_t reference(int *ret_token, const int *context, size_t n, size_t max, size_t min,
                        size_t wanted, bool full, bool latest)
{
    for (size_t m = max; m >= min; m--)
        for (size_t i = 0; i + m < n; i++) {
            const size_t at = latest ? n - m - 1 - i : i;
            if (memcmp(context + at, context + n - m, m * sizeof *context) != 0) continue;
            const size_t left = n - (at + m), length = left < wanted ? left : wanted;
            if (full && left < wanted) continue;
            memcpy(ret_token, context + at + m, length * sizeof *context);
            return length;
        }
    return 0;
}

TEST(lookup_agrees_with_the_plain_search, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(3000);
    int found[2] = {0, 0};
    for (uint64_t t = 0; t < times; t++) {
        int context[40], expected[6];
        const size_t n = (size_t)(40.0 * table_uniform(&noise));
        const int V = 2 + (int)(3.0 * table_uniform(&noise));
        for (size_t i = 0; i < n; i++) context[i] = (int)(V * table_uniform(&noise));
        const int max = 1 + (int)(4.0 * table_uniform(&noise)),
                  min = 1 + (int)(max * table_uniform(&noise));
        const int full = (int)(2.0 * table_uniform(&noise)), K = (int)(7.0 * table_uniform(&noise));
        const bool latest = table_uniform(&noise) < 0.5;
        char spec[80];
        snprintf(spec, sizeof spec, "lookup?max=%d&min=%d&full=%d%s", max, min, full,
                 latest ? "&occurrence=latest" : "");
        OWNED(bench) b;
        bench_init(&b, spec, NULL, V, "fixed", K);
        assert_int_equal(run(&b, context, n, NULL), GSL_SUCCESS);
        const size_t length = reference(expected, context, n, (size_t)max, (size_t)min, (size_t)K,
                                        full == 1, latest);
        assert_int_equal(b.draft.n_nodes, length);
        for (size_t i = 0; i < length; i++) {
            assert_int_equal(b.draft.token[i], expected[i]);
            assert_int_equal(b.draft.parent[i], (int)i - 1);
            assert_null(b.draft.row[i]);
            assert_false(b.draft.sampled[i]);
        }
        found[full] += length > 0;
    }
    assert_true(found[0] > 500 && found[1] > 500); /* so there were cases to compare */
}

TEST(lookup_prefers_the_longest_and_then_the_earliest)
{
    /* "1 2" occurs at 1 (then 3) and 5 (then 4); "2" first at 0, followed by 1. */
    const int context[] = {2, 1, 2, 3, 0, 1, 2, 4, 1, 2};
    static const struct {
        const char *spec;
        int first, n;
    } cases[] = {
        {"lookup?max=2", 3, 3}, {"lookup?max=1", 1, 3}, {"lookup?max=3&min=3", -1, 0},
        {"lookup", 3, 3},       {"lookup?max=9", 3, 3},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(bench) b;
        bench_init(&b, cases[c].spec, NULL, 5, "fixed", 3);
        assert_int_equal(run(&b, context, 10, NULL), GSL_SUCCESS);
        assert_int_equal(b.draft.n_nodes, cases[c].n);
        if (cases[c].n > 0) assert_int_equal(b.draft.token[0], cases[c].first);
    }
}

TEST(lookup_takes_what_follows_unless_all_of_it_is_wanted)
{
    const int context[] = {1, 2, 1}; /* two tokens follow the first 1 */
    static const struct {
        const char *spec;
        int K, n;
    } cases[] = {{"lookup", 3, 2},
                 {"lookup", 1, 1},
                 {"lookup?full=1", 3, 0},
                 {"lookup?full=1", 2, 2},
                 {"lookup?min=2", 3, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(bench) b;
        bench_init(&b, cases[c].spec, NULL, 3, "fixed", cases[c].K);
        assert_int_equal(run(&b, context, 3, NULL), GSL_SUCCESS);
        assert_int_equal(b.draft.n_nodes, cases[c].n);
        for (int i = 0; i < cases[c].n; i++) assert_int_equal(b.draft.token[i], context[1 + i]);
    }
}

TEST(lookup_in_a_short_context_finds_nothing)
{
    OWNED(bench) b;
    bench_init(&b, "lookup", NULL, 2, "fixed", 3);
    const int context[] = {1, 0};
    for (size_t n = 0; n <= 2; n++) {
        assert_int_equal(run(&b, context, n, NULL), GSL_SUCCESS);
        assert_int_equal(b.draft.n_nodes, 0);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(bad_specs_are_refused_with_a_line)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"chian", "'chain'"},           {"nothing like it", "nothing like it"},
        {"chain", "draft model"},       {"greedy", "draft model"},
        {"chain?n=3", "n"},             {"chain:file", "file"},
        {"lookup?maks=3", "max"},       {"lookup?max=0", "max"},
        {"lookup?max=2&min=3", "min"},  {"lookup?full=2", "full"},
        {"lookup?max=1000000", "max"},  {"lookup?min=0", "min"},
        {"lookup?occurrence=last", "latest"}, {"recycle?k=0", "k"},
        {"recycle?nodes=5000", "nodes"}, {"lookahead?ngram=1", "ngram"},
        {"lookahead?window=0", "window"}, {"lookahead?guesses=65", "guesses"},
        {"suffix?alpha=-1", "alpha"}, {"suffix?min_frac=2", "min_frac"},
        {"suffix?max=0", "max"}, {"suffix:file", "file"}, {"rest", "PATH"},
        {"rest:file?max=3&min=4", "min"}, {"rest:file?tokens=ids", "tokens"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OWNED(spec_drafter) drafter;
        spec_error error = {""};
        const int status = spec_drafter_init(&drafter, bad[i].spec, NULL, &error);
        assert_true(status == GSL_EINVAL || status == GSL_EDOM);
        if (strstr(error.text, bad[i].says) == NULL) fail_msg("%s: '%s'", bad[i].spec, error.text);
        assert_null(drafter.kind);
    }
}
