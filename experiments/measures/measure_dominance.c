#include "experiments/measures/measures.h"

#include "experiments/measures/case_pairs.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* What enumeration may leave between two equal means: rounding. */
#define EQUAL_GAIN 1e-12

typedef struct {
    double gain;
    int status;
    spec_error error;
} answer;

static int accepted_by(double *ret, const spec_case_pairs *pairs, const char *rule, int i, spec_error *error)
{
    spec_output_law law;
    const int status = spec_case_pairs_law(&law, pairs, rule, i, 1, error);
    *ret = law.accepted;
    spec_output_law_free(&law);
    return status;
}

static int compare(answer *ret, const spec_case_pairs *pairs, const char *rule, const char *other, int i)
{
    double mine, theirs;
    int status = GSL_SUCCESS;
    SPEC_TRY(accepted_by(&mine, pairs, rule, i, &ret->error));
    SPEC_TRY(accepted_by(&theirs, pairs, other, i, &ret->error));
    ret->gain = mine - theirs;
done:
    return status;
}

typedef struct {
    double least, mean, greatest;
    int which, n_more; /* the pair of the least gain; on how many there is one */
} summary;

/* In the order of the seeds, so that no sum depends on threads. */
static int summarise(summary *ret, const answer *of, int n, spec_error *error)
{
    *ret = (summary){.least = INFINITY, .greatest = -INFINITY};
    for (int i = 0; i < n; i++) {
        if (of[i].status != GSL_SUCCESS) return spec_fail(error, of[i].status, "%s", of[i].error.text);
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

/* Rules that emit another law than the target's may keep what they like. */
static int judge(const char **ret_verdict, const char *const *rules, const char *policy, double least,
                 spec_error *error)
{
    *ret_verdict = least >= -EQUAL_GAIN ? "holds" : "NOT always";
    for (int i = 0; i < 2; i++) {
        spec_rule rule;
        const int status = spec_rule_init(&rule, rules[i], error);
        if (status != GSL_SUCCESS) return status;
        const char *marked = spec_marked_bias(&rule, policy);
        if (marked != NULL) *ret_verdict = marked;
        spec_rule_free(&rule);
    }
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    const char *rules[2] = {spec_point_text(point, measure, "rule"), spec_point_text(point, measure, "other")};
    const char *verdict;
    spec_case_pairs pairs;
    summary all;
    answer *of = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_case_pairs_init(&pairs, point, measure, error));
    for (int i = 0; i < 2; i++)
        SPEC_TRY(spec_point_check_names(rules[i], pairs.config.policy, pairs.config.K, error));
    if ((of = calloc((size_t)pairs.n, sizeof *of)) == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %d cases", pairs.n));
    const int threads = point->threads > 0 ? point->threads : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = 0; i < pairs.n; i++) of[i].status = compare(&of[i], &pairs, rules[0], rules[1], i);
    SPEC_TRY(summarise(&all, of, pairs.n, error));
    SPEC_TRY(judge(&verdict, rules, pairs.config.policy, all.least, error));

    spec_table_integer(table, "strictly_more", all.n_more);
    spec_table_number(table, "least_gain", all.least);
    spec_table_integer(table, "least_seed", spec_case_pairs_seed(&pairs, all.which));
    spec_table_number(table, "mean_gain", all.mean);
    spec_table_number(table, "greatest_gain", all.greatest);
    spec_table_text(table, "verdict", verdict);
done:
    free(of);
    return status;
}

static const char *const parameters[] = {"rule",    "other",        "drafting=chain", "policy=fixed", "K=2", "V=3",
                                         "order=2", "family=mixed", "end=-1",         "cases=200",    NULL};
static const char *const columns[] = {"strictly_more", "least_gain",    "least_seed",
                                      "mean_gain",     "greatest_gain", "verdict",    NULL};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_dominance = {
    .name = "dominance",
    .summary = "does a rule never accept fewer tokens than another? Exact means on many random pairs (models cases)",
    .parameters = parameters,
    .columns = columns,
    .checked = checked,
    .run = run,
};
