/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/best_lengths.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>

/* A step of 2 to 4 requests with random alphas and costs. */
typedef struct {
    double alpha[4];
    int n;
    spec_affine_step cost;
    spec_step_work fixed;
} batch;

static void draw(batch *b, gsl_rng *rng, bool passes)
{
    *b = (batch){.n = 2 + (int)gsl_rng_uniform_int(rng, 3)};
    for (int r = 0; r < b->n; r++) b->alpha[r] = gsl_rng_uniform(rng);
    b->cost = (spec_affine_step){.step = gsl_rng_uniform(rng),
                                 .token = 0.3 * gsl_rng_uniform(rng),
                                 .kv = 0.001 * gsl_rng_uniform(rng),
                                 .draft_round = passes ? 0.2 * gsl_rng_uniform(rng) : 0.0,
                                 .draft_pass = passes ? 0.3 * gsl_rng_uniform(rng) : 0.0,
                                 .draft_token = 0.1 * gsl_rng_uniform(rng)};
    b->fixed = (spec_step_work){.prompt_tokens = (int64_t)gsl_rng_uniform_int(rng, 4),
                                .kv_tokens = (int64_t)gsl_rng_uniform_int(rng, 2000)};
}

static double rate(const batch *b, const int *K)
{
    return spec_best_lengths_rate(K, b->alpha, b->n, &b->cost, &b->fixed);
}

/* Tries all lengths up to 4, and those in which all requests have the same one. */
static void search(double *ret_best, double *ret_common, const batch *b)
{
    int all = 1;
    *ret_best = *ret_common = 0.0;
    for (int r = 0; r < b->n; r++) all *= 5;
    for (int code = 0; code < all; code++) {
        int K[4] = {0}, rest = code;
        bool common = true;
        for (int r = 0; r < b->n; r++, rest /= 5) {
            K[r] = rest % 5;
            common = common && K[r] == K[0];
        }
        *ret_best = fmax(*ret_best, rate(b, K));
        if (common) *ret_common = fmax(*ret_common, rate(b, K));
    }
}

/* Adds tokens in order of decreasing value, up to the first that lowers the rate. */
static double stop_at_first(const batch *b)
{
    int K[4] = {0};
    double best = rate(b, K);
    for (;;) {
        int most = -1;
        for (int r = 0; r < b->n; r++)
            if (K[r] < 4 &&
                (most < 0 || pow(b->alpha[r], K[r] + 1) > pow(b->alpha[most], K[most] + 1)))
                most = r;
        if (most < 0) return best;
        K[most]++;
        const double next = rate(b, K);
        if (next <= best) return best;
        best = next;
    }
}

/* If drafting costs time only per token, stopping at the first token that lowers the rate is as
 * good, as in half of the batches; in others it misses the best. */
TEST(lengths_are_the_best_of_all)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus, spec_test_seed());
    double lost = 0.0, worst = 1.0;
    int missed[2] = {0};
    for (int i = 0; i < 600; i++) {
        batch b;
        draw(&b, rng, i % 2 == 1);
        double best, common;
        int K[4];
        search(&best, &common, &b);
        const double found = spec_best_lengths(K, b.alpha, b.n, 4, &b.cost, &b.fixed);
        assert_near(found, best, 1e-13);
        assert_near(rate(&b, K), best, 1e-13);
        lost += 1.0 - common / best;
        const double stopped = stop_at_first(&b) / best;
        missed[i % 2] += stopped < 1.0 - 1e-12;
        worst = fmin(worst, stopped);
    }
    printf("stopping at the first misses %d of 300, %.2f at worst; one length loses %.3f\n",
           missed[1], worst, lost / 600);
    assert_int_equal(missed[0], 0);
    assert_true(missed[1] > 30 && worst < 0.9);
    /* If requests differ by this much, using one length for all costs a few percent. */
    assert_true(lost / 600 > 0.02 && lost / 600 < 0.08);
}

TEST(rate_is_tokens_over_time)
{
    const spec_affine_step cost = {.step = 0.7,
                                   .token = 0.05,
                                   .kv = 0.001,
                                   .draft_round = 0.2,
                                   .draft_pass = 0.1,
                                   .draft_token = 0.03};
    const spec_step_work fixed = {.prompt_tokens = 3, .kv_tokens = 500};
    const double alpha[2] = {0.5, 0.27};
    const double time = 0.7 + 0.05 * (3 + 2 + 3) + 0.5 + 0.2 + 0.1 * 2 + 0.03 * 3;
    assert_near(spec_best_lengths_rate((int[]){2, 1}, alpha, 2, &cost, &fixed),
                (1.75 + 1.27) / time, 1e-14);
    assert_near(spec_best_lengths_rate((int[]){0, 0}, alpha, 2, &cost, &fixed), 2.0 / 1.45, 1e-14);
}

TEST(edges_and_outside)
{
    const spec_affine_step cost = {.step = 1.0, .token = 0.01}, free_tokens = {.step = 1.0};
    const spec_step_work fixed = {0};
    int K[3] = {7, 7, 7};
    const double alpha[3] = {0.0, 0.6, 1.0};
    /* Tokens that cost nothing are drafted as long as they may be accepted. */
    assert_near(spec_best_lengths(K, alpha, 3, 4, &free_tokens, &fixed), 1.0 + 2.3056 + 5.0, 1e-14);
    assert_int_equal(K[0], 0);
    assert_int_equal(K[1], 4);
    assert_int_equal(K[2], 4);
    assert_near(spec_best_lengths(K, alpha, 3, 0, &cost, &fixed), 3.0 / 1.03, 1e-15);
    assert_int_equal(K[2], 0);
    K[0] = 7;
    assert_nan(spec_best_lengths(K, (double[]){1.1}, 1, 4, &cost, &fixed));
    assert_int_equal(K[0], 0);
    assert_nan(spec_best_lengths(K, alpha, 3, -1, &cost, &fixed));
    assert_nan(spec_best_lengths(K, alpha, 0, 4, &cost, &fixed));
    assert_nan(spec_best_lengths_rate((int[]){-1}, alpha, 1, &cost, &fixed));
}
