/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advice.h"

#include <math.h>

static const spec_block_interval unknown = {NAN, NAN, NAN, NAN};

static const spec_length_number *speed_of(const spec_length_samples *samples, int K)
{
    return &samples->speed[K].speed;
}

/* Returns the length with the fastest central estimate, the smaller one if two are equal; -1 if no
 * length has an estimate. */
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

/* Returns how many lengths with drafts were run and have a known speed. */
static int lengths_run(const spec_length_samples *samples)
{
    const spec_observed_runs *runs = samples->plan->runs;
    int n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const spec_observed_run *run = &runs->run[i];
        const spec_length_number *speed = speed_of(samples, run->K);
        n += run->batch < 0 && run->K > 0 && speed->low == speed->high;
    }
    return n;
}

/* Returns whether the length was measured, not just estimated. */
static bool ran(const spec_length_plan *plan, int K)
{
    return (K == 0 && plan->reference == 0) || spec_observed_runs_find(plan->runs, K, -1) != NULL;
}

/* The lengths that have a speed, beginning with those of the question, and what each of them
 * loses. */
typedef struct {
    int n, n_asked, K[SPEC_ADVICE_K + 1], clusters;
    spec_length_loss loss[SPEC_ADVICE_K + 1];
} rivals;

static int place_of(const rivals *all, int K)
{
    for (int k = 0; k < all->n; k++)
        if (all->K[k] == K) return k;
    return -1;
}

static int find_rivals(rivals *ret, const spec_advice *advice, spec_length_samples *samples)
{
    ret->n = 0;
    for (int i = 0; i < advice->n; i++) {
        const int K = advice->length[i].K;
        if (!isnan(speed_of(samples, K)->point)) ret->K[ret->n++] = K;
    }
    ret->n_asked = ret->n;
    if (place_of(ret, advice->K) < 0) ret->K[ret->n++] = advice->K; /* it is always compared */
    ret->clusters =
        spec_length_samples_losses(ret->loss, samples, ret->K, ret->n, place_of(ret, advice->K));
    return ret->clusters < 0 ? GSL_ENOMEM : GSL_SUCCESS;
}

/* Returns whether a length is sure enough to be decided on. */
static bool is_sure(const rivals *all, const spec_length_plan *plan, int k)
{
    return all->loss[k].within >= 1.0 - 2.0 * plan->question->error;
}

/* Returns the index of the length that is most probably within the tolerance, or of the preferred
 * one if its probability suffices. With `run_alone` it considers only lengths that were run
 * (-1: none). */
static int surest(const rivals *all, const spec_length_plan *plan, int preferred, bool run_alone)
{
    int most = -1;
    if (preferred >= 0 && is_sure(all, plan, preferred)) return preferred;
    for (int k = 0; k < all->n_asked; k++) {
        if (run_alone && !ran(plan, all->K[k])) continue;
        if (most < 0 || all->loss[k].within > all->loss[most].within) most = k;
    }
    return most;
}

/* Returns the index of the length that was run whose largest loss is smallest, or of the current
 * one if that loses hardly more; -1 if none of the question's lengths was run. */
static int safest(const rivals *all, const spec_length_plan *plan, int now)
{
    int least = -1;
    for (int k = 0; k < all->n_asked; k++)
        if (ran(plan, all->K[k]) && (least < 0 || all->loss[k].largest < all->loss[least].largest))
            least = k;
    const bool fits = now >= 0 && now < all->n && least >= 0;
    return fits && all->loss[now].largest <= all->loss[least].largest + 2.0 * SPEC_ADVICE_TOLERANCE
               ? now
               : least;
}

/* Returns the length to run next. That is the one estimated to be fastest, if it was not run; else
 * the other length that is most often the fastest in the scenarios; if none ever is, the fastest
 * length once more, in a longer run. */
static int next_run(const rivals *all, const spec_length_plan *plan, int fastest)
{
    double most = 0.0;
    int next = fastest;
    if (!ran(plan, fastest)) return fastest;
    for (int k = 0; k < all->n; k++) {
        /* a number of the user's has no interval that a run could narrow */
        const bool exact = all->K[k] == 0 && spec_advice_question_gives_plain(plan->question);
        if (all->K[k] == fastest || exact || all->loss[k].fastest <= most) continue;
        most = all->loss[k].fastest;
        next = all->K[k];
    }
    return next;
}

/* Fills in the choice, given the indices of the fastest length and the current one. */
static void choose(spec_advice *advice, const rivals *all, spec_length_samples *samples, int best)
{
    const spec_length_plan *plan = samples->plan;
    const int now = place_of(all, advice->K);
    int sure = surest(all, plan, -1, true);
    if (sure < 0 || !is_sure(all, plan, sure)) sure = surest(all, plan, place_of(all, best), false);
    const bool vague = all->clusters < 2;
    advice->to_K = best;
    if (!vague && now >= 0 && is_sure(all, plan, now)) {
        advice->verdict = SPEC_ADVICE_KEEP;
        advice->to_K = advice->K;
    } else if (!vague && is_sure(all, plan, sure) &&
               speed_of(samples, all->K[sure])->point > speed_of(samples, advice->K)->point) {
        advice->to_K = all->K[sure];
        advice->verdict = advice->to_K == 0 ? SPEC_ADVICE_OFF : SPEC_ADVICE_CHANGE;
    } else if (vague && ran(plan, best) &&
               speed_of(samples, best)->point >
                   (1.0 + SPEC_ADVICE_CLEAR) * speed_of(samples, advice->K)->point) {
        /* the difference is clear enough to act on */
        advice->verdict = best == 0 ? SPEC_ADVICE_OFF : SPEC_ADVICE_CHANGE;
    } else {
        const int safe = safest(all, plan, now);
        advice->to_K = safe >= 0 ? all->K[safe] : advice->K;
        advice->decides_K = next_run(all, plan, best);
    }
    advice->gain = spec_length_samples_ratio(samples, advice->to_K, advice->K);
    const int to = place_of(all, advice->to_K);
    /* the range over all engines is too wide to be useful, so we take that over likely engines */
    if (!ran(plan, advice->to_K) && !vague && to >= 0) {
        advice->gain.low = all->loss[to].gain.low;
        advice->gain.high = all->loss[to].gain.high;
    }
    advice->loss = to >= 0 ? all->loss[to].largest : NAN;
}

int spec_advice_choose(spec_advice *advice, spec_length_samples *samples)
{
    const spec_length_plan *plan = samples->plan;
    const int best = fastest(advice, samples);
    rivals all;
    advice->verdict = SPEC_ADVICE_MEASURE;
    advice->to_K = advice->K;
    advice->decides_K = 0;
    advice->gain = unknown;
    /* Without times only tokens are known; with only one length, no other length has a time. */
    if (isnan(speed_of(samples, plan->current)->point)) return GSL_SUCCESS;
    if (plan->reference != 0 && lengths_run(samples) < 2) return GSL_SUCCESS;
    if (best < 0) return GSL_SUCCESS;
    if (find_rivals(&all, advice, samples) != GSL_SUCCESS) return GSL_ENOMEM;
    for (int i = 0; i < advice->n; i++) advice->length[i].best = advice->length[i].K == best;
    advice->decides_K = -1;
    choose(advice, &all, samples, best);
    return GSL_SUCCESS;
}

/* ---- by batch -------------------------------------------------------------------------------- */

/* Computes the tokens per busy second of a run, with an interval from its clusters. */
static int rate_of(spec_cluster_ratio *ret, const spec_observed_run *run, double error)
{
    const spec_cluster_question question = {.passed = spec_cluster_column,
                                            .passed_arg = SPEC_SUM_BUSY_EMITTED,
                                            .tested = spec_cluster_column,
                                            .tested_arg = SPEC_SUM_BUSY};
    return spec_observed_run_ratio(ret, run, &question, error);
}

/* Returns the ends of the interval of a ratio of independent rates, from the ends of the logarithm
 * of each [Zou08]. */
static spec_bounds ratio_interval(const spec_cluster_ratio *a, const spec_cluster_ratio *b)
{
    const double value = log(a->value / b->value);
    const double down = hypot(log(a->value / a->low), log(b->high / b->value));
    const double up = hypot(log(a->high / a->value), log(b->value / b->low));
    return (spec_bounds){exp(value - down), exp(value + up)};
}

/* Chooses the length for one range; returns false if fewer than two lengths ran in it. */
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
    *ret = (spec_advice_batch){.K = best, .decided = true, .speedup = unknown};
    for (int K = 0; K < SPEC_ADVICE_K; K++) {
        if (K == best || !(rate[K].value > 0.0)) continue;
        const double high = ratio_interval(&rate[K], &rate[best]).high;
        if (!(high <= 1.0 + SPEC_ADVICE_TOLERANCE)) ret->decided = false;
    }
    if (rate[0].value > 0.0) {
        const spec_bounds interval = ratio_interval(&rate[best], &rate[0]);
        ret->speedup.value = rate[best].value / rate[0].value;
        ret->speedup.low = best == 0 ? 1.0 : interval.low;
        ret->speedup.high = best == 0 ? 1.0 : interval.high;
    }
    return true;
}

/* Appends a range, or merges it into the last entry. */
static void append(spec_advice *advice, spec_advice_batch entry, int b)
{
    spec_advice_batch *last = advice->n_batches > 0 ? &advice->batch[advice->n_batches - 1] : NULL;
    entry.from = last == NULL ? 1 : b == 1 ? 1 : (1 << (b - 2)) + 1;
    entry.to = -1;
    if (last != NULL && last->K == entry.K) {
        last->decided = last->decided && entry.decided;
        last->speedup = unknown; /* differs within the range */
        return;
    }
    if (last != NULL) last->to = entry.from - 1;
    advice->batch[advice->n_batches++] = entry;
}

int spec_advice_choose_by_batch(spec_advice *advice, const spec_length_plan *plan)
{
    advice->n_batches = 0;
    if (plan->equal_rate) return GSL_SUCCESS; /* the engines did not run at these batches */
    for (int b = 1; b < SPEC_SUM_BATCHES; b++) {
        spec_cluster_ratio rate[SPEC_ADVICE_K] = {{0}};
        spec_advice_batch entry;
        for (int K = 0; K < SPEC_ADVICE_K; K++) {
            const spec_observed_run *run = spec_observed_runs_find(plan->runs, K, b);
            if (!spec_length_plan_same_batch(plan, K, plan->current, b)) continue;
            if (run != NULL && rate_of(&rate[K], run, plan->question->error) != GSL_SUCCESS)
                return GSL_ENOMEM;
        }
        if (choose_in(&entry, rate)) append(advice, entry, b);
    }
    return GSL_SUCCESS;
}
