#include "conformance/samplers/caller.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every cell of an output holds this before the call, and those around it afterwards too. */
enum { UNTOUCHED = -0x5eed5eed, GUARDS = 4 };

enum { TARGET, DRAFT, SIDES };

struct spec_caller {
    const spec_sampler_api *api;
    spec_sampler_about about;
    void *self;
    pid_t process;

    const spec_fixture *fixture;
    uint32_t scope;
    int chunk;               /* rounds of one call */
    bool in_place;           /* rows of a chain lie one after another in `given` */
    float *given[SIDES];     /* (n_states, V) as the sampler wants them */
    float *pristine[SIDES];  /* the same, for no eyes but ours */
    float *gathered[SIDES];  /* (chunk, nodes+1, V), or NULL where in place */
    spec_step *step;         /* (chunk) */
    int32_t *token;          /* (chunk, nodes) */
    float *coin;             /* (chunk, spec_batch_coins) */
    int32_t parent[SPEC_FIXTURE_NODES_MAX];
    int32_t *out;            /* (chunk, stride) the outputs of a round between guards */
    float *row[SIDES];       /* (V) scope S: what the models hand out */
    int start;
    int32_t *context, *state; /* (n_context), (n_context+1): of the last call, so that what it shares is not walked
                                 again */
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

/* A sampler that forks returns twice. */
static void end_copy(const spec_caller *caller)
{
    if (getpid() != caller->process) _exit(0);
}

/* What the sampler says of its failure, if anything. */
static int failed(const spec_caller *caller, const char *call, int code, spec_error *error)
{
    const char *said = caller->api->error != NULL ? caller->api->error(caller->self) : NULL;
    return spec_fail(error, GSL_EFAILED, "the sampler's %s returned %d%s%.300s", call, code, said != NULL ? ": " : "",
                     said != NULL ? said : "");
}

int spec_caller_init(spec_caller **ret, const spec_sampler_api *api, const spec_sampler_about *about,
                     const char *opt_options, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_caller *caller = *ret = calloc(1, sizeof *caller);
    if (caller == NULL) return spec_no_memory(error);
    caller->api = api;
    caller->about = *about;
    caller->process = getpid();
    const int code = api->open(&caller->self, opt_options);
    if (code != 0) {
        status = failed(caller, "open", code, error);
        caller->api = NULL; /* there is nothing to close */
        spec_caller_free(caller);
        *ret = NULL;
    }
    return status;
}

static void forget_fixture(spec_caller *caller)
{
    for (int side = 0; side < SIDES; side++) {
        free(caller->given[side]);
        free(caller->pristine[side]);
        free(caller->gathered[side]);
        free(caller->row[side]);
        caller->given[side] = caller->pristine[side] = caller->gathered[side] = caller->row[side] = NULL;
    }
    free(caller->step);
    free(caller->token);
    free(caller->coin);
    caller->coin = NULL;
    free(caller->out);
    free(caller->context);
    free(caller->state);
    caller->context = caller->state = NULL;
    caller->n_context = caller->context_capacity = 0;
    caller->step = NULL;
    caller->token = caller->out = NULL;
}

void spec_caller_free(spec_caller *caller)
{
    if (caller == NULL) return;
    if (caller->api != NULL) caller->api->close(caller->self);
    forget_fixture(caller);
    free(caller);
}

int spec_caller_begin(spec_caller *caller, const spec_fixture *fixture, uint32_t scope, int capacity,
                      spec_error *error)
{
    const size_t vocab = (size_t)fixture->vocab, size = (size_t)fixture->n_states * vocab;
    const size_t nodes = (size_t)fixture->n_nodes;
    const bool logits = caller->about.rows == SPEC_ROWS_LOGITS;
    forget_fixture(caller);
    caller->fixture = fixture;
    caller->scope = scope;
    caller->chunk = fixture->batch < capacity ? fixture->batch : capacity;
    if (caller->about.max_batch > 0 && caller->chunk > caller->about.max_batch) caller->chunk = caller->about.max_batch;
    const size_t chunk = (size_t)caller->chunk;
    caller->in_place = fixture->chain && fixture->blind;
    for (int side = 0; side < SIDES; side++) {
        const float *row = side == TARGET ? fixture->target : fixture->draft;
        caller->given[side] = malloc(size * sizeof(float));
        caller->pristine[side] = malloc(size * sizeof(float));
        caller->row[side] = malloc(vocab * sizeof(float));
        if (!caller->in_place) caller->gathered[side] = malloc(chunk * (nodes + 1) * vocab * sizeof(float));
        if (caller->given[side] == NULL || caller->pristine[side] == NULL || caller->row[side] == NULL ||
            (!caller->in_place && caller->gathered[side] == NULL))
            return spec_no_memory(error);
        for (size_t i = 0; i < size; i++) caller->pristine[side][i] = logits ? logf(row[i]) : row[i];
        memcpy(caller->given[side], caller->pristine[side], size * sizeof(float));
    }
    caller->step = calloc(chunk, sizeof *caller->step);
    caller->token = malloc((chunk * nodes + 1) * sizeof *caller->token);
    caller->coin = malloc((chunk * (size_t)spec_batch_coins(fixture) + 1) * sizeof(float));
    caller->out = malloc(chunk * (size_t)layout_of(fixture).stride * sizeof *caller->out);
    return caller->step != NULL && caller->token != NULL && caller->coin != NULL && caller->out != NULL
               ? GSL_SUCCESS
               : spec_no_memory(error);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* The rows of round i of the batch, which is round c of the chunk. */
static const float *rows_of(spec_caller *caller, int side, const spec_batch *batch, int i, int c)
{
    const size_t vocab = (size_t)caller->fixture->vocab, places = (size_t)batch->nodes + 1;
    const int32_t *state = batch->state + (size_t)i * places;
    if (caller->in_place) return caller->given[side] + (size_t)state[0] * vocab;
    float *rows = caller->gathered[side] + (size_t)c * places * vocab;
    for (int r = 0; r <= batch->n_nodes[i]; r++)
        memcpy(rows + (size_t)r * vocab, caller->pristine[side] + (size_t)state[r] * vocab, vocab * sizeof *rows);
    return rows;
}

static const float *coins_of(const spec_batch *batch, int i)
{
    return batch->coin + (size_t)i * (size_t)batch->n_coins;
}

static void fill_step(spec_caller *caller, const spec_batch *batch, int i, int c)
{
    const spec_fixture *fixture = caller->fixture;
    const layout at = layout_of(fixture);
    const size_t nodes = (size_t)batch->nodes;
    const bool draws = caller->scope == SPEC_SCOPE_DRAFT, fixed = fixture->drawn == SPEC_DRAWN_FIXED;
    int32_t *out = caller->out + (size_t)c * (size_t)at.stride, *token = caller->token + (size_t)c * nodes;
    float *coin = batch->coin != NULL ? caller->coin + (size_t)c * (size_t)batch->n_coins : NULL;
    for (int k = 0; k < at.stride; k++) out[k] = UNTOUCHED;
    if (coin != NULL) memcpy(coin, coins_of(batch, i), (size_t)batch->n_coins * sizeof *coin);
    memcpy(token, batch->token + (size_t)i * nodes, nodes * sizeof *token);
    caller->step[c] = (spec_step){
        .size = sizeof(spec_step),
        .vocab = fixture->vocab,
        .n_nodes = batch->n_nodes[i],
        .token = draws ? NULL : token,
        .parent = fixture->chain ? NULL : caller->parent,
        .target = rows_of(caller, TARGET, batch, i, c),
        .draft = fixed && !draws ? NULL : rows_of(caller, DRAFT, batch, i, c),
        .drawn = draws ? SPEC_DRAWN_IID : fixture->drawn,
        .sampling = fixture->sampling,
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

/* Copy what came out, and look at what was not to be written. */
static void take_step(spec_caller *caller, spec_batch *batch, int i, int c)
{
    const layout at = layout_of(caller->fixture);
    const size_t nodes = (size_t)batch->nodes;
    const int32_t *out = caller->out + (size_t)c * (size_t)at.stride;
    const bool draws = caller->scope == SPEC_SCOPE_DRAFT;
    const int n = batch->n_nodes[i], drawn = draws ? n : 0;
    uint32_t fault = 0;
    memcpy(batch->emitted + (size_t)i * (nodes + 1), out + at.token, (nodes + 1) * sizeof *out);
    batch->n_emitted[i] = out[at.n_emitted];
    batch->n_accepted[i] = out[at.n_accepted];
    if (out[at.n_emitted] == UNTOUCHED || out[at.n_accepted] == UNTOUCHED) fault |= SPEC_FAULT_UNTOUCHED;
    const int end = at.token + n + 1;
    if (!untouched(out, at.token) || !untouched(out + end, at.n_emitted - end) ||
        !untouched(out + at.n_emitted + 1, GUARDS) || !untouched(out + at.n_accepted + 1, GUARDS) ||
        !untouched(out + at.draft + drawn, at.stride - at.draft - drawn))
        fault |= SPEC_FAULT_OVERRUN;
    if (draws) memcpy(batch->token + (size_t)i * nodes, out + at.draft, (size_t)n * sizeof *out);
    else if (memcmp(caller->token + (size_t)c * nodes, batch->token + (size_t)i * nodes, nodes * sizeof *out) != 0)
        fault |= SPEC_FAULT_INPUT;
    if (batch->coin != NULL &&
        memcmp(caller->step[c].coin, coins_of(batch, i), (size_t)batch->n_coins * sizeof(float)) != 0)
        fault |= SPEC_FAULT_INPUT;
    for (int side = 0; side < SIDES && !caller->in_place; side++) {
        const size_t vocab = (size_t)caller->fixture->vocab;
        const float *rows = caller->gathered[side] + (size_t)c * (nodes + 1) * vocab;
        if (side == DRAFT && caller->step[c].draft == NULL) break;
        for (int r = 0; r <= n; r++) {
            const size_t state = (size_t)batch->state[(size_t)i * (nodes + 1) + (size_t)r];
            if (memcmp(rows + (size_t)r * vocab, caller->pristine[side] + state * vocab, vocab * sizeof *rows) != 0)
                fault |= SPEC_FAULT_INPUT;
        }
    }
    batch->fault[i] = fault;
}

/* Rows that lie in place, and the parents, are looked at once a call; what was written there is undone. */
static bool shared_inputs_changed(spec_caller *caller)
{
    const spec_fixture *fixture = caller->fixture;
    const size_t bytes = (size_t)fixture->n_states * (size_t)fixture->vocab * sizeof(float);
    bool changed = false;
    for (int side = 0; side < SIDES && caller->in_place; side++) {
        if (memcmp(caller->given[side], caller->pristine[side], bytes) == 0) continue;
        memcpy(caller->given[side], caller->pristine[side], bytes);
        changed = true;
    }
    for (int i = 0; i < fixture->n_nodes; i++) {
        changed = changed || caller->parent[i] != fixture->parent[i];
        caller->parent[i] = fixture->parent[i];
    }
    return changed;
}

int spec_caller_run(spec_caller *caller, spec_batch *batch, int n, spec_error *error)
{
    assert(batch->n_coins <= spec_batch_coins(caller->fixture));
    (void)shared_inputs_changed(caller); /* before the first call: fills in the parents */
    for (int from = 0; from < n; from += caller->chunk) {
        const int m = n - from < caller->chunk ? n - from : caller->chunk;
        for (int c = 0; c < m; c++) {
            fill_step(caller, batch, from + c, c);
            batch->fault[from + c] = SPEC_FAULT_RUNNING;
        }
        const int code = caller->api->step(caller->self, caller->step, m);
        end_copy(caller);
        if (code != 0) return failed(caller, "step", code, error);
        const bool changed = shared_inputs_changed(caller);
        for (int c = 0; c < m; c++) {
            take_step(caller, batch, from + c, c);
            if (changed) batch->fault[from + c] |= SPEC_FAULT_INPUT;
        }
    }
    return GSL_SUCCESS;
}

int spec_caller_counters(spec_caller *caller, uint64_t ret[3], bool *ret_known, spec_error *error)
{
    *ret_known = caller->api->counters != NULL;
    if (!*ret_known) return GSL_SUCCESS;
    const int code = caller->api->counters(caller->self, &ret[0], &ret[1], &ret[2]);
    return code == 0 ? GSL_SUCCESS : failed(caller, "counters", code, error);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* The state after a context; -1 where it holds what is no token, or memory ran out. */
static int state_after(spec_caller *caller, const int32_t *context, int64_t n)
{
    int64_t same = 0;
    if (n > caller->context_capacity || caller->state == NULL) {
        const size_t capacity = 2 * (size_t)n + 64;
        int32_t *longer = realloc(caller->context, capacity * sizeof *longer);
        if (longer != NULL) caller->context = longer;
        int32_t *states = realloc(caller->state, (capacity + 1) * sizeof *states);
        if (states != NULL) caller->state = states;
        if (longer == NULL || states == NULL) return -1;
        caller->context_capacity = (int64_t)capacity;
    }
    while (same < n && same < caller->n_context && context[same] == caller->context[same]) same++;
    caller->state[0] = caller->start;
    caller->n_context = same;
    for (int64_t i = same; i < n; i++) {
        if (context[i] < 0 || context[i] >= caller->fixture->vocab) return -1;
        caller->context[i] = context[i];
        caller->state[i + 1] = spec_fixture_next(caller->fixture, caller->state[i], context[i]);
    }
    caller->n_context = n;
    return caller->state[n];
}

static const float *hand_out(spec_caller *caller, int side, const int32_t *context, int64_t n)
{
    const size_t vocab = (size_t)caller->fixture->vocab;
    const int after = state_after(caller, context, n);
    if (after < 0) return NULL;
    const size_t state = (size_t)after;
    memcpy(caller->row[side], caller->pristine[side] + state * vocab, vocab * sizeof(float));
    return caller->row[side];
}

static const float *hand_out_target(void *self, const int32_t *context, int64_t n)
{
    return hand_out(self, TARGET, context, n);
}

static const float *hand_out_draft(void *self, const int32_t *context, int64_t n)
{
    return hand_out(self, DRAFT, context, n);
}

int spec_caller_generate(spec_caller *caller, int start, int K, uint64_t seed, int32_t *ret_token, int64_t n_tokens,
                         spec_error *error)
{
    const spec_models models = {.self = caller, .vocab = caller->fixture->vocab, .target = hand_out_target,
                                .draft = hand_out_draft};
    const size_t n = (size_t)n_tokens;
    int32_t *out = malloc((n + GUARDS) * sizeof *out);
    int status = GSL_SUCCESS;
    if (out == NULL) return spec_no_memory(error);
    for (size_t i = 0; i < n + GUARDS; i++) out[i] = UNTOUCHED;
    caller->start = start;
    caller->n_context = 0;
    const int code = caller->api->generate(caller->self, &models, NULL, 0, K, caller->fixture->sampling, seed, out,
                                           n_tokens);
    end_copy(caller);
    if (code != 0) status = failed(caller, "generate", code, error);
    else if (!untouched(out + n, GUARDS))
        status = spec_fail(error, GSL_EFAILED, "the sampler's generate wrote past the end of its output");
    memcpy(ret_token, out, n * sizeof *out);
    free(out);
    return status;
}
