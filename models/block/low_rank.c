/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/block/low_rank.h"

#include "models/row.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#define LEAST 1e-15

static double log_of(double probability)
{
    return log(fmax(probability, LEAST));
}

/* Row a from its bias sum_j U[x][j] S[j] V[a][j], of the `rank` largest j. */
static void fill(double *row, const double *base, const gsl_matrix *left, const gsl_vector *value,
                 const double *right, int vocab, int rank)
{
    for (int x = 0; x < vocab; x++) {
        double bias = 0.0;
        for (int j = 0; j < rank; j++)
            bias += gsl_matrix_get(left, (size_t)x, (size_t)j) * gsl_vector_get(value, (size_t)j) *
                    right[j];
        row[x] = exp(log_of(base[x]) + bias);
    }
    spec_row_normalise(row, vocab);
}

int spec_low_rank(double *row, const double *base, int n, int vocab, int rank, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t V = (size_t)vocab, N = (size_t)n;
    assert(n >= 1 && n <= vocab && rank >= 0);
    if (rank == 0) {
        for (size_t a = 0; a < N; a++) memcpy(row + a * V, base, V * sizeof *row);
        return GSL_SUCCESS;
    }
    gsl_matrix *ratio = gsl_matrix_alloc(V, N), *right = gsl_matrix_alloc(N, N);
    gsl_vector *value = gsl_vector_alloc(N);
    if (ratio == NULL || right == NULL || value == NULL) SPEC_TRY(spec_no_memory(error));
    for (size_t a = 0; a < N; a++)
        for (size_t x = 0; x < V; x++)
            gsl_matrix_set(ratio, x, a, log_of(row[a * V + x]) - log_of(base[x]));
    status = gsl_linalg_SV_decomp_jacobi(ratio, right, value);
    if (status != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, status, "rank=%d: %s", rank, gsl_strerror(status)));
    for (size_t a = 0; a < N; a++)
        fill(row + a * V, base, ratio, value, gsl_matrix_const_ptr(right, a, 0), vocab,
             rank < n ? rank : n);
done:
    gsl_matrix_free(ratio);
    gsl_matrix_free(right);
    gsl_vector_free(value);
    return status;
}
