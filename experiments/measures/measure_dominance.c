/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "base/parallel.h"
#include "experiments/measures/case_pairs.h"

#include <math.h>
#include <stdlib.h>

/* Maximum difference between equal enumerated means, due to rounding. */
#define EQUAL_GAIN 1e-12

typedef struct {
    double gain;
    int status;
    spec_error error;
} answer;

static int accepted_by(double *ret, const spec_case_pairs *pairs, const char *rule, int i,
                       spec_error *error)
{
    spec_output_law law;
    const int status = spec_case_pairs_law(&law, pairs, rule, i, 1, error);
    *ret = law.accepted;
    spec_output_law_free(&law);
    return status;
}

/* Computes the means of rules[0] and rules[1] on the same models, with the drafting of pairs[0] and
 * pairs[1]. */
static int compare(answer *ret, const spec_case_pairs *pairs, const char *const *rules, int i)
{
    double mine, theirs;
    int status = GSL_SUCCESS;
    SPEC_TRY(accepted_by(&mine, &pairs[0], rules[0], i, &ret->error));
    SPEC_TRY(accepted_by(&theirs, &pairs[1], rules[1], i, &ret->error));
    ret->gain = mine - theirs;
done:
    return status;
}

typedef struct {
    double least, mean, greatest;
    /* which: the pair with the smallest gain; n_more: the number of pairs with a gain */
    int which, n_more;
} summary;

/* Sums in the order of the seeds, so that sums do not depend on threads. */
static int summarise(summary *ret, const answer *of, int n, spec_error *error)
{
    *ret = (summary){.least = INFINITY, .greatest = -INFINITY};
    for (int i = 0; i < n; i++) {
        if (of[i].status != GSL_SUCCESS)
            return spec_fail(error, of[i].status, "%s", of[i].error.text);
        if (of[i].gain < ret->least) {
            ret->least = of[i].gain;
            ret->which = i;
        }
        ret->greatest = fmax(ret->greatest, of[i].gain);
        ret->mean += of[i].gain / n;
        ret->n_more += of[i].gain > EQUAL_GAIN;
    }
    return GSL_SUCCESS;
}

/* Judges the rules. The number of tokens that a rule keeps means nothing if its distribution
 * differs from the target's. */
static int judge(const char **ret_verdict, const char *const *rules, const char *policy,
                 double least, spec_error *error)
{
    bool anticipates;
    if (spec_measures_anticipates(&anticipates, policy, error) != GSL_SUCCESS) return GSL_ENOMEM;
    *ret_verdict = least >= -EQUAL_GAIN ? "holds" : "NOT always";
    for (int i = 0; i < 2; i++) {
        spec_rule rule;
        const int status = spec_rule_init(&rule, rules[i], error);
        if (status != GSL_SUCCESS) return status;
        const char *marked = spec_measures_marked_bias(&rule, anticipates);
        if (marked != NULL) *ret_verdict = marked;
        spec_rule_free(&rule);
    }
    return GSL_SUCCESS;
}

typedef struct {
    answer *of;
    const spec_case_pairs *pairs;
    const char *const *rules;
} job;

static void compare_one(void *self, uint64_t i, int worker)
{
    const job *j = self;
    (void)worker;
    j->of[i].status = compare(&j->of[i], j->pairs, j->rules, (int)i);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const char *rules[2] = {spec_point_text(point, measure, "rule"),
                            spec_point_text(point, measure, "other")};
    const char *verdict, *other_drafting = spec_point_text(point, measure, "other_drafting");
    spec_case_pairs pairs[2];
    summary all;
    answer *of = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_case_pairs_init(&pairs[0], point, measure, error));
    pairs[1] = pairs[0];
    if (other_drafting[0] != '\0') pairs[1].config.drafting = other_drafting;
    for (int i = 0; i < 2; i++)
        SPEC_TRY(
            spec_point_check_names(rules[i], pairs[i].config.policy, pairs[i].config.K, error));
    SPEC_TRY(spec_point_read(point));
    spec_thread_pool *const pool = spec_context_pool(point->opt_context);
    const int n = pairs[0].n;
    if ((of = calloc((size_t)n, sizeof *of)) == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %d cases", n));
    spec_parallel_run(pool, compare_one, &(job){of, pairs, rules}, (uint64_t)n,
                      spec_thread_pool_size(pool));
    SPEC_TRY(summarise(&all, of, n, error));
    SPEC_TRY(judge(&verdict, rules, pairs[0].config.policy, all.least, error));

    spec_table_integer(table, "strictly_more", all.n_more);
    spec_table_number(table, "least_gain", all.least);
    spec_table_integer(table, "least_seed", spec_case_pairs_seed(pairs, all.which));
    spec_table_number(table, "mean_gain", all.mean);
    spec_table_number(table, "greatest_gain", all.greatest);
    spec_table_text(table, "verdict", verdict);
done:
    free(of);
    return status;
}

static const char *const parameters[] = {"rule",   "other",     "drafting=chain",  "policy=fixed",
                                         "K=2",    "V=3",       "order=2",         "family=mixed",
                                         "end=-1", "cases=200", "other_drafting=", NULL};
static const char *const columns[] = {"strictly_more", "least_gain",    "least_seed",
                                      "mean_gain",     "greatest_gain", "verdict",    NULL};
static const spec_headline headlines[] = {
    {.column = "least_gain", .unit = "tokens per round", .exact = true},
    {.column = "mean_gain", .unit = "tokens per round", .exact = true},
    {0},
};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_dominance = {
    .name = "dominance",
    .summary = "does a rule never accept fewer tokens than another? Exact means on many random "
               "pairs (models of kind cases)",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .run = run,
};
