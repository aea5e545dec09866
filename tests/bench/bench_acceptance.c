/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance.h"
#include "tests/bench/bench.h"

#include <stdlib.h>

typedef struct {
    const char *spec;
    double alpha;
    int K;
    uint64_t batch; /* rounds per stream of random numbers; 0: all requested rounds */
    const char *isa;
} rounds_setup;

typedef struct {
    rounds_setup setup;
    spec_process process;
    spec_tally tally;
    uint64_t stream;
} rounds;

static const char *open_rounds(void **ret_state, const void *setup)
{
    rounds *r = calloc(1, sizeof *r);
    if (r == NULL) return "no memory";
    r->setup = *(const rounds_setup *)setup;
    if (!spec_bench_choose_isa(r->setup.isa) ||
        spec_acceptance_process_init(&r->process, r->setup.spec, r->setup.alpha, NULL) !=
            GSL_SUCCESS) {
        free(r);
        return "this machine lacks the instructions";
    }
    *ret_state = r;
    return NULL;
}

static uint64_t run_rounds(void *state, uint64_t n)
{
    rounds *r = state;
    const uint64_t batch = r->setup.batch > 0 ? r->setup.batch : n;
    uint64_t done = 0;
    spec_bench_choose_isa(r->setup.isa);
    for (; done < n; done += batch) {
        spec_acceptance_rounds(&r->tally, &r->process, r->setup.K, batch, 42, r->stream++);
    }
    return done;
}

static const rounds_setup iid = {"iid", 0.8, 5, 0, NULL}, iid_avx512 = {"iid", 0.8, 5, 0, "avx512"},
                          iid_avx2 = {"iid", 0.8, 5, 0, "avx2"},
                          iid_neon = {"iid", 0.8, 5, 0, "neon"},
                          iid_portable = {"iid", 0.8, 5, 0, "portable"},
                          iid_batches = {"iid", 0.8, 5, 4096, NULL},
                          iid_low = {"iid", 0.3, 16, 0, NULL}, iid_one = {"iid", 0.8, 1, 0, NULL},
                          decay = {"decay?rate=0.95", 0.8, 5, 0, NULL},
                          markov = {"markov?rho=0.5&spread=0.2", 0.8, 5, 0, NULL};

#define ROUNDS(name, of)                                                                           \
    .work = name, .unit = "rounds", .init = open_rounds, .run = run_rounds, .free = free,          \
    .setup = &of

const spec_bench_row spec_bench_acceptance[] = {
    {ROUNDS("iid rounds, K = 5, alpha = .8", iid), .yardstick = "acceptance.py:cumprod",
     .asked = 400e6, .asked_ratio = 25.0},
    {ROUNDS("iid, against tuned NumPy", iid), .yardstick = "acceptance.py:tails"},
    {ROUNDS("iid, against the bare lanes", iid), .yardstick = "row:lanes, 32-bit words",
     .per = 5.0},
    {ROUNDS("iid, AVX-512", iid_avx512), .yardstick = "acceptance.py:cumprod"},
    {ROUNDS("iid, AVX2", iid_avx2), .yardstick = "acceptance.py:cumprod"},
    {ROUNDS("iid, NEON", iid_neon), .yardstick = "acceptance.py:cumprod"},
    {ROUNDS("iid, portable C", iid_portable), .yardstick = "acceptance.py:cumprod"},
    {ROUNDS("iid, a stream for 4096 rounds", iid_batches),
     .yardstick = "row:iid rounds, K = 5, alpha = .8"},
    {ROUNDS("iid, K = 1", iid_one), .yardstick = "row:lanes, 32-bit words"},
    {ROUNDS("iid, K = 16, alpha = .3", iid_low), .yardstick = "row:lanes, 32-bit words",
     .per = 16.0},
    {ROUNDS("decay, rate = .95, K = 5", decay), .yardstick = "row:iid rounds, K = 5, alpha = .8"},
    {ROUNDS("markov, K = 5, two words a token", markov),
     .yardstick = "row:iid rounds, K = 5, alpha = .8", .per = 2.0},
    {.work = NULL},
};
