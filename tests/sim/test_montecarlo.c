/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/montecarlo.h"
#include "sim/sources.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <string.h>

enum { LOG = 4096 };

/* A source whose rounds are known: batch i of n rounds accepts i % 3 tokens in each. It can fail,
 * wait, or request a stop, and counts its workers. Several threads write only entries of their own
 * batches. */
typedef struct {
    uint64_t fails_at[2], stops_at;
    int fail_workers_from, *stop;
    bool jitter;
    int n_init, n_free;      /* number of workers, as counted by the main thread */
    uint64_t rounds_of[LOG]; /* n_rounds that were requested of batch i */
    uint64_t seed_of[LOG];
} fake;

static fake *fake_self; /* for worker_free, which only gets the worker */

static int fake_worker_init(const void *self, void **ret_worker, spec_error *error)
{
    fake *f = fake_self;
    (void)self;
    if (f->n_init == f->fail_workers_from)
        return spec_fail(error, GSL_ENOMEM, "worker %d has no memory", f->n_init);
    f->n_init++;
    *ret_worker = malloc(1);
    return GSL_SUCCESS;
}

static void fake_worker_free(void *worker)
{
    fake_self->n_free++;
    free(worker);
}

static int fake_batch(const void *self, void *worker, uint64_t seed, uint64_t stream,
                      uint64_t n_rounds, spec_tally *tally, spec_error *error)
{
    fake *f = fake_self;
    (void)self;
    assert_non_null(worker);
    if (f->jitter)
        for (uint64_t i = 0; i < (stream * 7919) % 5; i++) sched_yield();
    if (stream < LOG) f->rounds_of[stream] = n_rounds;
    if (stream < LOG) f->seed_of[stream] = seed;
    if (stream == f->fails_at[0] || stream == f->fails_at[1])
        return spec_fail(error, GSL_ERUNAWAY, "batch %d broke", (int)stream);
    if (f->stop != NULL && stream == f->stops_at) {
#pragma omp atomic write
        *f->stop = 1;
    }
    uint64_t k = stream % 3;
    tally->rounds += n_rounds;
    tally->drafted += 2 * n_rounds;
    tally->accepted += k * n_rounds;
    tally->emitted += (k + 1) * n_rounds;
    tally->n_accepted[k] += n_rounds;
    tally->tested[0] += n_rounds;
    if (k > 0) tally->passed[0] += n_rounds;
    tally->hits += k == 2 ? n_rounds / 2 : 0;
    tally->time += 0.27 * (double)n_rounds * (double)(stream % 7 + 1);
    return GSL_SUCCESS;
}

static spec_round_source fake_source(fake *f)
{
    *f = (fake){
        .fails_at = {UINT64_MAX, UINT64_MAX}, .stops_at = UINT64_MAX, .fail_workers_from = -1};
    fake_self = f;
    return (spec_round_source){.self = f,
                               .worker_init = fake_worker_init,
                               .worker_free = fake_worker_free,
                               .batch = fake_batch,
                               .usual_batch = 100};
}

static spec_acceptance_config iid(double alpha, int K)
{
    spec_acceptance_config config = {.K = K, .costs = SPEC_COSTS_DEFAULT};
    assert_int_equal(spec_acceptance_process_init(&config.process, "iid", alpha, NULL),
                     GSL_SUCCESS);
    return config;
}

static void assert_same_results(const spec_montecarlo *a, const spec_montecarlo *b)
{
    assert_memory_equal(&a->sum.tally, &b->sum.tally, sizeof a->sum.tally);
    assert_memory_equal(&a->sum.emitted, &b->sum.emitted, sizeof a->sum.emitted);
    assert_memory_equal(&a->sum.first, &b->sum.first, sizeof a->sum.first);
    assert_memory_equal(&a->sum.rate, &b->sum.rate, sizeof a->sum.rate);
    assert_memory_equal(&a->sum.hit, &b->sum.hit, sizeof a->sum.hit);
    assert_int_equal(a->sum.batches, b->sum.batches);
    spec_estimate (*const estimates[])(const spec_montecarlo *) = {
        spec_montecarlo_emitted, spec_montecarlo_first, spec_montecarlo_rate, spec_montecarlo_hit};
    for (int i = 0; i < 4; i++) {
        spec_estimate of_a = estimates[i](a), of_b = estimates[i](b);
        assert_memory_equal(&of_a, &of_b, sizeof of_a);
    }
}

/* Runs `plan` with 1, 2, 3 and 7 threads. */
static void assert_threads_do_not_matter(const spec_round_source *source, spec_montecarlo_plan plan)
{
    const int threads[] = {1, 2, 3, 7};
    spec_montecarlo first = {0}, mc = {0};
    for (int i = 0; i < 4; i++) {
        plan.opt_pool = spec_test_pool(threads[i]);
        assert_works(spec_montecarlo_init(&mc, source, &plan, &error));
        assert_works(spec_montecarlo_run(&mc, NULL, &error));
        if (i == 0) {
            first = mc;
            continue;
        }
        assert_same_results(&first, &mc);
        spec_montecarlo_free(&mc);
    }
    spec_montecarlo_free(&first);
}

TEST(results_do_not_depend_on_the_number_of_threads)
{
    uint64_t seed = spec_test_seed();
    spec_acceptance_config config = iid(0.615, 5);
    spec_round_source source = spec_sources_acceptance(&config);
    assert_threads_do_not_matter(
        &source, (spec_montecarlo_plan){.rounds = 200123, .batch = 1000, .seed = seed});
    assert_threads_do_not_matter(
        &source, (spec_montecarlo_plan){.standard_error = 0.01, .batch = 100, .seed = seed});

    fake f;
    source = fake_source(&f);
    f.jitter = true;
    assert_threads_do_not_matter(&source, (spec_montecarlo_plan){.rounds = 33333, .seed = seed});
    assert_int_equal(f.n_init, 1 + 2 + 3 + 7);
    assert_int_equal(f.n_free, f.n_init);

    spec_model *target = NULL, *draft = NULL;
    assert_int_equal(
        spec_model_open(&target, "markov?V=4&order=1&seed=3", NULL, spec_test_context(0), NULL),
        GSL_SUCCESS);
    assert_int_equal(
        spec_model_open(&draft, "markov?V=4&order=1&seed=4", NULL, spec_test_context(0), NULL),
        GSL_SUCCESS);
    spec_decoding_config decoding = {.decoder = SPEC_DECODER_DEFAULT, .burn_in = 3};
    decoding.decoder.target = target;
    decoding.decoder.opt_draft = draft;
    decoding.decoder.policy =
        "heuristic"; /* one that learns, and must forget at the start of a batch */
    source = spec_sources_decoding(&decoding);
    assert_threads_do_not_matter(&source, (spec_montecarlo_plan){.rounds = 10007, .seed = seed});
    spec_model_close(target);
    spec_model_close(draft);
}

TEST(a_run_ends_at_its_rounds_to_the_round)
{
    const uint64_t rounds[] = {1, 99, 100, 101, 6400, 6401, 12799, 12800, 20050};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        fake f;
        spec_round_source source = fake_source(&f);
        OWNED(spec_montecarlo) mc;
        spec_montecarlo_plan plan = {
            .rounds = rounds[i], .batch = 100, .seed = 77, .opt_pool = spec_test_pool(2)};
        assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
        uint64_t batches = (rounds[i] + 99) / 100, calls = 0;
        for (; !mc.done; calls++)
            assert_int_equal(spec_montecarlo_next(&mc, NULL, NULL), GSL_SUCCESS);
        assert_int_equal(calls, (batches + SPEC_MONTECARLO_GROUP - 1) / SPEC_MONTECARLO_GROUP);
        assert_int_equal(mc.sum.tally.rounds, rounds[i]);
        assert_int_equal(mc.sum.batches, batches);
        for (uint64_t b = 0; b < batches; b++) {
            assert_int_equal(f.rounds_of[b],
                             b + 1 < batches ? 100 : rounds[i] - 100 * (batches - 1));
            assert_int_equal(f.seed_of[b], 77);
        }
        assert_int_equal(f.rounds_of[batches], 0);
        assert_int_equal(spec_montecarlo_next(&mc, NULL, NULL),
                         GSL_SUCCESS); /* no batch after the end */
        assert_int_equal(mc.sum.tally.rounds, rounds[i]);
    }
}

/* Groups that several machines compute, in any order, with any number of threads and by their
 * numbers, are added in order. */
TEST(groups_from_anywhere_add_up_to_the_same_bytes)
{
    enum { GROUPS = 5 };
    fake f, g;
    const spec_round_source source = fake_source(&f);
    const spec_montecarlo_plan plan = {.rounds = 100 * 64 * (GROUPS - 1) + 777, .seed = 9};
    OWNED(spec_montecarlo) whole, sum;
    spec_montecarlo_sum part[GROUPS];
    assert_int_equal(spec_montecarlo_init(&whole, &source, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(spec_montecarlo_groups(&whole), GROUPS);
    assert_int_equal(spec_montecarlo_run(&whole, NULL, NULL), GSL_SUCCESS);
    const spec_round_source other = fake_source(&g);
    assert_int_equal(spec_montecarlo_init(&sum, &other, &plan, NULL), GSL_SUCCESS);
    for (uint64_t i = 0; i < GROUPS; i++) {
        const uint64_t group = (i * 3 + 2) % GROUPS;
        assert_int_equal(spec_montecarlo_group(&sum, &part[group], group, NULL, NULL), GSL_SUCCESS);
    }
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(sum.done, 0);
        spec_montecarlo_add(&sum, &part[i]);
    }
    assert_int_equal(sum.done, 1);
    assert_same_results(&whole, &sum);
    assert_memory_equal(&whole.sum, &sum.sum, sizeof sum.sum);
}

/* From 2^28 rounds on batches grow; below that they keep their length. */
TEST(a_run_has_a_bounded_number_of_groups)
{
    static const struct {
        uint64_t rounds, groups;
    } cases[] = {{1, 1},
                 {65536, 1},
                 {65537, 2},
                 {1ull << 28, 4096},
                 {(1ull << 28) + 1, 4093},
                 {1000000000000ull, 4096},
                 {UINT64_MAX, 4096}};
    fake f;
    spec_round_source source = fake_source(&f);
    source.usual_batch = 1024;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spec_montecarlo_plan plan = {.rounds = cases[i].rounds};
        OWNED(spec_montecarlo) mc;
        assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
        assert_int_equal(spec_montecarlo_groups(&mc), cases[i].groups);
    }
}

/* Two routes: the running sums, and a second pass over the known results of each batch. */
TEST(batch_means_weigh_a_batch_by_its_denominator)
{
    fake f;
    spec_round_source source = fake_source(&f);
    OWNED(spec_montecarlo) mc;
    spec_montecarlo_plan plan = {.rounds = 9950, .batch = 100, .opt_pool = spec_test_pool(2)};
    assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
    double rounds = 0, emitted = 0, time = 0, passed = 0, spread[3] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (int b = 0; b < 100; b++) {
            double n = b < 99 ? 100 : 50, t = 0.27 * n * (b % 7 + 1), k = b % 3;
            if (pass == 0) {
                rounds += n;
                emitted += (k + 1) * n;
                time += t;
                passed += k > 0 ? n : 0;
                continue;
            }
            spread[0] += n * pow(k + 1 - emitted / rounds, 2);
            spread[1] += n * pow((k > 0) - passed / rounds, 2);
            spread[2] += t * pow((k + 1) * n / t - emitted / time, 2);
        }
    }
    spec_estimate found[] = {spec_montecarlo_emitted(&mc), spec_montecarlo_first(&mc),
                             spec_montecarlo_rate(&mc)};
    double mean[] = {emitted / rounds, passed / rounds, emitted / time},
           weight[] = {rounds, rounds, time};
    for (int i = 0; i < 3; i++) {
        assert_within(found[i].mean, mean[i], 1e-13);
        assert_within(found[i].se, sqrt(spread[i] / (99 * weight[i])), 1e-13);
        assert_true(found[i].df == 99);
    }
    assert_within(mc.sum.emitted.mean, mean[0], 1e-13);
}

TEST(independent_rounds_have_their_own_variance)
{
    spec_montecarlo mc = {.source.independent = true};
    mc.sum.tally.rounds = 7; /* n_accepted 0 0 0 1 2 2 2; time 14 */
    mc.sum.tally.accepted = 7;
    mc.sum.tally.emitted = 14;
    mc.sum.tally.n_accepted[0] = 3;
    mc.sum.tally.n_accepted[1] = 1;
    mc.sum.tally.n_accepted[2] = 3;
    mc.sum.tally.tested[0] = 7;
    mc.sum.tally.passed[0] = 4;
    mc.sum.tally.time = 9.1;
    spec_estimate emitted = spec_montecarlo_emitted(&mc), first = spec_montecarlo_first(&mc),
                  rate = spec_montecarlo_rate(&mc);
    assert_within(emitted.mean, 2, 0);
    assert_within(emitted.se, sqrt(6.0 / 6 / 7), 1e-15); /* squares 6, n - 1 = 6, n = 7 */
    assert_within(first.mean, 4.0 / 7, 1e-15);
    assert_within(first.se, sqrt(4.0 / 7 * 3 / 7 / 6), 1e-15);
    assert_within(rate.mean, 14 / 9.1, 1e-15);
    assert_within(rate.se, sqrt(1.0 / 7) / 1.3, 1e-15);
    assert_true(emitted.df == 6 && first.df == 6 && rate.df == 6);
}

TEST(nothing_simulated_is_not_a_number)
{
    OWNED(spec_montecarlo) mc = {0};
    assert_true(isnan(spec_montecarlo_emitted(&mc).mean) && isnan(spec_montecarlo_emitted(&mc).se));
    assert_true(isnan(spec_montecarlo_first(&mc).mean) && isnan(spec_montecarlo_rate(&mc).mean));

    spec_acceptance_config config = iid(0.27, 0); /* K = 0: no token is tested */
    spec_round_source source = spec_sources_acceptance(&config);
    assert_int_equal(spec_montecarlo_init(&mc, &source, &(spec_montecarlo_plan){.rounds = 1}, NULL),
                     GSL_SUCCESS);
    assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
    assert_true(spec_montecarlo_emitted(&mc).mean == 1 && isnan(spec_montecarlo_emitted(&mc).se));
    assert_true(isnan(spec_montecarlo_first(&mc).mean));
}

TEST(a_wished_standard_error_is_met_at_the_end_of_a_group)
{
    spec_acceptance_config config = iid(0.615, 5);
    spec_round_source source = spec_sources_acceptance(&config);
    spec_montecarlo mc;
    spec_montecarlo_plan plan = {.standard_error = 0.01,
                                 .batch = 50,
                                 .seed = spec_test_seed(),
                                 .opt_pool = spec_test_pool(2)};
    assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
    double before = INFINITY;
    while (!mc.done) {
        assert_true(before > plan.standard_error);
        assert_int_equal(spec_montecarlo_next(&mc, NULL, NULL), GSL_SUCCESS);
        before = spec_montecarlo_emitted(&mc).se;
    }
    assert_true(before <= plan.standard_error);
    assert_true(mc.sum.batches > SPEC_MONTECARLO_GROUP);
    assert_int_equal(mc.sum.batches % SPEC_MONTECARLO_GROUP, 0);
    spec_montecarlo_free(&mc);

    /* The run gives up at max_rounds, and at `rounds` if that comes first; certain outcomes need
     * one group. */
    const struct {
        double alpha, se;
        uint64_t rounds, max_rounds, expected;
    } cases[] = {{0.615, 1e-6, 0, 4321, 4321},
                 {0.615, 1e-6, 1234, 4321, 1234},
                 {0.615, 1e-6, 5000, 4321, 4321},
                 {1, 1e-6, 0, 0, 50 * SPEC_MONTECARLO_GROUP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config = iid(cases[i].alpha, 5);
        plan.standard_error = cases[i].se;
        plan.rounds = cases[i].rounds;
        plan.max_rounds = cases[i].max_rounds;
        assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
        assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
        assert_int_equal(mc.sum.tally.rounds, cases[i].expected);
        spec_montecarlo_free(&mc);
    }
}

TEST(short_runs_still_have_a_group_of_batches)
{
    fake f;
    spec_round_source source = fake_source(&f);
    OWNED(spec_montecarlo) mc;
    assert_int_equal(
        spec_montecarlo_init(&mc, &source, &(spec_montecarlo_plan){.rounds = 1000}, NULL),
        GSL_SUCCESS);
    assert_int_equal(mc.plan.batch, 16); /* 1000/64, upwards */
    spec_montecarlo_free(&mc);
    assert_int_equal(spec_montecarlo_init(
                         &mc, &source,
                         &(spec_montecarlo_plan){.rounds = 640, .opt_pool = spec_test_pool(100)},
                         NULL),
                     0);
    assert_int_equal(mc.plan.batch, 10);
    assert_int_equal(mc.threads, SPEC_MONTECARLO_GROUP);
    spec_montecarlo_free(&mc);
    assert_int_equal(
        spec_montecarlo_init(&mc, &source, &(spec_montecarlo_plan){.rounds = 1000000}, NULL),
        GSL_SUCCESS);
    assert_int_equal(mc.plan.batch, 100);
}

TEST(the_first_failure_by_number_is_reported_and_nothing_is_lost)
{
    for (int threads = 1; threads <= 7; threads += 2) {
        fake f;
        spec_round_source source = fake_source(&f);
        f.fails_at[0] = 101;
        f.fails_at[1] = 99;
        f.jitter = true;
        OWNED(spec_montecarlo) mc, clean;
        spec_montecarlo_plan plan = {
            .rounds = 20000, .batch = 100, .opt_pool = spec_test_pool(threads)};
        assert_works(spec_montecarlo_init(&mc, &source, &plan, &error));
        assert_fails(spec_montecarlo_run(&mc, NULL, &error), GSL_ERUNAWAY, "batch 99 broke");
        assert_int_equal(mc.sum.batches, 64);
        assert_int_equal(mc.sum.tally.rounds, 6400);
        assert_false(mc.done);
        if (threads == 1)
            assert_int_equal(f.rounds_of[100], 0); /* batches after the failed one are skipped */

        /* repaired: the run continues as if it had not failed */
        f.fails_at[0] = f.fails_at[1] = UINT64_MAX;
        assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
        assert_int_equal(spec_montecarlo_init(&clean, &source, &plan, NULL), GSL_SUCCESS);
        assert_int_equal(spec_montecarlo_run(&clean, NULL, NULL), GSL_SUCCESS);
        assert_same_results(&clean, &mc);
    }
}

TEST(a_worker_that_cannot_start_leaves_nothing_behind)
{
    fake f;
    spec_round_source source = fake_source(&f);
    f.fail_workers_from = 2;
    OWNED(spec_montecarlo) mc;
    spec_montecarlo_plan plan = {.rounds = 20000, .opt_pool = spec_test_pool(5)};
    assert_fails(spec_montecarlo_init(&mc, &source, &plan, &error), GSL_ENOMEM,
                 "worker 2 has no memory");
    assert_int_equal(f.n_init, 2);
    assert_int_equal(f.n_free, 2);
    assert_null(mc.worker);
}

TEST(an_interrupted_run_keeps_its_groups_and_can_go_on)
{
    int stop = 0;
    fake f;
    spec_round_source source = fake_source(&f);
    f.stop = &stop;
    f.stops_at = 70;
    OWNED(spec_montecarlo) mc, clean;
    spec_montecarlo_plan plan = {.rounds = 20000, .batch = 100, .opt_pool = spec_test_pool(2)};
    assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
    assert_fails(spec_montecarlo_run(&mc, &stop, &error), GSL_EFAILED, "interrupted");
    assert_int_equal(mc.sum.batches, 64);
    assert_int_equal(f.rounds_of[80], 0); /* the group did not run to its end */

    stop = 0;
    f.stop = NULL;
    assert_works(spec_montecarlo_run(&mc, &stop, &error));
    assert_int_equal(spec_montecarlo_init(&clean, &source, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(spec_montecarlo_run(&clean, NULL, NULL), GSL_SUCCESS);
    assert_same_results(&clean, &mc);
}

TEST(plans_without_an_end_are_refused)
{
    fake f;
    spec_round_source source = fake_source(&f);
    spec_montecarlo mc;
    spec_error error = {""};
    const spec_montecarlo_plan bad[] = {{0},
                                        {.standard_error = -0.27},
                                        {.standard_error = NAN, .rounds = 1},
                                        {.rounds = 1, .standard_error = -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(spec_montecarlo_init(&mc, &source, &bad[i], &error), GSL_EINVAL);
        assert_null(mc.slot);
    }
    assert_string_equal(error.text, "the standard error is -1: it must not be negative");
    assert_int_equal(f.n_init, 0);
}

TEST(memory_is_flat_in_the_number_of_rounds)
{
    spec_acceptance_config config = iid(0.615, 5);
    spec_round_source source = spec_sources_acceptance(&config);
    OWNED(spec_montecarlo) mc;
    spec_montecarlo_plan plan = {
        .rounds = 100 * 64 * 300, .batch = 100, .opt_pool = spec_test_pool(2)};
    assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(spec_montecarlo_next(&mc, NULL, NULL), GSL_SUCCESS);
    size_t before = mallinfo2().uordblks;
    assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
    assert_in_range(mallinfo2().uordblks, 0,
                    /* one word per batch would be 150 kB; OpenMP may use a little */
                    before + 4096);
}
