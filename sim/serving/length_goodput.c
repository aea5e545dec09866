/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses in every step one K for the batch, the K that maximises expected tokens per second. */
#include "sim/serving/acceptance_average.h"
#include "sim/serving/length_kind.h"

/* Independent sums, so that compilers can vectorize without changing the result. */
enum { LANES = 8 };

typedef struct {
    spec_acceptance_average average;
    int idle;      /* steps without drafts */
    float power[]; /* (slots) alpha^j of each request */
} goodput_state;

int spec_length_goodput_settings(spec_length_choice *choice, const spec_settings *settings,
                                 spec_error *error)
{
    static const char *const sources[] = {"known", "average", NULL};
    int source, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&choice->K_max, settings, "K_max", 8, 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_choice(&source, settings, "alpha", 0, sources, error));
    choice->goodput.average = choice->learns = source == 1;
    SPEC_TRY(spec_settings_double(&choice->goodput.rate, settings, "rate", 0.05, 1e-6, 1.0, error));
    SPEC_TRY(spec_settings_double(&choice->goodput.start, settings, "start", 0.7, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_int(&choice->goodput.probe, settings, "probe", 100, 0, 1 << 30, error));
done:
    return status;
}

static size_t goodput_state_size(const spec_length_choice *choice, int slots)
{
    (void)choice;
    return sizeof(goodput_state) + (size_t)slots * sizeof(float);
}

static void goodput_begin(const spec_length_choice *choice, void *state, int slots)
{
    goodput_state *run = state;
    (void)slots;
    run->average = (spec_acceptance_average){(float)choice->goodput.start, 1.0f};
}

/* Multiplies power[i] by alpha[i], and returns the sum. */
static double next_powers(float *restrict power, const float *restrict alpha, int n)
{
    double sum[LANES] = {0.0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            power[i + l] *= alpha[i + l];
            sum[l] += (double)power[i + l];
        }
    }
    for (int l = 0; i < n; i++, l++) sum[l] += (double)(power[i] *= alpha[i]);
    for (int l = 1; l < LANES; l++) sum[0] += sum[l];
    return sum[0];
}

static int goodput_choose(const spec_length_choice *choice, void *state,
                          const spec_step_batch *batch, int32_t *ret_K)
{
    goodput_state *run = state;
    const int n = batch->n;
    const double alpha = (double)spec_acceptance_average_alpha(&run->average);
    double emitted = n, power = 1.0, best = 0.0;
    int K = 0;
    (void)ret_K;
    if (!choice->goodput.average)
        for (int i = 0; i < n; i++) run->power[i] = 1.0f;
    for (int k = 0; k <= choice->K_max; k++) {
        if (k > 0)
            emitted += choice->goodput.average ? n * (power *= alpha)
                                               : next_powers(run->power, batch->alpha, n);
        const int64_t drafted = (int64_t)n * k;
        const double goodput = emitted / spec_length_seconds(choice, batch, drafted, drafted, k);
        if (goodput > best) best = goodput, K = k;
    }
    if (!choice->goodput.average) return K;
    run->idle = K == 0 ? run->idle + 1 : 0;
    if (run->idle <= choice->goodput.probe || choice->goodput.probe == 0 || choice->K_max == 0)
        return K;
    run->idle = 0;
    return 1;
}

static void goodput_observe(const spec_length_choice *choice, void *state,
                            const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                            double seconds)
{
    goodput_state *run = state;
    (void)seconds;
    spec_acceptance_average_add(&run->average, K, accepted, batch->n, choice->goodput.rate);
}

const spec_length_kind spec_length_goodput = {
    .name = "goodput",
    .usage = "goodput?K_max=8&alpha=known&rate=0.05&start=0.7&probe=100",
    .summary = "one K for the batch that maximises expected tokens per second in each step; alpha "
               "is known, or the `average` of the past",
    .reference = "SmartSpec24",
    .reads = true,
    .init = spec_length_goodput_settings,
    .state_size = goodput_state_size,
    .begin = goodput_begin,
    .choose = goodput_choose,
    .observe = goodput_observe,
};
