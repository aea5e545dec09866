/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/counted_cases.h"

#include "analysis/acceptance/rounded_counts.h"
#include "base/names.h"
#include "base/settings.h"
#include "sim/observed/engine_counters.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- kinds of truth -------------------------------------------------------------------------- */

enum { ONE, REQUESTS, ROUNDS, DECAY, CORRELATED, STOP, SEES, DRIFT, KINDS };

/* A kind has one setting at most. */
static const struct {
    const char *name, *usage, *key;
    double fallback, low, high;
} kinds[KINDS] = {
    [ONE] = {"one", "one", "", 0.0, 0.0, 0.0},
    [REQUESTS] = {"requests", "requests?concentration=4", "concentration", 4.0, 0.01, 1e6},
    [ROUNDS] = {"rounds", "rounds?concentration=4", "concentration", 4.0, 0.01, 1e6},
    [DECAY] = {"decay", "decay?rate=0.9", "rate", 0.9, 1e-3, 1.0},
    [CORRELATED] = {"correlated", "correlated?stay=0.7", "stay", 0.7, 0.0, 0.999},
    [STOP] = {"stop", "stop?chance=0.2", "chance", 0.2, 0.0, 0.999},
    [SEES] = {"sees", "sees?chance=0.5", "chance", 0.5, 0.0, 1.0},
    [DRIFT] = {"drift", "drift?by=-0.1", "by", -0.1, -1.0, 1.0},
};

static const char *kind_name(int i)
{
    return i < KINDS ? kinds[i].name : NULL;
}

static void set_kind(spec_counted_case *c, int kind, double value)
{
    switch (kind) {
    case REQUESTS:
        c->alpha.kind = SPEC_ALPHA_BETA;
        c->alpha.concentration = value;
        break;
    case ROUNDS: c->engine.over_rounds = value; break;
    case DECAY: c->engine.decay = value; break;
    case CORRELATED: c->engine.stay = value; break;
    case STOP: c->engine.stop = value; break;
    case SEES: c->engine.sees = value; break;
    case DRIFT: c->after = fmin(fmax(c->alpha.mean + value, 0.0), 1.0); break;
    default: break;
    }
}

int spec_counted_case_kind(spec_counted_case *c, const char *kind, double alpha, spec_error *error)
{
    spec_settings settings = {0};
    int status = GSL_SUCCESS;
    double value = 0.0;
    c->engine.over_rounds = c->engine.stay = c->engine.stop = c->engine.sees = 0.0;
    c->engine.decay = 1.0;
    c->alpha = (spec_alpha_law){.kind = SPEC_ALPHA_ONE, .mean = alpha};
    c->after = NAN;
    SPEC_TRY(spec_settings_init(&settings, kind, error));
    const int i = spec_names_find(kind_name, settings.name, "kind", error);
    if (i < 0) SPEC_TRY(GSL_EINVAL);
    SPEC_TRY(spec_settings_check(&settings, kinds[i].usage, NULL, error));
    if (i != ONE)
        SPEC_TRY(spec_settings_double(&value, &settings, kinds[i].key, kinds[i].fallback,
                                      kinds[i].low, kinds[i].high, error));
    set_kind(c, i, value);
done:
    spec_settings_free(&settings);
    return status;
}

int spec_counted_case_limits(spec_counter_limits *ret, const spec_counted_case *c, int K,
                             spec_error *error)
{
    double alpha[SPEC_ALPHA_NODES], share[SPEC_ALPHA_NODES];
    spec_counted_engine engine = c->engine;
    int n, status = spec_alpha_law_nodes(&n, alpha, share, &c->alpha, error);
    engine.K = K;
    if (status != GSL_SUCCESS) return status;
    status = spec_counter_limits_of(ret, &engine, share, alpha, n);
    return status == GSL_SUCCESS
               ? status
               : spec_fail(error, status, "a setting of the engine is outside its domain");
}

/* ---- sources --------------------------------------------------------------------------------- */

static const char *source_name(int i)
{
    static const char *const names[] = {"windows", "rounded", "requests", NULL};
    return names[i];
}

int spec_counted_source_find(spec_counted_source *ret, const char *name, spec_error *error)
{
    const int i = spec_names_find(source_name, name, "source", error);
    if (i < 0) return GSL_EINVAL;
    *ret = (spec_counted_source)i;
    return GSL_SUCCESS;
}

/* ---- counters as observations ---------------------------------------------------------------- */

static spec_observation exact(const spec_engine_counters *c, int K, bool request)
{
    spec_observation o =
        spec_observation_empty(request ? SPEC_OBSERVED_REQUEST : SPEC_OBSERVED_WINDOW, 0);
    o.K = K;
    o.rounds = o.rounds_low = o.rounds_high = K > 0 ? (double)c->rounds : 0.0;
    o.passes = (double)c->rounds;
    o.drafted = (double)c->drafted;
    o.accepted = (double)c->accepted;
    o.emitted = (double)c->emitted;
    o.depths = K;
    for (int j = 1; j <= K; j++) o.passed[j - 1] = (double)spec_engine_counters_passed(c, j);
    o.seconds = c->seconds;
    return o;
}

static double rounded(double value, int digits)
{
    const double scale = pow(10.0, digits);
    return nearbyint(value * scale) / scale;
}

/* The numbers of a line of vLLM's log, and the whole numbers behind them. False if no numbers agree
 * with the line. */
static bool as_printed(spec_observation *o)
{
    double rate[SPEC_COUNTED_K];
    spec_rounded_recovery whole;
    o->emitted = rounded(o->emitted / o->seconds, 1) * o->seconds;
    if (o->K == 0 || !(o->rounds > 0.0)) return true;
    for (int j = 0; j < o->K; j++) rate[j] = rounded(o->passed[j] / o->rounds, 3);
    const spec_rounded_counts printed = {.accepted = (uint64_t)o->accepted,
                                         .drafted = (uint64_t)o->drafted,
                                         .length = rounded(1.0 + o->accepted / o->rounds, 2),
                                         .length_digits = 2,
                                         .n = o->K,
                                         .rate = rate,
                                         .rate_digits = 3};
    if (spec_rounded_counts_recover(&whole, &printed) != GSL_SUCCESS) return false;
    o->rounds = o->passes = (double)whole.rounds;
    o->rounds_low = (double)whole.rounds_low;
    o->rounds_high = (double)whole.rounds_high;
    for (int j = 0; j < o->K; j++) o->passed[j] = (double)whole.passed[j];
    return true;
}

static int count(spec_engine_counters *ret, int n, const spec_counted_case *c, int K,
                 const spec_counted_reading *reading, int half, spec_error *error)
{
    spec_counted_engine engine = c->engine;
    spec_alpha_law alpha = c->alpha;
    const uint64_t stream = 2 * reading->stream + (uint64_t)half;
    engine.K = K;
    if (half == 1) alpha.mean = c->after;
    return reading->source == SPEC_COUNTED_REQUESTS
               ? spec_engine_counters_requests(ret, n, &engine, &alpha, reading->seed, stream,
                                               error)
               : spec_engine_counters_windows(ret, n, reading->seconds, &engine, &alpha,
                                              reading->seed, stream, error);
}

int spec_counted_case_observe(int *opt_unread, const spec_observer *observer,
                              const spec_counted_case *c, int K,
                              const spec_counted_reading *reading, spec_error *error)
{
    const int n = reading->n, first = isnan(c->after) ? n : (n + 1) / 2;
    const bool requests = reading->source == SPEC_COUNTED_REQUESTS;
    int status = GSL_SUCCESS, unread = 0;
    spec_engine_counters *counters = malloc((size_t)n * sizeof *counters);
    if (counters == NULL) return spec_no_memory(error);
    SPEC_TRY(count(counters, first, c, K, reading, 0, error));
    if (first < n) SPEC_TRY(count(counters + first, n - first, c, K, reading, 1, error));
    for (int i = 0; i < n; i++) {
        spec_observation o = exact(&counters[i], K, requests);
        o.line = (uint64_t)i + 1;
        o.running = requests ? 1.0 : c->engine.batch; /* seconds are those of one request */
        if (reading->source == SPEC_COUNTED_ROUNDED && !as_printed(&o)) {
            unread++;
            continue;
        }
        SPEC_TRY(observer->take(observer->self, &o, error));
    }
done:
    free(counters);
    if (opt_unread != NULL) *opt_unread = unread;
    return status;
}
