/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "speclab/round.h"
#include "speclab/speclab.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static speclab *lab;

static int open_lab(void **state)
{
    (void)state;
    return speclab_open(&lab, NULL, NULL, 0);
}

static int close_lab(void **state)
{
    (void)state;
    speclab_close(lab);
    return 0;
}

static const speclab_pair pair = {
    .size = sizeof pair, .K = 3, .target = "zipf?V=40", .draft = "perturb?of=target&alpha=0.7"};

static const speclab_acceptance acceptance = {
    .size = sizeof acceptance, .K = 4, .alpha = 0.83, .process = "decay?rate=0.9"};

static speclab_simulation *open_pair(const speclab_simulation_options *options)
{
    char error[512];
    speclab_simulation *s;
    if (speclab_simulation_open(&s, lab, &pair, options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    return s;
}

static speclab_simulation *open_acceptance(const speclab_simulation_options *options)
{
    char error[512];
    speclab_simulation *s;
    if (speclab_simulation_open_acceptance(&s, lab, &acceptance, options, error, sizeof error) !=
        SPECLAB_OK)
        fail_msg("%s", error);
    return s;
}

static speclab_estimates finish(speclab_simulation *s)
{
    char error[512];
    speclab_estimates e = {.size = sizeof e};
    for (int32_t done = 0; !done;)
        if (speclab_simulation_next(&done, s, error, sizeof error) != SPECLAB_OK)
            fail_msg("%s", error);
    assert_int_equal(speclab_simulation_read(&e, s), SPECLAB_OK);
    assert_int_equal(e.done, 1);
    return e;
}

/* The number in the first row of an experiment. */
static double asked(const char *text, const char *column)
{
    char error[512];
    speclab_table *table;
    if (speclab_run(&table, lab, text, NULL, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    const double value = speclab_table_number(table, 0, speclab_table_find(table, column));
    speclab_table_free(table);
    return value;
}

TEST(a_simulation_gives_the_numbers_of_the_experiment)
{
    const char *const text = "measure = \"decode\"; rounds = 30000; grid = { target = "
                             "\"zipf?V=40\"; draft = \"perturb?of=target&alpha=0.7\"; K = 3; };";
    speclab_simulation_options o = {.size = sizeof o, .rounds = 30000, .c = 0.1};
    o.seed = spec_rng_named_seed(42, "K=3;draft=perturb?of=target&alpha=0.7;target=zipf?V=40");
    speclab_simulation *s = open_pair(&o);
    const speclab_estimates e = finish(s);
    assert_int_equal(e.rounds, 30000);
    assert_same(e.emitted, asked(text, "emitted"));
    assert_same(e.emitted_se, asked(text, "emitted_se"));
    assert_same(e.speedup, asked(text, "speedup"));
    assert_same(e.speedup_se, asked(text, "speedup_se"));
    speclab_simulation_close(s);
}

TEST(acceptance_gives_the_numbers_of_the_experiment)
{
    const char *const text = "measure = \"acceptance\"; rounds = 700000; grid = { process = "
                             "\"decay?rate=0.9\"; alpha = 0.83; K = 4; c = 0.1; };";
    speclab_simulation_options o = {.size = sizeof o, .rounds = 700000, .c = 0.1};
    o.seed = spec_rng_named_seed(42, "K=4;alpha=0.83;c=0.1;process=decay?rate=0.9");
    speclab_simulation *s = open_acceptance(&o);
    const speclab_estimates e = finish(s);
    uint64_t accepted[7], rounds = 0, emitted = 0;
    speclab_simulation_accepted(accepted, 7, s);
    for (int k = 0; k < 7; k++) {
        rounds += accepted[k];
        emitted += accepted[k] * (uint64_t)(k + 1);
    }
    assert_same(e.emitted, asked(text, "emitted"));
    assert_same(e.emitted_se, asked(text, "emitted_se"));
    assert_near(e.speedup, asked(text, "speedup"), 1e-12);
    assert_int_equal(rounds, e.rounds);
    assert_int_equal(accepted[5] + accepted[6], 0);
    assert_near((double)emitted / (double)rounds, e.emitted, 1e-12);
    speclab_simulation_close(s);
}

TEST(estimates_grow_from_group_to_group)
{
    const speclab_simulation_options o = {.size = sizeof o, .standard_error = 1e-4};
    speclab_simulation *s = open_acceptance(&o);
    speclab_estimates before = {.size = sizeof before}, after = before;
    int32_t done;
    assert_int_equal(speclab_simulation_read(&before, s), SPECLAB_OK);
    assert_int_equal(before.rounds, 0);
    assert_nan(before.emitted);
    assert_int_equal(speclab_simulation_next(&done, s, NULL, 0), SPECLAB_OK);
    assert_int_equal(speclab_simulation_read(&after, s), SPECLAB_OK);
    assert_true(after.rounds > 0 && after.emitted > 1.0);
    after = finish(s);
    assert_true(after.emitted_se <= 1e-4);
    assert_int_equal(speclab_simulation_next(&done, s, NULL, 0), SPECLAB_OK);
    assert_int_equal(done, 1);
    speclab_simulation_close(s);
}

/* Rounds of 300,000 make several groups; workers compute them in any order. */
TEST(groups_computed_elsewhere_give_the_same_numbers)
{
    enum { GROUPS_MAX = 16 };
    static char text[GROUPS_MAX][SPECLAB_GROUP_SIZE];
    char error[512];
    const speclab_simulation_options o = {
        .size = sizeof o, .rounds = 300000, .c = 0.1, .seed = 5};
    speclab_simulation *whole = open_pair(&o), *worker = open_pair(&o), *sum = open_pair(&o);
    const int groups = (int)speclab_simulation_groups(sum);
    int32_t done = 1;
    assert_true(groups > 2 && groups <= GROUPS_MAX);
    for (int i = groups - 1; i >= 0; i--)
        if (speclab_simulation_group(text[i], sizeof text[i], worker, (uint64_t)i, error,
                                     sizeof error) != SPECLAB_OK)
            fail_msg("%s", error);
    assert_int_equal(speclab_simulation_add(&done, sum, text[groups - 1], error, sizeof error),
                     SPECLAB_INPUT);
    assert_string_equal(error, "the text does not belong to group 0");
    for (int i = 0; i < groups; i++) {
        assert_int_equal(done, 0);
        assert_int_equal(speclab_simulation_add(&done, sum, text[i], NULL, 0), SPECLAB_OK);
    }
    assert_int_equal(done, 1);
    const speclab_estimates expected = finish(whole);
    speclab_estimates e = {.size = sizeof e};
    assert_int_equal(speclab_simulation_read(&e, sum), SPECLAB_OK);
    assert_memory_equal(&e, &expected, sizeof e);
    assert_int_equal(speclab_simulation_group(text[0], sizeof text[0], worker, (uint64_t)groups,
                                              error, sizeof error),
                     SPECLAB_INPUT);
    assert_int_equal(speclab_simulation_group(text[0], 9, worker, 0, error, sizeof error),
                     SPECLAB_INPUT);
    assert_int_equal(speclab_simulation_groups(NULL), 0);
    speclab_simulation_close(whole);
    speclab_simulation_close(worker);
    speclab_simulation_close(sum);
}

TEST(a_stopped_group_counts_for_nothing)
{
    char error[512];
    volatile int stop = 1;
    int32_t done = 7;
    const speclab_simulation_options o = {.size = sizeof o, .rounds = 40000, .opt_stop = &stop};
    speclab_simulation *s = open_pair(&o);
    speclab_estimates e = {.size = sizeof e};
    assert_int_equal(speclab_simulation_next(&done, s, error, sizeof error), SPECLAB_STOPPED);
    assert_int_equal(done, 0);
    assert_string_equal(error, "interrupted");
    assert_int_equal(speclab_simulation_read(&e, s), SPECLAB_OK);
    assert_int_equal(e.rounds, 0);
    stop = 0;
    assert_int_equal(finish(s).rounds, 40000);
    speclab_simulation_close(s);
}

static void refused(const speclab_pair *p, const speclab_acceptance *a,
                    const speclab_simulation_options *o, const char *line)
{
    char error[512];
    speclab_simulation *s = (speclab_simulation *)&error;
    const int32_t code =
        a != NULL ? speclab_simulation_open_acceptance(&s, lab, a, o, error, sizeof error)
                  : speclab_simulation_open(&s, lab, p, o, error, sizeof error);
    assert_int_equal(code, SPECLAB_INPUT);
    assert_null(s);
    if (strstr(error, line) == NULL) fail_msg("'%s' does not contain '%s'", error, line);
}

TEST(wrong_inputs_are_refused)
{
    const speclab_simulation_options good = {.size = sizeof good, .rounds = 10};
    speclab_simulation_options o = good;
    speclab_acceptance a = acceptance;
    speclab_pair p = pair;
    refused(&pair, NULL, NULL, "options is NULL");
    refused(NULL, NULL, &good, "pair is NULL");
    o.rounds = 0;
    refused(&pair, NULL, &o, "rounds");
    o.standard_error = NAN;
    refused(&pair, NULL, &o, "nan");
    o.standard_error = -1.0;
    refused(NULL, &acceptance, &o, "standard");
    o = good;
    o.c = -0.5;
    refused(&pair, NULL, &o, "c must be 0 to 1e6, got -0.5");
    o.c = NAN;
    refused(NULL, &acceptance, &o, "c must be 0 to 1e6, got nan");
    o.size = 0;
    refused(&pair, NULL, &o, "the size of speclab_simulation_options is 0");
    p.rule = "no-such-rule";
    refused(&p, NULL, &good, "no-such-rule");
    a.alpha = NAN;
    refused(NULL, &a, &good, "alpha must be 0 to 1, got nan");
    a.alpha = 1.1;
    refused(NULL, &a, &good, "alpha must be 0 to 1, got 1.1");
    a = acceptance;
    a.K = 257;
    refused(NULL, &a, &good, "K must be 0 to 256, got 257");
    a.K = -1;
    refused(NULL, &a, &good, "K must be 0 to 256, got -1");
    a = acceptance;
    a.process = "decay?rat=0.9";
    refused(NULL, &a, &good, "rate");
    a.size = 8;
    refused(NULL, &a, &good, "the size of speclab_acceptance is 8");
    char error[64];
    assert_int_equal(speclab_simulation_next(NULL, NULL, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "the handle is NULL; call speclab_open first");
    speclab_estimates e = {.size = sizeof e, .done = 1};
    assert_int_equal(speclab_simulation_read(&e, NULL), SPECLAB_INPUT);
    assert_int_equal(e.done, 0);
    speclab_simulation *s = open_pair(&good);
    assert_int_equal(speclab_simulation_next(NULL, s, NULL, 0), SPECLAB_INPUT);
    e.size = 1;
    assert_int_equal(speclab_simulation_read(&e, s), SPECLAB_INPUT);
    assert_int_equal(speclab_simulation_read(NULL, s), SPECLAB_INPUT);
    uint64_t accepted[SPEC_K_MAX + 2];
    speclab_simulation_accepted(accepted, SPEC_K_MAX + 2, s);
    assert_int_equal(accepted[SPEC_K_MAX + 1], 0);
    speclab_simulation_accepted(accepted, -1, s);
    speclab_simulation_close(s);
    speclab_simulation_close(NULL);
}

SUITE(.setup = open_lab, .teardown = close_lab);
