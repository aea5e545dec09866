/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "sim/chance/rng.h"
#include "sim/decode.h"
#include "tests/bench/bench.h"
#include "tests/support/contexts.h"

#include <stdlib.h>
#include <string.h>

/* A whole model of 110 M parameters after a context of 64 tokens, and a round of speculation
 * compared with its passes. The draft is the model's own first layers. */
enum { TEXT = 64, K = 4, EXIT = 2, WIDEST = 16 };

/* ---- the model, shared by the rows of a type and built at the first use
 * ----------------------- */

typedef struct {
    spec_model *model;
    int used_by;
} shared_model;

static const char *const type_name[] = {"q8_0", "f32", "f16", "bf16"};
static shared_model models[sizeof type_name / sizeof type_name[0]];

static const spec_model *hold_model(int type)
{
    char spec[64];
    snprintf(spec, sizeof spec, "random?type=%s&context=256", type_name[type]);
    if (models[type].used_by++ == 0 &&
        spec_model_open(&models[type].model, spec, NULL, spec_test_context(0), NULL) != GSL_SUCCESS)
        models[type].model = NULL;
    return models[type].model;
}

static void release_model(int type)
{
    if (--models[type].used_by == 0) spec_model_close(models[type].model);
}

static void fill_text(int *token, int n, int vocab)
{
    for (int i = 0; i < n; i++) token[i] = i * 7919 % vocab;
}

/* -- passes, with rows of probabilities -- */

typedef struct {
    int type, columns;
} pass_setup;

typedef struct {
    const pass_setup *setup;
    const spec_model *model;
    spec_session session;
    const double *row[WIDEST];
    double *store;
    int token[TEXT + WIDEST];
} pass;

static void close_pass(void *state)
{
    pass *p = state;
    spec_session_free(&p->session);
    release_model(p->setup->type);
    free(p->store);
    free(p);
}

static const char *open_pass(void **ret_state, const void *setup)
{
    pass *p = calloc(1, sizeof *p);
    if (p == NULL) return "no memory";
    p->setup = setup;
    p->model = hold_model(p->setup->type);
    if (p->model != NULL) p->store = malloc(WIDEST * (size_t)p->model->vocab * sizeof *p->store);
    if (p->store == NULL || spec_session_init(&p->session, p->model, NULL) != GSL_SUCCESS) {
        close_pass(p);
        return "no memory";
    }
    fill_text(p->token, TEXT + WIDEST, p->model->vocab);
    *ret_state = p;
    return NULL;
}

/* Counts bytes of weights once per pass: the last token of the text, and columns - 1 after it. */
static uint64_t run_passes(void *state, uint64_t n)
{
    pass *p = state;
    const size_t bytes = spec_transformer_of(p->model)->weights->bytes;
    uint64_t done = 0;
    for (; done < n; done += bytes)
        if (spec_session_score(&p->session,
                               &(spec_score_request){.context = p->token,
                                                     .n_context = TEXT,
                                                     .token = p->token + TEXT,
                                                     .n_nodes = p->setup->columns - 1,
                                                     .ret_row = p->row,
                                                     .scratch = p->store},
                               NULL) != GSL_SUCCESS)
            return 0;
    return done;
}

/* ---- a round --------------------------------------------------------------------------------- */

typedef struct {
    spec_model *draft;
    spec_decoder decoder;
    gsl_rng *rng;
} rounds;

static void close_rounds(void *state)
{
    rounds *r = state;
    spec_decoder_free(&r->decoder);
    spec_model_close(r->draft);
    release_model(0);
    if (r->rng != NULL) gsl_rng_free(r->rng);
    free(r);
}

static const char *open_rounds(void **ret_state, const void *setup)
{
    rounds *r = calloc(1, sizeof *r);
    int text[TEXT];
    char spec[64];
    (void)setup;
    if (r == NULL) return "no memory";
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    snprintf(spec, sizeof spec, "layers?of=target&exit=%d", EXIT);
    config.target = hold_model(0);
    config.K = K;
    r->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    if (config.target == NULL || r->rng == NULL) goto failed;
    if (spec_model_open(&r->draft, spec, config.target, spec_test_context(0), NULL) != GSL_SUCCESS)
        goto failed;
    config.opt_draft = r->draft;
    fill_text(text, TEXT, config.target->vocab);
    if (spec_decoder_init(&r->decoder, &config, NULL) != GSL_SUCCESS) goto failed;
    if (spec_decoder_reset(&r->decoder, text, TEXT, NULL) != GSL_SUCCESS) goto failed;
    *ret_state = r;
    return NULL;
failed:
    close_rounds(r);
    return "no memory";
}

/* Every round follows the same text. */
static uint64_t run_rounds(void *state, uint64_t n)
{
    rounds *r = state;
    spec_chance chance = spec_chance_sampled(r->rng);
    for (uint64_t i = 0; i < n; i++) {
        if (spec_decoder_round(&r->decoder, &chance, NULL, NULL) != GSL_SUCCESS) return 0;
        r->decoder.n_context = TEXT;
    }
    return n;
}

/* -- the passes of a round, up to the logits -- */

typedef struct {
    const spec_transformer *model;
    spec_forward forward;
    spec_kv kv;
    int token[TEXT + K], path[TEXT + K];
} bare;

static void close_bare(void *state)
{
    bare *b = state;
    spec_backend_cpu.kv_free(spec_test_context(0)->cpu, &b->kv);
    spec_forward_free(&b->forward);
    release_model(0);
    free(b);
}

/* Runs tokens from..to-1 of a text in one pass, through the first layers. */
static int bare_pass(bare *b, int from, int to, int layers)
{
    spec_batch batch = {.n = to - from, .path = b->path};
    for (int u = 0; u < batch.n; u++) {
        batch.token[u] = b->token[from + u];
        batch.position[u] = batch.slot[u] = batch.past[u] = b->path[u] = from + u;
        batch.path_begin[u + 1] = u + 1;
    }
    spec_forward_begin(&b->forward, &b->kv, &batch, b->model->sublayer, 2 * layers);
    return spec_forward_wait(&b->forward, NULL);
}

static const char *open_bare(void **ret_state, const void *setup)
{
    bare *b = calloc(1, sizeof *b);
    (void)setup;
    if (b == NULL) return "no memory";
    const spec_model *model = hold_model(0);
    if (model != NULL && (b->model = spec_transformer_of(model)) != NULL &&
        spec_forward_init(&b->forward, b->model->weights, NULL) == GSL_SUCCESS &&
        spec_backend_cpu.kv_init(spec_test_context(0)->cpu, &b->kv, &b->model->weights->shape,
                                 SPEC_TENSOR_F32, TEXT + K, NULL) == GSL_SUCCESS) {
        fill_text(b->token, TEXT + K, model->vocab);
        if (bare_pass(b, 0, TEXT, b->model->weights->shape.n_layers) == GSL_SUCCESS) {
            *ret_state = b;
            return NULL;
        }
    }
    close_bare(b);
    return "no memory";
}

static uint64_t run_bare(void *state, uint64_t n)
{
    bare *b = state;
    for (uint64_t i = 0; i < n; i++) {
        for (int k = 0; k < K; k++)
            if (bare_pass(b, TEXT - 1 + k, TEXT + k, EXIT) != GSL_SUCCESS) return 0;
        if (bare_pass(b, TEXT - 1, TEXT + K, b->model->weights->shape.n_layers) != GSL_SUCCESS)
            return 0;
    }
    return n;
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define PASS(name, of, n)                                                                          \
    .work = name, .unit = "B", .init = open_pass, .run = run_passes, .free = close_pass,           \
    .setup = &(const pass_setup){of, n}, .wall = true

const spec_bench_row spec_bench_transformer[] = {
    {PASS("model, Q8_0: 1 token", 0, 1), .yardstick = "row:limit: threads read 116 MB",
     .asked_ratio = 0.85},
    {PASS("model, Q8_0: 5 tokens", 0, 5), .yardstick = "row:model, Q8_0: 1 token",
     .asked_ratio = 1.0 / 1.15},
    {PASS("model, Q8_0: 8 tokens", 0, 8), .yardstick = "row:model, Q8_0: 1 token",
     .asked_ratio = 1.0 / 1.30},
    {PASS("model, Q8_0: 16 tokens", 0, 16), .yardstick = "row:model, Q8_0: 1 token",
     .asked_ratio = 1.0 / 1.9},
    {PASS("model, F32: 1 token", 1, 1), .yardstick = "row:limit: threads read 438 MB",
     .asked_ratio = 0.90},
    {PASS("model, F32: 5 tokens", 1, 5), .yardstick = "row:model, F32: 1 token",
     .asked_ratio = 1.0 / 1.06},
    {PASS("model, F16: 1 token", 2, 1), .yardstick = "row:limit: threads read 219 MB",
     .asked_ratio = 0.85},
    {PASS("model, BF16: 1 token", 3, 1), .yardstick = "row:limit: threads read 219 MB",
     .asked_ratio = 0.85},
    {.work = "round, K = 4, Q8_0: its passes alone",
     .unit = "rounds",
     .init = open_bare,
     .run = run_bare,
     .free = close_bare,
     .wall = true},
    {.work = "round, K = 4, Q8_0: all of it",
     .unit = "rounds",
     .init = open_rounds,
     .run = run_rounds,
     .free = close_rounds,
     .wall = true,
     .yardstick = "row:round, K = 4, Q8_0: its passes alone",
     .asked_ratio = 0.95},
    {.work = NULL},
};
