/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "tests/bench/bench.h"
#include "tools/validate/evidence/evidence.h"
#include "tools/validate/samplers/sampler_host.h"

#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 256, THREADS_MAX = 8 };

/* Times a whole round, with and without counting its results. */
typedef struct {
    const char *sampler; /* '@': the folder of the test builds */
    const char *fixture;
    int threads, batch;
    bool here;           /* call the same functions in this process instead of a child */
    bool counts;
} round_setup;

typedef struct {
    spec_subject subject;
    spec_sampler_host *caller;
    void *memory;
    spec_round_batch batch;
    spec_evidence *evidence;
    gsl_rng *rng;
    uint64_t index;
} lane;

typedef struct {
    const round_setup *setup;
    spec_fixture fixture;
    void *library;
    spec_sampler_api api;
    lane lane[THREADS_MAX];
} rounds;

static void close_rounds(void *state)
{
    rounds *r = state;
    for (int t = 0; t < r->setup->threads; t++) {
        lane *l = &r->lane[t];
        spec_subject_close(&l->subject);
        spec_sampler_host_free(l->caller);
        free(l->memory);
        spec_evidence_free(l->evidence);
        if (l->rng != NULL) gsl_rng_free(l->rng);
    }
    if (r->library != NULL) dlclose(r->library);
    spec_fixture_close(&r->fixture);
    free(r);
}

/* The sampler with '@' replaced by the folder above this program's; false if it was not built. */
static bool find_sampler(char path[2 * PATH_MAX], const char *name)
{
    char folder[PATH_MAX];
    const char *at = strchr(name, '@');
    const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n <= 0) return false;
    folder[n] = '\0';
    for (int i = 0; i < 2; i++) *strrchr(folder, '/') = '\0';
    if (at == NULL) strcpy(path, name);
    else snprintf(path, 2 * PATH_MAX, "%.*s%s%s", (int)(at - name), name, folder, at + 1);
    return at == NULL || access(path + (at - name), R_OK) == 0;
}

static bool load_here(rounds *r, const char *path)
{
    r->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (r->library == NULL) return false;
    void *symbol[] = {
        dlsym(r->library, "spec_sampler_describe"), dlsym(r->library, "spec_sampler_open"),
        dlsym(r->library, "spec_sampler_step"), dlsym(r->library, "spec_sampler_close")};
    memcpy(&r->api, symbol, sizeof symbol);
    return true;
}

static int open_lane(rounds *r, lane *l, const char *path)
{
    const round_setup *s = r->setup;
    const int nodes = r->fixture.n_nodes;
    spec_sampler_about about = {.size = sizeof about};
    int status = GSL_SUCCESS;
    l->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    SPEC_TRY(spec_evidence_init(&l->evidence, &r->fixture, SPEC_SCOPE_VERIFY, NULL));
    if (!s->here) {
        spec_subject_limits limits = SPEC_SUBJECT_LIMITS_DEFAULT;
        limits.supervisor = "/proc/self/exe";
        SPEC_TRY(spec_subject_open(&l->subject, path, &limits, NULL));
        SPEC_TRY(spec_subject_begin(&l->subject, &r->fixture, SPEC_SCOPE_VERIFY, s->batch, NULL));
        return status;
    }
    l->memory = calloc(1, spec_round_batch_bytes(s->batch, nodes, 0));
    if (l->memory == NULL) return GSL_ENOMEM;
    spec_round_batch_lay(&l->batch, l->memory, s->batch, nodes, 0);
    r->api.describe(&about);
    SPEC_TRY(spec_sampler_host_init(&l->caller, &r->api, &about, NULL, NULL));
    SPEC_TRY(spec_sampler_host_begin(l->caller, &r->fixture, SPEC_SCOPE_VERIFY, s->batch, NULL));
done:
    return status;
}

static const char *open_rounds(void **ret_state, const void *setup)
{
    char path[2 * PATH_MAX];
    const spec_fixture_kind *kind;
    const char *reason = "it could not be opened";
    rounds *r = calloc(1, sizeof *r);
    if (r == NULL) return "no memory";
    r->setup = setup;
    if (!find_sampler(path, r->setup->sampler)) reason = "it was not built";
    else if (spec_fixture_find(&kind, r->setup->fixture, NULL) != GSL_SUCCESS)
        reason = "no such fixture";
    else if (spec_fixture_open(&r->fixture, kind, NULL) == GSL_SUCCESS &&
             (!r->setup->here || load_here(r, path)))
        reason = NULL;
    for (int t = 0; t < r->setup->threads && reason == NULL; t++)
        if (open_lane(r, &r->lane[t], path) != GSL_SUCCESS) reason = "it could not be opened";
    *ret_state = r;
    if (reason != NULL) close_rounds(r);
    return reason;
}

static bool run_batch(const round_setup *s, lane *l)
{
    spec_round_batch *batch = s->here ? &l->batch : &l->subject.batch;
    spec_rng_stream(l->rng, 42, l->index);
    spec_evidence_ask(l->evidence, batch, s->batch, l->index, 42, l->rng);
    const int status = s->here ? spec_sampler_host_run(l->caller, batch, s->batch, NULL)
                               : spec_subject_run(&l->subject, s->batch, NULL);
    if (s->counts) spec_evidence_add(l->evidence, batch, s->batch, l->index, l->rng);
    l->index += (uint64_t)s->batch;
    return status == GSL_SUCCESS;
}

static uint64_t run_rounds(void *state, uint64_t n)
{
    rounds *r = state;
    const round_setup *s = r->setup;
    const uint64_t a_turn = (uint64_t)s->threads * (uint64_t)s->batch,
                   each = (n + a_turn - 1) / a_turn;
#pragma omp parallel for num_threads(s->threads) schedule(static, 1)
    for (int t = 0; t < s->threads; t++)
        for (uint64_t b = 0; b < each; b++)
            if (!run_batch(s, &r->lane[t])) abort();
    return each * a_turn;
}

#define ROW(name, ...)                                                                             \
    .work = name, .unit = "rounds", .init = open_rounds, .run = run_rounds, .free = close_rounds,  \
    .wall = true, .setup = &(const round_setup)                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* V = 64. The rows of blind-64 are contiguous; those of llm-64 are gathered for each round, and
 * checked again. */
const spec_bench_row spec_bench_conformance[] = {
    {ROW("in this process: verified", "@/plugins/quick.so", "blind-64", 2, BATCH, true, false)},
    {ROW("in this process: counted too", "@/plugins/quick.so", "blind-64", 2, BATCH, true, true)},
    {ROW("C ABI: verified", "@/plugins/quick.so", "blind-64", 2, BATCH, false, false), .asked = 5e6,
     .yardstick = "row:in this process: verified"},
    {ROW("C ABI: counted too", "@/plugins/quick.so", "blind-64", 2, BATCH, false, true),
     .yardstick = "row:in this process: counted too"},
    {ROW("C ABI: verified, rows gathered", "@/plugins/quick.so", "llm-64", 2, BATCH, false, false),
     .yardstick = "row:in this process: verified"},
    {ROW("C ABI: a newcomer's, verified", "@/plugins/newcomer.so", "blind-64", 2, BATCH, false,
         false),
     .yardstick = "row:in this process: verified"},
    {ROW("C ABI: one thread", "@/plugins/quick.so", "blind-64", 1, BATCH, false, false),
     .yardstick = "row:in this process: verified"},
    {ROW("C ABI: one round per call", "@/plugins/quick.so", "blind-64", 1, 1, false, false),
     .yardstick = "row:in this process: verified"},
    {ROW("pipe: a process in C, verified", "exec:@/clients/token_client", "blind-64", 1, BATCH,
         false, false),
     .asked = 200e3},
    {ROW("pipe: the same, one round a question", "exec:@/clients/token_client", "batch-1", 1, BATCH,
         false, false)},
    {ROW("pipe: the same, counted too", "exec:@/clients/token_client", "blind-64", 1, BATCH, false,
         true)},
    {ROW("pipe: a process in Python, verified",
         "exec:python3 tools/validate/adapters/token_sampler.py", "blind-64", 1, BATCH, false,
         false),
     .asked = 20e3},
    {ROW("pipe: the same, by lines of JSON",
         "exec:python3 tools/validate/adapters/token_sampler.py json", "blind-64", 1, BATCH, false,
         false)},
    {ROW("pipe: a process in Perl, by lines of JSON",
         "exec:perl tools/validate/adapters/token_sampler.pl", "blind-64", 1, BATCH, false, false)},
    {.work = NULL},
};
