/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/sources.h"
#include "tests/bench/bench.h"
#include "tests/support/contexts.h"

#include <omp.h>
#include <stdlib.h>

typedef struct {
    const spec_acceptance_config *config;
    int threads;
    uint64_t seed;
} engine;

static const spec_acceptance_config iid = {.process = {.kind = SPEC_PROCESS_IID, .alpha = 0.8},
                                           .K = 5,
                                           .costs = {.draft = 0.1, .verify = 1.0}};

static const char *open_engine(void **ret_state, const void *setup)
{
    const int threads = *(const int *)setup;
    if (threads > omp_get_num_procs()) return "this machine has fewer processors";
    engine *e = calloc(1, sizeof *e);
    if (e == NULL) return "no memory";
    *e = (engine){.config = &iid, .threads = threads, .seed = 42};
    *ret_state = e;
    return NULL;
}

/* Whole groups of batches, as in a run that uses more threads. */
static uint64_t run_engine(void *state, uint64_t n)
{
    engine *e = state;
    spec_round_source source = spec_sources_acceptance(e->config);
    const uint64_t group = SPEC_MONTECARLO_GROUP * source.usual_batch,
                   rounds = (n + group - 1) / group * group;
    const spec_montecarlo_plan plan = {
        .rounds = rounds, .seed = e->seed++, .opt_pool = spec_test_pool(e->threads)};
    spec_montecarlo mc;
    if (spec_montecarlo_init(&mc, &source, &plan, NULL) != GSL_SUCCESS) return 0;
    const bool ran = spec_montecarlo_run(&mc, NULL, NULL) == GSL_SUCCESS;
    spec_montecarlo_free(&mc);
    return ran ? rounds : 0;
}

static const int one = 1, two = 2, four = 4;

#define ENGINE(name, of)                                                                           \
    .work = name, .unit = "rounds", .init = open_engine, .run = run_engine, .free = free,          \
    .setup = &of, .wall = true

const spec_bench_row spec_bench_montecarlo[] = {
    {ENGINE("Monte Carlo, 1 thread", one), .yardstick = "row:iid rounds, K = 5, alpha = .8"},
    {ENGINE("Monte Carlo, 2 threads", two), .yardstick = "row:Monte Carlo, 1 thread",
     .asked_ratio = 1.9},
    {ENGINE("Monte Carlo, 4 threads", four), .yardstick = "row:Monte Carlo, 1 thread"},
    {.work = NULL},
};
