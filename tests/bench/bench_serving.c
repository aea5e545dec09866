/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "sim/serving/serving_run.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *lengths;
    double rate; /* 0: closed, 128 slots */
    int prompt;
    int64_t blocks;
    bool counts_requests; /* else rounds */
    const char *isa;
} serving_setup;

typedef struct {
    serving_setup setup;
    spec_step_cost *cost;
    spec_length_choice *lengths;
    spec_serving_plan plan;
    uint64_t stream;
} serving;

typedef struct {
    const serving_setup *setup;
    spec_rng_state rng;
    double now;
} cursor;

static void *begin(const void *self, uint64_t seed, uint64_t stream)
{
    cursor *c = malloc(sizeof *c);
    if (c != NULL) *c = (cursor){.setup = self, .rng = spec_rng_stream_state(seed, stream)};
    return c;
}

static bool next(void *self, spec_request *ret_request)
{
    cursor *c = self;
    if (c->setup->rate > 0.0) c->now -= log1p(-spec_rng_next_double(&c->rng)) / c->setup->rate;
    *ret_request = (spec_request){
        .arrival = c->now, .prompt = c->setup->prompt, .output = 256, .alpha = 0.7f, .replay = -1};
    return true;
}

static void close_serving(void *state)
{
    serving *s = state;
    spec_length_choice_free(s->lengths);
    spec_step_cost_free(s->cost);
    free(s);
}

static const char *open_serving(void **ret_state, const void *setup)
{
    serving *s = calloc(1, sizeof *s);
    if (s == NULL) return "no memory";
    s->setup = *(const serving_setup *)setup;
    if (!spec_bench_choose_isa(s->setup.isa) ||
        spec_step_cost_create(&s->cost, "step=7ms,token=21us", "round=2ms", NULL) != GSL_SUCCESS ||
        spec_length_choice_create(&s->lengths, s->setup.lengths, s->cost, NULL) != GSL_SUCCESS) {
        close_serving(s);
        return "this machine lacks the instructions";
    }
    s->plan = (spec_serving_plan){
        .requests = {&s->setup, begin, next, free},
        .cost = s->cost,
        .lengths = s->lengths,
        .closed = s->setup.rate == 0.0,
        .slots = 128,
        .budget = s->setup.prompt > 0 ? 8192 : 0,
        .blocks = s->setup.blocks,
        .block = 16,
        .measured = 2000,
    };
    *ret_state = s;
    return NULL;
}

static uint64_t run_serving(void *state, uint64_t n)
{
    serving *s = state;
    uint64_t done = 0;
    spec_bench_choose_isa(s->setup.isa);
    while (done < n) {
        spec_serving_result result;
        if (spec_serving_run(&result, &s->plan, 42, s->stream++, NULL, NULL) != GSL_SUCCESS) break;
        done += s->setup.counts_requests ? result.sums.requests : result.sums.rounds;
        spec_serving_result_free(&result);
    }
    return done;
}

static const serving_setup drafting = {.lengths = "fixed?K=3"}, plain = {.lengths = "fixed?K=0"},
                           drafting_avx2 = {.lengths = "fixed?K=3", .isa = "avx2"},
                           drafting_portable = {.lengths = "fixed?K=3", .isa = "portable"},
                           common = {.lengths = "goodput?K_max=5"},
                           each = {.lengths = "goodput-each?K_max=5"},
                           arrivals = {"fixed?K=3", 50.0, 0, 0, true, NULL},
                           prompts = {"fixed?K=3", 30.0, 512, 6000, true, NULL};

#define SERVING(name, of)                                                                          \
    .work = name, .init = open_serving, .run = run_serving, .free = close_serving, .setup = &of
#define DRAFTING "rounds, K = 3, 128 slots"

const spec_bench_row spec_bench_serving[] = {
    {SERVING(DRAFTING, drafting), .unit = "rounds", .yardstick = "serving.py:simpy_drafting",
     .asked = 50e6, .asked_ratio = 12.0},
    {SERVING("rounds, against SpecDecode-Bench", drafting), .unit = "rounds",
     .yardstick = "serving.py:specdecode_bench", .asked_ratio = 90.0},
    {SERVING("rounds, AVX2", drafting_avx2), .unit = "rounds", .yardstick = "row:" DRAFTING},
    {SERVING("rounds, portable C", drafting_portable), .unit = "rounds",
     .yardstick = "row:" DRAFTING},
    {SERVING("rounds, K = 0", plain), .unit = "rounds", .yardstick = "serving.py:simpy_plain",
     .asked = 120e6},
    {SERVING("rounds, common K by goodput", common), .unit = "rounds",
     .yardstick = "row:" DRAFTING},
    {SERVING("rounds, K of each by goodput", each), .unit = "rounds", .yardstick = "row:" DRAFTING},
    {SERVING("requests, K = 3, 50/s", arrivals), .unit = "requests", .asked = 400e3},
    {SERVING("requests with prompts and blocks", prompts), .unit = "requests", .asked = 400e3},
    {.work = NULL},
};
