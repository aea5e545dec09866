/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/modulated.h"

#include "analysis/law.h"
#include "analysis/stationary.h"
#include "speclab/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t index_of(int row, int column, int S)
{
    return (size_t)row * (size_t)S + (size_t)column;
}

static double *row_of(double *rows, int row, int S)
{
    return &rows[index_of(row, 0, S)];
}

/* Allocates zeroed rows (S) of workspace. */
static double *rows_alloc(int rows, int S)
{
    return calloc((size_t)rows, (size_t)S * sizeof(double));
}

/* Computes mean and variance (S) of n_accepted for a round that starts in each state, by the law of
 * total variance, from the last token backwards. From state s, a round accepts a token and goes on
 * from t with chance accept[s*S+t], and ends with chance lost[s]. No term is negative. work
 * (2S). */
static void accepted_moments(double *ret_mean, double *ret_variance, const double *accept,
                             const double *lost, int S, int K, double *work)
{
    double *mean = work, *variance = row_of(work, 1, S);
    size_t bytes = (size_t)S * sizeof(double);
    for (int k = 0; k < K; k++) {
        for (int s = 0; s < S; s++) {
            const double *row = accept + index_of(s, 0, S);
            double m = 0.0, v = 0.0;
            for (int t = 0; t < S; t++) m += row[t] * (1.0 + ret_mean[t]);
            for (int t = 0; t < S; t++) {
                double off = 1.0 + ret_mean[t] - m;
                v += row[t] * (ret_variance[t] + off * off);
            }
            mean[s] = m;
            variance[s] = v + lost[s] * m * m;
        }
        memcpy(ret_mean, mean, bytes);
        memcpy(ret_variance, variance, bytes);
    }
}

/* Computes the moments of n_emitted if the starting state has the law `start`, from the moments of
 * n_accepted in each state. */
static void mix(double *ret_mean, double *ret_variance, const double *start, const double *mean,
                const double *variance, int S)
{
    double m = 0.0, v = 0.0;
    for (int s = 0; s < S; s++) m += start[s] * mean[s];
    for (int s = 0; s < S; s++) v += start[s] * (variance[s] + (mean[s] - m) * (mean[s] - m));
    *ret_mean = 1.0 + m;
    *ret_variance = v;
}

int spec_modulated_mean_variance(double *ret_mean, double *ret_variance, const double *start,
                                 const double *stay, const double *accept, int S, int K)
{
    *ret_mean = *ret_variance = 0.0;
    if (K < 0 || !spec_law_is_whole(spec_law_sum(start, S))) return GSL_EDOM;
    for (int s = 0; s < S; s++) {
        if (!spec_law_is_whole(spec_law_sum(stay + index_of(s, 0, S), S))) return GSL_EDOM;
        if (!(accept[s] >= 0.0 && accept[s] <= 1.0)) return GSL_EDOM;
    }

    double *rows = rows_alloc(S + 5, S);
    if (rows == NULL) return GSL_ENOMEM;
    double *mean = rows, *variance = row_of(rows, 1, S), *lost = row_of(rows, 2, S),
           *work = row_of(rows, 3, S);
    double *moving = row_of(rows, 5, S); /* (S,S) chance of accepting here and moving to a state */
    for (int s = 0; s < S; s++) {
        for (int t = 0; t < S; t++) moving[index_of(s, t, S)] = accept[s] * stay[index_of(s, t, S)];
        lost[s] = 1.0 - accept[s];
    }
    accepted_moments(mean, variance, moving, lost, S, K, work);
    mix(ret_mean, ret_variance, start, mean, variance, S);
    free(rows);
    return GSL_SUCCESS;
}

int spec_modulated_pair(double *ret_mean, double *ret_variance, double alpha, double spread,
                        double rho, int K)
{
    double same = 0.5 * (1.0 + rho), other = 0.5 * (1.0 - rho);
    double start[2] = {0.5, 0.5}, stay[4] = {same, other, other, same},
           accept[2] = {alpha + spread, alpha - spread};
    return spec_modulated_mean_variance(ret_mean, ret_variance, start, stay, accept, 2, K);
}

/* Computes product = left right + added (S,S); zeros on the left cost nothing. */
static void multiply_add(double *product, const double *left, const double *right,
                         const double *added, int S)
{
    memcpy(product, added, (size_t)S * (size_t)S * sizeof(double));
    for (int i = 0; i < S; i++) {
        double *row = product + index_of(i, 0, S);
        for (int k = 0; k < S; k++) {
            double weight = left[index_of(i, k, S)];
            if (weight == 0.0) continue;
            const double *from = right + index_of(k, 0, S);
            for (int j = 0; j < S; j++) row[j] += weight * from[j];
        }
    }
}

int spec_modulated_pair_chain(double *ret_mean, double *ret_variance, double *opt_start,
                              const double *accept, const double *reject, const double *bonus,
                              int S, int K)
{
    *ret_mean = *ret_variance = 0.0;
    if (S < 1) return GSL_EDOM;
    if (opt_start != NULL) memset(opt_start, 0, (size_t)S * sizeof(double));
    if (K < 0) return GSL_EDOM;

    int status;
    double *rows = rows_alloc(S + S + 6, S);
    if (rows == NULL) return GSL_ENOMEM;
    double *kernel = rows, *next = row_of(kernel, S, S), *mean = row_of(next, S, S),
           *variance = row_of(mean, 1, S);
    double *lost = row_of(mean, 2, S), *start = row_of(mean, 3, S), *work = row_of(mean, 4, S);
    for (int s = 0; s < S; s++) {
        size_t row = index_of(s, 0, S);
        lost[s] = spec_law_sum(reject + row, S);
        if (!spec_law_is_whole(spec_law_sum(accept + row, S) + lost[s])) SPEC_TRY(GSL_EDOM);
        if (!spec_law_is_whole(spec_law_sum(bonus + row, S))) SPEC_TRY(GSL_EDOM);
    }

    /* Horner's rule, from the bonus backwards: the kernel of the last k tokens is reject + accept
     * times the kernel of the last k - 1. */
    memcpy(kernel, bonus, (size_t)S * (size_t)S * sizeof(double));
    for (int k = 0; k < K; k++) {
        multiply_add(next, accept, kernel, reject, S);
        double *swap = kernel;
        kernel = next;
        next = swap;
    }
    for (int s = 0; s < S; s++) { /* corrects the rows' errors, up to 1e-9 in each of K + 1 steps */
        double *row = kernel + index_of(s, 0, S), sum = spec_law_sum(row, S);
        for (int t = 0; t < S; t++) row[t] /= sum;
    }
    SPEC_TRY(spec_stationary_law(start, kernel, S));
    accepted_moments(mean, variance, accept, lost, S, K, work);
    mix(ret_mean, ret_variance, start, mean, variance, S);
    if (opt_start != NULL) memcpy(opt_start, start, (size_t)S * sizeof(double));
done:
    free(rows);
    return status;
}
