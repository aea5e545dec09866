/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/block/low_rank.h"

#include "models/row.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#define SPREAD 0.01 /* the most probability that the floor of probabilities adds to a row */

/* Returns the square root of a token's mean probability, the weight of errors in its logit. */
static double scale_of(const double *row, const double *base, int n, int vocab, int token)
{
    double sum = base[token];
    for (int a = 0; a < n; a++) sum += row[(size_t)a * (size_t)vocab + (size_t)token];
    return sqrt(fmax(sum / (n + 1), SPREAD / vocab));
}

/* Computes row a from its bias sum_j U[x][j] S[j] V[a][j] / scale[x], summed over the `rank`
 * largest j. */
static void fill(double *row, const double *base, const gsl_matrix *left, const gsl_vector *value,
                 const double *right, const double *scale, int vocab, int rank)
{
    for (int x = 0; x < vocab; x++) {
        double bias = 0.0;
        for (int j = 0; j < rank; j++)
            bias += gsl_matrix_get(left, (size_t)x, (size_t)j) * gsl_vector_get(value, (size_t)j) *
                    right[j];
        row[x] = fmax(base[x], SPREAD / vocab) * exp(bias / scale[x]);
    }
    spec_row_normalise(row, vocab);
}

int spec_low_rank(double *row, const double *base, int n, int vocab, int rank, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t V = (size_t)vocab, N = (size_t)n;
    const double least = SPREAD / vocab;
    assert(n >= 1 && n <= vocab && rank >= 0);
    if (rank >= n) return GSL_SUCCESS;
    if (rank == 0) {
        for (size_t a = 0; a < N; a++) memcpy(row + a * V, base, V * sizeof *row);
        return GSL_SUCCESS;
    }
    gsl_matrix *ratio = gsl_matrix_alloc(V, N), *right = gsl_matrix_alloc(N, N);
    gsl_vector *value = gsl_vector_alloc(N), *scale = gsl_vector_alloc(V);
    if (ratio == NULL || right == NULL || value == NULL || scale == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (size_t x = 0; x < V; x++) {
        gsl_vector_set(scale, x, scale_of(row, base, n, vocab, (int)x));
        for (size_t a = 0; a < N; a++)
            gsl_matrix_set(ratio, x, a,
                           gsl_vector_get(scale, x) *
                               log(fmax(row[a * V + x], least) / fmax(base[x], least)));
    }
    status = gsl_linalg_SV_decomp_jacobi(ratio, right, value);
    if (status != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, status, "rank=%d: %s", rank, gsl_strerror(status)));
    for (size_t a = 0; a < N; a++)
        fill(row + a * V, base, ratio, value, gsl_matrix_const_ptr(right, a, 0),
             gsl_vector_const_ptr(scale, 0), vocab, rank);
done:
    gsl_matrix_free(ratio);
    gsl_matrix_free(right);
    gsl_vector_free(value);
    gsl_vector_free(scale);
    return status;
}
