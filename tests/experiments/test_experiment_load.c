/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/config.h"
#include "experiments/experiment.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static void load(spec_experiment *experiment, const char *path, const char *const *set)
{
    assert_works(spec_experiment_load(experiment, path, set, &error));
}

TEST(a_grid_loads_in_order_with_its_prose)
{
    OWNED(spec_experiment) e;
    load(&e, "tests/experiments/small_grid.cfg", NULL);
    assert_string_equal(e.name, "small_grid");
    assert_string_equal(e.title, "A small grid");
    assert_string_equal(e.question, "Does this file load?");
    assert_string_equal(e.figure, "speedup");
    assert_string_equal(e.measure->name, "acceptance");
    assert_int_equal(e.rounds, 3000);
    assert_int_equal(e.seed, 42);
    assert_int_equal(spec_grid_size(&e.grid), 18);
    char *identity = spec_grid_identity(&e.grid, 17, NULL);
    assert_string_equal(identity, "K=7;alpha=0.7;c=0.1;process=markov?rho=0.27&spread=0.1");
    free(identity);
    assert_non_null(strstr(e.text, "# A small experiment of the tests"));
}

TEST(points_load_with_labels_and_columns)
{
    OWNED(spec_experiment) e;
    OWNED(spec_result) result;
    spec_run_options options = {.opt_context = spec_test_context(1)};
    FREED char *csv = NULL;
    size_t n;
    load(&e, "tests/experiments/small_points.cfg", NULL);
    char *identity = spec_grid_identity(&e.grid, 1, NULL);
    assert_string_equal(identity, "K=7;alpha=0.8;c=0.04");
    free(identity);
    assert_works(spec_experiment_run(&result, &e, &options, &error));
    FILE *out = open_memstream(&csv, &n);
    free(result.table.provenance);
    result.table.provenance = strdup("");
    assert_works(spec_table_write(&result.table, SPEC_FORMAT_CSV, out, &error));
    fclose(out);
    /* python3 -c 'print((1-.75**8)/(.25*1.14), (1-.8**8)/(.2*1.28))' */
    assert_string_equal(csv, "task,alpha,K,printed,speedup\n\"EnDe, "
                             "small\",0.75,7,3.2,3.157498544\nEnDe base,0.8,7,3.3,3.25089\n");
}

TEST(overrides_reach_everything_they_name)
{
    const char *const set[] = {
        "rounds=10",     "rounds=1e6",          "seed=7",        "WHAT=the command line",
        "K=2,3",         "alpha=0.27",          "title=Other",   "c=0.5",
        /* the last of two overrides counts */
        "ops_ratio=0.1", "standard_error=1e-3", "ops_ratio=0.2", NULL};
    OWNED(spec_experiment) e;
    load(&e, "tests/experiments/small_grid.cfg", set);
    assert_int_equal(e.rounds, 1000000);
    assert_same(e.standard_error, 1e-3);
    assert_int_equal(e.seed, 7);
    assert_string_equal(e.title, "Other");
    assert_string_equal(e.question, "Does the command line load?");
    assert_int_equal(spec_grid_size(&e.grid), 4);
    assert_string_equal(spec_grid_value(&e.grid, 3, "K"), "3");
    assert_string_equal(spec_grid_value(&e.grid, 3, "c"), "0.5");
    /* A parameter of the measure that the grid leaves out. */
    assert_string_equal(spec_grid_value(&e.grid, 3, "ops_ratio"), "0.2");
    assert_non_null(strstr(e.text, "\n# set K=2,3\n"));
    spec_experiment_free(&e);

    const char *const one[] = {"c=0.5", NULL};
    load(&e, "tests/experiments/small_points.cfg", one);
    assert_string_equal(spec_grid_value(&e.grid, 0, "c"), "0.5");
    assert_string_equal(spec_grid_value(&e.grid, 1, "c"), "0.5");
}

/* Loads the text of a file; returns its error. */
TEST(bad_files_are_refused_by_line)
{
    static const char head[] = "measure = \"predict\";\n";
    const struct {
        const char *text, *error;
    } cases[] = {
        {"", "x.cfg: the file is empty"},
        {"measure = \"predict\"\ngrid = { ", "x.cfg:2: syntax error"},
        {"title = \"no end\n", "x.cfg:1: this string is not closed"},
        {"\x01", "x.cfg:1: a control character (1)"},
        {"\n\n@include \"/etc/passwd\"\n", "x.cfg:3: @include is not allowed"},
        {"grid = { alpha = 0.5; K = 1; };", "x.cfg: no measure is given"},
        {"measure = 3;", "x.cfg:1: measure is not a string"},
        {"measure = \"acceptence\";",
         "x.cfg:1: no measure is named 'acceptence'; did you mean 'acceptance'?"},
        {"$titel = 3;", "x.cfg:2: unknown key 'titel'; did you mean 'title'?"},
        {"$title = 3;", "x.cfg:2: title is not a string"},
        {"$rounds = -1; grid = { alpha = 0.5; K = 1; };",
         "x.cfg:2: rounds = -1 is not a whole number within [0, 1e+15]"},
        {"$rounds = 0.5; grid = { alpha = 0.5; K = 1; };",
         "x.cfg:2: rounds = 0.5 is not a whole number"},
        {"$rounds = \"many\"; grid = { alpha = 0.5; K = 1; };",
         "x.cfg:2: rounds: 'many' is not a number"},
        {"$rounds = (1); grid = { alpha = 0.5; K = 1; };",
         "x.cfg:2: a number or a string is expected"},
        {"$standard_error = 1e999; grid = { alpha = 0.5; K = 1; };",
         "x.cfg:2: a number that is not finite"},
        {"$seed = -1; grid = { alpha = 0.5; K = 1; };",
         "x.cfg:2: seed: '-1' is not a whole number"},
        {"$", "x.cfg: neither grid nor points is given"},
        {"$grid = 5;", "x.cfg:2: grid is not a group"},
        {"$points = 5;", "x.cfg:2: points is not a list of groups"},
        {"$points = ();", "x.cfg:2: points is not a list of groups"},
        {"$points = ( 5 );", "x.cfg:2: a point is not a group"},
        {"$points = (\n{ alpha = 1; K = 2; },\n{ alpha = 1; } );",
         "x.cfg:4: this point has no 'K'"},
        {"$points = (\n{ alpha = 1; },\n{ alpha = 1;\nK = 3; } );",
         "x.cfg:5: the first point has no 'K'"},
        {"$points = (\n{ alpha = 1; },\n 7 );", "x.cfg:4: this point has no 'alpha'"},
        {"$grid = { K = 1; }; points = ( { K = 1; } );",
         "x.cfg:2: 'K' is in the points and in the grid"},
        {"$grid = {\nK = 1;\nalpa = 0.5; };",
         "x.cfg:4: predict has no parameter 'alpa'; did you mean 'alpha'?"},
        {"$points = ( { K = 1;\nalpa = 0.5; } );", "x.cfg:3: predict has no parameter 'alpa'"},
        {"$grid = { K = []; };", "x.cfg:2: K: the list is empty"},
        {"$grid = { K = { a = 1; }; };", "x.cfg:2: K is not a value or a list"},
        {"$grid = { K = ((1)); };", "x.cfg:2: a number or a string is expected"},
        {"$grid = { K = \"5:1:1\"; };", "x.cfg:2: K: the range '5:1:1' is empty"},
        {"$grid = { K = 1e999; };", "x.cfg:2: a number that is not finite"},
        {"$grid = { K = [1, 0.5]; };", "x.cfg:2: mismatched element type in array; write a mix of "
                                       "whole and other numbers as a list"},
        {"$grid = { K = \"${N}\"; };", "x.cfg:2: ${N} has no value"},
        {"$grid = { K = \"${\"; };", "x.cfg:2: '${' is not ${NAME}"},
        {"$defaults = 3;", "x.cfg:2: defaults is not a group"},
        {"$defaults = { N = (1); }; grid = { K = \"${N}\"; };",
         "x.cfg:2: a number or a string is expected"},
        {"$grid = { K = \"{N}\"; };", "x.cfg:2: no axis is named 'N'"},
        {"$grid = { K = 1; alpha = 0.5; };\nlabels = [\"task\"];",
         "x.cfg:3: no axis is named 'task'"},
        {"$grid = { K = 1; alpha = 0.5; };\nlabels = [\"K\"];",
         "x.cfg:3: 'K' is a parameter of predict, not a label"},
        {"$grid = { K = 1; alpha = 0.5; };\nlabels = [3];",
         "x.cfg:3: labels is not a list of strings"},
        {"$grid = { K = 1; alpha = 0.5; };\nshow = [\"emited\"];",
         "x.cfg:3: show: no column 'emited'; did you mean 'emitted'?"},
        {"$grid = { K = 1; alpha = 0.5; };\nshow = [\"K\", \"K\"];",
         "x.cfg:3: show: column 'K' is named twice"},
        {"$grid = { K = 1; alpha = \"x\\n5\"; };", "x.cfg:2: alpha: a value with a line break"},
        {"$grid = { K = 1; alpha = 0.5; };\nlabels = [\"\\nK\"];",
         "x.cfg:3: no axis is named ' K'"},
        {"$grid = { K = 1; K = 2; };", "x.cfg:2: duplicate setting name"},
        {"$x = ((((((((((1))))))))));", "x.cfg:2: nested more than 8 deep"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_experiment e;
        spec_error error = {""};
        char text[500];
        bool headed = cases[i].text[0] == '$';
        snprintf(text, sizeof text, "%s%s", headed ? head : "", cases[i].text + headed);
        assert_int_equal(spec_experiment_parse(&e, "x.cfg", text, strlen(text), NULL, &error),
                         GSL_EINVAL);
        if (strncmp(error.text, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("for '%s':\n  '%s', not\n  '%s'", text, error.text, cases[i].error);
        assert_null(e.name);
    }
}

TEST(bad_overrides_are_refused)
{
    const char *const cases[][2] = {
        {"K", "'K' is not key=value"},
        {"=3", "'=3' is not key=value"},
        {"K=1\nK=2", "'K=1 K=2' is not key=value"},
        {"alpa=3", "'alpa=3' sets nothing: no key or axis is named 'alpa'; did you mean 'alpha'?"},
        {"K=1:0:1", "K: the range '1:0:1' is empty"},
        {"rounds=x", "rounds: 'x' is not a number"},
        {"seed=-3", "seed: '-3' is not a whole number"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const set[] = {cases[i][0], NULL};
        char expected[200];
        spec_experiment e;
        spec_error error = {""};
        assert_int_equal(spec_experiment_load(&e, "tests/experiments/small_grid.cfg", set, &error),
                         GSL_EINVAL);
        snprintf(expected, sizeof expected, "tests/experiments/small_grid.cfg: %s", cases[i][1]);
        if (strncmp(error.text, expected, strlen(expected)) != 0)
            fail_msg("'%s', not '%s'", error.text, expected);
    }
}

TEST(files_that_are_no_files_are_refused)
{
    spec_experiment e;
    assert_fails(spec_experiment_load(&e, "no/such.cfg", NULL, &error), GSL_EFAILED,
                 "no/such.cfg: No such file or directory");
    assert_fails(spec_experiment_load(&e, "/tmp", NULL, &error), GSL_EFAILED,
                 "/tmp: Is a directory");
    assert_fails(spec_experiment_load(&e, "/dev/zero", NULL, &error), GSL_EINVAL,
                 "/dev/zero: is a device, not a file");
    assert_fails(spec_experiment_parse(&e, "x.cfg", "a\0b", 3, NULL, &error), GSL_EINVAL,
                 "x.cfg:1: a control character (0): not an experiment");
}

/* With as many values or names as a file may have, it is read or refused within a second. */
TEST(huge_lists_are_read_or_refused)
{
    FREED char *text = malloc(SPEC_CONFIG_BYTES + 1);
    size_t n = (size_t)sprintf(text, "measure = \"predict\"; grid = { alpha = 0.5; K = [1");
    spec_experiment e;
    while (n + 10 < SPEC_CONFIG_BYTES) n += (size_t)sprintf(text + n, ",1");
    n += (size_t)sprintf(text + n, "]; };");
    assert_works(spec_experiment_parse(&e, "x.cfg", text, n, NULL, &error));
    assert_true(spec_grid_size(&e.grid) > 60000);
    spec_experiment_free(&e);
    n = (size_t)sprintf(text, "measure = \"predict\"; grid = { alpha = 0.5; ");
    for (int i = 0; n + 20 < SPEC_CONFIG_BYTES; i++)
        n += (size_t)sprintf(text + n, "a%x=1;", (unsigned)i);
    n += (size_t)sprintf(text + n, "};");
    assert_fails(spec_experiment_parse(&e, "x.cfg", text, n, NULL, &error), GSL_EINVAL,
                 "x.cfg:1: over 64 axes");
}
