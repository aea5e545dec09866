/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/pair/pair_numbers.h"

#include "analysis/statistics/bounded_ratio.h"
#include "sim/chance/rng.h"
#include "sim/draft/drafter.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* The number of resamples; and the number of rounds that must reach a draft token before its
 * acceptance gets an interval. With fewer rounds a few positions decide, and only 81 % of intervals
 * contained the truth. */
enum { RESAMPLES = 1000, REACHED = 30 };

typedef struct {
    spec_pair_numbers *numbers;
    const spec_pair_run *run;
    const spec_pair_costs *costs;
    double error;
    double *passed, *tested;    /* (n_texts) a ratio's sums */
    double *sum;                /* (RESAMPLES+1, n_columns) */
    double *value;              /* (rows of all texts, RESAMPLES+1) the speed-ups */
    double *work;               /* (rows of all texts + 2, RESAMPLES+1) */
    spec_block_interval *joint; /* (rows of all texts) */
    bool *largest;              /* (rows of all texts) */
} workings;

/* ---- ratios over texts ----------------------------------------------------------------------- */

static spec_cluster_ratio ratio(workings *w, int category, int passed, int tested, int proportion)
{
    const spec_pair_run *run = w->run;
    size_t n = 0;
    for (int i = 0; i < run->plan.n_texts; i++) {
        const double *block = run->block + (size_t)i * (size_t)run->n_columns;
        if (category >= 0 && run->plan.text[i].category != category) continue;
        w->passed[n] = block[passed];
        w->tested[n++] = block[tested];
    }
    return spec_cluster_ratio_of(w->passed, w->tested, n, proportion, w->error);
}

/* Returns the sum of what the last ratio tested. */
static double tested_sum(const workings *w, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += w->tested[i];
    return sum;
}

static void fill_row(workings *w, spec_pair_row *row, int category, int draft, int K)
{
    const spec_pair_run *run = w->run;
    const int sums = spec_pair_run_sums(run, draft);
    *row = (spec_pair_row){.category = category, .draft = draft, .K = K};
    for (int i = 0; i < run->plan.n_texts; i++) {
        if (category >= 0 && run->plan.text[i].category != category) continue;
        row->texts++;
        row->positions += run->block[(size_t)i * (size_t)run->n_columns];
    }
    row->alpha = ratio(w, category, sums, 0, 1);
    row->agreement = ratio(w, category, sums + 1, 0, 1);
    row->conditional = ratio(w, category, spec_pair_run_array(run, draft, SPEC_PAIR_PASSED) + K - 1,
                             spec_pair_run_array(run, draft, SPEC_PAIR_CAME) + K - 1, 1);
    if (tested_sum(w, row->texts) < REACHED) row->conditional.low = row->conditional.high = NAN;
    row->tokens_per_round =
        ratio(w, category, spec_pair_run_array(run, draft, SPEC_PAIR_EMITTED) + K - 1,
              spec_pair_run_array(run, draft, SPEC_PAIR_ROUNDS) + K - 1, 0);
}

/* Returns by how many standard errors the log losses of given texts exceed the entropies. */
static double foreign_z(const spec_pair_run *run)
{
    double excess = 0.0, variance = 0.0;
    for (int i = 0; i < run->plan.n_texts; i++) {
        const spec_pair_head *head =
            (const spec_pair_head *)(run->block + (size_t)i * (size_t)run->n_columns);
        excess += head->excess;
        variance += head->variance;
    }
    return variance > 0.0 ? excess / sqrt(variance) : 0.0;
}

/* ---- speed-ups ------------------------------------------------------------------------------- */

/* Returns the time of a draft's pass, in passes of the target. */
static double draft_pass(const workings *w, const double *sum, int draft)
{
    if (w->costs->opt_c != NULL) return w->costs->opt_c[draft];
    const int plain = spec_pair_run_pass(1);
    const spec_pair_sums *own = (const spec_pair_sums *)(sum + spec_pair_run_sums(w->run, draft));
    return own->seconds / own->passes * sum[plain] / sum[plain + 1];
}

/* Returns the time of a pass of the target, in passes of one token. */
static double target_pass(const workings *w, const double *sum, int width)
{
    const spec_pass_costs *passes = w->costs->opt_passes;
    if (w->costs->opt_c == NULL) {
        const int own = spec_pair_run_pass(width), plain = spec_pair_run_pass(1);
        return sum[own + 1] / sum[own] * sum[plain] / sum[plain + 1];
    }
    return passes != NULL && passes->n > 0 ? spec_pass_costs_time(passes, width) : 1.0;
}

/* Returns the time of a plain token divided by that of a round, with the times in `sum`. */
static double pace(const workings *w, const double *sum, int draft, int K)
{
    const int calls = spec_drafter_calls(w->run->plan.draft[draft], K);
    return 1.0 / (calls * draft_pass(w, sum, draft) + target_pass(w, sum, K + 1));
}

/* Returns whether a round takes less time than a plain token by more than noise explains, which is
 * impossible.
 */
static bool is_impossible(workings *w, const spec_pair_row *row)
{
    spec_block_interval surely;
    double *own = w->work + 2 * (RESAMPLES + 1);
    for (size_t r = 0; r <= RESAMPLES; r++)
        own[r] = pace(w, w->sum + r * (size_t)w->run->n_columns, row->draft, row->K);
    spec_block_bootstrap_joint(&surely, own, 1, RESAMPLES, w->run->plan.n_texts,
                               2.0 * SPEC_RATIO_IMPOSSIBLE_ERROR, w->work);
    return surely.low > 1.0;
}

/* Withholds numbers that a busy machine made unreliable: docs/formulas/costs.md#feasible. Rows of
 * the values that are withheld become NaN. */
static void withhold(workings *w, int n)
{
    for (int i = 0; i < n; i++) {
        spec_pair_row *row = &w->numbers->row[i];
        const spec_cluster_ratio *most = &row->tokens_per_round;
        spec_bounded_ratio(&row->speedup, is_impossible(w, row), 0.0, most->value,
                           isnan(most->high) ? most->value : most->high);
        for (int r = 0; r <= RESAMPLES && isnan(row->speedup.value); r++)
            w->value[(size_t)i * (RESAMPLES + 1) + (size_t)r] = NAN;
    }
}

static void find_speedups(workings *w, int n)
{
    const spec_pair_run *run = w->run;
    const size_t columns = (size_t)run->n_columns;
    for (int i = 0; i < n; i++) {
        const spec_pair_row *row = &w->numbers->row[i];
        const int rounds = spec_pair_run_array(run, row->draft, SPEC_PAIR_ROUNDS) + row->K - 1,
                  emitted = spec_pair_run_array(run, row->draft, SPEC_PAIR_EMITTED) + row->K - 1;
        for (size_t r = 0; r <= RESAMPLES; r++) {
            const double *sum = w->sum + r * columns;
            w->value[(size_t)i * (RESAMPLES + 1) + r] =
                sum[emitted] / sum[rounds] * pace(w, sum, row->draft, row->K);
        }
    }
    spec_block_bootstrap_joint(w->joint, w->value, n, RESAMPLES, run->plan.n_texts, w->error,
                               w->work);
    for (int i = 0; i < n; i++) w->numbers->row[i].speedup = w->joint[i];
    if (w->costs->opt_c == NULL) withhold(w, n);
    spec_block_bootstrap_largest(w->largest, w->value, n, RESAMPLES, run->plan.n_texts, w->error,
                                 w->joint, w->work);
    for (int i = 0; i < n; i++) w->numbers->row[i].alike = w->largest[i];
}

/* Gives a row of a category its speed-up, from the times over all texts, if the row of all texts
 * has one. */
static void scale(workings *w, spec_pair_row *row, const spec_pair_row *all)
{
    if (isnan(all->speedup.value)) return;
    const double factor = pace(w, w->sum, row->draft, row->K);
    const spec_cluster_ratio *mean = &row->tokens_per_round;
    row->speedup = (spec_block_interval){factor * mean->value, factor * mean->se,
                                         factor * mean->low, factor * mean->high};
}

/* Returns the number by which rows are ranked. */
static double rank_of(const spec_pair_row *row)
{
    return isnan(row->speedup.low) ? row->speedup.value : row->speedup.low;
}

const spec_pair_row *spec_pair_numbers_best(const spec_pair_numbers *numbers, int category,
                                            int draft)
{
    const spec_pair_row *best = NULL;
    for (int i = 0; i < numbers->n_rows; i++) {
        const spec_pair_row *row = &numbers->row[i];
        if (row->category != category || (draft >= 0 && row->draft != draft)) continue;
        if (isnan(row->speedup.value)) continue;
        if (best == NULL || rank_of(row) > rank_of(best)) best = row;
    }
    return best;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_c(workings *w)
{
    for (int d = 0; d < w->run->plan.n_drafts; d++) {
        for (size_t r = 0; r <= RESAMPLES; r++)
            w->value[r] = draft_pass(w, w->sum + r * (size_t)w->run->n_columns, d);
        w->numbers->c[d] =
            spec_block_bootstrap_interval(w->value, RESAMPLES, w->run->plan.n_texts, w->error);
    }
}

static int resample(workings *w, spec_error *message)
{
    const spec_pair_run *run = w->run;
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) return spec_no_memory(message);
    spec_rng_stream(rng, spec_rng_named_seed(run->plan.seed, "pair bootstrap"), 0);
    spec_block_bootstrap_sums(w->sum, run->block, run->plan.n_texts, run->n_columns, RESAMPLES,
                              rng);
    gsl_rng_free(rng);
    return GSL_SUCCESS;
}

static int allocate(workings *w, int n, spec_error *message)
{
    const size_t resamples = RESAMPLES + 1, texts = (size_t)w->run->plan.n_texts;
    const int categories = w->run->plan.n_categories;
    w->numbers->row = calloc((size_t)n * (size_t)(1 + categories), sizeof *w->numbers->row);
    w->passed = malloc(texts * sizeof *w->passed);
    w->tested = malloc(texts * sizeof *w->tested);
    w->sum = malloc(resamples * (size_t)w->run->n_columns * sizeof *w->sum);
    w->value = malloc((size_t)n * resamples * sizeof *w->value);
    w->work = malloc((size_t)(n + 2) * resamples * sizeof *w->work);
    w->joint = malloc((size_t)n * sizeof *w->joint);
    w->largest = malloc((size_t)n * sizeof *w->largest);
    return w->numbers->row != NULL && w->passed != NULL && w->tested != NULL && w->sum != NULL &&
                   w->value != NULL && w->work != NULL && w->joint != NULL && w->largest != NULL
               ? GSL_SUCCESS
               : spec_no_memory(message);
}

int spec_pair_numbers_init(spec_pair_numbers *numbers, const spec_pair_run *run,
                           const spec_pair_costs *costs, double error, spec_error *message)
{
    int status = GSL_SUCCESS, n = 0;
    const spec_pair_plan *plan = &run->plan;
    const bool timed = costs->opt_c != NULL || plan->clock.seconds != NULL;
    *numbers = (spec_pair_numbers){.run = run};
    workings w = {.numbers = numbers, .run = run, .costs = costs, .error = error};
    for (int d = 0; d < plan->n_drafts; d++) n += run->K[d];
    SPEC_TRY(allocate(&w, n, message));
    numbers->foreign_z = foreign_z(run);
    for (int category = -1; category < plan->n_categories; category++)
        for (int d = 0; d < plan->n_drafts; d++)
            for (int K = 1; K <= run->K[d]; K++)
                fill_row(&w, &numbers->row[numbers->n_rows++], category, d, K);
    for (int i = 0; i < numbers->n_rows; i++)
        numbers->row[i].speedup = (spec_block_interval){NAN, NAN, NAN, NAN};
    if (!timed) goto done;
    SPEC_TRY(resample(&w, message));
    find_c(&w);
    find_speedups(&w, n);
    for (int i = n; i < numbers->n_rows; i++) scale(&w, &numbers->row[i], &numbers->row[i % n]);
    for (int i = 0; i < numbers->n_rows; i++)
        numbers->row[i].best =
            &numbers->row[i] == spec_pair_numbers_best(numbers, numbers->row[i].category, -1);
done:
    free(w.passed);
    free(w.tested);
    free(w.sum);
    free(w.value);
    free(w.work);
    free(w.joint);
    free(w.largest);
    return status;
}

void spec_pair_numbers_free(spec_pair_numbers *numbers)
{
    free(numbers->row);
    *numbers = (spec_pair_numbers){.row = NULL};
}
