/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/speedup.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_sf_lambert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- published numbers ----------------------------------------------------------------------- */

/* [Leviathan23] Table 1: operations with a free draft, and tokens per target call;
 * tests/oracle/closed.py prints the same six rows. */
TEST(leviathan_table_1_to_the_printed_digit)
{
    static const struct {
        double alpha;
        int K;
        const char *operations, *speed;
    } rows[] = {{0.6, 2, "1.53", "1.96"}, {0.7, 3, "1.58", "2.53"}, {0.8, 2, "1.23", "2.44"},
                {0.8, 5, "1.63", "3.69"}, {0.9, 2, "1.11", "2.71"}, {0.9, 10, "1.60", "6.86"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_prints(spec_speedup_ops_factor(rows[i].alpha, rows[i].K, 0.0), 2,
                      rows[i].operations);
        assert_prints(spec_speedup(rows[i].alpha, rows[i].K, 0.0), 2, rows[i].speed);
    }
}

/* [Leviathan23] Tables 2 and 4, column "expected". Nine of twelve follow to the printed digit from
 * the printed alpha and c. The other three do not (2.35, 1.93 and 1.54 by tests/oracle/closed.py),
 * because alpha and c are rounded. Within half of their last digit all twelve agree. */
TEST(leviathan_tables_2_and_4_within_the_rounding_of_their_inputs)
{
    static const struct {
        const char *task;
        int K;
        double alpha, c;
        const char *printed;
    } rows[] = {{"EnDe small T=0", 7, 0.75, 0.02, "3.2"}, {"EnDe base T=0", 7, 0.80, 0.04, "3.3"},
                {"EnDe large T=0", 7, 0.82, 0.11, "2.5"}, {"EnDe small T=1", 7, 0.62, 0.02, "2.3"},
                {"EnDe base T=1", 5, 0.68, 0.04, "2.4"},  {"EnDe large T=1", 3, 0.71, 0.11, "2.0"},
                {"CNN small T=0", 5, 0.65, 0.02, "2.4"},  {"CNN base T=0", 5, 0.73, 0.04, "2.6"},
                {"CNN large T=0", 3, 0.74, 0.11, "2.0"},  {"CNN small T=1", 5, 0.53, 0.02, "1.9"},
                {"CNN base T=1", 3, 0.55, 0.04, "1.8"},   {"CNN large T=1", 3, 0.56, 0.11, "1.6"}};
    static const int off[] = {4, 5, 11};
    int n_off = 0;
    for (int i = 0; i < 12; i++) {
        char text[32];
        double printed = strtod(rows[i].printed, NULL);
        snprintf(text, sizeof text, "%.1f", spec_speedup(rows[i].alpha, rows[i].K, rows[i].c));
        if (strcmp(text, rows[i].printed) != 0) assert_int_equal(i, off[n_off++]);
        assert_true(spec_speedup(rows[i].alpha - 0.005, rows[i].K, rows[i].c + 0.005) <
                    printed + 0.05);
        assert_true(spec_speedup(rows[i].alpha + 0.005, rows[i].K, rows[i].c - 0.005) >
                    printed - 0.05);
    }
    assert_int_equal(n_off, 3);
    assert_prints(spec_speedup(0.68, 5, 0.04), 2, "2.35");
    assert_prints(spec_speedup(0.71, 3, 0.11), 2, "1.93");
    assert_prints(spec_speedup(0.56, 3, 0.11), 2, "1.54");
}

/* [Leviathan23] Table 3, a bigram draft that costs nothing: 1.25x; and appendix A.5, lenience at T
 * = 0. tests/oracle/closed.py. */
TEST(leviathan_bigram_and_lenience)
{
    assert_near(spec_speedup(0.2, 3, 0.0), 1.248, 1e-15);
    assert_prints(spec_speedup(0.75, 8, 0.015), 2, "3.30");
    assert_prints(spec_speedup(0.80, 8, 0.015), 2, "3.87");
    assert_prints(spec_speedup(0.87, 8, 0.015), 2, "4.91");
    /* At T = 1 the paper prints 2.5, 3.1, 3.6 and 5.0, which no K reaches with the printed alpha:
     * tests/oracle/closed.py, lines "lenience". */
    static const struct {
        double alpha;
        int K;
        const char *best;
    } rows[] = {{0.62, 7, "2.33"}, {0.71, 9, "2.94"}, {0.76, 10, "3.45"}, {0.84, 15, "4.79"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_same(spec_speedup_best_K(rows[i].alpha, 0.015), rows[i].K);
        assert_prints(spec_speedup(rows[i].alpha, rows[i].K, 0.015), 2, rows[i].best);
    }
}

/* A table that circulates in tutorials, for c = 0.1. It prints 2.41 at alpha 0.8 and K 8, where the
 * formula gives 2.405, and 1.83 at alpha 0.7 and K 2, where it gives the tie 2.19 / 1.2 = 1.825,
 * which may round either way. The other eighteen agree. */
TEST(speedup_table_at_c_0_1)
{
    static const double alpha[] = {0.50, 0.70, 0.80, 0.90, 0.95};
    static const int K[] = {2, 3, 5, 8};
    static const char *const printed[5][4] = {{"1.46", "1.44", "1.31", "1.11"},
                                              {NULL, "1.95", "1.96", "1.78"},
                                              {"2.03", "2.27", "2.46", "2.40"},
                                              {"2.26", "2.65", "3.12", "3.40"},
                                              {"2.38", "2.85", "3.53", "4.11"}};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            if (printed[i][j] != NULL)
                assert_prints(spec_speedup(alpha[i], K[j], 0.1), 2, printed[i][j]);
        }
    }
    assert_near(spec_speedup(0.7, 2, 0.1), 1.825, 1e-15);
    assert_prints(spec_speedup(0.8, 8, 0.1), 4, "2.4050");
}

/* ---- the formulas ---------------------------------------------------------------------------- */

TEST(speedup_is_tokens_over_cost)
{
    double emitted = 1.0 + 0.27 + 0.27 * 0.27 + 0.27 * 0.27 * 0.27;
    assert_near(spec_speedup(0.27, 3, 2.385), emitted / (3 * 2.385 + 1.0), 1e-15);
    assert_near(spec_speedup(1.0, 7, 0.27), 8.0 / (7 * 0.27 + 1.0), 1e-15);
    assert_same(spec_speedup(0.0, 4, 0.25), 0.5);
    assert_near(spec_speedup_from_emitted(2.385, 3.27, 0.27), 2.385 / (3.27 * 0.27 + 1.0), 1e-15);
    assert_same(spec_speedup_from_emitted(0.0, 0.0, 0.0), 0.0);
    const double alphas[] = {0.0, 1e-17, 1.2e-16, 0.27, 0.8, 1.0 - 1e-12, 1.0};
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        assert_same(spec_speedup(alphas[i], 0, 2.385), 1.0);
        assert_same(spec_speedup_ops_factor(alphas[i], 0, 2.385), 1.0);
    }
}

TEST(alpha_above_c_gains_and_no_more_than_the_oracle)
{
    for (double alpha = 0.0; alpha <= 1.0; alpha += 0.0271) {
        for (double c = 0.0; c < 1.2; c += 0.0333) {
            double best = spec_speedup_best(alpha, c);
            assert_true(best >= fmax(1.0, (1.0 + alpha) / (1.0 + c)) * (1.0 - 1e-15));
            assert_int_equal(best > 1.0, alpha > c);
            assert_true(best <= fmax(1.0, spec_speedup_oracle(alpha, c)) * (1.0 + 1e-15));
        }
    }
}

TEST(operations_and_memory_factors)
{
    double emitted = 1.0 + 0.27 + 0.27 * 0.27;
    assert_near(spec_speedup_ops_factor(0.27, 2, 0.0), 3.0 / emitted, 1e-15);
    assert_near(spec_speedup_ops_factor(0.27, 2, 2.385), (2.0 * 2.385 + 3.0) / emitted, 1e-15);
    assert_near(spec_speedup_ops_factor(1.0, 4, 0.27), 1.0 + 4.0 * 0.27 / 5.0, 1e-15);
    assert_near(spec_speedup_memory_factor(0.27, 2), 1.0 / emitted, 1e-15);
    assert_same(spec_speedup_memory_factor(1.0, 3), 0.25);
    assert_same(spec_speedup_memory_factor(0.0, 3), 1.0);
}

/* Second route: the mean of the oracle, which drafts n tokens if n will be accepted, over its own
 * geometric law. */
TEST(oracle_pays_for_accepted_tokens_only)
{
    double tokens = 0.0, time = 0.0, chance = 1.0 - 0.27;
    for (int n = 0; n < 60; n++, chance *= 0.27) {
        tokens += chance * (n + 1);
        time += chance * (1.0 + 0.1 * n);
    }
    assert_near(spec_speedup_oracle(0.27, 0.0), tokens, 1e-14);
    assert_near(spec_speedup_oracle(0.27, 0.1), tokens / time, 1e-14);
    assert_same(spec_speedup_oracle(1.0, 0.0), INFINITY);
    assert_same(spec_speedup_oracle(1.0, 0.25), 4.0);
    assert_same(spec_speedup_oracle(0.0, 2.385), 1.0);
}

/* ---- folklore -------------------------------------------------------------------------------- */

static const spec_folklore *folklore(const char *name)
{
    const spec_folklore *rule = spec_folklore_rules;
    while (rule->name != NULL && strcmp(rule->name, name) != 0) rule++;
    assert_non_null(rule->name);
    return rule;
}

/* Finds the largest speed-up by trying every K in long double, and the real K where the derivative
 * is 0 by GSL's Lambert function: u exp(-u) = exp(-1-d), d = a (1 + pass - token) / token. */
TEST(one_pass_drafts_have_the_best_of_all_lengths)
{
    static const double alphas[] = {0.0, 0.2, 0.55, 0.8, 0.93, 0.99},
                        passes[] = {0.0, 0.07, 0.3, 1.4}, tokens[] = {0.002, 0.013, 0.1, 0.6};
    for (int i = 0; i < 6 * 4 * 4; i++) {
        const double alpha = alphas[i % 6], pass = passes[i / 6 % 4], token = tokens[i / 24];
        long double best = 1.0L, power = 1.0L, emitted = 1.0L;
        int best_K = 0;
        for (int K = 1; K <= 3000; K++) {
            power *= alpha;
            emitted += power;
            const long double here = emitted / (1.0L + pass + (long double)token * K);
            if (here > best) {
                best = here;
                best_K = K;
            }
            assert_within(spec_speedup_one_pass(alpha, K, pass, token), (double)here, 1e-12);
        }
        const double K = spec_speedup_one_pass_best_K(alpha, pass, token);
        assert_true(K == best_K);
        assert_within(spec_speedup_one_pass_best(alpha, pass, token), (double)best, 1e-12);
        const double a = -log(alpha), d = a * (1.0 + pass - token) / token;
        if (K < 1.0 || !(d < 700.0)) continue;
        const double real = log(-gsl_sf_lambert_Wm1(-exp(-1.0 - d))) / a - 1.0;
        assert_true(fabs(K - real) < 1.0 + 1e-9 || (K == 1.0 && real < 1.0));
    }
}

TEST(one_pass_drafts_at_the_edges)
{
    assert_true(spec_speedup_one_pass(0.7, 0.0, 5.0, 1.0) == 1.0); /* no draft, no pass */
    assert_true(spec_speedup_one_pass(1.0, 4.0, 0.5, 0.25) == 2.0);
    assert_within(spec_speedup_one_pass(0.8, 4.0, 0.0, 0.1), spec_speedup(0.8, 4.0, 0.1), 1e-15);
    assert_true(isinf(spec_speedup_one_pass_best_K(0.8, 0.3, 0.0)));
    assert_within(spec_speedup_one_pass_best(0.8, 0.3, 0.0), 5.0 / 1.3, 1e-14);
    assert_true(spec_speedup_one_pass_best_K(0.2, 0.3, 0.0) == 0.0); /* the limit is below 1 */
    assert_true(spec_speedup_one_pass_best(0.2, 0.3, 0.0) == 1.0);
    assert_true(isinf(spec_speedup_one_pass_best_K(1.0, 0.3, 0.2)));
    assert_true(spec_speedup_one_pass_best(1.0, 0.3, 0.2) == 5.0);
    assert_true(spec_speedup_one_pass_best_K(0.0, 0.0, 0.0) == 0.0);
    assert_true(isnan(spec_speedup_one_pass(0.5, 1.0, -0.1, 0.0)));
    assert_true(isnan(spec_speedup_one_pass(1.1, 1.0, 0.1, 0.0)));
    assert_true(isnan(spec_speedup_one_pass_best_K(0.5, 0.1, NAN)));
    assert_true(isnan(spec_speedup_one_pass_best(0.5, INFINITY, 0.1)));
}

/* tests/oracle/closed.py, last line: no-bonus 1.687, 1+a(k-1) 3.4, 1+a*k 4.2, E 3.362 at alpha .8,
 * c .1, K 4, where Theorem 3.8 gives 2.401. */
TEST(folklore_is_not_theorem_3_8)
{
    assert_prints(spec_speedup(0.8, 4, 0.1), 3, "2.401");
    assert_near(folklore("saved-passes")->speedup(0.8, 4, 0.1), 3.4, 1e-15);
    assert_near(folklore("all-positions")->speedup(0.8, 4, 0.1), 4.2, 1e-15);
    assert_prints(folklore("no-bonus")->speedup(0.8, 4, 0.1), 3, "1.687");
    assert_prints(folklore("free-draft")->speedup(0.8, 4, 0.1), 3, "3.362");
    assert_near(folklore("run-length")->speedup(0.8, 4, 0.1), 3.3616 / 1.33616, 1e-15);
    double emitted = spec_capped_geometric_mean(0.27, 3);
    assert_near(folklore("saved-passes")->speedup(0.27, 3, 2.385), 1.0 + 0.27 * 2.0, 1e-15);
    assert_near(folklore("all-positions")->speedup(0.27, 3, 2.385), 1.0 + 0.27 * 3.0, 1e-15);
    assert_near(folklore("no-bonus")->speedup(0.27, 3, 2.385),
                (emitted - 1.0) / (1.0 + 3.0 * 2.385), 1e-15);
    assert_near(folklore("run-length")->speedup(0.27, 3, 2.385), emitted / (1.0 + 2.385 * emitted),
                1e-15);
    assert_same(folklore("free-draft")->speedup(0.27, 3, 2.385), emitted);
}

TEST(folklore_says_what_it_forgets)
{
    int n = 0;
    for (const spec_folklore *rule = spec_folklore_rules; rule->name != NULL; rule++, n++) {
        assert_true(strlen(rule->name) > 0 && strlen(rule->formula) > 0 &&
                    strlen(rule->mistake) > 0);
        assert_non_null(strstr(rule->mistake, "forgets"));
        assert_nan(rule->speedup(-0.27, 3, 0.1));
        assert_nan(rule->speedup(NAN, 3, 0.1));
        assert_nan(rule->speedup(0.27, -1, 0.1));
        assert_nan(rule->speedup(0.27, 3, -0.1));
    }
    assert_int_equal(n, 5);
}

/* ---- edges ----------------------------------------------------------------------------------- */

TEST(outside_the_domain_is_nan)
{
    const double bad_alpha[] = {NAN, -1e-300, 1.0 + 1e-15, INFINITY},
                 bad_c[] = {NAN, -1e-300, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++) {
        assert_nan(spec_speedup(bad_alpha[i], 3, 0.1));
        assert_nan(spec_speedup_ops_factor(bad_alpha[i], 3, 0.1));
        assert_nan(spec_speedup_memory_factor(bad_alpha[i], 3));
        assert_nan(spec_speedup_oracle(bad_alpha[i], 0.1));
        assert_nan(spec_speedup_best_K(bad_alpha[i], 0.1));
        assert_nan(spec_speedup_best_K(bad_alpha[i], 0.0));
        assert_nan(spec_speedup_best(bad_alpha[i], 0.1));

        assert_nan(spec_speedup(0.27, 3, bad_c[i]));
        assert_nan(spec_speedup(0.27, 0, bad_c[i]));
        assert_nan(spec_speedup_ops_factor(0.27, 3, bad_c[i]));
        assert_nan(spec_speedup_oracle(0.27, bad_c[i]));
        assert_nan(spec_speedup_best_K(0.27, bad_c[i]));
        assert_nan(spec_speedup_from_emitted(bad_c[i], 3.0, 0.1));
        assert_nan(spec_speedup_from_emitted(2.0, bad_c[i], 0.1));
        assert_nan(spec_speedup_from_emitted(2.0, 3.0, bad_c[i]));
    }
    assert_nan(spec_speedup(0.27, -1, 0.1));
    assert_nan(spec_speedup_ops_factor(0.27, -1, 0.1));
    assert_nan(spec_speedup_memory_factor(0.27, -1));
}
