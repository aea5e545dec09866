/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses K for each request so that the batch emits the most expected tokens per second. Draft
 * tokens are added in order of decreasing chance of acceptance, alpha_r^j. If drafting takes
 * sequential passes, we try every cap on K, each with the number of tokens that is best under it.
 * docs/formats.md#length-choices. */
#include "sim/serving/acceptance_average.h"
#include "sim/serving/length_kind.h"
#include "sim/serving/survival_order.h"

#include <string.h>

typedef struct {
    spec_acceptance_average average; /* over all requests: the prior for each of them */
    double goodput;                  /* goodput of the last step, where the search begins */
    int slots;
    /* Followed by 8-byte aligned arrays: key, scratch (slots K_max), survival (slots K_max), alpha
     * (slots), own (slots) and idle (slots). */
    uint64_t store[];
} each_state;

typedef struct {
    uint64_t *key, *scratch;
    float *survival, *alpha;
    spec_acceptance_average *own;
    int32_t *idle;
} each_arrays;

/* How many pseudo-tests tie a request's average to the average of all requests. */
static const float prior_tests = 4.0f;

static each_arrays arrays_of(const spec_length_choice *choice, each_state *run)
{
    const size_t slots = (size_t)run->slots, nodes = slots * (size_t)choice->K_max;
    each_arrays at = {.key = run->store, .scratch = run->store + nodes};
    at.survival = (float *)(run->store + 2 * nodes);
    at.alpha = at.survival + nodes;
    at.own = (spec_acceptance_average *)(at.alpha + slots);
    at.idle = (int32_t *)(at.own + slots);
    return at;
}

static size_t each_state_size(const spec_length_choice *choice, int slots)
{
    const size_t n = (size_t)slots, nodes = n * (size_t)choice->K_max;
    return sizeof(each_state) + 2 * nodes * sizeof(uint64_t) + (nodes + n) * sizeof(float) +
           n * (sizeof(spec_acceptance_average) + sizeof(int32_t));
}

static void each_begin(const spec_length_choice *choice, void *state, int slots)
{
    each_state *run = state;
    run->slots = slots;
    run->average = (spec_acceptance_average){(float)choice->goodput.start, 1.0f};
}

static void each_enter(const spec_length_choice *choice, void *state, int slot)
{
    const each_arrays at = arrays_of(choice, state);
    at.own[slot] = (spec_acceptance_average){0.0f, 0.0f};
    at.idle[slot] = 0;
}

/* ---- affine costs: Dinkelbach's iteration ---------------------------------------------------- */

/* The affine seconds of a step: base, plus round + pass K + token drafted if any request drafts,
 * where K is the longest draft. */
typedef struct {
    double base, round, pass, token;
} step_line;

static double line_seconds(const step_line *line, int K, double drafted)
{
    return K == 0 ? line->base : line->base + line->round + line->pass * K + line->token * drafted;
}

/* Finds the best cap on K and returns it. At a goodput G, a draft token pays off if its chance
 * exceeds token G. Counting these tokens by position gives the goodput for every cap, and the best
 * of these is the next G. G rises to the maximum, and superlinearly, because F(G) = max of emitted
 * - G seconds is convex in G [Dinkelbach67]. */
static int best_threshold(double *ret_threshold, double *goodput, const float *alpha, int n,
                          int K_max, const step_line *line)
{
    double gain[SPEC_K_MAX];
    int64_t count[SPEC_K_MAX];
    int cap = 0;
    for (int round = 0; round < 64; round++) {
        const double threshold = line->token * *goodput;
        for (int j = 0; j < K_max; j++) gain[j] = 0.0, count[j] = 0;
        for (int i = 0; i < n; i++) {
            double chance = (double)alpha[i];
            for (int j = 0; j < K_max && chance > threshold; j++, chance *= (double)alpha[i]) {
                gain[j] += chance;
                count[j]++;
            }
        }
        double emitted = n, drafted = 0.0, best = n / line->base;
        int at = 0;
        for (int K = 1; K <= K_max && count[K - 1] > 0; K++) {
            emitted += gain[K - 1];
            drafted += (double)count[K - 1];
            const double now = emitted / line_seconds(line, K, drafted);
            if (now > best) best = now, at = K;
        }
        /* If G starts too high, it falls once; after that it rises. */
        if (round > 0 && best <= *goodput) break;
        *ret_threshold = threshold;
        *goodput = best;
        cap = at;
    }
    return cap;
}

static void threshold_lengths(int32_t *ret_K, const float *alpha, int n, int cap, double threshold)
{
    for (int i = 0; i < n; i++) {
        double chance = (double)alpha[i];
        int K = 0;
        for (; K < cap && chance > threshold; K++) chance *= (double)alpha[i];
        ret_K[i] = K;
    }
}

/* ---- any costs: all prefixes of the order ---------------------------------------------------- */

/* Computes the survivals, position by position, and sorts them. */
static void order(const each_arrays *at, const float *alpha, int n, int K_max)
{
    for (int j = 0; j < K_max; j++) {
        float *survival = at->survival + (size_t)j * (size_t)n;
        for (int i = 0; i < n; i++) survival[i] = j == 0 ? alpha[i] : survival[i - n] * alpha[i];
    }
    spec_survival_order(at->key, at->scratch, at->survival, (int64_t)n * K_max);
}

/* Finds the best prefix of the tokens at positions up to `cap`. Returns its goodput and sets its
 * length. */
static double best_prefix(int64_t *ret_length, const spec_length_choice *choice,
                          const spec_step_batch *batch, const each_arrays *at, int cap, bool first)
{
    const int64_t nodes = (int64_t)batch->n * choice->K_max;
    double emitted = batch->n, best = emitted / spec_length_seconds(choice, batch, 0, 0, 0);
    int64_t taken = 0;
    int passes = 0;
    *ret_length = 0;
    for (int64_t i = 0; i < nodes; i++) {
        const int64_t node = spec_survival_index(at->key[i]);
        const int place = (int)(node / batch->n) + 1;
        if (place > cap) continue;
        emitted += (double)at->survival[node];
        taken++;
        if (place > passes) passes = place;
        const double goodput = emitted / spec_length_seconds(choice, batch, taken, taken, passes);
        if (goodput > best)
            best = goodput, *ret_length = taken;
        else if (first)
            break;
    }
    return best;
}

static void prefix_lengths(int32_t *ret_K, const spec_step_batch *batch, const each_arrays *at,
                           int cap, int64_t length)
{
    memset(ret_K, 0, (size_t)batch->n * sizeof *ret_K);
    for (int64_t i = 0; length > 0; i++) {
        const int64_t node = spec_survival_index(at->key[i]);
        if (node / batch->n >= cap) continue;
        ret_K[node % batch->n]++;
        length--;
    }
}

/* ---- the choice ------------------------------------------------------------------------------ */

static int each_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    static const char *const stops[] = {"best", "first", NULL};
    int stop, status = GSL_SUCCESS;
    SPEC_TRY(spec_length_goodput_settings(choice, settings, error));
    SPEC_TRY(spec_settings_choice(&stop, settings, "stop", 0, stops, error));
    choice->goodput.first = stop == 1;
done:
    return status;
}

static void estimate(const each_arrays *at, const spec_acceptance_average *all,
                     const spec_step_batch *batch)
{
    const float common = spec_acceptance_average_alpha(all);
    for (int i = 0; i < batch->n; i++) {
        const spec_acceptance_average *own = &at->own[batch->slot[i]];
        at->alpha[i] = (own->passed + prior_tests * common) / (own->tested + prior_tests);
    }
}

/* Lets a request that has not drafted for a long time draft one token. */
static void probe(const spec_length_choice *choice, const each_arrays *at,
                  const spec_step_batch *batch, int32_t *K)
{
    for (int i = 0; i < batch->n; i++) {
        int32_t *idle = &at->idle[batch->slot[i]];
        *idle = K[i] == 0 ? *idle + 1 : 0;
        if (*idle > choice->goodput.probe) *idle = 0, K[i] = 1;
    }
}

static int each_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                       int32_t *ret_K)
{
    each_state *run = state;
    const each_arrays at = arrays_of(choice, run);
    const spec_affine_step *affine = spec_step_cost_affine(choice->cost);
    const float *alpha = choice->goodput.average ? at.alpha : batch->alpha;
    const int n = batch->n;
    if (choice->goodput.average) estimate(&at, &run->average, batch);
    if (affine != NULL && !choice->goodput.first) {
        const step_line line = {spec_length_seconds(choice, batch, 0, 0, 0), affine->draft_round,
                                affine->draft_pass, affine->token + affine->draft_token};
        double threshold = 0.0;
        const int cap = best_threshold(&threshold, &run->goodput, alpha, n, choice->K_max, &line);
        threshold_lengths(ret_K, alpha, n, cap, threshold);
    } else {
        double best = 0.0;
        int64_t length = 0;
        int cap = 0;
        order(&at, alpha, n, choice->K_max);
        for (int K = choice->goodput.first ? choice->K_max : 0; K <= choice->K_max; K++) {
            int64_t taken;
            const double goodput =
                best_prefix(&taken, choice, batch, &at, K, choice->goodput.first);
            if (goodput > best) best = goodput, cap = K, length = taken;
        }
        prefix_lengths(ret_K, batch, &at, cap, length);
    }
    if (choice->goodput.average && choice->goodput.probe > 0 && choice->K_max > 0)
        probe(choice, &at, batch, ret_K);
    for (int i = 1; i < n; i++)
        if (ret_K[i] != ret_K[0]) return -1;
    return ret_K[0];
}

static void each_observe(const spec_length_choice *choice, void *state,
                         const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                         double seconds)
{
    each_state *run = state;
    const each_arrays at = arrays_of(choice, run);
    (void)seconds;
    for (int i = 0; i < batch->n; i++)
        spec_acceptance_average_add(&at.own[batch->slot[i]], &K[i], &accepted[i], 1,
                                    choice->goodput.rate);
    spec_acceptance_average_add(&run->average, K, accepted, batch->n, choice->goodput.rate);
}

const spec_length_kind spec_length_goodput_each = {
    .name = "goodput-each",
    .usage = "goodput-each?K_max=8&alpha=known&rate=0.05&start=0.7&probe=100&stop=best",
    .summary = "a K for each request that maximises expected tokens per second of the batch; "
               "stop=first ends at the first token that brings no gain, as DSpark does",
    .reference = "DSpark26",
    .reads = true,
    .init = each_init,
    .state_size = each_state_size,
    .begin = each_begin,
    .choose = each_choose,
    .enter = each_enter,
    .observe = each_observe,
};
