/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks plans over sets: shares that sum to one on every set, their law, its acceptance, and the
 * cache of the last plans. */
#include "sim/verify/transport_sets.h"

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"
#include "tests/support/tuples.h"

enum { V_MAX = TUPLES_V };

TEST(the_law_is_that_of_the_shares)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int c = 0; c < 200; c++) {
        const int V = 2 + c % 4, n = 1 + c / 4 % (V - 1);
        double target[V_MAX], row[V_MAX], law[V_MAX] = {0.0};
        tuples all = {.n = n};
        OWNED(spec_transport_sets) sets;
        tuples_row(target, V, c / 16 % 4, rng);
        tuples_row(row, V, c / 64 % 4, rng);
        tuples_without_replacement(&all, row, V, n);
        assert_int_equal(spec_transport_sets_init(&sets, V, NULL), GSL_SUCCESS);
        const spec_transport_plan *plan = spec_transport_sets_plan(&sets, target, row, n);
        for (int i = 0; i < all.size; i++) {
            int set = 0;
            double sum = 0.0;
            for (int k = 0; k < n; k++) set |= 1 << all.token[i][k];
            for (int x = 0; x < V; x++) {
                const double share = plan->share[set * V + x];
                assert_true(share >= 0.0 && (share == 0.0 || set >> x & 1));
                law[x] += all.chance[i] * share;
                sum += share;
            }
            assert_within(sum, 1.0, 1e-15);
        }
        for (int x = 0; x < V; x++) assert_within(plan->law[x], law[x], 1e-15);
    }
}

/* Adds the probability of each tuple that begins with the k tokens of `token` to that of its
 * set. */
static void add_tuples(double *chance, const double *row, int V, int n, int *token, int k,
                       double of_these)
{
    double law[SPEC_TRANSPORT_SETS_VOCAB];
    unsigned set = 0;
    for (int j = 0; j < k; j++) set |= 1u << token[j];
    if (k == n) {
        chance[set] += of_these;
        return;
    }
    tuples_next(law, row, V, token, k);
    for (int x = 0; x < V; x++) {
        token[k] = x;
        if (law[x] > 0.0) add_tuples(chance, row, V, n, token, k + 1, of_these * law[x]);
    }
}

/* Returns 1 + min over all sets H of [target(H) - Pr(all drafts in H)], [Hu25]. */
static double optimum(const double *target, const double *row, int V, int n)
{
    double chance[1 << SPEC_TRANSPORT_SETS_VOCAB] = {0.0}, least = 0.0;
    int token[SPEC_TRANSPORT_SETS_VOCAB];
    add_tuples(chance, row, V, n, token, 0, 1.0);
    for (unsigned H = 0; H < 1u << V; H++) {
        double excess = 0.0;
        for (int x = 0; x < V; x++) excess += H >> x & 1 ? target[x] : 0.0;
        for (unsigned set = 0; set < 1u << V; set++) excess -= set & ~H ? 0.0 : chance[set];
        least = fmin(least, excess);
    }
    return 1.0 + least;
}

TEST(the_law_accepts_the_optimum_to_rounding)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    double gap = 0.0;
    for (int V = 6; V <= SPEC_TRANSPORT_SETS_VOCAB; V++) {
        OWNED(spec_transport_sets) sets;
        assert_int_equal(spec_transport_sets_init(&sets, V, NULL), GSL_SUCCESS);
        for (int c = 0; c < 16 * 4; c++) {
            double target[SPEC_TRANSPORT_SETS_VOCAB], row[SPEC_TRANSPORT_SETS_VOCAB], law = 0.0;
            const int n = 2 + c / 16;
            tuples_row(target, V, c % 4, rng);
            tuples_row(row, V, c / 4 % 4, rng);
            const spec_transport_plan *plan = spec_transport_sets_plan(&sets, target, row, n);
            for (int x = 0; x < V; x++) law += fmin(target[x], plan->law[x]);
            gap = fmax(gap, fabs(law - optimum(target, row, V, n)));
        }
    }
    print_message("off the optimum by %.1e\n", gap);
    assert_true(gap < 5e-15);
}

TEST(the_last_plans_are_kept)
{
    static const double target[5][3] = {
        {0.5, 0.3, 0.2}, {0.3, 0.4, 0.3}, {0.1, 0.1, 0.8}, {0.6, 0.2, 0.2}, {1, 0, 0}};
    static const double row[3] = {0.2, 0.5, 0.3}, other[3] = {0.2, 0.4, 0.4};
    const spec_transport_plan *plan[5];
    OWNED(spec_transport_sets) sets;
    assert_int_equal(spec_transport_sets_init(&sets, 3, NULL), GSL_SUCCESS);
    for (int i = 0; i < 4; i++) plan[i] = spec_transport_sets_plan(&sets, target[i], row, 2);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(spec_transport_sets_plan(&sets, target[i], row, 2), plan[i]);
    /* With another row, number or target there is another plan, which replaces the oldest. */
    assert_ptr_equal(spec_transport_sets_plan(&sets, target[3], other, 2), plan[0]);
    assert_ptr_equal(spec_transport_sets_plan(&sets, target[3], row, 1), plan[1]);
    assert_ptr_equal(spec_transport_sets_plan(&sets, target[4], row, 2), plan[2]);
    assert_ptr_equal(spec_transport_sets_plan(&sets, target[3], row, 2), plan[3]);
}
