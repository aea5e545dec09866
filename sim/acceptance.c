/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance.h"

#include "base/cpu.h"
#include "base/names.h"
#include "base/settings.h"
#include "sim/acceptance_kernels.h"
#include "sim/acceptance_profile.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct {
    spec_acceptance_positional *positional;
    spec_acceptance_markov *markov;
} kernels;

static const kernels kernels_ref = {spec_acceptance_positional_ref, spec_acceptance_markov_ref};

static kernels kernels_of(spec_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI:
    case SPEC_ISA_AVX512:
        return (kernels){spec_acceptance_positional_avx512, spec_acceptance_markov_avx512};
    case SPEC_ISA_AVX2:
        return (kernels){spec_acceptance_positional_avx2, spec_acceptance_markov_avx2};
#elif defined(__aarch64__)
    case SPEC_ISA_DOTPROD:
    case SPEC_ISA_NEON:
        return (kernels){spec_acceptance_positional_neon, spec_acceptance_markov_neon};
#endif
    default:
        return kernels_ref;
    }
}

/* ---- the process ----------------------------------------------------------------------------- */

static const char *name_of(int i)
{
    static const char *const name[] = {
        "iid",     "decay",   "markov", "minimum-variance", "geometric", "rounded-normal", "rates",
        "context", "profile", NULL};
    return name[i];
}

static const char default_rates[] = "0.8/0.5/0.29"; /* as in the usage lines */
static const char default_context[] = "0.8@0/0.7@4000/0.5@16000";

const char *const spec_process_usages[] = {
    "iid\tevery draft token is accepted with chance alpha, independently",
    "decay?rate=0.95\tdraft token i = 0, 1, ... is accepted with chance alpha * rate^i",
    "markov?rho=0.5&spread=0.2\talpha +- spread, depending on a hidden state; neighbours have "
    "correlation rho",
    "minimum-variance?length=2.5\tlength tokens per round, as evenly as possible: its floor, or "
    "one more",
    "geometric?length=2.5\tlength tokens per round: iid, at the alpha of that mean",
    "rounded-normal?length=2.5\ta normal number of tokens, mean length and variance 1, within "
    "[1, K+1], rounded",
    "rates?of=0.8/0.5/0.29\tthe chances that at least 1, 2, ... draft tokens are accepted",
    "context?of=0.8@0/0.7@4000/0.5@16000\talpha by the length of a request's context, where each "
    "value applies from its length on; for serve",
    "profile:FILE?by=depth\tthe rates of a profile, which 'speclab advise --profile FILE' writes; "
    "by=context: its alpha by context",
    NULL,
};

static int rates_read(spec_process *process, const spec_settings *settings, spec_error *error)
{
    const char *given = spec_settings_text(settings, "of"),
               *text = given != NULL ? given : default_rates;
    const size_t length = strlen(text);
    double last = 1.0;
    int status = GSL_SUCCESS;
    for (size_t at = 0; at <= length; process->n_rates++) {
        if (process->n_rates == SPEC_RATES_MAX)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "rates: more than %d", SPEC_RATES_MAX));
        double *rate = &process->rate[process->n_rates];
        SPEC_TRY(spec_settings_list_double(rate, &at, "of", text, 0.0, 1.0, error));
        if (*rate > last)
            SPEC_TRY(
                spec_fail(error, GSL_EDOM,
                          "rates: of=%.80s rises to %g; each rate is at most the one before",
                          text, *rate));
        last = *rate;
    }
done:
    return status;
}

static int profile_read(spec_process *process, const spec_settings *settings, spec_error *error)
{
    static const char *const keys[] = {"depth", "context", NULL};
    spec_acceptance_profile profile = {0};
    int by, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_choice(&by, settings, "by", 0, keys, error));
    SPEC_TRY(spec_acceptance_profile_load(&profile, settings->path, error));
    if (by == 1 && profile.context.n == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: has no alpha_by_context: no difference between contexts was "
                           "seen",
                           settings->path));
    process->kind = by == 1 ? SPEC_PROCESS_CONTEXT : SPEC_PROCESS_RATES;
    process->context = profile.context;
    process->n_rates = by == 1 ? 0 : profile.K;
    for (int i = 0; i < process->n_rates; i++) process->rate[i] = profile.unconditional[i].value;
done:
    spec_acceptance_profile_free(&profile);
    return status;
}

static int process_read(spec_process *process, const spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int kind = spec_names_find(name_of, settings->name, "process", error);
    SPEC_TRY(kind < 0 ? GSL_EINVAL
                      : spec_settings_check(settings, spec_process_usages[kind], NULL, error));

    if (kind == 1) {
        process->kind = SPEC_PROCESS_DECAY;
        SPEC_TRY(spec_settings_double(&process->decay, settings, "rate", 0.95, 0.0, 1.0, error));
    } else if (kind == 2) {
        process->kind = SPEC_PROCESS_MARKOV;
        SPEC_TRY(spec_settings_double(&process->rho, settings, "rho", 0.5, -1.0, 1.0, error));
        SPEC_TRY(spec_settings_double(&process->spread, settings, "spread", 0.2, 0.0, 0.5, error));
    } else if (kind == 6) {
        process->kind = SPEC_PROCESS_RATES;
        SPEC_TRY(rates_read(process, settings, error));
    } else if (kind == 7) {
        const char *given = spec_settings_text(settings, "of");
        process->kind = SPEC_PROCESS_CONTEXT;
        SPEC_TRY(spec_context_steps_parse(&process->context, "context: of",
                                          given != NULL ? given : default_context, 0.0, 1.0,
                                          error));
    } else if (kind == 8) {
        SPEC_TRY(profile_read(process, settings, error));
    } else if (kind >= 3) {
        process->kind = SPEC_PROCESS_MINIMUM_VARIANCE + (kind - 3);
        SPEC_TRY(spec_settings_double(&process->length, settings, "length", 2.5, 1.0,
                                      SPEC_K_MAX + 1, error));
    }
done:
    return status;
}

int spec_acceptance_process_init(spec_process *process, const char *spec, double alpha,
                                 spec_error *error)
{
    const double slack = 1e-12; /* tolerance: alpha + spread = 1 must not fail because of
                                 * rounding */
    int status = GSL_SUCCESS;
    spec_settings settings = {0};
    *process = (spec_process){.kind = SPEC_PROCESS_IID, .decay = 1.0};

    SPEC_TRY(spec_settings_init(&settings, spec, error));
    SPEC_TRY(process_read(process, &settings, error));
    if (!spec_acceptance_reads_alpha(process)) goto done;
    process->alpha = alpha;
    if (!(alpha >= 0.0 && alpha <= 1.0)) {
        status = spec_fail(error, GSL_EDOM, "alpha = %g is outside [0,1]", alpha);
        goto done;
    }
    if (alpha - process->spread < -slack || alpha + process->spread > 1.0 + slack) {
        status = spec_fail(error, GSL_EDOM,
                           "markov: alpha = %g, spread = %g leaves [0,1]; spread may be at most %g",
                           alpha, process->spread, fmin(alpha, 1.0 - alpha));
    }

done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) memset(process, 0, sizeof *process);
    return status;
}

bool spec_acceptance_reads_alpha(const spec_process *process)
{
    return process->kind < SPEC_PROCESS_MINIMUM_VARIANCE;
}

int spec_acceptance_process_check(const spec_process *process, int K, spec_error *error)
{
    if (process->kind == SPEC_PROCESS_RATES && process->n_rates < K)
        return spec_fail(error, GSL_EDOM, "acceptance is given to depth %d, but K is %d",
                         process->n_rates, K);
    if (process->kind == SPEC_PROCESS_CONTEXT)
        return spec_fail(error, GSL_EDOM, "context: only serve has requests whose context grows");
    if (process->kind != SPEC_PROCESS_MINIMUM_VARIANCE && process->kind != SPEC_PROCESS_GEOMETRIC)
        return GSL_SUCCESS;
    if (process->length <= K + 1) return GSL_SUCCESS;
    return spec_fail(error, GSL_EDOM,
                     "%s: length = %g is above %d, the tokens of a round of K = %d",
                     name_of((int)process->kind), process->length, K + 1, K);
}

/* ---- chances by position --------------------------------------------------------------------- */

/* Returns the alpha at which 1 + alpha + ... + alpha^K equals `length`, by bisection to the last
 * bit. */
static double geometric_alpha(double length, int K)
{
    double low = 0.0, high = 1.0;
    for (double middle; (middle = 0.5 * (low + high)) > low && middle < high;) {
        double sum = 1.0;
        for (int i = 0; i < K; i++) sum = 1.0 + middle * sum;
        if (sum < length)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Returns the chance that a round of rounded-normal accepts at least i draft tokens. */
static double normal_tail(double length, int i)
{
    return i > 0 ? 0.5 * erfc((i + 0.5 - length) / sqrt(2.0)) : 1.0;
}

/* Fills the chance (K) that the draft token at each position is accepted if it is tested. */
static void fill_chances(double *ret_chance, const spec_process *process, int K)
{
    double chance = spec_acceptance_reads_alpha(process) ? process->alpha : 1.0;
    if (process->kind == SPEC_PROCESS_GEOMETRIC) chance = geometric_alpha(process->length, K);
    for (int i = 0; i < K; i++) {
        if (process->kind == SPEC_PROCESS_MINIMUM_VARIANCE)
            chance = fmin(fmax(process->length - 1.0 - i, 0.0), 1.0);
        if (process->kind == SPEC_PROCESS_ROUNDED_NORMAL && chance > 0.0) /* 1 at the first
                                                                           * positions */
            chance = normal_tail(process->length, i + 1) / normal_tail(process->length, i);
        if (process->kind == SPEC_PROCESS_RATES && chance > 0.0)
            chance = process->rate[i] / (i > 0 ? process->rate[i - 1] : 1.0);
        ret_chance[i] = chance;
        if (process->kind == SPEC_PROCESS_DECAY) chance *= process->decay;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Returns a probability as a number of 32-bit words, 0 .. 2^32. */
static uint64_t threshold(double chance)
{
    return (uint64_t)(fmin(fmax(chance, 0.0), 1.0) * 0x1p32 + 0.5);
}

static spec_event event(double chance)
{
    const uint64_t t = threshold(chance);
    return t == 0 ? (spec_event){0, 0} : (spec_event){(uint32_t)(t - 1), UINT32_MAX};
}

static void run_positional(const kernels *kernel, uint64_t *tail, spec_lanes *lanes,
                           const spec_process *process, int K, uint64_t n_rounds)
{
    uint32_t limit[SPEC_K_MAX];
    double chance[SPEC_K_MAX];
    int n = 0; /* positions with a positive chance */
    fill_chances(chance, process, K);
    for (; n < K && threshold(chance[n]) > 0; n++) limit[n] = event(chance[n]).limit;
    kernel->positional(tail, lanes, limit, n, n_rounds);
}

static void run_markov(const kernels *kernel, uint64_t *tail, spec_lanes *lanes,
                       const spec_process *process, int K, uint64_t n_rounds)
{
    const spec_acceptance_hidden hidden = {
        .begin = event(0.5),
        .flip = event((1.0 - process->rho) / 2.0),
        .pass = {event(process->alpha - process->spread), event(process->alpha + process->spread)},
    };
    kernel->markov(tail, lanes, &hidden, K, n_rounds);
}

/* The tally follows from the tails: tail[i] rounds accepted draft tokens 0..i. */
static void add_tails(spec_tally *tally, const uint64_t *tail, int K, uint64_t n_rounds)
{
    uint64_t accepted = 0, reached = n_rounds;
    for (int i = 0; i < K; i++) {
        tally->tested[i] += reached;
        tally->passed[i] += tail[i];
        tally->n_accepted[i] += reached - tail[i];
        accepted += tail[i];
        reached = tail[i];
    }
    tally->n_accepted[K] += reached;
    tally->rounds += n_rounds;
    tally->drafted += n_rounds * (uint64_t)K;
    tally->accepted += accepted;
    tally->emitted += accepted + n_rounds;
}

static void run(const kernels *kernel, spec_tally *tally, const spec_process *process, int K,
                uint64_t n_rounds, uint64_t seed, uint64_t stream)
{
    assert(K >= 0 && K <= SPEC_K_MAX);
    uint64_t tail[SPEC_K_MAX] = {0};
    spec_lanes lanes;
    spec_lanes_init(&lanes, seed, stream);
    if (process->kind == SPEC_PROCESS_MARKOV) {
        run_markov(kernel, tail, &lanes, process, K, n_rounds);
    } else {
        run_positional(kernel, tail, &lanes, process, K, n_rounds);
    }
    add_tails(tally, tail, K, n_rounds);
}

void spec_acceptance_rounds(spec_tally *tally, const spec_process *process, int K,
                            uint64_t n_rounds, uint64_t seed, uint64_t stream)
{
    const kernels kernel = kernels_of(spec_cpu_isa());
    run(&kernel, tally, process, K, n_rounds, seed, stream);
}

void spec_acceptance_rounds_ref(spec_tally *tally, const spec_process *process, int K,
                                uint64_t n_rounds, uint64_t seed, uint64_t stream)
{
    run(&kernels_ref, tally, process, K, n_rounds, seed, stream);
}
