/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/context_acceptance.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>

/* Adds n requests of 60 rounds with K = 3 at this alpha, whose prompts have these tokens. */
static void add_requests(spec_context_sums *sums, gsl_rng *rng, int n, double alpha, double prompt)
{
    for (int i = 0; i < n; i++) {
        spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
        o.prompt = prompt;
        o.rounds = 60.0;
        o.drafted = 180.0;
        o.accepted = 0.0;
        for (int round = 0; round < 60; round++)
            for (int k = 0; k < 3 && gsl_rng_uniform(rng) < alpha; k++) o.accepted += 1.0;
        o.emitted = o.rounds + o.accepted;
        spec_context_sums_add(sums, &o);
    }
}

/* Contexts of 0.5, 1.5 and 3 thousand tokens have one alpha, and those of 9 thousand another. */
TEST(contexts_that_differ_in_acceptance_are_told_apart)
{
    spec_context_sums sums[SPEC_CONTEXT_OCTAVES] = {{0}};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, 3); /* always this sample */
    spec_context_steps steps;
    add_requests(sums, rng, 100, 0.82, 420.0);
    add_requests(sums, rng, 100, 0.82, 1420.0);
    add_requests(sums, rng, 4, 0.82, 3000.0);
    add_requests(sums, rng, 100, 0.61, 9000.0);
    spec_context_acceptance(&steps, sums);
    assert_int_equal(steps.n, 2);
    assert_int_equal(steps.from[0], 0);
    /* the four requests of 2,048 to 4,095 tokens are too few, and are joined with the next ones */
    assert_int_equal(steps.from[1], 2048);
    assert_true(fabs(steps.value[0] - 0.82) < 0.02);
    assert_true(fabs(steps.value[1] - 0.61) < 0.03);
}

TEST(one_alpha_is_no_dependence)
{
    spec_context_sums sums[SPEC_CONTEXT_OCTAVES] = {{0}};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, 3); /* always this sample */
    spec_context_steps steps;
    add_requests(sums, rng, 100, 0.7, 420.0);
    spec_context_acceptance(&steps, sums);
    assert_int_equal(steps.n, 0);
    add_requests(sums, rng, 100, 0.7, 9000.0);
    spec_context_acceptance(&steps, sums);
    assert_int_equal(steps.n, 0);
}

TEST(requests_without_a_prompt_do_not_count)
{
    spec_context_sums sums[SPEC_CONTEXT_OCTAVES] = {{0}};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, 1);
    add_requests(sums, rng, 5, 0.7, NAN);
    for (int i = 0; i < SPEC_CONTEXT_OCTAVES; i++) assert_same(sums[i].requests, 0.0);
    add_requests(sums, rng, 5, 0.7, 1e9);
    assert_same(sums[SPEC_CONTEXT_OCTAVES - 1].requests, 5.0);
}
