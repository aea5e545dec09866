/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sampler that is a function of this process, which the library's caller passes. Its batches hold
 * the rows of all rounds in one array for each side, which Python and NumPy can read as they
 * are. */
#include "tools/validate/samplers/sampler_host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An instance, with copies of the rounds of a batch. */
typedef struct {
    const speclab_sampler *sampler;
    size_t rounds, rows, places,
        coins; /* capacities: rounds, numbers of one side, positions, coins */
    float *side[2];                     /* (n, n_nodes+1, V) target and draft rows */
    float *coin;
    int32_t *length, *token, *parent;
    uint64_t *request, *seed, *offset;
    int32_t *out_token, *out_n_emitted, *out_draft;
    bool lost; /* memory ran out */
} caller;

static void free_arrays(caller *c)
{
    free(c->side[0]);
    free(c->side[1]);
    free(c->coin);
    free(c->length);
    free(c->token);
    free(c->parent);
    free(c->request);
    free(c->seed);
    free(c->offset);
    free(c->out_token);
    free(c->out_n_emitted);
    free(c->out_draft);
    *c = (caller){.sampler = c->sampler};
}

static bool fit(caller *c, size_t rounds, size_t places, size_t vocab, size_t coins)
{
    const size_t rows = rounds * places * vocab;
    if (rounds <= c->rounds && rows <= c->rows && rounds * places <= c->places &&
        rounds * coins <= c->coins)
        return true;
    free_arrays(c);
    c->rounds = rounds;
    c->rows = rows;
    c->places = rounds * places;
    c->coins = rounds * coins;
    c->side[0] = malloc(rows * sizeof *c->side[0]);
    c->side[1] = malloc(rows * sizeof *c->side[1]);
    c->coin = malloc((c->coins + 1) * sizeof *c->coin);
    c->length = malloc(rounds * sizeof *c->length);
    c->token = malloc(c->places * sizeof *c->token);
    c->parent = malloc(c->places * sizeof *c->parent);
    c->request = malloc(rounds * sizeof *c->request);
    c->seed = malloc(rounds * sizeof *c->seed);
    c->offset = malloc(rounds * sizeof *c->offset);
    c->out_token = malloc(c->places * sizeof *c->out_token);
    c->out_n_emitted = malloc(rounds * sizeof *c->out_n_emitted);
    c->out_draft = malloc(c->places * sizeof *c->out_draft);
    if (c->side[0] != NULL && c->side[1] != NULL && c->coin != NULL && c->length != NULL &&
        c->token != NULL && c->parent != NULL && c->request != NULL && c->seed != NULL &&
        c->offset != NULL && c->out_token != NULL && c->out_n_emitted != NULL &&
        c->out_draft != NULL)
        return true;
    free_arrays(c);
    return false;
}

/* Plug-ins receive a text when they are opened; here it is the address of the sampler. */
static int open_caller(void **ret_self, const char *opt_options)
{
    caller *c = *ret_self = calloc(1, sizeof *c);
    if (c == NULL) return GSL_ENOMEM;
    memcpy(&c->sampler, opt_options, sizeof c->sampler);
    return GSL_SUCCESS;
}

static void close_caller(void *self)
{
    caller *c = self;
    if (c != NULL) free_arrays(c);
    free(c);
}

static const char *error_of(void *self)
{
    const caller *c = self;
    if (c == NULL || c->lost) return "out of memory";
    return c->sampler->error != NULL ? c->sampler->error(c->sampler->self) : NULL;
}

/* Copies n + 1 rows out of `full` places, and zeroes the others. */
static void copy_rows(float *into, const float *rows, int n, size_t full, size_t vocab)
{
    const size_t given = ((size_t)n + 1) * vocab;
    memcpy(into, rows, given * sizeof *into);
    memset(into + given, 0, (full * vocab - given) * sizeof *into);
}

static void copy_in(caller *c, const spec_step *step, size_t i, size_t nodes)
{
    const size_t vocab = (size_t)step->vocab, places = nodes + 1, n = (size_t)step->n_nodes;
    copy_rows(c->side[0] + i * places * vocab, step->target, step->n_nodes, places, vocab);
    if (step->draft != NULL)
        copy_rows(c->side[1] + i * places * vocab, step->draft, step->n_nodes, places, vocab);
    for (size_t k = 0; k < nodes; k++)
        c->token[i * nodes + k] = step->token != NULL && k < n ? step->token[k] : -1;
    if (step->n_coins > 0)
        memcpy(c->coin + i * (size_t)step->n_coins, step->coin,
               (size_t)step->n_coins * sizeof *c->coin);
    c->length[i] = step->n_nodes;
    c->request[i] = step->request;
    c->seed[i] = step->seed;
    c->offset[i] = step->offset;
    /* If the sampler leaves an output alone, the host must still find its mark there. */
    memcpy(c->out_token + i * places, step->ret_token, (n + 1) * sizeof *c->out_token);
    if (step->ret_draft != NULL)
        memcpy(c->out_draft + i * nodes, step->ret_draft, n * sizeof *c->out_draft);
    c->out_n_emitted[i] = *step->ret_n_emitted;
}

static void copy_out(const caller *c, const spec_step *step, size_t i, size_t nodes)
{
    const size_t n = (size_t)step->n_nodes;
    const int32_t emitted = c->out_n_emitted[i];
    memcpy(step->ret_token, c->out_token + i * (nodes + 1), (n + 1) * sizeof *c->out_token);
    if (step->ret_draft != NULL)
        memcpy(step->ret_draft, c->out_draft + i * nodes, n * sizeof *c->out_draft);
    *step->ret_n_emitted = emitted;
    *step->ret_n_accepted = emitted > INT32_MIN ? emitted - 1 : emitted;
}

static int call_batch(void *self, spec_step *steps, int32_t n_steps)
{
    caller *c = self;
    size_t nodes = 0;
    for (int i = 0; i < n_steps; i++)
        if ((size_t)steps[i].n_nodes > nodes) nodes = (size_t)steps[i].n_nodes;
    const spec_step *first = &steps[0];
    if (!fit(c, (size_t)n_steps, nodes + 1, (size_t)first->vocab, (size_t)first->n_coins))
        c->lost = true;
    if (c->lost) return GSL_ENOMEM;
    for (int i = 0; i < n_steps; i++) copy_in(c, &steps[i], (size_t)i, nodes);
    if (first->parent != NULL) memcpy(c->parent, first->parent, nodes * sizeof *c->parent);
    const bool draws = first->token == NULL;
    const speclab_batch batch = {
        .size = sizeof batch,
        .n = n_steps,
        .n_nodes = (int32_t)nodes,
        .vocab = first->vocab,
        .scope = draws ? SPEC_SCOPE_DRAFT : SPEC_SCOPE_VERIFY,
        .drawn = first->drawn,
        .length = c->length,
        .token = draws ? NULL : c->token,
        .parent = first->parent != NULL ? c->parent : NULL,
        .target = c->side[0],
        .draft = first->draft != NULL ? c->side[1] : NULL,
        .request = c->request,
        .seed = c->seed,
        .offset = c->offset,
        .coin = first->n_coins > 0 ? c->coin : NULL,
        .n_coins = first->n_coins,
        .sampling = first->sampling,
        .ret_token = c->out_token,
        .ret_n_emitted = c->out_n_emitted,
        .ret_draft = draws ? c->out_draft : NULL,
    };
    const int code = c->sampler->batch(c->sampler->self, &batch);
    for (int i = 0; i < n_steps && code == 0; i++) copy_out(c, &steps[i], (size_t)i, nodes);
    return code;
}

static int call_generate(void *self, const spec_models *models, const int32_t *context,
                         int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                         int32_t *ret_token, int64_t n_tokens)
{
    const speclab_sampler *s = ((const caller *)self)->sampler;
    return s->generate(s->self, models, context, n_context, K, sampling, seed, ret_token, n_tokens);
}

static const spec_sampler_api api = {.open = open_caller,
                                     .step = call_batch,
                                     .close = close_caller,
                                     .generate = call_generate,
                                     .error = error_of};

static int open_subject(spec_subject *subject, const char *path, spec_error *error)
{
    (void)path;
    subject->about = *subject->limits.opt_call->about;
    subject->about.uniform = 1; /* a batch has the parameters and the kind of its first round */
    const int status = spec_subject_check_about(&subject->about, error);
    if (status != GSL_SUCCESS) return status;
    return spec_sampler_host_subject_open(subject, &api, (const char *)&subject->limits.opt_call,
                                          error);
}

const spec_subject_kind spec_subject_call = {
    .name = "call",
    .usage = "call",
    .summary = "a function of the program that uses the library",
    .open = open_subject,
    .begin = spec_sampler_host_subject_begin,
    .run = spec_sampler_host_subject_run,
    .generate = spec_sampler_host_subject_generate,
    .counters = spec_sampler_host_subject_counters,
    .close = spec_sampler_host_subject_close,
};
