#include "experiments/grid.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* The values of a list, joined by blanks. */
static const char *list(const char *text, char *buffer, size_t size)
{
    spec_grid grid = {0};
    spec_error error = {""};
    buffer[0] = '\0';
    if (spec_grid_add_numbers(&grid, "alpha", text, &error) != GSL_SUCCESS) snprintf(buffer, size, "%s", error.text);
    for (int i = 0; grid.n_axes > 0 && i < grid.axis[0].n; i++)
        snprintf(buffer + strlen(buffer), size - strlen(buffer), "%s%s", i > 0 ? " " : "", grid.axis[0].value[i]);
    spec_grid_free(&grid);
    return buffer;
}

static void lists_of_numbers_read_as_people_write_them(void **state)
{
    const char *const cases[][2] = {
        {"0.5", "0.5"},
        {"0.5,.70, 1e-3", "0.5 0.7 0.001"},
        {"0.5:0.95:0.05", "0.5 0.55 0.6 0.65 0.7 0.75 0.8 0.85 0.9 0.95"},
        {"1:3:1", "1 2 3"},
        {"3:1:-1", "3 2 1"},
        {"1:2:0.4", "1 1.4 1.8"},
        {"-0.1:0.1:0.1", "-0.1 0 0.1"},
        {"1,2:4:1,8", "1 2 3 4 8"},
        {"5:5:1", "5"},
        {"0:0.3:0.1", "0 0.1 0.2 0.3"},
        {"0.1234567890123456", "0.1234567890123456"},
        {"", "alpha: '' is not a number or lo:hi:step"},
        {"1,", "alpha: '' is not a number or lo:hi:step"},
        {"0.5:0.4:0.1", "alpha: the range '0.5:0.4:0.1' is empty"},
        {"0:1:0", "alpha: the step of '0:1:0' is zero"},
        {"0:1.5", "alpha: '0:1.5' is not lo:hi:step"},
        {"0:1:2:3", "alpha: '0:1:2:3' is not lo:hi:step"},
        {"0:1e9:0.5", "alpha: '0:1e9:0.5' has over a million values"},
        {"nan", "alpha: 'nan' is not a number or lo:hi:step"},
        {"inf", "alpha: 'inf' is not a number or lo:hi:step"},
        {"0:inf:1", "alpha: '0:inf:1' is not a number or lo:hi:step"},
        {"0:1:1e-300", "alpha: '0:1:1e-300' has over a million values"},
        {"-1e308:1e308:1", "alpha: '-1e308:1e308:1' has over a million values"},
        {"x", "alpha: 'x' is not a number or lo:hi:step"},
    };
    char buffer[600];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(list(cases[i][0], buffer, sizeof buffer), cases[i][1]);
}

static void numbers_print_so_that_they_read_back_the_same(void **state)
{
    const double values[] = {0.1, 1.0 / 3.0, 1e-300, 123456789.125, -0.27, 2.385, 7e9, 1e17 + 16};
    char buffer[SPEC_NUMBER_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_same(strtod(spec_grid_number(values[i], buffer), NULL), values[i]);
    assert_string_equal(spec_grid_number(0.1, buffer), "0.1");
    assert_string_equal(spec_grid_number(7e9, buffer), "7000000000"); /* a whole number to those who read one */
    assert_string_equal(spec_grid_number(1e6, buffer), "1000000");
    assert_string_equal(spec_grid_number(1e15, buffer), "1e+15");
    assert_string_equal(spec_grid_number(12345678, buffer), "12345678");
}

static void add(spec_grid *grid, const char *name, const char *const *values, int n, bool label)
{
    assert_int_equal(spec_grid_add(grid, name, values, n, label), GSL_SUCCESS);
}

static const char *const letters[] = {"a", "b"}, *const digits[] = {"1", "2", "3"};

static void the_last_axis_of_a_product_runs_fastest(void **state)
{
    spec_grid grid = {0};
    char seen[100] = "";
    (void)state;
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
    spec_grid_free(&grid);
}

static void the_identity_is_sorted_and_leaves_labels_out(void **state)
{
    spec_grid grid = {0};
    (void)state;
    add(&grid, "y", digits, 3, false);
    add(&grid, "task", letters, 2, true);
    add(&grid, "alpha", digits, 3, false);
    char *identity = spec_grid_identity(&grid, 5, NULL); /* y=1, task=b, alpha=3 */
    assert_string_equal(identity, "alpha=3;y=1");
    free(identity);
    spec_grid_free(&grid);
}

static void sizes_saturate(void **state)
{
    spec_grid grid = {0};
    spec_error error;
    (void)state;
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(spec_grid_add_numbers(&grid, name, "1:100:1", &error), GSL_SUCCESS);
    }
    assert_true(spec_grid_size(&grid) == UINT64_MAX);
    assert_int_equal(spec_grid_expand(&grid, &error), GSL_SUCCESS); /* no braces: nothing to do */
    spec_grid_free(&grid);
}

static void braces_become_the_value_of_that_point(void **state)
{
    const char *const spec[] = {"zipf?T={y}&s={x}{x}", "plain"};
    spec_grid grid = {0};
    spec_error error = {""};
    (void)state;
    add(&grid, "target", spec, 2, false);
    add(&grid, "x", letters, 2, false);
    add(&grid, "y", digits, 3, false);
    assert_int_equal(spec_grid_expand(&grid, &error), GSL_SUCCESS);
    assert_int_equal(spec_grid_size(&grid), 12);
    assert_string_equal(spec_grid_value(&grid, 5, "target"), "zipf?T=3&s=bb");
    assert_string_equal(spec_grid_value(&grid, 5, "x"), "b");
    assert_string_equal(spec_grid_value(&grid, 11, "target"), "plain");
    char *identity = spec_grid_identity(&grid, 5, NULL); /* what others refer to is no parameter of its own */
    assert_string_equal(identity, "target=zipf?T=3&s=bb");
    free(identity);
    spec_grid_free(&grid);
}

static void braces_that_mean_nothing_are_errors(void **state)
{
    const char *const cases[][2] = {{"{temp}", "no axis is named 'temp'; did you mean 'temps'?"},
                                    {"{zzz}", "no axis is named 'zzz'"},
                                    {"x{temps", "a brace is not closed: '{temps'"},
                                    {"{target}", "{target} refers to an axis that has braces itself"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_grid grid = {0};
        spec_error error = {""};
        add(&grid, "target", &cases[i][0], 1, false);
        add(&grid, "temps", digits, 3, false);
        assert_int_equal(spec_grid_expand(&grid, &error), GSL_EINVAL);
        assert_string_equal(error.text, cases[i][1]);
        spec_grid_free(&grid);
    }
}

static void points_cross_with_a_grid(void **state)
{
    spec_grid points = {.zipped = true}, product = {0};
    spec_error error = {""};
    char seen[100] = "";
    (void)state;
    add(&points, "x", letters, 2, true);
    add(&product, "y", digits, 3, false);
    assert_int_equal(spec_grid_cross(&points, &product, &error), GSL_SUCCESS);
    for (uint64_t i = 0; i < spec_grid_size(&points); i++) {
        strcat(seen, spec_grid_value(&points, i, "x"));
        strcat(seen, spec_grid_value(&points, i, "y"));
    }
    assert_string_equal(seen, "a1a2a3b1b2b3");
    assert_true(points.axis[0].label && !points.axis[1].label);
    assert_int_equal(spec_grid_cross(&points, &product, &error), GSL_EINVAL);
    assert_string_equal(error.text, "'y' is in the points and in the grid");
    spec_grid_free(&points);
    spec_grid_free(&product);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_numbers_read_as_people_write_them),
        cmocka_unit_test(numbers_print_so_that_they_read_back_the_same),
        cmocka_unit_test(the_last_axis_of_a_product_runs_fastest),
        cmocka_unit_test(the_identity_is_sorted_and_leaves_labels_out),
        cmocka_unit_test(sizes_saturate),
        cmocka_unit_test(braces_become_the_value_of_that_point),
        cmocka_unit_test(braces_that_mean_nothing_are_errors),
        cmocka_unit_test(points_cross_with_a_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
