/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the lengths of batches that verify the most probable tokens of drafts of K tokens each. */
#include "base/noise.h"
#include "sim/serving/survival_order.h"
#include "tests/sim/serving/length_run.h"
#include "tests/support/support.h"

#include <stdlib.h>

static const char *const target = "step=7ms,token=0.6ms", *const draft = "round=1ms,pass=0.2ms";

static double uniform(uint64_t key, uint64_t i)
{
    return (double)(spec_noise_word(key, i) >> 11) * 0x1p-53;
}

TEST(survivals_are_ordered_as_a_stable_sort_would)
{
    enum { N = 3000 };
    static float survival[N];
    static uint64_t key[N], scratch[N];
    for (int round = 0; round < 20; round++) {
        const int n = round < 3 ? round : N - round;
        for (int i = 0; i < n; i++) {
            const double x = uniform((uint64_t)round, (uint64_t)i);
            /* ties, 0, 1, and values far below 1 */
            survival[i] = (float)(round % 4 == 0   ? floor(8.0 * x) / 7.0
                                  : round % 4 == 1 ? pow(x, 30.0)
                                                   : x);
        }
        spec_survival_order(key, scratch, survival, n);
        for (int i = 1; i < n; i++) {
            const int64_t before = spec_survival_index(key[i - 1]),
                          now = spec_survival_index(key[i]);
            assert_true(survival[before] > survival[now] ||
                        (survival[before] == survival[now] && before < now));
        }
    }
}

/* Computes the goodput of lengths K if all requests draft K_max tokens. */
static double goodput_of(const length_run *run, const float *alpha, int n, const int32_t *K)
{
    const int K_max = spec_length_K_max(run->choice);
    spec_step_work work = {
        .decode_tokens = n, .decoding = n, .drafted = (int64_t)n * K_max, .passes = K_max};
    double emitted = 0.0;
    for (int i = 0; i < n; i++) {
        double power = 1.0;
        for (int j = 0; j <= K[i]; j++, power *= (double)alpha[i]) emitted += power;
        work.decode_tokens += K[i];
    }
    return emitted /
           (spec_step_cost_target(run->cost, &work) + spec_step_cost_draft(run->cost, &work));
}

/* If confidences are true and known, the law is the best over all lengths. */
TEST(admitted_tokens_are_the_best_of_all_lengths)
{
    const char *const specs[] = {"vllm-adaptive?K=4&lag=0", "dspark?K=4&lag=0"};
    for (int i = 0; i < 200; i++) {
        float alpha[3];
        OWNED(length_run) run;
        char cost[64];
        double best = 0.0;
        for (int r = 0; r < 3; r++)
            alpha[r] = (float)uniform(spec_noise_mix((uint64_t)i), (uint64_t)r);
        snprintf(cost, sizeof cost, "step=7ms,token=%.17gs",
                 2e-3 * uniform(spec_noise_mix((uint64_t)i), 3));
        length_run_init(&run, specs[i % 2], cost, draft, 3);
        assert_true(spec_length_drafts_all(run.choice));
        for (int code = 0; code < 125; code++) {
            const int32_t K[3] = {code % 5, code / 5 % 5, code / 25};
            best = fmax(best, goodput_of(&run, alpha, 3, K));
        }
        length_run_choose(&run, alpha, 3);
        assert_near(goodput_of(&run, alpha, 3, run.K), best, 1e-6);
    }
}

/* Returns the number of tokens that a budget with these survival probabilities admits, by hand. */
static int budget_of(const length_run *run, float *survival, int nodes, int n)
{
    const int K_max = spec_length_K_max(run->choice);
    double emitted = n, best = 0.0;
    int budget = 0;
    for (int b = 0; b <= nodes; b++) {
        for (int i = b; b > 0 && i < nodes; i++) { /* selection: the next largest at b - 1 */
            if (survival[i] <= survival[b - 1]) continue;
            const float kept = survival[i];
            survival[i] = survival[b - 1];
            survival[b - 1] = kept;
        }
        if (b > 0) emitted += (double)survival[b - 1];
        const spec_step_work work = {
            .decode_tokens = n + b, .decoding = n, .drafted = (int64_t)n * K_max, .passes = K_max};
        const double goodput = emitted / (spec_step_cost_target(run->cost, &work) +
                                          spec_step_cost_draft(run->cost, &work));
        if (goodput > best) best = goodput, budget = b;
    }
    return budget;
}

/* In the budget, requests of the last `lag` steps count as certain. It is then spent on the tokens
 * that are most probable by the present confidences. */
TEST(budgets_take_new_requests_for_certain)
{
    const float alpha[4] = {0.9f, 0.5f, 0.85f, 0.3f};
    for (int lag = 0; lag <= 3; lag++) {
        OWNED(length_run) run;
        char spec[64];
        snprintf(spec, sizeof spec, "vllm-adaptive?K=5&lag=%d", lag);
        length_run_init(&run, spec, target, draft, 4);
        for (int step = 0; step < 6; step++) {
            if (step == 4) spec_length_enter(run.choice, run.state, 3);
            float survival[20], now[20];
            for (int i = 0; i < 4; i++) {
                const int age = step - (i == 3 && step >= 4 ? 4 : 0);
                for (int j = 0; j < 5; j++) {
                    now[i * 5 + j] = (float)pow((double)alpha[i], j + 1);
                    survival[i * 5 + j] = age >= lag ? now[i * 5 + j] : 1.0f;
                }
            }
            const int budget = budget_of(&run, survival, 20, 4);
            length_run_choose(&run, alpha, 4);
            int sum = 0;
            float least = 1.0f, most = 0.0f;
            for (int i = 0; i < 4; i++) {
                sum += run.K[i];
                for (int j = 0; j < 5; j++) {
                    if (j < run.K[i])
                        least = fminf(least, now[i * 5 + j]);
                    else
                        most = fmaxf(most, now[i * 5 + j]);
                }
            }
            assert_int_equal(sum, budget);
            assert_true(least >= most);
        }
    }
}

TEST(dspark_leaves_out_what_hardly_survives)
{
    const float alpha[2] = {1e-4f, 0.1f};
    length_run vllm, dspark;
    length_run_init(&vllm, "vllm-adaptive?K=7&lag=0", "step=7ms,token=1e-12s", NULL, 2);
    length_run_init(&dspark, "dspark?K=7&lag=0", "step=7ms,token=1e-12s", NULL, 2);
    length_run_choose(&vllm, alpha, 2);
    length_run_choose(&dspark, alpha, 2);
    assert_true(vllm.K[0] >= 2 && vllm.K[1] == 7);
    assert_int_equal(dspark.K[0], 1);
    assert_true(dspark.K[1] == 5 || dspark.K[1] == 6); /* 0.1^6 in floats */
    length_run_free(&vllm);
    length_run_init(&vllm, "vllm-adaptive?lag=0", "step=7ms,token=1e-12s", NULL, 2);
    assert_int_equal(spec_length_K_max(vllm.choice), 7); /* the default */
    length_run_free(&vllm);
    length_run_free(&dspark);
}

/* Drafts are twice as confident as they should be: the fits notice it, and lengths become those for
 * known confidences. */
TEST(estimated_confidences_become_the_known_ones)
{
    enum { N = 12 };
    float alpha[N];
    for (int i = 0; i < N; i++) alpha[i] = 0.3f + 0.05f * (float)i;
    for (int sharpness = 1; sharpness <= 3; sharpness += 2) {
        length_run known, estimated;
        char spec[96];
        int32_t accepted[N];
        snprintf(spec, sizeof spec, "vllm-adaptive?K=5&confidence=estimated&sharpness=%d",
                 sharpness);
        length_run_init(&known, "vllm-adaptive?K=5", target, draft, N);
        length_run_init(&estimated, spec, target, draft, N);
        for (int step = 0; step < 4000; step++) {
            length_run_choose(&estimated, alpha, N);
            for (int i = 0; i < N; i++) {
                const uint64_t key = spec_noise_mix((uint64_t)(step * N + i));
                accepted[i] = 0;
                while (accepted[i] < estimated.K[i] &&
                       uniform(key, (uint64_t)accepted[i]) < (double)alpha[i])
                    accepted[i]++;
            }
            length_run_observe(&estimated, alpha, N, accepted, 1.0);
        }
        length_run_choose(&known, alpha, N);
        length_run_choose(&known, alpha, N);
        int apart = 0;
        for (int i = 0; i < N; i++) apart += abs(known.K[i] - estimated.K[i]);
        assert_true(apart <= 4);
        length_run_free(&known);
        length_run_free(&estimated);
    }
}

/* The fit after step 99 is used in the budget of step 100 + lag, not before. */
TEST(budgets_learn_of_a_fit_after_the_lag)
{
    const float alpha[4] = {0.6f, 0.65f, 0.7f, 0.75f};
    for (int lag = 0; lag <= 3; lag++) {
        OWNED(length_run) run;
        char spec[64];
        int first = -1;
        snprintf(spec, sizeof spec, "vllm-adaptive?K=5&confidence=estimated&lag=%d", lag);
        length_run_init(&run, spec, target, draft, 4);
        for (int step = 0, settled = -1; step < 110; step++) {
            int sum = 0;
            length_run_choose(&run, alpha, 4);
            for (int i = 0; i < 4; i++) sum += run.K[i];
            if (step == lag) settled = sum;
            if (step > lag && sum != settled && first < 0) first = step;
            length_run_observe(&run, alpha, 4, run.K, 1.0); /* all accepted */
        }
        assert_int_equal(first, 100 + lag);
    }
}
