/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/advice_choice.h"

#include <math.h>

static const spec_length_number *speed_of(const spec_length_samples *samples, int K)
{
    return &samples->speed[K].speed;
}

/* The fastest length by its point, the smaller one of equals; -1 if no length has one. */
static int fastest(const spec_advice *advice, const spec_length_samples *samples)
{
    int best = -1;
    for (int i = 0; i < advice->n; i++) {
        const int K = advice->length[i].K;
        const double speed = speed_of(samples, K)->point;
        if (!isnan(speed) && (best < 0 || speed > speed_of(samples, best)->point)) best = K;
    }
    return best;
}

/* The other length that may be faster than `best` by the most, and by how much; -1 if none may be
 * faster by more than the tolerance. *ret_vague: an interval is missing. */
static int rival_of(bool *ret_vague, const spec_advice *advice, spec_length_samples *samples,
                    int best)
{
    double most = 1.0 + SPEC_ADVICE_TOLERANCE;
    int rival = -1;
    *ret_vague = false;
    for (int i = 0; i < advice->n; i++) {
        const int K = advice->length[i].K;
        if (K == best || isnan(speed_of(samples, K)->high)) continue;
        const double high = spec_length_samples_ratio(samples, K, best).high;
        if (isnan(high)) *ret_vague = true;
        if (high > most) {
            most = high;
            rival = K;
        }
    }
    return rival;
}

/* The length that may be the fastest, by the high end of its speed; -1 if no length has one. */
static int likeliest(const spec_advice *advice, const spec_length_samples *samples)
{
    int best = -1;
    for (int i = 0; i < advice->n; i++) {
        const int K = advice->length[i].K;
        const double high = speed_of(samples, K)->high;
        if (!isnan(high) && (best < 0 || high > speed_of(samples, best)->high)) best = K;
    }
    return best;
}

/* Lengths with drafts that ran, and whose speed is known. */
static int lengths_run(const spec_length_samples *samples)
{
    const spec_observed_runs *runs = samples->plan->runs;
    int n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const spec_observed_run *run = &runs->run[i];
        n += run->batch < 0 && run->K > 0 && !isnan(speed_of(samples, run->K)->point);
    }
    return n;
}

/* Was it measured, or is it an estimate? */
static bool ran(const spec_length_plan *plan, int K)
{
    return (K == 0 && plan->reference == 0) || spec_observed_runs_find(plan->runs, K, -1) != NULL;
}

/* The user's number for plain decoding has no interval that a run could narrow. */
static bool plain_is_exact(const spec_length_plan *plan)
{
    return plan->question->plain_tokens_per_s > 0.0 || plan->question->round_over_plain > 0.0;
}

void spec_advice_choose(spec_advice *advice, spec_length_samples *samples)
{
    const spec_length_plan *plan = samples->plan;
    const int best = fastest(advice, samples);
    bool vague;
    advice->verdict = SPEC_ADVICE_MEASURE;
    advice->to_K = advice->K;
    advice->decides_K = 0;
    advice->gain = advice->gain_low = advice->gain_high = NAN;
    /* Without times only tokens are known; with one length, no other one has a time. */
    if (isnan(speed_of(samples, plan->current)->point)) return;
    if (plan->reference != 0 && lengths_run(samples) < 2) return;
    if (best < 0) { /* the lengths of the question have ranges alone */
        const int K = likeliest(advice, samples);
        if (K >= 0) advice->decides_K = K;
        return;
    }
    int rival = rival_of(&vague, advice, samples, best);
    if (rival == 0 && plain_is_exact(plan)) rival = best;
    const spec_block_interval gain = spec_length_samples_ratio(samples, best, advice->K);
    for (int i = 0; i < advice->n; i++) advice->length[i].best = advice->length[i].K == best;
    advice->to_K = best;
    advice->gain = gain.value;
    advice->gain_low = gain.low;
    advice->gain_high = gain.high;
    advice->decides_K = rival >= 0 ? rival : vague ? best : -1;
    if (isnan(gain.high) && ran(plan, best) && gain.value > 1.0 + SPEC_ADVICE_CLEAR)
        advice->decides_K = -1; /* the difference is clear enough to act on */
    if (advice->decides_K >= 0) return;
    if (best == advice->K || gain.value <= 1.0 + SPEC_ADVICE_TOLERANCE) {
        advice->verdict = SPEC_ADVICE_KEEP;
        advice->to_K = advice->K;
    } else {
        advice->verdict = best == 0 ? SPEC_ADVICE_OFF : SPEC_ADVICE_CHANGE;
    }
}

/* ---- by batch -------------------------------------------------------------------------------- */

/* Tokens per busy second of a run, with the interval of its clusters. */
static int rate_of(spec_cluster_ratio *ret, const spec_observed_run *run, double error)
{
    const spec_cluster_question question = {.passed = spec_cluster_column,
                                            .passed_arg = SPEC_SUM_BUSY_EMITTED,
                                            .tested = spec_cluster_column,
                                            .tested_arg = SPEC_SUM_BUSY};
    return spec_observed_run_ratio(ret, run, &question, error);
}

/* Ends of a ratio of independent rates, from the ends of the logarithm of each [Zou08]. */
static spec_bounds ratio_interval(const spec_cluster_ratio *a, const spec_cluster_ratio *b)
{
    const double value = log(a->value / b->value);
    const double down = hypot(log(a->value / a->low), log(b->high / b->value));
    const double up = hypot(log(a->high / a->value), log(b->value / b->low));
    return (spec_bounds){exp(value - down), exp(value + up)};
}

/* The length of one range; false without two lengths in it. */
static bool choose_in(spec_advice_batch *ret, const spec_cluster_ratio rate[SPEC_ADVICE_K])
{
    int best = -1, lengths = 0;
    for (int K = 0; K < SPEC_ADVICE_K; K++) {
        if (!(rate[K].value > 0.0)) continue;
        lengths++;
        if (best < 0 || rate[K].value > rate[best].value) best = K;
    }
    if (lengths < 2) return false;
    for (int K = 0; K < best; K++)
        if (rate[K].value * (1.0 + SPEC_ADVICE_TOLERANCE) >= rate[best].value) best = K;
    *ret = (spec_advice_batch){
        .K = best, .decided = true, .speedup = NAN, .speedup_low = NAN, .speedup_high = NAN};
    for (int K = 0; K < SPEC_ADVICE_K; K++) {
        if (K == best || !(rate[K].value > 0.0)) continue;
        const double high = ratio_interval(&rate[K], &rate[best]).high;
        if (!(high <= 1.0 + SPEC_ADVICE_TOLERANCE)) ret->decided = false;
    }
    if (rate[0].value > 0.0) {
        const spec_bounds interval = ratio_interval(&rate[best], &rate[0]);
        ret->speedup = rate[best].value / rate[0].value;
        ret->speedup_low = best == 0 ? 1.0 : interval.low;
        ret->speedup_high = best == 0 ? 1.0 : interval.high;
    }
    return true;
}

/* Append a range, or let the last entry take it in. */
static void append(spec_advice *advice, spec_advice_batch entry, int b)
{
    spec_advice_batch *last = advice->n_batches > 0 ? &advice->batch[advice->n_batches - 1] : NULL;
    entry.from = last == NULL ? 1 : b == 1 ? 1 : (1 << (b - 2)) + 1;
    entry.to = -1;
    if (last != NULL && last->K == entry.K) {
        last->decided = last->decided && entry.decided;
        last->speedup = last->speedup_low = last->speedup_high = NAN; /* differs within the range */
        return;
    }
    if (last != NULL) last->to = entry.from - 1;
    advice->batch[advice->n_batches++] = entry;
}

int spec_advice_choose_by_batch(spec_advice *advice, const spec_length_plan *plan)
{
    advice->n_batches = 0;
    for (int b = 1; b < SPEC_SUM_BATCHES; b++) {
        spec_cluster_ratio rate[SPEC_ADVICE_K] = {{0}};
        spec_advice_batch entry;
        for (int K = 0; K < SPEC_ADVICE_K; K++) {
            const spec_observed_run *run = spec_observed_runs_find(plan->runs, K, b);
            if (run != NULL && rate_of(&rate[K], run, plan->question->error) != GSL_SUCCESS)
                return GSL_ENOMEM;
        }
        if (choose_in(&entry, rate)) append(advice, entry, b);
    }
    return GSL_SUCCESS;
}
