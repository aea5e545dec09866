/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment_axes.h"

#include "tests/experiments/loading.h"
#include "tests/support/support.h"

typedef struct {
    const char *name, *values; /* NULL: no such axis */
} expected_axis;

/* Reads the axes, and compares some of them. */
static void check_axes(loading *l, const expected_axis *axis, int n)
{
    char text[200];
    if (spec_experiment_read_axes(&l->in) != GSL_SUCCESS) fail_msg("%s", l->error.text);
    for (int i = 0; i < n; i++) {
        const char *values = loading_axis(text, l, axis[i].name);
        if (axis[i].values == NULL)
            assert_null(values);
        else {
            assert_non_null(values);
            assert_string_equal(values, axis[i].values);
        }
    }
}
#define CHECK_AXES(l, ...)                                                                         \
    check_axes(l, (const expected_axis[]){__VA_ARGS__},                                            \
               (int)(sizeof((const expected_axis[]){__VA_ARGS__}) / sizeof(expected_axis)))

TEST(a_text_of_numbers_is_a_list_and_other_text_one_value)
{
    OWNED(loading) l;
    loading_init(&l, "predict",
                 "grid = { alpha = \"0.5:0.7:0.1\"; K = \"1, 2\"; c = \"0.1x\"; ops_ratio = 1.50;\n"
                 "    costs = [\"a\", \"1,2\"]; };",
                 NULL);
    CHECK_AXES(&l, {"alpha", "0.5|0.6|0.7"}, {"K", "1|2"}, {"c", "0.1x"}, {"ops_ratio", "1.5"},
               {"costs", "a|1,2"} /* each item of a list is one value */);
    assert_int_equal(spec_grid_size(&l.experiment.grid), 12);
    assert_false(l.experiment.grid.zipped);
    assert_string_equal(l.experiment.grid.axis[0].name, "alpha"); /* in the order of the file */
    assert_string_equal(l.experiment.grid.axis[4].name, "costs");
}

TEST(an_override_replaces_an_axis_or_adds_a_parameter)
{
    static const char *const set[] = {"K=3,4",  "costs=x y",   "K=5:7:1",
                                      "seed=3", "ops_ratio=2", NULL};
    OWNED(loading) l;
    loading_init(&l, "predict", "grid = { alpha = 0.5; K = [1, 2]; };", set);
    CHECK_AXES(&l, {"alpha", "0.5"}, {"K", "5|6|7"} /* the last override counts */,
               {"costs", "x y"}, {"ops_ratio", "2"}, {"c", NULL} /* its default */,
               {"seed", NULL} /* no parameter */);
    assert_int_equal(l.experiment.grid.n_axes, 4);
    for (int i = 0; i < 5; i++) assert_int_equal(l.in.config.used[i], i != 3);
}

TEST(points_are_zipped_and_an_override_is_for_each_point)
{
    static const char text[] =
        "points = ( { alpha = 0.5; K = 1; }, { K = 2; alpha = 0.25; }, { alpha = 1; K = 2; } );";
    static const char *const set[] = {"alpha=0.7,0.8", "c=0.2", NULL};
    OWNED(loading) l;
    loading_init(&l, "predict", text, NULL);
    CHECK_AXES(&l, {"alpha", "0.5|0.25|1"}, {"K", "1|2|2"});
    assert_true(l.experiment.grid.zipped);
    assert_int_equal(spec_grid_size(&l.experiment.grid), 3);
    loading_free(&l);
    /* In a point a parameter has one value, so a list stays a text, which the measure refuses. */
    loading_init(&l, "predict", text, set);
    CHECK_AXES(&l, {"alpha", "0.7,0.8|0.7,0.8|0.7,0.8"}, {"K", "1|2|2"}, {"c", "0.2|0.2|0.2"});
}

TEST(points_cross_with_the_grid_which_runs_fastest)
{
    OWNED(loading) l;
    loading_init(&l, "predict",
                 "grid = { c = [0.1, 0.2, 0.3]; };\n"
                 "points = ( { alpha = 0.5; K = 1; }, { alpha = 0.7; K = 2; } );",
                 NULL);
    CHECK_AXES(&l, {"alpha", "0.5|0.5|0.5|0.7|0.7|0.7"}, {"c", "0.1|0.2|0.3|0.1|0.2|0.3"});
    assert_int_equal(spec_grid_size(&l.experiment.grid), 6);
}

TEST(a_given_model_replaces_all_of_its_kind)
{
    static const char text[] =
        "grid = { target = [\"ngram:a.txt\", \"ngram:{text}\", \"zipf?V=9&temperature={T}\"];\n"
        "    text = [\"b.txt\", \"c.txt\"]; T = [0.5, 1.0]; draft = \"greedy:zipf?V=9&s={s}\";\n"
        "    s = 2; K = 1; };";
    static const char *const set[] = {"target=uniform?V=9", NULL};
    OWNED(loading) l;
    loading_init(&l, "decode", text, set);
    /* Two of three targets become equal. The third one varies with its temperature, so it is
     * crossed with T; the axis `text` built only models that were replaced. */
    CHECK_AXES(&l, {"text", NULL}, {"T", "0.5|1|0.5|1"}, {"s", "2|2|2|2"},
               {"target", "uniform?V=9|uniform?V=9|uniform?V=9&temperature=0.5|"
                          "uniform?V=9&temperature=1"});
    assert_string_equal(spec_grid_value(&l.experiment.grid, 0, "draft"), "greedy:zipf?V=9&s=2");
    assert_true(l.in.models_given);
    assert_int_equal(l.in.dropped.n, 1);
    assert_string_equal(l.in.dropped.name[0], "text");
    assert_string_equal(l.experiment.note, "without the axes that built the replaced models: text");
    loading_free(&l);
    /* Without a given model nothing is dropped. */
    loading_init(&l, "decode", text, NULL);
    CHECK_AXES(&l, {"K", "1|1|1|1|1|1|1|1|1|1|1|1"}); /* 3 targets x 2 texts x 2 T */
    assert_non_null(spec_grid_axis(&l.experiment.grid, "text"));
    assert_false(l.in.models_given);
    assert_string_equal(l.experiment.note, "");
}

TEST(what_is_no_axis_is_refused_by_line)
{
    static const struct {
        const char *text, *set, *error;
    } cases[] = {
        {"title = 3;", NULL, "x.cfg: neither grid nor points is given"},
        {"grid = {\nK = 1;\nc = {}; };", NULL, "x.cfg:3: c is not a value or a list of values"},
        {"grid = { K = 1; alpha = 0.5; };", "K=9:1:1", "x.cfg: K: the range '9:1:1' is empty"},
        {"points = ( { K = 1; }, { K = 2; } );\ngrid = {\nK = 1; };", NULL,
         "x.cfg:2: 'K' is in the points and in the grid"},
        {"grid = { target = \"zipf?temperature={T}\"; T = 1; draft = \"zipf\"; K = 1; };",
         "target=uniform?temperature=2",
         "x.cfg: uniform?temperature=2: leave temperature out: this experiment varies it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const set[] = {cases[i].set, NULL};
        OWNED(loading) l;
        loading_init(&l, i == 4 ? "decode" : "predict", cases[i].text, set);
        assert_int_equal(spec_experiment_read_axes(&l.in), GSL_EINVAL);
        if (strncmp(l.error.text, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("'%s', not '%s'", l.error.text, cases[i].error);
    }
}
