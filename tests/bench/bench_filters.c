/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"
#include "models/filters.h"
#include "models/row.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of V = 32,000 with an entropy of 4 nats (normal logits of deviation 6), more than models
 * have on familiar texts; unsorted, one after another. */
enum { V = 32000, ROWS = 9 };

typedef struct {
    double row[ROWS][V], filtered[V];
    int order[V];
    spec_filters filters;
} filtering;

static const char *open_filtering(void **ret_state, const void *setup)
{
    filtering *f = malloc(sizeof *f);
    if (f == NULL) return "no memory";
    f->filters = *(const spec_filters *)setup;
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < V; i++) {
            const uint64_t word = spec_noise_mix((uint64_t)(r * V + i));
            double sum = 0.0; /* four uniform numbers, whose sum is nearly normal */
            for (int part = 0; part < 4; part++)
                sum += (double)(word >> 16 * part & 0xffff) * 0x1p-16 - 0.5;
            f->row[r][i] = exp(6.0 * sqrt(3.0) * sum);
        }
        spec_row_normalise(f->row[r], V);
    }
    *ret_state = f;
    return NULL;
}

static uint64_t run_filtering(void *state, uint64_t n)
{
    filtering *f = state;
    for (uint64_t i = 0; i < n; i++) {
        memcpy(f->filtered, f->row[i % ROWS], sizeof f->filtered);
        spec_filters_apply(f->filtered, V, &f->filters, f->order);
    }
    return n;
}

static const spec_filters top_k = {.top_k = 40, .top_p = 1.0}, top_p = {.top_p = 0.9},
                          both = {.top_k = 40, .top_p = 0.9}, min_p = {.top_p = 1.0, .min_p = 0.05};

#define FILTERING(name, of)                                                                        \
    .work = name, .unit = "rows", .init = open_filtering, .run = run_filtering, .free = free,      \
    .setup = &of

/* Goal: nine rows of a round with K = 4 take 5 % of 5 ms. */
const spec_bench_row spec_bench_filters[] = {
    {FILTERING("filter a row: top_k = 40", top_k), .asked = 36000},
    {FILTERING("filter a row: top_p = 0.9", top_p), .asked = 36000},
    {FILTERING("filter a row: top_k = 40, top_p = 0.9", both)},
    {FILTERING("filter a row: min_p = 0.05", min_p), .asked = 36000},
    {.work = NULL},
};
