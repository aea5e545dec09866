/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/saturation.h"

#include "analysis/capped_geometric.h"
#include "analysis/serving/request_life.h"
#include "tests/support/beta_nodes.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

/* tokens/s and tokens per round, from a Python program that sums the same laws, with Beta laws by a
 * midpoint rule that is off by 3e-6. Its simulations agree within .9 standard errors. */
TEST(known_answers)
{
    static const struct {
        int K, L, slots;
        double alpha, concentration, tokens_per_s, tokens_per_round, arithmetic;
    } rows[] = {{3, 128, 16, 0.7, 0.0, 3885.555, 2.51201, 2.5330},
                {3, 128, 64, 0.7, 4.0, 10710.07, 2.4057, 2.6576},
                {5, 256, 32, 0.8, 3.0, 8383.90, 3.4143, 4.1094}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int K = rows[i].K, L = rows[i].L;
        double alpha[BETA_NODES] = {rows[i].alpha}, share[BETA_NODES] = {1.0}, mean[BETA_NODES];
        const int n = rows[i].concentration > 0.0 ? BETA_NODES : 1;
        if (n > 1) beta_nodes(alpha, share, rows[i].alpha, rows[i].concentration);
        OWNED(spec_rounds_law) law;
        assert_int_equal(spec_rounds_law_init(&law, L), GSL_SUCCESS);
        double arithmetic = 0.0;
        for (int r = 0; r < n; r++) {
            assert_int_equal(spec_rounds_law_add_alpha(&law, share[r], alpha[r], K, 0.0, NULL, L),
                             GSL_SUCCESS);
            mean[r] = spec_capped_geometric_mean(alpha[r], K);
            arithmetic += share[r] * mean[r];
        }
        const double rounds = spec_rounds_law_mean(&law);
        const double step =
            spec_saturation_step(0.009, 0.009, rows[i].slots, rounds * 2.1e-5 * (K + 1), rounds);
        assert_near(spec_saturation_rate(rows[i].slots, rounds, step) * L, rows[i].tokens_per_s,
                    4e-6);
        assert_near(L / rounds, rows[i].tokens_per_round, 3e-5);
        assert_near(arithmetic, rows[i].arithmetic, 1e-4);
        /* The harmonic mean holds for long requests; in short ones the last round overshoots. */
        const double harmonic = spec_saturation_tokens_per_round(share, mean, n);
        assert_true(harmonic > L / rounds && harmonic < 1.02 * L / rounds);
        assert_true(harmonic <= arithmetic * (1.0 + 1e-15));
    }
}

/* Second route: the Markov chain of two slots; the state of each is the prefill (0) or the number
 * of tokens emitted. */
TEST(the_slots_markov_chain_has_the_same_means)
{
    enum { L = 6, K = 2, PROMPT = 9 };
    const double alpha = 0.6;
    const spec_affine_step cost = {
        .step = 0.9, .token = 0.05, .kv = 0.013, .draft_token = 0.02, .draft_round = 0.3};
    const spec_request_costs costs = spec_request_costs_shared(&cost, K);
    OWNED(spec_rounds_law) rounds;
    OWNED(spec_request_life) life;
    assert_int_equal(spec_rounds_law_init(&rounds, L - 1), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&rounds, 1.0, alpha, K, 0.0, NULL, L - 1),
                     GSL_SUCCESS);
    assert_int_equal(spec_request_life_init(&life, L, true), GSL_SUCCESS);
    assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, PROMPT, PROMPT * PROMPT),
                     GSL_SUCCESS);

    double at[L][L] = {{1.0}}, added[L] = {cost.token * PROMPT}, move[L][L] = {{0.0, 1.0}};
    for (int s = 1; s < L; s++) {
        added[s] = cost.token * (K + 1) + cost.draft_token * K + cost.kv * (PROMPT + s - 1);
        for (int k = 0; k <= K; k++)
            move[s][s + k + 1 < L ? s + k + 1 : 0] +=
                spec_capped_geometric_probability(alpha, K, k);
    }
    for (int step = 0; step < 300; step++) {
        double next[L][L] = {{0.0}};
        for (int from = 0; from < L * L; from++)
            for (int to = 0; to < L * L; to++)
                next[to / L][to % L] +=
                    at[from / L][from % L] * move[from / L][to / L] * move[from % L][to % L];
        for (int s = 0; s < L * L; s++) at[s / L][s % L] = next[s / L][s % L];
    }
    const double steps = spec_request_life_steps(&life), extra = spec_request_life_total(&life);
    double time = 0.0, alone = 0.0, ends = 0.0;
    for (int a = 0; a < L; a++)
        for (int b = 0; b < L; b++) {
            const bool drafts = a + b > 0;
            time += at[a][b] * (cost.step + drafts * cost.draft_round + added[a] + added[b]);
            alone += at[a][b] * (cost.step + (a > 0) * cost.draft_round + added[a]);
            ends += at[a][b] * ((a == 0) + (b == 0));
        }
    const double formula = spec_saturation_step(1.2, 0.9, 2.0, extra, steps);
    assert_near(formula, time, 1e-13);
    assert_near(spec_saturation_step(1.2, 0.9, 1.0, extra, steps), alone, 1e-13);
    assert_near(spec_saturation_rate(2.0, steps, formula), ends / time, 1e-13);
}

TEST(outside_the_domain_is_nan)
{
    assert_nan(spec_saturation_step(0.0, 0.0, 4.0, 0.1, 5.0));
    assert_nan(spec_saturation_step(0.1, 0.2, 4.0, 0.1, 5.0));
    assert_nan(spec_saturation_step(0.1, 0.1, 0.5, 0.1, 5.0));
    assert_nan(spec_saturation_step(0.1, 0.1, 4.0, -0.1, 5.0));
    assert_nan(spec_saturation_step(0.1, 0.1, 4.0, 0.1, NAN));
    assert_nan(spec_saturation_rate(0.0, 5.0, 0.1));
    assert_nan(spec_saturation_rate(4.0, 0.5, 0.1));
    assert_nan(spec_saturation_rate(4.0, 5.0, 0.0));
    assert_nan(spec_saturation_tokens_per_round((double[]){0.4, 0.5}, (double[]){2, 3}, 2));
    assert_nan(spec_saturation_tokens_per_round((double[]){0.5, 0.5}, (double[]){0.9, 3}, 2));
    assert_nan(spec_saturation_tokens_per_round(NULL, NULL, 0));
    assert_near(spec_saturation_tokens_per_round((double[]){0.25, 0.75}, (double[]){1, 3}, 2), 2.0,
                1e-15);
}
