/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/grid_references.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static void add(spec_grid *grid, const char *name, const char *const *values, int n, bool label)
{
    assert_int_equal(spec_grid_add(grid, name, values, n, label), GSL_SUCCESS);
}

static const char *const letters[] = {"a", "b"}, *const digits[] = {"1", "2", "3"};

TEST(the_last_axis_of_a_product_runs_fastest)
{
    OWNED(spec_grid) grid = {0};
    char seen[100] = "";
    assert_int_equal(spec_grid_size(&grid), 0);
    add(&grid, "x", letters, 2, false);
    add(&grid, "y", digits, 3, false);
    assert_int_equal(spec_grid_size(&grid), 6);
    for (uint64_t i = 0; i < 6; i++) {
        strcat(seen, spec_grid_value(&grid, i, "x"));
        strcat(seen, spec_grid_value(&grid, i, "y"));
    }
    assert_string_equal(seen, "a1a2a3b1b2b3");
    assert_null(spec_grid_value(&grid, 0, "z"));
}

TEST(the_identity_is_sorted_and_leaves_labels_out)
{
    OWNED(spec_grid) grid = {0};
    add(&grid, "y", digits, 3, false);
    add(&grid, "task", letters, 2, true);
    add(&grid, "alpha", digits, 3, false);
    FREED char *identity = spec_grid_identity(&grid, 5, NULL); /* y=1, task=b, alpha=3 */
    assert_string_equal(identity, "alpha=3;y=1");
}

TEST(sizes_saturate)
{
    OWNED(spec_grid) grid = {0};
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        assert_works(spec_grid_add_numbers(&grid, name, "1:100:1", &error));
    }
    assert_true(spec_grid_size(&grid) == UINT64_MAX);
    assert_works(spec_grid_references_expand(&grid, &error)); /* no braces: nothing to do */
}

TEST(points_cross_with_a_grid)
{
    spec_grid points = {.zipped = true}, product = {0};
    char seen[100] = "";
    add(&points, "x", letters, 2, true);
    add(&product, "y", digits, 3, false);
    assert_works(spec_grid_cross(&points, &product, &error));
    for (uint64_t i = 0; i < spec_grid_size(&points); i++) {
        strcat(seen, spec_grid_value(&points, i, "x"));
        strcat(seen, spec_grid_value(&points, i, "y"));
    }
    assert_string_equal(seen, "a1a2a3b1b2b3");
    assert_true(points.axis[0].label && !points.axis[1].label);
    assert_fails(spec_grid_cross(&points, &product, &error), GSL_EINVAL,
                 "'y' is in the points and in the grid");
    spec_grid_free(&points);
    spec_grid_free(&product);
}
