#include "experiments/measures.h"

#include "models/cases.h"
#include "sim/output_law.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 10000000 };

/* What enumeration may leave between two equal laws, rounding; and what a rule that is said to be off must show. */
#define EQUAL_TV 1e-12
#define SHOWN_TV 1e-6

typedef struct {
    spec_decoder_config config; /* but for the models */
    int vocab, order, tokens, cases, end;
    const char *family;
    uint64_t limit;
    const volatile int *opt_stop;
} question;

typedef struct {
    double tv, accepted;
    uint64_t branches;
    int status;
    spec_error error;
} answer;

static int open_side(spec_model **ret_model, const question *q, const char *side, int seed, spec_error *error)
{
    char spec[160];
    snprintf(spec, sizeof spec, "cases?V=%d&order=%d&family=%.40s&seed=%d&side=%s&end=%d", q->vocab, q->order, q->family,
             seed, side, q->end);
    return spec_model_open(ret_model, spec, NULL, error);
}

static int prove(answer *ret, const question *q, int seed)
{
    spec_error *error = &ret->error;
    spec_decoder_config config = q->config;
    spec_model *target = NULL, *draft = NULL;
    spec_output_law law = {0};
    int status = GSL_SUCCESS;
    if (q->opt_stop != NULL && *q->opt_stop != 0) SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
    SPEC_TRY(open_side(&target, q, "target", seed, error));
    SPEC_TRY(open_side(&draft, q, "draft", seed, error));
    config.target = target;
    config.opt_draft = draft;
    SPEC_TRY(spec_output_law_init(&law, &config, NULL, 0, q->tokens, q->limit, error));
    ret->tv = law.tv;
    ret->accepted = law.accepted;
    ret->branches = law.branches;
done:
    spec_output_law_free(&law);
    spec_model_close(draft);
    spec_model_close(target);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

typedef struct {
    double worst, least, accepted;
    int worst_seed, n_shown;
    uint64_t branches;
} summary;

/* In the order of the seeds, so that no sum depends on threads. */
static int summarise(summary *ret, const answer *of, int n, spec_error *error)
{
    *ret = (summary){.worst = -1.0, .least = INFINITY};
    for (int i = 0; i < n; i++) {
        if (of[i].status != GSL_SUCCESS) return spec_fail(error, of[i].status, "%s", of[i].error.text);
        if (of[i].tv > ret->worst) {
            ret->worst = of[i].tv;
            ret->worst_seed = i + 1;
        }
        ret->least = fmin(ret->least, of[i].tv);
        ret->n_shown += of[i].tv >= SHOWN_TV;
        ret->accepted += of[i].accepted / n;
        ret->branches += of[i].branches;
    }
    return GSL_SUCCESS;
}

static int read_point(question *q, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS;
    *q = (question){.config = SPEC_DECODER_DEFAULT,
                    .limit = point->limit > 0 ? point->limit : SPEC_OUTPUT_LAW_LIMIT, .opt_stop = point->stop};
    q->config.rule = spec_point_text(point, measure, "rule");
    q->config.drafting = spec_point_text(point, measure, "drafting");
    q->config.policy = spec_point_text(point, measure, "policy");
    q->family = spec_point_text(point, measure, "family");
    SPEC_TRY(spec_point_int(&q->config.K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&q->tokens, point, measure, "tokens", 1, 4096, error));
    SPEC_TRY(spec_point_int(&q->vocab, point, measure, "V", 1, SPEC_CASES_VOCAB_MAX, error));
    SPEC_TRY(spec_point_int(&q->order, point, measure, "order", 0, SPEC_ORDER_MAX, error));
    SPEC_TRY(spec_point_int(&q->end, point, measure, "end", -1, q->vocab - 1, error));
    SPEC_TRY(spec_point_int(&q->cases, point, measure, "cases", 1, CASES_MAX, error));
    SPEC_TRY(spec_point_check_names(q->config.rule, q->config.policy, q->config.K, error));
done:
    return status;
}

/* A rule that is marked may be right on some families: on equal rows most are. */
static const char *verdict(const spec_rule *rule, const char *policy, double worst)
{
    const bool marked = spec_marked_bias(rule, policy) != NULL;
    if (marked && worst < SHOWN_TV) return "biased, but not here";
    return spec_verdict(rule, policy, !(worst < EQUAL_TV));
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    question q;
    summary all;
    spec_rule rule = {.name = NULL};
    answer *of = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(read_point(&q, point, measure, error));
    SPEC_TRY(spec_rule_init(&rule, q.config.rule, error));
    if ((of = calloc((size_t)q.cases, sizeof *of)) == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %d cases", q.cases));
    const int threads = point->threads > 0 ? point->threads : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = 0; i < q.cases; i++) of[i].status = prove(&of[i], &q, i + 1);
    SPEC_TRY(summarise(&all, of, q.cases, error));

    spec_table_number(table, "worst_tv", all.worst);
    spec_table_integer(table, "worst_seed", all.worst_seed);
    spec_table_number(table, "least_tv", all.least);
    spec_table_number(table, "shown", (double)all.n_shown / q.cases);
    spec_table_number(table, "accepted", all.accepted);
    spec_table_integer(table, "branches", (long long)all.branches);
    spec_table_text(table, "verdict", verdict(&rule, q.config.policy, all.worst));
done:
    spec_rule_free(&rule);
    free(of);
    return status;
}

static const char *const parameters[] = {"rule",    "drafting=chain", "policy=fixed", "K=2",    "tokens=3", "V=3",
                                         "order=2", "family=mixed",   "end=-1",       "cases=200", NULL};
static const char *const columns[] = {"worst_tv", "worst_seed", "least_tv", "shown", "accepted",
                                      "branches", "verdict",    NULL};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_prove_cases = {
    .name = "prove_cases",
    .summary = "the exact output law of a rule on many random pairs that are hard to verify (models of kind cases)",
    .parameters = parameters,
    .columns = columns,
    .checked = checked,
    .run = run,
};
