/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the formulas for the laws of biased rules by hand, and the price of acceptance.
 * tests/tools/bench/test_acceptance_theory.c compares them with the rules' own code. */
#include "analysis/rules/biased_law.h"

#include "analysis/rules/overlap.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <math.h>

static const double target[3] = {0.5, 0.3, 0.2}, draft[3] = {0.2, 0.5, 0.3};

static void check(spec_biased_law form, const double *law, double accepted, double tv,
                  const double *expected)
{
    assert_within(form.accepted, accepted, 1e-15);
    assert_within(form.tv, tv, 1e-15);
    for (int x = 0; x < 3; x++) assert_within(law[x], expected[x], 1e-15);
}

/* The overlap is .7, and the residual is token 0 alone. */
TEST(worked_examples)
{
    double law[3];
    check(spec_biased_law_ensemble(law, target, draft, 3, 0.6), law, 0.4 + 0.6 * 0.7, 0.4 * 0.3,
          (const double[]){0.38, 0.38, 0.24});
    /* for token 1, .3 is below .35; for the other two, .3 and .2 are above .15 */
    check(spec_biased_law_single_threshold(law, target, draft, 3, 0.35), law, 0.7, 0.0, target);
    check(spec_biased_law_single_threshold(law, target, draft, 3, 0.25), law, 0.9, 0.2,
          (const double[]){0.3, 0.5, 0.2});
    check(spec_biased_law_single_threshold(law, target, draft, 3, 0.15), law, 1.0, 0.3, draft);
    check(spec_biased_law_relaxed(law, target, draft, 3, 2, 1.0, false), law, 0.7, 0.29,
          (const double[]){0.2 + 0.15, 0.5 + 0.09, 0.06});
    check(spec_biased_law_relaxed(law, target, draft, 3, 3, 0.25, true), law, 0.7, 0.2,
          (const double[]){0.5, 0.5, 0.0});
    check(spec_biased_law_relaxed(law, target, draft, 3, 3, 0.15, true), law, 0.2, 0.5,
          (const double[]){1.0, 0.0, 0.0});
    /* token 1 is accepted after all with .5, token 2 with .25: .1 and .025 of the mass */
    check(spec_biased_law_fly(law, target, draft, (const double[]){0.9, 0.5, 0.25}, 3, 1.0), law,
          0.7 + 0.125, 0.125, (const double[]){0.375, 0.4, 0.225});
    check(spec_biased_law_fly(law, target, draft, (const double[]){0.9, 0.5, 0.25}, 3, 1.03), law,
          0.7, 0.0, target); /* the entropy is 1.0297 */
    /* 0 accepted with 1, 1 with .6, 2 with .4; T without 1 is (5/7, 0, 2/7) */
    check(spec_biased_law_target_only(law, target, draft, 3, 0.5, 1.0), law, 0.2 + 0.3 + 0.12,
          0.0675,
          (const double[]){0.2 + 0.2 * 5.0 / 7.0 + 0.18 * 5.0 / 8.0, 0.3 + 0.18 * 3.0 / 8.0,
                           0.12 + 0.2 * 2.0 / 7.0});
}

TEST(the_cut_moves_mass_from_the_residual_to_the_target)
{
    double law[3];
    static const double t[3] = {0.5, 0.5, 0.0}, d[3] = {0.45, 0.05, 0.5};
    check(spec_biased_law_cut_invalid(law, t, d, 3), law, 0.5, 0.5 * 0.4,
          (const double[]){0.7, 0.3, 0.0});
    static const double hot[3] = {0.0, 0.0, 1.0};
    check(spec_biased_law_cut_invalid(law, t, hot, 3), law, 0.0, 0.0, t);
    check(spec_biased_law_cut_invalid(law, target, draft, 3), law, 0.7, 0.0, target);
}

/* One target token of .9 and N others that share the rest; the draft is even over the others. */
TEST(many_raised_tokens_exceed_the_divergence_of_cactus)
{
    enum { N = 500 };
    double t[N + 1] = {0.9}, d[N + 1] = {0.0}, law[N + 1];
    for (int x = 1; x <= N; x++) {
        t[x] = 0.1 / N;
        d[x] = 1.0 / N;
    }
    assert_within(spec_biased_law_cactus(law, t, d, N + 1, 0.01).accepted, 1.0, 1e-13);
    assert_within(spec_overlap_kl_divergence(law, t, N + 1), log(10.0), 1e-12);
}

/* tv >= accepted - overlap (docs/formulas/rules.md#lossy-bound); four of the rules attain it. */
TEST(no_rule_accepts_more_than_its_total_variation_pays)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { MOST = 40 };
    for (int i = 0; i < 2000; i++) {
        double t[MOST], d[MOST], law[MOST], follow[MOST];
        const int V = 1 + i % MOST;
        tuples_row(t, V, i / MOST % 4, rng);
        tuples_row(d, V, i % 4, rng);
        for (int x = 0; x < V; x++) follow[x] = gsl_rng_uniform(rng);
        const double u = gsl_rng_uniform(rng), overlap = spec_overlap(t, d, (size_t)V);
        const spec_biased_law best[] = {spec_biased_law_ensemble(law, t, d, V, u),
                                        spec_biased_law_single_threshold(law, t, d, V, u / 5),
                                        spec_biased_law_fly(law, t, d, follow, V, u)};
        const spec_biased_law raised = spec_biased_law_cactus(law, t, d, V, u);
        assert_within(raised.tv, spec_overlap_total_variation(law, t, (size_t)V), 1e-13);
        for (int r = 0; r < 3; r++) assert_within(best[r].tv, best[r].accepted - overlap, 1e-13);
        const spec_biased_law others[] = {
            spec_biased_law_relaxed(law, t, d, V, 1 + i % 5, u, true),
            spec_biased_law_relaxed(law, t, d, V, 1 + i % 5, u, false),
            spec_biased_law_target_only(law, t, d, V, u, 1.0),
            spec_biased_law_target_only(law, t, d, V, 1.0, u),
            spec_biased_law_cut_invalid(law, t, d, V)};
        for (int r = 0; r < 5; r++)
            assert_true(others[r].tv >= others[r].accepted - overlap - 1e-13);
    }
}
