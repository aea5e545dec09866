#include "sim/verify/float_rows.h"
#include "sim/chance/rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PAIRS pairs of rows take 1 GB, far more than any cache holds; each step reads the next pair. The rows of DISTINCT pairs are copied
 * over and over: what costs is where they are, not what they say. */
enum { V = 32000, PAIRS = 4096, DISTINCT = 16 };

typedef struct {
    const char *isa;
    float *row; /* (PAIRS, 2, V) draft, target */
    spec_rng_state rng;
    size_t next;
    uint64_t accepted;
} rows;

/* Shared by the rows of the table and counted, for it is large; made when first asked for. */
static float *shared;
static int shared_by;

static void fill_pair(float *draft, float *target, spec_rng_state *rng)
{
    double sum[2] = {0};
    for (int i = 0; i < V; i++) {
        const double weight = -log1p(-spec_rng_next_double(rng)), noise = -log1p(-spec_rng_next_double(rng));
        target[i] = (float)weight;
        draft[i] = (float)(weight * (0.27 + noise));
        sum[0] += draft[i];
        sum[1] += target[i];
    }
    for (int i = 0; i < V; i++) {
        draft[i] = (float)(draft[i] / sum[0]);
        target[i] = (float)(target[i] / sum[1]);
    }
}

static float *share_rows(void)
{
    const size_t pair = 2 * (size_t)V, size = PAIRS * pair * sizeof *shared;
    if (shared == NULL) {
        shared = aligned_alloc(64, size);
        if (shared == NULL) return NULL;
        spec_rng_state rng = spec_rng_stream_state(42, 0);
        for (size_t i = 0; i < DISTINCT; i++) fill_pair(shared + i * pair, shared + i * pair + V, &rng);
        for (size_t i = DISTINCT; i < PAIRS; i++)
            memcpy(shared + i * pair, shared + (i - DISTINCT) * pair, pair * sizeof *shared);
    }
    shared_by++;
    return shared;
}

static void close_rows(void *state)
{
    free(state);
    if (--shared_by > 0) return;
    free(shared);
    shared = NULL;
}

static const char *open_rows(void **ret_state, const void *isa)
{
    if (!spec_bench_choose_isa(isa)) return "this machine lacks the instructions";
    rows *r = calloc(1, sizeof *r);
    if (r == NULL || (r->row = share_rows()) == NULL) {
        free(r);
        return "no memory";
    }
    r->isa = isa;
    r->rng = spec_rng_stream_state(42, 1);
    *ret_state = r;
    return NULL;
}

static uint64_t run_steps(void *state, uint64_t n)
{
    rows *r = state;
    spec_bench_choose_isa(r->isa);
    const spec_float_rows_kernels *kernels = spec_float_rows_kernels_of(spec_cpu_isa());
    for (uint64_t i = 0; i < n; i++) {
        const float *draft = r->row + 2 * (size_t)V * r->next, *target = draft + V;
        bool accepted;
        spec_float_rows_step(kernels, target, draft, V, &r->rng, &accepted);
        r->accepted += accepted;
        r->next = (r->next + 1) % PAIRS;
    }
    return n;
}

/* Bytes that a step touches, counted: the draft row up to the drafted token, and after a rejection the rest of it and the target's. Run
 * as work in bytes, so that its rate stands beside the memory's. */
static uint64_t run_bytes(void *state, uint64_t n)
{
    rows *r = state;
    uint64_t bytes = 0;
    while (bytes < n) {
        spec_rng_state before = r->rng;
        const float *draft = r->row + 2 * (size_t)V * r->next;
        const uint64_t accepted = r->accepted;
        run_steps(state, 1);
        /* The token is near the share u of the row, whose entries are alike. */
        bytes += r->accepted > accepted ? (uint64_t)(spec_rng_next_double(&before) * V * sizeof *draft)
                                        : 2 * (uint64_t)V * sizeof *draft;
    }
    return bytes;
}

#define ROWS(name, of, function, counted)                                                                              \
    .work = name, .unit = counted, .init = open_rows, .run = function, .free = close_rows, .setup = of

const spec_bench_row spec_bench_float_rows[] = {
    {ROWS("float rows, V = 32,000, from memory", NULL, run_steps, "steps"), .yardstick = "float_rows.py:rows", .asked = 90e3,
     .asked_ratio = 15.0},
    {ROWS("float rows, AVX2", "avx2", run_steps, "steps"), .yardstick = "float_rows.py:rows"},
    {ROWS("float rows, portable C", "portable", run_steps, "steps"), .yardstick = "float_rows.py:rows"},
    {ROWS("float rows, bytes touched", NULL, run_bytes, "B"), .yardstick = "row:limit: memory read, 256 MB"},
    {.work = NULL},
};
