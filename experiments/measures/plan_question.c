/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/plan_question.h"

#include "base/names.h"
#include "experiments/measures/plan_files.h"
#include "experiments/measures/rank_acceptance.h"
#include "experiments/pass_costs.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool spec_plan_next_word(char *word, size_t size, const char **list)
{
    const size_t length = strcspn(*list, ",");
    if (**list == '\0') return false;
    snprintf(word, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

/* ---- chances --------------------------------------------------------------------------------- */

/* Uses the same probabilities (ranks) for every level. */
static int repeat(spec_plan_question *question, const double *accept, int ranks, int levels,
                  spec_error *error)
{
    const size_t row = (size_t)ranks * sizeof *accept;
    question->accept = malloc((size_t)levels * row);
    if (question->accept == NULL) return spec_no_memory(error);
    for (int l = 0; l < levels; l++) memcpy(question->accept + l * ranks, accept, row);
    question->chances =
        (spec_branch_chances){.levels = levels, .ranks = ranks, .accept = question->accept};
    return GSL_SUCCESS;
}

static int read_list(spec_plan_question *question, const char *list, int levels, spec_error *error)
{
    double accept[SPEC_PLAN_RANKS_MAX], sum = 0.0;
    char word[64];
    int ranks = 0;
    while (spec_plan_next_word(word, sizeof word, &list)) {
        if (ranks == SPEC_PLAN_RANKS_MAX)
            return spec_fail(error, GSL_EINVAL, "accept: more than %d ranks", SPEC_PLAN_RANKS_MAX);
        if (!spec_settings_parse_double(&accept[ranks], word) ||
            !(accept[ranks] >= 0.0 && accept[ranks] <= 1.0))
            return spec_fail(error, GSL_EINVAL,
                             "accept: '%.60s' is not a probability in [0, "
                             "1]",
                             word);
        sum += accept[ranks++];
    }
    if (sum > 1.0 + 1e-9)
        return spec_fail(error, GSL_EINVAL,
                         "accept: the probabilities sum to %.10g, but at most one child is "
                         "accepted",
                         sum);
    return repeat(question, accept, ranks, levels, error);
}

/* Reads the target's row at the beginning of a text. */
static int read_row(spec_plan_question *question, spec_error *error)
{
    const spec_model *target = question->config.target;
    const size_t size = (size_t)target->vocab * sizeof *question->row;
    spec_session reads = {0};
    int status = GSL_SUCCESS;
    double *room = malloc(size);
    question->row = malloc(size);
    if (room == NULL || question->row == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_session_init(&reads, target, error));
    const double *row = spec_session_row(&reads, NULL, 0, room, error);
    SPEC_TRY(row == NULL ? GSL_EFAILED : GSL_SUCCESS);
    memcpy(question->row, row, size);
done:
    spec_session_free(&reads);
    free(room);
    return status;
}

static int read_pair(spec_plan_question *question, const spec_point *point,
                     const spec_measure *measure, int levels, spec_error *error)
{
    double accept[SPEC_PLAN_RANKS_MAX];
    char drafting[64];
    int width, positions, status = GSL_SUCCESS;
    spec_decoder_config *config = &question->config;
    const char *const target = spec_point_text(point, measure, "target");
    SPEC_TRY(spec_point_int(&width, point, measure, "width", 1, SPEC_PLAN_RANKS_MAX, error));
    SPEC_TRY(spec_point_int(&positions, point, measure, "positions", 1, 1000000000, error));
    config->rule = spec_point_text(point, measure, "rule");
    SPEC_TRY(spec_point_check_names(config->rule, "fixed", 1, error));
    SPEC_TRY(spec_point_blame(spec_rank_acceptance_check(config->rule, error), "rule", error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&config->target, &config->opt_draft, point, target,
                             spec_point_text(point, measure, "draft"), error));
    if (config->opt_draft == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "draft: no value is given"));
    snprintf(drafting, sizeof drafting, "tree?n=%d&siblings=%s", width,
             spec_siblings_names[question->siblings]);
    spec_decoder_config one = *config;
    one.drafting = drafting;
    one.K = 1;
    /* spec_decoder_init refuses combinations that do not fit, before any work */
    spec_decoder decoder;
    SPEC_TRY(spec_point_blame(spec_decoder_init(&decoder, &one, error), "rule", error));
    spec_decoder_free(&decoder);
    SPEC_TRY(spec_point_opened(point));
    SPEC_TRY(spec_rank_acceptance_exact(accept, &question->exact, width, &one, question->siblings,
                                        error));
    if (!question->exact)
        SPEC_TRY(spec_rank_acceptance_measured(accept, width, &one, (uint64_t)positions,
                                               spec_rng_named_seed(point->seed, "by_rank"), point,
                                               error));
    if (question->exact && question->siblings == SPEC_SIBLINGS_TOP)
        SPEC_TRY(read_row(question, error));
    SPEC_TRY(repeat(question, accept, width, levels, error));
done:
    return status;
}

static int read_chances(spec_plan_question *question, const spec_point *point,
                        const spec_measure *measure, spec_error *error)
{
    const char *accept = spec_point_text(point, measure, "accept"),
               *accuracies = spec_point_text(point, measure, "accuracies"),
               *target = spec_point_text(point, measure, "target");
    int levels, heads, ranks, status = GSL_SUCCESS;
    if ((accept[0] != '\0') + (accuracies[0] != '\0') + (target[0] != '\0') != 1)
        return spec_fail(error, GSL_EINVAL,
                         "accept: give one of these: probabilities by rank, a file of accuracies, "
                         "or a target with a draft");
    SPEC_TRY(spec_point_int(&levels, point, measure, "depth", 1, SPEC_PLAN_LEVELS_MAX, error));
    if (accept[0] != '\0') return read_list(question, accept, levels, error);
    if (target[0] != '\0') return read_pair(question, point, measure, levels, error);
    SPEC_TRY(spec_point_blame(
        spec_plan_read_accuracies(&question->accept, &heads, &ranks, accuracies, error),
        "accuracies", error));
    question->chances = (spec_branch_chances){.levels = heads < levels ? heads : levels,
                                              .ranks = ranks,
                                              .accept = question->accept,
                                              .by_level = true};
done:
    return status;
}

/* Reads the siblings. For hub and greedy siblings, acceptance by rank depends on how many there
 * are, so they are refused. */
static int read_siblings(spec_plan_question *question, const char *name, spec_error *error)
{
    static const spec_siblings kinds[] = {SPEC_SIBLINGS_WITHOUT, SPEC_SIBLINGS_IID,
                                          SPEC_SIBLINGS_TOP};
    for (int i = 0; i < 3; i++) {
        question->siblings = kinds[i];
        if (strcmp(spec_siblings_names[kinds[i]], name) == 0) return GSL_SUCCESS;
    }
    return spec_fail(error, GSL_EINVAL, "siblings: '%.40s' is not without, iid or top", name);
}

static const char *method_name(int i)
{
    return spec_tree_methods[i];
}

static int check_methods(const spec_plan_question *question, const char *list, bool has_target,
                         spec_error *error)
{
    char word[SPEC_PLAN_METHOD_SIZE];
    while (spec_plan_next_word(word, sizeof word, &list)) {
        if (strcmp(word, "dynamic") != 0) {
            if (spec_names_find(method_name, word, "method", error) < 0)
                return spec_point_blame(GSL_EINVAL, "methods", error);
        } else if (!has_target || question->siblings != SPEC_SIBLINGS_TOP) {
            return spec_fail(error, GSL_EINVAL,
                             "methods: dynamic needs a target, a draft and top siblings");
        }
    }
    return GSL_SUCCESS;
}

/* Reads the budgets, and finds the largest. */
static int read_budgets(spec_plan_question *question, const char *list, spec_error *error)
{
    char word[32];
    int nodes;
    while (spec_plan_next_word(word, sizeof word, &list)) {
        if (!spec_settings_parse_int(&nodes, word) || nodes < 0 || nodes > SPEC_NODES_MAX)
            return spec_fail(error, GSL_EINVAL, "nodes: '%.30s' is not a whole number from 0 to %d",
                             word, SPEC_NODES_MAX);
        if (nodes > question->nodes) question->nodes = nodes;
    }
    return GSL_SUCCESS;
}

static int read_costs(spec_plan_question *question, const spec_point *point,
                      const spec_measure *measure, spec_error *error)
{
    spec_pass_costs costs;
    int status = spec_pass_costs_of_point(&costs, &question->c, point, measure, error);
    if (status != GSL_SUCCESS) return status;
    question->verify = malloc(((size_t)question->nodes + 1) * sizeof *question->verify);
    if (question->verify == NULL) SPEC_TRY(spec_no_memory(error));
    for (int m = 0; m <= question->nodes; m++)
        question->verify[m] = costs.n > 0 ? spec_pass_costs_time(&costs, m + 1) : 1.0;
    if (isnan(question->verify[question->nodes]))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "costs: %.200s: it ends at %d nodes, before the budget of %d",
                           spec_point_text(point, measure, "costs"), costs.width[costs.n - 1] - 1,
                           question->nodes));
done:
    spec_pass_costs_free(&costs);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

int spec_plan_question_init(spec_plan_question *question, const spec_point *point,
                            const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS;
    *question = (spec_plan_question){.config = SPEC_DECODER_DEFAULT};
    question->config.opt_stop = point->stop;
    SPEC_TRY(read_siblings(question, spec_point_text(point, measure, "siblings"), error));
    SPEC_TRY(check_methods(question, spec_point_text(point, measure, "methods"),
                           spec_point_text(point, measure, "target")[0] != '\0', error));
    SPEC_TRY(read_budgets(question, spec_point_text(point, measure, "nodes"), error));
    SPEC_TRY(read_costs(question, point, measure, error));
    SPEC_TRY(read_chances(question, point, measure, error));
done:
    return status;
}

void spec_plan_question_free(spec_plan_question *question)
{
    free(question->accept);
    free(question->verify);
    free(question->row);
    *question = (spec_plan_question){.accept = NULL};
}
