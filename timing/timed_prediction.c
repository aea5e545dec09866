#include "timing/timed_prediction.h"

#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/cost_curve.h"
#include "analysis/statistics/moments.h"
#include "analysis/speedup.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the statistics are made from. */
typedef struct {
    const spec_timed *timed;
    int resamples;
    double error;
    double *sum;   /* (resamples+1, n_columns) */
    double *value; /* (resamples+1) of a statistic */
    double mean_target[SPEC_TIMED_WIDTHS_MAX], mean_draft[SPEC_TIMED_WIDTHS_MAX]; /* seconds of a pass */
    int width[SPEC_TIMED_WIDTHS_MAX], n_widths; /* those that were timed */
} sample;

/* ---- ratios of sums ---------------------------------------------------------------------------------------------- */

/* (over[0]/under[0]) / (over[1]/under[1]) of the columns; the second ratio is 1 where over[1] < 0. */
static spec_block_interval ratio(sample *s, const int over[2], const int under[2])
{
    const size_t width = (size_t)s->timed->n_columns;
    for (int r = 0; r <= s->resamples; r++) {
        const double *sum = s->sum + (size_t)r * width;
        s->value[r] = sum[over[0]] / sum[under[0]];
        if (over[1] >= 0) s->value[r] /= sum[over[1]] / sum[under[1]];
    }
    return spec_block_bootstrap_interval(s->value, s->resamples, s->timed->n_blocks, s->error);
}

static spec_block_interval per(sample *s, int over, int under)
{
    return ratio(s, (const int[2]){over, -1}, (const int[2]){under, -1});
}

/* Tokens a second of one way over those of another. */
static spec_block_interval speed_ratio(sample *s, int way, int other)
{
    const int a = spec_timed_column(way, 0), b = spec_timed_column(other, 0);
    return ratio(s, (const int[2]){a + SPEC_TIMED_TOKENS, b + SPEC_TIMED_TOKENS},
                 (const int[2]){a + SPEC_TIMED_SECONDS, b + SPEC_TIMED_SECONDS});
}

/* Seconds of a round of one way over those of another. */
static spec_block_interval round_ratio(sample *s, int way, int other)
{
    const int a = spec_timed_column(way, 0), b = spec_timed_column(other, 0);
    return ratio(s, (const int[2]){a + SPEC_TIMED_SECONDS, b + SPEC_TIMED_SECONDS},
                 (const int[2]){a + SPEC_TIMED_ROUNDS, b + SPEC_TIMED_ROUNDS});
}

/* Mean time of the passes at column `first` over that of those at `other`. */
static spec_block_interval pass_ratio(sample *s, int first, int other)
{
    return ratio(s, (const int[2]){first + 1, other + 1}, (const int[2]){first, other});
}

/* ---- tokens a round ---------------------------------------------------------------------------------------------- */

static bool fixed_length(const spec_timed *timed)
{
    return strcmp(timed->plan.decoder.policy, "fixed") == 0;
}

static bool is_chain(const spec_timed_way *way)
{
    return way->widest == way->K + 1;
}

/* Accepted over tested tokens of ways from..to. */
static double passed_over_tested(const spec_timed *timed, int from, int to)
{
    uint64_t passed = 0, tested = 0;
    for (int i = from; i <= to; i++)
        for (int depth = 0; depth < timed->way[i].K; depth++) {
            passed += timed->way[i].tally.passed[depth];
            tested += timed->way[i].tally.tested[depth];
        }
    return tested > 0 ? (double)passed / (double)tested : NAN;
}

/* Right over tested guesses, of all ways that draft ahead. */
static double right_over_tested(const spec_timed *timed)
{
    uint64_t right = 0, tested = 0;
    for (int i = 1; i < timed->n_ways; i++) {
        right += timed->way[i].tally.guesses_right;
        tested += timed->way[i].tally.guesses_tested;
    }
    return tested > 0 ? (double)right / (double)tested : NAN;
}

/* The chance that one more token is accepted at each depth, of rounds that came so far: where drafts have a fixed
 * length it is that of every K which goes so deep. What is not drafted is not accepted. */
static double mean_by_depth(const spec_timed *timed, int way)
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
    return spec_positional_mean(chance, timed->way[way].K);
}

/* ---- a K --------------------------------------------------------------------------------------------------------- */

/* A verification of `verify`, and drafting ahead that takes `during`, in a way where so much of it can be meanwhile. */
static double both(const spec_timed_speed *speed, double verify, double during)
{
    return spec_ahead_round(1.0, 0.0, during, verify, speed->handed * verify);
}

static void explain(spec_timed_speed *ret, const spec_timed_prediction *all)
{
    const double plain = all->plain.value;
    const spec_phases *round = &ret->round;
    double time = plain * (ret->way->K * all->c.value + 1.0), next;
    if (ret->way->ahead) time = plain * ret->tokens_theorem / ret->speedup_theorem;
    ret->gap_tokens = ret->tokens / ret->tokens_theorem;
    ret->gap_draft = time / (next = round->draft + both(ret, plain, round->ahead));
    time = next;
    ret->gap_verify = time / (next = round->draft + round->ahead + round->score);
    time = next;
    ret->gap_rule = time / (next = time + round->rule);
    ret->gap_rest = next / (next + round->rest);
}

/* The way of the same K that drafts each chain beforehand. */
static int beforehand(const spec_timed *timed, int ahead)
{
    int i = 1;
    while (timed->way[i].ahead || timed->way[i].K != timed->way[ahead].K) i++;
    return i;
}

/* What drafting ahead changes of the prediction by alpha and c, and what it gains. */
static void predict_ahead(spec_timed_speed *ret, sample *s, int i, const spec_timed_prediction *all, bool simple)
{
    const spec_timed_way *way = ret->way;
    const double ordinary = ret->speedup_theorem;
    ret->hit = per(s, spec_timed_column(i, SPEC_TIMED_ALL_HITS), spec_timed_column(i, SPEC_TIMED_ALL_ROUNDS));
    if (!(ret->hit.se > 0.0)) ret->hit.low = ret->hit.high = NAN; /* none, or all, in every text: no spread to judge by */
    ret->gain = round_ratio(s, beforehand(s->timed, i), i); /* their tokens have one law */
    const double first = (double)s->timed->n_blocks / (double)way->tally.rounds; /* a text's first round finds none */
    ret->hit_predicted = simple ? (1.0 - first) * spec_ahead_hit(all->alpha, way->K, all->guess) : NAN;
    ret->speedup_theorem =
        simple ? spec_ahead_speedup(all->alpha, way->K, all->c.value, all->guess, ret->handed) : NAN;
    ret->gain_predicted = ret->speedup_theorem / ordinary;
}

static void predict_speed(spec_timed_speed *ret, sample *s, int i, const spec_timed_prediction *all)
{
    const spec_timed *timed = s->timed;
    const spec_timed_way *way = &timed->way[i];
    const double *sum = s->sum + spec_timed_column(i, 0), rounds = sum[SPEC_TIMED_ROUNDS];
    const double calls = sum[SPEC_TIMED_CALLS] / rounds, caught_up = sum[SPEC_TIMED_CAUGHT_UP] / rounds;
    const double calls_ahead = sum[SPEC_TIMED_CALLS_AHEAD] / rounds;
    const bool simple = fixed_length(timed) && is_chain(way);
    static const spec_block_interval none = {NAN, NAN, NAN, NAN};
    *ret = (spec_timed_speed){.way = way, .alpha_tested = passed_over_tested(timed, i, i), .hit = none,
                              .hit_predicted = NAN, .gain = none, .gain_predicted = NAN, .gain_costed = NAN};
    ret->tokens_per_round =
        per(s, spec_timed_column(i, SPEC_TIMED_ALL_TOKENS), spec_timed_column(i, SPEC_TIMED_ALL_ROUNDS));
    ret->speedup = speed_ratio(s, i, 0);
    const double alpha = way->K > 0 ? all->alpha : 0.0; /* of no matter at K = 0 */
    ret->tokens_theorem = simple ? spec_capped_geometric_mean(alpha, way->K) : NAN;
    ret->speedup_theorem = simple ? spec_speedup(alpha, way->K, all->c.value) : NAN;
    ret->tokens_by_depth = mean_by_depth(timed, i);
    ret->beta_z = spec_z((double)way->accepted, way->chances, sqrt(way->variance));

    ret->tokens = sum[SPEC_TIMED_TOKENS] / rounds;
    ret->round = (spec_phases){.draft = sum[SPEC_TIMED_DRAFT] / rounds,
                               .score = sum[SPEC_TIMED_VERIFY] / rounds,
                               .ahead = sum[SPEC_TIMED_AHEAD] / rounds,
                               .handed = sum[SPEC_TIMED_HANDED] / rounds,
                               .rule = sum[SPEC_TIMED_RULE] / rounds};
    ret->round.rest = fmax(0.0, sum[SPEC_TIMED_SECONDS] / rounds - ret->round.draft - ret->round.score -
                                    ret->round.ahead - ret->round.rule);
    const double drafting = ret->round.draft + ret->round.ahead;
    ret->c_in_run = calls > 0.0 ? drafting / (calls + calls_ahead) / all->plain.value : NAN;

    const spec_cost_curve target = {s->n_widths, s->width, s->mean_target};
    const spec_cost_curve draft = {s->n_widths, s->width, s->mean_draft};
    ret->verify_costed = spec_cost_curve_mean(&target, way->width, way->widest);
    ret->handed = fmin(1.0, ret->round.handed / ret->verify_costed);
    ret->draft_costed = 0.0;
    if (calls > 0.0) {
        const double one = spec_cost_curve_time(&draft, 1.0), two = spec_cost_curve_time(&draft, 2.0);
        ret->draft_costed = calls * (one + all->pick) + caught_up * (two - one);
        ret->ahead_costed = calls_ahead * (one + all->pick);
    }
    ret->verify_costed = both(ret, ret->verify_costed, ret->ahead_costed) - ret->ahead_costed;
    if (way->ahead) predict_ahead(ret, s, i, all, simple);
    ret->speedup_costed = spec_speedup_of_round(ret->tokens_by_depth, all->plain.value, ret->draft_costed,
                                                ret->ahead_costed + ret->verify_costed,
                                                ret->round.rule + ret->round.rest);
    if (way->ahead) ret->gain_costed = ret->speedup_costed / all->speed[beforehand(timed, i) - 1].speedup_costed;
    explain(ret, all);
}

static void find_best(spec_timed_prediction *p, sample *s)
{
    p->best = p->best_theorem = p->best_costed = -1;
    for (int i = 0; i < p->n_speeds; i++) {
        const spec_timed_speed *speed = p->speed;
        if (speed[i].speedup.value > (p->best < 0 ? 0.0 : speed[p->best].speedup.value)) p->best = i;
        if (speed[i].speedup_theorem > (p->best_theorem < 0 ? 0.0 : speed[p->best_theorem].speedup_theorem))
            p->best_theorem = i;
        if (speed[i].speedup_costed > (p->best_costed < 0 ? 0.0 : speed[p->best_costed].speedup_costed))
            p->best_costed = i;
    }
    for (int i = 0; i < p->n_speeds && p->best >= 0; i++)
        p->speed[i].alike = i == p->best || !(speed_ratio(s, i + 1, p->best + 1).high < 1.0);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void predict_passes(spec_timed_prediction *p, sample *s)
{
    const spec_timed *timed = s->timed;
    const double text = spec_timed_prompts_mean(timed->plan.prompts) + 0.5 * timed->plan.tokens;
    for (int i = 0; i < timed->plan.n_widths; i++) {
        const int target = timed->first_target + 2 * i, draft = timed->first_draft + 2 * i;
        if (s->sum[target] == 0.0) continue; /* no text was long enough */
        spec_timed_pass *pass = &p->pass[p->n_passes];
        s->width[p->n_passes] = pass->width = timed->plan.width[i];
        s->mean_target[p->n_passes] = pass->target = s->sum[target + 1] / s->sum[target];
        s->mean_draft[p->n_passes] = pass->draft = s->sum[draft + 1] / s->sum[draft];
        pass->target_limit = spec_timed_limit_seconds(&timed->target_limit, pass->width, text);
        pass->draft_limit = spec_timed_limit_seconds(&timed->draft_limit, pass->width, text);
        pass->target_ratio = pass_ratio(s, target, timed->first_target);
        pass->draft_ratio = pass_ratio(s, draft, timed->first_draft);
        s->n_widths = ++p->n_passes;
    }
}

int spec_timed_predict(spec_timed_prediction *ret, const spec_timed *timed, double error, int resamples,
                       spec_error *message)
{
    sample s = {.timed = timed, .resamples = resamples, .error = error};
    int status = GSL_SUCCESS;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    *ret = (spec_timed_prediction){.n_speeds = timed->n_ways - 1};
    s.sum = malloc(((size_t)resamples + 1) * (size_t)timed->n_columns * sizeof *s.sum);
    s.value = malloc(((size_t)resamples + 1) * sizeof *s.value);
    if (s.sum == NULL || s.value == NULL || rng == NULL)
        SPEC_TRY(spec_fail(message, GSL_ENOMEM, "out of memory for %d resamples", resamples));
    spec_rng_stream(rng, spec_rng_named_seed(timed->plan.seed, "bench bootstrap"), 0);
    spec_block_bootstrap_sums(s.sum, timed->block, timed->n_blocks, timed->n_columns, resamples, rng);

    const bool has_draft = timed->plan.decoder.opt_draft != NULL;
    ret->alpha = passed_over_tested(timed, 1, timed->n_ways - 1);
    ret->guess = right_over_tested(timed);
    ret->c = has_draft ? pass_ratio(&s, timed->first_draft, timed->first_target) : (spec_block_interval){0};
    ret->plain = per(&s, spec_timed_column(0, SPEC_TIMED_SECONDS), spec_timed_column(0, SPEC_TIMED_TOKENS));
    ret->pick = s.sum[timed->pick + 1] / s.sum[timed->pick];
    predict_passes(ret, &s);
    for (int i = 0; i < ret->n_speeds; i++) predict_speed(&ret->speed[i], &s, i + 1, ret);
    find_best(ret, &s);
done:
    free(s.sum);
    free(s.value);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}
