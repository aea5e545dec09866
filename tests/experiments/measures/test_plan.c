/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares plans with enumeration: the planned number of tokens is that of the decoding loop for
 * the printed shape, if every context has the same rows. Also checks the files that a plan
 * reads. */
#include "experiments/measures/plan_files.h"
#include "experiments/measures/rank_acceptance.h"
#include "experiments/measures/tree_choice.h"
#include "experiments/pass_costs.h"
#include "sim/output_law.h"
#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { V = 3, LEVELS = 3, LIMIT = 20000000 };

/* Returns the tokens of the first round of a strategy, by enumeration of every decision. */
static double enumerated(const spec_decoder_config *config)
{
    OWNED(spec_output_law) law;
    assert_works(spec_output_law_init(&law, config, NULL, 0, 1, LIMIT, &error));
    const double emitted = law.accepted + 1.0;
    return emitted;
}

/* Makes a pair of models of order 0. */
typedef struct {
    table_model target, draft;
    spec_decoder_config config;
} pair;

static void pair_init(pair *p, const double *target, const double *draft, const char *rule)
{
    table_model_init(&p->target, V);
    table_model_init(&p->draft, V);
    table_model_fill(&p->target, target);
    table_model_fill(&p->draft, draft);
    p->target.head.order = p->draft.head.order = 0;
    p->config = (spec_decoder_config){.target = &p->target.head,
                                      .opt_draft = &p->draft.head,
                                      .policy = "fixed",
                                      .rule = rule,
                                      .K = LEVELS,
                                      .costs = SPEC_COSTS_DEFAULT};
}

static void pair_free(pair *p)
{
    table_model_free(&p->target);
    table_model_free(&p->draft);
}

static const double rows[][V] = {
    {0.5, 0.3, 0.2}, {0.2, 0.5, 0.3}, {0.1, 0.27, 0.63}, {0.0, 0.73, 0.27}};
enum { N_ROWS = 4 };

/* ---- a plan and its tree --------------------------------------------------------------------- */

static const struct {
    const char *rule;
    spec_siblings siblings;
} judged[] = {
    {"rrsw", SPEC_SIBLINGS_WITHOUT},   {"rrs", SPEC_SIBLINGS_IID},
    {"naive-tree", SPEC_SIBLINGS_IID}, {"match", SPEC_SIBLINGS_IID},
    {"match", SPEC_SIBLINGS_TOP},      {"naive-tree", SPEC_SIBLINGS_TOP},
};
enum { N_JUDGED = 6 };

TEST(what_is_planned_is_what_the_written_tree_yields)
{
    const double free_verify[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int trees = 0, planned_shapes = 0;
    for (int c = 0; c < N_ROWS * N_ROWS; c++)
        for (int j = 0; j < N_JUDGED; j++)
            for (int m = 0; spec_tree_methods[m] != NULL; m++) {
                double accept[LEVELS * V];
                bool exact;
                spec_error error = {""};
                spec_tree_choice choice;
                pair p;
                char drafting[96];
                pair_init(&p, rows[c % N_ROWS], rows[c / N_ROWS], judged[j].rule);
                assert_works(spec_rank_acceptance_exact(accept, &exact, V, &p.config,
                                                        judged[j].siblings, &error));
                assert_true(exact);
                for (int l = 1; l < LEVELS; l++) memcpy(accept + l * V, accept, V * sizeof *accept);
                const spec_branch_chances chances = {
                    .levels = LEVELS, .ranks = V, .accept = accept};
                const int nodes = judged[j].siblings == SPEC_SIBLINGS_TOP ? 7 : 2 + c % 3;
                const int status = spec_tree_choose(&choice, spec_tree_methods[m], &chances, nodes,
                                                    0.0, free_verify, &error);
                /* probabilities need not fall by rank, except for Medusa's tree */
                if (status != GSL_SUCCESS) {
                    assert_string_equal(spec_tree_methods[m], "medusa");
                    assert_non_null(strstr(error.text, "descending"));
                    pair_free(&p);
                    continue;
                }
                assert_true(choice.nodes <= nodes && choice.depth <= LEVELS);
                snprintf(drafting, sizeof drafting, "tree?%s&siblings=%s", choice.shape,
                         spec_siblings_names[judged[j].siblings]);
                p.config.drafting = drafting;
                assert_near(enumerated(&p.config), choice.emitted, 1e-12);
                assert_near(choice.speedup, choice.emitted, 1e-15);
                spec_drafter drafter;
                assert_works(spec_drafter_init(&drafter, drafting, &p.draft.head, &error));
                assert_int_equal(spec_drafter_nodes(&drafter, SPEC_K_MAX), choice.nodes);
                assert_int_equal(spec_drafter_nodes(&drafter, choice.depth), choice.nodes);
                if (choice.depth > 0)
                    assert_true(spec_drafter_nodes(&drafter, choice.depth - 1) < choice.nodes);
                spec_drafter_free(&drafter);
                planned_shapes += strstr(choice.shape, "children=") != NULL && choice.depth > 1;
                trees++;
                spec_tree_choice_free(&choice);
                pair_free(&p);
            }
    print_message("%d trees, %d of them planned and deeper than a level\n", trees, planned_shapes);
    assert_true(planned_shapes > 50);
}

/* If probabilities fall by rank, the n largest products are the best tree: both plans have its
 * tokens, and no form has more. Costs decide between sizes. */
TEST(plans_agree_and_no_form_beats_them)
{
    uint64_t noise = spec_test_seed();
    for (int i = 0; i < 60; i++) {
        double accept[8 * 4], verify[41], sum = table_uniform(&noise);
        const double c = i % 4 * 0.05;
        for (int r = 0; r < 4; r++) sum += accept[r] = table_uniform(&noise) / (1 + 2 * r * r);
        for (int r = 0; r < 4; r++) accept[r] /= sum;
        for (int a = 0; a < 3; a++) /* in falling order */
            for (int r = 0; r < 3; r++)
                if (accept[r] < accept[r + 1]) {
                    const double swap = accept[r];
                    accept[r] = accept[r + 1];
                    accept[r + 1] = swap;
                }
        for (int l = 1; l < 8; l++) memcpy(accept + l * 4, accept, 4 * sizeof *accept);
        for (int m = 0; m <= 40; m++) verify[m] = 1 + i % 3 * 0.02 * m;
        const spec_branch_chances chances = {.levels = 8, .ranks = 4, .accept = accept};
        double best = 0;
        for (int method = 5; method >= 0; method--) {
            OWNED(spec_tree_choice) choice;
            assert_works(spec_tree_choose(&choice, spec_tree_methods[method], &chances, i % 41, c,
                                          verify, &error));
            assert_near(choice.speedup, choice.emitted / (choice.depth * c + verify[choice.nodes]),
                        1e-14);
            if (method == 5) best = choice.speedup;
            else if (method == 4) assert_near(choice.speedup, best, 1e-13);
            else assert_true(choice.speedup <= best * (1 + 1e-13));
        }
    }
}

/* Medusa's heads differ. The tree of the table .6 .2 / .5 .3 by hand: 1 (.6), 11 (.3), 2 (.2), 12
 * (.18), 21 (.1). */
TEST(heads_are_planned_level_by_level)
{
    const double accept[] = {0.6, 0.2, 0.5, 0.3}, verify[] = {1, 1, 1, 1, 1, 1, 1},
                 rising[] = {0.6, 0.2, 0.3, 0.5};
    static const struct {
        int nodes;
        const char *shape;
        double emitted;
    } trees[] = {{1, "children=1", 1.6}, {2, "children=1.1", 1.9}, {3, "children=2.1", 2.1},
                 {4, "children=2.2", 2.28}, {5, "children=2.2.1", 2.38}, {0, "children=0", 1}};
    spec_branch_chances chances = {.levels = 2, .ranks = 2, .accept = accept, .by_level = true};
    spec_tree_choice choice;
    for (int i = 0; i < 6; i++) {
        assert_works(
            spec_tree_choose(&choice, "medusa", &chances, trees[i].nodes, 0, verify, &error));
        assert_string_equal(choice.shape, trees[i].shape);
        assert_near(choice.emitted, trees[i].emitted, 1e-15);
        spec_tree_choice_free(&choice);
    }
    assert_fails_with(spec_tree_choose(&choice, "sequoia", &chances, 3, 0, verify, &error),
                      GSL_EINVAL, "sequoia needs one list");
    assert_fails_with(spec_tree_choose(&choice, "medsa", &chances, 3, 0, verify, &error),
                      GSL_EINVAL, "'medusa'");
    chances.accept = rising;
    assert_fails_with(spec_tree_choose(&choice, "medusa", &chances, 3, 0, verify, &error),
                      GSL_EINVAL, "level 2: rank 2");
    assert_status(spec_tree_choose(&choice, "chain", &chances, 3, -1, verify, &error), GSL_EDOM);
    assert_null(choice.shape);
}

/* ---- acceptance by rank ---------------------------------------------------------------------- */

TEST(measured_chances_are_those_of_the_closed_forms, STATISTICS)
{
    const uint64_t seed = spec_test_seed(), positions = spec_test_samples(20000);
    for (int j = 0; j < N_JUDGED; j++) {
        double exact[V], measured[V], again[V];
        const spec_point one = {.opt_context = spec_test_context(1)},
                         two = {.opt_context = spec_test_context(2)};
        bool known;
        char drafting[64];
        OWNED(pair) p;
        pair_init(&p, rows[0], rows[1], judged[j].rule);
        snprintf(drafting, sizeof drafting, "tree?n=%d&siblings=%s", V,
                 spec_siblings_names[judged[j].siblings]);
        p.config.drafting = drafting;
        p.config.K = 1;
        assert_works(
            spec_rank_acceptance_exact(exact, &known, V, &p.config, judged[j].siblings, &error));
        assert_works(
            spec_rank_acceptance_measured(measured, V, &p.config, positions, seed, &two, &error));
        assert_works(
            spec_rank_acceptance_measured(again, V, &p.config, positions, seed, &one, &error));
        assert_memory_equal(measured, again, sizeof measured);
        for (int r = 0; r < V;
             r++) /* a rank mistaken for the next one is off by 14 standard errors */
            assert_within(measured[r], exact[r],
                          5 * sqrt(exact[r] * (1 - exact[r]) / (double)positions) + 1e-12);
    }
}

TEST(what_has_no_closed_form_is_left_to_measurement)
{
    double accept[V];
    bool exact;
    pair p;
    pair_init(&p, rows[0], rows[1], "rrsw");
    assert_works(
        spec_rank_acceptance_exact(accept, &exact, V, &p.config, SPEC_SIBLINGS_IID, &error));
    assert_false(exact);
    p.config.rule = "greedy";
    assert_works(
        spec_rank_acceptance_exact(accept, &exact, V, &p.config, SPEC_SIBLINGS_TOP, &error));
    assert_false(exact);
    p.config.rule = "match";
    p.draft.head.order = 1;
    assert_works(
        spec_rank_acceptance_exact(accept, &exact, V, &p.config, SPEC_SIBLINGS_TOP, &error));
    assert_false(exact);
    pair_free(&p);
    assert_works(spec_rank_acceptance_check("rrs", &error));
    assert_fails_with(spec_rank_acceptance_check("kseq", &error), GSL_EINVAL, "'kseq'");
}

/* With the same rows in every context, EAGLE-2's tree is Medusa's, planned from the draft's own
 * probabilities. */
TEST(a_dynamic_tree_of_one_context_is_medusas)
{
    const double verify[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const double target[V] = {0.3, 0.6, 0.1}, draft[V] = {0.27, 0.12, 0.61};
    double accept[LEVELS * V];
    for (int l = 0; l < LEVELS; l++)
        memcpy(accept + l * V, (const double[]){0.61, 0.27, 0.12}, V * sizeof *accept);
    const spec_branch_chances chances = {.levels = LEVELS, .ranks = V, .accept = accept};
    for (int nodes = 1; nodes < 10; nodes++) {
        spec_tree_choice choice;
        char tree[96], dynamic[64];
        OWNED(pair) p;
        pair_init(&p, target, draft, "match");
        assert_works(spec_tree_choose(&choice, "medusa", &chances, nodes, 0, verify, &error));
        snprintf(tree, sizeof tree, "tree?%s&siblings=top", choice.shape);
        snprintf(dynamic, sizeof dynamic, "dynamic?top=3&nodes=%d&depth=%d", nodes, LEVELS);
        p.config.drafting = tree;
        const double planned = enumerated(&p.config);
        p.config.drafting = dynamic;
        assert_near(enumerated(&p.config), planned, 1e-14);
        spec_tree_choice_free(&choice);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static char path[64];

static void write_file(const char *text)
{
    spec_file_write(path, text);
}

TEST(accuracies_are_read_and_nonsense_is_refused)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"a,b\n0.6,0.5\n", "row 1: the probabilities sum to 1.1"},
        {"a,b\n0.6,x\n", "row 1, 'b'"},
        {"a,b\n0.6,\n", "row 1, 'b'"},
        {"a,b\n0.6,0.1\n0.5,-0.1\n", "row 2, 'b'"},
        {"a\n1.5\n", "row 1, 'a'"},
        {"a,b\n", "there are no rows"},
        {"a,b\n0.6,0.1\n0.5,0.2", "no line end"},
        {"a,b\n0.6\n", "fewer"},
        {"head\n1\n", "0 ranks"},
        {"", ""},
    };
    double *accept;
    int heads, ranks;
    spec_error error = {""};
    write_file("# from a log\nhead,first,second\n1,0.6,0.2\n2,0.5,0.27\n3,0.4,0\n");
    assert_works(spec_plan_read_accuracies(&accept, &heads, &ranks, path, &error));
    assert_int_equal(heads, 3);
    assert_int_equal(ranks, 2);
    const double expected[] = {0.6, 0.2, 0.5, 0.27, 0.4, 0};
    assert_memory_equal(accept, expected, sizeof expected);
    free(accept);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i].text);
        assert_true(spec_plan_read_accuracies(&accept, &heads, &ranks, path, &error) !=
                    GSL_SUCCESS);
        assert_null(accept);
        if (strstr(error.text, bad[i].says) == NULL || strstr(error.text, path) == NULL)
            fail_msg("%s", error.text);
    }
    assert_true(spec_plan_read_accuracies(&accept, &heads, &ranks, "/no/such/file", &error) !=
                GSL_SUCCESS);
}

TEST(costs_are_interpolated_and_nonsense_is_refused)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"nodes,time\n2,1.1\n4,1.2", "no line end"},
        {"nodes,time\n0,31.5\n8,40\n", "divide"},
        {"nodes,time\n4,1.1\n4,1.2\n", "row 2: the nodes"},
        {"nodes,time\n8,1.1\n4,1.2\n", "row 2: the nodes"},
        {"nodes,time\n8,0\n", "row 1"},
        {"nodes,time\n8,inf\n", "row 1"},
        {"nodes,time\n1.5,1\n", "row 1"},
        {"nodes,time\n-1,1\n", "row 1"},
        {"nodes,ms\n8,1\n", "'time'"},
        {"nodes,time\n", "no rows"},
    };
    spec_pass_costs costs;
    spec_error error = {""};
    write_file("nodes,time\n4,1.2\n6,1.8\n9,1.5\n");
    assert_works(spec_pass_costs_read(&costs, path, &error));
    const double expected[] = {1, 1.05, 1.1, 1.15, 1.2, 1.5, 1.8, 1.7, 1.6};
    for (int m = 0; m <= 8; m++)
        assert_near(spec_pass_costs_time(&costs, m + 1), expected[m], 1e-15);
    assert_nan(spec_pass_costs_time(&costs, 11));
    assert_nan(costs.c);
    spec_pass_costs_free(&costs);
    write_file("nodes,time\n0,1\n2,1.5\n");
    assert_works(spec_pass_costs_read(&costs, path, &error));
    for (int m = 0; m <= 2; m++)
        assert_near(spec_pass_costs_time(&costs, m + 1), 1 + 0.25 * m, 1e-15);
    spec_pass_costs_free(&costs);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i].text);
        assert_true(spec_pass_costs_read(&costs, path, &error) != GSL_SUCCESS);
        assert_null(costs.width);
        if (strstr(error.text, bad[i].says) == NULL || strstr(error.text, path) == NULL)
            fail_msg("%s", error.text);
    }
}

static int make_path(void **state)
{
    (void)state;
    strcpy(path, "/tmp/speclab-plan-XXXXXX");
    const int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

SUITE(.setup = make_path, .teardown = remove_path);
