/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/chance.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

/* A generator whose uniform is set by the test. */
static double next_uniform;
static int n_drawn;
static void fake_set(void *state, unsigned long int seed)
{
    (void)state, (void)seed;
}
static unsigned long int fake_get(void *state)
{
    (void)state;
    return 0;
}
static double fake_get_double(void *state)
{
    (void)state;
    n_drawn++;
    return next_uniform;
}
static const gsl_rng_type fake_type = {"fake",         1, 0, sizeof(int), fake_set, fake_get,
                                       fake_get_double};
static gsl_rng fake = {&fake_type, NULL};

static bool accept_at(double uniform, double num, double den)
{
    spec_chance chance = spec_chance_sampled(&fake);
    next_uniform = uniform;
    n_drawn = 0;
    return spec_chance_accept(&chance, num, den);
}

static int pick_at(double uniform, const double *weight, int n)
{
    spec_chance chance = spec_chance_sampled(&fake);
    next_uniform = uniform;
    n_drawn = 0;
    return spec_chance_pick(&chance, weight, n);
}

TEST(accept_compares_strictly_with_num_over_den)
{
    assert_true(accept_at(0.749, 0.27, 0.36));
    assert_int_equal(n_drawn, 1);
    assert_false(accept_at(0.751, 0.27, 0.36));
    assert_false(accept_at(0.5, 0.25, 0.5)); /* exactly at the edge: u < num/den is strict */
    assert_true(accept_at(nextafter(0.5, 0.0), 0.25, 0.5));
    assert_true(accept_at(0.0, 5e-324, 0.27));
}

TEST(accept_draws_nothing_where_nothing_is_open)
{
    assert_false(
        /* also at u = 0: a token that the target excludes is never accepted */
        accept_at(0.0, 0.0, 0.27));
    assert_int_equal(n_drawn, 0);
    assert_true(accept_at(1.0, 0.27, 0.27));
    assert_int_equal(n_drawn, 0);
    assert_true(accept_at(1.0, 0.28, 0.27));
    assert_int_equal(n_drawn, 0);
    assert_true(accept_at(1.0, 0.0, 0.0));
    assert_int_equal(n_drawn, 0);
}

TEST(pick_inverts_the_cumulative_weights)
{
    const double weight[] = {0.0, 2.0, 0.0, 3.0, 5.0, 0.0}; /* edges at .2 and .5 */
    assert_int_equal(pick_at(0.0, weight, 6), 1);
    assert_int_equal(n_drawn, 1);
    assert_int_equal(pick_at(0.19, weight, 6), 1);
    assert_int_equal(pick_at(0.21, weight, 6), 3);
    assert_int_equal(pick_at(0.49, weight, 6), 3);
    assert_int_equal(pick_at(0.5, weight, 6), 4); /* 5 < 5 is false: the edge belongs to the next */
    assert_int_equal(pick_at(0.99, weight, 6), 4);
    const double two[] = {0.27, 0.73, 9.0};
    assert_int_equal(pick_at(0.26, two, 2), 0);
    assert_int_equal(pick_at(0.28, two, 2), 1);
    assert_int_equal(pick_at(0.99, two, 1), 0);
}

TEST(pick_never_returns_weight_zero_where_rounding_exhausts_the_scan)
{
    /* .9 of the smallest positive double rounds up to it, so no partial sum is above the
     * threshold. */
    const double tiny[] = {0.0, 5e-324, 0.0, 0.0};
    assert_int_equal(pick_at(0.9, tiny, 4), 1);
    const double weight[] = {0.27, 0.0, 0.73, 0.0};
    assert_int_equal(pick_at(1.0, weight, 4), 2); /* a generator that violates u < 1 */
    const double first[] = {0.27, 0.0};
    assert_int_equal(pick_at(1.0, first, 2), 0);
}

/* ---- enumeration ----------------------------------------------------------------------------- */

TEST(enumeration_visits_each_branch_once_with_its_probability)
{
    const double weight[] = {1.0, 0.0, 2.0, 5.0};
    double law[4][2] = {{0}};
    int visits[4][2] = {{0}};
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), 0);
    do {
        const int i = spec_chance_pick(&walk.chance, weight, 4);
        const bool accepted = i != 2 && spec_chance_accept(&walk.chance, 0.27, 0.9);
        law[i][accepted] += spec_enumeration_probability(&walk);
        visits[i][accepted]++;
    } while (spec_enumeration_next(&walk));
    assert_true(walk.branches == 5);
    assert_false(walk.refused);
    const double expected[4][2] = {
        {0.125 * 0.7, 0.125 * 0.3}, {0, 0}, {0.25, 0}, {0.625 * 0.7, 0.625 * 0.3}};
    for (int i = 0; i < 4; i++)
        for (int a = 0; a < 2; a++) {
            assert_within(law[i][a], expected[i][a], 1e-15);
            assert_int_equal(visits[i][a], expected[i][a] > 0.0);
        }
}

TEST(enumeration_takes_no_step_for_what_is_certain)
{
    const double certain[] = {0.0, 0.31, 0.0};
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), 0);
    assert_int_equal(spec_chance_pick(&walk.chance, certain, 3), 1);
    assert_true(spec_chance_accept(&walk.chance, 0.27, 0.27));
    assert_true(spec_chance_accept(&walk.chance, 0.0, 0.0));
    assert_false(spec_chance_accept(&walk.chance, 0.0, 0.27));
    assert_int_equal(walk.length, 0);
    assert_true(spec_enumeration_probability(&walk) == 1.0);
    assert_false(spec_enumeration_next(&walk));
    assert_true(walk.branches == 1);
}

TEST(enumeration_grows_with_the_path)
{
    /* A path of up to 200 decisions that ends with the first rejection has 201 branches, with the
     * law of a capped geometric. */
    double total = 0.0, mean = 0.0;
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), 0);
    do {
        int n = 0;
        while (n < 200 && spec_chance_accept(&walk.chance, 0.9, 1.0)) n++;
        total += spec_enumeration_probability(&walk);
        mean += n * spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    assert_true(walk.branches == 201);
    assert_within(total, 1.0, 1e-13);
    assert_within(mean, 0.9 * (1.0 - pow(0.9, 200)) / 0.1, 1e-12);
}

static uint64_t walk_all(uint64_t limit, bool *ret_refused)
{
    const double weight[] = {1.0, 2.0, 3.0};
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, limit), 0);
    do {
        spec_chance_pick(&walk.chance, weight, 3);
        spec_chance_pick(&walk.chance, weight, 3);
    } while (spec_enumeration_next(&walk));
    *ret_refused = walk.refused;
    const uint64_t branches = walk.branches;
    return branches;
}

TEST(enumeration_refuses_above_its_limit_and_not_at_it)
{
    bool refused;
    assert_true(walk_all(9, &refused) == 9);
    assert_false(refused);
    assert_true(walk_all(8, &refused) == 8);
    assert_true(refused);
    assert_true(walk_all(1, &refused) == 1);
    assert_true(refused);
    assert_true(walk_all(0, &refused) == 9);
    assert_false(refused);
}

TEST(a_walk_that_ran_out_of_memory_ends)
{
    spec_enumeration walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), 0);
    assert_false(spec_chance_accept(&walk.chance, 0.27, 0.9));
    walk.refused = true; /* the walk sets this itself when out of memory */
    assert_false(spec_enumeration_next(&walk));
    spec_enumeration_free(&walk);
    spec_enumeration_free(&walk); /* a freed one is zeroed */
}

/* ---- scripts --------------------------------------------------------------------------------- */

TEST(a_script_forces_each_decision_and_notes_its_probability)
{
    const double weight[] = {1.0, 0.0, 3.0};
    const int answer[] = {1, 0, 2, 0, 1};
    double asked[5];
    spec_script script;
    spec_script_init(&script, answer, 5, asked);
    assert_true(spec_chance_accept(&script.chance, 0.27, 0.9));
    assert_false(spec_chance_accept(&script.chance, 0.27, 0.9));
    assert_int_equal(spec_chance_pick(&script.chance, weight, 3), 2);
    assert_int_equal(spec_chance_pick(&script.chance, weight, 3), 0);
    assert_true(spec_chance_accept(&script.chance, 0.9,
                                   0.27)); /* certain, and takes an answer of the script, too */
    const double expected[] = {0.3, 0.7, 0.75, 0.25, 1.0};
    for (int i = 0; i < 5; i++) assert_within(asked[i], expected[i], 1e-15);
    assert_int_equal(script.used, 5);
    assert_false(script.broken);

    spec_script_init(&script, answer + 1, 1, asked); /* a likely acceptance can be refused */
    assert_false(spec_chance_accept(&script.chance, 0.8, 0.9));
    assert_within(asked[0], 0.1 / 0.9, 1e-15);
    assert_false(script.broken);
}

TEST(a_script_breaks_on_the_impossible)
{
    const double weight[] = {1.0, 0.0, 3.0, 0.0, 7.0}; /* four branches, and those after them */
    const int zero[] = {0}, one[] = {1}, three[] = {3}, four[] = {4};
    spec_script script;

    spec_script_init(&script, zero, 1, NULL);
    assert_true(spec_chance_accept(&script.chance, 0.27, 0.27)); /* an impossible rejection */
    assert_true(script.broken);

    spec_script_init(&script, one, 1, NULL);
    assert_false(spec_chance_accept(&script.chance, 0.0, 0.27));
    assert_true(script.broken);

    spec_script_init(&script, three, 1, NULL);
    assert_int_equal(spec_chance_pick(&script.chance, weight, 4), 2);
    assert_true(script.broken);

    spec_script_init(&script, four, 1, NULL);
    assert_int_equal(spec_chance_pick(&script.chance, weight, 4), 2);
    assert_true(script.broken);
}

TEST(a_script_that_runs_out_is_broken)
{
    const double weight[] = {1.0, 0.0, 3.0, 0.0};
    const int answer[] = {1};
    spec_script script;
    spec_script_init(&script, answer, 1, NULL);
    assert_true(spec_chance_accept(&script.chance, 0.27, 0.9));
    assert_false(script.broken);
    assert_false(spec_chance_accept(&script.chance, 0.27, 0.9));
    assert_true(script.broken);
    assert_int_equal(spec_chance_pick(&script.chance, weight, 4), 2);
    /* a certain decision stays certain */
    assert_true(spec_chance_accept(&script.chance, 0.27, 0.27));
    assert_false(spec_chance_accept(&script.chance, 0.0, 0.27));
    assert_int_equal(script.used, 1);
}

/* Weights are whole numbers, so every cumulative sum is exact, in rows from less than one block of
 * the scan to many. */
TEST(a_pick_from_a_long_row_is_where_the_cumulative_sum_passes)
{
    enum { N = 9001 };
    static double weight[N];
    const int sizes[] = {31, 32, 33, 64, 257, 8192, 8193, N};
    for (int i = 0; i < N; i++)
        weight[i] = i * 7 % 11 < 4 || i / 100 == 3 || i > N - 60 ? 0.0 : i * 5 % 13 + 1;
    for (int k = 0; k < 8; k++) {
        spec_chance chance = spec_chance_sampled(&fake);
        double total = 0.0, cumulative = 0.0;
        int last = 0;
        for (int i = 0; i < sizes[k]; i++) total += weight[i];
        for (int i = 0; i < sizes[k]; i++) {
            if (!(weight[i] > 0.0)) continue;
            next_uniform = (cumulative + 0.27) / total;
            assert_int_equal(spec_chance_pick(&chance, weight, sizes[k]), i);
            cumulative += weight[i];
            next_uniform = (cumulative - 0.27) / total;
            assert_int_equal(spec_chance_pick(&chance, weight, sizes[k]), i);
            last = i;
        }
        next_uniform = 1.0; /* as rounding might give */
        assert_int_equal(spec_chance_pick(&chance, weight, sizes[k]), last);
    }
}
