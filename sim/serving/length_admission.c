/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All requests draft K tokens, and the batch verifies only the likeliest. This is the adaptive
 * verification of vLLM and the scheduler of DSpark in SGLang. It chooses the budget that maximises
 * expected tokens per second, by confidences from a few steps ago, because engines do not know
 * later ones in time. The budget then goes to the tokens whose survival is largest now. Until a
 * request has confidences that old, they count as 1.
 *
 * A simulated request accepts with the same alpha at every position. So its confidence is alpha
 * itself if a head is assumed to know it; otherwise it is estimated from the feature sharpness *
 * logit(alpha), which stands for the logit of the draft's own probability. */
#include "sim/draft/length/acceptance_estimator.h"
#include "sim/serving/length_kind.h"
#include "sim/serving/survival_order.h"

#include <math.h>
#include <string.h>

enum { LAG_MAX = 7 };
static const double feature_limit = 40.0;

typedef struct {
    int slots;
    int64_t steps;
    spec_acceptance_estimator now, before[LAG_MAX + 1]; /* before[s % (lag + 1)]: in step s */
    /* Followed by the arrays key, scratch (slots K), survival (slots K), and age (slots), the steps
     * since entry. */
    uint64_t store[];
} admission_state;

typedef struct {
    uint64_t *key, *scratch;
    float *survival;
    int32_t *age;
} admission_arrays;

static admission_arrays arrays_of(const spec_length_choice *choice, admission_state *run)
{
    const size_t nodes = (size_t)run->slots * (size_t)choice->K_max;
    admission_arrays at = {.key = run->store, .scratch = run->store + nodes};
    at.survival = (float *)(run->store + 2 * nodes);
    at.age = (int32_t *)(at.survival + nodes);
    return at;
}

static size_t admission_state_size(const spec_length_choice *choice, int slots)
{
    const size_t nodes = (size_t)slots * (size_t)choice->K_max;
    return sizeof(admission_state) + nodes * (2 * sizeof(uint64_t) + sizeof(float)) +
           (size_t)slots * sizeof(int32_t);
}

static void admission_begin(const spec_length_choice *choice, void *state, int slots)
{
    admission_state *run = state;
    run->slots = slots;
    spec_acceptance_estimator_init(&run->now, choice->K_max);
    for (int i = 0; i <= choice->admission.lag; i++) run->before[i] = run->now;
}

static void admission_enter(const spec_length_choice *choice, void *state, int slot)
{
    arrays_of(choice, state).age[slot] = 0;
}

static double feature_of(const spec_length_choice *choice, float alpha)
{
    const double logit = log((double)alpha) - log1p(-(double)alpha);
    return fmax(-feature_limit, fmin(feature_limit, choice->admission.sharpness * logit));
}

/* Computes survival[place n + request] from the coefficients of a step. Requests younger than `lag`
 * steps are not known yet. Returns whether all are known. */
static bool survivals(float *survival, const spec_length_choice *choice,
                      const spec_step_batch *batch, const int32_t *age,
                      const spec_acceptance_estimator *estimator, int lag)
{
    bool all_known = true;
    for (int i = 0; i < batch->n; i++) {
        const bool known = age[batch->slot[i]] >= lag;
        all_known = all_known && known;
        const double feature =
            choice->admission.estimate ? feature_of(choice, batch->alpha[i]) : 0.0;
        double product = 1.0;
        for (int k = 0; k < choice->K_max; k++) {
            if (known)
                product *= choice->admission.estimate
                               ? spec_acceptance_estimator_chance(estimator, feature, k)
                               : (double)batch->alpha[i];
            survival[(size_t)k * (size_t)batch->n + (size_t)i] = (float)product;
        }
    }
    return all_known;
}

static bool have_same_coefficients(const spec_acceptance_estimator *a,
                                   const spec_acceptance_estimator *b)
{
    bool same = a->weight == b->weight;
    for (int k = 0; k < a->places; k++) same = same && a->bias[k] == b->bias[k];
    return same;
}

/* Returns the b that maximises (n + sum of the b largest survivals) / seconds, the smallest one if
 * there are ties. */
static int64_t budget_of(const spec_length_choice *choice, const spec_step_batch *batch,
                         const admission_arrays *at, int64_t nodes)
{
    double emitted = batch->n, best = 0.0;
    int64_t budget = 0;
    for (int64_t b = 0; b <= nodes; b++) {
        if (b > 0) {
            const float survival = at->survival[spec_survival_index(at->key[b - 1])];
            if ((double)survival < choice->admission.least) break;
            emitted += (double)survival;
        }
        const double goodput =
            emitted / spec_length_seconds(choice, batch, b, nodes, choice->K_max);
        if (goodput > best) best = goodput, budget = b;
    }
    return budget;
}

static int admission_choose(const spec_length_choice *choice, void *state,
                            const spec_step_batch *batch, int32_t *ret_K)
{
    admission_state *run = state;
    const admission_arrays at = arrays_of(choice, run);
    const int n = batch->n, lag = choice->admission.lag;
    const int64_t nodes = (int64_t)n * choice->K_max;
    /* The drafts of step s were scored with the coefficients from before this step. */
    run->before[run->steps % (lag + 1)] = run->now;
    const spec_acceptance_estimator *old = &run->before[(run->steps + 1) % (lag + 1)];
    const bool known = survivals(at.survival, choice, batch, at.age, old, lag);
    spec_survival_order(at.key, at.scratch, at.survival, nodes);
    const int64_t budget = budget_of(choice, batch, &at, nodes);
    for (int i = 0; i < n; i++) at.age[batch->slot[i]]++;
    run->steps++;
    if (budget == 0) return 0;
    if (budget == nodes) return choice->K_max;

    if (!known || !have_same_coefficients(old, &run->now)) {
        survivals(at.survival, choice, batch, at.age, &run->now, 0);
        spec_survival_order(at.key, at.scratch, at.survival, nodes);
    }
    memset(ret_K, 0, (size_t)n * sizeof *ret_K);
    for (int64_t b = 0; b < budget; b++) {
        const int64_t node = spec_survival_index(at.key[b]);
        if ((double)at.survival[node] >= choice->admission.least) ret_K[node % n]++;
    }
    return -1;
}

static void admission_observe(const spec_length_choice *choice, void *state,
                              const spec_step_batch *batch, const int32_t *K,
                              const int32_t *accepted, double seconds)
{
    admission_state *run = state;
    (void)seconds;
    if (!choice->admission.estimate) return;
    for (int i = 0; i < batch->n; i++)
        spec_acceptance_estimator_add(&run->now, feature_of(choice, batch->alpha[i]), K[i],
                                      accepted[i]);
    if (run->steps % SPEC_ESTIMATOR_STEPS == 0) spec_acceptance_estimator_fit(&run->now);
}

static int admission_init(spec_length_choice *choice, const spec_settings *settings, int lag,
                          double least, spec_error *error)
{
    static const char *const sources[] = {"known", "estimated", NULL};
    int source, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&choice->K_max, settings, "K", 7, 1, SPEC_ESTIMATOR_PLACES, error));
    SPEC_TRY(spec_settings_choice(&source, settings, "confidence", 0, sources, error));
    choice->admission.estimate = source == 1;
    SPEC_TRY(spec_settings_double(&choice->admission.sharpness, settings, "sharpness", 1.0, 0.0,
                                  100.0, error));
    SPEC_TRY(spec_settings_int(&choice->admission.lag, settings, "lag", lag, 0, LAG_MAX, error));
    choice->admission.least = least;
done:
    return status;
}

static int vllm_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    return admission_init(choice, settings, 1, 0.0, error);
}

static int dspark_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    return admission_init(choice, settings, 2, 1e-6, error);
}

const spec_length_kind spec_length_vllm = {
    .name = "vllm-adaptive",
    .usage = "vllm-adaptive?K=7&confidence=known&sharpness=1&lag=1",
    .summary = "every request drafts K tokens, and the batch verifies the likeliest, as in vLLM's "
               "adaptive verification; confidences from `lag` steps ago set the budget",
    .reference = "vLLM",
    .reads = true,
    .drafts_all = true,
    .init = vllm_init,
    .state_size = admission_state_size,
    .begin = admission_begin,
    .choose = admission_choose,
    .enter = admission_enter,
    .observe = admission_observe,
};

const spec_length_kind spec_length_dspark = {
    .name = "dspark",
    .usage = "dspark?K=7&confidence=known&sharpness=1&lag=2",
    .summary = "the same, as SGLang schedules DSpark: confidences two steps old, and survivals "
               "below 1e-6 left out",
    .reference = "SGLang",
    .reads = true,
    .drafts_all = true,
    .init = dspark_init,
    .state_size = admission_state_size,
    .begin = admission_begin,
    .choose = admission_choose,
    .enter = admission_enter,
    .observe = admission_observe,
};
