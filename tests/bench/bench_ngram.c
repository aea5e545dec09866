/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/kneser_ney.h"
#include "tests/bench/bench.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>

/* A synthetic text: a letter is one of a few successors of the previous one, or, one time in a
 * hundred, any. Its 64 letters have 2.0 bits per letter under a 5-gram model and 156 k distinct
 * 5-grams. 2 MB of English plays and stories have 1.9 and 170 k, and take as long. */
enum { BYTES = 2000000 };

typedef struct {
    int order, vocab;
} shape;

typedef struct {
    shape shape;
    int *token; /* (BYTES) */
    size_t next;
    double *row; /* (vocab) */
    spec_kneser_ney law;
    volatile double sink;
} trainer;

static void close_trainer(void *state)
{
    trainer *t = state;
    if (t == NULL) return;
    if (t->law.context != NULL) spec_kneser_ney_free(&t->law);
    free(t->token);
    free(t->row);
    free(t);
}

static const char *open_text(void **ret_state, const void *setup)
{
    trainer *t = calloc(1, sizeof *t);
    if (t == NULL) return "no memory";
    t->shape = *(const shape *)setup;
    t->token = malloc(BYTES * sizeof *t->token);
    t->row = malloc((size_t)t->shape.vocab * sizeof *t->row);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    if (t->token == NULL || t->row == NULL || rng == NULL) {
        gsl_rng_free(rng);
        close_trainer(t);
        return "no memory";
    }
    const unsigned letters = t->shape.vocab > 256 ? (unsigned)t->shape.vocab : 64;
    unsigned last = 0;
    for (int i = 0; i < BYTES; i++) {
        const unsigned draw = (unsigned)gsl_rng_get(rng), noise = draw >> 10;
        const unsigned step = (unsigned)__builtin_ctz(noise | 1u << 20);
        last = draw % 1000 < 10 ? noise % letters : (5 * last + step * step) % letters;
        t->token[i] = (int)last;
    }
    gsl_rng_free(rng);
    *ret_state = t;
    return NULL;
}

/* Trains on the whole text until n tokens are done; a shorter text would be easier. */
static uint64_t train(void *state, uint64_t n)
{
    trainer *t = state;
    spec_error error;
    uint64_t done = 0;
    for (; done < n; done += BYTES) {
        spec_ngram_counts counts;
        spec_kneser_ney law = {0};
        if (spec_ngram_counts_init(&counts, t->shape.order, t->shape.vocab, &error) ==
                GSL_SUCCESS &&
            spec_ngram_counts_push(&counts, t->token, BYTES, &error) == GSL_SUCCESS &&
            spec_kneser_ney_init(&law, &counts, t->shape.vocab, &error) == GSL_SUCCESS) {
            t->sink = law.unigram[0];
        }
        spec_kneser_ney_free(&law);
        spec_ngram_counts_free(&counts);
    }
    return done;
}

static const char *open_law(void **ret_state, const void *setup)
{
    const char *reason = open_text(ret_state, setup);
    if (reason != NULL) return reason;
    trainer *t = *ret_state;
    spec_ngram_counts counts;
    spec_error error;
    int status = spec_ngram_counts_init(&counts, t->shape.order, t->shape.vocab, &error);
    if (status == GSL_SUCCESS)
        status = spec_ngram_counts_push(&counts, t->token, BYTES / 4, &error);
    if (status == GSL_SUCCESS)
        status = spec_kneser_ney_init(&t->law, &counts, t->shape.vocab, &error);
    spec_ngram_counts_free(&counts);
    if (status == GSL_SUCCESS) return NULL;
    close_trainer(t);
    return "no memory";
}

/* Rows along the held-out part of the text. */
static uint64_t rows(void *state, uint64_t n)
{
    trainer *t = state;
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        t->next = t->next + 1 < BYTES ? t->next + 1 : BYTES / 4;
        sum += spec_kneser_ney_row(&t->law, t->token, t->next, t->row)[t->token[t->next]];
    }
    t->sink = sum;
    return n;
}

const spec_bench_row spec_bench_ngram[] = {
    {.work = "n-gram training, order 5, bytes",
     .unit = "B",
     .init = open_text,
     .run = train,
     .free = close_trainer,
     .setup = &(const shape){5, 256},
     .asked = 10e6},
    {.work = "n-gram row, order 5, bytes",
     .unit = "rows",
     .init = open_law,
     .run = rows,
     .free = close_trainer,
     .setup = &(const shape){5, 256},
     .asked = 1e6},
    {.work = "n-gram row, order 3, V = 32,000",
     .unit = "rows",
     .init = open_law,
     .run = rows,
     .free = close_trainer,
     .setup = &(const shape){3, 32000}},
    {.work = NULL},
};
