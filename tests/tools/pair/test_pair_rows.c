/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sums of a file of rows are those of the models that wrote it. */
#include "tools/pair/pair_rows.h"

#include "experiments/rows_make.h"
#include "models/rows/rows.h"
#include "tests/support/folder.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);

static const char path[] = "test_pair_rows.rows";
enum { K = 3 };

static void make(const spec_model *target, const spec_model *draft, uint64_t length, uint64_t every)
{
    const spec_rows_plan plan = {.model = {target, draft},
                                 .sides = 2,
                                 .places = 60,
                                 .every = every,
                                 .length = length,
                                 .seed = spec_test_seed()};
    assert_works(spec_rows_make(path, &plan, &error));
}

static void run_on(spec_pair_run *run, const spec_model *target, const spec_model *draft,
                   const spec_pair_text *text, int n)
{
    const spec_pair_plan plan = {.target = target,
                                 .draft = {draft},
                                 .n_drafts = 1,
                                 .K = K,
                                 .text = text,
                                 .n_texts = n,
                                 .tokens = 1};
    assert_works(spec_pair_run_init(run, &plan, &error));
}

TEST(a_file_has_the_sums_of_its_models)
{
    OWNED_MODEL *target = model_of("markov?V=4&order=2&seed=3", NULL);
    OWNED_MODEL *draft = model_of("markov?V=4&order=1&seed=5", NULL);
    make(target, draft, 17, 1); /* texts of 17 tokens; the last has 60 - 3 x 17 = 9 */
    CLOSED(spec_rows_file) file;
    OWNED(spec_pair_rows) rows;
    assert_works(spec_rows_file_open(&file, path, &error));
    assert_works(spec_pair_rows_init(&rows, &file, K, &error));
    assert_int_equal(rows.n, 4);
    assert_int_equal(rows.positions, 60);
    OWNED_MODEL *a = model_of("rows:test_pair_rows.rows?begin=0", NULL);
    OWNED_MODEL *b = model_of("rows:test_pair_rows.rows?begin=0&side=draft", NULL);
    OWNED(spec_pair_run) of_file;
    run_on(&of_file, a, b, rows.text, rows.n);
    spec_pair_text text[4]; /* each a separate text */
    for (int i = 0; i < 4; i++)
        text[i] = (spec_pair_text){
            .token = rows.token + rows.text[i].n, .n_given = rows.text[i].n_given, .category = -1};
    OWNED(spec_pair_run) of_models;
    run_on(&of_models, target, draft, text, 4);
    for (int i = 0; i < 4 * of_file.n_columns; i++)
        assert_within(of_file.block[i], of_models.block[i], 1e-12);
}

TEST(a_text_ends_at_a_gap)
{
    OWNED_MODEL *target = model_of("markov?V=4&order=2&seed=3", NULL);
    OWNED_MODEL *draft = model_of("markov?V=4&order=1&seed=5", NULL);
    spec_pair_rows rows;
    {
        make(target, draft, K - 1, 1); /* texts that are one token too short */
        CLOSED(spec_rows_file) file;
        assert_works(spec_rows_file_open(&file, path, &error));
        assert_fails_with(spec_pair_rows_init(&rows, &file, K, &error), GSL_EINVAL,
                          "at most 2 positions in a row");
    }
    make(target, draft, 0, 2);
    CLOSED(spec_rows_file) file;
    assert_works(spec_rows_file_open(&file, path, &error));
    assert_fails(spec_pair_rows_init(&rows, &file, K, &error), GSL_EINVAL,
                 "test_pair_rows.rows: it has at most 1 positions in a row, and K is 3: use a "
                 "smaller --K, or record the rows without --every");
    assert_works(spec_pair_rows_init(&rows, &file, 1, &error));
    assert_int_equal(rows.n, 60);
    spec_pair_rows_free(&rows);
}
