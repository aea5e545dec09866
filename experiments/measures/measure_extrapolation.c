/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens per round at another draft length, from the counters at one length: once by a simple rule,
 * and once by bounds that allow requests to differ. Everything is exact: there is no sampling. */
#include "experiments/measures/measures.h"

#include "analysis/acceptance/length_bounds.h"
#include "analysis/capped_geometric.h"
#include "base/settings.h"
#include "sim/serving/requests/alpha_law.h"

#include <gsl/gsl_minmax.h>
#include <math.h>
#include <string.h>

enum { K_MOST = 64 };

/* What the counters come from: either requests, each weighted by its share of the tokens, or
 * published tokens per round for K = 1, 2, ... */
typedef struct {
    int n;
    double alpha[SPEC_ALPHA_NODES], share[SPEC_ALPHA_NODES];
    double decay; /* decay of acceptance with depth, 1: none */
    int n_published;
    double published[K_MOST + 1]; /* [K], with 1 at K = 0 */
} population;

static const char published_usage[] = "published?tokens=1.8/2.3/2.59";

static int read_published(population *of, const spec_settings *settings, spec_error *error)
{
    const char *given = spec_settings_text(settings, "tokens");
    int status = GSL_SUCCESS;
    if (given == NULL)
        return spec_fail(error, GSL_EINVAL, "published: give tokens=1.8/2.3, for K = 1, 2, ...");
    of->published[0] = 1.0;
    for (size_t at = 0; at <= strlen(given);) {
        if (of->n_published == K_MOST)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "published: more than %d lengths", K_MOST));
        const int K = ++of->n_published;
        SPEC_TRY(spec_settings_list_double(&of->published[K], &at, "tokens", given, 1.0, K + 1.0,
                                           error));
    }
done:
    return status;
}

static int read_law(population *of, const char *spec, double alpha, spec_error *error)
{
    spec_alpha_law law;
    const int status = spec_alpha_law_init(&law, spec, alpha, error);
    return status == GSL_SUCCESS ? spec_alpha_law_nodes(&of->n, of->alpha, of->share, &law, error)
                                 : status;
}

/* Reads a law of alpha over requests, all-or-nothing, decay?rate=0.9 or published?tokens=... */
static int read_population(population *of, const char *spec, double alpha, spec_error *error)
{
    spec_settings settings = {0};
    int status = GSL_SUCCESS;
    *of = (population){.n = 1, .alpha = {alpha}, .share = {1.0}, .decay = 1.0};
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    if (strcmp(settings.name, "published") == 0) {
        SPEC_TRY(spec_settings_check(&settings, published_usage, NULL, error));
        SPEC_TRY(read_published(of, &settings, error));
    } else if (strcmp(settings.name, "decay") == 0) {
        SPEC_TRY(spec_settings_check(&settings, "decay?rate=0.9", NULL, error));
        SPEC_TRY(spec_settings_double(&of->decay, &settings, "rate", 0.9, 0.0, 1.0, error));
    } else if (strcmp(settings.name, "all-or-nothing") == 0) {
        SPEC_TRY(spec_settings_check(&settings, "all-or-nothing", NULL, error));
        of->n = 2;
        of->alpha[0] = 0.0, of->share[0] = 1.0 - alpha;
        of->alpha[1] = 1.0, of->share[1] = alpha;
    } else {
        SPEC_TRY(read_law(of, spec, alpha, error));
    }
done:
    spec_settings_free(&settings);
    return spec_point_blame(status, "population", error);
}

/* ---- what is seen, and what is true ---------------------------------------------------------- */

/* Returns the tokens per round of request i at K. */
static double emitted_by(const population *of, int i, int K)
{
    double chance[K_MOST];
    for (int j = 0; j < K; j++) chance[j] = of->alpha[i] * pow(of->decay, j);
    return spec_capped_geometric_positional_mean(chance, K);
}

/* Returns tokens over rounds. Each request has its share of the tokens, and as many rounds as it
 * needs for them at its own tokens per round. */
static double emitted_at(const population *of, int K)
{
    double rounds = 0.0;
    if (of->n_published > 0) return of->published[K];
    for (int i = 0; i < of->n; i++) rounds += of->share[i] / emitted_by(of, i, K);
    return 1.0 / rounds;
}

/* Fills in the counters at K: m[j - 1] is the share of rounds that accept at least j draft tokens.
 * For published lengths it is what each further depth adds, cut so that noise does not make it
 * increase. */
static void counters_at(double *m, const population *of, int K)
{
    const double emitted = emitted_at(of, K);
    for (int j = 1; j <= K; j++) {
        m[j - 1] = 0.0;
        if (of->n_published > 0)
            m[j - 1] =
                fmin(fmax(0.0, of->published[j] - of->published[j - 1]), j > 1 ? m[j - 2] : 1.0);
        for (int i = 0; i < of->n && of->n_published == 0; i++)
            m[j - 1] += of->share[i] / emitted_by(of, i, K) * emitted * pow(of->alpha[i], j) *
                        pow(of->decay, 0.5 * j * (j - 1.0));
        m[j - 1] = fmin(m[j - 1], 1.0);
    }
}

/* ---- the measure ----------------------------------------------------------------------------- */

/* Applies the simple rule: we cut rounds, or continue them at the conditional acceptance of the
 * last depth. */
static double simple_rule(const double *m, int K, int K_other)
{
    return K_other <= K ? spec_moment_bounds_free(m, K, K_other).low
                        : spec_moment_bounds_constant(m, K, K_other);
}

/* Returns how far the truth lies outside the bounds, as a share; 0 within them up to rounding; NaN
 * if there are no bounds. */
static double distance(double truth, spec_bounds bounds)
{
    const double slack = 1e-7;
    if (isnan(bounds.low)) return NAN;
    if (truth < bounds.low * (1.0 - slack)) return truth / bounds.low - 1.0;
    if (truth > bounds.high * (1.0 + slack)) return truth / bounds.high - 1.0;
    return 0.0;
}

/* Returns the bounds at K. They are NaN if no distribution of alpha has these counters, which we
 * notice because the lower bound then exceeds the upper one. */
static spec_bounds bounds_at(const double *m, int K, int K_other)
{
    const spec_bounds bounds = spec_length_bounds(m, K, K_other);
    return bounds.low > 0.0 && bounds.low <= bounds.high * (1.0 + 1e-9) ? bounds
                                                                        : (spec_bounds){NAN, NAN};
}

static const char *verdict_of(double outside, bool one_alpha)
{
    if (outside == 0.0) return "inside";
    if (one_alpha) return "NOT inside";
    return isnan(outside) ? "biased: no distribution of alpha gives these counters"
                          : "biased: acceptance falls with depth";
}

static void fill_row(spec_table *table, const population *of, int K, int K_other)
{
    double m[K_MOST];
    const double truth = emitted_at(of, K_other);
    counters_at(m, of, K);
    const double simple = simple_rule(m, K, K_other);
    const spec_bounds bounds = bounds_at(m, K, K_other);
    const double outside = distance(truth, bounds);
    const bool one_alpha = of->decay == 1.0 && of->n_published == 0;
    spec_table_number(table, "emitted", emitted_at(of, K));
    spec_table_number(table, "emitted_other", truth);
    spec_table_number(table, "simple", simple);
    spec_table_number(table, "simple_error", simple / truth - 1.0);
    spec_table_number(table, "bound_low", bounds.low);
    spec_table_number(table, "bound_high", bounds.high);
    spec_table_number(table, "bound_width", bounds.high / bounds.low - 1.0);
    spec_table_number(table, "outside", outside);
    spec_table_text(table, "verdict", verdict_of(outside, one_alpha));
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    population of;
    double alpha;
    int K, K_other, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 1, K_MOST, error));
    SPEC_TRY(spec_point_int(&K_other, point, measure, "other_K", 0, K_MOST, error));
    SPEC_TRY(read_population(&of, spec_point_text(point, measure, "population"), alpha, error));
    if (of.n_published > 0 && GSL_MAX(K, K_other) > of.n_published)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "population: lengths are published up to K = %d",
                           of.n_published));
    SPEC_TRY(spec_point_read(point));
    fill_row(table, &of, K, K_other);
done:
    return status;
}

static const char *const parameters[] = {"population=one", "alpha=0.7", "K", "other_K", NULL};
static const char *const columns[] = {
    "emitted",    "emitted_other", "simple",  "simple_error", "bound_low",
    "bound_high", "bound_width",  "outside", "verdict",      NULL};
static const spec_headline headlines[] = {
    {.column = "emitted_other", .unit = "tokens per round", .exact = true},
    {.column = "simple_error", .exact = true},
    {0},
};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_extrapolation = {
    .name = "extrapolation",
    .summary = "tokens per round at one draft length, predicted from the counters at another by a "
               "simple rule and by sharp bounds, and the true value",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .run = run,
};
