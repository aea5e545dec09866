/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/gaussian_process.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The grid of the fit: scales in units of the number of dimensions, noises in units of the
 * variance. */
static const double scales[] = {0.125, 0.25, 0.5, 1.0, 2.0, 4.0}, noises[] = {1e-6, 1e-3, 1e-1};
enum { SCALES = sizeof scales / sizeof *scales, NOISES = sizeof noises / sizeof *noises };

static int hamming(const unsigned char *a, const unsigned char *b, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] != b[i];
    return sum;
}

void spec_gaussian_process_free(spec_gaussian_process *process)
{
    free(process->x);
    gsl_matrix_free(process->factor);
    gsl_vector_free(process->weight);
    gsl_vector_free(process->row);
    *process = (spec_gaussian_process){0};
}

/* Computes everything except x, for one scale and noise. */
static void fit_one(spec_gaussian_process *p, const double *y, double scale, double noise)
{
    const int n = p->n, d = p->dimensions;
    double sum = 0.0, weighted = 0.0, log_det = 0.0, squares = 0.0;
    p->scale = scale;
    p->noise = noise;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            const int h = hamming(p->x + (size_t)i * (size_t)d, p->x + (size_t)j * (size_t)d, d);
            gsl_matrix_set(p->factor, (size_t)i, (size_t)j, exp(-h / scale) + (i == j) * noise);
        }
    }
    gsl_linalg_cholesky_decomp1(p->factor);
    gsl_vector_set_all(p->row, 1.0);
    gsl_linalg_cholesky_svx(p->factor, p->row); /* C^-1 1 */
    for (int i = 0; i < n; i++) {
        sum += gsl_vector_get(p->row, (size_t)i);
        weighted += gsl_vector_get(p->row, (size_t)i) * y[i];
        log_det += 2.0 * log(gsl_matrix_get(p->factor, (size_t)i, (size_t)i));
    }
    p->mean = weighted / sum;
    for (int i = 0; i < n; i++) gsl_vector_set(p->weight, (size_t)i, y[i] - p->mean);
    gsl_linalg_cholesky_svx(p->factor, p->weight);
    for (int i = 0; i < n; i++) squares += (y[i] - p->mean) * gsl_vector_get(p->weight, (size_t)i);
    p->variance = fmax(0.0, squares / n);
    p->log_likelihood = -0.5 * n * (log(2.0 * M_PI * p->variance) + 1.0) - 0.5 * log_det;
}

int spec_gaussian_process_fit(spec_gaussian_process *process, const unsigned char *x,
                              const double *y, int n, int dimensions)
{
    const size_t size = (size_t)n, bytes = size * (size_t)dimensions;
    double best = -INFINITY, scale = scales[0], noise = noises[0];
    bool same = true;
    spec_gaussian_process_free(process);
    *process = (spec_gaussian_process){.n = n, .dimensions = dimensions};
    process->x = malloc(bytes);
    process->factor = gsl_matrix_alloc(size, size);
    process->weight = gsl_vector_alloc(size);
    process->row = gsl_vector_alloc(size);
    if (process->x == NULL || process->factor == NULL || process->weight == NULL ||
        process->row == NULL) {
        spec_gaussian_process_free(process);
        return GSL_ENOMEM;
    }
    memcpy(process->x, x, bytes);
    for (int i = 1; i < n; i++) same = same && y[i] == y[0];
    for (int k = 0; k < SCALES * NOISES && !same; k++) {
        fit_one(process, y, scales[k / NOISES] * dimensions, noises[k % NOISES]);
        if (process->log_likelihood <= best) continue;
        best = process->log_likelihood;
        scale = process->scale;
        noise = process->noise;
    }
    fit_one(process, y, same ? scales[0] * dimensions : scale, noise);
    if (same) {
        process->variance = 0.0;
        process->log_likelihood = INFINITY;
    }
    return GSL_SUCCESS;
}

void spec_gaussian_process_predict(double *ret_mean, double *ret_sd, spec_gaussian_process *process,
                                   const unsigned char *x)
{
    const size_t d = (size_t)process->dimensions;
    double explained;
    for (int i = 0; i < process->n; i++) {
        const int h = hamming(x, process->x + (size_t)i * d, process->dimensions);
        gsl_vector_set(process->row, (size_t)i, exp(-h / process->scale));
    }
    gsl_blas_ddot(process->row, process->weight, ret_mean);
    *ret_mean += process->mean;
    gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, process->factor, process->row);
    gsl_blas_ddot(process->row, process->row, &explained);
    *ret_sd = sqrt(process->variance * fmax(0.0, 1.0 - explained));
}

double spec_gaussian_process_improvement(double mean, double sd, double best)
{
    if (sd == 0.0) return fmax(0.0, mean - best);
    const double z = (mean - best) / sd;
    return (mean - best) * gsl_cdf_ugaussian_P(z) + sd * gsl_ran_ugaussian_pdf(z);
}
