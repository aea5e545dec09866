/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the intervals of `pair` contain the truth. We run it many times on the same models,
 * with different seeds, each time as a user would. */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"
#include "tools/pair/pair_numbers.h"

#include "experiments/measures/coverage.h"
#include "sim/chance/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { REPETITIONS = 300, LONGER_MAX = 10000, TEXTS_MAX = 10000, PROMPT = 1024 };

typedef struct {
    const spec_point *point;
    const spec_model *target, *draft;
    int K, texts, tokens, longer;
    double c;
    int *prompt; /* (texts longer, PROMPT) */
    spec_pair_text *text;
} asker;

/* How many intervals of one K contained the truth. */
typedef struct {
    double alpha, conditional, tokens, speedup;
    double conditionals; /* runs that have an interval for the conditional acceptance */
} held;

/* Draws prompts for the texts, if the target can make any. */
static void draw_prompts(asker *a, int texts, uint64_t number)
{
    const spec_model *target = a->target;
    for (int i = 0; i < texts; i++) {
        int *own = a->prompt + (size_t)i * PROMPT;
        a->text[i] = (spec_pair_text){.token = own, .category = -1};
        if (target->kind->prompt == NULL) continue;
        const uint64_t index = number * (uint64_t)TEXTS_MAX * LONGER_MAX + (uint64_t)i;
        a->text[i].n = target->kind->prompt(target, index, own, PROMPT);
    }
}

/* Computes the numbers of run `number`, with `longer` times as many texts. */
static int ask(spec_pair_numbers *ret, spec_pair_run *run, asker *a, int longer, uint64_t number,
               spec_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "run %" PRIu64, number);
    draw_prompts(a, a->texts * longer, number);
    const spec_pair_plan plan = {.target = a->target,
                                 .draft = {a->draft},
                                 .n_drafts = 1,
                                 .K = a->K,
                                 .text = a->text,
                                 .n_texts = a->texts * longer,
                                 .tokens = a->tokens,
                                 .seed = spec_rng_named_seed(a->point->seed, name),
                                 .opt_stop = a->point->stop};
    SPEC_PASS(spec_pair_run_init(run, &plan, error));
    return spec_pair_numbers_init(ret, run, &(spec_pair_costs){.opt_c = &a->c}, SPEC_COVERAGE_ERROR,
                                  error);
}

#define HOLDS(interval, truth) spec_coverage_holds((interval).low, (interval).high, (truth).value)

/* Counts the intervals of a run that contain the truth. Adds 1 to *joint if those of all speed-ups
 * do, and to *best if the truly fastest K is among those that pair says may be the fastest. */
static void add(held *sum, double *joint, double *best, const spec_pair_numbers *numbers,
                const spec_pair_row *truth)
{
    bool all = true;
    int fastest = 0;
    for (int k = 0; k < numbers->n_rows; k++) {
        const spec_pair_row *row = &numbers->row[k];
        sum[k].alpha += HOLDS(row->alpha, truth[k].alpha);
        if (!isnan(row->conditional.low)) {
            sum[k].conditional += HOLDS(row->conditional, truth[k].conditional);
            sum[k].conditionals++;
        }
        sum[k].tokens += HOLDS(row->tokens_per_round, truth[k].tokens_per_round);
        sum[k].speedup += HOLDS(row->speedup, truth[k].speedup);
        all = all && HOLDS(row->speedup, truth[k].speedup) == 1.0;
        if (truth[k].speedup.value > truth[fastest].speedup.value) fastest = k;
    }
    *joint += all;
    *best += numbers->row[fastest].alike;
}

static int read(asker *a, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS;
    a->point = point;
    SPEC_TRY(spec_point_int(&a->K, point, measure, "most", 1, SPEC_PAIR_K, error));
    SPEC_TRY(spec_point_int(&a->texts, point, measure, "texts", 2, TEXTS_MAX, error));
    SPEC_TRY(spec_point_int(&a->tokens, point, measure, "tokens", 1, 1 << 20, error));
    SPEC_TRY(spec_point_int(&a->longer, point, measure, "longer", 1, LONGER_MAX, error));
    SPEC_TRY(spec_point_double(&a->c, point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&a->target, &a->draft, point,
                             spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    SPEC_TRY(spec_point_opened(point));
    const size_t most = (size_t)a->texts * (size_t)a->longer;
    a->prompt = calloc(most * PROMPT, sizeof *a->prompt);
    a->text = calloc(most, sizeof *a->text);
    if (a->prompt == NULL || a->text == NULL) status = spec_no_memory(error);
done:
    return status;
}

static int fill(spec_table *table, const spec_pair_numbers *truth, const held *sum, double joint,
                double best, double n, spec_error *error)
{
    for (int k = 0; k < truth->n_rows; k++) {
        const spec_pair_row *row = &truth->row[k];
        const double those = sum[k].conditionals;
        const double share[] = {sum[k].alpha / n,  sum[k].conditional / those,
                                sum[k].tokens / n, sum[k].speedup / n,
                                joint / n,         best / n};
        static const char *const names[] = {"alpha",   "conditional", "tokens",
                                            "speedup", "joint",       "best"};
        spec_table_integer(table, "K", row->K);
        spec_table_number(table, "tokens_per_round_true", row->tokens_per_round.value);
        spec_table_number(table, "tokens_per_round_true_se", row->tokens_per_round.se);
        spec_table_number(table, "conditional_true", row->conditional.value);
        spec_table_number(table, "conditional_true_se", row->conditional.se);
        for (int i = 0; i < 6; i++) {
            char column[32];
            snprintf(column, sizeof column, "%s_held", names[i]);
            spec_table_number(table, column, share[i]);
            snprintf(column, sizeof column, "%s_z", names[i]);
            spec_table_number(table, column, spec_coverage_z(share[i], i >= 3, i == 1 ? those : n));
        }
        if (k < truth->n_rows - 1 && spec_table_append(table) != GSL_SUCCESS)
            return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    int K = 0;
    const int status = spec_point_int(&K, point, measure, "most", 1, SPEC_PAIR_K, error);
    *ret_rows = (uint64_t)K;
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    asker a = {.K = 0};
    held sum[SPEC_PAIR_K] = {{0}};
    double joint = 0.0, best = 0.0;
    spec_pair_numbers truth = {.row = NULL}, numbers = {.row = NULL};
    spec_pair_run long_run = {.block = NULL}, own = {.block = NULL};
    const uint64_t n = point->rounds > 0 ? point->rounds : REPETITIONS;
    SPEC_TRY(read(&a, point, measure, error));
    SPEC_TRY(ask(&truth, &long_run, &a, a.longer, 0, error));
    for (uint64_t i = 1; i <= n; i++) {
        SPEC_TRY(ask(&numbers, &own, &a, 1, i, error));
        add(sum, &joint, &best, &numbers, truth.row);
        spec_pair_numbers_free(&numbers);
        spec_pair_run_free(&own);
        spec_listener_tell(point->opt_listener, (double)i / (double)n);
    }
    SPEC_TRY(fill(table, &truth, sum, joint, best, (double)n, error));
done:
    spec_pair_numbers_free(&numbers);
    spec_pair_numbers_free(&truth);
    spec_pair_run_free(&own);
    spec_pair_run_free(&long_run);
    free(a.prompt);
    free(a.text);
    return status;
}

static const char *const parameters[] = {"target",    "draft",      "most=8", "texts=16",
                                         "tokens=64", "longer=100", "c=0.1",  NULL};
static const char *const columns[] = {"K",
                                      "tokens_per_round_true",
                                      "tokens_per_round_true_se",
                                      "conditional_true",
                                      "conditional_true_se",
                                      "alpha_held",
                                      "conditional_held",
                                      "tokens_held",
                                      "speedup_held",
                                      "joint_held",
                                      "best_held",
                                      "alpha_z",
                                      "conditional_z",
                                      "tokens_z",
                                      "speedup_z",
                                      "joint_z",
                                      "best_z",
                                      NULL};
static const spec_headline headlines[] = {
    {.column = "tokens_held"}, {.column = "joint_held"}, {.column = "best_held"}, {0}};
static const char *const checked[] = {"alpha_z", "conditional_z", "tokens_z", "speedup_z",
                                      "joint_z", "best_z",        NULL};
static const char *const keys[] = {"K", NULL};

const spec_measure spec_measure_pair_coverage = {
    .name = "pair_coverage",
    .summary = "how often the 95 % intervals that pair prints contain the truth",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .keys = keys,
    .simulates = true,
    .rows = count_rows,
    .run = run,
};
