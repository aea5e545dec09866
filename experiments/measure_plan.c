#include "experiments/measures.h"

#include "analysis/moments.h"
#include "experiments/plan_files.h"
#include "experiments/rank_acceptance.h"
#include "experiments/tree_choice.h"
#include "sim/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1000, METHOD_SIZE = 32 };

/* What a point asks for: chances, costs, and a pair to simulate with, or none. */
typedef struct {
    double *accept, *verify;
    spec_branch_chances chances;
    double c;
    int nodes;                  /* the largest budget */
    spec_decoder_config config; /* target NULL: no pair */
    bool exact;                 /* the chances are those of every place */
    spec_siblings siblings;
} plan_question;

static void question_free(plan_question *question)
{
    free(question->accept);
    free(question->verify);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* The next of "a,b,c" into word (size), which is the beginning of a longer one; false at the end. */
static bool next_word(char *word, size_t size, const char **list)
{
    const size_t length = strcspn(*list, ",");
    if (**list == '\0') return false;
    snprintf(word, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static int count_words(const char *list)
{
    char word[METHOD_SIZE];
    int n = 0;
    while (next_word(word, sizeof word, &list)) n++;
    return n;
}

static int rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    const char *nodes = spec_point_text(point, measure, "nodes");
    *ret_rows = 0;
    if (nodes == NULL) return spec_fail(error, GSL_EINVAL, "nodes: it is not given");
    const int n = count_words(nodes) * count_words(spec_point_text(point, measure, "methods"));
    if (n == 0) return spec_fail(error, GSL_EINVAL, "nodes: without a budget or a method there is nothing to plan");
    if (n > ROWS_MAX) return spec_fail(error, GSL_EINVAL, "nodes: budgets times methods are more than %d", ROWS_MAX);
    *ret_rows = (uint64_t)n;
    return GSL_SUCCESS;
}

/* ---- chances ----------------------------------------------------------------------------------------------------- */

/* The same chances (ranks) for every level. */
static int repeat(plan_question *question, const double *accept, int ranks, int levels, spec_error *error)
{
    const size_t row = (size_t)ranks * sizeof *accept;
    question->accept = malloc((size_t)levels * row);
    if (question->accept == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (int l = 0; l < levels; l++) memcpy(question->accept + l * ranks, accept, row);
    question->chances = (spec_branch_chances){.levels = levels, .ranks = ranks, .accept = question->accept};
    return GSL_SUCCESS;
}

static int read_list(plan_question *question, const char *list, int levels, spec_error *error)
{
    double accept[SPEC_PLAN_RANKS_MAX], sum = 0.0;
    char word[64];
    int ranks = 0;
    while (next_word(word, sizeof word, &list)) {
        if (ranks == SPEC_PLAN_RANKS_MAX)
            return spec_fail(error, GSL_EINVAL, "accept: more than %d ranks", SPEC_PLAN_RANKS_MAX);
        if (!spec_settings_parse_double(&accept[ranks], word) || !(accept[ranks] >= 0.0 && accept[ranks] <= 1.0))
            return spec_fail(error, GSL_EINVAL, "accept: '%.60s' is not a chance in [0, 1]", word);
        sum += accept[ranks++];
    }
    if (sum > 1.0 + 1e-9)
        return spec_fail(error, GSL_EINVAL, "accept: the chances sum to %.10g, and at most one child is accepted", sum);
    return repeat(question, accept, ranks, levels, error);
}

static int read_pair(plan_question *question, const spec_point *point, const spec_measure *measure, int levels,
                     spec_error *error)
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
    SPEC_TRY(spec_point_pair(&config->target, &config->opt_draft, point, target,
                             spec_point_text(point, measure, "draft"), error));
    if (config->opt_draft == NULL) SPEC_TRY(spec_fail(error, GSL_EINVAL, "draft: it is not given"));
    snprintf(drafting, sizeof drafting, "tree?n=%d&siblings=%s", width, spec_siblings_names[question->siblings]);
    spec_decoder_config one = *config;
    one.drafting = drafting;
    one.K = 1;
    spec_decoder decoder; /* refuses what does not go together, before any work */
    SPEC_TRY(spec_point_blame(spec_decoder_init(&decoder, &one, error), "rule", error));
    spec_decoder_free(&decoder);
    SPEC_TRY(spec_rank_acceptance_exact(accept, &question->exact, width, &one, question->siblings, error));
    if (!question->exact)
        SPEC_TRY(spec_rank_acceptance_measured(accept, width, &one, (uint64_t)positions,
                                               spec_rng_named_seed(point->seed, "by_rank"), point->threads, point->stop,
                                               error));
    SPEC_TRY(repeat(question, accept, width, levels, error));
done:
    return status;
}

static int read_chances(plan_question *question, const spec_point *point, const spec_measure *measure,
                        spec_error *error)
{
    const char *accept = spec_point_text(point, measure, "accept"),
               *accuracies = spec_point_text(point, measure, "accuracies"),
               *target = spec_point_text(point, measure, "target");
    int levels, heads, ranks, status = GSL_SUCCESS;
    if ((accept[0] != '\0') + (accuracies[0] != '\0') + (target[0] != '\0') != 1)
        return spec_fail(error, GSL_EINVAL, "accept: give one of a list of chances by rank, a file of accuracies, and a "
                                            "target with a draft");
    SPEC_TRY(spec_point_int(&levels, point, measure, "depth", 1, SPEC_PLAN_LEVELS_MAX, error));
    if (accept[0] != '\0') return read_list(question, accept, levels, error);
    if (target[0] != '\0') return read_pair(question, point, measure, levels, error);
    SPEC_TRY(spec_point_blame(spec_plan_read_accuracies(&question->accept, &heads, &ranks, accuracies, error),
                              "accuracies", error));
    question->chances = (spec_branch_chances){.levels = heads < levels ? heads : levels, .ranks = ranks,
                                              .accept = question->accept, .by_level = true};
done:
    return status;
}

/* Hub and greedy siblings have no acceptance by rank that holds for any number of them. */
static int read_siblings(plan_question *question, const char *name, spec_error *error)
{
    static const spec_siblings kinds[] = {SPEC_SIBLINGS_WITHOUT, SPEC_SIBLINGS_IID, SPEC_SIBLINGS_TOP};
    for (int i = 0; i < 3; i++) {
        question->siblings = kinds[i];
        if (strcmp(spec_siblings_names[kinds[i]], name) == 0) return GSL_SUCCESS;
    }
    return spec_fail(error, GSL_EINVAL, "siblings: '%.40s' is not without, iid or top", name);
}

/* The largest budget, once all are understood. */
static int read_budgets(plan_question *question, const char *list, spec_error *error)
{
    char word[32];
    int nodes;
    while (next_word(word, sizeof word, &list)) {
        if (!spec_settings_parse_int(&nodes, word) || nodes < 0 || nodes > SPEC_NODES_MAX)
            return spec_fail(error, GSL_EINVAL, "nodes: '%.30s' is not a whole number of 0 to %d", word, SPEC_NODES_MAX);
        if (nodes > question->nodes) question->nodes = nodes;
    }
    return GSL_SUCCESS;
}

static int read_costs(plan_question *question, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    const char *path = spec_point_text(point, measure, "verify");
    const int status = spec_point_double(&question->c, point, measure, "c", 0.0, 1e6, error);
    if (status != GSL_SUCCESS) return status;
    if (path[0] != '\0')
        return spec_point_blame(spec_plan_read_costs(&question->verify, question->nodes, path, error), "verify", error);
    question->verify = malloc(((size_t)question->nodes + 1) * sizeof *question->verify);
    if (question->verify == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (int m = 0; m <= question->nodes; m++) question->verify[m] = 1.0;
    return GSL_SUCCESS;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Tokens per round of a strategy with the question's pair, by a stream that the strategy's own name gives. */
static int simulate(spec_estimate *ret, const plan_question *question, const char *drafting, int K,
                    const spec_point *point, spec_error *error)
{
    spec_decoding_config config = {.decoder = question->config, .burn_in = 32};
    spec_point own = *point;
    spec_tally tally;
    *ret = (spec_estimate){.mean = NAN, .se = NAN};
    if (config.decoder.target == NULL || (point->rounds == 0 && !(point->standard_error > 0.0))) return GSL_SUCCESS;
    config.decoder.drafting = drafting;
    config.decoder.K = K;
    own.seed = spec_rng_named_seed(point->seed, drafting);
    const spec_round_source source = spec_decoding_source(&config);
    return spec_point_simulate(&tally, ret, NULL, &own, &source, error);
}

/* EAGLE-2's tree has no plan: its shape is another at every place, and what it yields can only be simulated. It is
 * given the levels of Sequoia's tree, so that both rounds take the same time. */
static int fill_dynamic(spec_table *table, const plan_question *question, int budget, const spec_point *point,
                        spec_error *error)
{
    const int top = question->chances.ranks < SPEC_TOP_MAX ? question->chances.ranks : SPEC_TOP_MAX;
    spec_tree_choice planned = {0};
    char drafting[96];
    spec_estimate emitted;
    int status = GSL_SUCCESS;
    if (question->config.target == NULL || question->siblings != SPEC_SIBLINGS_TOP)
        return spec_fail(error, GSL_EINVAL, "methods: dynamic needs a target, a draft and top siblings");
    SPEC_TRY(spec_tree_choose(&planned, "sequoia", &question->chances, budget, question->c, question->verify, error));
    const int depth = planned.depth > 0 ? planned.depth : 1;
    snprintf(drafting, sizeof drafting, "dynamic?top=%d&nodes=%d&depth=%d", top, budget > 0 ? budget : 1, depth);
    SPEC_TRY(simulate(&emitted, question, drafting, depth, point, error));
    spec_table_integer(table, "tree_nodes", budget);
    spec_table_integer(table, "tree_depth", depth);
    spec_table_number(table, "speedup", emitted.mean / (depth * question->c + question->verify[budget]));
    spec_table_number(table, "simulated", emitted.mean);
    spec_table_number(table, "simulated_se", emitted.se);
    spec_table_text(table, "drafting", drafting);
done:
    spec_tree_choice_free(&planned);
    return status;
}

static int fill_planned(spec_table *table, const plan_question *question, const char *method, int budget,
                        const spec_point *point, spec_error *error)
{
    spec_tree_choice choice = {0};
    spec_estimate simulated;
    char *drafting = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_blame(spec_tree_choose(&choice, method, &question->chances, budget, question->c,
                                               question->verify, error), "methods", error));
    const size_t size = strlen(choice.shape) + 64;
    if ((drafting = malloc(size)) == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
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
        spec_table_number(table, "simulated_z", spec_z(simulated.mean, choice.emitted, simulated.se));
    spec_table_text(table, "drafting", drafting);
done:
    free(drafting);
    spec_tree_choice_free(&choice);
    return status;
}

/* "0.7 0.1 0.04": the chances of the first level. */
static void fill_by_rank(spec_table *table, const spec_branch_chances *chances)
{
    char text[16 * SPEC_PLAN_RANKS_MAX] = "";
    for (int r = 0, used = 0; r < chances->ranks; r++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.4g", r > 0 ? " " : "", chances->accept[r]);
    spec_table_text(table, "by_rank", text);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    plan_question question = {.config = SPEC_DECODER_DEFAULT};
    const char *nodes = spec_point_text(point, measure, "nodes");
    char method[METHOD_SIZE], word[32];
    bool first = true;
    int status = GSL_SUCCESS;
    SPEC_TRY(read_siblings(&question, spec_point_text(point, measure, "siblings"), error));
    SPEC_TRY(read_budgets(&question, nodes, error));
    SPEC_TRY(read_costs(&question, point, measure, error));
    SPEC_TRY(read_chances(&question, point, measure, error));
    while (next_word(word, sizeof word, &nodes)) {
        const char *methods = spec_point_text(point, measure, "methods");
        int budget;
        spec_settings_parse_int(&budget, word);
        for (; next_word(method, sizeof method, &methods); first = false) {
            if (!first) SPEC_TRY(spec_table_append(table));
            spec_table_text(table, "method", method);
            spec_table_integer(table, "budget", budget);
            fill_by_rank(table, &question.chances);
            SPEC_TRY(strcmp(method, "dynamic") == 0
                         ? fill_dynamic(table, &question, budget, point, error)
                         : fill_planned(table, &question, method, budget, point, error));
        }
    }
done:
    question_free(&question);
    return status;
}

static const char *const parameters[] = {"methods=chain,k-ary,branches,delayed,sequoia", "nodes", "accept=",
                                         "accuracies=", "target=", "draft=", "rule=rrsw", "siblings=without", "width=8",
                                         "depth=16", "c=0.1", "verify=", "positions=20000", NULL};
static const char *const columns[] = {"method",  "budget",    "tree_nodes",   "tree_depth",  "emitted",
                                      "speedup", "simulated", "simulated_se", "simulated_z", "by_rank",
                                      "drafting", NULL};
static const char *const checked[] = {"simulated_z", NULL};

const spec_measure spec_measure_plan = {
    .name = "plan",
    .summary = "the fastest draft tree of each method for a budget of nodes: its tokens per round, planned and simulated",
    .parameters = parameters,
    .columns = columns,
    .checked = checked,
    .simulates = true,
    .rows = rows,
    .run = run,
};
