/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/length_speeds.h"

#include "analysis/acceptance/counter_limits.h"
#include "analysis/acceptance/round_times.h"
#include "analysis/alpha.h"
#include "analysis/capped_geometric.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

static const spec_length_number unknown = {NAN, NAN, NAN};

static spec_length_number certain(double value)
{
    return (spec_length_number){value, value, value};
}

static const double *row(const spec_length_plan *plan, const double *sum,
                         const spec_observed_run *run)
{
    return sum + (size_t)(run - plan->runs->run) * SPEC_SUM_COLUMNS;
}

/* ---- tokens per round ------------------------------------------------------------------------ */

static double tokens_of(const double *sum)
{
    return 1.0 + sum[SPEC_SUM_ACCEPTED] / sum[SPEC_SUM_PASSES];
}

/* Fills the shares of rounds that accept at least j tokens, j = 1..K; returns false without
 * depths. */
static bool moments(double m[SPEC_ADVICE_K], const spec_observed_run *run, const double *sum)
{
    const double rounds = sum[SPEC_SUM_DEPTH_ROUNDS];
    if (!(rounds > 0.0) || run->depths < run->K) return false;
    for (int j = 0; j < run->K; j++) m[j] = sum[SPEC_SUM_PASSED + j] / rounds;
    return true;
}

/* Returns tokens per pass, given the tokens per round that verifies a draft. Passes without a draft
 * emit one. */
static double per_pass(const double *sum, double tokens)
{
    return 1.0 + sum[SPEC_SUM_ROUNDS] / sum[SPEC_SUM_PASSES] * (tokens - 1.0);
}

/* Bounds the tokens at K from a run at another length whose depths are not known. Because
 * acceptance falls with depth, the first K of K_run depths have at least their share of the
 * accepted tokens. */
static spec_length_number tokens_without_depths(double emitted, int K_run, int K)
{
    const double accepted = emitted - 1.0;
    const double alpha =
        spec_alpha_from_emitted(fmin(fmax(emitted, 1.0), (double)K_run + 1.0), K_run);
    const double point = spec_capped_geometric_mean(alpha, K);
    if (K > K_run)
        return (spec_length_number){emitted, point, emitted + (K - K_run) * accepted / K_run};
    return (spec_length_number){1.0 + accepted * K / K_run, point, 1.0 + fmin(K, accepted)};
}

/* Returns tokens per draft round at K, from the moments of a run at another length. */
static spec_length_number tokens_of_moments(const spec_length_plan *plan, const double *m,
                                            int K_run, int K)
{
    double tokens = 1.0;
    for (int j = 0; j < K_run; j++) tokens += m[j];
    spec_bounds bounds = spec_moment_bounds_free(m, K_run, K);
    if (plan->linear[K]) {
        /* If alpha differs between the rounds of a request, shorter rounds are rounds of K_run that
         * were cut, and longer rounds have more tokens. */
        const double low = tokens / spec_length_bound_at(&plan->ratio_high[K], m),
                     high = tokens / spec_length_bound_at(&plan->ratio_low[K], m),
                     point = fmin(fmax(0.5 * (low + high), bounds.low), K + 1.0);
        return (spec_length_number){fmin(K < K_run ? bounds.low : low, point), point,
                                    fmax(K < K_run ? high : bounds.high, point)};
    }
    if (K > K_run)
        return (spec_length_number){bounds.low, spec_moment_bounds_constant(m, K_run, K),
                                    bounds.high};
    spec_counter_limits_shorter(&bounds.low, &bounds.high, tokens, bounds.low, K);
    return (spec_length_number){bounds.low, 0.5 * (bounds.low + bounds.high), bounds.high};
}

/* Returns the tokens per round of the next run longer than K, cut at K; NaN if there is none, or
 * its depths are not known. */
static double tokens_of_next(const spec_length_plan *plan, const double *sum, int K)
{
    if (K >= plan->longest) return NAN;
    const spec_observed_run *next = spec_length_plan_base(plan, K + 1);
    const double *s = row(plan, sum, next);
    double m[SPEC_ADVICE_K], tokens = 1.0;
    if (!moments(m, next, s)) return NAN;
    for (int j = 0; j < K; j++) tokens += m[j];
    return per_pass(s, tokens);
}

static spec_length_number tokens_from(const spec_length_plan *plan, const spec_observed_run *run,
                                      const double *sum, int K)
{
    double m[SPEC_ADVICE_K];
    const double emitted = tokens_of(sum);
    if (!(sum[SPEC_SUM_PASSES] > 0.0)) return unknown;
    if (K == run->K) return certain(emitted);
    if (!moments(m, run, sum)) return tokens_without_depths(emitted, run->K, K);
    const spec_length_number tokens = tokens_of_moments(plan, m, run->K, K);
    return (spec_length_number){per_pass(sum, tokens.low), per_pass(sum, tokens.point),
                                per_pass(sum, tokens.high)};
}

/* Returns whether the counters of a run contradict one alpha per request. They do if at some depth
 * j m_{j-1} m_{j+1} < m_j^2, by more than the errors of independent rounds and of clusters explain.
 * Drafts that end early look the same. */
static bool contradicts_one_alpha(const spec_observed_run *run, const double *sum)
{
    enum { CLUSTERS = 6 }; /* enough clusters to estimate their spread */
    const double error = 0.01 / fmax(run->K - 1, 1), D = sum[SPEC_SUM_DEPTH_ROUNDS];
    double m[SPEC_ADVICE_K];
    if (!moments(m, run, sum)) return true;
    if (sum[SPEC_SUM_DRAFTED] < 0.99 * run->K * sum[SPEC_SUM_ROUNDS]) return true;
    for (int j = 1; j < run->K; j++) {
        const double a = j > 1 ? m[j - 2] : 1.0, b = m[j - 1], c = m[j];
        /* Gradient (c, -2b, a); Cov(m_i, m_k) = (m_max(i,k) - m_i m_k) / D, and m_0 is exact. */
        const double mean = (j > 1 ? c * a : 0.0) - 2.0 * b * b + a * c,
                     own = (j > 1 ? c * c * a : 0.0) + 4.0 * b * b * b + a * a * c,
                     crossed =
                         2.0 * (-2.0 * b * a * c + (j > 1 ? c * (-2.0 * b * b + a * c) : 0.0));
        double variance = fmax(own + crossed - mean * mean, 0.0) / D, of_clusters;
        const double excess = spec_observed_run_excess(&of_clusters, run, j);
        if (run->n >= CLUSTERS) variance = fmax(variance, of_clusters);
        const double most = run->n >= CLUSTERS ? gsl_cdf_tdist_Qinv(error, (double)run->n - 1.0)
                                               : gsl_cdf_ugaussian_Qinv(error);
        if (excess < -most * sqrt(variance) - 1e-12) return true;
    }
    return false;
}

const spec_observed_run *spec_length_plan_base(const spec_length_plan *plan, int K)
{
    for (int L = K; L < plan->longest; L++) {
        const spec_observed_run *run = spec_observed_runs_find(plan->runs, L, -1);
        if (run != NULL) return run;
    }
    return spec_observed_runs_find(plan->runs, plan->longest, -1);
}

/* ---- times and speeds of runs ---------------------------------------------------------------- */

/* Returns busy seconds per `unit` of K in a range of batches; NaN if there are none. */
static double seconds_per(const spec_length_plan *plan, const double *sum, int K, int batch,
                          int unit)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, K, batch);
    if (run == NULL) return NAN;
    const double *s = row(plan, sum, run);
    return s[SPEC_SUM_BUSY] > 0.0 && s[unit] > 0.0 ? s[SPEC_SUM_BUSY] / s[unit] : NAN;
}

double spec_length_plan_running(const spec_length_plan *plan, int K, int batch)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, K, batch);
    if (run == NULL) return NAN;
    const double running = spec_observed_run_sum(run, SPEC_SUM_RUNNING);
    return running > 0.0 ? running / spec_observed_run_sum(run, SPEC_SUM_BUSY) : NAN;
}

bool spec_length_plan_same_batch(const spec_length_plan *plan, int K, int other_K, int batch)
{
    static const double SAME = 0.1;
    const double more = log(spec_length_plan_running(plan, K, batch) /
                            spec_length_plan_running(plan, other_K, batch));
    return isnan(more) || fabs(more) <= SAME;
}

/* Returns whether both lengths were run, and the files of only one of them say how many requests
 * ran at a time. We then take the load to be the same, as the user says. */
static bool is_batch_missing(const spec_length_plan *plan, int K, int other_K)
{
    return spec_observed_runs_find(plan->runs, K, -1) != NULL &&
           spec_observed_runs_find(plan->runs, other_K, -1) != NULL &&
           isnan(spec_length_plan_running(plan, K, -1)) !=
               isnan(spec_length_plan_running(plan, other_K, -1));
}

/* Returns the time that K takes per `unit`, divided by the time that another length takes per
 * `other_unit`. It is the geometric mean over the ranges of batches in which both ran, weighted by
 * K's busy time there. */
static double over(const spec_length_plan *plan, const double *sum, int K, int unit, int other_K,
                   int other_unit)
{
    double weights = 0.0, logs = 0.0;
    const bool all = (plan->equal_rate && other_K == 0) || is_batch_missing(plan, K, other_K);
    for (int b = all ? -1 : 0; b < (all ? 0 : SPEC_SUM_BATCHES); b++) {
        const double own = seconds_per(plan, sum, K, b, unit);
        double other = seconds_per(plan, sum, other_K, b, other_unit);
        if (!all && !spec_length_plan_same_batch(plan, K, other_K, b)) continue;
        if (other_K == 0 && plan->question->plain_tokens_per_s > 0.0)
            other = 1.0 / plan->question->plain_tokens_per_s;
        if (isnan(own) || isnan(other)) continue;
        const double weight =
            row(plan, sum, spec_observed_runs_find(plan->runs, K, b))[SPEC_SUM_BUSY];
        logs += weight * log(own / other);
        weights += weight;
    }
    return weights > 0.0 ? exp(logs / weights) : NAN;
}

static double time_of_run(const spec_length_plan *plan, const double *sum, int K)
{
    const double given = plan->question->round_over_plain;
    if (plan->reference == 0 && !(given > 0.0))
        return over(plan, sum, K, SPEC_SUM_BUSY_ROUNDS, 0, SPEC_SUM_BUSY_EMITTED);
    const double time = K == plan->current ? 1.0
                                           : over(plan, sum, K, SPEC_SUM_BUSY_ROUNDS, plan->current,
                                                  SPEC_SUM_BUSY_ROUNDS);
    return given > 0.0 ? given * time : time;
}

/* Returns a run's measured tokens per second, relative to the reference; NaN if they were not
 * measured. */
static double speed_of_run(const spec_length_plan *plan, const double *sum, int K)
{
    if (plan->question->round_over_plain > 0.0) return NAN;
    return 1.0 / over(plan, sum, K, SPEC_SUM_BUSY_EMITTED, plan->reference, SPEC_SUM_BUSY_EMITTED);
}

/* ---- all lengths ----------------------------------------------------------------------------- */

/* Sets how much to widen the run's intervals: as much as the most dependent of its tokens, times
 * and speeds needs. */
static int fill_widening(spec_length_plan *plan, const spec_observed_run *run)
{
    static const int column[][2] = {{SPEC_SUM_BUSY, SPEC_SUM_BUSY_ROUNDS},
                                    {SPEC_SUM_BUSY, SPEC_SUM_BUSY_EMITTED},
                                    {SPEC_SUM_ACCEPTED, SPEC_SUM_PASSES}};
    const double error = plan->question->error;
    double *work = malloc(3 * (run->n + 1) * sizeof *work);
    if (work == NULL) return GSL_ENOMEM;
    plan->widening[run->K] = 1.0;
    for (int i = 0; i < 3; i++) {
        double *passed = work, *tested = work + run->n, widening;
        for (size_t g = 0; g < run->n; g++) {
            passed[g] = run->column[g * SPEC_SUM_COLUMNS + (size_t)column[i][0]];
            tested[g] = run->column[g * SPEC_SUM_COLUMNS + (size_t)column[i][1]];
        }
        const double value = spec_observed_ratio_of(passed, tested, tested + run->n, run->n, false,
                                                    run->requests, error, &widening)
                                 .value;
        plan->widening[run->K] = fmax(plan->widening[run->K], widening);
        if (column[i][1] != SPEC_SUM_BUSY_EMITTED) continue;
        double emitted = 0.0, squares = 0.0;
        for (size_t g = 0; g < run->n; g++) {
            emitted += tested[g];
            passed[g] -= value * tested[g];
            squares += passed[g] * passed[g];
        }
        plan->variance[run->K] = squares > 0.0 ? squares / pow(value * emitted, 2.0) : 0.0;
        spec_serial_widenings(plan->serial[run->K], passed, run->requests ? 0 : run->n);
    }
    free(work);
    return GSL_SUCCESS;
}

/* Fills in the bounds of lengths that were not run, using all clusters. */
static void fill_ratios(spec_length_plan *plan)
{
    double sum[SPEC_SUM_COLUMNS], m[SPEC_ADVICE_K];
    const spec_observed_run *last = NULL;
    bool fits = false;
    const int highest = spec_length_plan_highest(plan);
    for (int K = 1; K <= highest && plan->longest > 0; K++) {
        const spec_observed_run *base = spec_length_plan_base(plan, K);
        if (base->K == K) continue;
        if (base != last) {
            for (int c = 0; c < SPEC_SUM_COLUMNS; c++) sum[c] = spec_observed_run_sum(base, c);
            fits = !contradicts_one_alpha(base, sum);
            last = base;
        }
        plan->linear[K] = fits && moments(m, base, sum);
        if (!plan->linear[K]) continue;
        plan->ratio_low[K] = spec_length_bound_of(m, base->K, K, false, 1.0);
        plan->ratio_high[K] = spec_length_bound_of(m, base->K, K, true, 1.0);
    }
}

static bool is_busy(const spec_observed_runs *runs, int K, int batch)
{
    const spec_observed_run *run = spec_observed_runs_find(runs, K, batch);
    return run != NULL && spec_observed_run_sum(run, SPEC_SUM_BUSY) > 0.0;
}

/* Returns the tokens per second of wall time: those of a request, times the requests at a time. */
static double tokens_per_second(const spec_length_plan *plan, int K)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, K, -1);
    if (run == NULL) return NAN;
    return spec_length_plan_running(plan, K, -1) *
           spec_observed_run_sum(run, SPEC_SUM_BUSY_EMITTED) /
           spec_observed_run_sum(run, SPEC_SUM_BUSY);
}

/* Returns whether plain decoding and the current length emitted equally many tokens per second of
 * wall time, within 10 %. Requests then came at the same rate, and neither engine was full. */
static bool has_equal_rate(const spec_length_plan *plan)
{
    return fabs(log(tokens_per_second(plan, plan->current) / tokens_per_second(plan, 0))) < 0.1;
}

int spec_length_plan_init(spec_length_plan *plan, const spec_observed_runs *runs,
                          const spec_advice_question *question)
{
    double most = 0.0;
    *plan = (spec_length_plan){.runs = runs, .question = question};
    for (size_t i = 0; i < runs->n; i++) {
        const spec_observed_run *run = &runs->run[i];
        if (run->batch >= 0) continue;
        if (fill_widening(plan, run) != GSL_SUCCESS) return GSL_ENOMEM;
        if (run->K == 0) continue;
        const double rounds = spec_observed_run_sum(run, SPEC_SUM_PASSES);
        plan->longest = run->K; /* runs are ascending */
        if (rounds >= most) plan->current = run->K, most = rounds;
    }
    plan->reference = plan->current; /* replaced below if plain decoding was run */
    const bool given = spec_advice_question_gives_plain(question);
    if (given) plan->reference = 0;
    for (int b = -1; b < SPEC_SUM_BATCHES; b++) {
        if (!is_busy(runs, 0, b)) continue;
        for (int K = 1; K <= plan->longest; K++)
            if (is_busy(runs, K, b) &&
                (b < 0 ? is_batch_missing(plan, K, 0) : spec_length_plan_same_batch(plan, K, 0, b)))
                plan->reference = 0;
    }
    if (!given && !spec_length_plan_same_batch(plan, plan->current, 0, -1) &&
        has_equal_rate(plan)) {
        plan->equal_rate = true;
        plan->reference = 0;
    }
    fill_ratios(plan);
    return GSL_SUCCESS;
}

int spec_length_plan_highest(const spec_length_plan *plan)
{
    if (plan->question->K_high >= 0) return plan->question->K_high;
    return 2 * plan->longest < SPEC_ADVICE_K ? 2 * plan->longest : SPEC_ADVICE_K - 1;
}

/* Collects the times of the runs as points of spec_round_times, plain decoding first. */
static int known_times(int K[], double time[], const spec_length_plan *plan, const double *sum)
{
    int n = 0;
    if (plan->reference == 0 && !plan->equal_rate) {
        K[n] = 0;
        time[n++] = 1.0;
    }
    for (int L = 1; L <= plan->longest; L++) {
        if (spec_observed_runs_find(plan->runs, L, -1) == NULL) continue;
        time[n] = time_of_run(plan, sum, L);
        if (!(time[n] > 0.0)) continue;
        K[n++] = L;
    }
    return n;
}

/* The estimate in the middle is replaced by that of likely engines (length_samples.c). */
static spec_length_number time_at(const spec_round_times *times, int K)
{
    if (times->n == 0 || (times->n == 1 && times->K[0] == 0)) return unknown;
    const spec_bounds bounds = spec_round_times_at(times, K);
    if (!(bounds.low > 0.0) && !(bounds.high > 0.0)) return unknown;
    return (spec_length_number){bounds.low, 0.5 * (bounds.low + bounds.high), bounds.high};
}

/* Returns the tokens of the output divided by those in the counters. They differ because engines
 * count tokens that they trim at the end of a request, and because first tokens belong to no
 * round. */
static double output_share(const spec_observed_run *base, const double *sum, int K)
{
    const double counted = sum[SPEC_SUM_PASSES] + sum[SPEC_SUM_ACCEPTED],
                 share = sum[SPEC_SUM_EMITTED] / counted;
    if (!(share > 0.5 && share < 1.5)) return 1.0;
    return 1.0 + (share - 1.0) * K / base->K;
}

void spec_length_speeds(spec_length_speed ret[SPEC_ADVICE_K], const spec_length_plan *plan,
                        const double *sum)
{
    int K_known[SPEC_ADVICE_K];
    double time[SPEC_ADVICE_K];
    const int n = known_times(K_known, time, plan, sum);
    const spec_round_times times = {n, K_known, time};
    const spec_observed_run *reference = spec_observed_runs_find(plan->runs, plan->reference, -1);
    /* tokens of a reference round; such a round takes one unit of time */
    double unit = 1.0;
    if (plan->reference > 0) {
        const double *s = row(plan, sum, reference);
        unit = tokens_of(s) * output_share(reference, s, plan->reference);
    }
    ret[0].tokens = certain(1.0);
    ret[0].time = ret[0].speed = plan->reference == 0 ? certain(1.0) : unknown;
    const int asked = spec_length_plan_highest(plan);
    const int most = asked > plan->longest ? asked : plan->longest;
    for (int K = 1; K <= most; K++) {
        const spec_observed_run *base = spec_length_plan_base(plan, K);
        const double *s = row(plan, sum, base);
        const spec_length_number tokens = tokens_from(plan, base, s, K), round = time_at(&times, K);
        const double measured = base->K == K ? speed_of_run(plan, sum, K) : NAN;
        const double share = output_share(base, s, K) / unit;
        ret[K].tokens = tokens;
        ret[K].time = round;
        ret[K].cut = base->K == K ? tokens_of_next(plan, sum, K) : NAN;
        ret[K].speed = measured > 0.0 ? certain(measured)
                                      : (spec_length_number){share * tokens.low / round.high,
                                                             share * tokens.point / round.point,
                                                             share * tokens.high / round.low};
    }
}
