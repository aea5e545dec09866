/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the rows of an advice, for -f csv and other formats. */
#include "tests/support/support.h"
#include "tests/tools/advise/advice_text_of.h"

#include <gsl/gsl_errno.h>

static double number(const spec_table *table, size_t row, const char *name)
{
    return spec_cell_number(spec_table_cell(table, row, spec_table_column(table, name)));
}

static const char *word(const spec_table *table, size_t row, const char *name)
{
    const spec_cell *cell = spec_table_cell(table, row, spec_table_column(table, name));
    return cell->kind == SPEC_CELL_TEXT ? cell->text : "";
}

TEST(the_table_has_a_row_per_length_and_per_range_of_batches)
{
    advice_facts f;
    OWNED(spec_table) table;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    known_times(&f);
    f.advice.verdict = SPEC_ADVICE_CHANGE;
    f.advice.to_K = 2;
    f.advice.n_batches = 2;
    f.advice.batch[0] = (spec_advice_batch){1, 8, 3, {1.4, NAN, 1.3, 1.5}, true};
    f.advice.batch[1] = (spec_advice_batch){9, -1, 0, {1.0, NAN, 1.0, 1.0}, false};
    f.advice.length[1].tokens = advice_facts_ratio(1.8, 1.7, 1.9);
    assert_works(spec_advice_report_table(&table, &f.facts, &error));
    assert_int_equal(table.n_rows, 6);
    assert_string_equal(word(&table, 3, "engine"), "vllm");
    assert_string_equal(word(&table, 3, "known_from"), "run");
    assert_string_equal(word(&table, 2, "known_from"), "shorter");
    assert_string_equal(word(&table, 2, "answer"), "change");
    assert_string_equal(word(&table, 3, "answer"), "");
    assert_same(number(&table, 3, "rounds"), 51.0);
    assert_same(number(&table, 3, "accepted"), 108.0);
    assert_same(number(&table, 1, "tokens_per_round"), 1.8);
    assert_same(number(&table, 1, "tokens_per_round_low"), 1.7);
    assert_same(number(&table, 1, "tokens_per_round_high"), 1.9);
    assert_nan(number(&table, 2, "rounds"));
    assert_nan(number(&table, 2, "accepted"));
    assert_near(number(&table, 3, "accepted_over_drafted"), 108.0 / 153.0, 1e-9);
    assert_near(number(&table, 3, "tokens_per_round"), 1.0 + 108.0 / 51.0, 1e-9);
    assert_near(number(&table, 3, "conditional"), 25.0 / 37.0, 1e-9);
    assert_same(number(&table, 3, "speedup_high"), 1.481);
    assert_same(number(&table, 2, "speedup"), 1.35);
    assert_same(number(&table, 2, "speedup_low"), 1.216);
    assert_same(number(&table, 3, "best"), 1.0);
    assert_nan(number(&table, 3, "batch_from"));
    assert_same(number(&table, 4, "batch_to"), 8.0);
    assert_nan(number(&table, 5, "batch_to"));
    assert_string_equal(word(&table, 4, "answer"), "keep");
    assert_string_equal(word(&table, 5, "answer"), "measure");
    spec_table_free(&table);
    f.advice.batch[0].K = 2;
    f.advice.batch[1].decided = true;
    assert_works(spec_advice_report_table(&table, &f.facts, &error));
    assert_string_equal(word(&table, 0, "known_from"), "run");
    assert_string_equal(word(&table, 4, "answer"), "change");
    assert_string_equal(word(&table, 5, "answer"), "off");
    spec_table_free(&table);
    f.advice.n_batches = 1; /* one length for all has no row of its own */
    f.advice.plain_seconds = NAN;
    assert_works(spec_advice_report_table(&table, &f.facts, &error));
    assert_int_equal(table.n_rows, 4);
    assert_string_equal(word(&table, 0, "known_from"), "given"); /* --round-over-plain */
    spec_table_free(&table);
    f.advice.over_plain = false;
    assert_works(spec_advice_report_table(&table, &f.facts, &error));
    assert_string_equal(word(&table, 0, "known_from"), "not run");
    spec_table_free(&table);
    f.advice.verdict = SPEC_ADVICE_NOTHING;
    f.facts.read = NULL;
    assert_works(spec_advice_report_table(&table, &f.facts, &error));
    for (size_t r = 0; r < 4; r++) assert_string_equal(word(&table, r, "answer"), "");
}
