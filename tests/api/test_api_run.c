/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "base/table.h"
#include "speclab/speclab.h"
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static speclab *lab;

static int set_up(void **state)
{
    char error[512];
    if (speclab_open(&lab, NULL, error, sizeof error) != SPECLAB_OK) fail_msg("%s", error);
    return spec_program_set_up(state);
}

static int tear_down(void **state)
{
    speclab_close(lab);
    return spec_program_tear_down(state);
}

static speclab_table *run(const char *text, const speclab_run_options *options)
{
    char error[512];
    speclab_table *table;
    if (speclab_run(&table, lab, text, options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    assert_string_equal(error, "");
    return table;
}

static void refused(const char *text, const speclab_run_options *options, int32_t code,
                    const char *line)
{
    char error[512];
    speclab_table *table = (speclab_table *)&lab;
    assert_int_equal(speclab_run(&table, lab, text, options, error, sizeof error), code);
    assert_null(table);
    if (strstr(error, line) == NULL) fail_msg("'%s' does not contain '%s'", error, line);
}

static double number(const speclab_table *table, int64_t row, const char *column)
{
    return speclab_table_number(table, row, speclab_table_find(table, column));
}

TEST(numbers_have_all_digits)
{
    speclab_table *table =
        run("measure = \"predict\"; grid = { alpha = [0.27, 0.83]; K = [3, 11]; };", NULL);
    assert_int_equal(speclab_table_rows(table), 4);
    for (int64_t i = 0; i < 4; i++) {
        const double alpha = number(table, i, "alpha"), K = number(table, i, "K");
        assert_same(number(table, i, "emitted"), spec_capped_geometric_mean(alpha, K));
        assert_same(number(table, i, "speedup"), spec_speedup(alpha, K, 0.1));
    }
    double column[4];
    speclab_table_numbers(column, table, speclab_table_find(table, "speedup"));
    for (int64_t i = 0; i < 4; i++) assert_same(column[i], number(table, i, "speedup"));
    speclab_table_free(table);
}

static const char texts[] =
    "measure = \"acceptance\"; rounds = 20000; grid = { process = [\"iid\", "
    "\"decay?rate=0.9\"]; alpha = [0.27, 0.83]; K = [2, 5]; };";

/* Numbers print in CSV with ten digits; these texts have no fields that need quotes. */
static void print_csv(const speclab_table *table, char *out, size_t size)
{
    size_t n = 0;
    const char *line = speclab_table_provenance(table);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");
        n += (size_t)snprintf(out + n, size - n, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    const int32_t columns = speclab_table_columns(table);
    for (int64_t row = -1; row < speclab_table_rows(table); row++)
        for (int32_t c = 0; c < columns; c++) {
            const char *end = c + 1 < columns ? "," : "\n";
            if (row < 0)
                n += (size_t)snprintf(out + n, size - n, "%s%s", speclab_table_name(table, c), end);
            else if (speclab_table_kind(table, row, c) == SPECLAB_CELL_TEXT)
                n += (size_t)snprintf(out + n, size - n, "%s%s", speclab_table_text(table, row, c),
                                      end);
            else if (speclab_table_kind(table, row, c) == SPECLAB_CELL_INTEGER)
                n += (size_t)snprintf(out + n, size - n, "%lld%s",
                                      (long long)speclab_table_integer(table, row, c), end);
            else
                n += (size_t)snprintf(out + n, size - n, "%.10g%s",
                                      speclab_table_number(table, row, c), end);
        }
}

TEST(the_table_prints_as_the_csv_of_the_program)
{
    spec_needs_program();
    static char csv[1 << 16];
    const speclab_run_options options = {.size = sizeof options, .name = "given.cfg"};
    spec_child child;
    speclab_table *table = run(texts, &options);
    print_csv(table, csv, sizeof csv);
    spec_file_write("given.cfg", texts);
    spec_child_run(&child, "run given.cfg --format csv");
    /* The first line names the commit that each was built from. */
    assert_string_equal(strchr(child.text, '\n'), strchr(csv, '\n'));
    spec_child_free(&child);
    speclab_table_free(table);
}

TEST(a_seed_and_overrides_change_the_result_as_in_the_program)
{
    const uint64_t seed = 7;
    const char *const set[] = {"rounds=5000", "K=4", NULL}, *const reseeded[] = {"seed=7", NULL};
    const speclab_run_options by_seed = {.size = sizeof by_seed, .seed = &seed},
                              by_set = {.size = sizeof by_set, .set = reseeded},
                              other = {.size = sizeof other, .set = set};
    speclab_table *plain = run(texts, NULL), *seeded = run(texts, &by_seed),
                  *same = run(texts, &by_set), *fewer = run(texts, &other);
    assert_true(number(plain, 0, "emitted") != number(seeded, 0, "emitted"));
    assert_same(number(same, 0, "emitted"), number(seeded, 0, "emitted"));
    assert_int_equal(speclab_table_rows(fewer), 4);
    assert_same(number(fewer, 0, "rounds"), 5000);
    speclab_table_free(plain);
    speclab_table_free(seeded);
    speclab_table_free(same);
    speclab_table_free(fewer);
}

TEST(checks_of_rows_are_counted)
{
    uint64_t holds, fails;
    speclab_table *table = run(texts, NULL);
    speclab_table_checks(&holds, &fails, table);
    assert_int_equal(holds, 8);
    assert_int_equal(fails, 0);
    speclab_table_free(table);
    table = run("measure = \"prove\"; grid = { target = \"probs:0.5,0.3,0.2\"; "
                "draft = \"chain:probs:0.2,0.3,0.5\"; rule = \"token\"; K = 2; };",
                NULL);
    speclab_table_checks(&holds, &fails, table);
    assert_int_equal(holds, 1);
    assert_int_equal(fails, 0);
    speclab_table_free(table);
}

TEST(cells_outside_the_table_are_empty)
{
    speclab_table *table = run(texts, NULL);
    const int32_t columns = speclab_table_columns(table);
    const int64_t rows = speclab_table_rows(table);
    const int64_t row[] = {-1, rows, 0, 0, INT64_MIN, INT64_MAX};
    const int32_t column[] = {0, 0, -1, columns, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(speclab_table_kind(table, row[i], column[i]), SPECLAB_CELL_EMPTY);
        assert_nan(speclab_table_number(table, row[i], column[i]));
        assert_int_equal(speclab_table_integer(table, row[i], column[i]), 0);
        assert_null(speclab_table_text(table, row[i], column[i]));
    }
    assert_null(speclab_table_name(table, -1));
    assert_null(speclab_table_name(table, columns));
    assert_int_equal(speclab_table_find(table, "alhpa"), -1);
    assert_int_equal(speclab_table_find(table, NULL), -1);
    speclab_table_free(table);
    assert_int_equal(speclab_table_rows(NULL), 0);
    assert_int_equal(speclab_table_columns(NULL), 0);
    assert_int_equal(speclab_table_find(NULL, "K"), -1);
    assert_string_equal(speclab_table_provenance(NULL), "");
    speclab_table_free(NULL);
}

TEST(wrong_texts_are_refused_with_their_line)
{
    const speclab_run_options named = {.size = sizeof named, .name = "my.cfg"};
    const char *const no_key[] = {"raunds=3", NULL};
    const speclab_run_options overridden = {.size = sizeof overridden, .set = no_key};
    refused("", NULL, SPECLAB_INPUT, "experiment");
    refused("measure = \"predict\";\ngrid = {", &named, SPECLAB_INPUT, "my.cfg:2");
    refused("measure = \"predct\";", NULL, SPECLAB_INPUT, "predict");
    refused("measure = \"predict\"; grid = { alpha = 0.5; };", NULL, SPECLAB_INPUT, "'K'");
    refused("measure = \"predict\"; grid = { alpha = 1.5; K = 2; };", NULL, SPECLAB_INPUT, "alpha");
    refused("measure = \"predict\"; grid = { alpha = \"nan\"; K = 2; };", NULL, SPECLAB_INPUT,
            "nan");
    refused(texts, &overridden, SPECLAB_INPUT, "raunds");
}

TEST(wrong_arguments_are_refused)
{
    char error[512];
    speclab_table *table;
    speclab_run_options options = {.size = 0};
    refused(NULL, NULL, SPECLAB_INPUT, "text is NULL");
    refused(texts, &options, SPECLAB_INPUT, "the size of speclab_run_options is 0");
    options.size = sizeof options + 8;
    refused(texts, &options, SPECLAB_INPUT, "sizeof");
    assert_int_equal(speclab_run(&table, NULL, texts, NULL, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "the handle is NULL; call speclab_open first");
    assert_int_equal(speclab_run(NULL, lab, texts, NULL, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "ret_table is NULL");
}

TEST(an_error_is_cut_to_its_buffer)
{
    char error[8] = "1234567";
    speclab_table *table;
    assert_int_equal(speclab_run(&table, lab, "", NULL, error, 4), SPECLAB_INPUT);
    assert_string_equal(error, "exp");
    assert_int_equal(error[4], '5');
    assert_int_equal(speclab_run(&table, lab, "", NULL, error, 0), SPECLAB_INPUT);
    assert_int_equal(speclab_run(&table, lab, "", NULL, NULL, 99), SPECLAB_INPUT);
}

/* Sets the stop flag after a point. */
static volatile int stop;
static void stop_after_two(void *self, double done, uint64_t total)
{
    (void)self;
    assert_int_equal(total, 8);
    if (done >= 2.0) stop = 1;
}

TEST(a_stopped_run_keeps_its_finished_rows)
{
    char error[512];
    speclab_table *table;
    const speclab_run_options options = {
        .size = sizeof options, .opt_stop = &stop, .progress = stop_after_two};
    stop = 0;
    assert_int_equal(speclab_run(&table, lab, texts, &options, error, sizeof error),
                     SPECLAB_STOPPED);
    assert_int_equal(speclab_table_rows(table), 2);
    assert_true(strncmp(error, "interrupted after 2 of 8", 24) == 0);
    speclab_table_free(table);
    assert_int_equal(speclab_run(&table, lab, texts, &options, NULL, 0), SPECLAB_STOPPED);
    assert_null(table);
}

TEST(closed_forms_are_those_of_the_analysis)
{
    for (double alpha = 0.0; alpha <= 1.0; alpha += 0.0625) {
        assert_same(speclab_emitted_mean(alpha, 6), spec_capped_geometric_mean(alpha, 6));
        assert_same(speclab_emitted_variance(alpha, 6), spec_capped_geometric_variance(alpha, 6));
        assert_same(speclab_accepted_probability(alpha, 6, 2),
                    spec_capped_geometric_probability(alpha, 6, 2));
        assert_same(speclab_speedup(alpha, 6, 0.1), spec_speedup(alpha, 6, 0.1));
        assert_same(speclab_best_K(alpha, 0.1), spec_speedup_best_K(alpha, 0.1));
        assert_same(speclab_best_speedup(alpha, 0.1), spec_speedup_best(alpha, 0.1));
        assert_same(speclab_ops_factor(alpha, 6, 0.05), spec_speedup_ops_factor(alpha, 6, 0.05));
        assert_same(speclab_memory_factor(alpha, 6), spec_speedup_memory_factor(alpha, 6));
    }
    /* The worked numbers of [Leviathan23]: docs/formulas/lengths.md#speedup. */
    assert_prints(speclab_speedup(0.8, 6, 0.1), 3, "2.470");
    assert_same(speclab_best_K(0.8, 0.1), 6);
    assert_same(speclab_speedup_from_emitted(3.0, 4, 0.25), 1.5);
    assert_same(speclab_break_even_alpha(1, 0.27), 0.27);
}

TEST(closed_forms_outside_their_domain_are_nan)
{
    const double wrong[] = {-0.1, 1.1, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 5; i++) {
        assert_nan(speclab_emitted_mean(wrong[i], 3));
        assert_nan(speclab_emitted_variance(wrong[i], 3));
        assert_nan(speclab_accepted_probability(wrong[i], 3, 1));
        assert_nan(speclab_speedup(wrong[i], 3, 0.1));
        assert_nan(speclab_best_K(wrong[i], 0.1));
        assert_nan(speclab_best_speedup(wrong[i], 0.1));
        assert_nan(speclab_ops_factor(wrong[i], 3, 0.1));
        assert_nan(speclab_memory_factor(wrong[i], 3));
    }
    const double time[] = {-0.1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        assert_nan(speclab_speedup(0.5, 3, time[i]));
        assert_nan(speclab_best_K(0.5, time[i]));
        assert_nan(speclab_best_speedup(0.5, time[i]));
        assert_nan(speclab_break_even_alpha(3, time[i]));
        assert_nan(speclab_ops_factor(0.5, 3, time[i]));
        assert_nan(speclab_speedup_from_emitted(2.0, 3, time[i]));
    }
    assert_nan(speclab_emitted_mean(0.5, -1));
    assert_nan(speclab_emitted_variance(0.5, INT32_MIN));
    assert_nan(speclab_break_even_alpha(-1, 0.1));
}

TEST(lists_have_the_names_of_specs)
{
    char error[512];
    speclab_table *rules, *all;
    assert_int_equal(speclab_list(&rules, lab, "rule", error, sizeof error), SPECLAB_OK);
    assert_int_equal(speclab_list(&all, lab, NULL, error, sizeof error), SPECLAB_OK);
    assert_true(speclab_table_rows(all) > speclab_table_rows(rules));
    const int32_t name = speclab_table_find(rules, "name"),
                  claim = speclab_table_find(rules, "claim");
    assert_string_equal(speclab_table_text(rules, 0, name), "token");
    assert_string_equal(speclab_table_text(rules, 0, claim), "lossless");
    for (int64_t row = 0; row < speclab_table_rows(all); row++)
        assert_true(strlen(speclab_table_text(all, row, name)) > 0);
    speclab_table_free(rules);
    speclab_table_free(all);
    assert_int_equal(speclab_list(&all, lab, "nothing", error, sizeof error), SPECLAB_INPUT);
    assert_null(all);
    assert_string_equal(error, "there is no list of 'nothing'");
}

SUITE(.setup = set_up, .teardown = tear_down);
