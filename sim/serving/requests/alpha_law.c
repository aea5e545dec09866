/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/alpha_law.h"

#include "base/names.h"
#include "base/settings.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_randist.h>
#include <math.h>

static const char *name_of(int i)
{
    static const char *const names[] = {"one", "beta", "two", NULL};
    return names[i];
}

const char *const spec_alpha_law_usages[] = {
    "one\tall requests have the same alpha",
    "beta?concentration=5\talpha of a request is drawn from a Beta distribution, narrow for a "
    "large concentration",
    "two?spread=0.2\talpha - spread or alpha + spread, each for half of the requests",
    NULL,
};

int spec_alpha_law_init(spec_alpha_law *law, const char *spec, double alpha, spec_error *error)
{
    const double slack = 1e-12; /* alpha + spread = 1 must not fail by rounding */
    int status = GSL_SUCCESS;
    spec_settings settings = {0};
    *law = (spec_alpha_law){.mean = alpha};

    if (!(alpha >= 0.0 && alpha <= 1.0))
        SPEC_TRY(spec_fail(error, GSL_EDOM, "alpha = %g is outside [0,1]", alpha));
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    const int kind = spec_names_find(name_of, settings.name, "distribution of alpha", error);
    SPEC_TRY(kind < 0 ? GSL_EINVAL
                      : spec_settings_check(&settings, spec_alpha_law_usages[kind], NULL, error));
    SPEC_TRY(spec_settings_double(&law->concentration, &settings, "concentration", 5.0, 0.01, 1e6,
                                  error));
    SPEC_TRY(spec_settings_double(&law->spread, &settings, "spread", 0.2, 0.0, 0.5, error));
    if (kind == 2 && (alpha - law->spread < -slack || alpha + law->spread > 1.0 + slack))
        SPEC_TRY(spec_fail(error, GSL_EDOM,
                           "two: alpha = %g with spread = %g leaves [0,1]; spread may be at most "
                           "%g",
                           alpha, law->spread, fmin(alpha, 1.0 - alpha)));
    if (kind == 1 && alpha > 0.0 && alpha < 1.0) law->kind = SPEC_ALPHA_BETA;
    if (kind == 2 && law->spread > 0.0) law->kind = SPEC_ALPHA_TWO;
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) *law = (spec_alpha_law){0};
    return status;
}

static double clipped(double alpha)
{
    return fmin(fmax(alpha, 0.0), 1.0);
}

double spec_alpha_law_draw(const spec_alpha_law *law, gsl_rng *rng)
{
    switch (law->kind) {
    case SPEC_ALPHA_BETA:
        return gsl_ran_beta(rng, law->mean * law->concentration,
                            (1.0 - law->mean) * law->concentration);
    case SPEC_ALPHA_TWO:
        return clipped(law->mean + (gsl_rng_uniform(rng) < 0.5 ? -law->spread : law->spread));
    default: return law->mean;
    }
}

double spec_alpha_law_quantile(const spec_alpha_law *law, double u)
{
    switch (law->kind) {
    case SPEC_ALPHA_BETA:
        return gsl_cdf_beta_Pinv(u, law->mean * law->concentration,
                                 (1.0 - law->mean) * law->concentration);
    case SPEC_ALPHA_TWO: return clipped(law->mean + (u < 0.5 ? -law->spread : law->spread));
    default: return law->mean;
    }
}

/* Fills the tridiagonal matrix of the orthonormal polynomials of Beta(a, b) on [0, 1]. They have
 * the recurrence of Jacobi polynomials on [-1, 1] with exponents b - 1 and a - 1, [DLMF] 18.9. The
 * eigenvalues of the matrix are the nodes, and the squared first components of its eigenvectors are
 * the weights. */
static void fill_jacobi(gsl_matrix *matrix, double a, double b)
{
    const double c = a + b;
    gsl_matrix_set_zero(matrix);
    for (int n = 0; n < SPEC_ALPHA_NODES; n++) {
        const double s = 2.0 * n + c;
        const double centre = n == 0 ? (a - b) / c : (a - b) * (c - 2.0) / ((s - 2.0) * s);
        gsl_matrix_set(matrix, (size_t)n, (size_t)n, 0.5 * (1.0 + centre));
        if (n == 0) continue;
        const double square = n == 1 ? 4.0 * a * b / (c * c * (c + 1.0))
                                     : 4.0 * n * (n + b - 1.0) * (n + a - 1.0) * (n + c - 2.0) /
                                           ((s - 2.0) * (s - 2.0) * (s - 1.0) * (s - 3.0));
        gsl_matrix_set(matrix, (size_t)n, (size_t)n - 1, 0.5 * sqrt(square));
        gsl_matrix_set(matrix, (size_t)n - 1, (size_t)n, 0.5 * sqrt(square));
    }
}

static int beta_nodes(double *ret_alpha, double *ret_weight, const spec_alpha_law *law,
                      spec_error *error)
{
    gsl_matrix *matrix = gsl_matrix_alloc(SPEC_ALPHA_NODES, SPEC_ALPHA_NODES);
    gsl_matrix *vector = gsl_matrix_alloc(SPEC_ALPHA_NODES, SPEC_ALPHA_NODES);
    gsl_eigen_symmv_workspace *work = gsl_eigen_symmv_alloc(SPEC_ALPHA_NODES);
    gsl_vector_view value = gsl_vector_view_array(ret_alpha, SPEC_ALPHA_NODES);
    int status = GSL_SUCCESS;
    if (matrix == NULL || vector == NULL || work == NULL) SPEC_TRY(spec_no_memory(error));
    fill_jacobi(matrix, law->mean * law->concentration, (1.0 - law->mean) * law->concentration);
    SPEC_TRY(gsl_eigen_symmv(matrix, &value.vector, vector, work));
    SPEC_TRY(gsl_eigen_symmv_sort(&value.vector, vector, GSL_EIGEN_SORT_VAL_ASC));
    for (int i = 0; i < SPEC_ALPHA_NODES; i++) {
        const double first = gsl_matrix_get(vector, 0, (size_t)i);
        ret_weight[i] = first * first;
        ret_alpha[i] = clipped(ret_alpha[i]);
    }
done:
    gsl_eigen_symmv_free(work);
    gsl_matrix_free(vector);
    gsl_matrix_free(matrix);
    return status;
}

int spec_alpha_law_nodes(int *ret_n, double *ret_alpha, double *ret_weight,
                         const spec_alpha_law *law, spec_error *error)
{
    *ret_n = law->kind == SPEC_ALPHA_BETA ? SPEC_ALPHA_NODES : law->kind == SPEC_ALPHA_TWO ? 2 : 1;
    if (law->kind == SPEC_ALPHA_BETA) return beta_nodes(ret_alpha, ret_weight, law, error);
    const double spread = *ret_n == 2 ? law->spread : 0.0;
    for (int i = 0; i < *ret_n; i++) {
        ret_alpha[i] = clipped(law->mean + (i == 0 ? -spread : spread));
        ret_weight[i] = 1.0 / *ret_n;
    }
    return GSL_SUCCESS;
}
