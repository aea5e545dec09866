/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment_columns.h"

#include "tests/experiments/loading.h"
#include "tests/support/support.h"

/* Axes of one value each; `names` separates them by spaces. */
static void add_axes(loading *l, const char *names)
{
    char *all = strdup(names), *rest = all;
    static const char *const one[] = {"1"};
    for (char *name; (name = strsep(&rest, " ")) != NULL;)
        assert_int_equal(spec_grid_add(&l->experiment.grid, name, one, 1, false), GSL_SUCCESS);
    free(all);
}

static void drop(loading *l, const char *name)
{
    strcpy(l->in.dropped.name[l->in.dropped.n++], name);
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
}

TEST(axes_are_listed_in_order)
{
    const char *known[SPEC_AXES_MAX + 1] = {"left over", "from before", "here"};
    OWNED(loading) l;
    loading_init(&l, "predict", "x = 1;", NULL);
    assert_int_equal(spec_experiment_columns_axes(known, &l.experiment.grid), 0);
    assert_null(known[0]);
    add_axes(&l, "K alpha");
    assert_int_equal(spec_experiment_columns_axes(known, &l.experiment.grid), 2);
    assert_string_equal(known[0], "K");
    assert_string_equal(known[1], "alpha");
    assert_null(known[2]);
}

TEST(labels_mark_their_axes_alone)
{
    OWNED(loading) l;
    loading_init(&l, "predict", "labels = [\"task\", \"order\", \"year\"];", NULL);
    add_axes(&l, "K task alpha year");
    drop(&l, "order"); /* an axis of a replaced model may be dropped: that is not an error */
    assert_int_equal(spec_experiment_columns_label(&l.in), GSL_SUCCESS);
    for (int i = 0; i < 4; i++) assert_int_equal(l.experiment.grid.axis[i].label, i % 2);
    loading_free(&l);
    /* A single string is a list of one. */
    loading_init(&l, "predict", "labels = \"task\";", NULL);
    add_axes(&l, "task");
    assert_int_equal(spec_experiment_columns_label(&l.in), GSL_SUCCESS);
    assert_true(l.experiment.grid.axis[0].label);
}

TEST(show_keeps_its_order_without_dropped_axes)
{
    loading l;
    loading_init(&l, "predict", "show = [\"speedup\", \"order\", \"K\"];", NULL);
    add_axes(&l, "K alpha");
    drop(&l, "order");
    assert_int_equal(spec_experiment_columns_read(&l.in), GSL_SUCCESS);
    assert_int_equal(l.experiment.n_show, 2);
    assert_string_equal(l.experiment.show[0], "speedup");
    assert_string_equal(l.experiment.show[1], "K");
    loading_free(&l);
    /* Without `show`, and with an empty one, all columns are shown. */
    static const char *const texts[] = {"x = 1;", "show = [];"};
    for (int i = 0; i < 2; i++) {
        loading_init(&l, "predict", texts[i], NULL);
        add_axes(&l, "K alpha");
        assert_int_equal(spec_experiment_columns_read(&l.in), GSL_SUCCESS);
        assert_int_equal(l.experiment.n_show, 0);
        loading_free(&l);
    }
}

/* A figure needs the shown columns, by default all. */
TEST(a_figure_goes_with_the_axes_it_shows)
{
    static const struct {
        const char *text, *dropped, *figure, *note;
    } cases[] = {
        {"show = [\"order\", \"K\"];", "order", "", "n; without the figure 'f', which needs them"},
        {"x = 1;", "order", "", "n; without the figure 'f', which needs them"},
        {"show = [\"K\", \"speedup\"];", "order", "f", "n"},
        {"show = [\"K\"];", NULL, "f", "n"},
        {"x = 1;", NULL, "f", "n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(loading) l;
        loading_init(&l, "predict", cases[i].text, NULL);
        add_axes(&l, "K alpha");
        if (cases[i].dropped != NULL) drop(&l, cases[i].dropped);
        set_text(&l.experiment.figure, "f");
        set_text(&l.experiment.note, "n");
        assert_int_equal(spec_experiment_columns_read(&l.in), GSL_SUCCESS);
        assert_string_equal(l.experiment.figure, cases[i].figure);
        assert_string_equal(l.experiment.note, cases[i].note);
    }
    /* Without a figure nothing is said about one. */
    OWNED(loading) l;
    loading_init(&l, "predict", "x = 1;", NULL);
    add_axes(&l, "K alpha");
    drop(&l, "order");
    set_text(&l.experiment.note, "n");
    assert_int_equal(spec_experiment_columns_read(&l.in), GSL_SUCCESS);
    assert_string_equal(l.experiment.note, "n");
}

TEST(wrong_names_are_refused_by_line)
{
    static const struct {
        const char *text, *axes, *error;
    } cases[] = {
        {"x = 1;\nlabels = [\"tsak\"];", "K task",
         "x.cfg:2: no axis is named 'tsak'; did you mean 'task'?"},
        {"labels = [\"K\"];", "K", "x.cfg:1: 'K' is a parameter of predict, not a label"},
        {"labels = [3];", "K", "x.cfg:1: labels is not a list of strings"},
        {"\ngrid = {\nalpa = 1; };", "K alpa",
         "x.cfg:3: predict has no parameter 'alpa'; did you mean 'alpha'?"},
        {"points = (\n{ K = 1;\nalpa = 1; } );", "K alpa",
         "x.cfg:3: predict has no parameter 'alpa'; did you mean 'alpha'?"},
        {"x = 1;", "K alpa", /* from the command line */
         "x.cfg: predict has no parameter 'alpa'; did you mean 'alpha'?"},
        {"show = [\"alpha\",\n\"spedup\"];", "K alpha",
         "x.cfg:1: show: no column 'spedup'; did you mean 'speedup'?"},
        {"show = [\"K\", \"alpha\", \"K\"];", "K alpha",
         "x.cfg:1: show: column 'K' is named twice"},
        {"show = 5;", "K", "x.cfg:1: show is not a list of strings"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(loading) l;
        loading_init(&l, "predict", cases[i].text, NULL);
        add_axes(&l, cases[i].axes);
        int status = spec_experiment_columns_label(&l.in);
        if (status == GSL_SUCCESS) status = spec_experiment_columns_read(&l.in);
        assert_int_equal(status, GSL_EINVAL);
        assert_string_equal(l.error.text, cases[i].error);
    }
}
