/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "base/parallel.h"
#include "experiments/measures/case_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most difference of equal laws, due to rounding; and the least tv that shows a bias. */
#define EQUAL_TV 1e-12
#define SHOWN_TV 1e-6

typedef struct {
    double tv, accepted;
    uint64_t branches;
    int status;
    spec_error error;
} answer;

static int prove(answer *ret, const spec_case_pairs *pairs, const char *rule, int i, int n_tokens)
{
    spec_output_law law;
    const int status = spec_case_pairs_law(&law, pairs, rule, i, n_tokens, &ret->error);
    if (status != GSL_SUCCESS) return status;
    ret->tv = law.tv;
    ret->accepted = law.accepted;
    ret->branches = law.branches;
    spec_output_law_free(&law);
    return GSL_SUCCESS;
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct {
    double worst, least, accepted;
    int which, n_shown; /* the worst pair; the number of pairs that show a bias */
    uint64_t branches;
} summary;

/* Sum in the order of the pairs, so that sums do not depend on threads. */
static int summarise(summary *ret, const answer *of, int n, spec_error *error)
{
    *ret = (summary){.worst = -1.0, .least = INFINITY};
    for (int i = 0; i < n; i++) {
        if (of[i].status != GSL_SUCCESS)
            return spec_fail(error, of[i].status, "%s", of[i].error.text);
        if (of[i].tv > ret->worst) {
            ret->worst = of[i].tv;
            ret->which = i;
        }
        ret->least = fmin(ret->least, of[i].tv);
        ret->n_shown += of[i].tv >= SHOWN_TV;
        ret->accepted += of[i].accepted / n;
        ret->branches += of[i].branches;
    }
    return GSL_SUCCESS;
}

/* A rule that is marked as biased may be right on some families, such as equal rows. */
static const char *verdict(const spec_rule *rule, const char *policy, double worst)
{
    const bool marked = spec_measures_marked_bias(rule, policy) != NULL;
    if (marked && worst < SHOWN_TV) return "biased, but not here";
    return spec_measures_verdict(rule, policy, !(worst < EQUAL_TV));
}

typedef struct {
    answer *of;
    const spec_case_pairs *pairs;
    const char *rule;
    int tokens;
    const spec_listener *opt_listener;
} job;

static void prove_one(void *self, uint64_t i, int worker)
{
    const job *j = self;
    (void)worker;
    j->of[i].status = prove(&j->of[i], j->pairs, j->rule, (int)i, j->tokens);
    spec_listener_tell(j->opt_listener, ((double)i + 1.0) / j->pairs->n);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const char *name = spec_point_text(point, measure, "rule");
    spec_case_pairs pairs;
    summary all;
    spec_rule rule = {.name = NULL};
    answer *of = NULL;
    int tokens, status = GSL_SUCCESS;
    SPEC_TRY(spec_case_pairs_init(&pairs, point, measure, error));
    SPEC_TRY(spec_point_int(&tokens, point, measure, "tokens", 1, 4096, error));
    SPEC_TRY(spec_point_ahead(&pairs.config.ahead, point, measure, pairs.config.K, tokens, error));
    SPEC_TRY(spec_point_check_names(name, pairs.config.policy, pairs.config.K, error));
    SPEC_TRY(spec_rule_init(&rule, name, error));
    SPEC_TRY(spec_point_read(point));
    spec_thread_pool *const pool = spec_context_pool(point->opt_context);
    if ((of = calloc((size_t)pairs.n, sizeof *of)) == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %d cases", pairs.n));
    spec_parallel_run(pool, prove_one, &(job){of, &pairs, name, tokens, point->opt_listener},
                      (uint64_t)pairs.n, spec_thread_pool_size(pool));
    SPEC_TRY(summarise(&all, of, pairs.n, error));

    spec_table_number(table, "worst_tv", all.worst);
    spec_table_text(table, "worst_family", spec_case_pairs_family(&pairs, all.which));
    spec_table_integer(table, "worst_seed", spec_case_pairs_seed(&pairs, all.which));
    spec_table_number(table, "least_tv", all.least);
    spec_table_number(table, "shown", (double)all.n_shown / pairs.n);
    spec_table_number(table, "mean_n_accepted", all.accepted);
    spec_table_integer(table, "branches", (long long)all.branches);
    spec_table_text(table, "verdict", verdict(&rule, pairs.config.policy, all.worst));
done:
    spec_rule_free(&rule);
    free(of);
    return status;
}

static const char *const parameters[] = {
    "rule",    "drafting=chain", "policy=fixed", "K=2",       "tokens=3", "V=3",
    "order=2", "family=mixed",   "end=-1",       "cases=200", "ahead=0",  NULL};
static const char *const columns[] = {"worst_tv", "worst_family", "worst_seed", "least_tv", "shown",
                                      "mean_n_accepted", "branches",     "verdict",    NULL};
static const spec_headline headlines[] = {
    {.column = "worst_tv", .exact = true},
    {.column = "mean_n_accepted", .unit = "tokens per round", .exact = true},
    {0},
};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_prove_cases = {
    .name = "prove_cases",
    .reads_first = true,
    .summary = "the exact output law of a rule on many random pairs that are hard to verify "
               "(models of kind cases)",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .run = run,
};
