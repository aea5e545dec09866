/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gaussian_process: regression for a function of binary vectors, with its uncertainty.
 * Bayesian optimisation uses it to get the posterior after n values and the expected improvement of
 * another vector [Rasmussen06] [Jones98]. A process owns copies of its data; a zeroed one is legal
 * and may be freed. */
#ifndef SPECLAB_GAUSSIAN_PROCESS_H
#define SPECLAB_GAUSSIAN_PROCESS_H

#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

/* y(x) = mean + f(x), with f a process of covariance
 *
 *     cov(f(a), f(b)) = variance (exp(-hamming(a, b) / scale) + noise [a = b])
 *
 * This is the kernel of squared distances, because bits differ by 0 or 1. */
typedef struct {
    int n, dimensions;
    unsigned char *x; /* (n, dimensions) */
    double mean, variance, scale, noise, log_likelihood;
    gsl_matrix *factor; /* Cholesky factor of exp(-hamming / scale) + noise I */
    gsl_vector *weight; /* the inverse of exp(-hamming / scale) + noise I, times y - mean */
    gsl_vector *row;    /* (n) workspace */
} spec_gaussian_process;

/* Fits n values. Mean and variance maximise the likelihood in closed form, [Rasmussen06] Eq.
 * (2.30); scale and noise do so on a grid.
 *
 *     mean = 1' C^-1 y / 1' C^-1 1,   variance = (y - mean)' C^-1 (y - mean) / n
 *     log_likelihood = -n/2 (log(2 pi variance) + 1) - log det(C) / 2
 *
 *   x   (n, dimensions) zeros and ones, rows distinct
 *   y   (n) finite
 *   n   >= 1
 *   returns GSL_SUCCESS or GSL_ENOMEM. If all y are equal, variance is 0 and log_likelihood +inf.
 * The previous fit is freed. O(n^3). Checked by: the density with explicit inverse and determinant
 * (tests/analysis). */
int spec_gaussian_process_fit(spec_gaussian_process *process, const unsigned char *x,
                              const double *y, int n, int dimensions);
void spec_gaussian_process_free(spec_gaussian_process *process);

/* Computes the distribution of mean + f at a vector, given the values and without noise. It is
 * normal, with the mean and standard deviation returned here; the process's mean is taken as known.
 *
 *     ret_mean = mean + r' C^-1 (y - mean),   ret_sd^2 = variance (1 - r' C^-1 r)
 *
 * with r = exp(-hamming / scale) to each row of x. O(n^2). Two threads must not call it at once.
 * Checked by: the explicit inverse. */
void spec_gaussian_process_predict(double *ret_mean, double *ret_sd, spec_gaussian_process *process,
                                   const unsigned char *x);

/* Returns the mean of max(0, Y - best) for a normal Y                           [Jones98] Eq. (15)
 *
 *     (mean - best) Phi(z) + sd phi(z),   z = (mean - best) / sd
 *
 *   sd      >= 0; at 0 the limit, max(0, mean - best)
 * Checked by: quadrature. */
double spec_gaussian_process_improvement(double mean, double sd, double best);

#endif
