/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/capacity.h"

#include "analysis/serving/request_life.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

/* SpecDecode-Bench's fit of an H100 with Llama-3.1-8B, prompts of 512 tokens and outputs of 256.
 * That table counts the newest token as cached: a context of one token more. */
TEST(known_capacities)
{
    static const struct {
        double alpha;
        int K;
        const char *capacity;
    } rows[] = {{0.6, 0, "44.40"}, {0.6, 1, "46.57"}, {0.6, 3, "42.38"}, {0.6, 5, "37.03"},
                {0.8, 0, "44.40"}, {0.8, 1, "49.30"}, {0.8, 3, "49.43"}, {0.8, 5, "46.99"}};
    const spec_affine_step cost = {.step = 7.093e-3, .token = 2.10103129e-5, .kv = 3.92645679e-8};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(spec_rounds_law) rounds;
        assert_int_equal(spec_rounds_law_init(&rounds, 255), GSL_SUCCESS);
        assert_int_equal(
            spec_rounds_law_add_alpha(&rounds, 1.0, rows[i].alpha, rows[i].K, 0.0, NULL, 255),
            GSL_SUCCESS);
        spec_request_costs costs = spec_request_costs_shared(&cost, rows[i].K);
        costs.round += costs.context;
        OWNED(spec_request_life) life;
        assert_int_equal(spec_request_life_init(&life, 256, true), GSL_SUCCESS);
        assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, 512.0, 512.0 * 512.0),
                         GSL_SUCCESS);
        const double extra = spec_request_life_total(&life);
        assert_prints(spec_capacity_rate(extra), 2, rows[i].capacity);
        assert_near(spec_capacity_load(20.0, extra), 20.0 / spec_capacity_rate(extra), 1e-15);
        /* Adds up the sum term by term. */
        const double n = spec_rounds_law_mean(&rounds);
        assert_near(extra,
                    cost.token * (512.0 + (rows[i].K + 1) * n) +
                        cost.kv * (513.0 * n + spec_rounds_law_contexts(&rounds)),
                    1e-14);
    }
}

/* Second route: a step takes its own time and what its requests add in it. */
TEST(means_balance)
{
    const double base = 0.007, rate = 40.0, steps = 27.0, added = 4.1e-4;
    const double extra = steps * added, load = spec_capacity_load(rate, extra);
    for (int i = 0; i < 3; i++) {
        const double idle = 0.27 * i;
        const double step = spec_capacity_step(base, load, extra, idle),
                     batch = spec_capacity_batch(rate, steps, step, idle);
        assert_near(step, base + added * batch, 1e-14);
    }
    assert_near(spec_capacity_step(base, load, extra, 0.0), base / (1.0 - load), 1e-15);
    /* One request per step, and idle after each: the rate tends to 0. */
    assert_near(spec_capacity_step(base, 0.0, 0.1, 1.0), base + 0.1, 1e-15);
}

TEST(edges_and_outside)
{
    assert_same(spec_capacity_rate(0.0), INFINITY);
    assert_same(spec_capacity_step(0.1, 1.0, 0.1, 0.0), INFINITY);
    assert_nan(spec_capacity_rate(-1.0));
    assert_nan(spec_capacity_load(-1.0, 1.0));
    assert_nan(spec_capacity_load(1.0, NAN));
    assert_nan(spec_capacity_step(0.0, 0.5, 0.1, 0.0));
    assert_nan(spec_capacity_step(0.1, -0.5, 0.1, 0.0));
    assert_nan(spec_capacity_step(0.1, 0.5, 0.1, 1.1));
    assert_nan(spec_capacity_batch(1.0, 5.0, 0.0, 0.0));
    assert_nan(spec_capacity_batch(-1.0, 5.0, 0.1, 0.0));
    assert_nan(spec_capacity_batch(1.0, 5.0, 0.1, -0.1));
}
