/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/length_speeds.h"

#include "analysis/acceptance/round_times.h"
#include "analysis/alpha.h"
#include "analysis/capped_geometric.h"

#include <math.h>

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

/* Shares of rounds that accept j tokens at least, j = 1..K; false without depths. */
static bool moments(double m[SPEC_ADVICE_K], const spec_observed_run *run, const double *sum)
{
    const double rounds = sum[SPEC_SUM_DEPTH_ROUNDS];
    if (!(rounds > 0.0) || run->depths < run->K) return false;
    for (int j = 0; j < run->K; j++) m[j] = sum[SPEC_SUM_PASSED + j] / rounds;
    return true;
}

/* Tokens per pass from tokens per round that verifies a draft: other passes emit one. */
static double per_pass(const double *sum, double tokens)
{
    return 1.0 + sum[SPEC_SUM_ROUNDS] / sum[SPEC_SUM_PASSES] * (tokens - 1.0);
}

/* K tokens from a run at another length whose depths are not known: acceptance falls with depth, so
 * the first K of K_run depths have at least their share of the accepted tokens. */
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

static spec_length_number tokens_from(const spec_observed_run *run, const double *sum, int K)
{
    double m[SPEC_ADVICE_K];
    const double emitted = tokens_of(sum);
    if (!(sum[SPEC_SUM_PASSES] > 0.0)) return unknown;
    if (K == run->K) return certain(emitted);
    if (!moments(m, run, sum)) return tokens_without_depths(emitted, run->K, K);
    const spec_bounds bounds = spec_moment_bounds_free(m, run->K, K);
    const double point = K > run->K ? spec_moment_bounds_constant(m, run->K, K) : bounds.low;
    return (spec_length_number){per_pass(sum, bounds.low), per_pass(sum, point),
                                per_pass(sum, bounds.high)};
}

spec_bounds spec_length_mixture(const spec_observed_run *run, const double *sum, int K)
{
    double m[SPEC_ADVICE_K];
    if (!moments(m, run, sum)) return (spec_bounds){NAN, NAN};
    const spec_bounds bounds = spec_moment_bounds_mixture(NULL, m, run->K, K);
    return (spec_bounds){per_pass(sum, bounds.low), per_pass(sum, bounds.high)};
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

/* Busy seconds per `unit` of K in a range of batches; NaN without. */
static double seconds_per(const spec_length_plan *plan, const double *sum, int K, int batch,
                          int unit)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, K, batch);
    if (run == NULL) return NAN;
    const double *s = row(plan, sum, run);
    return s[SPEC_SUM_BUSY] > 0.0 && s[unit] > 0.0 ? s[SPEC_SUM_BUSY] / s[unit] : NAN;
}

/* Seconds per `unit` of K over seconds per `other_unit` of another length: the geometric mean over
 * ranges of batches that both ran, weighted by the time that K was busy in them. */
static double over(const spec_length_plan *plan, const double *sum, int K, int unit, int other_K,
                   int other_unit)
{
    double weights = 0.0, logs = 0.0;
    for (int b = 0; b < SPEC_SUM_BATCHES; b++) {
        const double own = seconds_per(plan, sum, K, b, unit);
        double other = seconds_per(plan, sum, other_K, b, other_unit);
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

/* Tokens per second of a run over those of the reference, as measured; NaN without. */
static double speed_of_run(const spec_length_plan *plan, const double *sum, int K)
{
    if (plan->question->round_over_plain > 0.0) return NAN;
    return 1.0 / over(plan, sum, K, SPEC_SUM_BUSY_EMITTED, plan->reference, SPEC_SUM_BUSY_EMITTED);
}

/* ---- all lengths ----------------------------------------------------------------------------- */

int spec_length_plan_init(spec_length_plan *plan, const spec_observed_runs *runs,
                          const spec_advice_question *question)
{
    double most = 0.0;
    *plan = (spec_length_plan){.runs = runs, .question = question};
    for (size_t i = 0; i < runs->n; i++) {
        const spec_observed_run *run = &runs->run[i];
        const spec_cluster_question busy = {.passed = spec_cluster_column,
                                            .passed_arg = SPEC_SUM_BUSY,
                                            .tested = spec_cluster_column,
                                            .tested_arg = SPEC_SUM_BUSY_ROUNDS};
        spec_cluster_ratio seconds;
        if (run->batch >= 0 || run->K == 0) continue;
        const double rounds = spec_observed_run_sum(run, SPEC_SUM_PASSES);
        plan->longest = run->K; /* runs ascend */
        if (rounds >= most) plan->current = run->K, most = rounds;
        if (spec_observed_run_ratio(&seconds, run, &busy, question->error) != GSL_SUCCESS)
            return GSL_ENOMEM;
        plan->time_se[run->K] = seconds.se / seconds.value;
    }
    plan->reference = plan->current; /* until plain decoding is found */
    if (question->plain_tokens_per_s > 0.0 || question->round_over_plain > 0.0) plan->reference = 0;
    for (int b = 0; b < SPEC_SUM_BATCHES; b++) {
        const spec_observed_run *plain = spec_observed_runs_find(runs, 0, b);
        if (plain == NULL || !(spec_observed_run_sum(plain, SPEC_SUM_BUSY) > 0.0)) continue;
        for (int K = 1; K <= plan->longest; K++) {
            const spec_observed_run *run = spec_observed_runs_find(runs, K, b);
            if (run != NULL && spec_observed_run_sum(run, SPEC_SUM_BUSY) > 0.0) plan->reference = 0;
        }
    }
    return GSL_SUCCESS;
}

int spec_length_plan_highest(const spec_length_plan *plan)
{
    if (plan->question->K_high >= 0) return plan->question->K_high;
    return 2 * plan->longest < SPEC_ADVICE_K ? 2 * plan->longest : SPEC_ADVICE_K - 1;
}

/* Times of the runs as points of spec_round_times, plain decoding first. */
static int known_times(int K[], double time[], double se[], const spec_length_plan *plan,
                       const double *sum)
{
    int n = 0;
    if (plan->reference == 0) {
        K[n] = 0, time[n] = 1.0, se[n] = 0.0;
        n++;
    }
    for (int L = 1; L <= plan->longest; L++) {
        if (spec_observed_runs_find(plan->runs, L, -1) == NULL) continue;
        time[n] = time_of_run(plan, sum, L);
        if (!(time[n] > 0.0)) continue;
        K[n] = L;
        se[n] = plan->time_se[L] > 0.0 ? plan->time_se[L] * time[n] : 0.0;
        n++;
    }
    return n;
}

static spec_length_number time_at(const spec_round_times *times, int K)
{
    double se;
    if (times->n == 0 || (times->n == 1 && times->K[0] == 0)) return unknown;
    const spec_bounds bounds = spec_round_times_at(&se, times, K);
    if (!(bounds.low > 0.0) && !(bounds.high > 0.0)) return unknown;
    return (spec_length_number){bounds.low, bounds.low == bounds.high ? bounds.low : NAN,
                                bounds.high};
}

void spec_length_speeds(spec_length_speed ret[SPEC_ADVICE_K], const spec_length_plan *plan,
                        const double *sum)
{
    int K_known[SPEC_ADVICE_K];
    double time[SPEC_ADVICE_K], se[SPEC_ADVICE_K];
    const int n = known_times(K_known, time, se, plan, sum);
    const spec_round_times times = {n, K_known, time, se};
    const spec_observed_run *reference = spec_observed_runs_find(plan->runs, plan->reference, -1);
    /* tokens of a round of the reference, which takes one unit of time */
    const double unit = plan->reference == 0 ? 1.0 : tokens_of(row(plan, sum, reference));
    ret[0].tokens = certain(1.0);
    ret[0].time = ret[0].speed = plan->reference == 0 ? certain(1.0) : unknown;
    const int asked = spec_length_plan_highest(plan);
    const int most = asked > plan->longest ? asked : plan->longest;
    for (int K = 1; K <= most; K++) {
        const spec_observed_run *base = spec_length_plan_base(plan, K);
        const spec_length_number tokens = tokens_from(base, row(plan, sum, base), K);
        const spec_length_number round = time_at(&times, K);
        const double measured = base->K == K ? speed_of_run(plan, sum, K) : NAN;
        ret[K].tokens = tokens;
        ret[K].time = round;
        ret[K].speed = measured > 0.0 ? certain(measured)
                                      : (spec_length_number){tokens.low / round.high / unit,
                                                             tokens.point / round.point / unit,
                                                             tokens.high / round.low / unit};
    }
}
