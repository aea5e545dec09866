/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/checked_rows.h"
#include "experiments/report/naming.h"
#include "experiments/report/row_keys.h"
#include "experiments/report/summary.h"
#include "sim/chance/rng.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static spec_experiment parse(const char *text)
{
    spec_experiment e;
    assert_works(spec_experiment_parse(&e, "own.cfg", text, strlen(text), NULL, &error));
    return e;
}

/* Makes a result by hand: rows of numbers, in which NaN is an empty cell. */
static spec_result result_of(const char *const *column, int n_columns, const double *cell,
                             size_t n_rows)
{
    spec_result result = {0};
    assert_int_equal(spec_table_init(&result.table, column, n_columns), GSL_SUCCESS);
    for (size_t r = 0; r < n_rows; r++) {
        for (int c = 0; c < n_columns; c++)
            spec_table_number(&result.table, column[c], cell[r * (size_t)n_columns + (size_t)c]);
        assert_int_equal(spec_table_append(&result.table), GSL_SUCCESS);
    }
    return result;
}

static char *summary_of(const spec_experiment *e, const spec_result *result)
{
    FREED char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_int_equal(spec_summary_write(out, e, result), GSL_SUCCESS);
    fclose(out);
    char *copy = strdup(text);
    return copy;
}

TEST(sentences_give_ranges_places_and_trends)
{
    static const char *const column[] = {"alpha",      "K",       "emitted",
                                         "emitted_se", "speedup", "speedup_theory"};
    static const double cell[] = {
        0.5, 1, 1.4, 0.01,  1.30, 1.31, /* */
        0.5, 2, 1.8, 0.012, 1.52, 1.50, /* */
        0.5, 3, 1.9, 0.03,  1.41, 1.40, /* */
        0.9, 1, 1.9, 0.01,  1.70, 1.71, /* */
        0.9, 2, 2.7, 0.01,  2.30, 2.32, /* */
        0.9, 3, 3.4, 0.01,  2.60, 2.62,
    };
    OWNED(spec_experiment) e =
        parse("measure = \"acceptance\"; grid = { alpha = [0.5, 0.9]; K = [1, 2, 3]; };");
    OWNED(spec_result) result = result_of(column, 6, cell, 6);
    FREED char *text = summary_of(&e, &result);
    assert_string_equal(
        text, "- `emitted` lies between 1.400 ± 0.010 (alpha = 0.5, K = 1) and 3.400 ± 0.010 "
              "tokens per round "
              "(alpha = 0.9, K = 3).\n"
              "- Along `alpha`, `emitted` rises in all 3 series.\n"
              "- Along `K`, `emitted` rises in all 2 series.\n"
              "- `speedup` lies between 1.3 (alpha = 0.5, K = 1) and 2.6 (alpha = 0.9, K = 3).\n"
              "- Along `alpha`, `speedup_theory` rises in all 3 series.\n"
              "- Along `K`, `speedup_theory` rises in 1 of 2 series and rises and then falls in 1 "
              "(largest at "
              "K = 2 for alpha = 0.5).\n");
}

TEST(exact_columns_count_ties_and_names_are_ranked)
{
    static const char text[] = "measure = \"prove\"; grid = { rule = [\"token\", \"match\"]; "
                               "target = \"probs:0.5,0.5\"; draft = "
                               "\"chain:probs:0.4,0.6\"; K = [1, 2]; tokens = 2; }; show = "
                               "[\"rule\", \"K\", \"tv\", \"mean_n_accepted\", "
                               "\"verdict\"];";
    OWNED(spec_experiment) e = parse(text);
    OWNED(spec_result) result;
    spec_run_options options = {.opt_context = spec_test_context(1)};
    assert_works(spec_experiment_run(&result, &e, &options, &error));
    FREED char *said = summary_of(&e, &result);
    /* token: overlap 0.9, so 0.9 and 0.9 + 0.81; match: 0.5, so 0.5 and 0.75 */
    assert_string_equal(
        said,
        "- `tv` is 0 in all 4 rows.\n" /* and no comparison, because nothing differs */
        "- `mean_n_accepted` lies between 0.5 (rule = `match`, K = 1) and 1.71 tokens per round "
        "(rule = `token`, K = 2).\n"
        "- Among the values of `rule`, `mean_n_accepted` is largest for `token` in 2 of 2 series.\n"
        "- Along `K`, `mean_n_accepted` rises in all 2 series.\n");
}

/* No sentence is written along an axis on which two rows of a series have the same value, or about
 * a column without errors. */
TEST(silence_where_rows_or_errors_do_not_carry_it)
{
    static const char *const column[] = {"K", "emitted", "emitted_se", "speedup"};
    static const double cell[] = {1, 1.4, 0.01, 1.3, 1, 1.5, 0.01, 1.2, 2, 1.8, 0.01, NAN};
    OWNED(spec_experiment) e =
        parse("measure = \"decode\"; grid = { target = \"zipf\"; draft = \"zipf\"; K = [1, 2]; };");
    OWNED(spec_result) result = result_of(column, 4, cell, 3);
    char *text = summary_of(&e, &result);
    assert_string_equal(text, "- `emitted` lies between 1.400 ± 0.010 (K = 1) and 1.800 ± 0.010 "
                              "tokens per round (K = 2).\n"
                              "- `speedup` lies between 1.2 (K = 1) and 1.3 (K = 1).\n");
    free(text);
    spec_result_free(&result);

    result = result_of(column, 1, cell, 1);
    text = summary_of(&e, &result);
    assert_string_equal(text, "- The table shows none of the measure's main columns.\n");
    free(text);
}

TEST(keys_leave_out_what_follows_from_others)
{
    static const char text[] = "measure = \"decode\"; labels = [\"task\"]; grid = { task = [\"x\", "
                               "\"y\"]; text = [\"d/a.txt\", \"d/b.txt\"];\n"
                               "    target = \"ngram:{text}\"; order = [1, 2]; draft = "
                               "\"ngram:{text}?order={order}\"; K = [1, 2]; };";
    static const char *const column[] = {"task",  "text", "target", "order",
                                         "draft", "K",    "emitted"};
    char *name = NULL;
    size_t n;
    OWNED(spec_experiment) e = parse(text);
    OWNED(spec_result) result = {0};
    OWNED(spec_row_keys) keys;
    assert_int_equal(spec_table_init(&result.table, column, 7), GSL_SUCCESS);
    for (uint64_t i = 0; i < spec_grid_size(&e.grid); i++) {
        for (int c = 0; c < 6; c++)
            spec_table_text(&result.table, column[c], spec_grid_value(&e.grid, i, column[c]));
        spec_table_number(&result.table, "emitted", 1.0);
        assert_int_equal(spec_table_append(&result.table), GSL_SUCCESS);
    }
    assert_int_equal(spec_row_keys_init(&keys, &e, &result.table), GSL_SUCCESS);
    FILE *out = open_memstream(&name, &n);
    assert_int_equal(spec_row_keys_write_row(out, &keys, 15), 4);
    fputs("; ", out);
    assert_int_equal(spec_row_keys_write_series(out, &keys, 15, 5), 3); /* all keys except K */
    fclose(out);
    assert_string_equal(name,
                        "task = `y`, text = `d/b.txt`, order = `2`, K = `2`; task = `y`, text "
                        "= `d/b.txt`, order = `2`");
    free(name);
}

/* Drafts that change with T count as one draft along T; a draft that does not change is another
 * one. */
TEST(an_axis_that_others_build_goes_by_what_builds_it)
{
    static const char text[] =
        "measure = \"decode\"; grid = { target = \"zipf\"; draft = [\"d/m.gguf?x={T}\", "
        "\"e/m.gguf?x=9\"]; T = [1, 2, 3]; K = 1; };";
    static const char *const column[] = {"draft", "T", "emitted", "emitted_se"};
    static const double emitted[] = {1.1, 1.2, 1.3, 1.1, 1.05, 1.35};
    OWNED(spec_experiment) e = parse(text);
    OWNED(spec_result) result = {0};
    assert_int_equal(spec_table_init(&result.table, column, 4), GSL_SUCCESS);
    for (uint64_t i = 0; i < 6; i++) {
        spec_table_text(&result.table, "draft", spec_grid_value(&e.grid, i, "draft"));
        spec_table_integer(&result.table, "T", 1 + (long long)i % 3);
        spec_table_number(&result.table, "emitted", emitted[i]);
        spec_table_number(&result.table, "emitted_se", 0.01);
        assert_int_equal(spec_table_append(&result.table), GSL_SUCCESS);
    }
    FREED char *said = summary_of(&e, &result);
    assert_string_equal(
        said, "- `emitted` lies between 1.050 ± 0.010 (draft = `e/m.gguf?x=9`, T = 2) and 1.350 ± "
              "0.010 tokens per round (draft = `e/m.gguf?x=9`, T = 3).\n"
              "- Among the values of `draft`, `emitted` is largest for `d/m.gguf?x={T}` in 1 of 3 "
              "series and for `e/m.gguf?x=9` in 1; in 1 there is no single largest value.\n"
              "- Along `T`, `emitted` rises in 1 of 2 series and falls and then rises in 1 "
              "(smallest at T = 2 for draft = `e/m.gguf?x=9`).\n");
}

/* ---- a second route -------------------------------------------------------------------------- */

enum { AXIS = 5, OTHERS = 12 };

/* Computes the words for a series from every pair of its values, without the code of trend.c. */
static const char *words_of(const double y[AXIS], const double se[AXIS])
{
    bool up[AXIS][AXIS], any = false, fell = false, rose = false;
    for (int i = 0; i < AXIS; i++)
        for (int k = 0; k < AXIS; k++)
            up[i][k] = y[k] - y[i] > 2.0 * sqrt(se[i] * se[i] + se[k] * se[k]);
    for (int i = 0; i < AXIS; i++)
        for (int k = i + 1; k < AXIS; k++) {
            any = any || up[i][k] || up[k][i];
            rose = rose || up[i][k];
            fell = fell || up[k][i];
        }
    if (!any) return "is flat";
    if (!fell && up[0][AXIS - 1]) return "rises";
    if (!rose && up[AXIS - 1][0]) return "falls";
    for (int sign = 1; sign >= -1; sign -= 2) {
        int top = 0;
        for (int i = 1; i < AXIS; i++)
            if (sign * y[i] > sign * y[top]) top = i;
        bool summit = sign > 0 ? up[0][top] && up[AXIS - 1][top] : up[top][0] && up[top][AXIS - 1];
        for (int i = 0; i < AXIS; i++)
            for (int k = i + 1; k < AXIS; k++) {
                if (k <= top) summit = summit && !(sign > 0 ? up[k][i] : up[i][k]);
                if (i >= top) summit = summit && !(sign > 0 ? up[i][k] : up[k][i]);
            }
        if (summit) return sign > 0 ? "rises and then falls" : "falls and then rises";
    }
    return "has no single direction";
}

/* In random tables, with rows in a random order, each count in a sentence equals the count of a
 * plain loop. */
TEST(counts_agree_with_a_plain_count)
{
    static const char *const column[] = {"alpha", "K", "emitted", "emitted_se"};
    static const char *const words[] = {"rises",
                                        "falls",
                                        "rises and then falls",
                                        "falls and then rises",
                                        "is flat",
                                        "has no single direction"};
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 1);
    OWNED(spec_experiment) e =
        parse("measure = \"acceptance\"; grid = { alpha = \"0.1:0.65:0.05\"; K = \"1:5\"; };");
    int seen[6] = {0};
    for (int trial = 0; trial < 200; trial++) {
        double cell[AXIS * OTHERS][4], y[OTHERS][AXIS], se[OTHERS][AXIS];
        int count[6] = {0}, n_words = 0;
        const double slope = 0.4 * (spec_rng_next_double(&rng) - 0.5),
                     bend = 0.3 * (spec_rng_next_double(&rng) - 0.5);
        for (int i = 0; i < AXIS * OTHERS; i++) {
            const int k = i % AXIS, o = i / AXIS;
            y[o][k] = round(1e3 * (2.0 + slope * k + bend * (k - 2) * (k - 2) +
                                   0.3 * spec_rng_next_double(&rng))) /
                      1e3;
            se[o][k] = 0.01 + 0.1 * spec_rng_next_double(&rng);
            const double row[] = {0.1 + 0.05 * o, k + 1, y[o][k], se[o][k]};
            const int at =
                (int)(spec_rng_next(&rng) % (unsigned)(i + 1)); /* a shuffle in place */
            memcpy(cell[i], cell[at], sizeof row);
            memcpy(cell[at], row, sizeof row);
        }
        for (int o = 0; o < OTHERS; o++)
            for (int w = 0; w < 6; w++) count[w] += strcmp(words[w], words_of(y[o], se[o])) == 0;
        for (int w = 0; w < 6; w++) n_words += count[w] > 0;
        OWNED(spec_result) result = result_of(column, 4, cell[0], AXIS * OTHERS);
        char *text = summary_of(&e, &result), *line = strstr(text, "- Along `K`, `emitted` ");
        assert_non_null(line);
        line[strcspn(line, "\n")] = '\0';
        for (int w = 0; w < 6; w++) {
            char part[80];
            if (n_words == 1) snprintf(part, sizeof part, "%s in all %d series", words[w], OTHERS);
            else snprintf(part, sizeof part, "%s in %d", words[w], count[w]);
            const char *said = strstr(line, part), *end = said != NULL ? said + strlen(part) : NULL;
            if (count[w] > 0 && (end == NULL || (*end >= '0' && *end <= '9')))
                fail_msg("no '%s' in '%s'", part, line);
            seen[w] += count[w];
        }
        free(text);
    }
    for (int w = 0; w < 6; w++) assert_true(seen[w] > 10);
}

/* ---- checks ---------------------------------------------------------------------------------- */

TEST(evidence_says_how_the_rows_stand)
{
    static const char *const column[] = {"alpha", "K", "emitted", "emitted_z"};
    static const double cell[] = {0.5, 1, 1.4, -2.345, 0.5, 2, 1.8, 1.0, 0.9, 1, 1.9, NAN};
    static const struct {
        uint64_t holds, fails;
        bool row;
        const char *text;
    } cases[] = {
        {2, 0, true,
         "All 2 checked rows hold; the largest difference from theory is 2.35 standard errors "
         "(`emitted_z` at "
         "alpha = 0.5, K = 1)"},
        {3, 0, false,
         "All 3 rows hold; the largest difference from theory is 2.35 standard errors"},
        {1, 2, false,
         "**2 of 3 checked rows FAIL**; the largest difference from theory is 2.35 standard "
         "errors"},
    };
    OWNED(spec_experiment) e =
        parse("measure = \"acceptance\"; grid = { alpha = [0.5, 0.9]; K = [1, 2]; };");
    OWNED(spec_result) result = result_of(column, 4, cell, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FREED char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        result.holds = cases[i].holds;
        result.fails = cases[i].fails;
        assert_int_equal(spec_checked_rows_write(out, &e, &result, cases[i].row), GSL_SUCCESS);
        fclose(out);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(every_measure_has_main_columns_that_it_computes)
{
    for (int i = 0; spec_measures[i] != NULL; i++) {
        const spec_measure *measure = spec_measures[i];
        if (measure->headlines == NULL || measure->headlines[0].column == NULL)
            fail_msg("%s has none", measure->name);
        for (const spec_headline *h = measure->headlines; h->column != NULL; h++) {
            if (!spec_measure_tells(measure, h->column))
                fail_msg("%s: no column %s", measure->name, h->column);
            if (h->se != NULL && !spec_measure_tells(measure, h->se))
                fail_msg("%s: no column %s", measure->name, h->se);
        }
        for (int k = 0; measure->keys != NULL && measure->keys[k] != NULL; k++)
            assert_true(spec_measure_tells(measure, measure->keys[k]));
    }
}
