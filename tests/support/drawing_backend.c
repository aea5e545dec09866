/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/drawing_backend.h"
#include "tests/support/contexts.h"

#include "sim/verify/verify.h"
#include "tests/support/support.h"

#include <string.h>

/* -- a generator of given numbers -- */

typedef struct {
    const double *uniform;
    int used;
} told;

static double next_told(void *state)
{
    told *t = state;
    return t->uniform[t->used++];
}

static const gsl_rng_type told_type = {
    .name = "told", .size = sizeof(told), .get_double = next_told};

/* ---- rows ------------------------------------------------------------------------------------ */

static drawing_backend *drawing_of(const spec_queue *queue)
{
    return queue->backend->self;
}

static void take(const spec_queue *queue, double seconds)
{
    double *const opt_now = drawing_of(queue)->opt_now;
    if (opt_now != NULL) *opt_now += seconds;
}

/* Returns the rows that the host computes: (n, vocab), which the caller frees. */
static double *rows_of(spec_queue *queue, const float *logits, const spec_transform *transform,
                       int n)
{
    const size_t vocab = (size_t)drawing_of(queue)->vocab;
    double *store = calloc((size_t)n * vocab, sizeof *store);
    double *row[SPEC_COLUMNS_MAX];
    int token[SPEC_COLUMNS_MAX], *order = calloc(vocab, sizeof *order);
    spec_transform filters = *transform;
    filters.temperature = 1.0;
    for (int i = 0; i < n; i++) row[i] = store + (size_t)i * vocab;
    if (transform->temperature > 0.0)
        assert_int_equal(spec_backend_cpu.rows(queue, row, logits, transform->temperature, n, NULL),
                         GSL_SUCCESS);
    else
        assert_int_equal(spec_backend_cpu.argmax(queue, token, logits, n, NULL), GSL_SUCCESS);
    for (int i = 0; i < n; i++) {
        if (transform->temperature > 0.0) spec_transform_apply(row[i], (int)vocab, &filters, order);
        else row[i][token[i]] = 1.0;
    }
    free(order);
    return store;
}

static int count_rows(spec_queue *queue, double *const *row, const float *logits,
                      double temperature, int n, spec_error *error)
{
    drawing_of(queue)->rows += n;
    take(queue, drawing_of(queue)->wait);
    return spec_backend_cpu.rows(queue, row, logits, temperature, n, error);
}

static int largest(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error)
{
    take(queue, drawing_of(queue)->draw + drawing_of(queue)->wait);
    return spec_backend_cpu.argmax(queue, ret_token, logits, n, error);
}

static int wait_for(spec_queue *queue, spec_error *error)
{
    take(queue, drawing_of(queue)->wait);
    return spec_backend_cpu.wait(queue, error);
}

/* -- the device's operations -- */

static size_t law_bytes(int vocab)
{
    return (size_t)vocab * sizeof(double);
}

static int draw(spec_queue *queue, const spec_draw_request *request, int i, spec_error *error)
{
    (void)error;
    drawing_backend *drawing = drawing_of(queue);
    double *row = rows_of(queue, request->logits, request->transform, 1);
    const double any = 0.5;
    told state = {.uniform = request->opt_uniform != NULL ? &request->opt_uniform[i] : &any};
    gsl_rng rng = {.type = &told_type, .state = &state};
    spec_chance chance = spec_chance_sampled(&rng);
    drawing->drawn[i] = drawing->last = spec_chance_pick(&chance, row, drawing->vocab);
    assert_int_equal(state.used, 1);
    memcpy(request->law[i], row, law_bytes(drawing->vocab));
    free(row);
    drawing->draws++;
    take(queue, drawing->draw);
    return GSL_SUCCESS;
}

static int drawn(spec_queue *queue, int *ret_token, int n, spec_error *error)
{
    (void)error;
    memcpy(ret_token, drawing_of(queue)->drawn, (size_t)n * sizeof *ret_token);
    drawing_of(queue)->waits++;
    take(queue, drawing_of(queue)->wait);
    return GSL_SUCCESS;
}

/* Puts the token that was drawn into its pass. */
static bool begin(spec_queue *queue, const spec_batch *batch, const spec_kv *kv,
                  const int *sublayer, int n_sublayers)
{
    drawing_backend *drawing = drawing_of(queue);
    if (batch->token[0] == SPEC_TOKEN_DRAWN) {
        assert_true(batch->n == 1 && batch->position[0] == batch->slot[0]);
        drawing->batch = *batch;
        drawing->batch.token[0] = drawing->last;
        batch = &drawing->batch;
    }
    take(queue, n_sublayers * drawing->sublayer + batch->n * drawing->column);
    return spec_backend_cpu.begin(queue, batch, kv, sublayer, n_sublayers);
}

static int verify(spec_queue *queue, spec_chain_outcome *outcome, const float *logits,
                  const spec_chain_request *request, spec_error *error)
{
    drawing_backend *drawing = drawing_of(queue);
    const int vocab = drawing->vocab, n = request->n, *token = request->token;
    double *store = rows_of(queue, logits, request->transform, n + 1),
           *weight = calloc((size_t)vocab, sizeof *weight);
    const double *row[SPEC_COLUMNS_MAX];
    int tokens[SPEC_COLUMNS_MAX], nodes[SPEC_COLUMNS_MAX];
    spec_draft draft;
    spec_round round = {.token = tokens, .node = nodes};
    told state = {.uniform = request->uniform};
    gsl_rng rng = {.type = &told_type, .state = &state};
    spec_chance chance = spec_chance_sampled(&rng);
    assert_int_equal(spec_draft_init(&draft, n, vocab, error), GSL_SUCCESS);
    for (int i = 0; i <= n; i++) row[i] = store + (size_t)i * (size_t)vocab;
    for (int i = 0; i < n; i++) {
        const double *drawn = request->law[i];
        spec_draft_append(&draft, token[i], i - 1, drawn, true);
        outcome->chance[i] =
            row[i][token[i]] < drawn[token[i]] ? row[i][token[i]] / drawn[token[i]] : 1.0;
    }
    spec_verify_token.verify(&round, &spec_verify_token, &draft, row, weight, &chance);
    outcome->n_accepted = round.n_accepted;
    outcome->token = round.token[round.n_emitted - 1];
    outcome->used = state.used;
    for (int i = round.n_tested; i < n; i++) outcome->chance[i] = 0.0;
    spec_draft_free(&draft);
    free(store);
    free(weight);
    drawing->verifications++;
    take(queue, drawing->wait);
    return GSL_SUCCESS;
}

void drawing_backend_init(drawing_backend *drawing, int vocab)
{
    *drawing = (drawing_backend){.backend = *spec_test_context(0)->cpu, .vocab = vocab};
    drawing->backend.name = "drawing";
    drawing->backend.self = drawing;
    drawing->backend.rows = count_rows;
    drawing->backend.argmax = largest;
    drawing->backend.wait = wait_for;
    drawing->backend.law_bytes = law_bytes;
    drawing->backend.begin = begin;
    drawing->backend.draw = draw;
    drawing->backend.drawn = drawn;
    drawing->backend.verify = verify;
}

void drawing_backend_take(drawing_backend *drawing, spec_model *model)
{
    const spec_transformer *transformer = spec_transformer_of(model);
    assert_non_null(transformer);
    assert_int_equal(model->vocab, drawing->vocab);
    ((spec_transformer *)transformer)->own_weights.backend = &drawing->backend;
}
