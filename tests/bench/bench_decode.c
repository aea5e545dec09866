/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/decode.h"
#include "tests/bench/bench.h"
#include "tests/support/contexts.h"

#include <stdlib.h>

typedef struct {
    const char *target, *draft, *drafting, *rule;
    int K;
} loop_setup;

typedef struct {
    spec_model *target, *draft;
    spec_decoder decoder;
    gsl_rng *rng;
    spec_tally tally;
} loop;

static void close_loop(void *state)
{
    loop *l = state;
    spec_decoder_free(&l->decoder);
    spec_model_close(l->target);
    spec_model_close(l->draft);
    if (l->rng != NULL) gsl_rng_free(l->rng);
    free(l);
}

static const char *open_loop(void **ret_state, const void *setup)
{
    const loop_setup *s = setup;
    loop *l = calloc(1, sizeof *l);
    if (l == NULL) return "no memory";
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    l->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    if (spec_model_open(&l->target, s->target, NULL, spec_test_context(0), NULL) != GSL_SUCCESS)
        goto failed;
    if (spec_model_open(&l->draft, s->draft, l->target, spec_test_context(0), NULL) != GSL_SUCCESS)
        goto failed;
    config.target = l->target;
    config.opt_draft = l->draft;
    config.drafting = s->drafting;
    config.rule = s->rule;
    config.K = s->K;
    if (spec_decoder_init(&l->decoder, &config, NULL) != GSL_SUCCESS) goto failed;
    *ret_state = l;
    return NULL;
failed:
    close_loop(l);
    return "the models could not be opened";
}

static uint64_t run_loop(void *state, uint64_t n)
{
    loop *l = state;
    spec_chance chance = spec_chance_sampled(l->rng);
    spec_rng_stream(l->rng, 42, l->tally.rounds);
    if (spec_decoder_reset(&l->decoder, NULL, 0, NULL) != GSL_SUCCESS) return 0;
    for (uint64_t i = 0; i < n; i++) {
        if (spec_decoder_round(&l->decoder, &chance, &l->tally, NULL) != GSL_SUCCESS) return 0;
        if (l->decoder.n_context > 16384 &&
            spec_decoder_reset(&l->decoder, NULL, 0, NULL) != GSL_SUCCESS)
            return 0;
    }
    return n;
}

static const loop_setup markov = {"markov?V=4&order=1&seed=3", "markov?V=4&order=1&seed=4", "chain",
                                  "token", 5},
                        markov_match = {"markov?V=4&order=1&seed=3", "markov?V=4&order=1&seed=4",
                                        "chain", "match", 5},
                        markov_greedy = {"markov?V=4&order=1&seed=3", "markov?V=4&order=1&seed=4",
                                         "greedy", "token", 5},
                        vocab_64 = {"markov?V=64&order=1&seed=3", "markov?V=64&order=1&seed=4",
                                    "chain", "token", 5},
                        zipf = {"zipf?V=32000&s=1.1", "zipf?V=32000&s=1.0", "chain", "token", 5};

#define LOOP(name, of)                                                                             \
    .work = name, .unit = "rounds", .init = open_loop, .run = run_loop, .free = close_loop,        \
    .setup = &of

const spec_bench_row spec_bench_decode[] = {
    {LOOP("loop, Markov V = 4, K = 5, token rule", markov), .yardstick = "decode.py:choice",
     .asked = 2e6},
    {LOOP("loop, match rule", markov_match),
     .yardstick = "row:loop, Markov V = 4, K = 5, token rule"},
    {LOOP("loop, greedy draft", markov_greedy),
     .yardstick = "row:loop, Markov V = 4, K = 5, token rule"},
    {LOOP("loop, Markov V = 64", vocab_64),
     .yardstick = "row:loop, Markov V = 4, K = 5, token rule"},
    {LOOP("loop, Zipf V = 32,000", zipf), .yardstick = "row:loop, Markov V = 4, K = 5, token rule"},
    {.work = NULL},
};
