/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "base/number_line.h"
#include "experiments/measures/case_pairs.h"
#include "speclab/no_memory.h"

#include <math.h>

/* Maximum difference between equal laws, due to rounding; and the smallest tv that shows a bias. */
#define EQUAL_TV 1e-12
#define SHOWN_TV 1e-6

/* Pairs in a group, unless there are too many groups. */
enum { GROUP = 8, GROUPS_MAX = 4096 };

/* The result of some pairs. */
typedef struct {
    double worst, least, accepted; /* accepted: the sum of the pairs' mean n_accepted */
    /* which: the worst pair; shown: the number of pairs that show a bias */
    uint64_t which, shown;
    uint64_t branches;
} summary;

typedef struct {
    const spec_case_pairs *pairs;
    const char *rule;
    int tokens;
    uint64_t size; /* pairs in a group */
    summary all;
} job;

/* ---- groups ---------------------------------------------------------------------------------- */

static void merge(summary *into, const summary *from)
{
    if (from->worst > into->worst) {
        into->worst = from->worst;
        into->which = from->which;
    }
    into->least = fmin(into->least, from->least);
    into->shown += from->shown;
    into->accepted += from->accepted;
    into->branches += from->branches;
}

static char *text_of(const summary *of)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    spec_number_line_put_real(made.out, of->worst);
    spec_number_line_put_real(made.out, of->least);
    spec_number_line_put_real(made.out, of->accepted);
    spec_number_line_put_count(made.out, of->which);
    spec_number_line_put_count(made.out, of->shown);
    spec_number_line_put_count(made.out, of->branches);
    return spec_number_line_take(&made);
}

static int compute(void *self, char **ret_text, uint64_t group, spec_error *error)
{
    const job *j = self;
    const uint64_t first = group * j->size, n = (uint64_t)j->pairs->n;
    summary sum = {.worst = -1.0, .least = INFINITY};
    for (uint64_t i = first; i < first + j->size && i < n; i++) {
        spec_output_law law;
        const int status = spec_case_pairs_law(&law, j->pairs, j->rule, (int)i, j->tokens, error);
        if (status != GSL_SUCCESS) return status;
        merge(&sum, &(summary){law.tv, law.tv, law.accepted, i, law.tv >= SHOWN_TV, law.branches});
        spec_output_law_free(&law);
    }
    *ret_text = text_of(&sum);
    return *ret_text != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

static int add(void *self, const char *text, spec_error *error)
{
    job *j = self;
    spec_number_line in = {.at = text};
    summary sum = {.worst = spec_number_line_real(&in)};
    sum.least = spec_number_line_real(&in);
    sum.accepted = spec_number_line_real(&in);
    sum.which = spec_number_line_count(&in);
    sum.shown = spec_number_line_count(&in);
    sum.branches = spec_number_line_count(&in);
    if (!spec_number_line_ended(&in) || sum.which >= (uint64_t)j->pairs->n)
        return spec_fail(error, GSL_EINVAL, "not the sum of a group of pairs");
    merge(&j->all, &sum);
    return GSL_SUCCESS;
}

/* ---- the row --------------------------------------------------------------------------------- */

/* Returns the verdict. A rule marked as biased may still be exact on some families, such as pairs
 * with equal rows. */
static const char *verdict(const spec_rule *rule, bool anticipates, double worst)
{
    const bool marked = spec_measures_marked_bias(rule, anticipates) != NULL;
    if (marked && worst < SHOWN_TV) return "biased, but not here";
    return spec_measures_verdict(rule, anticipates, !(worst < EQUAL_TV));
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const char *name = spec_point_text(point, measure, "rule");
    spec_case_pairs pairs;
    spec_rule rule = {.name = NULL};
    job j = {.pairs = &pairs, .rule = name, .all = {.worst = -1.0, .least = INFINITY}};
    int status = GSL_SUCCESS;
    bool anticipates;
    SPEC_TRY(spec_case_pairs_init(&pairs, point, measure, error));
    SPEC_TRY(spec_case_pairs_prompt(&pairs, point, measure, error));
    SPEC_TRY(spec_point_int(&j.tokens, point, measure, "tokens", 1, 4096, error));
    SPEC_TRY(
        spec_point_ahead(&pairs.config.ahead, point, measure, pairs.config.K, j.tokens, error));
    SPEC_TRY(spec_point_check_names(name, pairs.config.policy, pairs.config.K, error));
    SPEC_TRY(spec_rule_init(&rule, name, error));
    SPEC_TRY(spec_measures_anticipates(&anticipates, pairs.config.policy, error));
    SPEC_TRY(spec_output_law_check(&rule, name, error));
    SPEC_TRY(spec_point_read(point));
    const uint64_t n = (uint64_t)pairs.n, least = (n - 1) / GROUPS_MAX + 1;
    j.size = least > GROUP ? least : GROUP;
    const spec_groups groups = {.n = (n - 1) / j.size + 1,
                                .opt_pool = spec_context_pool(point->opt_context),
                                .opt_listener = point->opt_listener,
                                .self = &j,
                                .compute = compute,
                                .add = add};
    SPEC_TRY(spec_point_run_groups(&groups, point, error));

    spec_table_number(table, "worst_tv", j.all.worst);
    spec_table_text(table, "worst_family", spec_case_pairs_family(&pairs, (int)j.all.which));
    spec_table_integer(table, "worst_seed", spec_case_pairs_seed(&pairs, (int)j.all.which));
    spec_table_number(table, "least_tv", j.all.least);
    spec_table_number(table, "shown", (double)j.all.shown / pairs.n);
    spec_table_number(table, "mean_n_accepted", j.all.accepted / pairs.n);
    spec_table_integer(table, "branches", (long long)j.all.branches);
    spec_table_text(table, "verdict", verdict(&rule, anticipates, j.all.worst));
done:
    spec_rule_free(&rule);
    return status;
}

static const char *const parameters[] = {
    "rule",         "drafting=chain", "policy=fixed", "K=2",     "tokens=3", "V=3", "order=2",
    "family=mixed", "end=-1",         "cases=200",    "ahead=0", "prompt=",  NULL};
static const char *const columns[] = {"worst_tv", "worst_family", "worst_seed",
                                      "least_tv", "shown",        "mean_n_accepted",
                                      "branches", "verdict",      NULL};
static const spec_headline headlines[] = {
    {.column = "worst_tv", .exact = true},
    {.column = "mean_n_accepted", .unit = "tokens per round", .exact = true},
    {0},
};
static const char *const checked[] = {"verdict", NULL};

static const spec_assumption assumes[] = {
    {"V", NULL, NULL, NULL, NULL},
    {"family", NULL, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_prove_cases = {
    .name = "prove_cases",
    .summary = "the exact output distribution of a rule on many random pairs that are hard to "
               "verify (models of kind cases)",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .divides = true,
    .run = run,
};
