/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"
#include "models/train/sgemm.h"
#include "tests/bench/bench.h"

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
    {.work = NULL},
};
