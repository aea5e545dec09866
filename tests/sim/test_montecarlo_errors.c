/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard errors of runs are right: z over many runs is standard normal. */
#include "sim/chance/rng.h"
#include "sim/montecarlo.h"
#include "sim/sources.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static spec_acceptance_config iid(double alpha, int K)
{
    spec_acceptance_config config = {.K = K, .costs = SPEC_COSTS_DEFAULT};
    assert_int_equal(spec_acceptance_process_init(&config.process, "iid", alpha, NULL),
                     GSL_SUCCESS);
    return config;
}

/* Rounds of one batch are dependent: K = 1, and the acceptance rate of a batch is uniform on [0.17,
 * 0.37]. */
static int lucky_batch(const void *self, void *worker, uint64_t seed, uint64_t stream,
                       uint64_t n_rounds, spec_tally *tally, spec_error *error)
{
    (void)self;
    (void)worker;
    (void)error;
    spec_rng_state rng = spec_rng_stream_state(seed, stream);
    double rate = 0.17 + 0.2 * spec_rng_next_double(&rng);
    for (uint64_t i = 0; i < n_rounds; i++) {
        unsigned accepted = spec_rng_next_double(&rng) < rate;
        tally->n_accepted[accepted]++;
        tally->accepted += accepted;
        tally->passed[0] += accepted;
    }
    tally->rounds += n_rounds;
    tally->drafted += n_rounds;
    tally->tested[0] += n_rounds;
    tally->emitted = tally->accepted + tally->rounds;
    tally->time += 1.1 * (double)n_rounds;
    return GSL_SUCCESS;
}

/* The sum of z^2 over `runs` runs is chi-square, and their mean is normal. With 400 runs, a
 * variance of z that is too large by a factor of 1.5 is certainly rejected. Dependent rounds that
 * are taken for independent ones give 5.6. The t distribution's larger variance at 100 batches,
 * 1.02, is not detected. */
static void assert_honest(const spec_round_source *source, spec_montecarlo_plan plan,
                          double expected)
{
    uint64_t runs = spec_test_samples(400), seed = spec_test_seed();
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < runs; i++) {
        OWNED(spec_montecarlo) mc;
        plan.seed = seed + i;
        plan.opt_pool = spec_test_pool(1);
        assert_int_equal(spec_montecarlo_init(&mc, source, &plan, NULL), GSL_SUCCESS);
        assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
        spec_estimate emitted = spec_montecarlo_emitted(&mc), rate = spec_montecarlo_rate(&mc);
        double z = (emitted.mean - expected) / emitted.se,
               time = mc.sum.tally.time / (double)mc.sum.tally.rounds;
        assert_within((rate.mean - expected / time) / rate.se, z,
                      1e-8); /* every round takes the same time here */
        sum += z;
        squares += z * z;
    }
    double p_spread =
        2 * fmin(gsl_cdf_chisq_P(squares, (double)runs), gsl_cdf_chisq_Q(squares, (double)runs));
    double p_mean = 2 * gsl_cdf_ugaussian_Q(fabs(sum) / sqrt((double)runs));
    printf("z: mean %.3f, mean square %.3f\n", sum / (double)runs, squares / (double)runs);
    assert_true(p_spread > SPEC_TEST_P);
    assert_true(p_mean > SPEC_TEST_P);
}

TEST(standard_errors_are_honest, STATISTICS)
{
    spec_acceptance_config config = iid(0.615, 5);
    spec_round_source source = spec_sources_acceptance(&config);
    double alpha = rint(ldexp(0.615, 32)) / 0x1p32; /* as the engine rounds it */
    assert_honest(&source, (spec_montecarlo_plan){.rounds = 3000, .batch = 1000},
                  (1 - pow(alpha, 6)) / (1 - alpha));

    spec_round_source lucky = {.batch = lucky_batch};
    assert_honest(&lucky, (spec_montecarlo_plan){.rounds = 10000, .batch = 100}, 1.27);
}
