/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/length_speeds.h"

#include "analysis/minimax_length.h"
#include "base/wide_rng.h"
#include "sim/chance/rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_minmax.h>
#include <gsl/gsl_randist.h>
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

/* Computes the relative standard errors of the measured times from the resamples. */
static void time_errors(double *ret, const spec_round_times *measured,
                        const spec_length_samples *samples)
{
    for (int i = 0; i < measured->n; i++) {
        const int K = measured->K[i];
        for (int r = 0; r < SPEC_LENGTH_RESAMPLES; r++)
            samples->work[r] =
                log(samples->speed[(r + 1) * SPEC_ADVICE_K + K].time.point / measured->time[i]);
        ret[i] = gsl_stats_sd(samples->work, 1, SPEC_LENGTH_RESAMPLES);
        if (!(ret[i] < 1.0)) ret[i] = 1.0;
    }
}

/* Makes the median over likely engines the central estimate of the times that were not measured, in
 * all resamples. */
static int set_estimates(spec_length_samples *samples, gsl_rng *rng)
{
    enum { DRAWS = 1001 };
    double time[SPEC_ADVICE_K], one[SPEC_ADVICE_K], median[SPEC_ADVICE_K], error[SPEC_ADVICE_K];
    int K_run[SPEC_ADVICE_K];
    spec_round_times measured;
    measured_times(time, K_run, &measured, samples, 0);
    double *drawn = malloc(SPEC_ADVICE_K * DRAWS * sizeof *drawn);
    if (drawn == NULL) return GSL_ENOMEM;
    spec_rng_stream(rng, samples->plan->question->seed, SPEC_LENGTH_RESAMPLES + 1);
    time_errors(error, &measured, samples);
    spec_likely_times_engines(samples->engines, &measured, error, rng);
    for (int i = 0; i < DRAWS; i++) {
        spec_likely_times_draw(one, samples->engines, &measured, rng);
        for (int K = 0; K < SPEC_ADVICE_K; K++) drawn[K * DRAWS + i] = one[K];
    }
    for (int K = 0; K < SPEC_ADVICE_K; K++)
        median[K] = gsl_stats_select(drawn + K * DRAWS, 1, DRAWS, DRAWS / 2);
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

/* Returns whether the counters of a run give its depths. */
static bool has_depths(const spec_observed_run *run)
{
    return run->depths >= run->K && spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS) > 0.0;
}

/* Finds the drafts that agree with the counters of the runs. */
static void find_drafts(spec_length_samples *samples, gsl_rng *rng)
{
    const spec_length_plan *plan = samples->plan;
    spec_likely_counters counters[SPEC_ADVICE_K];
    double passed[SPEC_ADVICE_K][SPEC_ADVICE_K];
    int n = 0;
    for (size_t i = 0; i < plan->runs->n; i++) {
        const spec_observed_run *run = &plan->runs->run[i];
        const double rounds = spec_observed_run_sum(run, SPEC_SUM_PASSES);
        if (run->batch >= 0 || run->K == 0 || !(rounds > 0.0)) continue;
        const double depth_rounds = spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS);
        for (int j = 0; j < run->K && has_depths(run); j++)
            passed[n][j] = spec_observed_run_sum(run, SPEC_SUM_PASSED + j) / depth_rounds;
        counters[n] = (spec_likely_counters){run->K, rounds, samples->speed[run->K].tokens.point,
                                             has_depths(run) ? passed[n] : NULL};
        n++;
    }
    spec_rng_stream(rng, plan->question->seed, SPEC_LENGTH_RESAMPLES + 2);
    spec_likely_drafts_weigh(samples->drafts, counters, n, rng);
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
    samples->drafts = malloc(SPEC_LIKELY_DRAFTS * sizeof *samples->drafts);
    bool whole = rng != NULL && samples->drafts != NULL && sum != NULL && samples->speed != NULL &&
                 samples->work != NULL && samples->engines != NULL;
    for (size_t r = 0; r < rows && whole; r++) {
        spec_rng_stream(rng, plan->question->seed, r);
        draw(sum, plan->runs, r > 0 ? rng : NULL);
        spec_length_speeds(samples->speed + r * SPEC_ADVICE_K, plan, sum);
    }
    if (whole) find_drafts(samples, rng);
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
    free(samples->drafts);
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
    const spec_length_plan *plan = samples->plan;
    const int n = clusters(plan, K, other);
    const double wide = widening(plan, K, other);
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
 * are these, and tokens are `ratios` times those of the run at length run[K], cut at cut[K], as far
 * as they lie between the ends. Of that run's passes a share of drafted[K] has a draft; the others
 * emit one token at all lengths. */
typedef struct {
    double tokens, shorter, longer;
    const double *opt_times, *ratios, *drafted;
    const int *run, *cut;
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
    double time = placed(&at->time, place), tokens = placed(&at->tokens, s->tokens);
    if (s->opt_times != NULL) {
        const double counted =
            s->cut[K] < s->run[K] ? at->tokens.low : at[s->run[K] - K].tokens.point;
        const double other = 1.0 - s->drafted[K];
        time = fmin(fmax(s->opt_times[K], at->time.low), at->time.high);
        tokens =
            fmin(fmax((counted - other) * s->ratios[K] + other, at->tokens.low), at->tokens.high);
    }
    return at->speed.point * tokens / at->tokens.point * at->time.point / time;
}

/* Returns the speed in a resample and a scenario, after widening its distance from the speed of the
 * data. */
static double widened_speed(const spec_length_samples *samples, int r, int K, double wide,
                            const scenario *s)
{
    const double own = speed_in(samples, 0, K, s);
    return own * pow(speed_in(samples, r, K, s) / own, wide);
}

enum { ROWS = SPEC_LENGTH_RESAMPLES + 1 };

/* Draws how much to widen a resample of each run: by a model of the dependence between its windows,
 * and by Student's distribution for the number of its clusters. */
static void draw_widenings(double ret[SPEC_ADVICE_K], const spec_length_plan *plan, gsl_rng *rng)
{
    static const double AT = 0.05; /* where Student's tail has the right size */
    for (size_t i = 0; i < plan->runs->n; i++) {
        const spec_observed_run *run = &plan->runs->run[i];
        if (run->batch >= 0) continue;
        const spec_serial_model *model = plan->serial[run->K];
        double u = gsl_rng_uniform(rng);
        int m = 0;
        while (m < SPEC_SERIAL_MODELS - 1 && u >= model[m].weight) u -= model[m++].weight;
        const double n = (double)run->n;
        ret[run->K] = model[m].widening;
        if (n > 1.0)
            ret[run->K] *=
                sqrt(n / (n - 1.0)) * gsl_cdf_tdist_Qinv(AT, n - 1.0) / gsl_cdf_ugaussian_Qinv(AT);
    }
}

/* Returns the widening of a length's speed, given that of each run. The speed depends on the run
 * behind the length and on the reference. */
static double drawn_widening(const spec_length_plan *plan, const double *of_run, int K)
{
    const int base = K > 0 ? spec_length_plan_base(plan, K)->K : 0, other = plan->reference;
    const double own = plan->variance[base], its = base == other ? 0.0 : plan->variance[other];
    if (!(own + its > 0.0)) return 1.0;
    return sqrt((own * of_run[base] * of_run[base] + its * of_run[other] * of_run[other]) /
                (own + its));
}

/* Returns the same as gsl_stats_quantile_from_sorted_data() without sorting: the row is rearranged
 * only as far as needed. */
static double quantile(double *row, double chance)
{
    const double at = chance * (ROWS - 1);
    const size_t k = (size_t)at;
    const double low = gsl_stats_select(row, 1, ROWS, k); /* now the larger ones are behind it */
    if (k == ROWS - 1) return low;
    double high = row[k + 1];
    for (size_t i = k + 2; i < ROWS; i++) high = fmin(high, row[i]);
    const double share = at - (double)k;
    return (1.0 - share) * low + share * high;
}

/* Lengths in scenarios. */
typedef struct {
    const int *K; /* (n) */
    int n, pairs;
    /* (n + pairs, ROWS): log speeds, then for each run with drafts but the longest the difference
     * between the logs of its tokens and of those that the next longer run implies */
    double *log;
    double *largest;             /* (n, ROWS): largest loss over the ends */
    spec_likely_kind kind[ROWS]; /* of the engine */
} scenarios;

/* Computes the speeds in one scenario for each resample. */
static void fill_scenarios(scenarios *ret, const spec_length_samples *samples, gsl_rng *rng)
{
    enum { ENDS = 8 };
    /* relative standard deviation of what a draft's acceptance changes by between two lengths */
    static const double CHANGE = 0.01;
    const spec_length_plan *plan = samples->plan;
    const int most = GSL_MAX(spec_length_plan_highest(plan), plan->longest), n = ret->n;
    double time[SPEC_ADVICE_K], drawn[SPEC_ADVICE_K], ratio[SPEC_ADVICE_K], wide[SPEC_ADVICE_K + 1],
        loss[SPEC_ADVICE_K + 1], speed[(ENDS + 1) * (SPEC_ADVICE_K + 1)], drafted[SPEC_ADVICE_K],
        of_run[SPEC_ADVICE_K] = {0.0};
    int K_run[SPEC_ADVICE_K], run[SPEC_ADVICE_K], cut[SPEC_ADVICE_K], paired[SPEC_ADVICE_K];
    spec_round_times measured;
    ret->pairs = 0;
    for (int K = 1; K <= most; K++) {
        const spec_observed_run *base = spec_length_plan_base(plan, K);
        if (!isnan(samples->speed[K].cut)) {
            base = spec_length_plan_base(plan, K + 1);
            paired[ret->pairs++] = K;
        }
        run[K] = base->K;
        cut[K] = has_depths(base) ? GSL_MIN(K, base->K) : base->K;
        drafted[K] = has_depths(base) ? spec_observed_run_sum(base, SPEC_SUM_ROUNDS) /
                                            spec_observed_run_sum(base, SPEC_SUM_PASSES)
                                      : 1.0;
    }
    for (int r = 0; r < ROWS; r++) {
        const spec_length_speed *at = samples->speed + r * SPEC_ADVICE_K;
        measured_times(time, K_run, &measured, samples, r);
        spec_rng_stream(rng, plan->question->seed, (uint64_t)(ROWS + 1 + r));
        ret->kind[r] = spec_likely_times_draw(drawn, samples->engines, &measured, rng);
        spec_likely_drafts_draw(ratio, samples->drafts, run, cut, most, rng);
        draw_widenings(of_run, plan, rng);
        const scenario one = {NAN, NAN, NAN, drawn, ratio, drafted, run, cut},
                       central = {NAN, NAN, NAN, NULL, NULL, NULL, NULL, NULL};
        for (int k = 0; k < n; k++) wide[k] = drawn_widening(plan, of_run, ret->K[k]);
        for (int s = 0; s <= ENDS; s++) {
            const scenario end = {s & 1, s >> 1 & 1, s >> 2 & 1, NULL, NULL, NULL, NULL, NULL};
            for (int k = 0; k < n; k++)
                speed[s * n + k] =
                    widened_speed(samples, r, ret->K[k], wide[k], s < ENDS ? &end : &central);
        }
        spec_minimax_length(loss, speed, ENDS + 1, n);
        for (int k = 0; k < n; k++) {
            ret->largest[k * ROWS + r] = loss[k];
            ret->log[k * ROWS + r] = log(widened_speed(samples, r, ret->K[k], wide[k], &one));
        }
        for (int i = 0; i < ret->pairs; i++) {
            const int K = paired[i];
            const double own = log(samples->speed[K].tokens.point / samples->speed[K].cut),
                         off = log(at[K].tokens.point / at[K].cut) - own;
            ret->log[(n + i) * ROWS + r] = own + fmax(of_run[K], of_run[run[K]]) * off -
                                           log(ratio[K]) + gsl_ran_gaussian(rng, CHANGE);
        }
    }
}

/* Runs with drafts serve equal texts, so in truth the differences are 0. Corrects the speeds, and
 * the differences that follow, for what was drawn, as control variates. A difference that is 0 with
 * a probability of less than 1 % (2.6 standard deviations) is not used. */
static void correct(scenarios *all)
{
    for (int i = 0; i < all->pairs; i++) {
        const double *off = all->log + (all->n + i) * ROWS;
        const double mean = gsl_stats_mean(off, 1, ROWS),
                     variance = gsl_stats_variance(off, 1, ROWS);
        if (!(fabs(mean) < 2.6 * sqrt(variance))) continue;
        for (int k = 0; k < all->n + all->pairs; k++) {
            double *own = all->log + k * ROWS;
            if (k >= all->n && k <= all->n + i) continue;
            const double slope = gsl_stats_covariance(own, 1, off, 1, ROWS) / variance;
            for (int r = 0; r < ROWS; r++) own[r] -= slope * off[r];
        }
    }
}

double spec_length_within(const double *loss, const spec_likely_kind *kind, int n)
{
    double all[SPEC_LIKELY_KINDS] = {0.0}, good[SPEC_LIKELY_KINDS] = {0.0}, least = 0.0;
    for (int r = 0; r < n; r++) {
        all[kind[r]] += 1.0;
        good[kind[r]] += loss[r] <= SPEC_ADVICE_TOLERANCE;
    }
    for (int i = 0; i < SPEC_LIKELY_KINDS; i++) least += good[i] / n;
    for (int i = 0; i < SPEC_LIKELY_KINDS; i++)
        if (all[i] > 0.05 * n) least = fmin(least, good[i] / all[i]);
    return least;
}

int spec_length_samples_losses(spec_length_loss *ret, spec_length_samples *samples, const int *K,
                               int n, int now)
{
    const double error = samples->plan->question->error;
    double speed[SPEC_ADVICE_K + 1], loss[SPEC_ADVICE_K + 1];
    int fewest = INT_MAX;
    gsl_rng *rng = spec_rng_alloc();
    const size_t rows = (size_t)(2 * n + SPEC_ADVICE_K);
    double *log_speed = malloc((rows + 2 * (size_t)n) * ROWS * sizeof *log_speed);
    if (rng == NULL || log_speed == NULL) {
        free(log_speed);
        if (rng != NULL) gsl_rng_free(rng);
        return -1;
    }
    double *loss_of = log_speed + rows * ROWS, *gain = loss_of + n * ROWS;
    scenarios all = {
        .K = K, .n = n, .log = log_speed, .largest = log_speed + (rows - (size_t)n) * ROWS};
    fill_scenarios(&all, samples, rng);
    correct(&all);
    for (int k = 0; k < n; k++) {
        ret[k].fastest = 0.0;
        fewest = GSL_MIN(fewest, clusters(samples->plan, K[k], K[k]));
    }
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < n; k++) speed[k] = exp(all.log[k * ROWS + r]);
        const int best = spec_minimax_length(loss, speed, 1, n);
        if (best >= 0) ret[best].fastest += 1.0 / ROWS;
        for (int k = 0; k < n; k++) {
            loss_of[k * ROWS + r] = loss[k];
            gain[k * ROWS + r] = speed[k] / speed[now];
        }
    }
    for (int k = 0; k < n; k++) {
        ret[k].within = spec_length_within(loss_of + k * ROWS, all.kind, ROWS);
        ret[k].largest = quantile(all.largest + k * ROWS, 1.0 - error);
        ret[k].gain.low = quantile(gain + k * ROWS, 0.5 * error);
        ret[k].gain.high = quantile(gain + k * ROWS, 1.0 - 0.5 * error);
    }
    free(log_speed);
    gsl_rng_free(rng);
    return fewest;
}
