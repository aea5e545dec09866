/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_prediction.h"

#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/cost_curve.h"
#include "analysis/speedup.h"
#include "analysis/statistics/evalue.h"
#include "analysis/statistics/moments.h"
#include "tools/bench/timing_ranking.h"
#include "tools/bench/timing_sample.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The data from which the statistics are computed. */
typedef struct {
    spec_timing_sample sample;
    double mean_target[SPEC_TIMING_WIDTHS_MAX],
        mean_draft[SPEC_TIMING_WIDTHS_MAX];      /* seconds of a pass */
    int width[SPEC_TIMING_WIDTHS_MAX], n_widths; /* timed widths */
} workings;

/* ---- ratios of sums -------------------------------------------------------------------------- */

static spec_block_interval per(const workings *w, int over, int under)
{
    return spec_timing_sample_ratio(&w->sample, &over, &under, 1);
}

/* Returns how many times as long a round of one way takes as a round of another. */
static spec_block_interval round_ratio(const workings *w, int way, int other)
{
    const int a = spec_timing_column(way, 0), b = spec_timing_column(other, 0);
    const int over[] = {a + SPEC_TIMING_SECONDS, b + SPEC_TIMING_ROUNDS};
    const int under[] = {a + SPEC_TIMING_ROUNDS, b + SPEC_TIMING_SECONDS};
    return spec_timing_sample_reported(&w->sample, over, under, 2, 0.0);
}

/* Returns the mean time of the passes at column `first` over the mean time of those at `other`. */
static spec_block_interval pass_ratio(const workings *w, int first, int other, double least)
{
    if (first == other) return (spec_block_interval){1.0, 0.0, 1.0, 1.0};
    return spec_timing_sample_reported(&w->sample, (const int[]){first + 1, other},
                                       (const int[]){first, other + 1}, 2, least);
}

/* ---- tokens per round ------------------------------------------------------------------------ */

static bool fixed_length(const spec_timing *timed)
{
    return strcmp(timed->plan.decoder.policy, "fixed") == 0;
}

/* Returns whether one call of the draft gives the rows of several tokens. */
static bool call_has_all(const spec_timing *timed, const spec_timing_way *way)
{
    const spec_model *draft = timed->plan.decoder.opt_draft;
    return draft != NULL && draft->one_pass && way->K > 1;
}

static bool is_chain(const spec_timing_way *way)
{
    return way->widest == way->K + 1;
}

/* Returns the share of tested tokens that were accepted, in ways from..to. */
static double passed_over_tested(const spec_timing *timed, int from, int to)
{
    uint64_t passed = 0, tested = 0;
    for (int i = from; i <= to; i++)
        for (int depth = 0; depth < timed->way[i].K; depth++) {
            passed += timed->way[i].tally.passed[depth];
            tested += timed->way[i].tally.tested[depth];
        }
    return tested > 0 ? (double)passed / (double)tested : NAN;
}

/* Returns the share of tested guesses that were right, in all ways that draft ahead. */
static double right_over_tested(const spec_timing *timed)
{
    uint64_t right = 0, tested = 0;
    for (int i = 1; i < timed->n_ways; i++) {
        right += timed->way[i].tally.guesses_right;
        tested += timed->way[i].tally.guesses_tested;
    }
    return tested > 0 ? (double)right / (double)tested : NAN;
}

/* Computes tokens per round from the probability at each depth that one more token is accepted,
 * given that the round got there. If drafts have a fixed length, pools every K beyond that depth. A
 * token that is not drafted is not accepted. */
static double mean_by_depth(const spec_timing *timed, int way)
{
    const bool pooled = fixed_length(timed);
    double chance[SPEC_K_MAX];
    for (int depth = 0; depth < timed->way[way].K; depth++) {
        uint64_t passed = 0, came = 0;
        for (int i = 1; i < timed->n_ways; i++) {
            const spec_tally *tally = &timed->way[i].tally;
            if ((!pooled && i != way) || timed->way[i].K <= depth) continue;
            passed += tally->passed[depth];
            came += depth > 0 ? tally->passed[depth - 1] : tally->rounds;
        }
        chance[depth] = came > 0 ? (double)passed / (double)came : 0.0;
    }
    return spec_capped_geometric_positional_mean(chance, timed->way[way].K);
}

/* ---- a K ------------------------------------------------------------------------------------- */

/* Returns how long verifying and drafting ahead take together, if alone they take `verify` and
 * `during`, and overlap as was measured for this K. */
static double both(const spec_timing_speed *speed, double verify, double during)
{
    return spec_ahead_round(1.0, 0.0, during, verify, speed->handed * verify);
}

static void explain(spec_timing_speed *ret, const spec_timing_prediction *all, double c)
{
    const double plain = all->plain.value;
    const spec_phases *round = &ret->round;
    double time = plain * (ret->way->K * c + 1.0), next;
    if (ret->way->ahead) time = plain * ret->tokens_theorem / ret->speedup_theorem;
    ret->gap_tokens = ret->tokens_per_round.value / ret->tokens_theorem;
    ret->gap_draft = time / (next = round->draft + both(ret, plain, round->ahead));
    time = next;
    ret->gap_verify = time / (next = round->draft + round->ahead + round->score);
    time = next;
    ret->gap_rule = time / (next = time + round->rule);
    ret->gap_rest = next / (next + round->rest);
}

/* Returns the way with the same K that does not draft ahead. */
static int beforehand(const spec_timing *timed, int ahead)
{
    int i = 1;
    while (timed->way[i].ahead || timed->way[i].K != timed->way[ahead].K) i++;
    return i;
}

/* Adjusts the prediction from alpha and c to drafting ahead, and computes the gain. */
static void predict_ahead(spec_timing_speed *ret, const workings *w, int i,
                          const spec_timing_prediction *all, bool simple)
{
    const spec_timing_way *way = ret->way;
    const double ordinary = ret->speedup_theorem;
    ret->hit = per(w, spec_timing_column(i, SPEC_TIMING_ALL_HITS),
                   spec_timing_column(i, SPEC_TIMING_ALL_ROUNDS));
    if (!(ret->hit.se > 0.0))
        /* the share is 0, or 1, in every text, so there is no spread to estimate from */
        ret->hit.low = ret->hit.high = NAN;
    /* both ways emit the same law, so only the time of a round differs */
    ret->gain = round_ratio(w, beforehand(w->sample.timed, i), i);
    const double first = (double)w->sample.timed->n_blocks /
                         /* the first round of a text has no chain drafted ahead */
                         (double)way->tally.rounds;
    ret->hit_predicted =
        simple ? (1.0 - first) * spec_ahead_hit(all->alpha, way->K, all->guess) : NAN;
    ret->speedup_theorem =
        simple ? spec_ahead_speedup(all->alpha, way->K, all->c.value, all->guess, ret->handed)
               : NAN;
    ret->gain_predicted = ret->speedup_theorem / ordinary;
}

/* Returns whether the costs of a way's widest pass and of a draft call are reported. */
static bool costs_are_reported(const spec_timing_prediction *all, const spec_timing_way *way)
{
    for (int i = 0; i < all->n_passes; i++)
        if (all->pass[i].width == way->widest && isnan(all->pass[i].target_ratio.value))
            return false;
    return way->K == 0 || !isnan(all->c.value);
}

static void predict_speed(spec_timing_speed *ret, const workings *w, int i,
                          const spec_timing_prediction *all)
{
    const spec_timing *timed = w->sample.timed;
    const spec_timing_way *way = &timed->way[i];
    const double *sum = w->sample.sum + spec_timing_column(i, 0), rounds = sum[SPEC_TIMING_ROUNDS];
    const double calls = sum[SPEC_TIMING_CALLS] / rounds,
                 caught_up = sum[SPEC_TIMING_CAUGHT_UP] / rounds;
    const double calls_ahead = sum[SPEC_TIMING_CALLS_AHEAD] / rounds,
                 waits = sum[SPEC_TIMING_WAITS] / rounds,
                 waits_ahead = sum[SPEC_TIMING_WAITS_AHEAD] / rounds;
    const bool simple = fixed_length(timed) && is_chain(way);
    static const spec_block_interval none = {NAN, NAN, NAN, NAN};
    *ret = (spec_timing_speed){.way = way,
                               .alpha_tested = passed_over_tested(timed, i, i),
                               .hit = none,
                               .hit_predicted = NAN,
                               .gain = none,
                               .gain_predicted = NAN,
                               .gain_costed = NAN};
    ret->tokens_per_round = per(w, spec_timing_column(i, SPEC_TIMING_ALL_TOKENS),
                                spec_timing_column(i, SPEC_TIMING_ALL_ROUNDS));
    const double alpha = way->K > 0 ? all->alpha : 0.0; /* irrelevant at K = 0 */
    const bool all_at_once = call_has_all(timed, way);
    const double c = all->c.value / (all_at_once ? way->K : 1); /* per token */
    ret->tokens_theorem = simple ? spec_capped_geometric_mean(alpha, way->K) : NAN;
    ret->speedup_theorem = simple ? spec_speedup(alpha, way->K, c) : NAN;
    ret->tokens_by_depth = mean_by_depth(timed, i);
    ret->beta_z =
        spec_moments_z((double)way->accepted, way->chances, sqrt(way->variance), INFINITY);
    ret->beta_log_e = spec_evalue_events((double)way->accepted - way->chances, way->variance);

    ret->round = (spec_phases){.draft = sum[SPEC_TIMING_DRAFT] / rounds,
                               .score = sum[SPEC_TIMING_VERIFY] / rounds,
                               .ahead = sum[SPEC_TIMING_AHEAD] / rounds,
                               .handed = sum[SPEC_TIMING_HANDED] / rounds,
                               .rule = sum[SPEC_TIMING_RULE] / rounds};
    ret->round.rest = fmax(0.0, sum[SPEC_TIMING_SECONDS] / rounds - ret->round.draft -
                                    ret->round.score - ret->round.ahead - ret->round.rule);
    const double drafting = ret->round.draft + ret->round.ahead;
    ret->c_in_run = calls > 0.0 ? drafting / (calls + calls_ahead) / all->plain.value : NAN;

    const spec_cost_curve target = {w->n_widths, w->width, w->mean_target};
    const spec_cost_curve draft = {w->n_widths, w->width, w->mean_draft};
    ret->verify_costed = spec_cost_curve_mean(&target, way->width, way->widest);
    ret->handed = fmin(1.0, ret->round.handed / ret->verify_costed);
    ret->draft_costed = 0.0;
    if (calls > 0.0) {
        const double one = spec_cost_curve_time(&draft, 1.0),
                     two = spec_cost_curve_time(&draft, 2.0);
        ret->draft_costed =
            waits * (one + all->pick) + (calls - waits) * all->queued + caught_up * (two - one);
        ret->ahead_costed =
            waits_ahead * (one + all->pick) + (calls_ahead - waits_ahead) * all->queued;
    }
    ret->verify_costed = both(ret, ret->verify_costed, ret->ahead_costed) - ret->ahead_costed;
    if (way->ahead) predict_ahead(ret, w, i, all, simple && !all_at_once);
    explain(ret, all, c);
}

/* Returns how far apart two K are; INT_MAX if the two ways cannot be compared. */
static int distance(const spec_timing_way *a, const spec_timing_way *b)
{
    const bool related = a != b && a->K > 0 && b->K > 0 && a->ahead == b->ahead;
    return related ? abs(a->K - b->K) : INT_MAX;
}

/* Returns the factor by which drafting or verifying is slower in rounds than in single passes,
 * since the two models share the caches there. The nearest other K shows it; without one it is 1.
 */
static double rounds_over_passes(const spec_timing_prediction *p, int i, bool verifying)
{
    double in_rounds = 0.0, alone = 0.0;
    int nearest = INT_MAX - 1;
    for (const spec_timing_speed *s = p->speed; s < p->speed + p->n_speeds; s++) {
        const int far = distance(p->speed[i].way, s->way);
        if (far > nearest) continue;
        if (far < nearest) in_rounds = alone = 0.0;
        nearest = far;
        in_rounds += verifying ? s->round.score : s->round.draft + s->round.ahead;
        alone += verifying ? s->verify_costed : s->draft_costed + s->ahead_costed;
    }
    return in_rounds > 0.0 && alone > 0.0 ? in_rounds / alone : 1.0;
}

static void predict_from_costs(spec_timing_prediction *p, int i, const spec_timing *timed)
{
    spec_timing_speed *ret = &p->speed[i];
    const double drafting = rounds_over_passes(p, i, false),
                 verifying = rounds_over_passes(p, i, true);
    ret->speedup_costed =
        spec_cost_curve_speedup(ret->tokens_by_depth, p->plain.value, drafting * ret->draft_costed,
                                drafting * ret->ahead_costed + verifying * ret->verify_costed,
                                ret->round.rule + ret->round.rest);
    if (ret->speedup_costed >
        ret->tokens_by_depth) /* because of the noise between passes and plain tokens */
        ret->speedup_costed = ret->tokens_by_depth;
    if (!costs_are_reported(p, ret->way)) ret->speedup_costed = NAN;
    if (ret->way->ahead)
        ret->gain_costed =
            ret->speedup_costed / p->speed[beforehand(timed, i + 1) - 1].speedup_costed;
}

static void find_predicted(spec_timing_prediction *p)
{
    p->best_theorem = p->best_costed = -1;
    for (int i = 0; i < p->n_speeds; i++) {
        const spec_timing_speed *speed = p->speed;
        if (speed[i].speedup_theorem >
            (p->best_theorem < 0 ? 0.0 : speed[p->best_theorem].speedup_theorem))
            p->best_theorem = i;
        if (speed[i].speedup_costed >
            (p->best_costed < 0 ? 0.0 : speed[p->best_costed].speedup_costed))
            p->best_costed = i;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Returns the mean number of experts that a pass read in each mixture. */
static double experts_of(const spec_timing_limit *limit, const spec_timing_sum *passes)
{
    return limit->work.mixtures > 0 && passes->n > 0.0
               ? passes->experts / passes->n / limit->work.mixtures
               : NAN;
}

static void predict_passes(spec_timing_prediction *p, workings *w)
{
    const spec_timing *timed = w->sample.timed;
    const double *sum = w->sample.sum;
    const double text = spec_timing_prompts_mean(timed->plan.prompts) + 0.5 * timed->plan.tokens;
    for (int i = 0; i < timed->plan.n_widths; i++) {
        const int target = timed->first_target + SPEC_TIMING_SUM * i,
                  draft = timed->first_draft + SPEC_TIMING_SUM * i;
        if (sum[target] == 0.0) continue; /* no text was long enough */
        spec_timing_pass *pass = &p->pass[p->n_passes];
        w->width[p->n_passes] = pass->width = timed->plan.width[i];
        w->mean_target[p->n_passes] = pass->target = sum[target + 1] / sum[target];
        w->mean_draft[p->n_passes] = pass->draft = sum[draft + 1] / sum[draft];
        pass->target_experts =
            experts_of(&timed->target_limit, (const spec_timing_sum *)(sum + target));
        pass->draft_experts =
            experts_of(&timed->draft_limit, (const spec_timing_sum *)(sum + draft));
        pass->target_limit = spec_timing_limit_seconds(&timed->target_limit, pass->width,
                                                       pass->target_experts, text);
        pass->draft_limit =
            spec_timing_limit_seconds(&timed->draft_limit, pass->width, pass->draft_experts, text);
        pass->target_ratio = pass_ratio(w, target, timed->first_target, 1.0);
        pass->draft_ratio = pass_ratio(w, draft, timed->first_draft, 1.0);
        w->n_widths = ++p->n_passes;
    }
}

int spec_timing_predict(spec_timing_prediction *ret, const spec_timing *timed, double error,
                        int resamples, spec_error *message)
{
    workings w = {.n_widths = 0};
    int status = GSL_SUCCESS;
    *ret = (spec_timing_prediction){.n_speeds = timed->n_ways - 1};
    SPEC_TRY(spec_timing_sample_init(&w.sample, timed, error, resamples, message));
    const double *sum = w.sample.sum;
    const bool has_draft = timed->plan.decoder.opt_draft != NULL;
    ret->alpha = passed_over_tested(timed, 1, timed->n_ways - 1);
    ret->guess = right_over_tested(timed);
    ret->c = has_draft ? pass_ratio(&w, timed->first_draft, timed->first_target, 0.0)
                       : (spec_block_interval){0};
    ret->plain = per(&w, spec_timing_column(0, SPEC_TIMING_SECONDS),
                     spec_timing_column(0, SPEC_TIMING_TOKENS));
    ret->pick = sum[timed->pick + 1] / sum[timed->pick];
    if (sum[timed->queued] > 0.0) /* not below 0, because of the noise */
        ret->queued = fmax(0.0, sum[timed->queued + 1] / sum[timed->queued]);
    predict_passes(ret, &w);
    for (int i = 0; i < ret->n_speeds; i++) predict_speed(&ret->speed[i], &w, i + 1, ret);
    for (int i = 0; i < ret->n_speeds; i++) predict_from_costs(ret, i, timed);
    SPEC_TRY(spec_timing_rank(ret, &w.sample, message));
    find_predicted(ret);
done:
    spec_timing_sample_free(&w.sample);
    return status;
}
