/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/dirichlet.h"

#include "base/noise.h"
#include "base/wide_rng.h"
#include "models/model_kinds.h"
#include "models/row.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>

static const spec_dirichlet defaults = {.concentration = 0.3, .seed = 7};

/* ---- the law --------------------------------------------------------------------------------- */

int spec_dirichlet_read(spec_dirichlet *ret_law, const spec_dirichlet *fallback,
                        spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_law = *fallback;
    SPEC_TRY(spec_settings_double(&ret_law->concentration, settings, "concentration",
                                  fallback->concentration, 1e-6, 1e9, error));
    SPEC_TRY(
        spec_settings_double(&ret_law->zeros, settings, "zeros", fallback->zeros, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_int(&ret_law->levels, settings, "levels", fallback->levels, 0,
                               1000000000, error));
    SPEC_TRY(spec_settings_u64(&ret_law->seed, settings, "seed", fallback->seed, error));
done:
    return status;
}

/* Returns a gamma variate, a >= 1 [Marsaglia00]: gsl_ran_gamma with b = 1, operation by operation.
 * The library's builds for arm64 fuse multiplications with additions, and rows would differ. */
static double gamma_variate(gsl_rng *rng, double a)
{
    const double d = a - 1.0 / 3.0, c = 1.0 / 3.0 / sqrt(d);
    for (;;) {
        double x, v;
        do {
            x = gsl_ran_gaussian_ziggurat(rng, 1.0);
            v = 1.0 + c * x;
        } while (v <= 0.0);
        v = v * v * v;
        const double u = gsl_rng_uniform_pos(rng);
        if (u < 1.0 - 0.0331 * x * x * x * x ||
            log(u) < 0.5 * x * x + d * (1.0 - v + log(v)))
            return d * v;
    }
}

/* Returns the logarithm of a gamma variate. gamma(a) = gamma(a+1) * U^(1/a), whose power underflows
 * for small a. */
static double log_gamma_variate(gsl_rng *rng, double a)
{
    if (a >= 1.0) return log(gamma_variate(rng, a));
    return log(gamma_variate(rng, a + 1.0)) + log(gsl_rng_uniform_pos(rng)) / a;
}

void spec_dirichlet_row(double *row, int vocab, const spec_dirichlet *law, uint64_t key)
{
    uint64_t state = key;
    gsl_rng rng = {.type = spec_noise_rng_type, .state = &state};
    const int kept = law->zeros > 0.0 ? (int)spec_wide_rng_below(&rng, (uint64_t)vocab) : 0;

    double largest = -INFINITY;
    for (int i = 0; i < vocab; i++) {
        const bool is_zero = law->zeros > 0.0 && gsl_rng_uniform(&rng) < law->zeros && i != kept;
        if (law->levels > 0) {
            const double weight =
                1.0 + (double)spec_wide_rng_below(&rng, (uint64_t)law->levels);
            row[i] = is_zero ? 0.0 : weight;
        } else {
            const double log_weight = log_gamma_variate(&rng, law->concentration);
            row[i] = is_zero ? -INFINITY : log_weight;
            if (row[i] > largest) largest = row[i];
        }
    }
    if (law->levels == 0) { /* the largest weight becomes 1, so that the sum is not 0 */
        for (int i = 0; i < vocab; i++) row[i] = exp(row[i] - largest);
    }
    spec_row_normalise(row, vocab);
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct {
    spec_model head;
    spec_dirichlet law;
} dirichlet;

static int open_dirichlet(spec_model **ret_model, spec_settings *settings,
                          const spec_model *opt_target, spec_context *opt_context,
                          spec_error *error)
{
    (void)opt_context;
    (void)opt_target;
    int status = GSL_SUCCESS, vocab, order;
    spec_dirichlet law;
    SPEC_TRY(spec_settings_int(&vocab, settings, "V", 64, 1, SPEC_VOCAB_MAX, error));
    SPEC_TRY(spec_settings_int(&order, settings, "order", 4, 0, SPEC_ORDER_MAX, error));
    SPEC_TRY(spec_dirichlet_read(&law, &defaults, settings, error));

    dirichlet *model = calloc(1, sizeof *model);
    if (model == NULL) SPEC_TRY(spec_no_memory(error));
    model->head.vocab = vocab;
    model->head.order = order;
    model->law = law;
    *ret_model = &model->head;
done:
    return status;
}

static void close_dirichlet(spec_model *model)
{
    free(model);
}

static const double *dirichlet_row(const spec_model *model, void *session, const int *context,
                                   size_t n, double *scratch, spec_error *error)
{
    (void)session, (void)error;
    const spec_dirichlet *law = &((const dirichlet *)model)->law;
    spec_dirichlet_row(scratch, model->vocab, law,
                       spec_noise_key(law->seed, context, n, model->order));
    return scratch;
}

const spec_model_kind spec_model_dirichlet = {
    .name = "dirichlet",
    .usage = "dirichlet?V=64&concentration=0.3&seed=7&order=4&zeros=0&levels=0",
    .summary = "a random row for every context of `order` tokens, from a symmetric Dirichlet or "
               "with integer levels",
    .reference = "",
    .open = open_dirichlet,
    .close = close_dirichlet,
    .row = dirichlet_row,
};
