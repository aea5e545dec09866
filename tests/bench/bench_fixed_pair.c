/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "sim/fixed_pair.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCK = 1 << 15 };

/* Two rows over V tokens, the same as in fixed_pair.py: Zipf laws of exponents 1.1 and 1.0, the
 * draft's shifted; or weights of a flat Dirichlet row and a noisy copy of it. */
typedef struct {
    int vocab;
    bool zipf;
} pair_setup;

typedef struct {
    spec_fixed_pair pair;
    spec_rng_state rng;
    uint32_t token[BLOCK];
    uint64_t accepted;
} steps;

static void close_steps(void *state)
{
    spec_fixed_pair_free(&((steps *)state)->pair);
    free(state);
}

static const char *open_steps(void **ret_state, const void *setup)
{
    const pair_setup *s = setup;
    steps *state = calloc(1, sizeof *state);
    double *target = malloc((size_t)s->vocab * sizeof *target),
           *draft = malloc((size_t)s->vocab * sizeof *draft);
    const char *reason = "no memory";
    if (state == NULL || target == NULL || draft == NULL) goto done;
    state->rng = spec_rng_stream_state(42, 0);
    for (int i = 0; i < s->vocab; i++) {
        const double weight = -log1p(-spec_rng_next_double(&state->rng)),
                     noise = -log1p(-spec_rng_next_double(&state->rng));
        target[i] = s->zipf ? pow(i + 1, -1.1) : weight;
        draft[i] = s->zipf ? pow(i + 3, -1.0) : weight * (0.27 + noise);
    }
    if (spec_fixed_pair_init(&state->pair, target, draft, s->vocab, NULL) == GSL_SUCCESS)
        reason = NULL;
done:
    free(target);
    free(draft);
    if (reason == NULL) *ret_state = state;
    else free(state);
    return reason;
}

static uint64_t run_steps(void *state, uint64_t n)
{
    steps *s = state;
    uint64_t done = 0;
    for (; done < n; done += BLOCK) spec_fixed_pair_steps(&s->pair, &s->rng, BLOCK, s->token);
    return done;
}

static uint64_t run_rounds(void *state, uint64_t n)
{
    enum { K = 5 };
    steps *s = state;
    int token[K + 1];
    for (uint64_t i = 0; i < n; i++)
        s->accepted += (uint64_t)spec_fixed_pair_round(&s->pair, &s->rng, K, token);
    return n;
}

static const pair_setup zipf = {32000, true}, dirichlet = {32000, false}, small = {256, false},
                        large = {256000, true};

#define STEPS(name, of)                                                                            \
    .work = name, .unit = "steps", .init = open_steps, .run = run_steps, .free = close_steps,      \
    .setup = &of

const spec_bench_row spec_bench_fixed_pair[] = {
    {STEPS("fixed pair, V = 32,000, Zipf", zipf), .yardstick = "fixed_pair.py:cdf", .asked = 50e6,
     .asked_ratio = 8.0},
    {STEPS("fixed pair, V = 32,000, Dirichlet", dirichlet), .yardstick = "fixed_pair.py:cdf",
     .asked = 50e6, .asked_ratio = 8.0},
    {STEPS("fixed pair, against its words", zipf), .yardstick = "row:PCG64-DXSM, 64-bit words",
     .per = 3.0},
    {STEPS("fixed pair, V = 256", small), .yardstick = "row:fixed pair, V = 32,000, Zipf"},
    {STEPS("fixed pair, V = 256,000", large), .yardstick = "row:fixed pair, V = 32,000, Zipf"},
    {.work = "fixed pair, whole rounds of K = 5",
     .unit = "rounds",
     .init = open_steps,
     .run = run_rounds,
     .free = close_steps,
     .setup = &zipf,
     .yardstick = "row:loop, Zipf V = 32,000"},
    {.work = NULL},
};
