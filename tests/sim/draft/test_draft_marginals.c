/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks trees of marginals against the definition: all prefixes, sorted by their products. */
#include "models/synthetic/cases.h"
#include "sim/output_law.h"
#include "tests/models/open_model.h"
#include "tests/support/support.h"

enum { V_MAX = 5, DEPTH = 4, PREFIXES = 800 };

typedef struct {
    spec_drafter drafter;
    spec_draft draft;
} grown;

static grown grow(const char *spec, const opened *draft, const opened *target, int K,
                  const int *context, size_t n)
{
    grown g;
    spec_policy policy;
    spec_script script; /* empty: any decision would break it */
    spec_error error = {""};
    spec_script_init(&script, NULL, 0, NULL);
    assert_works(spec_policy_init(&policy, "fixed", K, &error));
    if (spec_drafter_init(&g.drafter, spec, draft->model, &error) != GSL_SUCCESS ||
        spec_drafter_open(&g.drafter, target->model, K, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    assert_works(
        spec_draft_init(&g.draft, spec_drafter_nodes(&g.drafter, K), target->model->vocab, &error));
    if (spec_drafter_draft(&g.draft, &g.drafter, context, n, &policy, &script.chance, &error) !=
        GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    assert_false(script.broken);
    assert_int_equal(g.draft.siblings, SPEC_SIBLINGS_TOP);
    return g;
}

static void grown_free(grown *g)
{
    spec_drafter_free(&g->drafter);
    spec_draft_free(&g->draft);
}

static int falling(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a > b ? -1 : a < b;
}

/* Lists the products of all prefixes below one, made of tokens that may follow it. */
static int list_products(double *product, int n, const double (*row)[V_MAX],
                         const spec_model *target, int depth, double above)
{
    for (int x = 0; depth < DEPTH && x < target->vocab; x++) {
        const double here = above * row[depth][x];
        if (here > 0.0) product[n++] = here;
        if (!spec_model_ends_text(target, x))
            n = list_products(product, n, row, target, depth + 1, here);
    }
    return n;
}

TEST(the_tree_has_the_prefixes_of_largest_product)
{
    static const char *const targets[] = {
        "dirichlet?V=4&order=2&concentration=0.6&seed=1", "probs:0.4,0.3,0.2,0.1",
        "cases?V=5&order=3&family=mixed&seed=3", "cases?V=5&order=3&family=zeros&seed=4&end=2",
        "uniform?V=3"};
    static const int most[] = {1, 2, 7, 60, 1024};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        opened target = open_model(targets[t], NULL),
               draft = open_model("block?of=target", target.model);
        const int V = target.model->vocab, context[] = {1, 0, 2}, path[DEPTH] = {0};
        double row[DEPTH][V_MAX], store[DEPTH * V_MAX], product[PREFIXES];
        const double *read[DEPTH];
        assert_works(spec_session_score(&draft.session,
                                        &(spec_score_request){.context = context,
                                                              .n_context = 3,
                                                              .token = path,
                                                              .n_nodes = DEPTH - 1,
                                                              .ret_row = read,
                                                              .scratch = store},
                                        &error));
        for (int i = 0; i < DEPTH; i++) memcpy(row[i], read[i], (size_t)V * sizeof(double));
        const int all =
            list_products(product, 0, (const double(*)[V_MAX])row, target.model, 0, 1.0);
        qsort(product, (size_t)all, sizeof *product, falling);
        for (int m = 0; m < 5; m++) {
            char spec[64];
            snprintf(spec, sizeof spec, "marginals?nodes=%d", most[m]);
            OWNED(grown) g = grow(spec, &draft, &target, DEPTH, context, 3);
            double value[1024];
            assert_int_equal(g.draft.n_nodes, most[m] < all ? most[m] : all);
            assert_int_equal(g.drafter.n_calls, 1);
            for (int i = 0, depth[1024]; i < g.draft.n_nodes; i++) {
                const int parent = g.draft.parent[i], token = g.draft.token[i];
                depth[i] = parent < 0 ? 0 : depth[parent] + 1;
                value[i] = (parent < 0 ? 1.0 : value[parent]) * row[depth[i]][token];
                assert_true(value[i] == product[i]); /* in falling order */
                assert_false(g.draft.sampled[i]);
                for (int j = 0; j < i; j++)
                    assert_false(g.draft.parent[j] == parent && g.draft.token[j] == token);
            }
        }
        opened_free(&draft);
        opened_free(&target);
    }
}

/* (.4, .3, .2, .1) at each depth: 0 .4, 1 .3, 2 .2, 00 .16, 01 .12, 10 .12. */
TEST(a_tree_by_hand)
{
    OWNED(opened) target = open_model("probs:0.4,0.3,0.2,0.1", NULL);
    OWNED(opened) draft = open_model("block?of=target", target.model);
    OWNED(grown) g = grow("marginals?nodes=6", &draft, &target, 2, NULL, 0);
    static const int token[] = {0, 1, 2, 0, 0, 1}, parent[] = {-1, -1, -1, 0, 1, 0};
    assert_int_equal(g.draft.n_nodes, 6);
    /* 01 and 10 tie, so the one offered first wins: here the first child of 1 */
    assert_memory_equal(g.draft.token, token, sizeof token);
    assert_memory_equal(g.draft.parent, parent, sizeof parent);
    grown_free(&g);
    g = grow("marginals?nodes=6&depth=1", &draft, &target, 2, NULL, 0);
    assert_int_equal(g.draft.n_nodes, 4);
    grown_free(&g);
    g = grow("marginals", &draft, &target, 0, NULL, 0);
    assert_int_equal(g.draft.n_nodes, 0);
    assert_int_equal(g.drafter.n_calls, 0);
}

TEST(rules_for_chosen_siblings_are_lossless)
{
    static const char *const rules[] = {"naive-tree", "traversal", "match", "token"};
    for (int family = 0; family < SPEC_CASES_FAMILIES; family++)
        for (int seed = 0; seed < 5; seed++)
            for (size_t r = 0; r < 4; r++) {
                char spec[96];
                snprintf(spec, sizeof spec, "cases?V=3&order=2&family=%s&seed=%d",
                         spec_cases_families[family], seed);
                OWNED(opened) target = open_model(spec, NULL);
                OWNED(opened) draft = open_model("block?of=target&row=mean", target.model);
                spec_decoder_config config = SPEC_DECODER_DEFAULT;
                OWNED(spec_output_law) law;
                spec_error error = {""};
                config.target = target.model;
                config.opt_draft = draft.model;
                config.drafting = "marginals?nodes=5";
                config.rule = rules[r];
                config.K = 3;
                if (spec_output_law_init(&law, &config, NULL, 0, 2, 0, &error) != GSL_SUCCESS)
                    fail_msg("%s: %s", rules[r], error.text);
                assert_true(law.tv < 1e-12);
            }
}

TEST(rows_that_depend_on_the_path_are_refused)
{
    static const char *const drafts[] = {"perturb?of=target", "markov-block?of=target",
                                         "zipf?V=4&temperature=0.5"};
    OWNED(opened) target = open_model("dirichlet?V=4&order=2", NULL);
    for (size_t d = 0; d < 3; d++) {
        OWNED(opened) draft = open_model(drafts[d], target.model);
        OWNED(spec_drafter) drafter;
        assert_works(spec_drafter_init(&drafter, "marginals", draft.model, &error));
        assert_fails_with(spec_drafter_open(&drafter, target.model, 2, &error), GSL_EINVAL,
                          "depend on the path: use dynamic");
    }
}
