/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks trees given by widths against the same trees node by node, the fastest tree of a form
 * against all of that form, and the notation. */
#include "analysis/tree_shape.h"

#include "analysis/tree_plan.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>

enum { LEVELS = 5, RANKS = 4, MOST = 400 };

/* The search as one call: the speed-up, with the tree's size, depth and tokens. */
static double fastest(int *width, int *nodes, int *depth, double *emitted,
                      spec_tree_shape_search search)
{
    const spec_tree_shape_found found = spec_tree_shape_fastest(width, &search);
    *nodes = found.nodes;
    *depth = found.depth;
    *emitted = found.emitted;
    return found.speedup;
}

/* Rows of chances that sum to less than 1. */
static void random_accept(double *ret_accept, gsl_rng *rng)
{
    for (int l = 0; l < LEVELS; l++) {
        double sum = gsl_rng_uniform_pos(rng);
        for (int r = 0; r < RANKS; r++) sum += ret_accept[l * RANKS + r] = gsl_rng_uniform_pos(rng);
        for (int r = 0; r < RANKS; r++) ret_accept[l * RANKS + r] /= sum;
    }
}

/* Builds the tree node by node, level after level. Returns the number of nodes. */
static int grow(int *parent, double *chance, const int *width, int depth, const double *accept)
{
    int n = 0, first = -1, end = 0;
    for (int l = 0; l < depth; l++) {
        for (int v = first; v < end; v++)
            for (int r = 0; r < width[l]; r++, n++) {
                parent[n] = v;
                chance[n] = accept[l * RANKS + r];
            }
        first = end;
        end = n;
    }
    return n;
}

TEST(widths_emit_what_their_nodes_do)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 200; i++) {
        int width[LEVELS], parent[4 * MOST], children[4 * MOST + 1], bfs[4 * MOST + 1];
        double accept[LEVELS * RANKS], chance[4 * MOST], work[8 * MOST + 1];
        const int depth = i % (LEVELS + 1);
        random_accept(accept, rng);
        for (int l = 0; l < LEVELS; l++) width[l] = (int)gsl_rng_uniform_int(rng, RANKS + 1);
        const int n = grow(parent, chance, width, depth, accept);
        assert_int_equal(spec_tree_shape_nodes(width, depth, 4 * MOST), n);
        assert_int_equal(spec_tree_shape_nodes(width, depth, n), n);
        if (n > 0) assert_int_equal(spec_tree_shape_nodes(width, depth, n - 1), -1);
        assert_near(spec_tree_shape_emitted(width, depth, accept, RANKS),
                    spec_tree_emitted(parent, chance, n, work), 1e-14);
        int levels = 0;
        while (levels < depth && width[levels] > 0) levels++;
        assert_int_equal(spec_tree_children(children, parent, n, bfs), levels);
        for (int v = -1; v < n; v++) { /* numbered breadth first: node v is number v */
            int level = 0;
            for (int u = v; u >= 0; u = parent[u]) level++;
            assert_int_equal(children[v + 1], level < depth ? width[level] : 0);
        }
    }
}

TEST(parents_are_written_breadth_first)
{
    /* 0 and 3 from the root; 1, 4 and 5 from 0; 2 from 1; 6 from 3; 7 from 2 */
    const int parent[] = {-1, 0, 1, -1, 0, 0, 3, 2}, expected[] = {2, 3, 1, 1, 0, 0, 0, 1, 0};
    int children[9], work[9];
    assert_int_equal(spec_tree_children(children, parent, 8, work), 4);
    for (int i = 0; i < 9; i++) assert_int_equal(children[i], expected[i]);
    assert_int_equal(spec_tree_children(children, parent, 1, work), 1);
    assert_int_equal(children[0], 1);
    assert_int_equal(children[1], 0);
    assert_int_equal(spec_tree_children(children, parent, 0, work), 0);
    assert_int_equal(children[0], 0);
    assert_int_equal(spec_tree_children(children, (const int[]){-1, 1}, 2, work), -1);
    assert_int_equal(spec_tree_children(children, (const int[]){-2}, 1, work), -1);
}

/* ---- the fastest of a form ------------------------------------------------------------------- */

/* Returns whether the tree has that form, from its definition, without the arithmetic of the
 * module. */
static int has_form(spec_form form, const int *width, int depth)
{
    int wide = 0, at = 0;
    for (int l = 0; l < depth; l++) {
        if (width[l] == 0) return 0;
        if (width[l] > 1) wide++, at = l;
    }
    if (form == SPEC_FORM_CHAIN) return wide == 0;
    if (form == SPEC_FORM_BRANCHES) return wide == 0 || (wide == 1 && at == 0);
    if (form == SPEC_FORM_DELAYED) return wide <= 1;
    for (int l = 1; l < depth; l++)
        if (width[l] != width[0]) return 0;
    return 1;
}

TEST(the_fastest_of_a_form_is_the_largest_ratio)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 40; i++) {
        double accept[LEVELS * RANKS], verify[MOST + 1];
        const int nodes = i % 5 == 0 ? 0 : (int)gsl_rng_uniform_int(rng, 60);
        const double c = i % 3 * 0.05;
        random_accept(accept, rng);
        for (int m = 0; m <= nodes; m++) verify[m] = 1 + (i % 2) * 0.01 * m;
        for (int form = 0; form < SPEC_FORMS; form++) {
            int all[LEVELS] = {0}, width[LEVELS], size, depth;
            double best = 0, best_emitted = 0, emitted;
            int best_size = 0;
            for (long code = 0; code < 3125; code++) { /* all widths of 0..4 on five levels */
                long rest = code;
                for (int l = 0; l < LEVELS; l++, rest /= 5) all[l] = (int)(rest % 5);
                for (int d = 0; d <= LEVELS; d++) {
                    const int n = spec_tree_shape_nodes(all, d, nodes);
                    if (n < 0 || !has_form((spec_form)form, all, d)) continue;
                    const double tokens = spec_tree_shape_emitted(all, d, accept, RANKS);
                    if (tokens / (d * c + verify[n]) > best) {
                        best = tokens / (d * c + verify[n]);
                        best_size = n;
                        best_emitted = tokens;
                    }
                }
            }
            assert_near(fastest(width, &size, &depth, &emitted,
                                (spec_tree_shape_search){(spec_form)form, accept, LEVELS, RANKS,
                                                         nodes, c, verify}),
                        best, 1e-14);
            assert_int_equal(size, best_size);
            assert_near(emitted, best_emitted, 1e-14);
            assert_true(has_form((spec_form)form, width, depth));
            assert_int_equal(spec_tree_shape_nodes(width, depth, nodes), size);
            assert_near(spec_tree_shape_emitted(width, depth, accept, RANKS), emitted, 1e-14);
        }
    }
}

TEST(of_equal_trees_the_smallest_is_taken)
{
    const double accept[4] = {0.27, 0, 0.27, 0}, free_verify[7] = {1, 1, 1, 1, 1, 1, 1};
    int width[2], nodes, depth;
    double emitted;
    for (int form = 0; form < SPEC_FORMS; form++) { /* a second child has no value */
        assert_near(
            fastest(width, &nodes, &depth, &emitted,
                    (spec_tree_shape_search){(spec_form)form, accept, 2, 2, 6, 0, free_verify}),
            1 + 0.27 + 0.27 * 0.27, 1e-15);
        assert_int_equal(nodes, 2);
        assert_int_equal(depth, 2);
        assert_true(width[0] == 1 && width[1] == 1);
        assert_same(
            fastest(width, &nodes, &depth, &emitted,
                    (spec_tree_shape_search){(spec_form)form, accept, 2, 2, 6, 2, free_verify}),
            1); /* plain decoding */
        assert_true(nodes == 0 && depth == 0);
        assert_same(emitted, 1);
    }
}

TEST(shapes_outside_the_domain_are_refused)
{
    const double fine[4] = {0.6, 0.27, 0.6, 0.27}, rounded[2] = {0.6, 0.4 + 5e-10},
                 more[2] = {0.6, 0.4 + 2e-9}, above[4] = {0.6, 0.27, 0.6, 0.5},
                 bad[4] = {0.6, -0.1, 0.6, NAN};
    double verify[3] = {1, 1, 1}, emitted;
    int width[2] = {1, 3}, nodes, depth;
    assert_nan(spec_tree_shape_emitted(width, 2, fine, 2));
    width[1] = -1;
    assert_nan(spec_tree_shape_emitted(width, 2, fine, 2));
    assert_int_equal(spec_tree_shape_nodes(width, 2, 99), -1);
    assert_int_equal(spec_tree_shape_nodes(width, -1, 99), -1);
    assert_nan(spec_tree_shape_emitted(width, -1, fine, 2));
    width[1] = 2;
    assert_nan(spec_tree_shape_emitted(width, 2, above, 2));
    assert_nan(spec_tree_shape_emitted(width, 2, bad, 2));
    assert_nan(spec_tree_shape_emitted((const int[]){2}, 1, bad, 2));
    assert_nan(spec_tree_shape_emitted((const int[]){1}, 1, (const double[]){1.5}, 1));
    assert_nan(spec_tree_shape_emitted((const int[]){1}, 1, (const double[]){NAN}, 1));
    assert_same(spec_tree_shape_emitted((const int[]){1}, 1, (const double[]){1}, 1), 2.0);
    assert_near(spec_tree_shape_emitted((const int[]){2}, 1, rounded, 2), 2.0,
                1e-9); /* 1 up to rounding */
    assert_nan(spec_tree_shape_emitted((const int[]){2}, 1, more, 2));
    assert_near(fastest(width, &nodes, &depth, &emitted,
                        (spec_tree_shape_search){SPEC_FORM_K_ARY, fine, 2, 1, 2, 0, verify}),
                1 + 0.6 * 1.27, 1e-15);
    assert_same(spec_tree_shape_emitted(width, 0, bad, 2), 1);
    assert_nan(fastest(width, &nodes, &depth, &emitted,
                       (spec_tree_shape_search){SPEC_FORM_K_ARY, above, 2, 2, 2, 0.1, verify}));
    assert_nan(fastest(width, &nodes, &depth, &emitted,
                       (spec_tree_shape_search){SPEC_FORM_K_ARY, fine, -1, 2, 2, 0.1, verify}));
    assert_nan(fastest(width, &nodes, &depth, &emitted,
                       (spec_tree_shape_search){SPEC_FORM_K_ARY, fine, 2, 0, 2, 0.1, verify}));
    assert_nan(fastest(width, &nodes, &depth, &emitted,
                       (spec_tree_shape_search){SPEC_FORM_K_ARY, fine, 2, 2, -1, 0.1, verify}));
    assert_nan(fastest(width, &nodes, &depth, &emitted,
                       (spec_tree_shape_search){SPEC_FORM_K_ARY, fine, 2, 2, 2, -0.1, verify}));
    assert_nan(fastest(width, &nodes, &depth, &emitted,
                       (spec_tree_shape_search){SPEC_FORM_K_ARY, fine, 2, 2, 2, INFINITY, verify}));
    for (int m = 0; m < 3; m++)
        for (int i = 0; i < 3; i++) {
            verify[m] = (double[]){0, NAN, INFINITY}[i];
            nodes = depth = 7;
            assert_nan(
                fastest(width, &nodes, &depth, &emitted,
                        (spec_tree_shape_search){SPEC_FORM_CHAIN, fine, 2, 2, 2, 0.1, verify}));
            assert_true(nodes == 0 && depth == 0 && emitted == 0);
            verify[m] = 1;
        }
    assert_same(fastest(width, &nodes, &depth, &emitted,
                        (spec_tree_shape_search){SPEC_FORM_CHAIN, fine, 0, 2, 2, 0, verify}),
                1);
}
