/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An emitted text is a path of the draft if and only if a search through all paths finds it. */
#include "tools/validate/evidence/draft_paths.h"

#include "tests/support/support.h"
#include "tests/tools/validate/evidence_stand.h"

/* The root has two equal children, and only the second has a child with the next token. */
TEST(a_path_may_go_through_the_later_twin)
{
    const spec_fixture tree = {.n_nodes = 6, .parent = {-1, -1, 0, 0, 1, 1}};
    const int32_t token[] = {2, 2, 1, 0, 0, 3};
    spec_places places = spec_draft_paths_next(&tree, token, 6, SPEC_PLACES_ROOT, 2);
    assert_int_equal(places, 1 << 1 | 1 << 2);
    assert_int_equal(spec_draft_paths_children(&tree, token, 6, places),
                     1 << 3 | 1 << 4 | 1 << 5 | 1 << 6);
    assert_int_equal(spec_draft_paths_next(&tree, token, 6, places, 3), 1 << 6);
    assert_int_equal(spec_draft_paths_next(&tree, token, 6, places, 0), 1 << 4 | 1 << 5);
    assert_int_equal(spec_draft_paths_next(&tree, token, 6, places, 2), 0);
    assert_int_equal(spec_draft_paths_next(&tree, token, 5, places, 3),
                     0); /* node 5 is missing */
}

/* The same for the hard rules: a path through the second twin passes, and a text that is on no path
 * is reported. */
TEST(a_round_that_follows_the_later_twin_breaks_no_rule)
{
    static const int32_t drafted[] = {2, 2, 1, 0, 0, 3}, emitted[][3] = {{2, 3, 0}, {2, 2, 0}};
    for (int wrong = 0; wrong < 2; wrong++) {
        OWNED(stand) s;
        open_stand(&s, "shorter-iid-4", SPEC_SCOPE_VERIFY);
        assert_int_equal(s.fixture.n_nodes, 6);
        ask(&s, 1, 0);
        memcpy(s.batch.token, drafted, sizeof drafted);
        memcpy(s.batch.emitted, emitted[wrong], sizeof emitted[wrong]);
        s.batch.n_nodes[0] = 6;
        s.batch.n_emitted[0] = 3;
        s.batch.n_accepted[0] = 2;
        take(&s, 1, 0);
        const spec_exhibit *hard = spec_evidence_hard(s.evidence);
        assert_int_equal(hard != NULL ? hard->hard : SPEC_HARD_NONE,
                         wrong ? SPEC_HARD_PATH : SPEC_HARD_NONE);
    }
}

static bool leads(const spec_fixture *tree, const int32_t *token, int n_nodes, int node,
                  const int32_t *text, int n)
{
    if (n == 0) return true;
    for (int child = 0; child < n_nodes; child++)
        if (tree->parent[child] == node && token[child] == text[0] &&
            leads(tree, token, n_nodes, child, text + 1, n - 1))
            return true;
    return false;
}

/* Few tokens, so that twins are common; both paths and other texts occur often. */
TEST(random_trees_agree_with_a_search_through_all_paths)
{
    enum { TREES = 20000, TOKENS = 2, LENGTH = 3 };
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    int found = 0;
    spec_rng_stream(rng, spec_test_seed(), 0);
    for (int t = 0; t < TREES; t++) {
        spec_fixture tree = {.n_nodes = (int)gsl_rng_uniform_int(rng, SPEC_FIXTURE_NODES_MAX + 1)};
        int32_t token[SPEC_FIXTURE_NODES_MAX], text[LENGTH];
        spec_places places = SPEC_PLACES_ROOT;
        for (int i = 0; i < tree.n_nodes; i++) {
            tree.parent[i] = (int)gsl_rng_uniform_int(rng, (unsigned long)i + 1) - 1;
            token[i] = (int32_t)gsl_rng_uniform_int(rng, TOKENS + 1) - 1; /* -1: padding */
        }
        for (int k = 0; k < LENGTH; k++) {
            text[k] = (int32_t)gsl_rng_uniform_int(rng, TOKENS);
            places = spec_draft_paths_next(&tree, token, tree.n_nodes, places, text[k]);
            assert_int_equal(places != 0, leads(&tree, token, tree.n_nodes, -1, text, k + 1));
        }
        found += places != 0;
    }
    gsl_rng_free(rng);
    assert_in_range(found, TREES / 20, TREES / 2);
}
