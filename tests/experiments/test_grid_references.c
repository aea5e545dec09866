/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/grid_references.h"
#include "tests/support/support.h"

#include <string.h>

static void add(spec_grid *grid, const char *name, const char *const *values, int n, bool label)
{
    assert_int_equal(spec_grid_add(grid, name, values, n, label), GSL_SUCCESS);
}

static const char *const letters[] = {"a", "b"}, *const digits[] = {"1", "2", "3"};

TEST(braces_become_the_value_of_that_point)
{
    const char *const spec[] = {"zipf?T={y}&s={x}{x}", "plain"};
    OWNED(spec_grid) grid = {0};
    add(&grid, "target", spec, 2, false);
    add(&grid, "x", letters, 2, false);
    add(&grid, "y", digits, 3, false);
    assert_works(spec_grid_references_expand(&grid, &error));
    assert_int_equal(spec_grid_size(&grid), 12);
    assert_string_equal(spec_grid_value(&grid, 5, "target"), "zipf?T=3&s=bb");
    assert_string_equal(spec_grid_value(&grid, 5, "x"), "b");
    assert_string_equal(spec_grid_value(&grid, 11, "target"), "plain");
    FREED char *identity =
        spec_grid_identity(&grid, 5, NULL); /* an axis to which others refer is not a parameter */
    assert_string_equal(identity, "target=zipf?T=3&s=bb");
}

TEST(braces_that_mean_nothing_are_errors)
{
    const char *const cases[][2] = {
        {"{temp}", "no axis is named 'temp'; did you mean 'temps'?"},
        {"{zzz}", "no axis is named 'zzz'"},
        {"x{temps", "a brace is not closed: '{temps'"},
        {"{target}", "{target} refers to an axis that has braces itself"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_grid) grid = {0};
        add(&grid, "target", &cases[i][0], 1, false);
        add(&grid, "temps", digits, 3, false);
        assert_fails(spec_grid_references_expand(&grid, &error), GSL_EINVAL, cases[i][1]);
    }
}
