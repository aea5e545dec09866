/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the number of branches that is estimated from random paths against exact counts by
 * enumeration, and the guarantee of its evidence. */
#include "sim/chance/probe.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Code whose tree is irregular: at most `level` decisions, some of which are certain or have
 * branches of weight zero. */
static void decide(spec_chance *chance, int level)
{
    static const double weight[] = {0.27, 0.0, 0.5, 0.0, 0.23}, one[] = {0.0, 0.4};
    if (level == 0) return;
    if (spec_chance_pick(chance, one, 2) != 1 || !spec_chance_accept(chance, 0.3, 0.3))
        fail_msg("what is certain fails");
    const int picked = spec_chance_pick(chance, weight, 5);
    if (picked == 2 && spec_chance_accept(chance, 0.1, 0.9)) return;
    decide(chance, picked == 4 ? level / 2 : level - 1);
}

static double exact_branches(int level)
{
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    do decide(&walk.chance, level);
    while (spec_enumeration_next(&walk));
    const double branches = (double)walk.branches;
    return branches;
}

static gsl_rng *generator(uint64_t stream)
{
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    assert_non_null(rng);
    spec_rng_stream(rng, 42, stream);
    return rng;
}

/* Rejects a probe that also counts branches of weight zero: 5 for 3 at each pick, so the mean at
 * level 3 is 4.6 times the count. */
TEST(the_mean_of_the_paths_is_the_number_of_branches, STATISTICS)
{
    const uint64_t paths = spec_test_samples(200000);
    for (int level = 0; level <= 8; level++) {
        OWNED_RNG *rng = generator((uint64_t)level);
        const double branches = exact_branches(level);
        double squares = 0.0;
        spec_probe probe;
        spec_probe_init(&probe, rng, 1.0);
        for (uint64_t i = 0; i < paths; i++) {
            decide(&probe.chance, level);
            squares += (probe.product - branches) * (probe.product - branches);
            spec_probe_end_path(&probe);
        }
        assert_int_equal(probe.n, paths);
        const double se = sqrt(squares) / (double)paths;
        if (fabs(probe.mean - branches) > 4.9 * se) /* p = 1e-6 */
            fail_msg("level %d: %g for %g branches, se %g", level, probe.mean, branches, se);
    }
}

TEST(one_path_is_the_product_of_its_branches)
{
    static const double one[] = {0.0, 0.4, 0.0}, three[] = {0.1, 0.2, 0.0, 0.7};
    OWNED_RNG *rng = generator(0);
    spec_probe probe;
    spec_probe_init(&probe, rng, 1.0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(spec_chance_pick(&probe.chance, one, 3), 1);
        assert_true(spec_chance_accept(&probe.chance, 0.3, 0.2));
        assert_false(spec_chance_accept(&probe.chance, 0.0, 0.2));
        assert_true(probe.product == 1.0);
        spec_chance_accept(&probe.chance, 0.1, 0.2);
        assert_int_not_equal(spec_chance_pick(&probe.chance, three, 4), 2);
        assert_true(probe.product == 6.0);
        spec_probe_end_path(&probe);
        assert_true(probe.mean == 6.0);
    }
}

/* Counts the streams whose evidence against the limit reaches 20 at some path. */
static int runs_that_reach_20(double limit, int level, int runs, int paths)
{
    int reached = 0;
    for (int run = 0; run < runs; run++) {
        OWNED_RNG *rng = generator((uint64_t)run);
        spec_probe probe;
        spec_probe_init(&probe, rng, limit);
        bool is_reached = false;
        for (int i = 0; i < paths && !is_reached; i++) {
            decide(&probe.chance, level);
            spec_probe_end_path(&probe);
            is_reached = spec_probe_log_e(&probe) >= log(20.0);
        }
        reached += is_reached;
    }
    return reached;
}

/* If the limit is the count itself, at most one run in 20 exceeds it, whatever the tail; if it is a
 * quarter of it, nearly every run does. */
TEST(evidence_is_rare_at_the_count_and_common_above_it, SLOW | STATISTICS)
{
    enum { LEVEL = 10, RUNS = 2000, PATHS = 2000 };
    const double branches = exact_branches(LEVEL);
    const int wrong = runs_that_reach_20(branches, LEVEL, RUNS, PATHS);
    const double p = wrong > 0 ? gsl_cdf_binomial_Q((unsigned)wrong - 1, 0.05, RUNS) : 1.0;
    if (p < SPEC_TEST_P) fail_msg("%d of %d runs are sure of what is not so", wrong, RUNS);
    const int right = runs_that_reach_20(branches / 4.0, LEVEL, 100, PATHS);
    if (right < 99) fail_msg("%d of 100 runs see four times the limit", right);
}
