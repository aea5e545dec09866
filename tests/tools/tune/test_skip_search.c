/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tune/skip_search.h"

#include "base/noise.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_errno.h>
#include <string.h>

/* A function of sets: a weight for each sublayer, and one for each pair of neighbours. */
typedef struct {
    int sublayers, calls, fails_at;
    uint64_t key;
} problem;

static double weight(const problem *p, int i)
{
    return (double)(spec_noise_word(p->key, (uint64_t)i) >> 11) * 0x1p-53 - 0.5;
}

static int value_of(void *self, double *ret_value, const unsigned char *set, spec_error *error)
{
    problem *p = self;
    *ret_value = 0.27;
    if (++p->calls == p->fails_at) return spec_fail(error, GSL_EFAILED, "planned");
    for (int i = 0; i < p->sublayers; i++) {
        *ret_value += set[i] * weight(p, i);
        if (i > 0) *ret_value += set[i] * set[i - 1] * weight(p, 100 + i);
    }
    return GSL_SUCCESS;
}

static spec_skip_search search_of(problem *p, int trials, uint64_t seed)
{
    return (spec_skip_search){
        .sublayers = p->sublayers, .trials = trials, .seed = seed, .value = value_of, .self = p};
}

static spec_skip_trials run(problem *p, spec_skip_method method, int trials, uint64_t seed)
{
    spec_skip_trials ret;
    const spec_skip_search search = search_of(p, trials, seed);
    assert_works(spec_skip_search_run(&ret, method, &search, &error));
    assert_true(ret.n <= spec_skip_search_most(method, &search));
    return ret;
}

static double best_of(const spec_skip_trials *trials)
{
    double best = trials->value[0];
    for (int i = 1; i < trials->n; i++)
        if (trials->value[i] > best) best = trials->value[i];
    return best;
}

static void assert_distinct(const spec_skip_trials *trials, int sublayers)
{
    for (int i = 0; i < trials->n; i++) {
        const unsigned char *set = trials->set + i * sublayers;
        assert_non_null(memchr(set, 0, (size_t)sublayers));
        assert_non_null(memchr(set, 1, (size_t)sublayers));
        for (int j = 0; j < i; j++)
            assert_true(memcmp(set, trials->set + j * sublayers, (size_t)sublayers) != 0);
    }
}

TEST(an_exhaustive_search_tries_every_set_once)
{
    for (int d = 2; d <= 10; d += 4) {
        problem p = {.sublayers = d, .key = 3};
        OWNED(spec_skip_trials) all = run(&p, SPEC_SKIP_EXHAUSTIVE, 0, 1);
        const spec_skip_search search = search_of(&p, 0, 1);
        assert_int_equal(all.n, (1 << d) - 2);
        assert_int_equal(all.n, spec_skip_search_most(SPEC_SKIP_EXHAUSTIVE, &search));
        assert_distinct(&all, d);
    }
}

TEST(other_searches_end_when_all_sets_were_tried)
{
    for (int method = SPEC_SKIP_BAYES; method <= SPEC_SKIP_RANDOM; method++) {
        problem p = {.sublayers = 4, .key = 5};
        OWNED(spec_skip_trials) all = run(&p, (spec_skip_method)method, 100, 1);
        assert_int_equal(all.n, 14);
        assert_distinct(&all, 4);
    }
}

TEST(searches_of_a_seed_begin_alike_and_repeat)
{
    problem p = {.sublayers = 12, .key = 7};
    spec_skip_trials bayes = run(&p, SPEC_SKIP_BAYES, 30, 9),
                     again = run(&p, SPEC_SKIP_BAYES, 30, 9),
                     random = run(&p, SPEC_SKIP_RANDOM, 30, 9);
    assert_int_equal(bayes.n, 30);
    assert_distinct(&bayes, 12);
    assert_distinct(&random, 12);
    assert_memory_equal(bayes.set, again.set, 30 * 12);
    assert_memory_equal(bayes.set, random.set, 10 * 12);
    assert_true(memcmp(bayes.set, random.set, 30 * 12) != 0);
    spec_skip_trials_free(&bayes);
    spec_skip_trials_free(&again);
    spec_skip_trials_free(&random);
}

/* 40 trials among 4,094 sets: random search finds the optimum of a problem with probability at most
 * .01, so 4 of 20 with probability at most 1e-4. */
TEST(bayes_finds_the_optimum_where_random_sets_do_not)
{
    int found = 0, found_at_random = 0;
    for (int i = 0; i < 20; i++) {
        problem p = {.sublayers = 12, .key = (uint64_t)i};
        spec_skip_trials all = run(&p, SPEC_SKIP_EXHAUSTIVE, 0, 1),
                         bayes = run(&p, SPEC_SKIP_BAYES, 40, (uint64_t)i),
                         random = run(&p, SPEC_SKIP_RANDOM, 40, (uint64_t)i);
        found += best_of(&bayes) == best_of(&all);
        found_at_random += best_of(&random) == best_of(&all);
        assert_true(best_of(&bayes) <= best_of(&all) && best_of(&random) <= best_of(&all));
        spec_skip_trials_free(&all);
        spec_skip_trials_free(&bayes);
        spec_skip_trials_free(&random);
    }
    print_message("optimum found: bayes %d, random %d of 20\n", found, found_at_random);
    assert_true(found >= 12 && found_at_random <= 4);
}

TEST(failures_end_the_search)
{
    for (int method = 0; spec_skip_methods[method] != NULL; method++) {
        problem p = {.sublayers = 6, .key = 1, .fails_at = 9};
        spec_skip_trials trials;
        const spec_skip_search search = search_of(&p, 20, 1);
        assert_fails(spec_skip_search_run(&trials, (spec_skip_method)method, &search, &error),
                     GSL_EFAILED, "planned");
        assert_null(trials.set);
    }
    problem p = {.sublayers = SPEC_SKIP_EXHAUSTIVE_MAX + 1};
    spec_skip_trials trials;
    const spec_skip_search search = search_of(&p, 20, 1);
    assert_fails_with(spec_skip_search_run(&trials, SPEC_SKIP_EXHAUSTIVE, &search, &error),
                      GSL_EINVAL, "at most 16 sublayers, not 17");
}
