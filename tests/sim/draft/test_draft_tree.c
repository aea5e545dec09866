/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks trees: their shape, the rows of their nodes, and the law of siblings by enumeration
 * against its definition. */
#include "models/row.h"
#include "sim/decode.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

enum { V = 4 };
static const double row[V] = {0.1, 0.4, 0.2, 0.3};

typedef struct {
    table_model model;
    spec_drafter drafter;
    spec_draft draft;
    spec_policy policy;
} bench;

static void bench_init(bench *b, const char *spec, int vocab, const double *opt_row, int K)
{
    spec_error error = {""};
    table_model_init(&b->model, vocab);
    if (opt_row != NULL) table_model_fill(&b->model, opt_row);
    if (spec_drafter_init(&b->drafter, spec, &b->model.head, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    assert_works(spec_policy_init(&b->policy, "fixed", K, &error));
    assert_works(spec_draft_init(&b->draft, spec_drafter_nodes(&b->drafter, K), vocab, &error));
}

static void bench_free(bench *b)
{
    spec_drafter_free(&b->drafter);
    spec_draft_free(&b->draft);
    table_model_free(&b->model);
}

static void run(bench *b, spec_chance *chance)
{
    assert_works(spec_drafter_draft(&b->draft, &b->drafter, NULL, 0, &b->policy, chance, &error));
}

static void run_script(bench *b, const int *answer, int n, double *opt_asked)
{
    spec_script script;
    spec_script_init(&script, answer, n, opt_asked);
    run(b, &script.chance);
    assert_false(script.broken);
    assert_int_equal(script.used, n);
}

/* ---- shape ----------------------------------------------------------------------------------- */

TEST(nodes_come_level_by_level_with_their_own_rows)
{
    uint64_t noise = 27;
    table_model other;
    OWNED(bench) b;
    bench_init(&b, "tree?widths=2.1.2", 3, NULL, 5); /* the depth is that of the widths */
    table_model_init(&other, 3);
    table_pair_randomize(&other, &b.model, PAIR_PLAIN, &noise);
    const int answer[] = {2, 0, 1, 2, 0, 1, 2, 2}, parent[] = {-1, -1, 0, 1, 2, 2, 3, 3};
    double asked[8];
    run_script(&b, answer, 8, asked);
    assert_int_equal(b.draft.n_nodes, 8);
    assert_int_equal(b.draft.capacity, 8);
    assert_true(b.draft.branches);
    assert_int_equal(b.drafter.n_calls, 3);
    for (int i = 0; i < 8; i++) {
        int path[3], length = 0;
        for (int at = b.draft.parent[i]; at >= 0; at = b.draft.parent[at]) length++;
        for (int at = b.draft.parent[i], k = length; at >= 0; at = b.draft.parent[at])
            path[--k] = b.draft.token[at];
        const double *law = table_model_row(&b.model, path, (size_t)length);
        assert_int_equal(b.draft.parent[i], parent[i]);
        assert_int_equal(b.draft.token[i], answer[i]);
        assert_memory_equal(b.draft.row[i], law, 3 * sizeof *law);
        assert_within(asked[i], law[answer[i]], 1e-15);
        assert_true(b.draft.sampled[i]);
        if (i > 0 && parent[i] == parent[i - 1])
            assert_ptr_equal(b.draft.row[i], b.draft.row[i - 1]); /* no copies */
    }
    table_model_free(&other);
}

TEST(the_policy_sets_the_depth)
{
    static const struct {
        const char *spec;
        int K, nodes, levels;
    } cases[] = {
        {"tree?n=2", 0, 0, 0},           {"tree?n=2", 1, 2, 1},
        {"tree?n=2", 3, 14, 3},          {"tree?n=1", 4, 4, 4},
        {"tree?widths=3.2.1", 2, 9, 2},  {"tree?widths=3.2.1", 3, 15, 3},
        {"tree?widths=3.2.1", 9, 15, 3}, {"tree", 2, 6, 2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(bench) b;
        bench_init(&b, cases[c].spec, V, row, cases[c].K);
        OWNED(spec_enumeration) walk;
        assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
        run(&b, &walk.chance);
        assert_int_equal(b.draft.n_nodes, cases[c].nodes);
        assert_int_equal(b.draft.capacity, cases[c].nodes);
        assert_int_equal(b.drafter.n_calls, cases[c].levels);
    }
}

TEST(a_node_that_ends_the_text_has_no_children)
{
    for (int end = 1; end <= 2; end++) { /* 2 is always an end, and 1 in the first run */
        OWNED(bench) b;
        bench_init(&b, "tree?n=2", V, row, 3);
        b.model.head.ends = spec_text_ends_one(end);
        spec_text_ends_add(&b.model.head.ends, 2);
        run_script(&b, (const int[]){2, 0, 2, 2}, 4, NULL);
        assert_int_equal(b.draft.n_nodes, 4);
        assert_int_equal(b.draft.parent[2], 1);
        assert_int_equal(b.draft.parent[3], 1);
        assert_int_equal(b.drafter.n_calls, 2); /* every path has ended before the third */
    }
}

/* ---- shapes of any form ---------------------------------------------------------------------- */

TEST(children_are_read_breadth_first)
{
    OWNED(bench) b;
    const int parent[] = {-1, -1, -1, 0, 0, 2, 5, 5};
    bench_init(&b, "tree?children=3.2.0.1.0.0.2", V, row, 9);
    run_script(&b, (const int[]){0, 1, 2, 3, 0, 1, 2, 3}, 8, NULL);
    assert_int_equal(b.draft.n_nodes, 8);
    assert_int_equal(b.draft.capacity, 8);
    assert_int_equal(b.drafter.n_calls, 3);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(b.draft.parent[i], parent[i]);
        assert_int_equal(b.draft.token[i], i % 4);
        if (i > 0 && parent[i] == parent[i - 1])
            assert_ptr_equal(b.draft.row[i], b.draft.row[i - 1]);
    }
    bench_free(&b);
    bench_init(&b, "tree?children=3.2.0.1.0.0.2", V, row, 2); /* the policy's depth cuts */
    assert_int_equal(b.draft.capacity, 6);
    run_script(&b, (const int[]){0, 1, 2, 3, 0, 1}, 6, NULL);
    assert_int_equal(b.draft.n_nodes, 6);
    assert_int_equal(b.drafter.n_calls, 2);
    bench_free(&b);
    bench_init(&b,
               "tree?children=32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32.32."
               "32.32.32.32.32.32."
               "32.32.32&siblings=top",
               32, NULL, 2); /* 32 + 31 32, the largest possible shape */
    run_script(&b, NULL, 0, NULL);
    assert_int_equal(b.draft.n_nodes, 1024);
    assert_int_equal(b.draft.parent[1023], 30);
    bench_free(&b);
    bench_init(&b, "tree?children=0", V, row, 2);
    run_script(&b, NULL, 0, NULL);
    assert_int_equal(b.draft.n_nodes, 0);
    assert_int_equal(b.drafter.n_calls, 0);
}

/* A random tree is drawn as parents that never decrease, which is breadth first, and written as
 * children. */
TEST(every_shape_can_be_written)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 200; c++) {
        enum { MOST = 40 };
        const int n = 1 + (int)(MOST * table_uniform(&noise));
        int parent[MOST], children[MOST + 1] = {0}, depth[MOST], deepest = 0;
        char spec[256] = "tree?children=";
        for (int i = 0; i < n; i++) {
            const int low = i > 0 ? parent[i - 1] : -1;
            parent[i] = low + (int)((i - low) * table_uniform(&noise));
            children[parent[i] + 1]++;
            depth[i] = parent[i] < 0 ? 1 : depth[parent[i]] + 1;
            deepest = depth[i]; /* never decreases */
        }
        for (int i = 0, end = c % 2 == 0 ? parent[n - 1] + 1 : n; i <= end;
             i++) /* the last zeros may be left out */
            snprintf(spec + strlen(spec), sizeof spec - strlen(spec), "%s%d", i > 0 ? "." : "",
                     children[i]);
        OWNED(bench) b;
        OWNED(spec_enumeration) walk;
        assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
        bench_init(&b, spec, V, row, SPEC_K_MAX);
        run(&b, &walk.chance);
        assert_int_equal(b.draft.n_nodes, n);
        assert_memory_equal(b.draft.parent, parent, (size_t)n * sizeof *parent);
        assert_int_equal(b.drafter.n_calls, deepest);
        for (int K = 0; K <= deepest; K++) {
            int shallow = 0;
            for (int i = 0; i < n; i++) shallow += depth[i] <= K;
            assert_int_equal(spec_drafter_nodes(&b.drafter, K), shallow);
        }
    }
}

TEST(a_node_keeps_its_place_where_others_are_missing)
{
    OWNED(bench) b;
    bench_init(&b, "tree?children=3.0.1.2.1&siblings=without", 2, (const double[]){0.27, 0.73},
               3); /* no third token */
    run_script(&b, (const int[]){1, 0, 1, 0}, 4,
               NULL); /* the child of node 1 has the first place after it */
    const int parent[] = {-1, -1, 1, 2};
    assert_int_equal(b.draft.n_nodes, 4);
    assert_memory_equal(b.draft.parent, parent, sizeof parent);
    bench_free(&b);

    bench_init(&b, "tree?children=2.2.1.0.0.2", V, row, 3);
    b.model.head.ends = spec_text_ends_one(2);
    run_script(&b, (const int[]){2, 0, 1, 3, 1}, 5,
               NULL); /* node 0 ends its text: its two children are left out */
    const int ended[] = {-1, -1, 1, 2, 2};
    assert_int_equal(b.draft.n_nodes, 5);
    assert_memory_equal(b.draft.parent, ended, sizeof ended);
}

/* ---- siblings -------------------------------------------------------------------------------- */

TEST(siblings_without_replacement_are_drawn_from_what_is_left)
{
    OWNED(bench) b;
    double asked[3];
    bench_init(&b, "tree?n=3&siblings=without", V, row, 1);
    run_script(&b, (const int[]){1, 2, 0}, 3, asked);
    assert_within(asked[0], 0.4, 1e-15);
    assert_within(asked[1], 0.2 / 0.6, 1e-15);
    assert_within(asked[2], 0.1 / 0.4, 1e-15);
    assert_int_equal(b.draft.siblings, SPEC_SIBLINGS_WITHOUT);
    for (int i = 0; i < 3; i++) assert_true(b.draft.sampled[i]);
}

TEST(when_nothing_is_left_the_others_are_alike)
{
    OWNED(bench) b;
    double asked[4];
    bench_init(&b, "tree?n=5&siblings=without", V, (const double[]){0.0, 0.73, 0.0, 0.27}, 1);
    run_script(&b, (const int[]){3, 1, 2, 0}, 4, asked); /* and no fifth one */
    assert_within(asked[0], 0.27, 1e-15);
    assert_within(asked[1], 1.0, 1e-15);
    assert_within(asked[2], 0.5, 1e-15);
    assert_within(asked[3], 1.0, 1e-15);
    assert_int_equal(b.draft.n_nodes, 4);
}

TEST(top_siblings_are_chosen_by_probability_and_id)
{
    OWNED(bench) b;
    const double ties[V] = {0.0, 0.3, 0.4, 0.3};
    bench_init(&b, "tree?n=9&siblings=top", V, ties, 1);
    run_script(&b, NULL, 0, NULL);
    const int expected[] = {2, 1, 3, 0};
    assert_int_equal(b.draft.n_nodes, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b.draft.token[i], expected[i]);
        assert_false(b.draft.sampled[i]);
    }
}

TEST(a_hub_is_joined_or_left)
{
    OWNED(bench) b;
    double asked[2];
    bench_init(&b, "tree?n=2&siblings=hub", V, row, 1);
    run_script(&b, (const int[]){2}, 1, asked); /* not the hub, so the hub follows */
    assert_within(asked[0], 0.2, 1e-15);
    assert_int_equal(b.draft.token[1], 1);
    run_script(&b, (const int[]){1, 3}, 2, asked); /* the hub, so another token follows */
    assert_within(asked[1], 0.3 / 0.6, 1e-15);
    assert_int_equal(b.draft.token[1], 3);
    bench_free(&b);

    bench_init(&b, "tree?n=2&siblings=hub", V, (const double[]){0.0, 1.0, 0.0, 0.0},
               1); /* only the hub */
    run_script(&b, (const int[]){1, 3}, 2, asked);
    assert_within(asked[1], 1.0 / 3.0, 1e-15);
    bench_free(&b);

    bench_init(&b, "tree?n=2&siblings=hub", 1, (const double[]){1.0}, 1);
    run_script(&b, (const int[]){0}, 1, NULL);
    assert_int_equal(b.draft.n_nodes, 1);
}

TEST(greedy_siblings_are_chosen_but_for_the_last)
{
    OWNED(bench) b;
    double asked[1];
    bench_init(&b, "tree?n=3&siblings=greedy", V, row, 1);
    run_script(&b, (const int[]){0}, 1, asked);
    const int expected[] = {1, 3, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(b.draft.token[i], expected[i]);
        assert_int_equal(b.draft.sampled[i], i == 2);
    }
    assert_within(asked[0], 0.1 / 0.3, 1e-15);
    bench_free(&b);

    /* a single child is drawn from the row */
    bench_init(&b, "tree?n=1&siblings=greedy", V, row, 1);
    run_script(&b, (const int[]){2}, 1, asked);
    assert_within(asked[0], 0.2, 1e-15);
}

TEST(tail_siblings_are_chosen_but_for_the_second)
{
    OWNED(bench) b;
    double asked[1];
    bench_init(&b, "tree?n=4&siblings=tail", V, row, 1);
    run_script(&b, (const int[]){0}, 1, asked);
    const int expected[] = {1, 0, 3, 2};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b.draft.token[i], expected[i]);
        assert_int_equal(b.draft.sampled[i], i == 1);
    }
    assert_within(asked[0], 0.1 / 0.6, 1e-15);
    bench_free(&b);

    bench_init(&b, "tree?n=3&siblings=tail", V, row, 1); /* the draw is the next most probable */
    run_script(&b, (const int[]){3}, 1, asked);
    assert_int_equal(b.draft.token[1], 3);
    assert_int_equal(b.draft.token[2], 2);
    assert_within(asked[0], 0.5, 1e-15);
}

/* Gumbel top-k: the n largest of log(row) + Gumbel noise, in descending order, have the law of
 * siblings without replacement. Noise on the row instead of its logarithm, a mistake of real code,
 * is rejected. */
TEST(gumbel_top_k_draws_without_replacement, STATISTICS)
{
    enum { N = 3, CELLS = V * V * V };
    double law[CELLS] = {0.0}, chance[CELLS];
    int cell_of[CELLS], cells = 0;
    bench b;
    spec_enumeration walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    bench_init(&b, "tree?n=3&siblings=without", V, row, 1);
    do {
        run(&b, &walk.chance);
        law[(b.draft.token[0] * V + b.draft.token[1]) * V + b.draft.token[2]] +=
            spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    spec_enumeration_free(&walk);
    bench_free(&b);
    for (int i = 0; i < CELLS; i++) {
        cell_of[i] = law[i] > 0.0 ? cells : -1;
        if (law[i] > 0.0) chance[cells++] = law[i];
    }
    assert_int_equal(cells, 24);

    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int wrong = 0; wrong < 2; wrong++) {
        uint64_t count[CELLS] = {0};
        for (uint64_t s = spec_test_samples(50000); s > 0; s--) {
            double key[V];
            int top[N];
            for (int x = 0; x < V; x++)
                key[x] = (wrong ? row[x] : log(row[x])) - log(-log(gsl_rng_uniform_pos(rng)));
            assert_int_equal(spec_row_largest(top, N, key, V), N);
            count[cell_of[(top[0] * V + top[1]) * V + top[2]]]++;
        }
        assert_int_equal(
            spec_battery_rejects(spec_battery_chi_square(count, chance, (size_t)cells)), wrong);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(bad_shapes_are_refused_with_a_line)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"tree?n=0", "n"},
        {"tree?n=1025", "n"},
        {"tree?widths=", "widths"},
        {"tree?widths=2..1", "''"},
        {"tree?widths=2.0", "'0'"},
        {"tree?widths=2.x", "'x'"},
        {"tree?widths=1025", "1025"},
        {"tree?widths=2.1.", "''"},
        {"tree?widths=123456789.1", "123456789"},
        {"tree?n=2&widths=2", "only one of"},
        {"tree?siblings=hubb", "hub"},
        {"tree?n=3&siblings=hub", "pairs"},
        {"tree?children=", "''"},
        {"tree?children=2.-1", "'-1'"},
        {"tree?children=2.0.0.1", "number 4"},
        {"tree?children=0.1", "number 2 has no node: the numbers before it make 0 nodes"},
        {"tree?children=1025", "1025"},
        {"tree?children=1024.1", "1024"},
        {"tree?children=2&n=2", "only one of"},
        {"tree?children=1&widths=2", "only one of"},
        {"tree?children=1.3&siblings=hub", "3"},
        {"tree?m=3", "m"},
        {"tree?widths=2.3&siblings=hub", "3"},
        {"tree?widths=1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1."
         "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1",
         "64"},
    };
    OWNED(table_model) model;
    table_model_init(&model, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OWNED(spec_drafter) drafter;
        spec_error error = {""};
        if (spec_drafter_init(&drafter, bad[i].spec, &model.head, &error) == GSL_SUCCESS)
            fail_msg("%s", bad[i].spec);
        if (strstr(error.text, bad[i].says) == NULL) fail_msg("%s: '%s'", bad[i].spec, error.text);
    }
}

TEST(a_decoder_refuses_what_does_not_go_together)
{
    static const struct {
        const char *drafting, *policy, *rule;
        int K;
        const char *opt_says; /* NULL: valid */
    } cases[] = {
        {"tree?n=2", "fixed", "match", 9, NULL},
        {"tree?n=2", "fixed", "match", 10, "1024"},
        {"tree?widths=1024", "fixed", "match", 5, NULL},
        {"tree?widths=1024.1024.1024.1024", "fixed", "match", 5, "1024"},
        {"tree?n=1024", "fixed", "match", 256, "1024"},
        {"tree?n=2", "heuristic?cap=9", "match", 2, NULL},
        {"tree?n=2", "heuristic?cap=10", "match", 2, "depth 10"},
        {"tree?n=2", "oracle", "token", 2, NULL},
        {"tree?n=2", "confidence", "match", 2, "'confidence'"},
        {"tree?n=2", "peak", "match", 2, "'peak'"},
        {"tree?n=2", "confidence-drop", "match", 2, "'confidence-drop'"},
        {"tree?n=2", "fixed", "resample-target", 2, "strategy 'tree?n=2'; these do: token, "},
        {"tree?n=1", "fixed", "resample-target", 2, NULL},
    };
    OWNED(table_model) target, draft;
    table_model_init(&target, 2);
    table_model_init(&draft, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spec_decoder_config config = {.target = &target.head,
                                            .opt_draft = &draft.head,
                                            .K = cases[i].K,
                                            .drafting = cases[i].drafting,
                                            .policy = cases[i].policy,
                                            .rule = cases[i].rule,
                                            .costs = SPEC_COSTS_DEFAULT};
        OWNED(spec_decoder) decoder;
        spec_error error = {""};
        const int status = spec_decoder_init(&decoder, &config, &error);
        assert_int_equal(status, cases[i].opt_says == NULL ? GSL_SUCCESS : GSL_EINVAL);
        if (cases[i].opt_says != NULL && strstr(error.text, cases[i].opt_says) == NULL)
            fail_msg("'%s'", error.text);
    }
}

/* A tally counts depths: two levels of two, the first child rejected and the second followed. */
TEST(a_tally_counts_depths_of_a_tree)
{
    OWNED(table_model) target, draft;
    const double example[V] = {0.25, 0.25, 0.25, 0.25};
    table_model_init(&target, V);
    table_model_init(&draft, V);
    table_model_fill(&target, example);
    table_model_fill(&draft, row);
    const spec_decoder_config config = {.target = &target.head, .opt_draft = &draft.head, .K = 2,
                                        .drafting = "tree?n=2", .policy = "fixed", .rule = "match",
                                        .costs = {.draft = 0.27, .verify = 1.0}};
    static const struct {
        int answer[9], n;
        int accepted, tested;
    } cases[] = {
        {{0, 1, 2, 2, 3, 3, 3}, 7, 0, 1},       /* neither 0 nor 1 */
        {{0, 1, 2, 2, 3, 3, 1, 2}, 8, 1, 2},    /* 1 is accepted; its children are 3 and 3 */
        {{0, 1, 2, 2, 3, 3, 1, 3, 0}, 9, 2, 2}, /* 1 and 3, a leaf without children */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_decoder) decoder;
        spec_tally tally = {0};
        spec_script script;
        assert_int_equal(spec_decoder_init(&decoder, &config, NULL), GSL_SUCCESS);
        spec_script_init(&script, cases[i].answer, cases[i].n, NULL);
        assert_int_equal(spec_decoder_round(&decoder, &script.chance, &tally, NULL), GSL_SUCCESS);
        assert_true(!script.broken && script.used == cases[i].n);
        assert_int_equal(tally.drafted, 6);
        assert_int_equal(tally.accepted, cases[i].accepted);
        for (int d = 0; d < 3; d++) {
            assert_int_equal(tally.tested[d], d < cases[i].tested);
            assert_int_equal(tally.passed[d], d < cases[i].accepted);
        }
        assert_within(tally.time, 2 * 0.27 + 1.0, 1e-15); /* a level is one call */
    }
}
