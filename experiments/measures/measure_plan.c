/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/statistics/moments.h"
#include "analysis/tree_plan.h"
#include "experiments/measures/plan_files.h"
#include "experiments/measures/plan_question.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1000 };

static uint64_t count_words(const char *list)
{
    char word[SPEC_PLAN_METHOD_SIZE];
    uint64_t n = 0;
    while (spec_plan_next_word(word, sizeof word, &list)) n++;
    return n;
}

static int rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                spec_error *error)
{
    const char *nodes = spec_point_text(point, measure, "nodes");
    *ret_rows = 0;
    if (nodes == NULL) return spec_fail(error, GSL_EINVAL, "nodes: no value is given");
    const uint64_t n = count_words(nodes) * count_words(spec_point_text(point, measure, "methods"));
    if (n == 0)
        return spec_fail(error, GSL_EINVAL,
                         "nodes: without a budget or a method there is nothing to plan");
    if (n > ROWS_MAX)
        return spec_fail(error, GSL_EINVAL, "nodes: budgets times methods are more than %d",
                         ROWS_MAX);
    *ret_rows = n;
    return GSL_SUCCESS;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Simulates the tokens per round that a strategy reaches with the pair. The random stream comes
 * from the strategy's name. */
static int simulate(spec_estimate *ret, const spec_plan_question *question, const char *drafting,
                    int K, const spec_point *point, spec_error *error)
{
    spec_decoding_config config = {.decoder = question->config, .burn_in = 32};
    spec_point own = *point;
    spec_tally tally;
    *ret = (spec_estimate){.mean = NAN, .se = NAN, .df = NAN};
    if (config.decoder.target == NULL || (point->rounds == 0 && !(point->standard_error > 0.0)))
        return GSL_SUCCESS;
    config.decoder.drafting = drafting;
    config.decoder.K = K;
    own.seed = spec_rng_named_seed(point->seed, drafting);
    const spec_round_source source = spec_sources_decoding(&config);
    return spec_point_simulate(&tally, ret, NULL, NULL, &own, &source, error);
}

/* Simulates EAGLE-2's tree. It has no plan, because its shape differs from position to position. We
 * give it as many levels as Sequoia's tree, so that rounds of both take the same time. */
static int fill_dynamic(spec_table *table, const spec_plan_question *question, int budget,
                        const spec_point *point, spec_error *error)
{
    const int top = question->chances.ranks < SPEC_TOP_MAX ? question->chances.ranks : SPEC_TOP_MAX;
    spec_tree_choice planned = {0};
    char drafting[96];
    spec_estimate emitted;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_tree_choose(&planned, "sequoia", &question->chances, budget, question->c,
                              question->verify, error));
    const int depth = planned.depth > 0 ? planned.depth : 1;
    snprintf(drafting, sizeof drafting, "dynamic?top=%d&nodes=%d&depth=%d", top,
             budget > 0 ? budget : 1, depth);
    SPEC_TRY(simulate(&emitted, question, drafting, depth, point, error));
    spec_table_integer(table, "tree_nodes", budget);
    spec_table_integer(table, "tree_depth", depth);
    spec_table_number(table, "speedup",
                      emitted.mean / (depth * question->c + question->verify[budget]));
    spec_table_number(table, "simulated", emitted.mean);
    spec_table_number(table, "simulated_se", emitted.se);
    spec_table_text(table, "drafting", drafting);
done:
    spec_tree_choice_free(&planned);
    return status;
}

static int fill_planned(spec_table *table, const spec_plan_question *question, const char *method,
                        int budget, const spec_point *point, spec_error *error)
{
    spec_tree_choice choice = {0};
    spec_estimate simulated;
    char *drafting = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_blame(spec_tree_choose(&choice, method, &question->chances, budget,
                                               question->c, question->verify, error),
                              "methods", error));
    const size_t size = strlen(choice.shape) + 64;
    if ((drafting = malloc(size)) == NULL) SPEC_TRY(spec_no_memory(error));
    snprintf(drafting, size, "tree?%s&siblings=%s", choice.shape,
             spec_siblings_names[question->siblings]);
    SPEC_TRY(simulate(&simulated, question, drafting, choice.depth, point, error));
    spec_table_integer(table, "tree_nodes", choice.nodes);
    spec_table_integer(table, "tree_depth", choice.depth);
    spec_table_number(table, "emitted", choice.emitted);
    spec_table_number(table, "speedup", choice.speedup);
    spec_table_number(table, "simulated", simulated.mean);
    spec_table_number(table, "simulated_se", simulated.se);
    if (question->exact)
        spec_table_number(
            table, "simulated_z",
            spec_moments_z(simulated.mean, choice.emitted, simulated.se, simulated.df));
    spec_table_text(table, "drafting", drafting);
done:
    free(drafting);
    spec_tree_choice_free(&choice);
    return status;
}

/* Writes the probabilities of the first level, as "0.7 0.1 0.04". */
static void fill_by_rank(spec_table *table, const spec_branch_chances *chances)
{
    char text[16 * SPEC_PLAN_RANKS_MAX] = "";
    for (int r = 0, used = 0; r < chances->ranks; r++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.4g", r > 0 ? " " : "",
                         chances->accept[r]);
    spec_table_text(table, "by_rank", text);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_plan_question question;
    const char *nodes = spec_point_text(point, measure, "nodes");
    char method[SPEC_PLAN_METHOD_SIZE], word[32];
    bool first = true;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_plan_question_init(&question, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_opened(point));
    while (spec_plan_next_word(word, sizeof word, &nodes)) {
        const char *methods = spec_point_text(point, measure, "methods");
        int budget;
        spec_settings_parse_int(&budget, word);
        for (; spec_plan_next_word(method, sizeof method, &methods); first = false) {
            if (!first) SPEC_TRY(spec_table_append(table));
            spec_table_text(table, "method", method);
            spec_table_integer(table, "budget", budget);
            fill_by_rank(table, &question.chances);
            if (question.row != NULL)
                spec_table_number(
                    table, "limit",
                    spec_tree_plan_limit(question.row, question.config.target->vocab, budget));
            SPEC_TRY(strcmp(method, "dynamic") == 0
                         ? fill_dynamic(table, &question, budget, point, error)
                         : fill_planned(table, &question, method, budget, point, error));
        }
    }
done:
    spec_plan_question_free(&question);
    return status;
}

static const char *const parameters[] = {"methods=chain,k-ary,branches,delayed,sequoia",
                                         "nodes",
                                         "accept=",
                                         "accuracies=",
                                         "target=",
                                         "draft=",
                                         "rule=rrsw",
                                         "siblings=without",
                                         "width=8",
                                         "depth=16",
                                         "c=0.1",
                                         "costs=",
                                         "positions=20000",
                                         NULL};
static const char *const columns[] = {
    "method",       "budget",      "tree_nodes", "tree_depth", "emitted",  "speedup", "simulated",
    "simulated_se", "simulated_z", "limit",      "by_rank",    "drafting", NULL};
static const spec_headline headlines[] = {
    {.column = "emitted", .unit = "tokens per round"},
    {.column = "simulated", .unit = "tokens per round"},
    {0},
};
static const char *const keys[] = {"method", "budget", NULL};
static const char *const checked[] = {"simulated_z", NULL};

static const spec_assumption assumes[] = {
    {"costs", "none", "a pass takes the same time at any size", NULL, NULL},
    {"width", NULL, NULL, "target", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_plan = {
    .name = "plan",
    .summary = "the fastest draft tree of each method for a budget of nodes: its tokens per round, "
               "planned and simulated",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .checked = checked,
    .simulates = true,
    .rows = rows,
    .run = run,
};
