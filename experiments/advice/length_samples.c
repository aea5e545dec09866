/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/length_speeds.h"

#include "analysis/minimax_length.h"
#include "base/wide_rng.h"
#include "sim/chance/rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_minmax.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds n clusters of the run, drawn with replacement (or each once, without a generator). */
static void add_clusters(double *sum, const spec_observed_run *run, gsl_rng *opt_rng)
{
    const int used = SPEC_SUM_PASSED + run->depths;
    for (size_t i = 0; i < run->n; i++) {
        const size_t drawn = opt_rng == NULL ? i : spec_wide_rng_below(opt_rng, run->n);
        const double *cluster = run->column + drawn * SPEC_SUM_COLUMNS;
        for (int c = 0; c < used; c++) sum[c] += cluster[c];
    }
}

/* Fills in the sums of all runs. A length's run over all batches comes before its other runs, and
 * is their sum. */
static void draw(double *sum, const spec_observed_runs *runs, gsl_rng *opt_rng)
{
    double *all = sum;
    memset(sum, 0, runs->n * SPEC_SUM_COLUMNS * sizeof *sum);
    for (size_t i = 0; i < runs->n; i++) {
        double *own = sum + i * SPEC_SUM_COLUMNS;
        if (runs->run[i].batch < 0) {
            all = own;
            continue;
        }
        add_clusters(own, &runs->run[i], opt_rng);
        for (int c = 0; c < SPEC_SUM_COLUMNS; c++) all[c] += own[c];
    }
}

/* Fills in the measured times of a resample. Plain decoding counts only if it ran in the same
 * batches. */
static void measured_times(double *time, int *K, spec_round_times *ret,
                           const spec_length_samples *samples, int r)
{
    const spec_length_plan *plan = samples->plan;
    *ret = (spec_round_times){.n = 0, .K = K, .time = time};
    for (int L = plan->reference == 0 && !plan->equal_rate ? 0 : 1; L <= plan->longest; L++) {
        const double at = samples->speed[r * SPEC_ADVICE_K + L].time.point;
        if (L > 0 && spec_observed_runs_find(plan->runs, L, -1) == NULL) continue;
        if (!(at > 0.0)) continue;
        K[ret->n] = L;
        time[ret->n++] = at;
    }
}

/* Makes the median over likely engines the central estimate of the times that were not measured, in
 * all resamples. */
static int set_estimates(spec_length_samples *samples, gsl_rng *rng)
{
    enum { DRAWS = 1001 };
    double time[SPEC_ADVICE_K], one[SPEC_ADVICE_K], median[SPEC_ADVICE_K];
    int K_run[SPEC_ADVICE_K];
    spec_round_times measured;
    measured_times(time, K_run, &measured, samples, 0);
    double *drawn = malloc(SPEC_ADVICE_K * DRAWS * sizeof *drawn);
    if (drawn == NULL) return GSL_ENOMEM;
    spec_rng_stream(rng, samples->plan->question->seed, SPEC_LENGTH_RESAMPLES + 1);
    spec_likely_times_engines(samples->engines, &measured, rng);
    for (int i = 0; i < DRAWS; i++) {
        spec_likely_times_draw(one, samples->engines, &measured, rng);
        for (int K = 0; K < SPEC_ADVICE_K; K++) drawn[K * DRAWS + i] = one[K];
    }
    for (int K = 0; K < SPEC_ADVICE_K; K++) {
        gsl_sort(drawn + K * DRAWS, 1, DRAWS);
        median[K] = drawn[K * DRAWS + DRAWS / 2];
    }
    free(drawn);
    const int most = GSL_MAX(spec_length_plan_highest(samples->plan), samples->plan->longest);
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++) {
        measured_times(time, K_run, &measured, samples, r);
        for (int K = 1; K <= most; K++) {
            spec_length_speed *at = samples->speed + r * SPEC_ADVICE_K + K;
            if (!(at->time.high > at->time.low)) continue;
            const double estimate = fmin(
                fmax(spec_likely_times_bent(median, &measured, K), at->time.low), at->time.high);
            at->speed.point *= at->time.point / estimate;
            at->time.point = estimate;
        }
    }
    return GSL_SUCCESS;
}

int spec_length_samples_init(spec_length_samples *samples, const spec_length_plan *plan)
{
    const size_t rows = SPEC_LENGTH_RESAMPLES + 1, runs = plan->runs->n;
    gsl_rng *rng = spec_rng_alloc();
    double *sum = malloc(runs * SPEC_SUM_COLUMNS * sizeof *sum);
    *samples = (spec_length_samples){.plan = plan};
    samples->speed = malloc(rows * SPEC_ADVICE_K * sizeof *samples->speed);
    samples->work = malloc(rows * sizeof *samples->work);
    samples->engines = malloc(SPEC_LIKELY_ENGINES * sizeof *samples->engines);
    bool whole = rng != NULL && sum != NULL && samples->speed != NULL && samples->work != NULL &&
                 samples->engines != NULL;
    for (size_t r = 0; r < rows && whole; r++) {
        spec_rng_stream(rng, plan->question->seed, r);
        draw(sum, plan->runs, r > 0 ? rng : NULL);
        spec_length_speeds(samples->speed + r * SPEC_ADVICE_K, plan, sum);
    }
    whole = whole && set_estimates(samples, rng) == GSL_SUCCESS;
    free(sum);
    if (rng != NULL) gsl_rng_free(rng);
    if (!whole) spec_length_samples_free(samples);
    return whole ? GSL_SUCCESS : GSL_ENOMEM;
}

void spec_length_samples_free(spec_length_samples *samples)
{
    free(samples->speed);
    free(samples->work);
    free(samples->engines);
    *samples = (spec_length_samples){0};
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Returns the number of clusters in the run that says most about K. A speed of plain decoding that
 * the user gave has none, because it is exact. */
static int clusters_of(const spec_length_plan *plan, int K)
{
    const spec_observed_run *run =
        K > 0 ? spec_length_plan_base(plan, K) : spec_observed_runs_find(plan->runs, 0, -1);
    return run != NULL ? (int)run->n : INT_MAX;
}

/* Returns the smaller number of clusters of the two runs behind a comparison of K with another
 * length. */
static int clusters(const spec_length_plan *plan, int K, int other)
{
    const int n = GSL_MIN(clusters_of(plan, K), clusters_of(plan, other));
    const bool both_drafted = K > 0 && other > 0;
    return plan->reference == 0 && both_drafted ? GSL_MIN(n, clusters_of(plan, 0)) : n;
}

/* Returns the widening of the runs behind a comparison. */
static double widening(const spec_length_plan *plan, int K, int other)
{
    double most = plan->reference == 0 ? plan->widening[0] : 1.0;
    if (K > 0) most = fmax(most, plan->widening[spec_length_plan_base(plan, K)->K]);
    if (other > 0) most = fmax(most, plan->widening[spec_length_plan_base(plan, other)->K]);
    return fmax(most, 1.0);
}

/* Returns one end of an interval from the values in work. If there are few clusters, resamples vary
 * too little for an interval, and we take Student's on the scale of logarithms. Single windows are
 * resampled as if independent, so we also widen the interval on that scale for their dependence. */
static double end_of(spec_length_samples *samples, int n, double wide, bool high)
{
    enum { FEW = 16 };
    const double error = samples->plan->question->error;
    const spec_block_interval interval =
        spec_block_bootstrap_interval(samples->work, SPEC_LENGTH_RESAMPLES, n, error);
    const double end = high ? interval.high : interval.low;
    if (n < 2 || !(interval.value > 0.0) || !(end > 0.0)) return end;
    if (n >= FEW) return interval.value * pow(end / interval.value, wide);
    const double distance =
        wide * gsl_cdf_tdist_Qinv(0.5 * error, n - 1) * interval.se / interval.value;
    return interval.value * exp(high ? distance : -distance);
}

static const spec_length_number *number_of(const spec_length_samples *samples, int r, int K,
                                           spec_length_which which)
{
    const spec_length_speed *at = samples->speed + r * SPEC_ADVICE_K + K;
    return which == SPEC_LENGTH_TOKENS ? &at->tokens
           : which == SPEC_LENGTH_TIME ? &at->time
                                       : &at->speed;
}

spec_block_interval spec_length_samples_interval(spec_length_samples *samples, int K,
                                                 spec_length_which which)
{
    const int n =
        which == SPEC_LENGTH_TOKENS ? clusters_of(samples->plan, K) : clusters(samples->plan, K, K);
    const double wide = widening(samples->plan, K, K);
    spec_block_interval ret = {number_of(samples, 0, K, which)->point, NAN, NAN, NAN};
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = number_of(samples, r, K, which)->low;
    ret.low = end_of(samples, n, wide, false);
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = number_of(samples, r, K, which)->high;
    ret.high = end_of(samples, n, wide, true);
    return ret;
}

spec_block_interval spec_length_samples_ratio(spec_length_samples *samples, int K, int other)
{
    const spec_length_speed *a = samples->speed + K, *b = samples->speed + other;
    const int n = clusters(samples->plan, K, other);
    const double wide = widening(samples->plan, K, other);
    spec_block_interval ret = {a->speed.point / b->speed.point, NAN, NAN, NAN};
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = a[r * SPEC_ADVICE_K].speed.low / b[r * SPEC_ADVICE_K].speed.high;
    ret.low = end_of(samples, n, wide, false);
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = a[r * SPEC_ADVICE_K].speed.high / b[r * SPEC_ADVICE_K].speed.low;
    ret.high = end_of(samples, n, wide, true);
    return ret;
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Where a scenario lies between the two ends of a range: for tokens, for times below the longest
 * run, and for times beyond it. NaN: at the central estimate. With opt_times (SPEC_ADVICE_K), times
 * are these, as far as they lie between the ends. */
typedef struct {
    double tokens, shorter, longer;
    const double *opt_times;
} scenario;

static double placed(const spec_length_number *number, double place)
{
    return isnan(place) ? number->point : number->low + place * (number->high - number->low);
}

static double speed_in(const spec_length_samples *samples, int r, int K, const scenario *s)
{
    const spec_length_speed *at = samples->speed + r * SPEC_ADVICE_K + K;
    if (at->speed.low == at->speed.high) return at->speed.point;
    const double place = K > samples->plan->longest ? s->longer : s->shorter;
    const double time = s->opt_times != NULL
                            ? fmin(fmax(s->opt_times[K], at->time.low), at->time.high)
                            : placed(&at->time, place);
    return at->speed.point * placed(&at->tokens, s->tokens) / at->tokens.point * at->time.point /
           time;
}

/* Returns the speed in a resample and a scenario, after widening its distance from the speed of the
 * data. */
static double widened_speed(const spec_length_samples *samples, int r, int K, double wide,
                            const scenario *s)
{
    const double own = speed_in(samples, 0, K, s);
    return wide > 1.0 ? own * pow(speed_in(samples, r, K, s) / own, wide)
                      : speed_in(samples, r, K, s);
}

/* Draws where the tokens of a scenario lie: with probability .4 at the high end, as if each request
 * had its own alpha; with .3 at the low end, as if each round had its own; else at the estimate. */
static double drawn_tokens(gsl_rng *rng)
{
    const double u = gsl_rng_uniform(rng);
    return u < 0.4 ? 1.0 : u < 0.7 ? 0.0 : NAN;
}

enum { ROWS = SPEC_LENGTH_RESAMPLES + 1 };

/* Returns the quantile to take from resamples of n clusters so that a one-sided bound has
 * confidence 1 - error. */
static double expanded(int n, double error)
{
    if (n < 2) return 1.0 - error;
    if (n > 1000000) return 1.0 - error;
    const double t = gsl_cdf_tdist_Qinv(error, n - 1.0);
    return gsl_cdf_ugaussian_P(sqrt(n / (n - 1.0)) * t);
}

/* Returns a quantile of a row of values, which it sorts. */
static double quantile(double *row, double chance)
{
    gsl_sort(row, 1, ROWS);
    return gsl_stats_quantile_from_sorted_data(row, 1, ROWS, chance);
}

int spec_length_samples_losses(spec_length_loss *ret, spec_length_samples *samples, const int *K,
                               int n, int now)
{
    enum { ENDS = 8 };
    const spec_length_plan *plan = samples->plan;
    const double error = plan->question->error;
    int fewest = INT_MAX, K_run[SPEC_ADVICE_K];
    gsl_rng *rng = spec_rng_alloc();
    double *likely = malloc(3 * (size_t)n * ROWS * sizeof *likely), *largest = likely + n * ROWS,
           *gain = largest + n * ROWS;
    double speed[(ENDS + 1) * (SPEC_ADVICE_K + 1)], loss[SPEC_ADVICE_K + 1],
        wide[SPEC_ADVICE_K + 1], time[SPEC_ADVICE_K], drawn[SPEC_ADVICE_K];
    spec_round_times measured;
    const bool whole = likely != NULL && rng != NULL;
    for (int k = 0; k < n; k++) {
        ret[k].fastest = 0.0;
        fewest = GSL_MIN(fewest, clusters(samples->plan, K[k], K[k]));
        wide[k] = widening(samples->plan, K[k], K[k]);
    }
    for (int r = 0; r < ROWS && whole; r++) {
        measured_times(time, K_run, &measured, samples, r);
        spec_rng_stream(rng, plan->question->seed, (uint64_t)(ROWS + 1 + r));
        spec_likely_times_draw(drawn, samples->engines, &measured, rng);
        const scenario one = {drawn_tokens(rng), NAN, NAN, drawn}, central = {NAN, NAN, NAN, NULL};
        for (int k = 0; k < n; k++) speed[k] = widened_speed(samples, r, K[k], wide[k], &one);
        const int best = spec_minimax_length(loss, speed, 1, n);
        if (best >= 0) ret[best].fastest += 1.0 / ROWS;
        for (int k = 0; k < n; k++) {
            likely[k * ROWS + r] = loss[k];
            gain[k * ROWS + r] = speed[k] / speed[now];
        }
        for (int s = 0; s <= ENDS; s++) {
            const scenario end = {s & 1, s >> 1 & 1, s >> 2 & 1, NULL};
            for (int k = 0; k < n; k++)
                speed[s * n + k] =
                    widened_speed(samples, r, K[k], wide[k], s < ENDS ? &end : &central);
        }
        spec_minimax_length(loss, speed, ENDS + 1, n);
        for (int k = 0; k < n; k++) largest[k * ROWS + r] = loss[k];
    }
    for (int k = 0; k < n && whole; k++) {
        const double end = expanded(fewest, 0.5 * error);
        ret[k].likely = quantile(likely + k * ROWS, expanded(fewest, 1.5 * error));
        ret[k].largest = quantile(largest + k * ROWS, expanded(fewest, error));
        ret[k].gain.low = quantile(gain + k * ROWS, 1.0 - end);
        ret[k].gain.high = quantile(gain + k * ROWS, end);
    }
    if (!whole) fewest = -1;
    free(likely);
    if (rng != NULL) gsl_rng_free(rng);
    return fewest;
}
