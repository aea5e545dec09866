/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/sampler_host.h"

#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* UNTOUCHED: value of every output cell and guard before the call; guards must keep it. GUARDS: how
 * many cells guard each side of an output. */
enum { UNTOUCHED = -0x5eed5eed, GUARDS = 4 };

enum { TARGET, DRAFT, SIDES };

/* rows of more bytes than this are compared once per batch, not once per call */
enum { LARGE = 1 << 17 };

enum { STRIDE = 64 }; /* tokens of a context compared at a time */

struct spec_sampler_host {
    const spec_sampler_api *api;
    spec_sampler_about about;
    void *self;
    pid_t process;

    const spec_fixture *fixture;
    uint32_t scope;
    int chunk;               /* rounds per call */
    bool in_place;           /* the rows of a chain are consecutive in `given` */
    float *given[SIDES];     /* (n_states, V) in the form that the sampler wants */
    float *pristine[SIDES];  /* (n_states, V) a private copy, to detect writes */
    float *gathered[SIDES];  /* (chunk, nodes+1, V); NULL if in_place */
    spec_step *step;         /* (chunk) */
    int32_t *token;          /* (chunk, nodes) */
    float *coin;             /* (chunk, spec_round_batch_coins) */
    int32_t parent[SPEC_FIXTURE_NODES_MAX];
    int32_t *out;            /* (chunk, stride) outputs of a round between guards */
    float *row[SIDES];       /* (V) scope S: the rows that the models return */
    int start;
    /* (n_context), (n_context+1): of the last call, so that a shared prefix is not walked again */
    int32_t *context, *state;
    int64_t n_context, context_capacity;
};

/* The outputs of a round: tokens, n_emitted, n_accepted, draft, each followed by guards. */
typedef struct {
    int token, n_emitted, n_accepted, draft, stride;
} layout;

static layout layout_of(const spec_fixture *fixture)
{
    layout at = {.token = GUARDS};
    at.n_emitted = at.token + fixture->n_nodes + 1 + GUARDS;
    at.n_accepted = at.n_emitted + 1 + GUARDS;
    at.draft = at.n_accepted + 1 + GUARDS;
    at.stride = at.draft + fixture->n_nodes + GUARDS;
    return at;
}

/* If the sampler forked, it returns in two processes; this ends the copy. */
static void end_copy(const spec_sampler_host *host)
{
    if (getpid() != host->process) _exit(0);
}

/* Fails with the sampler's message, if it has one. */
static int failed(const spec_sampler_host *host, const char *call, int code, spec_error *error)
{
    const char *said = host->api->error != NULL ? host->api->error(host->self) : NULL;
    return spec_fail(error, GSL_EFAILED, "the sampler's %s returned %d%s%.300s", call, code,
                     said != NULL ? ": " : "", said != NULL ? said : "");
}

int spec_sampler_host_init(spec_sampler_host **ret, const spec_sampler_api *api,
                           const spec_sampler_about *about, const char *opt_options,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_sampler_host *host = *ret = calloc(1, sizeof *host);
    if (host == NULL) return spec_no_memory(error);
    host->api = api;
    host->about = *about;
    host->process = getpid();
    const int code = api->open(&host->self, opt_options);
    if (code != 0) {
        status = failed(host, "open", code, error);
        host->api = NULL; /* no instance to close */
        spec_sampler_host_free(host);
        *ret = NULL;
    }
    return status;
}

void spec_sampler_host_declare(spec_sampler_host *host, const spec_sampler_about *about)
{
    host->about = *about;
}

static void forget_fixture(spec_sampler_host *host)
{
    for (int side = 0; side < SIDES; side++) {
        free(host->given[side]);
        free(host->pristine[side]);
        free(host->gathered[side]);
        free(host->row[side]);
        host->given[side] = host->pristine[side] = host->gathered[side] = host->row[side] =
            NULL;
    }
    free(host->step);
    free(host->token);
    free(host->coin);
    host->coin = NULL;
    free(host->out);
    free(host->context);
    free(host->state);
    host->context = host->state = NULL;
    host->n_context = host->context_capacity = 0;
    host->step = NULL;
    host->token = host->out = NULL;
}

void spec_sampler_host_free(spec_sampler_host *host)
{
    if (host == NULL) return;
    if (host->api != NULL) host->api->close(host->self);
    forget_fixture(host);
    free(host);
}

int spec_sampler_host_begin(spec_sampler_host *host, const spec_fixture *fixture, uint32_t scope,
                            int capacity, spec_error *error)
{
    const size_t vocab = (size_t)fixture->vocab, size = (size_t)fixture->n_states * vocab;
    const size_t nodes = (size_t)fixture->n_nodes;
    const bool logits = host->about.rows == SPEC_ROWS_LOGITS;
    forget_fixture(host);
    host->fixture = fixture;
    if (host->api->promise != NULL) host->api->promise(host->self, &fixture->filters);
    host->scope = scope;
    host->chunk = fixture->batch < capacity ? fixture->batch : capacity;
    if (host->about.max_batch > 0 && host->chunk > host->about.max_batch)
        host->chunk = host->about.max_batch;
    const size_t chunk = (size_t)host->chunk;
    /* The rows of a chain are consecutive from level 0 on if neither tokens nor padding change the
     * variant. */
    host->in_place = fixture->chain && !fixture->shorter && !fixture->any_level &&
                       (fixture->blind || fixture->variants == 1);
    for (int side = 0; side < SIDES; side++) {
        const float *row = side == TARGET ? fixture->target : fixture->draft;
        host->given[side] = malloc(size * sizeof(float));
        host->pristine[side] = malloc(size * sizeof(float));
        host->row[side] = malloc(vocab * sizeof(float));
        if (!host->in_place)
            host->gathered[side] = malloc(chunk * (nodes + 1) * vocab * sizeof(float));
        if (host->given[side] == NULL || host->pristine[side] == NULL ||
            host->row[side] == NULL || (!host->in_place && host->gathered[side] == NULL))
            return spec_no_memory(error);
        for (size_t i = 0; i < size; i++)
            host->pristine[side][i] =
                logits ? spec_fixture_logit(fixture, side == DRAFT, (int)(i / vocab), row[i])
                       : row[i];
        memcpy(host->given[side], host->pristine[side], size * sizeof(float));
    }
    host->step = calloc(chunk, sizeof *host->step);
    host->token = malloc((chunk * nodes + 1) * sizeof *host->token);
    host->coin = malloc((chunk * (size_t)spec_round_batch_coins(fixture) + 1) * sizeof(float));
    host->out = malloc(chunk * (size_t)layout_of(fixture).stride * sizeof *host->out);
    return host->step != NULL && host->token != NULL && host->coin != NULL &&
                   host->out != NULL
               ? GSL_SUCCESS
               : spec_no_memory(error);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Returns the rows of round i of the batch, which is round c of the chunk. */
static const float *rows_of(spec_sampler_host *host, int side, const spec_round_batch *batch, int i,
                            int c)
{
    const size_t vocab = (size_t)host->fixture->vocab, places = (size_t)batch->nodes + 1;
    const int32_t *state = batch->state + (size_t)i * places;
    if (host->in_place) return host->given[side] + (size_t)state[0] * vocab;
    float *rows = host->gathered[side] + (size_t)c * places * vocab;
    for (int r = 0; r <= batch->n_nodes[i]; r++)
        memcpy(rows + (size_t)r * vocab, host->pristine[side] + (size_t)state[r] * vocab,
               vocab * sizeof *rows);
    return rows;
}

static const float *coins_of(const spec_round_batch *batch, int i)
{
    return batch->coin + (size_t)i * (size_t)batch->n_coins;
}

static void fill_step(spec_sampler_host *host, const spec_round_batch *batch, int i, int c)
{
    const spec_fixture *fixture = host->fixture;
    const layout at = layout_of(fixture);
    const size_t nodes = (size_t)batch->nodes;
    const int32_t start = batch->state[(size_t)i * (nodes + 1)];
    const bool draws = host->scope == SPEC_SCOPE_DRAFT;
    const uint32_t drawn = draws ? SPEC_DRAWN_IID : spec_fixture_drawn(fixture, start);
    int32_t *out = host->out + (size_t)c * (size_t)at.stride,
            *token = host->token + (size_t)c * nodes;
    float *coin = batch->coin != NULL ? host->coin + (size_t)c * (size_t)batch->n_coins : NULL;
    for (int k = 0; k < at.stride; k++) out[k] = UNTOUCHED;
    if (coin != NULL) memcpy(coin, coins_of(batch, i), (size_t)batch->n_coins * sizeof *coin);
    memcpy(token, batch->token + (size_t)i * nodes, nodes * sizeof *token);
    host->step[c] = (spec_step){
        .size = sizeof(spec_step),
        .vocab = fixture->vocab,
        .n_nodes = batch->n_nodes[i],
        .token = draws ? NULL : token,
        .parent = fixture->chain ? NULL : host->parent,
        .target = rows_of(host, TARGET, batch, i, c),
        .draft = drawn == SPEC_DRAWN_FIXED ? NULL : rows_of(host, DRAFT, batch, i, c),
        .drawn = drawn,
        .sampling = *spec_fixture_sampling(fixture, start),
        .request = batch->request[i],
        .seed = batch->seed[i],
        .offset = batch->offset[i],
        .coin = coin,
        .n_coins = batch->n_coins,
        .ret_token = out + at.token,
        .ret_n_emitted = out + at.n_emitted,
        .ret_n_accepted = out + at.n_accepted,
        .ret_draft = draws ? out + at.draft : NULL,
    };
}

static bool untouched(const int32_t *cell, int n)
{
    for (int i = 0; i < n; i++)
        if (cell[i] != UNTOUCHED) return false;
    return true;
}

/* Copies the outputs, and checks the guards and inputs. */
static void take_step(spec_sampler_host *host, spec_round_batch *batch, int i, int c)
{
    const layout at = layout_of(host->fixture);
    const size_t nodes = (size_t)batch->nodes;
    const int32_t *out = host->out + (size_t)c * (size_t)at.stride;
    const bool draws = host->scope == SPEC_SCOPE_DRAFT;
    const int n = batch->n_nodes[i], drawn = draws ? n : 0;
    uint32_t fault = 0;
    memcpy(batch->emitted + (size_t)i * (nodes + 1), out + at.token, (nodes + 1) * sizeof *out);
    batch->n_emitted[i] = out[at.n_emitted];
    batch->n_accepted[i] = out[at.n_accepted];
    if (out[at.n_emitted] == UNTOUCHED || out[at.n_accepted] == UNTOUCHED)
        fault |= SPEC_FAULT_UNTOUCHED;
    const int end = at.token + n + 1;
    if (!untouched(out, at.token) || !untouched(out + end, at.n_emitted - end) ||
        !untouched(out + at.n_emitted + 1, GUARDS) || !untouched(out + at.n_accepted + 1, GUARDS) ||
        !untouched(out + at.draft + drawn, at.stride - at.draft - drawn))
        fault |= SPEC_FAULT_OVERRUN;
    if (draws) memcpy(batch->token + (size_t)i * nodes, out + at.draft, (size_t)n * sizeof *out);
    else if (memcmp(host->token + (size_t)c * nodes, batch->token + (size_t)i * nodes,
                    nodes * sizeof *out) != 0)
        fault |= SPEC_FAULT_INPUT;
    if (batch->coin != NULL && memcmp(host->step[c].coin, coins_of(batch, i),
                                      (size_t)batch->n_coins * sizeof(float)) != 0)
        fault |= SPEC_FAULT_INPUT;
    for (int side = 0; side < SIDES && !host->in_place; side++) {
        const size_t vocab = (size_t)host->fixture->vocab;
        const float *rows = host->gathered[side] + (size_t)c * (nodes + 1) * vocab;
        if (side == DRAFT && host->step[c].draft == NULL) break;
        for (int r = 0; r <= n; r++) {
            const size_t state = (size_t)batch->state[(size_t)i * (nodes + 1) + (size_t)r];
            if (memcmp(rows + (size_t)r * vocab, host->pristine[side] + state * vocab,
                       vocab * sizeof *rows) != 0)
                fault |= SPEC_FAULT_INPUT;
        }
    }
    batch->fault[i] = fault;
}

static size_t shared_bytes(const spec_sampler_host *host)
{
    return (size_t)host->fixture->n_states * (size_t)host->fixture->vocab * sizeof(float);
}

/* Compares parents and rows in place once per call, or once per batch if they are large. Undoes
 * changes. */
static bool shared_inputs_changed(spec_sampler_host *host)
{
    const spec_fixture *fixture = host->fixture;
    const size_t bytes = shared_bytes(host);
    bool changed = false;
    for (int side = 0; side < SIDES && host->in_place; side++) {
        if (memcmp(host->given[side], host->pristine[side], bytes) == 0) continue;
        memcpy(host->given[side], host->pristine[side], bytes);
        changed = true;
    }
    for (int i = 0; i < fixture->n_nodes; i++) {
        changed = changed || host->parent[i] != fixture->parent[i];
        host->parent[i] = fixture->parent[i];
    }
    return changed;
}

int spec_sampler_host_run(spec_sampler_host *host, spec_round_batch *batch, int n,
                          spec_error *error)
{
    assert(batch->n_coins <= spec_round_batch_coins(host->fixture));
    (void)shared_inputs_changed(host); /* fills in the parents before the first call */
    for (int from = 0; from < n; from += host->chunk) {
        const int m = n - from < host->chunk ? n - from : host->chunk;
        for (int c = 0; c < m; c++) {
            fill_step(host, batch, from + c, c);
            batch->fault[from + c] = SPEC_FAULT_RUNNING;
        }
        const int code = host->api->step(host->self, host->step, m);
        end_copy(host);
        if (code != 0) return failed(host, "step", code, error);
        for (int c = 0; c < m; c++) take_step(host, batch, from + c, c);
        if (shared_bytes(host) > LARGE && from + m < n) continue;
        const bool changed = shared_inputs_changed(host);
        for (int i = shared_bytes(host) > LARGE ? 0 : from; i < from + m && changed; i++)
            batch->fault[i] |= SPEC_FAULT_INPUT;
    }
    return GSL_SUCCESS;
}

int spec_sampler_host_counters(spec_sampler_host *host, uint64_t ret[3], bool *ret_known,
                               spec_error *error)
{
    *ret_known = host->api->counters != NULL;
    if (!*ret_known) return GSL_SUCCESS;
    const int code = host->api->counters(host->self, &ret[0], &ret[1], &ret[2]);
    return code == 0 ? GSL_SUCCESS : failed(host, "counters", code, error);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Reserves memory for contexts of n tokens. */
static bool reserve_context(spec_sampler_host *host, int64_t n)
{
    if (n <= host->context_capacity && host->state != NULL) return true;
    const size_t capacity = 2 * (size_t)n + 64;
    int32_t *longer = realloc(host->context, capacity * sizeof *longer);
    if (longer != NULL) host->context = longer;
    int32_t *states = realloc(host->state, (capacity + 1) * sizeof *states);
    if (states != NULL) host->state = states;
    if (longer == NULL || states == NULL) return false;
    host->context_capacity = (int64_t)capacity;
    return true;
}

/* Returns how many tokens, from the start, a context shares with the last one. A sampler asks for a
 * row after each token, so contexts are long and nearly equal. */
static int64_t shared(const spec_sampler_host *host, const int32_t *context, int64_t n)
{
    const int64_t most = n < host->n_context ? n : host->n_context;
    int64_t same = 0;
    if (most == 0 || memcmp(context, host->context, (size_t)most * sizeof *context) == 0)
        return most;
    while (same + STRIDE <= most &&
           memcmp(context + same, host->context + same, STRIDE * sizeof *context) == 0)
        same += STRIDE;
    while (same < most && context[same] == host->context[same]) same++;
    return same;
}

/* Returns the state after a context; -1 if it contains an invalid token, or memory runs out. */
static int state_after(spec_sampler_host *host, const int32_t *context, int64_t n)
{
    if (!reserve_context(host, n)) return -1;
    const int64_t same = shared(host, context, n);
    host->state[0] = host->start;
    host->n_context = same;
    for (int64_t i = same; i < n; i++) {
        if (context[i] < 0 || context[i] >= host->fixture->vocab) return -1;
        host->context[i] = context[i];
        host->state[i + 1] = spec_fixture_next(host->fixture, host->state[i], context[i]);
    }
    host->n_context = n;
    return host->state[n];
}

static const float *hand_out(spec_sampler_host *host, int side, const int32_t *context, int64_t n)
{
    const size_t vocab = (size_t)host->fixture->vocab;
    const int after = state_after(host, context, n);
    if (after < 0) return NULL;
    const size_t state = (size_t)after;
    memcpy(host->row[side], host->pristine[side] + state * vocab, vocab * sizeof(float));
    return host->row[side];
}

static const float *hand_out_target(void *self, const int32_t *context, int64_t n)
{
    return hand_out(self, TARGET, context, n);
}

static const float *hand_out_draft(void *self, const int32_t *context, int64_t n)
{
    return hand_out(self, DRAFT, context, n);
}

int spec_sampler_host_generate(spec_sampler_host *host, int start, int K, uint64_t seed,
                               int32_t *ret_token, int64_t n_tokens, spec_error *error)
{
    const spec_models models = {.self = host,
                                .vocab = host->fixture->vocab,
                                .target = hand_out_target,
                                .draft = hand_out_draft};
    const size_t n = (size_t)n_tokens;
    int32_t *out = malloc((n + GUARDS) * sizeof *out);
    int status = GSL_SUCCESS;
    /* A sampler may not handle a missing row, so memory for contexts of the usual lengths is
     * reserved first. */
    if (out == NULL || !reserve_context(host, n_tokens + SPEC_K_MAX)) {
        free(out);
        return spec_no_memory(error);
    }
    for (size_t i = 0; i < n + GUARDS; i++) out[i] = UNTOUCHED;
    host->start = start;
    host->n_context = 0;
    const int code =
        host->api->generate(host->self, &models, NULL, 0, K,
                            *spec_fixture_sampling(host->fixture, start), seed, out, n_tokens);
    end_copy(host);
    if (code != 0) status = failed(host, "generate", code, error);
    else if (!untouched(out + n, GUARDS))
        status = spec_fail(error, GSL_EFAILED,
                           "the sampler's generate wrote past the end of its output");
    memcpy(ret_token, out, n * sizeof *out);
    free(out);
    return status;
}
