/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the table of measures, and those that take rates and costs in place of models. */
#include "analysis/speedup.h"
#include "experiments/measures/measures.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/bench/timing_report.h"

#include <math.h>
#include <string.h>

/* As in docs/notation.md, alpha is a parameter, and accepted over tested has its own name. */
TEST(no_column_is_called_accepted_or_alpha)
{
    for (int m = -1; m < 0 || spec_measures[m] != NULL; m++) {
        const char *const *column = m < 0 ? spec_timing_report_columns : spec_measures[m]->columns;
        for (int c = 0; column[c] != NULL; c++)
            if (strcmp(column[c], "accepted") == 0 || strcmp(column[c], "alpha") == 0)
                fail_msg("%s: a column is called %s", m < 0 ? "bench" : spec_measures[m]->name,
                         column[c]);
    }
}

static bool has_column(const spec_measure *measure, const char *name)
{
    for (int c = 0; measure->columns[c] != NULL; c++)
        if (strcmp(measure->columns[c], name) == 0) return true;
    return false;
}

TEST(every_measure_is_well_formed)
{
    for (int m = 0; spec_measures[m] != NULL; m++) {
        const spec_measure *measure = spec_measures[m], *found;
        assert_int_equal(spec_measure_find(&found, measure->name, NULL), GSL_SUCCESS);
        assert_ptr_equal(found, measure);
        assert_true(strlen(measure->summary) > 0);
        for (int i = 0; measure->parameters[i] != NULL; i++) {
            char name[64];
            bool known;
            snprintf(name, sizeof name, "%.*s", (int)strcspn(measure->parameters[i], "="),
                     measure->parameters[i]);
            spec_measure_default(measure, name, &known);
            assert_true(known);
        }
        for (int i = 0; measure->checked != NULL && measure->checked[i] != NULL; i++)
            assert_true(has_column(measure, measure->checked[i]));
        for (const spec_headline *h = measure->headlines; h != NULL && h->column != NULL; h++)
            assert_true(has_column(measure, h->column));
    }
    for (const spec_folklore *rule = spec_folklore_rules; rule->name != NULL; rule++)
        assert_true(has_column(&spec_measure_folklore, rule->name)); /* one per rule of thumb */
}

TEST(rows_are_judged_by_the_names_of_their_columns)
{
    const char *const columns[] = {"emitted_z", "p", "verdict"}, *const checked[] = {
                                                                     "emitted_z", "p", "verdict",
                                                                     "absent_z", NULL};
    const spec_measure measure = {.checked = checked};
    const struct {
        double z, p;
        const char *verdict;
        spec_check expected;
    } cases[] = {{NAN, NAN, NULL, SPEC_CHECK_NONE},
                 {4.99, NAN, NULL, SPEC_CHECK_HOLDS},
                 {-5.01, NAN, NULL, SPEC_CHECK_FAILS},
                 {INFINITY, NAN, NULL, SPEC_CHECK_FAILS},
                 {NAN, 1.1e-6, NULL, SPEC_CHECK_HOLDS},
                 {NAN, 0.9e-6, NULL, SPEC_CHECK_FAILS},
                 {0.27, 0.9e-6, NULL, SPEC_CHECK_FAILS},
                 {NAN, NAN, "lossless", SPEC_CHECK_HOLDS},
                 {NAN, NAN, "NOT LOSSLESS", SPEC_CHECK_FAILS},
                 {NAN, NAN, "biased, as marked", SPEC_CHECK_NONE},
                 {NAN, NAN, "biased, lossy as marked", SPEC_CHECK_NONE},
                 {5.01, 0.27, "lossless", SPEC_CHECK_FAILS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_table) table;
        assert_int_equal(spec_table_init(&table, columns, 3), GSL_SUCCESS);
        spec_table_number(&table, "emitted_z", cases[i].z);
        spec_table_number(&table, "p", cases[i].p);
        if (cases[i].verdict != NULL) spec_table_text(&table, "verdict", cases[i].verdict);
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
        assert_int_equal(spec_measure_check(&measure, &table, 0), cases[i].expected);
    }
}

/* With 2e5 rounds, a mean of n_emitted that forgot the bonus (off by alpha^K = .1 or more) would be
 * off by 30 standard errors. */
TEST(acceptance_agrees_with_the_theory_of_its_process)
{
    OWNED(spec_result) result;
    run(&result, "acceptance", 200000,
        "process = [\"iid\", \"decay?rate=0.9\", \"markov?rho=0.5&spread=0.2\"]; alpha = "
        "\"0.27,0.7\"; "
        "K = [1, 5]; c = 0.1;");
    assert_all_hold(&result, 12);
    /* tests/oracle/closed.py, mm(), prints "corr 0.5 ... .75" for another spread. By hand, with two
     * states .9 and .5, stay .75, K = 1: 1 + .7. */
    assert_within(number(&result, 10, "emitted_theory"), 1.7, 1e-9);
    /* Row 3: iid, .7, K = 5: (1 - .7^6)/.3 = 2.94117; speed-up over 1.5; Thm 3.11 with ops_ratio =
     * c: (.5 + 6) / 2.94117. */
    assert_within(number(&result, 3, "emitted_theory"), 2.94117, 1e-8);
    assert_within(number(&result, 3, "speedup_theory"), 2.94117 / 1.5, 1e-8);
    assert_within(number(&result, 3, "ops_factor"), 6.5 / 2.94117, 1e-8);
}

TEST(acceptance_charges_one_pass_for_all_tokens)
{
    OWNED(spec_result) result;
    run(&result, "acceptance", 2000,
        "alpha = 0.7; K = 5; c = 0.1; c_token = 0.02; one_pass = [0, 1];");
    assert_within(number(&result, 0, "speedup_theory"), 2.94117 / 1.6, 1e-8);
    assert_within(number(&result, 1, "speedup_theory"), 2.94117 / 1.2, 1e-8);
}

/* tests/oracle/closed.py: Table 1 of [Leviathan23]. */
TEST(predict_prints_the_first_table_of_leviathan)
{
    const char *const grid[] = {"alpha = 0.6; K = 2;", "alpha = 0.7; K = 3;",
                                "alpha = 0.8; K = 2;", "alpha = 0.8; K = 5;",
                                "alpha = 0.9; K = 2;", "alpha = 0.9; K = 10;"};
    const double ops[] = {1.53, 1.58, 1.23, 1.63, 1.11, 1.60},
                 speed[] = {1.96, 2.53, 2.44, 3.69, 2.71, 6.86};
    for (int i = 0; i < 6; i++) {
        OWNED(spec_result) result;
        char all[100];
        snprintf(all, sizeof all, "%s c = 0; ops_ratio = 0;", grid[i]);
        run(&result, "predict", 0, all);
        assert_within(number(&result, 0, "speedup"), speed[i], 0.005);
        assert_within(number(&result, 0, "ops_factor"), ops[i], 0.0051);
    }
}

/* alpha = .8, K = 2 by hand: .2, .16, .64; tails 1, .8, .64. */
TEST(law_lists_every_number_of_accepted_tokens)
{
    static const double probability[] = {0.2, 0.16, 0.64}, tail[] = {1.0, 0.8, 0.64};
    OWNED(spec_result) result;
    run(&result, "distribution", 0, "alpha = 0.8; K = 2;");
    assert_int_equal(result.table.n_rows, 3);
    for (size_t k = 0; k < 3; k++) {
        assert_within(number(&result, k, "n_accepted"), (double)k, 0.0);
        assert_within(number(&result, k, "probability"), probability[k], 1e-9);
        assert_within(number(&result, k, "tail"), tail[k], 1e-9);
    }
}

/* The exact mean is printed beside the simulated one, which agrees within its errors. */
TEST(the_law_of_a_process_has_the_mean_that_is_simulated)
{
    static const char *const points[] = {
        "process = \"decay?rate=0.9\"; alpha = 0.8;", "process = \"minimum-variance?length=2.6\";",
        "process = \"geometric?length=2.6\";", "process = \"rounded-normal?length=2.6\";",
        "process = \"rates?of=0.8/0.5/0.29/0.1\";"};
    static const double emitted[] = {2.749248, 2.6, 2.6, 2.5882219017, 2.59};
    for (int p = 0; p < 5; p++) {
        OWNED(spec_result) law, simulated;
        char grid[200];
        double mean = 0.0, sum = 0.0;
        snprintf(grid, sizeof grid, "%s K = 3;", points[p]);
        run(&law, "distribution", 0, grid);
        run(&simulated, "acceptance", 100000, grid);
        assert_int_equal(law.table.n_rows, 4);
        for (size_t k = 0; k < 4; k++) {
            mean += ((double)k + 1.0) * number(&law, k, "probability");
            sum += number(&law, k, "probability");
        }
        assert_within(sum, 1.0, 1e-9);
        assert_within(mean, emitted[p], 1e-8);
        assert_within(number(&simulated, 0, "emitted_theory"), mean, 1e-8);
        assert_int_equal(simulated.fails, 0);
    }
}

TEST(a_process_reads_alpha_or_has_a_length)
{
    static const char *const wrong[][2] = {
        {"K = 3;", "alpha: no value is given"},
        {"process = \"geometric\"; alpha = 0.5; K = 3;", "'geometric' has no alpha"},
        {"process = \"rates\"; alpha = 0.5; K = 3;", "'rates' has no alpha"},
        {"process = \"rates\"; K = 4;", "acceptance is given to depth 3, but K is 4"},
        {"process = \"geometric?length=5\"; K = 3;", "process: geometric: length = 5 is above 4"},
        {"process = \"markov\"; alpha = 0.9; K = 3;", "spread may be at most 0.1"},
        {"process = \"markov\"; alpha = 0.5; K = 3;", "process: the distribution of markov"},
    };
    assert_grids_refused("distribution", wrong, sizeof wrong / sizeof *wrong);
    assert_grids_refused("acceptance", wrong, sizeof wrong / sizeof *wrong - 1);
}

/* By `predict`: 1 + .8 + .5 + .29 tokens, with variance .8 + 3(.5) + 5(.29) - 1.59^2, in 1.3 target
 * calls. Of K = 1, 2, 3 the third is the fastest at c = .1, and the second at c = .25: 2.3/1.5
 * against 1.8/1.25 and 2.59/1.75. Processes with a closed form agree with `acceptance`. */
TEST(predict_takes_a_process)
{
    OWNED(spec_result) result;
    run(&result, "predict", 0, "process = \"rates\"; K = 3; c = \"0.1,0.25\";");
    assert_within(number(&result, 0, "emitted"), 2.59, 1e-9);
    assert_within(number(&result, 0, "emitted_var"), 0.8 + 1.5 + 1.45 - 1.59 * 1.59, 1e-9);
    assert_within(number(&result, 0, "speedup"), 2.59 / 1.3, 1e-9);
    assert_within(number(&result, 0, "ops_factor"), 4.3 / 2.59, 1e-9);
    assert_within(number(&result, 0, "best_K"), 3.0, 0.0);
    assert_within(number(&result, 1, "best_K"), 2.0, 0.0);
    assert_within(number(&result, 1, "best_speedup"), 2.3 / 1.5, 1e-9);
    static const char *const process[] = {
        "decay?rate=0.9\"; alpha = 0.7", "markov?rho=0.5&spread=0.2\"; alpha = 0.7",
        "minimum-variance?length=2.5\"", "geometric\"", "rounded-normal\""};
    for (size_t i = 0; i < sizeof process / sizeof *process; i++) {
        OWNED(spec_result) predicted;
        OWNED(spec_result) simulated;
        char grid[200];
        snprintf(grid, sizeof grid, "process = \"%s; K = 4;", process[i]);
        run(&predicted, "predict", 0, grid);
        run(&simulated, "acceptance", 1000, grid);
        assert_near(number(&predicted, 0, "emitted"), number(&simulated, 0, "emitted_theory"),
                    1e-9);
    }
    static const char *const wrong[][2] = {
        {"process = \"rates\"; K = 4;", "acceptance is given to depth 3, but K is 4"},
        {"process = \"rates\"; alpha = 0.5; K = 3;", "has no alpha"},
        {"process = \"profile:absent.json\"; K = 3;", "absent.json"}};
    assert_grids_refused("predict", wrong, sizeof wrong / sizeof *wrong);
}

TEST(simulated_alphas_are_the_four_that_theory_tells_apart)
{
    OWNED(spec_result) result;
    run(&result, "four_alphas", 200000, "alpha = 0.8; K = 8;");
    assert_all_hold(&result, 1);
    /* At .8 and K = 8 accepted over drafted is .416, and Eq. (1) at .416 gives 1.71 in place of
     * 4.33. */
    assert_within(number(&result, 0, "accepted_over_drafted"), 0.416, 0.005);
    assert_within(number(&result, 0, "emitted_if_mistaken"), 1.71, 0.01);
    assert_within(number(&result, 0, "emitted_true"), 4.328911, 1e-6);
    assert_true(number(&result, 0, "wilson_low") < number(&result, 0, "alpha_mle"));
    assert_true(number(&result, 0, "alpha_mle") < number(&result, 0, "wilson_high"));
    assert_within(number(&result, 0, "bootstrap_low"), number(&result, 0, "wilson_low"), 5e-4);
    assert_within(number(&result, 0, "bootstrap_high"), number(&result, 0, "wilson_high"), 5e-4);
}

/* tests/oracle/closed.py: "no-bonus formula 1.687 Thm3.8 2.401 1+a(k-1) 3.4 1+a*k 4.2" at .8, .1,
 * 4; "steps exact 14.059205 ... 35.201539" at .8, 5. */
TEST(folklore_and_finite_length_print_the_oracle, STATISTICS)
{
    OWNED(spec_result) result;
    run(&result, "folklore", 100000, "alpha = 0.8; K = 4; c = 0.1;");
    assert_all_hold(&result, 1);
    assert_within(number(&result, 0, "speedup_theory"), 2.401, 5e-4);
    /* Var[n_emitted] = 2.570044 at .8, 4 (tests/oracle/closed.py, stats()). */
    assert_near(number(&result, 0, "speedup_se"),
                sqrt(2.570044 / (double)spec_test_samples(100000)) / 1.4, 0.02);
    assert_within(number(&result, 0, "no-bonus"), 1.687, 5e-4);
    assert_within(number(&result, 0, "saved-passes"), 3.4, 1e-9);
    assert_within(number(&result, 0, "all-positions"), 4.2, 1e-9);
    spec_result_free(&result);
    run(&result, "finite_length", 200000, "alpha = 0.8; K = 5; tokens = [50, 128];");
    assert_all_hold(&result, 2);
    assert_within(number(&result, 0, "texts"), ceil((double)spec_test_samples(200000) / 14.059205),
                  1.0);
    assert_within(number(&result, 0, "rounds_exact"), 14.059205, 1e-6);
    assert_within(number(&result, 1, "rounds_exact"), 35.201539, 1e-6);
}

TEST(closed_calculators_give_what_a_hand_gives)
{
    OWNED(spec_result) result;
    /* 7e9 parameters of 2 bytes on an A100 (312e12 FLOP/s, 2e12 bytes/s): 14e9 FLOP and bytes a
     * token, 7 ms, ridge 156.
     */
    run(&result, "roofline", 0,
        "hardware = [\"A100\", \"custom\"]; peak_flops = 312e12; bandwidth = 2e12;");
    for (size_t r = 0; r < 2; r++) {
        assert_within(number(&result, r, "intensity"), 1.0, 1e-9);
        assert_within(number(&result, r, "time_ms"), 7.0, 1e-9);
        assert_within(number(&result, r, "ridge_tokens"), 156.0, 1e-9);
    }
    spec_result_free(&result);
    /* 60 bytes of weights serve 6 requests, with 2 bytes per position, of which 3 + 1 of 25 are
     * read: c = 18/60. With alpha .5 it gains if 18/(10 + 2 n) < .5, above 13. K = 1 gives 1.5/1.3,
     * K = 2 1.75/1.6. */
    run(&result, "window_bytes", 0,
        "alpha = 0.5; weight_bytes = 60; kv_bytes = 2; batch = 6; context = 25; window = 3; "
        "sink = 1;");
    assert_within(number(&result, 0, "c"), 0.3, 1e-9);
    assert_within(number(&result, 0, "gains_from"), 13.0, 1e-9);
    assert_true(number(&result, 0, "best_K") == 1.0);
    assert_within(number(&result, 0, "best_speedup"), 1.5 / 1.3, 1e-9);
    spec_result_free(&result);
    /* At alpha .5 and K = 1 there are 1.5 tokens. A speed-up of 1.2 requires 1.5/1.2 - 1 = .25 per
     * draft token; 1.6 is impossible. */
    run(&result, "implied_cost", 0, "alpha = 0.5; K = 1; printed_speedup = [1.2, 1.6];");
    assert_within(number(&result, 0, "implied_c"), 0.25, 1e-9);
    assert_true(number(&result, 1, "implied_c") < 0.0);
}

/* At alpha 0.6 two draft tokens emit 1.96 tokens, three emit 2.176, and two independent chains of
 * one 1 + 1 - 0.4^2. */
TEST(implied_alpha_undoes_the_mean_and_predicts_other_rows)
{
    OWNED(spec_result) result;
    run(&result, "implied_alpha", 0,
        "printed_emitted = 1.96; K = 2; printed_speedup = [\"\", \"1.4\"]; other_K = 3;");
    assert_within(number(&result, 0, "implied_alpha"), 0.6, 1e-9);
    assert_nan(number(&result, 0, "implied_c"));
    assert_within(number(&result, 1, "implied_c"), 0.2, 1e-9);
    assert_within(number(&result, 1, "emitted_other"), 2.176, 1e-9);
    spec_result_free(&result);
    run(&result, "implied_alpha", 0, "printed_emitted = 1.96; K = 2; other_K = 1; chains = 2;");
    assert_within(number(&result, 0, "emitted_other"), 1.84, 1e-9);
}
