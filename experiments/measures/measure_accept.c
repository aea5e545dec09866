/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"

#include "experiments/measures/accept_rows.h"
#include "experiments/measures/trajectory.h"
#include "models/row.h"
#include "models/rows/rows.h"
#include "models/synthetic/fixed_row.h"
#include "sim/output_law.h"
#include "speclab/no_memory.h"
#include "tools/bench/acceptance_theory.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The question that all rows share, and their models. */
enum { ACCEPTANCE, ENUMERATED, TV, OPTIMAL, N_VALUES };

/* Maximum steps of an enumeration. For each of at most V^n tuples of drafts, a round has about V
 * branches that take O(V) each. A closed form that recurses over tuples may take more steps. */
static const double enumeration_steps = 1e7, recursion_steps = 1e9;

/* The two pairs of rows of a context: target and draft; and, for rules that only claim the argmax,
 * the one-hot row of the target's argmax and the draft. */
typedef struct {
    spec_ratio_order whole, argmax;
    double *one_hot; /* (V) */
    bool ready;
} workspace;

typedef struct {
    spec_accept_rows rows;
    const spec_model *target, *opt_draft;
    int contexts;
    uint64_t limit;
    const volatile int *opt_stop;
    /* whether some row of several drafts needs the pair of whole rows, or the pair with the
     * argmax */
    bool wants_whole, wants_argmax;
    workspace *work;                /* (SPEC_TRAJECTORY_BATCHES) one per worker */
} accept_question;

static bool is_argmax(const spec_accept_row *row)
{
    return row->rule.claim == SPEC_LOSSLESS_ARGMAX;
}

/* ---- one context ----------------------------------------------------------------------------- */

static int make_ready(workspace *work, const accept_question *question, spec_error *error)
{
    const int V = question->target->vocab;
    if (work->ready) return GSL_SUCCESS;
    work->one_hot = calloc((size_t)V, sizeof *work->one_hot);
    if (work->one_hot == NULL ||
        (question->wants_whole && spec_ratio_order_init(&work->whole, V) != GSL_SUCCESS) ||
        (question->wants_argmax && spec_ratio_order_init(&work->argmax, V) != GSL_SUCCESS))
        return spec_fail(error, GSL_ENOMEM, "out of memory for two rows of %d probabilities", V);
    work->ready = true;
    return GSL_SUCCESS;
}

static int sort_pairs(workspace *work, const accept_question *question, const spec_position *at,
                      spec_error *error)
{
    int status = GSL_SUCCESS;
    if (!question->wants_whole && !question->wants_argmax) return status;
    SPEC_TRY(make_ready(work, question, error));
    if (question->wants_whole)
        SPEC_TRY(spec_ratio_order_sort(&work->whole, at->target, at->opt_draft));
    if (question->wants_argmax) {
        const int best = spec_row_argmax(at->target, at->vocab);
        work->one_hot[best] = 1.0;
        status = spec_ratio_order_sort(&work->argmax, work->one_hot, at->opt_draft);
        work->one_hot[best] = 0.0;
    }
done:
    return status == GSL_EDOM
               ? spec_fail(error, status, "a model gave a row that does not sum to 1")
               : status;
}

static const spec_model_kind row_here = {
    .name = "row", .row = spec_fixed_row_row, .close = spec_fixed_row_close};

/* Opens a model with this row in every context. */
static int open_row(spec_model **ret_model, const double *row, int vocab, spec_error *error)
{
    double *to;
    const int status = spec_fixed_row_open(ret_model, &to, vocab, error);
    if (status != GSL_SUCCESS) return status;
    memcpy(to, row, (size_t)vocab * sizeof *to);
    (*ret_model)->kind = &row_here;
    return GSL_SUCCESS;
}

/* Enumerates the acceptance of a one-token draft, and the total variation between the next token
 * and what the rule claims. Both depend only on the rows at this position, so branches need no pass
 * of a model. */
static int enumerate(double *ret_acceptance, double *ret_tv, const accept_question *question,
                     const spec_accept_row *row, const spec_position *at, spec_error *error)
{
    int status = GSL_SUCCESS;
    char strategy[SPEC_ACCEPT_STRATEGY_SIZE];
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_output_law law = {0};
    spec_model *target = NULL, *draft = NULL;
    SPEC_TRY(open_row(&target, at->target, at->vocab, error));
    if (at->opt_draft != NULL) SPEC_TRY(open_row(&draft, at->opt_draft, at->vocab, error));
    config.target = target;
    config.opt_draft = draft;
    config.rule = row->spec;
    config.drafting = spec_accept_row_strategy(strategy, row);
    config.K = 1;
    config.opt_stop = question->opt_stop;
    SPEC_TRY(
        spec_output_law_init(&law, &config, at->context, at->n_context, 1, question->limit, error));
done:
    *ret_acceptance = status == GSL_SUCCESS ? law.accepted : NAN;
    *ret_tv = status == GSL_SUCCESS ? law.tv : NAN;
    spec_output_law_free(&law);
    spec_model_close(draft);
    spec_model_close(target);
    return status;
}

static bool is_enumerated(const accept_question *question, const spec_accept_row *row)
{
    static const int drawn[SPEC_SIBLINGS_KINDS] = {
        [SPEC_SIBLINGS_HUB] = 2, [SPEC_SIBLINGS_GREEDY] = 1, [SPEC_SIBLINGS_TAIL] = 1};
    const bool all = row->siblings == SPEC_SIBLINGS_IID || row->siblings == SPEC_SIBLINGS_WITHOUT;
    const int power = 2 + (all ? row->n : drawn[row->siblings]);
    return pow(question->target->vocab, power) * question->contexts <= enumeration_steps;
}

/* Returns the first row, up to i, whose result row i can share: its drafts have the same number and
 * kind, and it has the same acceptance in every context or, if asked for, the same optimum. */
static size_t first_like(const accept_question *question, size_t i, bool acceptance)
{
    const spec_accept_row *row = question->rows.row, *of = &row[i];
    size_t j = 0;
    while (j < i && (row[j].n != of->n || row[j].siblings != of->siblings ||
                     is_argmax(&row[j]) != is_argmax(of) ||
                     (acceptance &&
                      !spec_acceptance_theory_same_form(&row[j].rule, &of->rule, of->siblings))))
        j++;
    return j;
}

/* Computes the closed form and the optimum of row i. value[] already has those of earlier rows. */
static void theory(double *value, size_t i, const accept_question *question,
                   const spec_position *at, const workspace *work)
{
    const spec_accept_row *row = &question->rows.row[i];
    double *acceptance = &value[i * N_VALUES + ACCEPTANCE],
           *optimal = &value[i * N_VALUES + OPTIMAL];
    const bool chosen = row->siblings == SPEC_SIBLINGS_TOP;
    const spec_ratio_order *order = is_argmax(row) ? &work->argmax : &work->whole;
    *acceptance = *optimal = NAN;
    if (row->lookup) return;
    if (row->n == 1) {
        *acceptance =
            spec_acceptance_theory_single(&row->rule, chosen, at->target, at->opt_draft, at->vocab);
        *optimal = spec_acceptance_theory_single_optimum(&row->rule, chosen, at->target,
                                                         at->opt_draft, at->vocab);
        return;
    }
    const size_t same_optimum = first_like(question, i, false),
                 same = first_like(question, i, true);
    if (same_optimum < i)
        *optimal = value[same_optimum * N_VALUES + OPTIMAL];
    else
        *optimal = spec_acceptance_theory_siblings_optimum(row->siblings, row->n, order);
    if (same < i)
        *acceptance = value[same * N_VALUES + ACCEPTANCE];
    else if (spec_acceptance_theory_steps(&row->rule, row->siblings, row->n, order) *
                 question->contexts <=
             recursion_steps)
        *acceptance = spec_acceptance_theory_siblings(&row->rule, row->siblings, row->n, order);
}

static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const accept_question *question = self;
    workspace *work = &question->work[at->worker];
    int status = GSL_SUCCESS;
    SPEC_TRY(sort_pairs(work, question, at, error));
    for (size_t i = 0; i < question->rows.n_rows; i++) {
        const spec_accept_row *row = &question->rows.row[i];
        double *const enumerated = &value[i * N_VALUES + ENUMERATED], *const tv =
                                                                          &value[i * N_VALUES + TV];
        SPEC_TRY(spec_stop_check(question->opt_stop, error));
        errno = 0;
        theory(value, i, question, at, work);
        if (errno == ENOMEM) SPEC_TRY(spec_no_memory(error));
        *enumerated = *tv = NAN;
        if (is_enumerated(question, row))
            SPEC_TRY(enumerate(enumerated, tv, question, row, at, error));
    }
done:
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int read_rows(spec_accept_rows *ret, const spec_point *point, const spec_measure *measure,
                     spec_error *error)
{
    return spec_accept_rows_init(ret, spec_point_text(point, measure, "rule"),
                                 spec_point_text(point, measure, "drafting"),
                                 spec_point_text(point, measure, "n"), error);
}

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    spec_accept_rows rows;
    const int status = read_rows(&rows, point, measure, error);
    *ret_rows = rows.n_rows;
    spec_accept_rows_free(&rows);
    return status;
}

/* Writes "equal" or "NOT EQUAL" for a closed form, or the declared bias of a rule. */
static void write_verdict(spec_table *table, const spec_accept_row *row, const double *mean)
{
    const char *marked = spec_measures_marked_bias(&row->rule, false), *equal = "";
    char verdict[64];
    if (!isnan(mean[ACCEPTANCE] + mean[ENUMERATED]))
        equal = fabs(mean[ACCEPTANCE] - mean[ENUMERATED]) < 1e-12 ? "equal" : "NOT EQUAL";
    snprintf(verdict, sizeof verdict, "%s%s%s", equal, *equal != '\0' && marked ? "; " : "",
             marked ? marked : "");
    if (*verdict != '\0') spec_table_text(table, "verdict", verdict);
}

/* Writes the closed form if there is one, else the enumerated value. */
static void write_row(spec_table *table, const spec_accept_row *row, const double *mean,
                      const double *se)
{
    const int known = isnan(mean[ACCEPTANCE]) ? ENUMERATED : ACCEPTANCE;
    spec_table_text(table, "rule", row->spec);
    spec_table_text(table, "drafting", row->drafting);
    spec_table_integer(table, "n", row->n);
    spec_table_number(table, "acceptance", mean[known]);
    spec_table_number(table, "acceptance_se", se[known]);
    spec_table_number(table, "enumerated", mean[ENUMERATED]);
    spec_table_number(table, "tv", mean[TV]);
    spec_table_number(table, "optimal", mean[OPTIMAL]);
    spec_table_number(table, "ratio", mean[known] / mean[OPTIMAL]);
    write_verdict(table, row, mean);
}

/* Prepares to visit all positions in the target's file of rows: its text, and an array for the
 * values at each position. */
static int walk_file(int **ret_text, double **ret_value, accept_question *question, size_t n_values,
                     spec_error *error)
{
    const spec_rows_file *file = spec_rows_of(question->target, NULL);
    if (file == NULL)
        return spec_fail(error, GSL_EINVAL, "contexts: 'all' needs a target rows:FILE");
    if (file->places > INT_MAX)
        return spec_fail(error, GSL_EINVAL, "contexts: the file has too many positions");
    question->contexts = (int)file->places;
    *ret_text = spec_rows_text(file);
    *ret_value = malloc(file->places * n_values * sizeof **ret_value);
    if (*ret_text == NULL || *ret_value == NULL)
        return spec_fail(error, GSL_ENOMEM,
                         "out of memory for %zu values at %d "
                         "positions",
                         n_values, question->contexts);
    return GSL_SUCCESS;
}

/* Writes quantiles of the acceptance in value[i * n_values], or of the enumerated acceptance if
 * there is no closed form. Writes none unless it is known at every position. */
static int write_quantiles(spec_table *table, const double *value, size_t n_values, int contexts,
                           spec_error *error)
{
    static const struct {
        const char *column;
        double share;
    } quantiles[] = {{"acceptance_q10", 0.1}, {"acceptance_median", 0.5}, {"acceptance_q90", 0.9}};
    const int known = isnan(value[ACCEPTANCE]) ? ENUMERATED : ACCEPTANCE;
    const size_t n = (size_t)contexts;
    double *sorted = malloc(n * sizeof *sorted);
    if (sorted == NULL) return spec_no_memory(error);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += sorted[i] = value[i * n_values + (size_t)known];
    gsl_sort(sorted, 1, n);
    for (int q = 0; q < 3 && !isnan(sum); q++)
        spec_table_number(table, quantiles[q].column,
                          gsl_stats_quantile_from_sorted_data(sorted, 1, n, quantiles[q].share));
    free(sorted);
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    workspace work[SPEC_TRAJECTORY_BATCHES] = {{.ready = false}};
    accept_question question = {.work = work,
                                .limit = point->limit > 0 ? point->limit : SPEC_OUTPUT_LAW_LIMIT,
                                .opt_stop = point->stop};
    spec_trajectory trajectory = {.visit = visit,
                                  .self = &question,
                                  .seed = point->seed,
                                  .opt_pool = spec_context_pool(point->opt_context),
                                  .opt_stop = point->stop,
                                  .opt_listener = point->opt_listener};
    double *mean = NULL, *value = NULL;
    int *text = NULL, status = GSL_SUCCESS;
    SPEC_TRY(read_rows(&question.rows, point, measure, error));
    const bool all = strcmp(spec_point_text(point, measure, "contexts"), "all") == 0;
    if (!all)
        SPEC_TRY(
            spec_point_int(&question.contexts, point, measure, "contexts", 1, 1000000000, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&question.target, &question.opt_draft, point,
                             spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    const size_t n_rows = question.rows.n_rows, n_values = n_rows * N_VALUES;
    for (size_t i = 0; i < n_rows; i++) {
        const spec_accept_row *row = &question.rows.row[i];
        if (!row->lookup && question.opt_draft == NULL)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "draft: '%.40s' drafting needs a model",
                               row->drafting));
        if (row->n > 1) *(is_argmax(row) ? &question.wants_argmax : &question.wants_whole) = true;
    }
    if (all) SPEC_TRY(walk_file(&text, &value, &question, n_values, error));
    SPEC_TRY(spec_point_opened(point));
    if ((mean = calloc(2 * n_values, sizeof *mean)) == NULL) SPEC_TRY(spec_no_memory(error));
    trajectory.opt_text = text;
    trajectory.opt_value = value;
    trajectory.target = question.target;
    trajectory.opt_draft = question.opt_draft;
    trajectory.positions = (uint64_t)question.contexts;
    trajectory.n_values = (int)n_values;
    SPEC_TRY(spec_trajectory_means(mean, mean + n_values, &trajectory, error));
    for (size_t i = 0; i < n_rows; i++) {
        write_row(table, &question.rows.row[i], mean + i * N_VALUES,
                  mean + n_values + i * N_VALUES);
        if (all)
            SPEC_TRY(
                write_quantiles(table, value + i * N_VALUES, n_values, question.contexts, error));
        if (i + 1 < n_rows && spec_table_append(table) != GSL_SUCCESS)
            SPEC_TRY(spec_no_memory(error));
    }
done:
    for (int i = 0; i < SPEC_TRAJECTORY_BATCHES; i++) {
        spec_ratio_order_free(&work[i].whole);
        spec_ratio_order_free(&work[i].argmax);
        free(work[i].one_hot);
    }
    spec_accept_rows_free(&question.rows);
    free(mean);
    free(value);
    free(text);
    return status;
}

static const char *const parameters[] = {
    "rule=", "target", "draft", "drafting=", "n=1", "contexts=1", NULL};
static const char *const columns[] = {"rule",
                                      "drafting",
                                      "n",
                                      "acceptance",
                                      "acceptance_se",
                                      "acceptance_q10",
                                      "acceptance_median",
                                      "acceptance_q90",
                                      "enumerated",
                                      "tv",
                                      "optimal",
                                      "ratio",
                                      "verdict",
                                      NULL};
static const spec_headline headlines[] = {{.column = "acceptance"}, {.column = "ratio"}, {0}};
static const char *const checked[] = {"verdict", NULL};

static const spec_assumption assumes[] = {
    {"contexts", NULL, "the empty one", NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_accept = {
    .name = "accept",
    .summary = "how often each rule accepts one of n draft tokens: closed form, enumeration, and "
               "the upper bound",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .rows = count_rows,
    .run = run,
};
