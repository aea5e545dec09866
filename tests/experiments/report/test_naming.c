/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/naming.h"
#include "tests/support/support.h"

#include <string.h>

TEST(short_names_keep_what_tells_models_apart)
{
    static const char *const cases[][2] = {
        {"ngram:experiments/text/prose.txt?order=6&tokens=bytes", "6-grams of prose.txt"},
        {"ngram:a b/c.txt?tokens=words&temperature=0.7", "4-grams of words of c.txt"},
        {"gguf:models/big.gguf?temperature=0.2&top_k=5", "big.gguf"},
        {"rows:out/pair.rows?side=draft", "pair.rows?side=draft"},
        {"models/big.gguf?temperature=0.2", "big.gguf"},
        {"zipf?V=20&s=2&temperature=2", "zipf?V=20&s=2"},
        {"layers?of=target&exit=2", "layers?of=target&exit=2"},
        {"probs:0.5,0.3,0.2", "probs:0.5,0.3,0.2"},
        {"experiments/text/code.txt", "code.txt"},
        {"block-greedy", "block-greedy"},
        {"chain:ngram:x/y.txt?order=2", "chain: 2-grams of y.txt"},
        {"greedy:dirichlet?V=3&seed=1", "greedy:dirichlet?V=3&seed=1"},
        {":?", ":?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FREED char *name = spec_naming_short(cases[i][0]);
        assert_string_equal(name, cases[i][1]);
    }
}

static void add(spec_grid *grid, const char *name, int n, const char *const *values)
{
    assert_int_equal(spec_grid_add(grid, name, values, n, false), GSL_SUCCESS);
}

TEST(values_become_a_list_a_range_or_a_count)
{
    OWNED(spec_grid) grid = {0};
    add(&grid, "one", 1, (const char *const[]){"0.27"});
    add(&grid, "two", 3, (const char *const[]){"7", "3", "7"});
    add(&grid, "four", 4, (const char *const[]){"1", "2", "4", "8"});
    add(&grid, "many", 6, (const char *const[]){"12", "1", "0.5", "3", "4", "5"});
    add(&grid, "texts", 3, (const char *const[]){"a/x.txt", "b/x.txt", "y.txt"});
    add(&grid, "rules", 5, (const char *const[]){"a", "b", "c", "d", "e"});
    add(&grid, "gaps", 3, (const char *const[]){"2", "", "3"});
    add(&grid, "empty", 1, (const char *const[]){""});
    add(&grid, "crowd", 9,
        (const char *const[]){"a?T=1", "a?T=2", "a?T=3", "a?T=4", "a?T=5", "a?T=6", "a?T=7",
                              "a?T=8", "a?T=9"});
    add(&grid, "heats", 9,
        (const char *const[]){"a?temperature=1", "a?temperature=2", "a?temperature=3",
                              "a?temperature=4", "a?temperature=5", "a?temperature=6",
                              "a?temperature=7", "a?temperature=8", "a?temperature=9"});
    static const char *const cases[][3] = {
        {"gaps", "2 and 3", "2 and 3"},
        {"empty", "none", "none"},
        {"crowd", "9 values", "9 values"},
        {"heats", "a", "a"},
        {"one", "0.27", "0.27"},
        {"two", "7 and 3", "7 and 3"},
        {"four", "1, 2, 4 and 8", "1, 2, 4 and 8"},
        {"many", "0.5 to 12", "12, 1, 0.5, 3, 4 and 5"},
        {"texts", "x.txt and y.txt", "`a/x.txt`, `b/x.txt` and `y.txt`"},
        {"rules", "5 values", "`a`, `b`, `c`, `d` and `e`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spec_axis *axis = spec_grid_axis(&grid, cases[i][0]);
        FREED char *title = spec_naming_list(axis->value, axis->n, SPEC_NAMING_TITLE, false);
        FREED char *full = spec_naming_list(axis->value, axis->n, SPEC_NAMING_LIST_MAX, true);
        assert_string_equal(title, cases[i][1]);
        assert_string_equal(full, cases[i][2]);
    }
}

TEST(braces_are_replaced_or_refused)
{
    OWNED(spec_grid) grid = {0};
    char *text = NULL;
    add(&grid, "alpha", 2, (const char *const[]){"0.5", "0.8"});
    add(&grid, "K", 1, (const char *const[]){"3"});
    assert_works(spec_naming_expand(&text, &grid, "at K = {K} and alpha {alpha}.", &error));
    assert_string_equal(text, "at K = 3 and alpha 0.5 and 0.8.");
    free(text);
    assert_works(spec_naming_expand(&text, &grid, "", &error));
    assert_string_equal(text, "");
    free(text);
    assert_fails(spec_naming_expand(&text, &grid, "at {alhpa}", &error), GSL_EINVAL,
                 "no axis is named 'alhpa'; did you mean 'alpha'?");
    assert_null(text);
    assert_fails(spec_naming_expand(&text, &grid, "at {K", &error), GSL_EINVAL,
                 "a brace is not closed: '{K'");
}
