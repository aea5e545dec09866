/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/length_law.h"

#include "base/names.h"
#include "base/settings.h"
#include "base/wide_rng.h"

#include <assert.h>
#include <ctype.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

static const double SIGMA_MOST = 10.0, SHIFT_MOST = 0.01; /* SHIFT_MOST: of the mean, relative */

static const char *name_of(int i)
{
    static const char *const names[] = {"lognormal", "geometric", "uniform", NULL};
    return names[i];
}

const char *const spec_length_law_usages[] = {
    "lognormal?mean=512&sigma=1&most=131072\tthe logarithm is normal with this standard deviation",
    "geometric?mean=256&most=131072\t1, 2, ... with falling probability: after each token it ends "
    "with the same chance",
    "uniform?low=128&high=512\teach length from low to high is equally likely",
    NULL,
};

/* Returns E[(x - n)+] for lognormal lengths, without rounding. */
static double expected_above(const spec_length_law *law, double n)
{
    if (law->sigma <= 0.0) return fmax(law->mean - n, 0.0);
    const double z = (log(n) - law->mu) / law->sigma;
    return law->mean * gsl_cdf_ugaussian_Q(z - law->sigma) - n * gsl_cdf_ugaussian_Q(z);
}

/* Returns P(length > n) for geometric lengths. */
static double geometric_above(const spec_length_law *law, double n)
{
    return n > 0.0 ? exp(n * log1p(-1.0 / law->mean)) : 1.0;
}

static int read_number(spec_length_law *law, const char *text, int least, spec_error *error)
{
    int number;
    if (!spec_settings_parse_int(&number, text) || number < least || number > SPEC_LENGTH_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "'%.60s' is not a whole number of tokens between %d and %d", text, least,
                         SPEC_LENGTH_MAX);
    *law = (spec_length_law){
        .kind = SPEC_LENGTH_NUMBER, .low = number, .most = number, .mean = number};
    return GSL_SUCCESS;
}

static int read_uniform(spec_length_law *law, const spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    law->kind = SPEC_LENGTH_UNIFORM;
    SPEC_TRY(spec_settings_int(&law->low, settings, "low", 128, 1, SPEC_LENGTH_MAX, error));
    SPEC_TRY(spec_settings_int(&law->most, settings, "high", 512, 1, SPEC_LENGTH_MAX, error));
    if (law->low > law->most)
        SPEC_TRY(
            spec_fail(error, GSL_EDOM, "uniform: low=%d is above high=%d", law->low, law->most));
    law->mean = 0.5 * ((double)law->low + law->most);
done:
    return status;
}

/* Reads lognormal and geometric specs. */
static int read_tailed(spec_length_law *law, const spec_settings *settings, spec_error *error)
{
    const bool lognormal = settings->name[0] == 'l';
    int status = GSL_SUCCESS;
    law->kind = lognormal ? SPEC_LENGTH_LOGNORMAL : SPEC_LENGTH_GEOMETRIC;
    law->low = 1;
    SPEC_TRY(spec_settings_int(&law->most, settings, "most", SPEC_LENGTH_MOST, 1, SPEC_LENGTH_MAX,
                               error));
    SPEC_TRY(spec_settings_double(&law->mean, settings, "mean", lognormal ? 512.0 : 256.0, 1.0,
                                  SPEC_LENGTH_MAX, error));
    SPEC_TRY(spec_settings_double(&law->sigma, settings, "sigma", lognormal ? 1.0 : 0.0, 0.0,
                                  SIGMA_MOST, error));
    law->mu = log(law->mean) - 0.5 * law->sigma * law->sigma;
    const double raised = lognormal ? 1.0 + expected_above(law, 1.0) : law->mean;
    const double mean = spec_length_law_mean(law);
    if (raised - law->mean > SHIFT_MOST * law->mean)
        SPEC_TRY(spec_fail(error, GSL_EDOM,
                           "%.80s: lengths of 1 or more have mean %.6g, not %.6g: the mean must be "
                           "larger",
                           settings->text, raised, law->mean));
    if (spec_settings_text(settings, "most") == NULL &&
        fabs(mean - law->mean) > SHIFT_MOST * law->mean)
        SPEC_TRY(spec_fail(error, GSL_EDOM,
                           "%.80s: lengths of 1 to %d have mean %.6g, not %.6g: give the largest "
                           "length, as in most=%d",
                           settings->text, law->most, mean, law->mean, law->most));
done:
    return status;
}

int spec_length_law_init(spec_length_law *law, const char *spec, int least, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_settings settings = {0};
    *law = (spec_length_law){0};

    SPEC_TRY(spec_settings_init(&settings, spec, error));
    if (isdigit((unsigned char)spec[0]) || spec[0] == '-' || spec[0] == '+' || spec[0] == '.') {
        SPEC_TRY(read_number(law, spec, least, error));
    } else {
        const int kind = spec_names_find(name_of, settings.name, "distribution of lengths", error);
        SPEC_TRY(kind < 0
                     ? GSL_EINVAL
                     : spec_settings_check(&settings, spec_length_law_usages[kind], NULL, error));
        SPEC_TRY(kind == 2 ? read_uniform(law, &settings, error)
                           : read_tailed(law, &settings, error));
    }
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) *law = (spec_length_law){0};
    return status;
}

int spec_length_law_draw(const spec_length_law *law, gsl_rng *rng)
{
    double x;
    switch (law->kind) {
    case SPEC_LENGTH_NUMBER: return law->low;
    case SPEC_LENGTH_UNIFORM:
        return law->low +
               (int)spec_wide_rng_below(rng, (uint64_t)law->most - (unsigned)law->low + 1);
    case SPEC_LENGTH_GEOMETRIC: x = gsl_ran_geometric(rng, 1.0 / law->mean); break;
    case SPEC_LENGTH_LOGNORMAL:
        x = exp(law->mu + law->sigma * gsl_ran_gaussian_ziggurat(rng, 1.0));
        x += gsl_rng_uniform(rng); /* floor(x + u) rounds x up with probability x - floor(x) */
        break;
    default: assert(!"a distribution of lengths"); return 0;
    }
    return x >= law->most ? law->most : x < 1.0 ? 1 : (int)x;
}

/* Drawn in proportion to length, a lognormal is lognormal with a larger mu, and a geometric length
 * is the sum of two geometric lengths minus 1. Uniform lengths are drawn by rejection, which
 * accepts most of them. Lengths above `most` become `most`. */
int spec_length_law_draw_by_length(const spec_length_law *law, gsl_rng *rng)
{
    const double mu = law->mu + law->sigma * law->sigma, most = law->most;
    double x;
    do {
        switch (law->kind) {
        case SPEC_LENGTH_LOGNORMAL:
            x = exp(mu + law->sigma * gsl_ran_gaussian_ziggurat(rng, 1.0)) + gsl_rng_uniform(rng);
            break;
        case SPEC_LENGTH_GEOMETRIC:
            x = gsl_ran_geometric(rng, 1.0 / law->mean);
            x += gsl_ran_geometric(rng, 1.0 / law->mean) - 1.0;
            break;
        default:
            x = spec_length_law_draw(law, rng);
            if (gsl_rng_uniform(rng) * most < x) return (int)x;
            x = INFINITY;
        }
    } while (gsl_rng_uniform(rng) * x > most);
    return x >= most ? law->most : x < 1.0 ? 1 : (int)x;
}

double spec_length_law_above(const spec_length_law *law, int n)
{
    if (law->kind == SPEC_LENGTH_OF_ROW) return NAN;
    if (n < law->low) return 1.0;
    if (n >= law->most) return 0.0;
    switch (law->kind) {
    case SPEC_LENGTH_LOGNORMAL:
        return fmax(expected_above(law, n) - expected_above(law, n + 1.0), 0.0);
    case SPEC_LENGTH_GEOMETRIC: return geometric_above(law, n);
    default: return (double)(law->most - n) / ((double)law->most - law->low + 1.0);
    }
}

/* Sums P(length > n) over n >= 0. */
double spec_length_law_mean(const spec_length_law *law)
{
    switch (law->kind) {
    case SPEC_LENGTH_OF_ROW: return NAN;
    case SPEC_LENGTH_LOGNORMAL:
        return 1.0 + expected_above(law, 1.0) - expected_above(law, law->most);
    case SPEC_LENGTH_GEOMETRIC: return law->mean * (1.0 - geometric_above(law, law->most));
    default: return law->mean;
    }
}

/* Sums (2n + 1) P(length > n) over n >= 0. */
double spec_length_law_mean_square(const spec_length_law *law)
{
    double sum = (double)law->low * law->low;
    if (law->kind == SPEC_LENGTH_OF_ROW) return NAN;
    for (int n = law->low; n < law->most; n++) {
        const double above = spec_length_law_above(law, n);
        if (above <= 0.0) break;
        sum += (2.0 * n + 1.0) * above;
    }
    return sum;
}

/* Returns E[length^2; length >= x] for lognormal lengths, x <= most. */
static double square_above(const spec_length_law *law, double x)
{
    const double shift = 2.0 * law->sigma, scale = exp(2.0 * (law->mu + law->sigma * law->sigma)),
                 z = (log(x) - law->mu) / law->sigma,
                 z_most = (log(law->most) - law->mu) / law->sigma;
    return scale * (gsl_cdf_ugaussian_Q(z - shift) - gsl_cdf_ugaussian_Q(z_most - shift)) +
           (double)law->most * law->most * gsl_cdf_ugaussian_Q(z_most);
}

double spec_length_law_longest(const spec_length_law *law, double share)
{
    if (law->kind != SPEC_LENGTH_LOGNORMAL) return NAN;
    if (law->sigma <= 0.0) return 1.0;
    double low = 1.0, high = law->most;
    const double all = square_above(law, 1e-300);
    while (high - low > 0.5) {
        const double middle = 0.5 * (low + high);
        if (square_above(law, middle) >= share * all)
            low = middle;
        else
            high = middle;
    }
    return gsl_cdf_ugaussian_Q((log(low) - law->mu) / law->sigma);
}
