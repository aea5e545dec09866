/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"
#include "tools/serve/cost_range.h"
#include "tools/serve/serving_rows.h"

#include "analysis/statistics/moments.h"
#include "sim/chance/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics of sums ---------------------------------------------------------------------- */

/* Fills the columns of an estimate. UNIT is 1000 for ms. */
#define STATISTIC(name, value)                                                                     \
    static double name(const void *self, const spec_serving_sums *sums)                            \
    {                                                                                              \
        (void)self;                                                                                \
        return value;                                                                              \
    }
STATISTIC(batch, sums->batch / (double)sums->steps)
STATISTIC(batch_var, sums->batch2 / (double)sums->steps - pow(sums->batch / (double)sums->steps, 2))
STATISTIC(step_ms, 1e3 * sums->step / (double)sums->steps)
STATISTIC(tokens_per_s, (double)sums->emitted / sums->seconds)
STATISTIC(tokens_per_round, (double)(sums->emitted - sums->first) / (double)sums->rounds)
STATISTIC(latency_ms, 1e3 * sums->latency / (double)sums->requests)
STATISTIC(wait_ms, 1e3 * sums->wait / (double)sums->requests)
STATISTIC(ttft_ms, 1e3 * sums->first_token / (double)sums->requests)
STATISTIC(tpot_ms, 1e3 * sums->per_token / (double)sums->longer)

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns whether a closed loop repeats itself, because all requests have the same number of
 * rounds. Then only its phase is random, and runs differ only in the requests under way at the
 * beginning and the end of the measured part. */
static bool is_periodic(const spec_serving_question *question, const spec_serving_way *way)
{
    bool certain = question->alpha == 0.0 || question->alpha == 1.0;
    if (question->process.kind == SPEC_PROCESS_RATES) {
        certain = true;
        for (int i = 0; i < way->K; i++)
            certain = certain && (question->chance[i] == 0.0f || question->chance[i] == 1.0f);
    }
    certain = certain || way->K == 0;
    return question->load == SPEC_SERVING_CLOSED && certain &&
           question->requests.output.kind == SPEC_LENGTH_NUMBER;
}

static void fill_estimates(spec_table *table, const spec_serving_row *row, bool periodic)
{
    const spec_serving_theory *theory = &row->theory;
    const struct {
        const char *column;
        spec_replications_statistic *statistic;
        double theory;
    } beside[] = {
        {"batch", batch, theory->batch},
        {"batch_var", batch_var, theory->batch_var},
        {"step_ms", step_ms, 1e3 * theory->step},
        {"tokens_per_s", tokens_per_s, theory->tokens_per_s},
        {"tokens_per_round", tokens_per_round, theory->tokens_per_round},
        {"latency_ms", latency_ms, 1e3 * theory->latency},
        {"wait_ms", wait_ms, 1e3 * theory->wait},
        {"ttft_ms", ttft_ms, 1e3 * theory->first_token},
    };
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        spec_estimate estimate = spec_replications_estimate(&row->runs, beside[i].statistic, NULL);
        if (periodic || estimate.se == 0.0) estimate.se = NAN; /* nothing is random: no z */
        spec_measures_beside_theory(table, beside[i].column, &estimate, beside[i].theory);
    }
    spec_table_number(table, "tpot_ms", spec_replications_estimate(&row->runs, tpot_ms, NULL).mean);
}

/* Returns the share of the cards' memory that weights and the KV caches of a mean batch need; NaN
 * if the cards are unknown. */
static double memory_share(const spec_serving_sums *all, const spec_serving_question *question)
{
    const spec_step_memory *bytes = &question->memory;
    const double kv = spec_requests_mean_context(&question->requests) *
                      (bytes->kv_token + (all->drafted > 0 ? bytes->draft_kv_token : 0.0));
    if (bytes->cards == 0.0) return NAN;
    return (bytes->weights + bytes->draft_weights + all->batch / (double)all->steps * kv) /
           bytes->cards;
}

static void fill_counts(spec_table *table, const spec_serving_row *row,
                        const spec_serving_question *question)
{
    spec_serving_sums all = {0};
    for (int i = 0; i < row->runs.n; i++) spec_serving_sums_merge(&all, &row->runs.run[i]);
    spec_table_integer(table, "requests", (long long)all.requests);
    spec_table_integer(table, "steps", (long long)all.steps);
    spec_table_integer(table, "preempted", (long long)all.preempted);
    if (question->plan.cache != SPEC_CACHE_FREE)
        spec_table_number(table, "draft_fed", (double)all.fed / (double)all.requests);
    if (question->plan.blocks > 0)
        spec_table_number(table, "blocks_used", (double)all.blocks_in_use / (double)all.steps);
    spec_table_number(table, "memory_share", memory_share(&all, question));
    spec_table_number(table, "slo_share", row->slo_share);
    spec_table_number(table, "slo_requests_per_s",
                      row->slo_share * (double)all.requests / all.seconds);
}

/* Fills in quantiles. Those of theory do not need the row to be simulated. */
static void fill_quantiles(spec_table *table, const spec_serving_row *row)
{
    const bool counts = spec_serving_row_counts(row);
    const struct {
        const char *name, *suffix;
        const double *quantile;
        double unit;
        const double *opt_theory;
    } of[] = {{"ttft", "_ms", row->first_token, 1e3, NULL},
              {"tpot", "_ms", row->per_token, 1e3, NULL},
              {"latency", "_ms", row->latency, 1e3, row->theory.latency_at},
              {"batch", "", row->batch, 1.0, row->theory.batch_at},
              {"step", "_ms", row->step, 1e3, row->theory.step_at}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        for (int q = 0; q < SPEC_SERVING_QUANTILES; q++) {
            char column[32], theory[48];
            snprintf(column, sizeof column, "%s_p%.0f%s", of[k].name,
                     100.0 * spec_serving_quantiles[q], of[k].suffix);
            if (counts) spec_table_number(table, column, of[k].unit * of[k].quantile[q]);
            if (of[k].opt_theory == NULL) continue;
            snprintf(theory, sizeof theory, "%s_theory", column);
            spec_table_number(table, theory, of[k].unit * of[k].opt_theory[q]);
        }
    spec_table_number(table, "latency_limit_ms", 1e3 * row->theory.latency_limit);
}

/* Lists the other K whose latency cannot be distinguished from the best one's: "1 3". */
static void fill_best(spec_table *table, const spec_serving_rows *rows,
                      const spec_serving_choices *choices)
{
    char text[8 * SPEC_SERVING_WAYS] = "";
    size_t used = 0;
    if (rows->best < 0) return;
    for (int i = 0; i < rows->n; i++)
        if (i != rows->best && choices->way[i].fixed && rows->row[i].paired.as_good)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? " " : "",
                                     choices->way[i].K);
    spec_table_integer(table, "best_K", choices->way[rows->best].K);
    spec_table_text(table, "as_good", text);
}

/* Fills in a row. plain_latency is the theoretical latency of plain decoding. */
static void fill_row(spec_table *table, const spec_serving_row *row,
                     const spec_serving_question *question, const spec_serving_way *way,
                     double plain_latency)
{
    char state[64];
    spec_table_text(table, "lengths", way->lengths);
    spec_table_integer(table, "K", way->K);
    spec_table_number(table, "rate", question->rate);
    spec_table_number(table, "load", row->load);
    spec_table_number(table, "capacity", row->capacity);
    spec_table_number(table, "capacity_most", row->theory.capacity_most);
    snprintf(state, sizeof state, "%s", spec_serving_state_names[row->state]);
    if (row->state == SPEC_SERVING_SHORT)
        snprintf(state, sizeof state, "%s: needs %" PRIu64 " requests",
                 spec_serving_state_names[row->state], question->enough);
    spec_table_text(table, "state", state);
    const bool periodic = is_periodic(question, way);
    spec_table_number(table, "drift_z", row->drift_z);
    fill_quantiles(table, row);
    if (!periodic) spec_table_number(table, "little_z", row->little_z);
    if (!spec_serving_row_counts(row)) {
        spec_table_number(table, "latency_ms_theory", 1e3 * row->theory.latency);
        spec_table_number(table, "speedup_theory", plain_latency / row->theory.latency);
        return;
    }
    fill_estimates(table, row, periodic);
    fill_counts(table, row, question);
    spec_estimate speedup = {row->paired.speedup.value, row->paired.speedup.se, row->runs.n - 1.0};
    if (!(speedup.se > 1e-12 * speedup.mean)) speedup.se = NAN;
    spec_measures_beside_theory(table, "speedup", &speedup, plain_latency / row->theory.latency);
    spec_table_number(table, "speedup_low", row->paired.speedup.low);
    spec_table_number(table, "speedup_high", row->paired.speedup.high);
}

/* Fills in the range that uncertain costs leave open, next to a row's result. */
static int fill_range(spec_table *table, const spec_serving_question *question,
                      const spec_serving_way *way, const spec_point *point,
                      const spec_measure *measure, spec_error *error)
{
    spec_cost_range range;
    const int status =
        spec_cost_range_fill(&range, question, way, spec_point_text(point, measure, "cost"),
                             spec_point_text(point, measure, "draft_cost"), error);
    if (status != GSL_SUCCESS) return status;
    spec_table_number(table, "latency_least_ms", 1e3 * range.latency_low);
    spec_table_number(table, "latency_most_ms", 1e3 * range.latency_high);
    spec_table_number(table, "speedup_least", range.speedup_low);
    spec_table_number(table, "speedup_most", range.speedup_high);
    return status;
}

/* ---- the measure ----------------------------------------------------------------------------- */

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    return spec_serving_choices_count(ret_rows, spec_point_text(point, measure, "K"),
                                      spec_point_text(point, measure, "lengths"), error);
}

/* Returns the seed. `rate` counts as a question, because a replayed trace has a column for it too,
 * but different rates should draw different numbers. */
static uint64_t seed_of(const spec_point *point, const spec_measure *measure)
{
    return spec_rng_named_seed(point->seed, spec_point_text(point, measure, "rate"));
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    bool first = true;
    spec_serving_question *question = calloc(1, sizeof *question);
    spec_serving_rows *rows = calloc(1, sizeof *rows);
    spec_point own = *point;
    if (question == NULL || rows == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_serving_question_init(question, point, measure, error));
    own.seed = seed_of(point, measure);
    SPEC_TRY(spec_serving_rows_run(rows, question, &own, error));
    for (int i = 0; i < rows->n; i++) {
        if (!question->choices.way[i].asked) continue;
        if (!first && spec_table_append(table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
        first = false;
        fill_row(table, &rows->row[i], question, &question->choices.way[i],
                 rows->row[question->choices.plain].theory.latency);
        fill_best(table, rows, &question->choices);
        if (spec_serving_row_counts(&rows->row[i]))
            SPEC_TRY(fill_range(table, question, &question->choices.way[i], point, measure, error));
    }
done:
    if (rows != NULL) spec_serving_rows_free(rows);
    if (question != NULL) spec_serving_question_free(question);
    free(rows);
    free(question);
    return status;
}

static const char *const columns[] = {"rate",
                                      "K",
                                      "lengths",
                                      "load",
                                      "latency_ms",
                                      "speedup",
                                      "speedup_low",
                                      "speedup_high",
                                      "best_K",
                                      "as_good",
                                      "state",
                                      "capacity",
                                      "capacity_most",
                                      "ttft_ms",
                                      "tpot_ms",
                                      "ttft_p50_ms",
                                      "ttft_p90_ms",
                                      "ttft_p99_ms",
                                      "tpot_p50_ms",
                                      "tpot_p90_ms",
                                      "tpot_p99_ms",
                                      "latency_p50_ms",
                                      "latency_p90_ms",
                                      "latency_p99_ms",
                                      "slo_share",
                                      "slo_requests_per_s",
                                      "batch",
                                      "batch_var",
                                      "batch_p50",
                                      "batch_p90",
                                      "batch_p99",
                                      "step_ms",
                                      "step_p50_ms",
                                      "step_p90_ms",
                                      "step_p99_ms",
                                      "tokens_per_s",
                                      "tokens_per_round",
                                      "wait_ms",
                                      "preempted",
                                      "blocks_used",
                                      "draft_fed",
                                      "memory_share",
                                      "requests",
                                      "steps",
                                      "speedup_se",
                                      "speedup_theory",
                                      "speedup_z",
                                      "latency_ms_se",
                                      "latency_ms_theory",
                                      "latency_ms_z",
                                      "latency_limit_ms",
                                      "latency_p50_ms_theory",
                                      "latency_p90_ms_theory",
                                      "latency_p99_ms_theory",
                                      "batch_se",
                                      "batch_theory",
                                      "batch_z",
                                      "batch_var_se",
                                      "batch_var_theory",
                                      "batch_var_z",
                                      "batch_p50_theory",
                                      "batch_p90_theory",
                                      "batch_p99_theory",
                                      "step_ms_se",
                                      "step_ms_theory",
                                      "step_ms_z",
                                      "step_p50_ms_theory",
                                      "step_p90_ms_theory",
                                      "step_p99_ms_theory",
                                      "tokens_per_s_se",
                                      "tokens_per_s_theory",
                                      "tokens_per_s_z",
                                      "tokens_per_round_se",
                                      "tokens_per_round_theory",
                                      "tokens_per_round_z",
                                      "ttft_ms_se",
                                      "ttft_ms_theory",
                                      "ttft_ms_z",
                                      "wait_ms_se",
                                      "wait_ms_theory",
                                      "wait_ms_z",
                                      "little_z",
                                      "drift_z",
                                      "speedup_least",
                                      "speedup_most",
                                      "latency_least_ms",
                                      "latency_most_ms",
                                      NULL};
static const spec_headline headlines[] = {{.column = "speedup"},
                                          {.column = "latency_ms", .unit = "ms"},
                                          {.column = "capacity", .unit = "1/s", .exact = true},
                                          {0}};
static const char *const checked[] = {
    "speedup_z",          "latency_ms_z", "batch_z",   "batch_var_z", "step_ms_z", "tokens_per_s_z",
    "tokens_per_round_z", "wait_ms_z",    "ttft_ms_z", "little_z",    NULL};
static const char *const keys[] = {"rate", "K", "lengths", NULL};

static const char *const parameters[] = {SPEC_SERVING_QUESTION_PARAMETERS, NULL};

const spec_measure spec_measure_serve = {
    .name = "serve",
    .summary = "speculation under load: latency, throughput and speed-up of a serving engine, "
               "compared with queueing theory",
    .parameters = parameters,
    .assumes = spec_serving_question_assumes,
    .columns = columns,
    .checked = checked,
    .headlines = headlines,
    .keys = keys,
    .rows = count_rows,
    .run = run,
};
