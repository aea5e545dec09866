/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"
#include "models/context.h"
#include "models/model_open.h"
#include "models/train/sgemm.h"
#include "models/transformer/engine/transformer.h"
#include "tests/bench/bench.h"
#include "tools/train/training.h"

#include <stdlib.h>

/* The products of a layer for 2,048 tokens x (T, I), weights w (O, I) and outputs y (T, O). */
enum { TOKENS = 2048 };
typedef enum { FORWARD, GRADIENT_OF_X, GRADIENT_OF_W } direction;

typedef struct {
    int inputs, outputs;
    direction way;
} layer;

typedef struct {
    spec_sgemm work;
    float *x, *w, *y;
    spec_sgemm_product product;
} products;

static void free_products(void *state)
{
    products *p = state;
    if (p == NULL) return;
    spec_sgemm_free(&p->work);
    free(p->x);
    free(p->w);
    free(p->y);
    free(p);
}

static float *numbers(size_t n, uint64_t key)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x != NULL && i < n; i++)
        x[i] = (float)((double)(spec_noise_word(key, i) >> 40) * 0x1p-23 - 1.0);
    return x;
}

static spec_sgemm_product product_of(const products *p, const layer *l)
{
    const int I = l->inputs, O = l->outputs;
    const size_t i = (size_t)I, o = (size_t)O;
    switch (l->way) {
    case FORWARD:
        return (spec_sgemm_product){TOKENS, O, I, {p->x, i, 1}, {p->w, 1, i}, p->y, o, false};
    case GRADIENT_OF_X:
        return (spec_sgemm_product){TOKENS, I, O, {p->y, o, 1}, {p->w, i, 1}, p->x, i, false};
    default: return (spec_sgemm_product){O, I, TOKENS, {p->y, 1, o}, {p->x, i, 1}, p->w, i, false};
    }
}

static const char *open_products(void **ret_state, const void *setup)
{
    const layer *l = setup;
    const size_t i = (size_t)l->inputs, o = (size_t)l->outputs;
    products *p = calloc(1, sizeof *p);
    spec_error error;
    if (p == NULL) return "no memory";
    p->x = numbers(TOKENS * i, 1);
    p->w = numbers(o * i, 2);
    p->y = numbers(TOKENS * o, 3);
    if (p->x == NULL || p->w == NULL || p->y == NULL ||
        spec_sgemm_init(&p->work, spec_cpu_isa(), &error) != GSL_SUCCESS) {
        free_products(p);
        return "no memory";
    }
    p->product = product_of(p, l);
    *ret_state = p;
    return NULL;
}

static uint64_t run_products(void *state, uint64_t n)
{
    const products *p = state;
    const uint64_t each =
        2 * (uint64_t)p->product.m * (uint64_t)p->product.n * (uint64_t)p->product.k;
    uint64_t done = 0;
    for (; done < n; done += each) spec_sgemm_run(&p->work, &p->product);
    return done;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

/* The time of a language model of these dimensions, or of a head for a random target of these
 * dimensions. */
typedef struct {
    const char *model;
    int kind; /* of a head, or -1 */
    int threads;
} step_case;

typedef struct {
    spec_context context;
    spec_thread_pool *pool;
    spec_model *model;
    spec_training_texts texts;
    spec_head_shape head;
    spec_training training;
} steps;

enum { STEP_TEXTS = 8, STEP_PLACES = 256, STEP_K = 5 };

static void free_steps(void *state)
{
    steps *s = state;
    if (s == NULL) return;
    spec_training_free(&s->training);
    spec_training_texts_free(&s->texts);
    spec_model_close(s->model);
    spec_thread_pool_free(s->pool);
    spec_context_free(&s->context);
    free(s);
}

/* Texts of random tokens: the time of a step does not depend on them. */
static int fill_texts(spec_training_texts *texts, int vocab)
{
    *texts = (spec_training_texts){.n = STEP_TEXTS * (STEP_PLACES + 1),
                                   .stride = STEP_PLACES + 1,
                                   .places = STEP_PLACES,
                                   .begin = -1};
    texts->token = malloc(texts->n * sizeof *texts->token);
    for (size_t i = 0; texts->token != NULL && i < texts->n; i++)
        texts->token[i] = (int)(spec_noise_word(4, i) % (uint64_t)vocab);
    return texts->token != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

static const char *open_steps(void **ret_state, const void *setup)
{
    static char reason[sizeof(spec_error)];
    int status = GSL_SUCCESS;
    const step_case *of = setup;
    spec_error message = {"no memory"}, *const error = &message;
    steps *s = calloc(1, sizeof *s);
    if (s == NULL) return "no memory";
    SPEC_TRY(spec_context_init(&s->context, 1, error));
    SPEC_TRY(spec_thread_pool_init(&s->pool, of->threads, error));
    SPEC_TRY(spec_model_open(&s->model, of->model, NULL, &s->context, error));
    const spec_checkpoint *checkpoint = spec_transformer_of(s->model)->checkpoint;
    SPEC_TRY(fill_texts(&s->texts, s->model->vocab));
    if (of->kind >= 0)
        s->head = spec_training_head_shape((spec_head_kind)of->kind, &checkpoint->shape, STEP_K);
    const spec_training_plan plan = {.opt_target = of->kind >= 0 ? checkpoint : NULL,
                                     .shape = {.shape = checkpoint->shape, .is_tied = true},
                                     .opt_head = of->kind >= 0 ? &s->head : NULL,
                                     .loss = of->kind >= 0 ? SPEC_LOSSES_FKL : SPEC_LOSSES_CE,
                                     .texts = STEP_TEXTS,
                                     .places = STEP_PLACES,
                                     .K = STEP_K,
                                     .trained = STEP_K,
                                     .first = 1,
                                     .schedule = {1, {{1000000, 0}}},
                                     .rate = 1e-3,
                                     .clip = 1.0};
    SPEC_TRY(spec_training_init(&s->training, &plan, &(spec_training_data){.learn = &s->texts},
                                s->pool, error));
    *ret_state = s;
    return NULL;
done:
    (void)status;
    free_steps(s);
    snprintf(reason, sizeof reason, "%s", message.text);
    return reason;
}

static uint64_t run_steps(void *state, uint64_t n)
{
    steps *s = state;
    uint64_t done = 0;
    for (; done < n; done += STEP_TEXTS * STEP_PLACES) {
        double loss;
        spec_error error;
        if (spec_training_step(&s->training, &loss, &error) != GSL_SUCCESS) abort();
    }
    return done;
}

#define MODEL_128 "random?dim=128&layers=5&heads=8&ffn=352&vocab=105&context=256&type=f32&seed=1"
#define MODEL_256 "random?dim=256&layers=6&heads=8&ffn=704&vocab=256&context=256&type=f32&seed=1"
/* Operations per token, forward and backward: 6 per weight, and 6 dim per layer and position that
 * it sees. */
#define FLOP(dim, layers, ffn, vocab)                                                              \
    (6.0 * ((layers) * ((dim) * (4.0 * (dim) + 3.0 * (ffn)) + 2.0 * (dim)*128.0) +                 \
            (double)(dim) * (vocab)))
#define STEPS(title, of, head, n_threads)                                                          \
    .work = title, .unit = "tokens", .init = open_steps, .run = run_steps, .free = free_steps,     \
    .setup = &(const step_case)                                                                    \
    {                                                                                              \
        of, head, n_threads                                                                        \
    }

/* oneDNN and OpenBLAS were equal within 10 % on these shapes. */
#define PRODUCT(title, I, O, direction, function)                                                  \
    .work = title, .unit = "flop", .init = open_products, .run = run_products,                     \
    .free = free_products, .setup = &(const layer){I, O, direction},                               \
    .yardstick = "train.py:" function "_" #I, .asked_ratio = .75
#define LAYER(title, I, O)                                                                         \
    {PRODUCT(title ", forward", I, O, FORWARD, "forward")},                                        \
        {PRODUCT(title ", gradient of x", I, O, GRADIENT_OF_X, "dx")},                             \
    {                                                                                              \
        PRODUCT(title ", gradient of w", I, O, GRADIENT_OF_W, "dw")                                \
    }

const spec_bench_row spec_bench_train[] = {
    LAYER("128 x 352", 128, 352),
    LAYER("256 x 704", 256, 704),
    LAYER("768 x 2304", 768, 2304),
    {STEPS("training step, 128 x 5", MODEL_128, -1, 1), .yardstick = "row:128 x 352, forward",
     .per = FLOP(128, 5, 352, 105)},
    {STEPS("training step, 256 x 6", MODEL_256, -1, 1), .yardstick = "row:256 x 704, forward",
     .per = FLOP(256, 6, 704, 256), .asked_ratio = .7},
    {STEPS("training step, 256 x 6, 2 threads", MODEL_256, -1, 2), .wall = true,
     .yardstick = "row:training step, 256 x 6", .asked_ratio = 1.8},
    /* five passes of its layer and output, forward and backward, and the target's pass */
    {STEPS("EAGLE-3, 5 test-time steps, 128 x 5", MODEL_128, SPEC_HEAD_EAGLE3, 1),
     .yardstick = "row:128 x 352, forward",
     .per = 5.0 * FLOP(128, 1, 352, 105) + 5.0 * 6.0 * 128 * 3 * 128 + FLOP(128, 5, 352, 105) / 3.0,
     .asked = 8000},
    {.work = NULL},
};
