/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/logits.h"

#include "base/int_math.h"
#include "base/thread_pool.h"
#include "models/model.h"
#include "models/row.h"

#include <assert.h>
#include <float.h>
#include <math.h>

enum { BLOCK = SPEC_VECTOR_EXPS, CHUNK = 8 * BLOCK, BLOCKS_MAX = SPEC_VOCAB_MAX / BLOCK };

static int find_largest(float *ret_largest, const float *logits, int vocab,
                        const spec_vector_kernels *kernels, spec_error *error)
{
    if (kernels->largest(ret_largest, logits, vocab)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EDOM,
                     "the model's logits are not finite: its weights are broken, or numbers "
                     "overflow; kv=bf16 keeps larger keys and values than kv=f16");
}

typedef struct {
    const spec_vector_kernels *kernels;
    double *row;
    const float *logits;
    int vocab;
    float largest;
    double factor; /* scales the logits to exponents, then the exponentials to probabilities */
    double sum[BLOCKS_MAX];
} row_job;

static void exps_of_chunk(void *job, int chunk)
{
    row_job *j = job;
    for (int i = chunk * CHUNK; i < spec_int_min((chunk + 1) * CHUNK, j->vocab); i += BLOCK)
        j->sum[i / BLOCK] = j->kernels->exps(j->row + i, j->logits + i, j->largest, j->factor,
                                             spec_int_min(BLOCK, j->vocab - i));
}

static void scale_chunk(void *job, int chunk)
{
    row_job *j = job;
    j->kernels->scale(j->row + chunk * CHUNK, j->factor,
                      spec_int_min(CHUNK, j->vocab - chunk * CHUNK));
}

int spec_logits_argmax(int *ret_token, const float *logits, int n, int vocab,
                       const spec_vector_kernels *kernels, spec_error *error)
{
    for (int i = 0; i < n; i++, logits += vocab) {
        float largest;
        const int status = find_largest(&largest, logits, vocab, kernels, error);
        if (status != GSL_SUCCESS) return status;
        ret_token[i] = kernels->find(logits, largest, vocab);
    }
    return GSL_SUCCESS;
}

int spec_logits_rows(double *const *row, const float *logits, double temperature, int n, int vocab,
                     const spec_vector_kernels *kernels, spec_thread_pool *opt_locked,
                     spec_error *error)
{
    assert(vocab <= SPEC_VOCAB_MAX && temperature > 0.0);
    const int chunks = spec_int_ceil_div(vocab, CHUNK);
    row_job job = {.kernels = kernels, .vocab = vocab};
    for (int i = 0; i < n; i++) {
        job.row = row[i];
        job.logits = logits + (size_t)i * (size_t)vocab;
        job.factor = fmin(1.0 / temperature, DBL_MAX);
        const int status = find_largest(&job.largest, job.logits, vocab, kernels, error);
        if (status != GSL_SUCCESS) return status;
        spec_thread_pool_run(opt_locked, exps_of_chunk, &job, chunks);
        job.factor = 1.0 / spec_row_sum(job.sum, spec_int_ceil_div(vocab, BLOCK));
        spec_thread_pool_run(opt_locked, scale_chunk, &job, chunks);
    }
    return GSL_SUCCESS;
}
