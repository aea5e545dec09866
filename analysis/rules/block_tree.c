/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/block_tree.h"

#include "analysis/statistics/compensated.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t spec_block_tree_rows(int V, int K)
{
    size_t rows = 0;
    if (V < 1 || V > SPEC_BLOCK_TREE_ROWS || K > SPEC_BLOCK_TREE_ROWS) return 0;
    for (int i = 0; i < K; i++) {
        rows = rows * (size_t)V + 1;
        if (rows > SPEC_BLOCK_TREE_ROWS) return 0;
    }
    return rows;
}

/* Return V^level, the number of nodes on a level, and the index of the first of them. */
static size_t level_size(const spec_block_tree *tree, int level)
{
    size_t size = 1;
    for (int i = 0; i < level; i++) size *= (size_t)tree->V;
    return size;
}

static size_t level_first(const spec_block_tree *tree, int level)
{
    return level == 0 ? 0 : spec_block_tree_rows(tree->V, level);
}

int spec_block_tree_work_init(spec_block_tree_work *work, int V, int K)
{
    const size_t rows = spec_block_tree_rows(V, K);
    *work = (spec_block_tree_work){0};
    if (rows == 0) return GSL_EDOM;
    const size_t n = (size_t)V, last = level_size(&(spec_block_tree){.V = V, .K = K}, K - 1) * n;
    work->weight = malloc(rows * sizeof *work->weight);
    work->ahead = malloc(rows * sizeof *work->ahead);
    work->gain = malloc(last * sizeof *work->gain);
    work->copied = malloc(last * sizeof *work->copied);
    work->row = malloc(n * sizeof *work->row);
    work->step = malloc(last * sizeof *work->step);
    work->square = gsl_matrix_alloc(n, n);
    work->values = gsl_vector_alloc(n);
    work->eigen = gsl_eigen_symm_alloc(n);
    if (work->weight != NULL && work->ahead != NULL && work->gain != NULL && work->copied != NULL &&
        work->row != NULL && work->step != NULL && work->square != NULL && work->values != NULL &&
        work->eigen != NULL)
        return GSL_SUCCESS;
    spec_block_tree_work_free(work);
    return GSL_ENOMEM;
}

void spec_block_tree_work_free(spec_block_tree_work *work)
{
    free(work->weight);
    free(work->ahead);
    free(work->gain);
    free(work->copied);
    free(work->row);
    free(work->step);
    gsl_matrix_free(work->square);
    gsl_vector_free(work->values);
    gsl_eigen_symm_free(work->eigen);
    *work = (spec_block_tree_work){0};
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Computes the chances of the children of a level's nodes: under the target, or, with a draft's
 * row, of being drafted and accepted. */
static void weigh_children(double *weight, const spec_block_tree *tree, int level,
                           const double *opt_row)
{
    const size_t V = (size_t)tree->V, first = level_first(tree, level);
    for (size_t v = first; v < first + level_size(tree, level); v++)
        for (size_t x = 0; x < V; x++) {
            const double target = tree->target[v * V + x];
            weight[v * V + 1 + x] =
                weight[v] * (opt_row != NULL ? smaller(target, opt_row[x]) : target);
        }
}

/* Returns the rows after the nodes of a level. */
static spec_block_row_set rows_of(const spec_block_tree *tree, int level, const double *weight)
{
    const size_t first = level_first(tree, level);
    return (spec_block_row_set){.target = tree->target + first * (size_t)tree->V,
                                .weight = weight + first,
                                .S = level_size(tree, level),
                                .V = (size_t)tree->V};
}

double spec_block_tree_tails(double *ret_tail, const spec_block_tree *tree, const double *draft,
                             spec_block_tree_work *work)
{
    spec_compensated sum = {0};
    work->weight[0] = 1.0;
    for (int i = 0; i < tree->K; i++) {
        const double *row = draft + (size_t)i * (size_t)tree->V;
        const spec_block_row_set rows = rows_of(tree, i, work->weight);
        ret_tail[i] = spec_block_row_worth(&rows, row);
        spec_compensated_add(&sum, ret_tail[i]);
        if (i + 1 < tree->K) weigh_children(work->weight, tree, i, row);
    }
    return spec_compensated_value(&sum);
}

/* Returns the worth of the best row after all nodes of a level that end with the same `memory`
 * tokens. Such nodes are `groups` apart. */
static double best_of_group(const spec_block_tree *tree, int level, size_t group, size_t groups,
                            spec_block_tree_work *work)
{
    const size_t V = (size_t)tree->V, first = level_first(tree, level),
                 S = level_size(tree, level) / groups;
    double lambda;
    for (size_t s = 0; s < S; s++) {
        const size_t v = first + s * groups + group;
        work->ahead[s] = work->weight[v];
        memcpy(work->copied + s * V, tree->target + v * V, V * sizeof *work->copied);
    }
    const spec_block_row_set rows = {.target = work->copied, .weight = work->ahead, .S = S, .V = V};
    return spec_block_row_best(work->row, &lambda, &rows, work->step);
}

void spec_block_tree_bounds(double *ret_bound, const spec_block_tree *tree, int memory,
                            spec_block_tree_work *work)
{
    work->weight[0] = 1.0;
    for (int i = 0; i < tree->K; i++) {
        const size_t groups = level_size(tree, memory < i ? memory : i);
        spec_compensated sum = {0};
        for (size_t g = 0; g < groups; g++)
            spec_compensated_add(&sum, best_of_group(tree, i, g, groups, work));
        ret_bound[i] = spec_compensated_value(&sum);
        if (i + 1 < tree->K) weigh_children(work->weight, tree, i, NULL);
    }
}

void spec_block_tree_marginals(double *ret_draft, double *ret_overlap, const spec_block_tree *tree,
                               spec_block_tree_work *work)
{
    work->weight[0] = 1.0;
    for (int i = 0; i < tree->K; i++) {
        double *row = ret_draft + (size_t)i * (size_t)tree->V;
        const spec_block_row_set rows = rows_of(tree, i, work->weight);
        spec_block_row_mean(row, &rows);
        ret_overlap[i] = spec_block_row_worth(&rows, row);
        if (i + 1 < tree->K) weigh_children(work->weight, tree, i, NULL);
    }
}

void spec_block_tree_greedy(double *ret_draft, const spec_block_tree *tree,
                            spec_block_tree_work *work)
{
    double lambda;
    work->weight[0] = 1.0;
    for (int i = 0; i < tree->K; i++) {
        double *row = ret_draft + (size_t)i * (size_t)tree->V;
        const spec_block_row_set rows = rows_of(tree, i, work->weight);
        spec_block_row_best(row, &lambda, &rows, work->step);
        if (i + 1 < tree->K) weigh_children(work->weight, tree, i, row);
    }
}

/* Fills in what an accepted token is worth after each node of a level: the token itself, and what
 * follows it. */
static void fill_gain(const spec_block_tree *tree, int level, spec_block_tree_work *work)
{
    const size_t V = (size_t)tree->V, first = level_first(tree, level);
    for (size_t s = 0; s < level_size(tree, level); s++)
        for (size_t x = 0; x < V; x++)
            work->gain[s * V + x] =
                1.0 + (level + 1 < tree->K ? work->ahead[(first + s) * V + 1 + x] : 0.0);
}

/* Fills in how many tokens are accepted after each node of a level, from the gains there. */
static void fill_ahead(const spec_block_tree *tree, int level, const double *row,
                       spec_block_tree_work *work)
{
    const size_t V = (size_t)tree->V, first = level_first(tree, level);
    for (size_t s = 0; s < level_size(tree, level); s++) {
        double sum = 0.0;
        for (size_t x = 0; x < V; x++)
            sum += work->gain[s * V + x] * smaller(tree->target[(first + s) * V + x], row[x]);
        work->ahead[first + s] = sum;
    }
}

double spec_block_tree_improve(double *draft, const spec_block_tree *tree,
                               spec_block_tree_work *work)
{
    const size_t V = (size_t)tree->V;
    double lambda;
    work->weight[0] = 1.0;
    for (int i = 0; i + 1 < tree->K; i++)
        weigh_children(work->weight, tree, i, draft + (size_t)i * V);
    for (int i = tree->K; i-- > 0;) {
        double *row = draft + (size_t)i * V;
        spec_block_row_set rows = rows_of(tree, i, work->weight);
        fill_gain(tree, i, work);
        rows.opt_gain = work->gain;
        const double before = spec_block_row_worth(&rows, row),
                     after = spec_block_row_best(work->row, &lambda, &rows, work->step);
        if (after > before) memcpy(row, work->row, V * sizeof *row);
        fill_ahead(tree, i, row, work);
    }
    return work->ahead[0];
}

void spec_block_tree_any_rule(double *ret_bound, const spec_block_tree *tree,
                              spec_block_tree_work *work)
{
    const size_t V = (size_t)tree->V;
    double least = 1.0;
    work->weight[0] = 1.0;
    for (int i = 0; i < tree->K; i++) {
        const spec_block_row_set rows = rows_of(tree, i, work->weight);
        gsl_matrix_set_zero(work->square);
        for (size_t s = 0; s < rows.S; s++) {
            const double *row = rows.target + s * V;
            for (size_t x = 0; x < V; x++)
                for (size_t y = 0; y < V; y++)
                    *gsl_matrix_ptr(work->square, x, y) += rows.weight[s] * sqrt(row[x] * row[y]);
        }
        gsl_eigen_symm(work->square, work->values, work->eigen);
        const double root = sqrt(gsl_vector_max(work->values));
        if (root < least) least = root;
        ret_bound[i] = least;
        if (i + 1 < tree->K) weigh_children(work->weight, tree, i, NULL);
    }
}
