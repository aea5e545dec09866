/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/drive_numbers.h"

#include "analysis/alpha.h"
#include "analysis/capped_geometric.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double interval_error = 0.05;

spec_block_interval spec_drive_interval(const double *logs, int n, double error)
{
    spec_block_interval ret = {NAN, NAN, NAN, NAN};
    double mean = 0.0, squares = 0.0;
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(logs[i])) continue;
        const double step = logs[i] - mean;
        mean += step / ++kept;
        squares += step * (logs[i] - mean);
    }
    if (kept == 0) return ret;
    ret.value = exp(mean);
    if (kept < 2) return ret;
    ret.se = sqrt(squares / (kept - 1) / kept);
    const double half = gsl_cdf_tdist_Qinv(error / 2.0, kept - 1) * ret.se;
    ret.low = exp(mean - half);
    ret.high = exp(mean + half);
    return ret;
}

/* ---- one length ------------------------------------------------------------------------------ */

typedef struct {
    const spec_drive_result *result;
    const spec_drive_plan *plan;
    const bool *opt_prompts; /* the prompts of the category */
} question;

static bool chosen(const question *q, const spec_drive_request *r)
{
    return q->opt_prompts == NULL || q->opt_prompts[r->prompt];
}

static double passes_of(const spec_drive_sums *sums)
{
    return sums->rounds > 0.0 ? sums->rounds : sums->tokens - sums->accepted;
}

static spec_drive_quantiles quantiles_of(double *x, size_t n)
{
    gsl_sort(x, 1, n);
    return (spec_drive_quantiles){n > 0 ? gsl_stats_quantile_from_sorted_data(x, 1, n, 0.5) : NAN,
                                  n >= 10 ? gsl_stats_quantile_from_sorted_data(x, 1, n, 0.9) : NAN,
                                  n >= 100 ? gsl_stats_quantile_from_sorted_data(x, 1, n, 0.99)
                                           : NAN};
}

/* Fills in the quantiles over all requests of the row. */
static int fill_quantiles(spec_drive_row *row, const question *q)
{
    const spec_drive_blocks *blocks = &q->result->blocks;
    double *x = malloc((3 * (size_t)row->requests + 1) * sizeof *x);
    if (x == NULL) return GSL_ENOMEM;
    size_t n = 0, n_tokens = 0;
    double *ttft = x, *latency = x + row->requests, *token = x + 2 * row->requests;
    for (int i = 0; i < blocks->n; i++) {
        const spec_drive_block *b = &blocks->block[i];
        if (b->K != row->K || b->concurrency != row->concurrency) continue;
        for (int k = 0; k < b->n; k++) {
            const spec_drive_request *r = &b->request[k];
            if (!chosen(q, r)) continue;
            if (r->tokens > r->first) token[n_tokens++] = r->decode / (r->tokens - r->first);
            if (isnan(r->ttft)) continue;
            ttft[n] = r->ttft;
            latency[n++] = r->latency;
        }
    }
    row->ttft = quantiles_of(ttft, n);
    row->latency = quantiles_of(latency, n);
    row->token = quantiles_of(token, n_tokens);
    free(x);
    return GSL_SUCCESS;
}

static double log_tpot(const spec_drive_block *block, const bool *opt_prompts)
{
    if (block == NULL) return NAN;
    const spec_drive_sums sums = spec_drive_block_sums(block, opt_prompts);
    return sums.seconds > 0.0 && sums.tokens > 0.0 ? log(sums.seconds / sums.tokens) : NAN;
}

static double log_rate(const spec_drive_block *block)
{
    return block != NULL && block->tokens > 0.0 && block->seconds > 0.0
               ? log(block->tokens / block->seconds)
               : NAN;
}

/* Compares the first block of K = 0 with the last one. */
static double drift_of(const spec_drive_row *row, const question *q)
{
    const spec_drive_blocks *blocks = &q->result->blocks;
    double first = NAN, last = NAN;
    for (int i = 0; i < blocks->n; i++) {
        const spec_drive_block *b = &blocks->block[i];
        if (b->K != 0 || b->concurrency != row->concurrency) continue;
        last = log_tpot(b, q->opt_prompts);
        if (b->pass == 0) first = last;
    }
    return row->passes > 1 ? expm1(last - first) : NAN;
}

static void fill_speeds(spec_drive_row *row, const question *q)
{
    double tpot[SPEC_DRIVE_PASSES + 1], rate[SPEC_DRIVE_PASSES + 1], speedup[SPEC_DRIVE_PASSES + 1],
        gain[SPEC_DRIVE_PASSES + 1];
    const bool all = q->opt_prompts == NULL;
    const int n = q->plan->passes + 1;
    for (int p = 0; p < n; p++) {
        const spec_drive_block *b = spec_drive_blocks_find(&q->result->blocks, row->K,
                                                           row->concurrency, p),
                               *plain = spec_drive_blocks_find(&q->result->blocks, 0,
                                                               row->concurrency, p);
        tpot[p] = log_tpot(b, q->opt_prompts);
        speedup[p] = log_tpot(plain, q->opt_prompts) - tpot[p];
        rate[p] = all ? log_rate(b) : NAN;
        gain[p] = all ? rate[p] - log_rate(plain) : NAN;
    }
    row->tpot = spec_drive_interval(tpot, n, interval_error);
    row->tokens_per_s = spec_drive_interval(rate, n, interval_error);
    row->speedup = spec_drive_interval(speedup, n, interval_error);
    row->tokens_gain = spec_drive_interval(gain, n, interval_error);
}

/* Fills in the numbers that need no other row. */
static int fill_row(spec_drive_row *row, const question *q)
{
    const spec_drive_blocks *blocks = &q->result->blocks;
    double passes = 0.0;
    row->drafted = row->accepted = 0.0;
    for (int i = 0; i < blocks->n; i++) {
        const spec_drive_block *b = &blocks->block[i];
        if (b->K != row->K || b->concurrency != row->concurrency) continue;
        const spec_drive_sums sums = spec_drive_block_sums(b, q->opt_prompts);
        row->passes++;
        row->refused += b->refused;
        row->drafted += sums.drafted;
        row->accepted += sums.accepted;
        passes += passes_of(&sums);
        for (int k = 0; k < b->n; k++) {
            if (!chosen(q, &b->request[k])) continue;
            row->requests++;
            row->tokens += b->request[k].tokens;
        }
    }
    row->tokens_per_round = row->K == 0 ? 1.0 : 1.0 + row->accepted / passes;
    row->alpha = (spec_cluster_ratio){NAN, NAN, NAN, NAN, NAN, NAN};
    row->predicted = row->perfect = row->fitted = row->drift = NAN;
    fill_speeds(row, q);
    row->round = row->tpot.value * row->tokens_per_round;
    if (row->K == 0) row->drift = drift_of(row, q);
    return fill_quantiles(row, q);
}

/* ---- the advice ------------------------------------------------------------------------------ */

static spec_observation window_of(const spec_drive_block *b, const spec_drive_sums *sums)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 0);
    o.emitted = sums->tokens;
    o.busy = sums->seconds;
    o.seconds = sums->seconds / b->concurrency;
    if (b->K == 0) {
        spec_observation_decode_plainly(&o, sums->tokens);
        return o;
    }
    o.rounds = o.rounds_low = o.rounds_high = o.passes = sums->rounds;
    o.drafted = sums->drafted;
    o.accepted = sums->accepted;
    o.depths = b->counts.depths;
    memcpy(o.passed, b->counts.passed, sizeof o.passed);
    return o;
}

/* Returns how many tokens the last round of a text accepts on average beyond the end of the text,
 * which no count shows. If rounds emit X tokens, this is the mean overshoot of a renewal process
 * with steps X beyond a distant point,
 *
 *     E[X (X - 1)] / (2 E[X]) = (alpha + 2 alpha^2 + ... + K alpha^K) / (1 + alpha + ... + alpha^K)
 *
 * at the alpha of this text. It exceeds (E[X] - 1)/2 because a long step is more likely to be the
 * one that crosses the point. */
static double cut_off(double accepted, double rounds, int K)
{
    const double alpha = spec_alpha_from_emitted(1.0 + fmin(accepted / rounds, K), K);
    double power = 1.0, above = 0.0, below = 1.0;
    for (int j = 1; j <= K; j++) {
        power *= alpha;
        above += j * power;
        below += power;
    }
    return above / below;
}

/* Returns the observation of a text. Its first token comes from the pass over the prompt. Only
 * rounds with a draft tell us about acceptance. If the response does not count rounds, we know that
 * every later token that is not an accepted draft token took a pass. If all of these passes except
 * one can have had K draft tokens, there were drafted / K rounds, and the remaining pass ended the
 * text with a plain token. Tokens accepted after the end of the output may be counted. */
static spec_observation request_of(const spec_drive_block *b, const spec_drive_request *r, int most)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, 0);
    o.emitted = r->tokens - r->first;
    o.seconds = r->decode;
    if (b->K == 0) {
        spec_observation_decode_plainly(&o, o.emitted);
        return o;
    }
    o.accepted = r->accepted;
    o.drafted = r->drafted;
    if (r->rounds > 0.0) {
        o.rounds = o.rounds_low = o.rounds_high = o.passes = r->rounds;
        if (isnan(o.drafted)) o.drafted = fmax(b->K * r->rounds, r->accepted);
        if (r->tokens == most)
            o.accepted = fmin(o.accepted + cut_off(r->accepted, r->rounds, b->K), o.drafted);
        return o;
    }
    const double passes = r->tokens - 1.0 - r->accepted, rounds = ceil(o.drafted / b->K);
    o.passes = passes <= rounds + 1.0 ? rounds : passes;
    return o;
}

static int observe(spec_observed_sums *sums, const spec_drive_block *b, int most, spec_error *error)
{
    const spec_observer to = spec_observed_sums_observer(sums);
    const spec_drive_sums block = spec_drive_block_sums(b, NULL);
    for (int i = 0; i < (b->counted ? 1 : b->n); i++) {
        spec_observation o =
            b->counted ? window_of(b, &block) : request_of(b, &b->request[i], most);
        if (!(o.emitted > 0.0)) continue;
        o.K = b->K;
        o.running = b->concurrency;
        SPEC_PASS(to.take(to.self, &o, error));
    }
    return GSL_SUCCESS;
}

static bool was_run(const spec_drive_result *result, int K, int concurrency)
{
    return spec_drive_blocks_find(&result->blocks, K, concurrency, 0) != NULL;
}

/* Returns how much a length may lose to the fastest other one, judging from the passes alone: the
 * largest upper end of another length's speed divided by its own, minus 1. */
static double loss_by_passes(const question *q, int K, int concurrency)
{
    double loss = 0.0;
    for (int i = 0; i < q->plan->n_K; i++) {
        double logs[SPEC_DRIVE_PASSES + 1];
        if (q->plan->K[i] == K || !was_run(q->result, q->plan->K[i], concurrency)) continue;
        for (int p = 0; p <= q->plan->passes; p++)
            logs[p] =
                log_tpot(spec_drive_blocks_find(&q->result->blocks, K, concurrency, p), NULL) -
                log_tpot(spec_drive_blocks_find(&q->result->blocks, q->plan->K[i], concurrency, p),
                         NULL);
        const spec_block_interval other =
            spec_drive_interval(logs, q->plan->passes + 1, interval_error);
        if (isnan(other.high)) return NAN;
        loss = fmax(loss, 1.0 - 1.0 / other.high);
    }
    return loss;
}

static int advise(spec_drive_level *level, const question *q, spec_error *error)
{
    const spec_drive_plan *plan = q->plan;
    spec_advice_question asked = SPEC_ADVICE_QUESTION;
    asked.seed = plan->seed;
    asked.error = interval_error;
    level->advice = malloc(sizeof *level->advice);
    level->choice = malloc(sizeof *level->choice);
    if (level->advice == NULL || level->choice == NULL) return spec_no_memory(error);
    for (int i = 0; i < q->result->blocks.n; i++)
        if (q->result->blocks.block[i].concurrency == level->concurrency)
            SPEC_PASS(
                observe(&level->sums, &q->result->blocks.block[i], plan->sampling.tokens, error));
    SPEC_PASS(spec_advice_of(level->advice, &level->sums, NULL, &asked, error));
    asked.K_low = 0;
    asked.K_high = plan->K[plan->n_K - 1];
    for (int K = 0; K < SPEC_ADVICE_K; K++)
        asked.without[K] = !was_run(q->result, K, level->concurrency);
    SPEC_PASS(spec_advice_of(level->choice, &level->sums, NULL, &asked, error));
    const spec_advice *choice = level->choice;
    const double loss = loss_by_passes(q, choice->to_K, level->concurrency);
    level->certain = choice->verdict != SPEC_ADVICE_MEASURE &&
                     choice->verdict != SPEC_ADVICE_NOTHING && loss <= SPEC_ADVICE_TOLERANCE;
    level->loss = isnan(loss) ? NAN : fmax(loss, choice->loss);
    return GSL_SUCCESS;
}

/* ---- a concurrency --------------------------------------------------------------------------- */

/* Fits the line through the round times of K >= 1, with equal relative errors. */
static void fit_rounds(spec_drive_level *level, const spec_drive_row *row, int n)
{
    double K[SPEC_DRIVE_K], time[SPEC_DRIVE_K], weight[SPEC_DRIVE_K], cov[3], chisq;
    size_t points = 0;
    level->a = level->b = NAN;
    for (int i = 0; i < n; i++) {
        if (row[i].K == 0 || !(row[i].round > 0.0)) continue;
        K[points] = row[i].K;
        time[points] = row[i].round;
        weight[points++] = 1.0 / (row[i].round * row[i].round);
    }
    if (points < 2) return;
    gsl_fit_wlinear(K, 1, weight, 1, time, 1, points, &level->a, &level->b, &cov[0], &cov[1],
                    &cov[2], &chisq);
}

/* Fills in the numbers that are computed from all rows of a concurrency. */
static void predict(spec_drive_row *row, int n, const spec_drive_level *level)
{
    const double plain = row[0].tpot.value;
    for (int i = 1; i < n; i++) {
        const spec_advice_length *length = spec_advice_length_of(level->advice, row[i].K);
        if (length != NULL) row[i].alpha = length->alpha;
        row[i].fitted = level->a + level->b * row[i].K;
        row[i].perfect = (row[i].K + 1) * plain / row[i].round;
        row[i].predicted = spec_capped_geometric_mean(level->advice->alpha.value, row[i].K) *
                           plain / row[i].fitted;
    }
}

/* Adds the rows of a concurrency, K = 0 first. Returns GSL_ENOMEM. */
static int add_rows(spec_drive_numbers *numbers, int concurrency, const char *category,
                    const question *q)
{
    for (int i = 0; i < q->plan->n_K; i++) {
        if (!was_run(q->result, q->plan->K[i], concurrency)) continue;
        spec_drive_row *row = &numbers->row[numbers->n_rows++];
        *row =
            (spec_drive_row){.K = q->plan->K[i], .concurrency = concurrency, .category = category};
        SPEC_PASS(fill_row(row, q));
    }
    return GSL_SUCCESS;
}

static int add_level(spec_drive_numbers *numbers, int concurrency, const question *q,
                     spec_error *error)
{
    const int from = numbers->n_rows;
    if (!was_run(q->result, 0, concurrency)) return GSL_SUCCESS;
    if (add_rows(numbers, concurrency, "", q) != GSL_SUCCESS) return spec_no_memory(error);
    if (numbers->n_rows < from + 2) return GSL_SUCCESS;
    spec_drive_level *level = &numbers->level[numbers->n_levels++];
    level->concurrency = concurrency;
    SPEC_PASS(advise(level, q, error));
    fit_rounds(level, numbers->row + from, numbers->n_rows - from);
    predict(numbers->row + from, numbers->n_rows - from, level);
    return GSL_SUCCESS;
}

/* ---- all ------------------------------------------------------------------------------------- */

enum { CATEGORIES = 64 };

/* Lists the categories of the prompts in their order. Returns 0 if all prompts have the same one.
 */
static int list_categories(const char *name[CATEGORIES], const json_t *prompts)
{
    bool without = false;
    int n = 0;
    for (int i = 0; i < (int)json_array_size(prompts); i++) {
        const char *category = spec_drive_category(prompts, i);
        int k = 0;
        while (k < n && strcmp(name[k], category) != 0) k++;
        if (*category == '\0')
            without = true;
        else if (k == n && n < CATEGORIES)
            name[n++] = category;
    }
    return n > 1 || without ? n : 0;
}

static int add_category(spec_drive_numbers *numbers, const char *category, question *q)
{
    const int n = (int)json_array_size(q->result->prompts);
    bool *prompts = malloc(((size_t)n + 1) * sizeof *prompts);
    int status = prompts == NULL ? GSL_ENOMEM : GSL_SUCCESS;
    for (int i = 0; i < n && prompts != NULL; i++)
        prompts[i] = strcmp(spec_drive_category(q->result->prompts, i), category) == 0;
    q->opt_prompts = prompts;
    for (int i = 0; i < q->plan->n_levels && status == GSL_SUCCESS; i++) {
        const int from = numbers->n_rows;
        if (!was_run(q->result, 0, q->plan->level[i])) continue;
        status = add_rows(numbers, q->plan->level[i], category, q);
        for (int k = from + 1; k < numbers->n_rows; k++)
            numbers->row[k].perfect =
                (numbers->row[k].K + 1) * numbers->row[from].tpot.value / numbers->row[k].round;
    }
    free(prompts);
    return status;
}

int spec_drive_numbers_init(spec_drive_numbers *numbers, const spec_drive_result *result,
                            const spec_drive_plan *plan, spec_error *error)
{
    question q = {.result = result, .plan = plan};
    const char *category[CATEGORIES];
    const int n = list_categories(category, result->prompts);
    int status = GSL_SUCCESS;
    *numbers = (spec_drive_numbers){.n_categories = n};
    numbers->row = calloc((size_t)(plan->n_K * plan->n_levels * (n + 1)), sizeof *numbers->row);
    numbers->level = calloc((size_t)plan->n_levels, sizeof *numbers->level);
    if (numbers->row == NULL || numbers->level == NULL) SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < plan->n_levels; i++)
        SPEC_TRY(add_level(numbers, plan->level[i], &q, error));
    for (int i = 0; i < n; i++)
        if (add_category(numbers, category[i], &q) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
done:
    return status;
}

void spec_drive_numbers_free(spec_drive_numbers *numbers)
{
    for (int i = 0; i < numbers->n_levels; i++) {
        spec_observed_sums_free(&numbers->level[i].sums);
        free(numbers->level[i].advice);
        free(numbers->level[i].choice);
    }
    free(numbers->level);
    free(numbers->row);
    *numbers = (spec_drive_numbers){.row = NULL};
}
