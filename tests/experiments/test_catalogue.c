/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/catalogue.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const columns[] = {"kind", "name", "summary", "reference", "claim"};
enum { KIND, NAME, SUMMARY, REFERENCE, CLAIM };

static const char *text(const spec_table *table, size_t row, int column)
{
    const char *found = spec_table_cell(table, row, column)->text;
    return found != NULL ? found : "";
}

/* Returns the row whose name without its keys is `name`; fails if there is none. */
static size_t row_of(const spec_table *table, const char *name)
{
    for (size_t r = 0; r < table->n_rows; r++) {
        const char *there = text(table, r, NAME);
        const size_t n = strcspn(there, "?");
        if (n == strlen(name) && strncmp(there, name, n) == 0) return r;
    }
    fail_msg("no %s", name);
    return 0;
}

TEST(every_kind_has_names_of_its_own_with_a_summary)
{
    for (int k = 0; spec_catalogue_kinds[k] != NULL; k++) {
        OWNED(spec_table) table;
        assert_int_equal(spec_table_init(&table, columns, 5), GSL_SUCCESS);
        assert_true(spec_catalogue_add(&table, spec_catalogue_kinds[k]));
        assert_false(table.lost);
        assert_true(table.n_rows > 1);
        for (size_t r = 0; r < table.n_rows; r++) {
            assert_string_equal(text(&table, r, KIND), spec_catalogue_kinds[k]);
            assert_true(strlen(text(&table, r, NAME)) > 0);
            assert_true(strlen(text(&table, r, SUMMARY)) > 0);
            for (size_t other = 0; other < r; other++)
                assert_string_not_equal(text(&table, r, NAME), text(&table, other, NAME));
        }
    }
}

TEST(each_kind_lists_its_own_table)
{
    static const char *const known[][2] = {
        {"model", "zipf"},  {"draft", "chain"},   {"rule", "token"},   {"policy", "fixed"},
        {"process", "iid"}, {"lengths", "fixed"}, {"measure", "prove"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWNED(spec_table) table;
        assert_int_equal(spec_table_init(&table, columns, 4), GSL_SUCCESS);
        assert_true(spec_catalogue_add(&table, known[i][0]));
        row_of(&table, known[i][1]);
    }
}

TEST(rules_claim_what_prove_finds)
{
    static const char *const claims[][2] = {{"token", "lossless"},
                                            {"block-greedy", "lossless"},
                                            {"lenience", "lossy"},
                                            {"resample-target", "wrong"}};
    OWNED(spec_table) table;
    assert_int_equal(spec_table_init(&table, columns, 5), GSL_SUCCESS);
    assert_true(spec_catalogue_add(&table, "rule"));
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        assert_string_equal(text(&table, row_of(&table, claims[i][0]), CLAIM), claims[i][1]);
}

TEST(a_table_without_claims_and_unknown_kinds_are_fine)
{
    OWNED(spec_table) table;
    assert_int_equal(spec_table_init(&table, columns, 4), GSL_SUCCESS);
    assert_true(spec_catalogue_add(&table, "rule"));
    const size_t rows = table.n_rows;
    assert_false(spec_catalogue_add(&table, "rules"));
    assert_int_equal(table.n_rows, rows);
}
