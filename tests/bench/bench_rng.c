/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/lanes.h"
#include "sim/chance/rng.h"
#include "tests/bench/bench.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

/* Arrays of 32 kB stay in the L1 cache, so that memory does not limit the generator. */
enum { WORDS = 4096, MEMORY = 1 << 25 };

typedef struct {
    const char *isa; /* instruction set of the lanes; NULL: the best */
    spec_lanes lanes;
    gsl_rng *gsl;
    uint64_t *large; /* (MEMORY) or NULL */
    uint64_t word[WORDS];
    volatile double sink;
} generators;

static const char *open_lanes(void **ret_state, const void *isa)
{
    if (!spec_bench_choose_isa(isa)) return "this machine lacks the instructions";
    generators *g = calloc(1, sizeof *g);
    if (g == NULL) return "no memory";
    g->isa = isa;
    spec_lanes_init(&g->lanes, 42, 0);
    *ret_state = g;
    return NULL;
}

static const char *open_gsl(void **ret_state, const void *type)
{
    const char *reason = open_lanes(ret_state, NULL);
    if (reason == NULL)
        ((generators *)*ret_state)->gsl = gsl_rng_alloc(*(const gsl_rng_type *const *)type);
    return reason;
}

static const char *open_memory(void **ret_state, const void *setup)
{
    const char *reason = open_lanes(ret_state, setup);
    if (reason != NULL) return reason;
    generators *g = *ret_state;
    g->large = malloc(MEMORY * sizeof *g->large);
    if (g->large == NULL) {
        free(g);
        return "no memory";
    }
    memset(g->large, 1, MEMORY * sizeof *g->large);
    return NULL;
}

static void close_generators(void *state)
{
    generators *g = state;
    gsl_rng_free(g->gsl);
    free(g->large);
    free(g);
}

static uint64_t fill_lanes(void *state, uint64_t n)
{
    generators *g = state;
    uint64_t done = 0;
    spec_bench_choose_isa(g->isa);
    for (; done < n; done += 2 * WORDS)
        spec_lanes_fill(&g->lanes, (uint32_t *)(void *)g->word, 2 * WORDS / SPEC_LANES);
    return done;
}

static uint64_t open_streams(void *state, uint64_t n)
{
    generators *g = state;
    for (uint64_t i = 0; i < n; i++) spec_lanes_init(&g->lanes, 42, i);
    return n;
}

static uint64_t gsl_uniforms(void *state, uint64_t n)
{
    generators *g = state;
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++) sum += gsl_rng_uniform(g->gsl);
    g->sink = sum;
    return n;
}

/* Counts bytes; 256 MB exceed every cache. */
static uint64_t read_memory(void *state, uint64_t n)
{
    generators *g = state;
    uint64_t done = 0, sum = 0;
    for (; done < n; done += MEMORY * sizeof *g->large) {
        for (size_t i = 0; i < MEMORY; i++) sum += g->large[i];
    }
    g->sink = (double)sum;
    return done;
}

#define LANES(name, isa)                                                                           \
    {                                                                                              \
        .work = name, .unit = "words", .init = open_lanes, .run = fill_lanes,                      \
        .free = close_generators, .setup = isa, .yardstick = "rng.py:words32"                      \
    }

const spec_bench_row spec_bench_rng[] = {
    LANES("lanes, 32-bit words", NULL),
    LANES("lanes, AVX-512", "avx512"),
    LANES("lanes, AVX2", "avx2"),
    LANES("lanes, NEON", "neon"),
    LANES("lanes, portable C", "portable"),
    {.work = "lanes, opening a stream",
     .unit = "streams",
     .init = open_lanes,
     .run = open_streams,
     .free = close_generators},
    {.work = "PCG64-DXSM, gsl_rng_uniform",
     .unit = "doubles",
     .init = open_gsl,
     .run = gsl_uniforms,
     .free = close_generators,
     .setup = &spec_rng_pcg64dxsm,
     .yardstick = "row:GSL's mt19937, gsl_rng_uniform"},
    {.work = "GSL's mt19937, gsl_rng_uniform",
     .unit = "doubles",
     .init = open_gsl,
     .run = gsl_uniforms,
     .free = close_generators,
     .setup = &gsl_rng_mt19937},
    {.work = "limit: memory read, 256 MB",
     .unit = "B",
     .init = open_memory,
     .run = read_memory,
     .free = close_generators},
    {.work = NULL},
};
