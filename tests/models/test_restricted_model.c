/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/models/open_model.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

enum { V = 9 };

/* Compares the row after each token with the base's row without the other tokens, and then its
 * transform. */
static void check(const char *base_spec, const char *ids, const char *kept, double temperature)
{
    char spec[128];
    OWNED(opened) base = open_model(base_spec, NULL);
    snprintf(spec, sizeof spec, "%s&ids=%s&temperature=%g", base_spec, ids, temperature);
    OWNED(opened) model = open_model(spec, NULL);
    assert_int_equal(model.model->vocab, V);
    for (int last = 0; last < V; last++) {
        double expected[V] = {0}, sum = 0.0;
        const double *row = row_after(&base, &last, 1);
        int best = -1;
        for (int i = 0; i < V; i++) {
            if (kept[i] == '1' && (best < 0 || row[i] > row[best])) best = i;
            expected[i] = kept[i] == '1' ? pow(row[i], 1.0 / temperature) : 0.0;
            sum += expected[i];
        }
        row = row_after(&model, &last, 1);
        for (int i = 0; i < V; i++)
            assert_true(fabs(row[i] - (temperature > 0.0 ? expected[i] / sum : i == best)) < 1e-12);
    }
}

TEST(other_tokens_have_no_mass)
{
    spec_file_write("ids.txt", "7 2\n2\t5\n");
    for (int t = 0; t < 3; t++) {
        const double temperature = (const double[]){1.0, 0.6, 0.0}[t];
        check("markov?V=9&order=1&seed=3", "4", "111100000", temperature);
        check("markov?V=9&order=1&seed=3", "ids.txt", "001001010", temperature);
        check("markov?V=9&order=1&seed=3", "9", "111111111", temperature);
    }
}

TEST(a_row_without_a_kept_token_is_uniform)
{
    OWNED(opened) model = open_model("probs:0,0,.25,.75?ids=2", NULL);
    const double *row = row_after(&model, NULL, 0);
    for (int i = 0; i < 4; i++) assert_true(row[i] == (i < 2 ? 0.5 : 0.0));
    assert_false(model.model->one_hot);
}

/* A transformer applies its temperature itself, but here it comes after the restriction. */
TEST(rows_of_a_tree_are_those_of_its_paths)
{
    static const char transformer[] = "random?dim=32&layers=2&heads=4&ffn=64&vocab=9&context=64";
    for (int t = 0; t < 2; t++) {
        char spec[160];
        snprintf(spec, sizeof spec, "%s&ids=5&temperature=%d", transformer, t);
        opened model = open_model(spec, NULL), alone = open_model(spec, NULL);
        const int context[] = {1, 8}, token[] = {3, 4, 0}, parent[] = {-1, -1, 1};
        const int path[][4] = {{1, 8}, {1, 8, 3}, {1, 8, 4}, {1, 8, 4, 0}};
        static double store[4 * V];
        const double *row[4];
        const spec_score_request request = {.context = context,
                                            .n_context = 2,
                                            .token = token,
                                            .opt_parent = parent,
                                            .n_nodes = 3,
                                            .ret_row = row,
                                            .scratch = store};
        assert_int_equal(spec_session_score(&model.session, &request, NULL), GSL_SUCCESS);
        assert_int_equal(model.model->one_hot, t == 0);
        for (int i = 0; i < 4; i++) {
            const double *same = row_after(&alone, path[i], i == 0 ? 2 : i == 3 ? 4 : 3);
            double mass = 0.0;
            assert_memory_equal(row[i], same, V * sizeof *same);
            for (int x = 0; x < 5; x++) mass += row[i][x];
            assert_true(fabs(mass - 1.0) < 1e-12);
        }
        opened_free(&model);
        opened_free(&alone);
    }
}

TEST(wrong_ids_are_refused)
{
    static const struct {
        const char *text, *says;
    } files[] = {{"", "no tokens"},          {" \n", "no tokens"}, {"1 9", "wrong.txt:1: '9'"},
                 {"1\n-2", "wrong.txt:2"},   {"1,2", "'1,2'"},     {"0x1", "'0x1'"},
                 {"99999999999", "'9999999"}};
    spec_model *model;
    spec_error error;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        spec_file_write("wrong.txt", files[i].text);
        assert_int_equal(
            spec_model_open(&model, "zipf?V=9&ids=wrong.txt", NULL, spec_test_context(0), &error),
            GSL_EINVAL);
        if (strstr(error.text, files[i].says) == NULL) fail_msg("%s", error.text);
    }
    static const char *const ids[] = {"zipf?V=9&ids=0", "zipf?V=9&ids=10",
                                      "zipf?V=9&ids=99999999999999999999"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        assert_fails_with(spec_model_open(&model, ids[i], NULL, spec_test_context(0), &error),
                          GSL_EINVAL, "from 1 to 9");
    }
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
