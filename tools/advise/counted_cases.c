/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/counted_cases.h"

#include "base/names.h"
#include "base/settings.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- kinds of truth -------------------------------------------------------------------------- */

enum { ONE, REQUESTS, TWO, ROUNDS, DECAY, CORRELATED, STOP, SEES, DRIFT, KINDS };

/* Each kind has at most one setting. */
static const struct {
    const char *name, *usage, *key;
    double fallback, low, high;
} kinds[KINDS] = {
    [ONE] = {"one", "one", "", 0.0, 0.0, 0.0},
    [REQUESTS] = {"requests", "requests?concentration=4", "concentration", 4.0, 0.01, 1e6},
    [TWO] = {"two", "two?spread=0.2", "spread", 0.2, 0.0, 0.5},
    [ROUNDS] = {"rounds", "rounds?concentration=4", "concentration", 4.0, 0.01, 1e6},
    [DECAY] = {"decay", "decay?rate=0.9", "rate", 0.9, 1e-3, 1.0},
    [CORRELATED] = {"correlated", "correlated?stay=0.7", "stay", 0.7, 0.0, 0.999},
    [STOP] = {"stop", "stop?chance=0.2", "chance", 0.2, 0.0, 0.999},
    [SEES] = {"sees", "sees?chance=0.5", "chance", 0.5, 0.0, 1.0},
    [DRIFT] = {"drift", "drift?by=-0.1", "by", -0.1, -1.0, 1.0},
};

static const char *log_name(int i)
{
    static const char *const names[] = {"vllm", "sglang", "llama.cpp", NULL};
    return names[i];
}

static const spec_counted_runs run_sets[] = {
    {"K", 1, false}, {"plain+K", 1, true}, {"two", 2, false}, {"plain+two", 2, true}};

static const char *runs_name(int i)
{
    return i < (int)(sizeof run_sets / sizeof *run_sets) ? run_sets[i].name : NULL;
}

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
    case TWO:
        c->alpha.kind = SPEC_ALPHA_TWO;
        c->alpha.spread = value;
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

static int limits_of(spec_counter_limits *ret, const spec_counted_case *c, double mean, int K,
                     spec_error *error)
{
    double alpha[SPEC_ALPHA_NODES], share[SPEC_ALPHA_NODES];
    spec_counted_engine engine = c->engine;
    spec_alpha_law law = c->alpha;
    law.mean = mean;
    int n, status = spec_alpha_law_nodes(&n, alpha, share, &law, error);
    engine.K = K;
    if (status != GSL_SUCCESS) return status;
    status = spec_counter_limits_of(ret, &engine, share, alpha, n);
    return status == GSL_SUCCESS
               ? status
               : spec_fail(error, status, "a setting of the engine is outside its domain");
}

/* Adds the limits of one half of the log, with weight 1/2: both halves last equally long and have
 * equal numbers of rounds, because drafts of such a case never stop early. */
static void add_half(spec_counter_limits *ret, const spec_counter_limits *half, int K)
{
    double tested = 0.0;
    ret->tokens = 0.5 * (ret->tokens + half->tokens);
    ret->accepted = 0.5 * (ret->accepted + half->accepted);
    ret->tokens_per_s = 0.5 * (ret->tokens_per_s + half->tokens_per_s);
    for (int j = 1; j <= K; j++) {
        ret->passes[j] = 0.5 * (ret->passes[j] + half->passes[j]);
        ret->tests[j] = 0.5 * (ret->tests[j] + half->tests[j]);
        tested += ret->tests[j];
    }
    ret->alpha = K > 0 ? ret->accepted / tested : NAN;
}

int spec_counted_case_limits(spec_counter_limits *ret, const spec_counted_case *c, int K,
                             spec_error *error)
{
    spec_counter_limits half;
    int status = limits_of(ret, c, c->alpha.mean, K, error);
    if (status != GSL_SUCCESS || isnan(c->after)) return status;
    status = limits_of(&half, c, c->after, K, error);
    if (status == GSL_SUCCESS) add_half(ret, &half, K);
    return status;
}

/* ---- logs ------------------------------------------------------------------------------------ */

int spec_counted_log_find(spec_counted_log *ret, const char *name, spec_error *error)
{
    const int i = spec_names_find(log_name, name, "log", error);
    if (i < 0) return GSL_EINVAL;
    *ret = (spec_counted_log)i;
    return GSL_SUCCESS;
}

int spec_counted_runs_find(spec_counted_runs *ret, const char *name, spec_counted_log log,
                           spec_error *error)
{
    const int i = spec_names_find(runs_name, name, "runs", error);
    if (i < 0) return GSL_EINVAL;
    *ret = run_sets[i];
    if (ret->n == 2 && log == SPEC_COUNTED_LLAMACPP)
        return spec_fail(error, GSL_EINVAL,
                         "runs: responses of llama.cpp do not say K, so they are of one length");
    return GSL_SUCCESS;
}

/* Sets how much successive requests depend on each other, so that windows get the dependence of the
 * case. We use requests of the case's reference length, so that a text has the same neighbours at
 * all lengths. */
static int keep(spec_counted_engine *engine, const spec_counted_case *c,
                const spec_counted_run *run, spec_error *error)
{
    spec_counter_limits limits;
    engine->kept = 0.0;
    if (c->phi == 0.0) return GSL_SUCCESS;
    const int status = spec_counted_case_limits(&limits, c, c->phi_K, error);
    if (status != GSL_SUCCESS) return status;
    double requests = engine->batch / limits.rounds;
    if (run->log == SPEC_COUNTED_VLLM) requests *= run->seconds / limits.step;
    if (run->log == SPEC_COUNTED_SGLANG) requests *= SPEC_COUNTED_LOG_STEPS;
    if (run->log == SPEC_COUNTED_LLAMACPP) requests = 1.0;
    engine->kept = pow(c->phi, 1.0 / requests);
    return GSL_SUCCESS;
}

static int count(spec_engine_counters *ret, int n, const spec_counted_engine *engine,
                 const spec_alpha_law *alpha, const spec_counted_run *run, int half,
                 spec_error *error)
{
    const uint64_t stream = 2 * run->stream + (uint64_t)half;
    switch (run->log) {
    case SPEC_COUNTED_LLAMACPP:
        return spec_engine_counters_requests(ret, n, engine, alpha, run->seed, stream, error);
    case SPEC_COUNTED_SGLANG:
        return spec_engine_counters_steps(ret, n, SPEC_COUNTED_LOG_STEPS, engine, alpha, run->seed,
                                          stream, error);
    default:
        return spec_engine_counters_windows(ret, n, run->seconds, engine, alpha, run->seed, stream,
                                            error);
    }
}

int spec_counted_case_write(FILE *out, const spec_counted_case *c, const spec_counted_run *run,
                            spec_error *error)
{
    const int n = run->n, first = isnan(c->after) ? n : (n + 1) / 2;
    spec_counted_engine engine = c->engine;
    spec_alpha_law after = c->alpha;
    int status = GSL_SUCCESS;
    spec_engine_counters *counters = malloc((size_t)n * sizeof *counters);
    if (counters == NULL) return spec_no_memory(error);
    SPEC_TRY(keep(&engine, c, run, error));
    engine.K = run->K;
    after.mean = c->after;
    SPEC_TRY(count(counters, first, &engine, &c->alpha, run, 0, error));
    if (first < n) SPEC_TRY(count(counters + first, n - first, &engine, &after, run, 1, error));
    spec_counted_log_write(out, run->log, &engine, counters, n);
done:
    free(counters);
    return status;
}
