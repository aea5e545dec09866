/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment.h"
#include "experiments/given_models.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <string.h>

TEST(a_given_model_keeps_strategy_and_varying_settings)
{
    static const char *const cases[][3] = {
        /* given, original, result */
        {"gguf:a.gguf", "ngram:x.txt?order=2", "gguf:a.gguf"},
        {"gguf:a.gguf", "ngram:x.txt?order={n}&temperature={T}", "gguf:a.gguf?temperature={T}"},
        {"zipf?V=3", "zipf?V=5&top_k={k}&s={s}&top_p=0.5", "zipf?V=3&top_k={k}"},
        {"zipf?V=3", "greedy:zipf?V=5", "greedy:zipf?V=3"},
        {"chain:zipf?V=3", "greedy:zipf?V=5", "chain:zipf?V=3"},
        {"lookup?max=2", "greedy:zipf?V=5", "lookup?max=2"},
        {"zipf?V=3", "", "zipf?V=3"},
    };
    char *model;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_works(spec_given_models_place(&model, cases[i][0], cases[i][1], &error));
        assert_string_equal(model, cases[i][2]);
        free(model);
    }
    assert_fails(
        spec_given_models_place(&model, "zipf?temperature=2", "zipf?temperature={T}", &error),
        GSL_EINVAL, "zipf?temperature=2: leave temperature out: this experiment varies it");
    assert_null(model);
}

static spec_experiment parse(const char *text, const char *const *set)
{
    spec_experiment e;
    assert_works(spec_experiment_parse(&e, "own.cfg", text, strlen(text), set, &error));
    return e;
}

static const char pair_text[] =
    "title = \"On {target}\"; question = \"Which {order}?\"; measure = \"decode\"; figure = "
    "\"block\";\n"
    "grid = { target = \"ngram:{text}?temperature={T}\"; text = [\"a.txt\", \"b.txt\"]; order = "
    "[1, 2, 3];\n"
    "    draft = \"ngram:{text}?order={order}\"; T = [0.5, 1.0]; K = 2; };\n"
    "show = [\"text\", \"order\", \"T\", \"emitted\"];";

TEST(axes_of_replaced_models_are_dropped)
{
    OWNED(spec_experiment) e =
        parse(pair_text, (const char *const[]){"target=zipf?V=9", "draft=zipf?V=9&s=2", NULL});
    assert_int_equal(spec_grid_size(&e.grid), 2); /* only T remains */
    assert_null(spec_grid_axis(&e.grid, "text"));
    assert_null(spec_grid_axis(&e.grid, "order"));
    assert_string_equal(spec_grid_value(&e.grid, 0, "target"), "zipf?V=9&temperature=0.5");
    assert_int_equal(e.n_show, 2);
    assert_string_equal(e.title, "On zipf?V=9");
    assert_string_equal(e.question, ""); /* the question was about a dropped axis */
    assert_string_equal(e.figure, "");
    assert_string_equal(
        e.note, "without the axes that built the replaced models: text, order; without the figure "
                "'block', which needs them");
    assert_string_equal(e.overrides, " --set 'target=zipf?V=9' --set 'draft=zipf?V=9&s=2'");
    spec_experiment_free(&e);

    e = parse(pair_text, (const char *const[]){"draft=ngram:c.txt?order={order}",
                                               NULL}); /* `order` still defines the draft */
    assert_int_equal(spec_grid_size(&e.grid), 12);
    assert_string_equal(e.figure, "block");
    assert_string_equal(e.note, "");
}

TEST(points_that_become_equal_are_one)
{
    static const char text[] = "measure = \"decode\"; labels = [\"pair\"]; points = (\n"
                               "    { target = \"zipf?V=3\"; draft = \"zipf?V=3&s=2\"; K = 1; }, { "
                               "target = \"zipf?V=4\"; draft = "
                               "\"zipf?V=4&s=2\"; K = 1; },\n    { target = \"zipf?V=4\"; draft = "
                               "\"zipf?V=4&s=2\"; K = 2; });\n"
                               "grid = { pair = \"draft {draft}\"; };";
    OWNED(spec_experiment) e = parse(text, NULL);
    assert_int_equal(spec_grid_size(&e.grid), 3);
    assert_string_equal(spec_grid_value(&e.grid, 1, "pair"), "draft zipf?V=4&s=2");
    assert_false(spec_grid_axis(&e.grid, "draft")
                     ->label); /* a label that names a model keeps its text */
    spec_experiment_free(&e);
    e = parse(text, (const char *const[]){"target=uniform?V=7", "draft=a/b.gguf", NULL});
    assert_int_equal(spec_grid_size(&e.grid), 2);
    assert_string_equal(spec_grid_value(&e.grid, 0, "pair"), "draft b.gguf");
    assert_string_equal(spec_grid_value(&e.grid, 1, "K"), "2");
}

TEST(overrides_that_set_nothing_are_refused)
{
    static const char plain[] = "measure = \"predict\"; grid = { alpha = 0.5; K = 2; };";
    static const char needy[] =
        "measure = \"decode\"; defaults = { TEXT = \"a.txt\"; }; needs = { ROWS = \"make ${TEXT}, "
        "then set ROWS\"; };\n"
        "grid = { target = \"rows:${ROWS}\"; draft = \"ngram:${TEXT}\"; K = 1; };";
    static const struct {
        const char *text, *set[4], *error;
    } cases[] = {
        {plain,
         {"target=zipf"},
         "own.cfg: 'target=zipf' sets nothing: the measure predict has no models to replace"},
        {pair_text,
         {"target=zipf", "draft=zipf", "order=7"},
         "own.cfg: 'order=7' sets nothing: it built models that "
         "are replaced"},
        {needy,
         {"draft=zipf", "TEXT=b.txt"},
         "own.cfg: 'TEXT=b.txt' sets nothing: no value in use has ${TEXT}"},
    };
    OWNED(spec_experiment) e;
    spec_result result;
    spec_run_options options = {.opt_context = spec_test_context(1)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        assert_fails(spec_experiment_parse(&e, "own.cfg", text, strlen(text), cases[i].set, &error),
                     GSL_EINVAL, cases[i].error);
    }
    e = parse(needy, NULL);
    assert_string_equal(e.missing, "ROWS: make a.txt, then set ROWS");
    assert_fails(spec_experiment_run(&result, &e, &options, &error), GSL_EINVAL,
                 "own needs ROWS: make a.txt, then set ROWS");
    spec_result_free(&result);
    spec_experiment_free(&e);
    e = parse(needy, (const char *const[]){"target=zipf", NULL}); /* the target needs no file */
    assert_string_equal(e.missing, "");
}
