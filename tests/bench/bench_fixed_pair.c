/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "sim/fixed_pair.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdlib.h>

/* Zipf laws over V tokens, of exponents 1.1 and 1.0; the draft's is shifted. */
enum { V = 32000, K = 5 };

typedef struct {
    spec_fixed_pair pair;
    spec_rng_state rng;
    uint64_t accepted;
} rounds;

static void close_rounds(void *state)
{
    spec_fixed_pair_free(&((rounds *)state)->pair);
    free(state);
}

static const char *open_rounds(void **ret_state, const void *setup)
{
    (void)setup;
    static double target[V], draft[V];
    rounds *r = calloc(1, sizeof *r);
    if (r == NULL) return "no memory";
    r->rng = spec_rng_stream_state(42, 0);
    for (int i = 0; i < V; i++) {
        target[i] = pow(i + 1, -1.1);
        draft[i] = pow(i + 3, -1.0);
    }
    if (spec_fixed_pair_init(&r->pair, target, draft, V, NULL) != GSL_SUCCESS) {
        free(r);
        return "no memory";
    }
    *ret_state = r;
    return NULL;
}

static uint64_t run_rounds(void *state, uint64_t n)
{
    rounds *r = state;
    int token[K + 1];
    for (uint64_t i = 0; i < n; i++)
        r->accepted += (uint64_t)spec_fixed_pair_round(&r->pair, &r->rng, K, token);
    return n;
}

const spec_bench_row spec_bench_fixed_pair[] = {
    {.work = "fixed pair, whole rounds of K = 5",
     .unit = "rounds",
     .init = open_rounds,
     .run = run_rounds,
     .free = close_rounds,
     .yardstick = "row:loop, Zipf V = 32,000"},
    {.work = NULL},
};
