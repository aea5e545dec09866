/* SPDX-License-Identifier: GPL-3.0-or-later */
/* odd_model: an odd checkpoint in the layout of the CPU, with a text.
 * Its logits, and a check that they are the same bytes everywhere. */
#ifndef SPECLAB_TESTS_ODD_MODEL_H
#define SPECLAB_TESTS_ODD_MODEL_H

#include "base/cpu.h"
#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/contexts.h"

#include <omp.h>

enum { ODD_TEXT = 600 };

typedef struct {
    spec_checkpoint checkpoint;
    spec_weights weights;
    int token[ODD_TEXT], vocab;
} odd_model;

static inline void odd_model_open(odd_model *m, const odd_form *f, spec_tensor_type type)
{
    m->vocab = f->shape.vocab;
    for (int t = 0; t < ODD_TEXT; t++) m->token[t] = (7 * t * t + 3 * t + 1) % m->vocab;
    make_odd_checkpoint(&m->checkpoint, f, type);
    assert_works(spec_weights_init(&m->weights, &m->checkpoint, SPEC_TENSOR_TYPES,
                                   spec_test_context(0)->cpu, &error));
}

static inline void odd_model_close(odd_model *m)
{
    spec_weights_free(&m->weights);
    spec_checkpoint_free(&m->checkpoint);
}

/* Computes the logits of the first n tokens, in passes of `columns` tokens: (n, vocab), for the
 * caller to free. */
static inline float *odd_model_logits(const odd_model *m, int n, int columns)
{
    float *logits = malloc((size_t)n * (size_t)m->vocab * sizeof *logits);
    assert_non_null(logits);
    engine_pass(logits, &m->weights, m->token, n, columns);
    return logits;
}

/* Checks every instruction set of this machine, with 1 to 3 threads, and one column per pass or
 * many. */
static inline void odd_model_same_bytes(const odd_form *form, spec_tensor_type type, int n)
{
    const int columns[] = {1, 2, 7, 23, n}, threads = omp_get_max_threads();
    float *first = NULL;
    for (int i = 0; i <= (int)spec_cpu_best_isa(); i++) {
        assert_int_equal(spec_cpu_limit(spec_cpu_isa_name((spec_isa)i), NULL), GSL_SUCCESS);
        odd_model m;
        omp_set_num_threads(1 + i % 3);
        odd_model_open(&m, form, type);
        for (int c = 0; c < (int)(sizeof columns / sizeof *columns); c++) {
            omp_set_num_threads(1 + (i + c) % 3);
            float *logits = odd_model_logits(&m, n, columns[c]);
            if (first == NULL) {
                first = logits;
                continue;
            }
            assert_memory_equal(logits, first, (size_t)n * (size_t)m.vocab * sizeof *logits);
            free(logits);
        }
        odd_model_close(&m);
    }
    free(first);
    assert_int_equal(spec_cpu_limit(NULL, NULL), GSL_SUCCESS);
    omp_set_num_threads(threads);
}

#endif
